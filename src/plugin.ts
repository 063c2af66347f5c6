/** What a plugin is, and how the enabled ones are asked in turn. Knows no particular plugin. */
import { messageOf } from "./errors.ts";
import type { PathFacts } from "./path-facts.ts";
import type { ShellLine } from "./permission-line.ts";
import type { Subject, Tool } from "./tool.ts";
import type { Denier } from "./types.ts";

/** A call as plugins see it: nothing has run, nobody has been asked. */
export interface PluginCall {
  tool: Tool | null;
  /** Input of the tool, validated; undefined when a subject alone is being explained. */
  input: unknown;
  subjects: readonly Subject[];
  /** Command lines among the subjects, taken apart. */
  lines: readonly ShellLine[];
  /** Files it would write: path subjects, and redirections of its command lines. */
  writes: readonly PathFacts[];
  /** Where a path of a subject really leads; looks at the disk. Absent where there is none to look at. */
  facts?(path: string): PathFacts;
}

/** A plugin's word on a call. It can only tighten. */
export interface PluginVerdict {
  /** `ask` here always asks: no rule, grant or flag reaches it. */
  decision: "ask" | "deny";
  by: Denier;
  /** A sentence or two for the model. */
  reason: string;
}

export interface TurnSummary {
  durationMs: number;
  interactive: boolean;
  /** The terminal takes control bytes; plain mode and what is no terminal take none. */
  controls: boolean;
}

export interface Plugin {
  name: string;
  description: string;
  /** Sync and without side effects: `permissions explain` calls it too. Throwing refuses the call. */
  beforeToolCall?(call: PluginCall): PluginVerdict | null;
  afterTurn?(turn: TurnSummary): void | Promise<void>;
  /** Added to the system prompt. */
  appendix?: string;
  tools?: readonly Tool[];
  /** Names of its tools that need no approval. */
  autoApprove?: readonly string[];
}

export interface PluginHost {
  readonly plugins: readonly Plugin[];
  /** The first refusal, else the first question, else null; with the plugin's name. */
  judge(call: PluginCall): (PluginVerdict & { plugin: string }) | null;
  /** Runs every `afterTurn`; returns one line per plugin that failed. */
  afterTurn(turn: TurnSummary): Promise<string[]>;
  appendices(): string[];
  tools(): Tool[];
  isAutoApproved(tool: string): boolean;
}

/** `mcp__server__tool` of a call that reaches an MCP tool through another one, the name it goes by in rules; else empty. */
export function mcpNameOf(subjects: readonly Subject[]): string[] {
  return subjects.flatMap((subject) =>
    subject.kind === "text" && subject.text.startsWith("mcp__") ? [subject.text] : [],
  );
}

/** A host over the enabled plugins, in their order. */
export function makePluginHost(plugins: readonly Plugin[]): PluginHost {
  return {
    plugins,
    judge: (call) => firstVerdict(plugins, call),
    afterTurn: (turn) => runAfterTurn(plugins, turn),
    appendices: () => plugins.flatMap((plugin) => plugin.appendix ?? []),
    tools: () => plugins.flatMap((plugin) => plugin.tools ?? []),
    isAutoApproved: (tool) => plugins.some((plugin) => plugin.autoApprove?.includes(tool) === true),
  };
}

function firstVerdict(plugins: readonly Plugin[], call: PluginCall): (PluginVerdict & { plugin: string }) | null {
  let question: (PluginVerdict & { plugin: string }) | null = null;
  for (const plugin of plugins) {
    const verdict = verdictOf(plugin, call);
    if (verdict?.decision === "deny") return { ...verdict, plugin: plugin.name };
    if (verdict && !question) question = { ...verdict, plugin: plugin.name };
  }
  return question;
}

function verdictOf(plugin: Plugin, call: PluginCall): PluginVerdict | null {
  try {
    return plugin.beforeToolCall?.(call) ?? null;
  } catch (error) {
    // Fails closed: a check that can't be made is not a check that passed.
    const reason = `The ${plugin.name} plugin failed while checking this call (${messageOf(error)}), so it is refused.`;
    return { decision: "deny", by: "plugin", reason };
  }
}

async function runAfterTurn(plugins: readonly Plugin[], turn: TurnSummary): Promise<string[]> {
  const failures: string[] = [];
  for (const plugin of plugins) {
    try {
      await plugin.afterTurn?.(turn);
    } catch (error) {
      failures.push(`plugin ${plugin.name}: ${messageOf(error)}`);
    }
  }
  return failures;
}
