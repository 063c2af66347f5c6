/** The user's own hooks: which run on an event, what they are told, and what their end means. They can refuse a call and change nothing else. */
import type { Hook, HookEvent, HooksConfig } from "./hooks-config.ts";
import { runHook, type HookEnd, type HookPlace } from "./hooks-run.ts";
import { mcpNameOf } from "./plugin.ts";
import { oneLine } from "./text.ts";
import type { PreparedCall } from "./tool.ts";
import { matchesWildcard } from "./wildcard.ts";

export interface HooksDeps {
  /** Asked for each event: the session, and with it the directory for long output, can change. */
  place(): HookPlace & { sessionId: string };
  /** One line for a person: a hook failed. */
  notice(message: string): void;
}

/** How a turn ended. */
export interface TurnEnd {
  reason: string;
  exit: number;
  /** The last message, as text. */
  message: string;
}

/** Hooks of one event run one after the other, in the order of the configuration. Nothing here throws. */
export class Hooks {
  readonly #config: HooksConfig;
  readonly #deps: HooksDeps;
  /** Sessions whose start was told, each with the end of its hooks. */
  readonly #started = new Map<string, { over: Promise<void>; stop: AbortController }>();

  constructor(config: HooksConfig, deps: HooksDeps) {
    this.#config = config;
    this.#deps = deps;
  }

  /** Once for each session; later calls wait for the first, and whichever is aborted ends its hooks. */
  sessionStart(signal?: AbortSignal): Promise<void> {
    const { sessionId } = this.#deps.place();
    const begun = this.#started.get(sessionId) ?? this.#begin();
    this.#started.set(sessionId, begun);
    const stop = (): void => begun.stop.abort();
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
    return begun.over;
  }

  #begin(): { over: Promise<void>; stop: AbortController } {
    const stop = new AbortController();
    return { over: this.#tell("session-start", {}, stop.signal), stop };
  }

  prompt(prompt: string, signal?: AbortSignal): Promise<void> {
    return this.#tell("prompt", { prompt }, signal);
  }

  /** The reason of the first hook that refuses; null: none does. */
  async preTool(call: PreparedCall, signal?: AbortSignal): Promise<string | null> {
    for (const hook of this.#matching("pre-tool", call)) {
      const end = await this.#run("pre-tool", hook, toolFields(call), signal);
      if (end.state !== "refused") continue;
      return `A hook of the user refused this call: ${end.reason || "it gave no reason"}`;
    }
    return null;
  }

  async postTool(call: PreparedCall, outcome: { text: string; isError: boolean }): Promise<void> {
    const fields = { ...toolFields(call), output: outcome.text, isError: outcome.isError };
    for (const hook of this.#matching("post-tool", call)) await this.#run("post-tool", hook, fields);
  }

  /** `leaving`: the program ends after this turn, and soon. */
  turnEnd(end: TurnEnd, leaving: boolean): Promise<void> {
    return this.#tell("turn-end", { ...end }, undefined, leaving);
  }

  #matching(event: HookEvent, call: PreparedCall): Hook[] {
    const names = [call.tool.name, ...mcpNameOf(call.tool.subjects(call.input))];
    return (this.#config[event] ?? []).filter(
      ({ matcher }) => matcher === undefined || names.some((name) => matchesWildcard(matcher, name)),
    );
  }

  async #tell(event: HookEvent, fields: object, signal?: AbortSignal, leaving = false): Promise<void> {
    for (const hook of this.#config[event] ?? []) await this.#run(event, hook, fields, signal, leaving);
  }

  async #run(event: HookEvent, hook: Hook, fields: object, signal?: AbortSignal, leaving = false): Promise<HookEnd> {
    const place = this.#deps.place();
    const payload = { event, sessionId: place.sessionId, cwd: place.cwd, ...fields };
    const end = await runHook(hook, payload, place, { leaving, ...(signal ? { signal } : {}) });
    const problem = problemOf(end, event);
    if (problem !== null) this.#deps.notice(`${event} hook \`${oneLine(hook.command, 60)}\`: ${problem}`);
    return end;
  }
}

function toolFields(call: PreparedCall): { tool: string; input: unknown } {
  return { tool: call.tool.name, input: call.rawInput };
}

/** What a person should hear of an end; null: nothing. Only before a call is a refusal what it says. */
function problemOf(end: HookEnd, event: HookEvent): string | null {
  switch (end.state) {
    case "ok":
      return null;
    case "refused":
      return event === "pre-tool" ? null : `exit code 2: ${oneLine(end.reason, 300) || "no words on stderr"}`;
    case "failed":
      return end.problem;
    default:
      return end satisfies never;
  }
}
