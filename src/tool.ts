/** What a tool is, and the one door to running it. Knows no particular tool and makes no decision. */
import type { GenericSchema, InferOutput } from "valibot";
import type { Decision, ImagePart, JsonObject, Todo } from "./types.ts";
import type { Workspace } from "./workspace.ts";
import type { Memory } from "./memory.ts";
import type { Sandbox } from "./sandbox.ts";

export const TOOL_SETS = ["core", "edit-plus", "git", "net"] as const;
export const OPTIONAL_SETS = ["edit-plus", "git", "net"] as const;
export const DEFAULT_SETS: readonly ToolSet[] = ["edit-plus", "git"];
export type ToolSet = (typeof TOOL_SETS)[number];

/** What rules are matched against. Paths are as the model wrote them; approval resolves them. */
export type Subject =
  | { kind: "command"; command: string }
  | { kind: "path"; path: string; access: "read" | "write" | "list" }
  | { kind: "text"; text: string };

/** A default: one decision, or patterns of which the last match wins. */
export type RuleDefault = Decision | readonly (readonly [pattern: string, decision: Decision])[];

export interface ToolOutput {
  /** For the model. */
  text: string;
  images?: ImagePart[];
  /** The work was done and its answer is a failure (exit code ≠ 0 is not: that is an answer). */
  isError?: boolean;
  /** Tells one outcome from another, where the text holds what is different every time: a duration, a file's name. Default: the text. */
  outcome?: string;
  /** Unified diff for the screen, never sent to the model. */
  diff?: string;
  /** How it ended, in two or three words for the screen, where that is worth knowing: `exit code 3`. */
  note?: string;
}

/** What a subagent is for: `explore` and `review` only read, `worker` holds every tool, by the parent's gate. */
export const AGENT_KINDS = ["explore", "review", "worker"] as const;

export interface AgentJob {
  /** A few words, for labels. */
  description: string;
  prompt: string;
  kind: (typeof AGENT_KINDS)[number];
}

export interface AgentReport {
  label: string;
  /** Its last message; of a failed one what went wrong. */
  text: string;
  isError: boolean;
}

/** What a loaded skill allows for the rest of the turn. */
export interface ToolLimit {
  skill: string;
  allowed: readonly string[];
  /** For some of the allowed tools: only subjects that match one of these, judged as rules are. */
  patterns?: Readonly<Record<string, readonly string[]>>;
}

export interface AskQuestion {
  question: string;
  options: { label: string; detail?: string }[];
  multiple: boolean;
}

/** A way to run a call again that the sandbox stopped. */
export interface EscalationChoice {
  name: "network" | "write" | "write-session" | "outside";
  /** For the keys of a prompt. */
  key: string;
  label: string;
  /** The whole of it. */
  text: string;
}

export interface Escalation {
  /** What ran. */
  subject: string;
  /** What was refused, and what came of the first run. */
  reason: string;
  /** Narrowest first. */
  choices: readonly EscalationChoice[];
}

export interface EscalationAnswer {
  /** Null: it is left at that. */
  choice: EscalationChoice["name"] | null;
  /** The person's own words. */
  message?: string;
}

/** What a running call may use. Everything that lives longer than the call comes in here. */
export interface ToolContext {
  callId: string;
  signal: AbortSignal;
  workspace: Workspace;
  /** Environment for children, keys already removed. */
  childEnv: Record<string, string>;
  /** What commands run in; absent where there is none, as for a tool tried on its own. */
  sandbox?: Sandbox;
  /** The grant holds in the sandbox only. */
  mustConfine?: true;
  /** Asks whether a call that the sandbox stopped may run again with more rights. Null or absent: nobody can be asked. */
  escalate?: ((question: Escalation) => Promise<EscalationAnswer | null>) | null;
  /** Something that the person should know besides the result. */
  warn?(message: string): void;
  /** Directory for results too long to send; created on first use. */
  spillDir: string;
  /** False when rules forbid reading this real path: every tool that shows file contents must ask. */
  mayRead(realPath: string): boolean;
  /** Takes keys out of text that goes to disk before the result is looked at. Absent where there are no keys. */
  redact?(text: string): string;
  /** Live output for the screen, as it comes. */
  output(text: string): void;
  /** True when the model takes images. */
  vision: boolean;
  todos: { get(): readonly Todo[]; set(todos: Todo[]): void };
  /** Null with --no-memory. */
  memory: Memory | null;
  /** Null in headless runs. Resolves to null when the user dismissed the question. */
  ask: ((question: AskQuestion) => Promise<string | null>) | null;
  /** Runs subagents side by side; reports in the order of the jobs. Null where there are none: in a subagent, with --no-subagent. */
  agents: ((jobs: readonly AgentJob[]) => Promise<AgentReport[]>) | null;
  /** Limits the rest of the turn to some tools; null lifts the limit. */
  limitTools(limit: ToolLimit | null): void;
  /** Running commands, so that ctrl-c can end them and leave the turn alone. */
  onCommand(kill: () => void): () => void;
}

