/**
 * One conversation: transcript, loop, persistence and budget put together. The REPL, headless runs and the demo drive it;
 * it knows none of them. What is chosen at start comes in as parts (setup.ts); what can change in between is a field here.
 */
import type { AgentVariant } from "./agents.ts";
import type { Ask } from "./approval.ts";
import { bindEscalation, type LeftAlone } from "./approval-escalation.ts";
import { runTurn } from "./loop.ts";
import type { TurnDeps } from "./loop-answer.ts";
import { callKey } from "./loop-prepare.ts";
import { openCalls, unknownCalls } from "./loop-open.ts";
import { callsIn, isPrompt, promptText } from "./message.ts";
import type { PromptPart } from "./prompt.ts";
import type { ModelRequest, ToolDefinition } from "./provider.ts";
import { Ledger } from "./session-ledger.ts";
import { TurnLimit } from "./session-limit.ts";
import { Offer } from "./session-offer.ts";
import type { AskQuestionOf, AskUser, BaseToolContext, ModelChoice, SessionParts } from "./session-parts.ts";
import { agentsOf, type Delegating } from "./subagent-ties.ts";
import { cutMiddle, wellFormed } from "./text.ts";
import type { PreparedCall, Tool, ToolContext, ToolLimit } from "./tool.ts";
import type {
  AgentEvent,
  JsonObject,
  Message,
  ThinkingLevel,
  Todo,
  ToolCallPart,
  ToolResult,
  UserMessage,
  UserPart,
} from "./types.ts";
import { ChatUndo, promptTitle } from "./wire-history-undo.ts";
import { Helper } from "./wire-history-summary.ts";
import { WireHistory } from "./wire-history.ts";

export class Session {
  readonly parts: SessionParts;
  readonly history: WireHistory;
  choice: ModelChoice;
  readonly chatUndo: ChatUndo;
  /** Answers without tools: summaries, merged notes. */
  readonly helper: Helper<ModelChoice>;
  /** JSON Schema of the answer, for endpoints with structured output. */
  outputSchema: JsonObject | null = null;
  #variant: AgentVariant;
  #thinking: ThinkingLevel | null;
  readonly #offer: Offer;
  readonly #ledger: Ledger;
  #begun = false;
  readonly #limit: TurnLimit;
  readonly #ranBefore: string[] = [];
  readonly #latch: Set<string>;
  #resumed: boolean;
  #commands = new Set<() => void>();
  #notes: (string | (() => string | null))[] = [];
  #todosChanged = false;
  readonly #leftAlone: LeftAlone = new Set();

  constructor(parts: SessionParts) {
    this.parts = parts;
    this.choice = parts.choice;
    this.#variant = parts.variant;
    this.#thinking = parts.thinking;
    this.#resumed = parts.file.record.messages.length > 0;
    this.#ledger = new Ledger({ parts, choice: () => this.choice, history: () => this.history });
    this.#limit = new TurnLimit(parts);
    this.#offer = new Offer(parts, () => this.#variant);
    this.#latch = parts.parent?.latch ?? new Set();
    for (const call of unknownCalls(parts.file)) this.#latch.add(callKey(call.name, call.input));
    this.helper = new Helper<ModelChoice>({
      model: () => parts.helper ?? this.choice,
      budget: parts.budget,
      meter: parts.meter,
      sessionId: parts.file.id,
      spent: (model, usage, costUsd) => this.#ledger.record(model, usage, costUsd, true),
    });
    this.history = new WireHistory({
      file: parts.file,
      meter: parts.meter,
      fixed: () => this.#offer.head,
      threshold: () => this.#ledger.threshold(),
      inputLimit: () => this.#ledger.inputLimit(),
      summarise: (span, earlier, signal) => this.helper.summarise(span, earlier, null, signal),
      bindsThinking: () => this.choice.facts.bindsThinking,
      cut: () => this.parts.historyCut?.(),
    });
    this.chatUndo = new ChatUndo(parts.file, this.history);
  }

  get id(): string {
    return this.parts.file.id;
  }

  get variant(): AgentVariant {
    return this.#variant;
  }

  get thinking(): ThinkingLevel {
    return this.#thinking ?? this.#variant.thinking;
  }

  /** The level the user has set over the variant's own; null when none. */
  get ownThinking(): ThinkingLevel | null {
    return this.#thinking;
  }

  setVariant(variant: AgentVariant): void {
    this.#variant = variant;
    this.#offer.renew();
  }

  setThinking(level: ThinkingLevel | null): void {
    this.#thinking = level;
  }

