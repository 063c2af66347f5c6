/** Agent events → what a person sees. Writes to a sink it is given; reads no keys and asks nothing. Tool calls are in render-tools.ts. */
import { MarkdownStream } from "./markdown.ts";
import { type Colours, coloursOf } from "./render-colours.ts";
import { duration, marksOf, tokens, usageLine } from "./render-lines.ts";
import { todosInWords } from "./render-todos.ts";
import { ToolRenderer } from "./render-tools.ts";
import type { StatusText } from "./terminal-screen.ts";
import { endsLine } from "./terminal-style.ts";
import { SanitizeStream, sanitize, sanitizeLabel } from "./sanitize.ts";
import type { TerminalTraits } from "./terminal-traits.ts";
import { wrapWords } from "./text-wrap.ts";
import type { AgentEvent, Todo } from "./types.ts";

/** Where it goes; a Screen is one. */
export interface RenderSink {
  write(text: string): void;
  /** Ends the line being written, if it hasn't been: an input line shown meanwhile has ended it already. */
  freshLine?(): void;
  /** Text of the wait indicator; null while there is output or nothing to wait for. */
  setStatus(text: StatusText | null): void;
}

export interface RenderOptions {
  traits: TerminalTraits;
  columns(): number;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** The task list as text. */
  todos(todos: readonly Todo[]): string;
}

const LONG_WAIT_S = 5;
// The label is written anew while one waits: a long name would cost more than a slow line has.
const LABEL_CHARS = 24;
const NO_BREAK = "\u00a0";

/** One per session: it remembers the last output and answer. */
export class Renderer {
  readonly #sink: RenderSink;
  readonly #options: RenderOptions;
  readonly #colours: Colours;
  readonly #tools: ToolRenderer;
  readonly #markdown: MarkdownStream;
  readonly #safe: SanitizeStream;
  #atLineStart = true;
  #answer: string[] = [];
  #lastAnswer: string | null = null;
  /** The turn has said or done something that stays. */
  #begun = false;
  #reasoningChars = 0;
  #reasoningSaid = false;
  #startedAt = 0;
  #usage: { contextShare: number | null; estimated: boolean } = { contextShare: null, estimated: false };

  constructor(sink: RenderSink, options: RenderOptions) {
    this.#sink = sink;
    this.#options = options;
    this.#colours = coloursOf(options.traits);
    this.#safe = new SanitizeStream(options.traits);
    this.#markdown = new MarkdownStream(options.traits);
    this.#tools = new ToolRenderer({ ...options, print: (text) => this.#line(text), say: (text) => this.print(text) });
  }

  get lastOutput(): string | null {
    return this.#tools.lastOutput;
  }

  get lastAnswer(): string | null {
    return this.#lastAnswer;
  }

  startTurn(): void {
    this.#startedAt = this.#options.now();
    this.#begun = false;
    this.#usage = { contextShare: null, estimated: false };
    this.#tools.reset();
    this.#wait("waiting", this.#startedAt);
  }

  /** Ends whatever is open, whether the turn ended well or not. */
  endTurn(): void {
    this.#endText();
    this.#tools.reset();
    this.#sink.setStatus(null);
  }

  /** A line of our own words and sanitised text; starts on a fresh line. */
  print(text: string): void {
    const wrapped = this.#wrapped(text);
    this.#line(wrapped.endsWith("\n") ? wrapped : `${wrapped}\n`);
  }

  /** The person is asked whether a call may run, and shown its diff. */
  asked(diff: string | null): void {
    this.#tools.asked(diff);
  }

