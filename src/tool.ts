/** What a tool is, and the one door to running it. Knows no particular tool and makes no decision. */
import type { GenericSchema, InferOutput } from "valibot";
import type { Decision, ImagePart, JsonObject, Todo } from "./types.ts";
import type { Workspace } from "./workspace.ts";
import type { Memory } from "./memory.ts";

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

export interface AskQuestion {
  question: string;
  options: { label: string; detail?: string }[];
  multiple: boolean;
}

/** What a running call may use. Everything that lives longer than the call comes in here. */
export interface ToolContext {
  callId: string;
  signal: AbortSignal;
  workspace: Workspace;
  /** Environment for children, keys already removed. */
  childEnv: Record<string, string>;
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
  /** Changes anything outside shiro's own state. Read-only variants withhold such tools. */
  mutates: boolean;
  permission: RuleDefault;
  /** Calling it again with the same input is normal: left out of the repeat guard. */
  repeatable?: true;
  /** Bounds its own output and says how to go on, so that cutting it again would mislead. */
  bounded?: true;
  subjects(input: InferOutput<Schema>): Subject[];
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

const granted = new WeakMap<Grant, PreparedCall>();

/** Permission to run one prepared call once. Made only by approval.ts (scripts/layers.ts checks the import). */
export class Grant {
  declare readonly brand: "grant";
  private constructor() {}
  static mint(call: PreparedCall): Grant {
    const grant = new Grant();
    granted.set(grant, call);
    return grant;
  }
}

/** Runs the call a grant was made for. Throws on a grant that is hand-made or was redeemed before. */
export async function redeem(grant: Grant, context: ToolContext): Promise<ToolOutput> {
  const call = granted.get(grant);
  if (!call) throw new Error("A tool was run without a grant, or with one already used.");
  granted.delete(grant);
  const spec = specs.get(call.tool);
  if (!spec) throw new Error(`Tool "${call.tool.name}" was not made by defineTool.`);
  return spec.run(call.input, context);
}