  setChoice(choice: ModelChoice): void {
    this.choice = choice;
    this.parts.file.setModel(choice.presetId, choice.model);
  }

  /** What a skill that the user names in a prompt allows for that turn. */
  limitNextTurn(limit: ToolLimit | null): void {
    this.#limit.next = limit;
  }

  /** A command that ran for the sake of the prompt to come: undo names it there. */
  ranForNextPrompt(title: string): void {
    this.#ranBefore.push(title);
  }

  /** System text and tools are made again for the next request: tools, memory or instructions changed by the user's will. */
  refreshPrompt(): void {
    this.#offer.renew();
  }

  /** The tools of the requests to come, in wire order. */
  offeredTools(): Tool[] {
    return this.#offer.head.offered;
  }

  /** Something the model should know with its next message. A function is asked when that goes out; null: no longer true. */
  tell(note: string | (() => string | null)): void {
    this.#notes.push(note);
  }

  /** Ends running commands and leaves the turn alone. True when there was one. */
  killCommands(): boolean {
    const running = [...this.#commands];
    for (const kill of running) kill();
    return running.length > 0;
  }

  onCommand(kill: () => void): () => void {
    this.#commands.add(kill);
    return () => void this.#commands.delete(kill);
  }

  setTodos(todos: Todo[]): void {
    this.parts.file.setTodos(todos);
    this.history.todosShown();
    this.#todosChanged = true;
  }

  /** One turn. `ask` null: nobody can approve; `question` null: nobody can be asked. */
  async *send(
    content: string | UserPart[],
    ask: AskUser | null,
    signal: AbortSignal,
    question: AskQuestionOf | null = null,
  ): AsyncGenerator<AgentEvent> {
    const { file, gate, undo } = this.parts;
    if (!this.#resumed && !this.parts.parent) this.#latch.clear();
    this.#resumed = false;
    this.chatUndo.forget();
    file.setModel(this.choice.presetId, this.choice.model);
    gate.startTurn();
    this.#leftAlone.clear();
    this.#limit.startTurn();
    this.history.startTurn();
    if (!this.#begun) {
      await this.parts.beforeFirstRequest(signal);
      this.#begun = true;
    }
    const deps = this.#turnDeps(ask, question);
    const text =
      typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
    const open = openCalls(file, text.trim().toLowerCase() === "continue");
    if (open.answered.length > 0 && open.toRun.length === 0)
      this.history.append({ role: "tool", results: [...open.answered] });
    const prompt = open.toRun.length > 0 ? null : this.#userMessage(content);
    // Calls that run late belong to the prompt that asked for them.
    const place = prompt ? null : this.chatUndo.lastPrompt();
    if (prompt) undo?.beginPrompt(file.record.messages.length, promptTitle(promptText(prompt)));
    else if (place) undo?.resumePrompt(place.index, place.title);
    for (const title of this.#ranBefore.splice(0)) undo?.recordCommand(title);
    yield* runTurn(prompt, deps, signal, open.toRun.length > 0 ? open : null);
  }

  /** Tokens above which a request is compacted first; null: never. */
  threshold(): number | null {
    return this.#ledger.threshold();
  }

  /** Share of the threshold in use, an estimate; null before the first message. */
  contextShare(): number | null {
    return this.#ledger.contextShare();
  }

  /** The prompt's parts, for /context and `shiro prompt`. */
  promptParts(): PromptPart[] {
    return this.#offer.promptParts();
  }

  systemText(): string {
    return this.#offer.head.system;
  }

  toolDefinitions(): readonly ToolDefinition[] {
    return this.#offer.head.tools;
  }

  /** `/compact`: a summary takes the place of the whole transcript. */
  async compact(focus: string | null, signal: AbortSignal): Promise<{ before: number; by: "model" | "digest" }> {
    const { file } = this.parts;
    const before = this.history.wireCount();
    const { messages } = file.record;
    const { message, by } = await this.helper.replacement(messages, this.history.unsummarised(), focus, signal);
    this.chatUndo.forget();
    file.replaceTranscript(message);
    this.history.reopen();
    this.parts.historyCut?.();
    return { before, by };
  }

  #turnDeps(ask: AskUser | null, question: AskQuestionOf | null): TurnDeps {
    const { gate, budget, finish } = this.parts;
    const callable = (): ReadonlyMap<string, Tool> => this.#offer.head.callable;
    return {
      provider: this.choice.provider,
      request: () => this.#request(),
      // Asked at every step: what a request offers can be called, also where the offer changed within the turn.
      get tools() {
        return callable();
      },
      admit: async (call, signal) =>
        this.#limit.refusal(call) ??
        gate.admit(
          call,
          bindAsk(ask, call),
          () =>
            this.#whole(
              this.parts.toolContext(call, new AbortController().signal, () => {}, this),
              null,
              null,
            ),
          { signal },
        ),
      settled: (call, outcome) => gate.record(call, outcome),
      context: (call, signal, output, emit) => ({
        ...this.#whole(this.#context(call, signal, output), question, this.#agents(call, { ask, signal, emit })),
        escalate: bindEscalation(bindAsk(ask, call), call, this.#leftAlone),
        warn: (message) => emit({ type: "notice", level: "warning", message }),
      }),
      toolLimit: () => this.#limit.current,
      started: (call) => this.#started(call),
      finished: (result) => this.#finished(result),
      finish,
      title: (call) => titleOf(call),
      latch: this.#latch,
      history: {
        append: (message) => this.history.append(message),
        prepare: (force, signal) => this.history.prepare(force, signal),
        injections: () => this.#injections(),
      },
      budget,
      account: (usage, request, answer) => this.#ledger.account(usage, request, answer),
      changedTodos: () => this.#takeTodos(),
      maxSteps: this.parts.maxSteps ?? this.#variant.maxSteps,
      reports: this.parts.parent !== null,
    };
  }

  #request(): Omit<ModelRequest, "messages"> {
    const { system, tools } = this.#offer.head;
    return {
      model: this.choice.model,
      system,
      tools,
      thinking: this.thinking,
      maxOutputTokens: this.parts.maxOutputTokens,
      sessionId: this.id,
      ...(this.outputSchema ? { outputSchema: this.outputSchema } : {}),
    };
  }

  /** What only the session can give a call. */
  #whole(base: BaseToolContext, question: AskQuestionOf | null, agents: ToolContext["agents"]): ToolContext {
    return { ...base, ask: question, agents, limitTools: (limit) => void (this.#limit.current = limit) };
  }

  #agents(call: PreparedCall, turn: Pick<Delegating, "ask" | "signal" | "emit">): ToolContext["agents"] {
    return agentsOf(call, {
      ...turn,
      session: this,
      latch: this.#latch,
      limit: () => this.#limit.current,
      spent: (choice, usage, costUsd) => this.#ledger.record(choice, usage, costUsd, true),
    });
  }

  #started(call: ToolCallPart): void {
    this.parts.file.startCall(call);
    this.parts.parent?.began();
  }

