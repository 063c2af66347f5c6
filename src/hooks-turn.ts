/** Where hooks meet a session: opened only when some are configured, and put around each turn. Changes no event. */
import { LastMessage } from "./message-last.ts";
import type { HooksConfig } from "./hooks-config.ts";
import type { Hooks, HooksDeps } from "./hooks.ts";
import type { AgentEvent } from "./types.ts";

/** Null without hooks; their code isn't even loaded then. */
export async function openHooks(config: HooksConfig | undefined, deps: HooksDeps): Promise<Hooks | null> {
  if (!Object.values(config ?? {}).some((list) => (list?.length ?? 0) > 0)) return null;
  const { Hooks } = await import("./hooks.ts");
  return new Hooks(config ?? {}, deps);
}

export interface HookedTurn {
  prompt: string;
  events: AsyncIterable<AgentEvent>;
  signal: AbortSignal;
  /** Where `done` is the last line that is written, the hooks of the end come before it; a screen shows the end first. */
  doneIsLast: boolean;
}

/** The same events. Without hooks nothing is added, not even a wait. */
export async function* hookedTurn(hooks: Hooks | null, turn: HookedTurn): AsyncGenerator<AgentEvent> {
  const { prompt, events, signal, doneIsLast } = turn;
  if (hooks === null) return yield* events;
  await hooks.sessionStart(signal);
  await hooks.prompt(prompt, signal);
  const last = new LastMessage();
  for await (const event of events) {
    last.take(event);
    if (event.type !== "done" || !doneIsLast) yield event;
    if (event.type !== "done") continue;
    await hooks.turnEnd({ reason: event.reason, exit: event.exit, message: last.text }, doneIsLast && signal.aborted);
    if (doneIsLast) yield event;
  }
}
