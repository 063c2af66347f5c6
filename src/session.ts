/**
 * One conversation: transcript, loop, persistence and budget put together. The REPL, headless runs and the demo drive it;
 * it knows none of them. What is chosen at start comes in as parts (setup.ts); what can change in between is a field here.
 */
import { offers, type AgentVariant } from "./agents.ts";
import type { Ask } from "./approval.ts";
import { runTurn } from "./loop.ts";
import type { TurnDeps } from "./loop-answer.ts";
import { callKey } from "./loop-calls.ts";
import { openCalls, unknownCalls } from "./loop-open.ts";
import { callsIn, isPrompt, promptText } from "./message.ts";
import { promptParts, type PromptPart, type PromptState } from "./prompt.ts";
import type { ModelRequest, ToolDefinition } from "./provider.ts";
import type { AskUser, ModelChoice, SessionParts } from "./session-parts.ts";
import { cutMiddle, oneLine, wellFormed } from "./text.ts";
import { guessUsage } from "./tokens.ts";
import { jsonSchema } from "./tool-input.ts";
import type { PreparedCall, Tool, ToolContext } from "./tool.ts";
import type {
  AgentEvent,
  AssistantPart,
  JsonObject,
  Message,
  ThinkingLevel,
  Todo,
  ToolResult,
  Usage,
  UserMessage,
  UserPart,
} from "./types.ts";
import { ChatUndo, promptTitle } from "./wire-history-undo.ts";
import { ASSUMED_INPUT_LIMIT, Helper } from "./wire-history-summary.ts";
import { WireHistory } from "./wire-history.ts";

