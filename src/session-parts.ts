/** What a session is made of: handed in by setup.ts, the same for every driver. Types only. */
import type { AgentVariant } from "./agents.ts";
import type { ApprovalPrompt, Ask, Gate } from "./approval.ts";
import type { Budget } from "./budget.ts";
import type { ModelFacts } from "./models.ts";
import type { PromptState } from "./prompt.ts";
import type { Provider } from "./provider.ts";
import type { SessionFile } from "./session-file.ts";
import type { TokenMeter } from "./tokens.ts";
import type { AgentJob, AgentReport, AskQuestion, PreparedCall, Tool, ToolContext, ToolLimit } from "./tool.ts";
import type { AgentEvent, JsonObject, ThinkingLevel, Todo, Usage } from "./types.ts";
import type { Undo } from "./undo.ts";

/** Asks whoever drives the session; told which call it is about, and of which subagent. */
export type AskUser = (
  prompt: ApprovalPrompt,
  call: { id: string; input: JsonObject; agent?: string },
) => ReturnType<Ask>;

/** Puts a question of the model's to the person; null when dismissed. */
export type AskQuestionOf = (question: AskQuestion) => Promise<string | null>;

/** What setup.ts knows of a running call; the session adds what is its own. */
export type BaseToolContext = Omit<ToolContext, "ask" | "agents" | "limitTools" | "escalate" | "warn">;

/** What a session asks its gate. */
export type SessionGate = Pick<
  Gate,
  "admit" | "record" | "startTurn" | "mayAsk" | "mayRead" | "neverAllows" | "freshRepeats" | "fits"
>;

/** The model in use. Replaced as a whole by /model and /provider. */
export interface ModelChoice {
  provider: Provider;
  /** Preset id, for lists and records. */
  presetId: string;
  model: string;
  facts: ModelFacts;
  price(usage: Usage): number | null;
}

/** What a running call needs of its session. */
export interface SessionServices {
  readonly choice: ModelChoice;
  setTodos(todos: Todo[]): void;
  onCommand(kill: () => void): () => void;
}

/** What a subagent shares with the session it works for. */
export interface ParentTies {
  /** Calls whose effects are unknown. */
  latch: Set<string>;
  /** What a skill allows while the subagent begins. */
  limit: ToolLimit | null;
  spent(choice: ModelChoice, usage: Usage, costUsd: number | null): void;
  /** A mutating call is about to run. */
  began(): void;
  /** A command was run, which undo can't take back. */
  ranCommand(title: string): void;
}

/** What a session hands to those who run its subagents. */
export interface Delegation {
  parts: SessionParts;
  choice: ModelChoice;
  thinking: ThinkingLevel;
  /** What the session offers now; a subagent holds nothing else. */
  offered: readonly Tool[];
  ask: AskUser | null;
  signal: AbortSignal;
  /** Takes events as they come, already under the subagent's label. */
  emit(event: AgentEvent): void;
  onCommand(kill: () => void): () => void;
  ties: ParentTies;
}

/** Runs jobs side by side; reports in the order of the jobs. Rejects with an abort only. */
export type Delegate = (jobs: readonly AgentJob[], from: Delegation) => Promise<AgentReport[]>;

export interface SessionParts {
  file: SessionFile;
  choice: ModelChoice;
  /** For summaries and subagents; null: the model in use. */
  helper: ModelChoice | null;
  variant: AgentVariant;
  /** Set by --think or /think; null: the variant's own. */
  thinking: ThinkingLevel | null;
  /** Every tool of the enabled sets; variants narrow it. Asked again when the prompt is made anew. */
  tools(): readonly Tool[];
  gate: SessionGate;
  budget: Budget;
  meter: TokenMeter;
  undo: Undo | null;
  maxSteps: number | null;
  maxOutputTokens: number | null;
  /** Tokens, a share of the input limit, or null for "off". */
  compactAt: { tokens: number } | { share: number } | null;
  promptState(tools: PromptState["tools"], variant: AgentVariant): PromptState;
  toolContext(
    call: PreparedCall,
    signal: AbortSignal,
    output: (text: string) => void,
    session: SessionServices,
  ): BaseToolContext;
  /** Waits, bounded, for what the first request should hold (MCP servers). Called once, before it. */
  beforeFirstRequest(signal: AbortSignal): Promise<void>;
  /** The history was compacted: the head of the requests may change too, at no further price. */
  historyCut?(): void;
  /** Masks keys, heals the text, spills what is too long. */
  finish(text: string, call: PreparedCall): Promise<string>;
  /** Null: there are no subagents. `workers`: somebody can approve what they do. */
  agents: { delegate: Delegate; workers: boolean } | null;
  /** Of a subagent. */
  parent: ParentTies | null;
}