export interface ToolSpec<Schema extends GenericSchema> {
  name: string;
  /** One paragraph for the model. Bytes count: all of it goes with every request. */
  description: string;
  /** `session` tools belong to no set and are always offered. */
  set: ToolSet | "session";
  input: Schema;
  /** What the model is shown instead of `input` as JSON Schema: tools whose schema comes from elsewhere. */
  wireSchema?: JsonObject;
  /** Left alone by a skill's `allowed-tools`: it changes nothing but shiro's own state. */
  unlimited?: true;
  /** Changes anything outside shiro's own state. Read-only variants withhold such tools. */
  mutates: boolean;
  permission: RuleDefault;
  /** Calling it again with the same input is normal: left out of the repeat guard. */
  repeatable?: true;
  /** Belongs to the conversation with the user: no subagent holds it. */
  mainOnly?: true;
  /** Bounds its own output and says how to go on, so that cutting it again would mislead. */
  bounded?: true;
  subjects(input: InferOutput<Schema>): Subject[];
  /** What a person should see beside the subject before they agree: arguments that the subject doesn't hold. */
  details?(input: InferOutput<Schema>): string;
  /** May overlap other calls that say so too. */
  concurrencySafe(input: InferOutput<Schema>): boolean;
  /**
   * A unified diff of what would happen, for the approval prompt. Must not change anything. Null where there is none.
   * Throws the ToolError that `run` would throw now: what can't be done is not asked about.
   */
  preview?(input: InferOutput<Schema>, context: ToolContext): Promise<string | null>;
  run(input: InferOutput<Schema>, context: ToolContext): Promise<ToolOutput>;
}

type AnySpec = ToolSpec<GenericSchema>;

/** A tool without its `run`, which only a redeemed grant reaches. */
export type Tool = Omit<AnySpec, "run" | "subjects" | "concurrencySafe" | "preview"> & {
  subjects(input: unknown): Subject[];
  concurrencySafe(input: unknown): boolean;
  preview(input: unknown, context: ToolContext): Promise<string | null>;
};

const specs = new WeakMap<Tool, AnySpec>();

/** Makes a tool of its description. `run` is kept in here, out of everybody's reach. */
export function defineTool<Schema extends GenericSchema>(spec: ToolSpec<Schema>): Tool {
  const { run: _, ...rest } = spec;
  // The casts: callers hand over inputs that `input` has validated, which the erased type can't say.
  const tool = { preview: async () => null, ...rest } as unknown as Tool;
  specs.set(tool, spec as unknown as AnySpec);
  return tool;
}

/** A validated call, ready to be judged. */
export interface PreparedCall {
  id: string;
  tool: Tool;
  /** Output of the tool's schema. */
  input: unknown;
  /** As the model wrote it, for display and for repeat detection. */
  rawInput: JsonObject;
}

const granted = new WeakMap<Grant, { call: PreparedCall; confined: boolean }>();

/** Permission to run one prepared call once. Made only by approval.ts (scripts/layers.ts checks the import). */
export class Grant {
  declare readonly brand: "grant";
  private constructor() {}
  /** `confined`: for a run in the sandbox and no other. */
  static mint(call: PreparedCall, confined = false): Grant {
    const grant = new Grant();
    granted.set(grant, { call, confined });
    return grant;
  }
}

/** Runs the call a grant was made for. Throws on a grant that is hand-made or was redeemed before. */
export async function redeem(grant: Grant, context: ToolContext): Promise<ToolOutput> {
  const held = granted.get(grant);
  if (!held) throw new Error("A tool was run without a grant, or with one already used.");
  granted.delete(grant);
  const { call, confined } = held;
  const spec = specs.get(call.tool);
  if (!spec) throw new Error(`Tool "${call.tool.name}" was not made by defineTool.`);
  return spec.run(call.input, confined ? { ...context, mustConfine: true } : context);
}