  /** As `aside`, for words of our own: broken at blanks. */
  say(text: string): void {
    this.aside(this.#wrapped(text));
  }

  /** Lines beside what is going on: an answer that streams goes on after them, in its style and its code block. */
  aside(text: string): void {
    const style = this.#markdown.openStyles;
    if (style !== "") this.#write("\x1b[m");
    this.#freshLine();
    this.#write((text.endsWith("\n") ? text : `${text}\n`) + style);
  }

  /** Sanitised text in pieces, as it comes; `endTurn` ends its last line. */
  stream(text: string): void {
    this.#sink.setStatus(null);
    this.#write(text);
  }

  event(event: AgentEvent): void {
    switch (event.type) {
      case "session":
      case "message":
        return;
      case "text":
        return event.agent ? undefined : this.#text(event.text);
      case "reasoning":
        return event.agent ? undefined : this.#reasoning(event.text);
      case "step-start":
        return event.agent ? undefined : this.#stepStart();
      case "tool-start":
      case "tool-call":
      case "tool-begin":
      case "tool-output":
      case "tool-result":
      case "tool-error":
      case "tool-denied":
      case "tool-end":
      case "approval":
        return this.#tool(event);
      case "usage":
        return this.#noteUsage(event);
      default:
        return this.#report(event);
    }
  }

  #report(event: Exclude<AgentEvent, { type: ReportedElsewhere }>): void {
    switch (event.type) {
      case "todos":
        return this.print(sanitize(this.#taskList(event.todos), this.#options.traits));
      case "compacted":
        // A subagent's memory is nobody else's concern.
        if (event.agent) return;
        this.print(
          this.#colours.dim(`context compacted: ${event.before} messages pruned to ${event.after} on the wire`),
        );
        return this.#wait("waiting");
      case "notice":
        return this.#notice(event.level, event.message, event.agent);
      case "retry":
        return this.#retry(event);
      case "error":
        return this.#error(event);
      case "done":
        return event.agent ? undefined : this.#done(event);
      default:
        event satisfies never;
    }
  }

  #taskList(todos: readonly Todo[]): string {
    return this.#options.traits.plain ? todosInWords(todos) : this.#options.todos(todos);
  }

  #text(text: string): void {
    if (text === "") return;
    this.#sink.setStatus(null);
    this.#answer.push(text);
    this.#begun = true;
    this.#write(this.#markdown.push(this.#safe.push(text)));
  }

  /** Closes open styles and the line; the answer so far becomes the last answer. */
  #endText(): void {
    if (this.#answer.length > 0) this.#lastAnswer = this.#answer.join("");
    this.#answer = [];
    this.#write(this.#markdown.push(this.#safe.end()) + this.#markdown.end());
    this.#freshLine();
  }

  #freshLine(): void {
    if (this.#atLineStart) return;
    if (!this.#sink.freshLine) return this.#write("\n");
    this.#sink.freshLine();
    this.#atLineStart = true;
  }

  #reasoning(text: string): void {
    this.#endText();
    this.#reasoningChars += text.length;
    if (this.#options.traits.plain && !this.#reasoningSaid) this.#line("thinking...\n");
    this.#reasoningSaid = true;
    // Four characters a token is near enough for a figure that is marked as a guess.
    const count = tokens(Math.ceil(this.#reasoningChars / 4));
    this.#sink.setStatus(`thinking${marksOf(this.#options.traits).dots} ~${count} tokens`);
  }

  #stepStart(): void {
    this.#endText();
    this.#reasoningChars = 0;
    this.#reasoningSaid = false;
    this.#wait("waiting");
  }

  #tool(event: Parameters<ToolRenderer["event"]>[0]): void {
    if (event.type === "tool-start" && !event.agent) this.#endText();
    this.#tools.event(event);
    if (event.type === "tool-end") this.#begun = true;
    const name = event.type === "tool-start" ? event.name : this.#tools.running;
    this.#wait(name === null ? "waiting" : sanitizeLabel(name, LABEL_CHARS, this.#options.traits));
  }

  /** Long waits say how long, and the way out. */
  #wait(label: string, since = this.#options.now()): void {
    this.#sink.setStatus(() => {
      const seconds = Math.floor((this.#options.now() - since) / 1000);
      return seconds < LONG_WAIT_S ? label : `${label} ${seconds} s, esc ends it`;
    });
  }