  #context(call: PreparedCall, signal: AbortSignal, output: (text: string) => void): BaseToolContext {
    if (call.tool.name === "bash") {
      this.parts.undo?.recordCommand(titleOf(call));
      this.parts.parent?.ranCommand(titleOf(call));
    }
    return this.parts.toolContext(call, signal, output, this);
  }

  #userMessage(content: string | UserPart[]): UserMessage {
    const own: UserPart[] = typeof content === "string" ? [{ type: "text", text: wellFormed(content) }] : content;
    const passing = this.#injections().map((text): UserPart => ({ type: "text", text, injected: true }));
    return { role: "user", content: [...own, ...passing] };
  }

  #injections(): string[] {
    const own = this.#notes.flatMap((note) => (typeof note === "string" ? note : (note() ?? [])));
    const notes = [...own, ...this.history.injections()];
    this.#notes = [];
    return notes;
  }

  // A single call's result is in the transcript a moment later; writing it twice would only double the journal.
  #finished(result: ToolResult): void {
    const { file } = this.parts;
    if (callsIn(file.record.messages.at(-1)).length > 1) file.recordResult(result);
  }

  #takeTodos(): Todo[] | null {
    if (!this.#todosChanged) return null;
    this.#todosChanged = false;
    return this.parts.file.record.notebook.todos;
  }
}

/** Turns of a transcript: prompts of the user. */
export function turnCount(messages: readonly Message[]): number {
  return messages.filter(isPrompt).length;
}

function bindAsk(ask: AskUser | null, call: PreparedCall): Ask | null {
  return ask === null ? null : (prompt) => ask(prompt, { id: call.id, input: call.rawInput });
}

/** What a call is about: `git status`, `src/main.ts`. */
function titleOf(call: PreparedCall): string {
  const subjects = call.tool
    .subjects(call.input)
    .map((subject) =>
      subject.kind === "command" ? subject.command : subject.kind === "path" ? subject.path : subject.text,
    );
  return cutMiddle(subjects.join(", "), 2000).text;
}
