/** What goes on the wire of one session: extended at the end, compacted in large steps, repaired before each request. The transcript on disk stays whole. */
import type { Message, AgentEvent } from "./types.ts";
import { compactView } from "./prune-ladder.ts";
import { extendView, openView, stateFor, wireMessages, type WireView } from "./prune-view.ts";
import type { SessionFile } from "./session-file.ts";
import { renderTodos } from "./todo.ts";
import type { TokenMeter } from "./tokens.ts";
import type { ToolDefinition } from "./provider.ts";

export interface WireHistoryDeps {
  file: SessionFile;
  meter: TokenMeter;
  /** System text and tools of the next request. */
  fixed(): { system: string; tools: readonly ToolDefinition[] };
  /** Tokens above which a request is compacted first; null: only when the provider refuses. */
  threshold(): number | null;
  /** Target when there is no threshold and the provider refused. */
  inputLimit(): number;
  summarise(span: Message[], earlier: string | null, signal: AbortSignal): Promise<string>;
  bindsThinking(): boolean;
  /** Messages were dropped or shortened: the next request begins anew. */
  cut?(): void;
}

export class WireHistory {
  readonly #deps: WireHistoryDeps;
  #view: WireView;
  /** The rendering of the task list that the model can see; null when it can see none. */
  #shownTodos: string | null;
  #reported = false;
  #stuckAt = 0;

  constructor(deps: WireHistoryDeps) {
    const { record } = deps.file;
    this.#deps = deps;
    this.#view = openView(record.messages, stateFor(record.views, record.messages.length));
    this.#shownTodos = this.#findTodos();
  }

  get messages(): readonly Message[] {
    return this.#view.messages;
  }

  /** A new turn: compaction is reported once in each. */
  startTurn(): void {
    this.#reported = false;
  }

  /** Messages of the next request. */
  wireCount(): number {
    return wireMessages(this.#view).length;
  }

  /** What no summary stands for yet, and the summary of what came before it. */
  unsummarised(): { span: Message[]; earlier: string | null } {
    const { source, state } = this.#view;
    const first = source[0];
    if (state.dropped > 0) return { span: source.slice(state.dropped), earlier: state.summary };
    if (first?.role !== "user" || !first.summary) return { span: [...source], earlier: null };
    return { span: source.slice(1), earlier: textsOf(first).join("\n") };
  }

  append(message: Message): void {
    this.#deps.file.appendMessage(message);
    extendView(this.#view, [message]);
  }

  /** Opens the view anew: after undo, /compact or /clear changed the transcript itself. */
  reopen(): void {
    const { record } = this.#deps.file;
    this.#view = openView(record.messages, stateFor(record.views, record.messages.length));
    this.#shownTodos = this.#findTodos();
  }

  /** The list is in a tool result that is about to be sent: it needs no other showing. */
  todosShown(): void {
    this.#shownTodos = this.#todos();
  }

  /** The task list, when the model has lost sight of it; counts as shown from here on. */
  injections(): string[] {
    const todos = this.#todos();
    if (todos === null || todos === this.#shownTodos) return [];
    this.#shownTodos = todos;
    return [`Your task list:\n${todos}`];
  }

  /** Calibrated tokens of the next request. */
  estimate(): number {
    return this.#deps.meter.estimate({ ...this.#deps.fixed(), messages: this.#view.messages });
  }

  /** The legal messages of the next request; compacts first when they are too many. */
  async *prepare(force: boolean, signal: AbortSignal): AsyncGenerator<AgentEvent, Message[]> {
    const threshold = this.#deps.threshold();
    const size = this.estimate();
    const due = threshold !== null && size > threshold && size > this.#stuckAt * 1.1;
    if (force || due)
      yield* this.#compact(force ? Math.min(size, threshold ?? this.#deps.inputLimit()) : (threshold ?? size), signal);
    return wireMessages(this.#view);
  }

  async *#compact(limit: number, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    const { meter, fixed, file } = this.#deps;
    const result = await compactView(this.#view, {
      targetTokens: limit / 2,
      fixedTokens: meter.fixed(fixed()),
      estimate: meter.message,
      summarise: (span, earlier) => this.#deps.summarise(span, earlier, signal),
      bindsThinking: this.#deps.bindsThinking(),
    });
    this.#view = result.view;
    // Nothing left to shorten: trying again at every step would only cost time.
    this.#stuckAt = result.changed ? 0 : this.estimate();
    if (!result.changed) return;
    file.recordView(result.view.state);
    this.#deps.cut?.();
    this.#shownTodos = this.#findTodos();
    this.#showTodos();
    if (this.#reported) return;
    this.#reported = true;
    yield { type: "compacted", before: result.before, after: this.wireCount() };
  }

  // The very next request must show the list: the model works from it at once.
  #showTodos(): void {
    const texts = this.injections();
    if (texts.length === 0) return;
    this.append({ role: "user", content: texts.map((text) => ({ type: "text", text, injected: true })) });
  }

  #todos(): string | null {
    const { todos } = this.#deps.file.record.notebook;
    return todos.length === 0 ? null : renderTodos(todos);
  }

  #findTodos(): string | null {
    const todos = this.#todos();
    if (todos === null) return null;
    const shown = this.#view.messages.some((message) => textsOf(message).some((text) => text.includes(todos)));
    return shown ? todos : null;
  }
}

function textsOf(message: Message): string[] {
  if (message.role === "assistant") return [];
  if (message.role === "user") return message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return [
    ...(message.notes ?? []),
    ...message.results.flatMap((result) => result.content.flatMap((part) => (part.type === "text" ? [part.text] : []))),
  ];
}