  #noteUsage(event: Extract<AgentEvent, { type: "usage" }>): void {
    // One guess among the steps makes the turn's sums a guess.
    const estimated = this.#usage.estimated || (event.usage.estimated ?? false);
    this.#usage = { contextShare: event.agent ? this.#usage.contextShare : event.contextShare, estimated };
  }

  #notice(level: "info" | "warning" | "error", message: string, agent: string | undefined): void {
    const text = this.#labelled(message, agent);
    if (level === "info") return this.print(this.#colours.dim(text));
    const colour = level === "warning" ? this.#colours.yellow : this.#colours.red;
    this.print(`${colour(`${level}:`)} ${text}`);
  }

  #retry(event: Extract<AgentEvent, { type: "retry" }>): void {
    const reason = this.#labelled(event.reason, event.agent);
    const wait = duration(event.waitMs);
    this.print(this.#colours.yellow(`retry ${event.attempt}/${event.limit} in ${wait}: ${reason}`));
    const until = this.#options.now() + event.waitMs;
    this.#sink.setStatus(() => {
      const left = Math.ceil((until - this.#options.now()) / 1000);
      return left > 0 ? `retrying in ${left} s, esc ends it` : "waiting";
    });
  }

  #error(event: Extract<AgentEvent, { type: "error" }>): void {
    const facts = [event.status, event.requestId].filter((fact) => fact !== undefined).join(", ");
    const text = this.#labelled(event.message + (facts ? ` (${facts})` : ""), event.agent);
    this.print(`${this.#colours.red(`error (${sanitizeLabel(event.kind, 60, this.#options.traits)}):`)} ${text}`);
  }

  #done(event: Extract<AgentEvent, { type: "done" }>): void {
    this.#doneLines(event);
    // Hooks of the turn's end and plugins may take their time: a screen without a prompt must not look dead.
    this.#sink.setStatus("finishing");
  }

  #doneLines(event: Extract<AgentEvent, { type: "done" }>): void {
    this.#endText();
    const reason = REASONS[event.reason];
    if (reason !== null) this.print(this.#colours.yellow(reason));
    if (event.reason === "error" && this.#begun)
      this.print(this.#colours.yellow("what came so far is kept; type continue to go on"));
    // A turn that ended before any answer has cost nothing: a row of zeros says nothing.
    if (event.inputTokens + event.outputTokens === 0) return;
    const ms = this.#options.now() - this.#startedAt;
    const { dot } = marksOf(this.#options.traits);
    const line = usageLine({ done: event, ms, ...this.#usage }, marksOf(this.#options.traits));
    // Broken between two figures, never within one.
    const glued = line.split(`${dot} `).map((figure) => figure.replaceAll(" ", NO_BREAK));
    const shown = this.#wrapped(glued.join(`${dot.replace(" ", NO_BREAK)} `)).replaceAll(NO_BREAK, " ");
    this.print(this.#colours.dim(shown));
  }

  /** A screen reader and a pipe take whole lines. */
  #wrapped(text: string): string {
    return this.#options.traits.plain ? text : wrapWords(text, this.#options.columns() - 1);
  }

  #labelled(text: string, agent: string | undefined): string {
    const safe = sanitizeLabel(text, 2000, this.#options.traits);
    return agent ? `[${sanitizeLabel(agent, 40, this.#options.traits)}] ${safe}` : safe;
  }

  #line(text: string): void {
    this.#endText();
    this.#sink.setStatus(null);
    this.#write(text);
  }

  #write(text: string): void {
    if (text === "") return;
    this.#sink.write(text);
    this.#atLineStart = endsLine(text, this.#atLineStart);
  }
}

type ReportedElsewhere =
  | "session"
  | "message"
  | "text"
  | "reasoning"
  | "step-start"
  | "usage"
  | "approval"
  | Extract<AgentEvent["type"], `tool-${string}`>;

/** Null where an event before it has said so in words. */
const REASONS: Record<Extract<AgentEvent, { type: "done" }>["reason"], string | null> = {
  completed: null,
  error: null,
  interrupted: "interrupted",
  ceiling: null,
  steps: null,
  timeout: "stopped: the time limit was reached",
  denied: "finished, with tool calls denied",
  schema: "finished without an answer that fits the schema",
  partial: "stopped early: the work is incomplete",
};
