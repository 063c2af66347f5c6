/** What a session is made of: handed in by setup.ts, the same for every driver. Types only. */
import type { AgentVariant } from "./agents.ts";
import type { ApprovalPrompt, Ask, Gate } from "./approval.ts";
import type { Budget } from "./budget.ts";
import type { ModelFacts } from "./models.ts";
import type { PromptState } from "./prompt.ts";
import type { Provider } from "./provider.ts";
import type { SessionFile } from "./session-file.ts";
import type { TokenMeter } from "./tokens.ts";
import type { PreparedCall, Tool, ToolContext } from "./tool.ts";
import type { JsonObject, ThinkingLevel, Todo, Usage } from "./types.ts";
import type { Undo } from "./undo.ts";

/** Asks whoever drives the session; told which call it is about. */
export type AskUser = (prompt: ApprovalPrompt, call: { id: string; input: JsonObject }) => ReturnType<Ask>;

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

export interface SessionParts {
  file: SessionFile;
  choice: ModelChoice;
  /** For summaries; null: the model in use. */
  helper: ModelChoice | null;
  variant: AgentVariant;
  /** Set by --think or /think; null: the variant's own. */
  thinking: ThinkingLevel | null;
  /** Every tool of the enabled sets; variants narrow it. */
  tools: readonly Tool[];
  gate: Gate;
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
  ): ToolContext;
  /** Masks keys, heals the text, spills what is too long. */
  finish(text: string, call: PreparedCall): Promise<string>;
}