const DEFAULT_THRESHOLD_TOKENS = 120_000;
const DEFAULT_THRESHOLD_SHARE = 0.8;

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
  #fixed: { system: string; tools: ToolDefinition[] } | null = null;
  #latch = new Set<string>();
  #resumed: boolean;
  #commands = new Set<() => void>();
  #notes: string[] = [];
  #todosChanged = false;

  constructor(parts: SessionParts) {
    this.parts = parts;
    this.choice = parts.choice;
    this.#variant = parts.variant;
    this.#thinking = parts.thinking;
    this.#resumed = parts.file.record.messages.length > 0;
    for (const call of unknownCalls(parts.file)) this.#latch.add(callKey(call.name, call.input));
    this.helper = new Helper<ModelChoice>({
      model: () => parts.helper ?? this.choice,
      budget: parts.budget,
      meter: parts.meter,
      sessionId: parts.file.id,
      spent: (model, usage, costUsd) => this.#recordSpend(model, usage, costUsd, true),
    });
    this.history = new WireHistory({
      file: parts.file,
      meter: parts.meter,
      fixed: () => this.#fixedParts(),
      threshold: () => this.threshold(),
      inputLimit: () => this.#inputLimit(),
      summarise: (span, earlier, signal) => this.helper.summarise(span, earlier, null, signal),
      bindsThinking: () => this.choice.facts.bindsThinking,
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
    this.#fixed = null;
  }

  setThinking(level: ThinkingLevel | null): void {
    this.#thinking = level;
  }

  setChoice(choice: ModelChoice): void {
    this.choice = choice;
    this.parts.file.setModel(choice.presetId, choice.model);
  }

  /** System text and tools are made again for the next request: tools, memory or instructions changed by the user's will. */
  refreshPrompt(): void {
    this.#fixed = null;
  }

  offeredTools(): Tool[] {
    return this.parts.tools.filter((tool) => offers(this.#variant, tool));
  }

  /** Something the user did that the model should know with its next message. */
  tell(note: string): void {
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

  /** One turn. `ask` null: nobody can answer. */
  async *send(content: string | UserPart[], ask: AskUser | null, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    const { file, gate, undo } = this.parts;
    if (!this.#resumed) this.#latch.clear();
    this.#resumed = false;
    this.chatUndo.forget();
    file.setModel(this.choice.presetId, this.choice.model);
    gate.startTurn();
    this.history.startTurn();
    const deps = this.#turnDeps(ask);
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
    yield* runTurn(prompt, deps, signal, open.toRun.length > 0 ? open : null);
  }

  /** Tokens above which a request is compacted first. */
  threshold(): number | null {
    const { compactAt } = this.parts;
    const limit = this.#inputLimit();
    if (compactAt === null) return null;
    const wanted = "tokens" in compactAt ? compactAt.tokens : limit * compactAt.share;
    return Math.floor(Math.min(wanted, limit * ("tokens" in compactAt ? DEFAULT_THRESHOLD_SHARE : 1)));
  }

  /** Share of the threshold in use, an estimate; null when compaction is off. */
  contextShare(): number | null {
    const threshold = this.threshold() ?? this.#inputLimit();
    return this.history.messages.length === 0 ? null : this.history.estimate() / threshold;
  }

  /** The prompt's parts, for /context and `shiro prompt`. */
  promptParts(): PromptPart[] {
    return promptParts(this.#promptState());
  }

  systemText(): string {
    return this.#fixedParts().system;
  }

  toolDefinitions(): readonly ToolDefinition[] {
    return this.#fixedParts().tools;
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
    return { before, by };
  }

  #turnDeps(ask: AskUser | null): TurnDeps {
    const { gate, budget, finish } = this.parts;
    return {
      provider: this.choice.provider,
      request: () => this.#request(),
      tools: new Map(this.offeredTools().map((tool) => [tool.name, tool])),
      admit: (call) =>
        gate.admit(call, bindAsk(ask, call), () =>
          this.parts.toolContext(call, new AbortController().signal, () => {}, this),
        ),
      settled: (call, outcome) => gate.record(call, outcome),
      context: (call, signal, output) => this.#context(call, signal, output),
      started: (call) => this.parts.file.startCall(call),
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
      account: (usage, request, answer) => this.#account(usage, request, answer),
      changedTodos: () => this.#takeTodos(),
      maxSteps: this.parts.maxSteps ?? this.#variant.maxSteps,
    };
  }

  #request(): Omit<ModelRequest, "messages"> {
    const { system, tools } = this.#fixedParts();
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

  #context(call: PreparedCall, signal: AbortSignal, output: (text: string) => void): ToolContext {
    if (call.tool.name === "bash") this.parts.undo?.recordCommand(titleOf(call));
    return this.parts.toolContext(call, signal, output, this);
  }

  #fixedParts(): { system: string; tools: ToolDefinition[] } {
    // Made once: these bytes head every request, and a provider's cache lives on them.
    this.#fixed ??= {
      system: promptParts(this.#promptState())
        .map((part) => part.text)
        .join("\n\n"),
      tools: this.offeredTools().map((tool) => ({
        name: tool.name,
        description: tool.description,
        schema: jsonSchema(tool.input),
      })),
    };
    return this.#fixed;
  }

  #promptState(): PromptState {
    const tools = this.offeredTools().map((tool) => ({
      name: tool.name,
      line: firstSentence(tool.description),
      asks: this.parts.gate.mayAsk(tool.name),
    }));
    return this.parts.promptState(tools, this.#variant);
  }

  #userMessage(content: string | UserPart[]): UserMessage {
    const own: UserPart[] = typeof content === "string" ? [{ type: "text", text: wellFormed(content) }] : content;
    const passing = this.#injections().map((text): UserPart => ({ type: "text", text, injected: true }));
    return { role: "user", content: [...own, ...passing] };
  }

  #injections(): string[] {
    const notes = [...this.#notes, ...this.history.injections()];
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

  #account(
    usage: Usage | null,
    request: ModelRequest,
    answer: readonly AssistantPart[],
  ): ReturnType<TurnDeps["account"]> {
    const counted = usage ?? guessUsage(this.parts.meter, request, answer);
    if (usage) this.parts.meter.calibrate(this.parts.meter.estimateRaw(request), usage.inputTokens);
    const costUsd = this.choice.price(counted);
    this.#recordSpend(this.choice, counted, costUsd, false);
    return { usage: counted, costUsd, contextShare: this.contextShare() };
  }

  #recordSpend(choice: ModelChoice, usage: Usage, costUsd: number | null, subagent: boolean): void {
    const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
    this.parts.file.addSpend({
      provider: choice.presetId,
      model: choice.model,
      inputTokens,
      outputTokens,
      cacheReadTokens,
      cacheWriteTokens,
      costUsd,
      subagent,
    });
  }

  #inputLimit(): number {
    return this.choice.facts.inputLimit ?? this.choice.facts.context ?? ASSUMED_INPUT_LIMIT;
  }
}

/** The default of `compactAt`. */
export const DEFAULT_COMPACT_AT = { tokens: DEFAULT_THRESHOLD_TOKENS } as const;

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

function firstSentence(text: string): string {
  const end = /[.:](?:\s|$)/.exec(text);
  return oneLine(end ? text.slice(0, end.index) : text, 90);
}
