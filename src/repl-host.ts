/** What the interactive loop needs of the rest of the program. An interface only; the composition root implements it. */
import type { CommandUi } from "./command.ts";
import type { CommandSet } from "./commands.ts";
import type { Answer, ApprovalPrompt } from "./approval.ts";
import type { AskQuestion } from "./tool.ts";
import type { AgentEvent, Todo } from "./types.ts";

/** Asks the person whether a call may run. Of a turn that `signal` has ended by the time it could be shown, nothing is: a denial. */
export type Ask = (prompt: ApprovalPrompt, signal?: AbortSignal) => Promise<Answer>;
/** Puts a question of the model's to the person; null when dismissed, and when `signal` has ended the turn before. */
export type Question = (question: AskQuestion, signal?: AbortSignal) => Promise<string | null>;

export interface PromptState {
  /** Shown in the prompt unless it is `default`. */
  variant: string;
  /** Share of the compaction threshold, 0–1; null before anything is known. */
  contextShare: number | null;
}

export interface ShellOutcome {
  /** Null when a signal ended it, or the user. */
  code: number | null;
  signal: string | null;
  ms: number;
}

export interface ReplHost {
  /** Lines printed at the start; untrusted names in them are sanitised when printed. */
  header(): readonly string[];
  /** Lines printed at the end: session id, how to resume, cost. */
  farewell(): readonly string[];
  /** A question that comes before everything else; null: there is none. Asked only where somebody can answer. */
  begin?(): ((ui: CommandUi) => Promise<void>) | null;
  /** The prompt is up, or the first turn has begun: what may take its time can start. */
  ready?(): void;
  /** One turn. Ends with exactly one `done` event, after an interrupt too. */
  send(text: string, ask: Ask, question: Question): AsyncIterable<AgentEvent>;
  /** esc: the turn is to end. Its events still come. Nothing happens when there is none. */
  interruptTurn(): void;
  /** ctrl-c: ends running commands, `!` ones too. True when something was killed. */
  killCommands(): boolean;
  promptState(): PromptState;
  commands: CommandSet;
  history: { load(): Promise<readonly string[]>; append(line: string): Promise<void> };
  /** Workspace paths for `@`, relative, with forward slashes. */
  paths(): AsyncIterable<string> | Promise<readonly string[]>;
  /** A command of the user's own. `tell`: offered to the model with the next prompt. */
  runShell(command: string, tell: boolean, output: (text: string) => void): Promise<ShellOutcome>;
  /** Stores a note; returns what to say about it. */
  remember(text: string): Promise<string>;
  /** The reasoning of the step that is running, as far as it has come. */
  reasoning(): string;
  /** The task list as text. */
  todos(todos: readonly Todo[]): string;
  /** Things to say while nobody asked, such as a server that connected. */
  notices: AsyncIterable<string> | null;
  /** Saves, and ends what still runs. */
  close(): Promise<void>;
}
