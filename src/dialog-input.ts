/** Who gets the input: the interactive loop, or the dialog opened over it. Reads single lines for dialogs. Decides nothing about answers. */
import { EditorLine } from "./editor-line.ts";
import type { Terminal, TerminalEvent } from "./terminal.ts";

type Receiver = (event: TerminalEvent) => void;

/** How a dialog's line ended: a text, or nothing because of esc, ctrl-c, ctrl-d or the end of input. */
export type LineAnswer = { text: string } | { text: null; why: "escape" | "interrupt" | "end" };

export interface LineRequest {
  /** Safe text; may be styled. */
  prompt: string;
  /** Nothing of what is typed is shown. */
  secret?: boolean;
}

/** Before a question of the turn's is printed, input must have been quiet this long … */
const QUIET_MS = 40;
/** … or this long when someone is writing a draft and typed just before: they are given the end of their word. */
const TYPING_QUIET_MS = 300;
const TYPING_WINDOW_MS = 1000;
const MAX_WAIT_MS = 3000;
/** After it is printed nobody must type for so many looks: keys on their way were pressed before it could be read. */
const LOOK_MS = 50;
const LOOKS = 5;
/** Over SSH its text and the keys need their time on the line as well. */
const REMOTE_LOOKS = 12;

const STOPS: ReadonlySet<string> = new Set(["escape", "ctrl-c"]);

/** The stack of receivers. The bottom one is the loop's; the top one gets every event. */
export class InputRouter {
  readonly terminal: Terminal;
  readonly #clock: { now(): number; after(ms: number, run: () => void): () => void };
  readonly #receivers: Receiver[] = [];
  #lastInputAt = Number.NEGATIVE_INFINITY;
  #lastStopAt = Number.NEGATIVE_INFINITY;
  #ended: TerminalEvent | null = null;

  constructor(terminal: Terminal, clock: { now(): number; after(ms: number, run: () => void): () => void }) {
    this.terminal = terminal;
    this.#clock = clock;
  }

  /** Starts reading; `base` gets what no dialog takes. */
  start(base: Receiver): void {
    this.#receivers.unshift(base);
    this.terminal.onEvent((event) => this.#route(event));
  }

  /** Input that has ended: no answer will ever come. */
  get ended(): boolean {
    return this.#ended !== null;
  }

  /** Hands events to `receiver` until the returned function is called. */
  take(receiver: Receiver): () => void {
    this.#receivers.push(receiver);
    if (this.#ended) receiver(this.#ended);
    return () => {
      const at = this.#receivers.lastIndexOf(receiver);
      if (at >= 0) this.#receivers.splice(at, 1);
    };
  }

  /**
   * Resolves when nobody is typing: what was typed before has gone to whom it was meant for. `drafting`: there is a
   * draft, which is not to be covered within a word. False when esc or ctrl-c was pressed meanwhile.
   */
  async quiet(drafting: boolean): Promise<boolean> {
    const begun = this.#clock.now();
    const typing = drafting && begun - this.#lastInputAt < TYPING_WINDOW_MS;
    const needed = typing ? TYPING_QUIET_MS : QUIET_MS;
    for (;;) {
      const idle = this.#clock.now() - Math.max(begun, this.#lastInputAt);
      const since = typing ? this.#clock.now() - this.#lastInputAt : idle;
      if (this.ended || (since >= needed && idle >= 0) || this.#clock.now() - begun > MAX_WAIT_MS) break;
      await this.#wait(Math.max(5, needed - since));
    }
    // One more turn of the event loop with a poll in it, for bytes that arrived while we slept.
    await this.#wait(QUIET_MS);
    return this.#lastStopAt < begun;
  }

  /**
   * For a question that was printed just now: resolves to true once it can have been read. Until then keys go where
   * they were meant to, to the loop's line, for as long as they keep coming; esc and ctrl-c make it false.
   */
  async seen(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const needed = this.terminal.traits.lowBandwidth ? REMOTE_LOOKS : LOOKS;
    let looks = 0;
    const release = this.take((event) => {
      looks = 0;
      if (event.type === "end") resolve(true);
      else if (isStop(event)) resolve(false);
      else this.#receivers[0]?.(event);
    });
    // Counted, not timed: between two looks waiting bytes are read, however long the program was busy before.
    const look = () => (looks++ < needed ? void this.#clock.after(LOOK_MS, look) : resolve(true));
    look();
    const seen = await promise;
    release();
    return seen;
  }

  /** One line from the user. In raw mode it is edited like any other; in plain mode the terminal does that. */
  async line(request: LineRequest): Promise<LineAnswer> {
    if (this.terminal.traits.plain) return this.#plainLine(request);
    return this.#editedLine(request);
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(ms, resolve));
  }

  #route(event: TerminalEvent): void {
    if (event.type === "end") {
      this.#ended = event;
      // Every open dialog must learn it, and the loop last.
      for (const receiver of [...this.#receivers].reverse()) receiver(event);
      return;
    }
    this.#lastInputAt = this.#clock.now();
    if (isStop(event)) this.#lastStopAt = this.#lastInputAt;
    this.#receivers.at(-1)?.(event);
  }

  async #plainLine(request: LineRequest): Promise<LineAnswer> {
    const { screen } = this.terminal;
    // Echo is off before the question is seen: whoever answers at once must not be echoed.
    const hidden = (request.secret ?? false) && this.terminal.readHidden(true);
    screen.write(request.prompt);
    screen.flush();
    try {
      return await this.#answer((event, done) => {
        if (event.type !== "line") return;
        if (this.terminal.stdinIsTty && !hidden) screen.lineTyped();
        done({ text: event.text });
      });
    } finally {
      if (hidden) {
        this.terminal.readHidden(false);
        screen.write("\n");
      }
    }
  }

  async #editedLine(request: LineRequest): Promise<LineAnswer> {
    const { screen } = this.terminal;
    const line = new EditorLine();
    const show = () => {
      const shown = request.secret ? { cells: [], cursor: 0 } : line.shown;
      screen.setInput({ prompt: request.prompt, ...shown });
    };
    screen.freshLine();
    show();
    const answer = await this.#answer((event, done) => this.#edit(event, line, done, show));
    screen.commitInput();
    return answer;
  }

  #edit(event: TerminalEvent, line: EditorLine, done: (answer: LineAnswer) => void, show: () => void): void {
    if (event.type !== "keys") return;
    for (const key of event.keys) {
      const effect = line.press(key);
      // Keys of one read are drawn at its end; what ends the line must leave it as it was typed.
      if (effect !== null) show();
      if (effect === "submit") return done({ text: line.text });
      if (effect === "escape" || effect === "interrupt") return done({ text: null, why: effect });
      if (effect === "eof") return done({ text: null, why: "end" });
      if (effect === "suspend") this.terminal.suspend();
      if (effect === "clear") this.terminal.screen.clear();
    }
    show();
  }

  async #answer(handle: (event: TerminalEvent, done: (answer: LineAnswer) => void) => void): Promise<LineAnswer> {
    const { promise, resolve } = Promise.withResolvers<LineAnswer>();
    const release = this.take((event) => {
      if (event.type === "end") resolve({ text: null, why: "end" });
      else if (event.type === "interrupt") resolve({ text: null, why: "interrupt" });
      else handle(event, resolve);
    });
    const answer = await promise;
    release();
    return answer;
  }
}

function isStop(event: TerminalEvent): boolean {
  if (event.type === "interrupt") return true;
  return event.type === "keys" && event.keys.some((key) => key.type === "key" && STOPS.has(key.id));
}
