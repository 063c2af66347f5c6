/**
 * The owner of the terminal: raw mode, bracketed paste, signals of the keyboard, suspend, hang-up, restoring
 * on every exit. Reads keys or lines and hands them on; what they mean is decided elsewhere. The screen's
 * content is terminal-screen.ts.
 */
import { isatty } from "node:tty";
import { errnoOf } from "./errors.ts";
import { type Key, KeyDecoder } from "./keys.ts";
import type { Listener, TerminalIo } from "./terminal-io.ts";
import { LineReader } from "./terminal-lines.ts";
import { Screen } from "./terminal-screen.ts";
import type { TerminalTraits } from "./terminal-traits.ts";
import { graphemes } from "./text.ts";

export type TerminalEvent =
  /** Keys that came in one read. More than one at once is typed ahead or pasted. */
  | { type: "keys"; keys: Key[] }
  /** Plain mode: a whole line, without its end. */
  | { type: "line"; text: string }
  /** SIGINT, where the terminal or another process sends one. */
  | { type: "interrupt" }
  /** No more input. `hangup`: the terminal itself is gone. */
  | { type: "end"; hangup: boolean };

const PASTE_ON = "\x1b[?2004h";
const PASTE_OFF = "\x1b[?2004l";
/** A bracketed paste whose end got lost ends by itself after this. */
const PASTE_IDLE_MS = 2000;
/** What was typed before the terminal was ours comes with the first read, within this time. */
const TYPE_AHEAD_MS = 150;
/** More unwritten output than this, and whoever produces it should wait for `drained`. */
const BACKLOG_BYTES = 64 * 1024;

/** Takes the terminal over. `close` (or the program's exit) gives it back. `frames`: see `indicatorFrames`. */
export function openTerminal(io: TerminalIo, traits: TerminalTraits, frames?: readonly string[]): Terminal {
  return new Terminal(io, traits, frames);
}

/** Frames of the wait indicator; loaded here because the package holds eighty others. */
export async function indicatorFrames(ascii: boolean): Promise<readonly string[]> {
  const { default: spinners } = await import("cli-spinners");
  return ascii ? spinners.line.frames : spinners.dots.frames;
}

export class Terminal {
  readonly traits: TerminalTraits;
  readonly screen: Screen;
  readonly #io: TerminalIo;
  readonly #decoder = new KeyDecoder();
  readonly #lines = new LineReader();
  readonly #openedAt: number;
  #hasRead = false;
  readonly #listeners: [{ on: TerminalIo["process"]["on"]; off: TerminalIo["process"]["off"] }, string, Listener][] =
    [];
  #stopTimeout: (() => void) | null = null;
  #receive: (event: TerminalEvent) => void = () => undefined;
  #early: TerminalEvent[] | null = [];
  /** Called when the terminal is ours again after a stop or another program: for a line that no input line draws. */
  onReturn: (() => void) | null = null;
  #raw = false;
  #hidden: KeyDecoder | null = null;
  #secret = "";
  /** Somebody else has the terminal: a shell while we are stopped, or an editor. */
  #away = false;
  /** Pending while an editor has it. */
  #back: Promise<void> = Promise.resolve();
  #suspended = false;
  #closed = false;
  #ended = false;
  #gone = false;

  constructor(io: TerminalIo, traits: TerminalTraits, frames?: readonly string[]) {
    this.#io = io;
    this.traits = traits;
    this.screen = new Screen({ write: (text) => this.#write(text), size: () => this.size() }, traits, io.clock, frames);
    this.#openedAt = io.clock.now();
    this.#listen();
    this.#enter();
    io.stdin.resume();
  }

  /** Sets the one receiver; what came before the first is handed over at once. */
  onEvent(receive: (event: TerminalEvent) => void): void {
    this.#receive = receive;
    const early = this.#early ?? [];
    this.#early = null;
    for (const event of early) receive(event);
  }

  /** A size of 0×0 (serial lines, some containers) means that nobody said: 80×24. */
  size(): { columns: number; rows: number } {
    return { columns: this.#io.stdout.columns || 80, rows: this.#io.stdout.rows || 24 };
  }

  /** False for a pipe or a file, which nobody reads a prompt before. */
  get stdinIsTty(): boolean {
    return this.#io.stdin.isTTY ?? false;
  }

  /** True once the terminal is gone; nothing is written any more. */
  get hungUp(): boolean {
    return this.#gone;
  }

  /** Resolves when a slow terminal has taken most of what was written, and nobody else has it. */
  async drained(): Promise<void> {
    await this.#back;
    if ((this.#io.stdout.writableLength ?? 0) < BACKLOG_BYTES || this.#gone) return;
    await new Promise<void>((resolve) => {
      const stop = this.#io.clock.after(1000, resolve);
      this.#io.stdout.once("drain", () => {
        stop();
        resolve();
      });
    });
  }

  /** ctrl-z: gives the terminal back and stops the job; goes on here when it is continued. */
  suspend(): void {
    // Windows has no job control; a stop there could not be undone.
    if (this.#closed || this.#away || this.#io.process.platform === "win32") return;
    this.screen.stepAside();
    this.#leave();
    this.#away = true;
    this.#suspended = true;
    // 0: the whole job, so that a wrapper script stops with us. Without job control nothing stops, and the
    // timer brings us straight back; it doesn't run while we are stopped.
    this.#io.process.kill(0, "SIGTSTP");
    this.#io.clock.after(50, () => this.#comeBack());
  }

  /** Runs another program that uses the terminal, such as an editor. */
  async lend<T>(work: () => Promise<T>): Promise<T> {
    this.screen.stepAside();
    this.#leave();
    this.#away = true;
    this.#io.stdin.pause();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#back = promise;
    try {
      return await work();
    } finally {
      this.#io.stdin.resume();
      this.#comeBack();
      resolve();
    }
  }

  /** Puts text on the clipboard of the terminal at the other end (OSC 52). False in plain mode. */
  copy(text: string): boolean {
    if (this.traits.plain) return false;
    this.screen.control(`\x1b]52;c;${Buffer.from(text, "utf8").toString("base64")}\x07`);
    return true;
  }

  /**
   * Plain mode: stops the terminal's echo for a secret; lines come as before. False where there is no echo to
   * stop (a pipe). In raw mode nothing is echoed anyway.
   */
  readHidden(on: boolean): boolean {
    if (!this.traits.plain || !this.#io.stdin.isTTY || !this.#io.stdin.setRawMode) return false;
    this.#io.stdin.setRawMode(on);
    this.#hidden = on ? new KeyDecoder() : null;
    return true;
  }

  /** Restores the terminal and stops listening. Safe to call twice. */
  close(): void {
    if (this.#closed) return;
    this.screen.setStatus(null);
    this.screen.flush();
    this.#restore();
    for (const [source, event, listener] of this.#listeners) source.off(event, listener);
    this.#io.stdin.pause();
  }

  #listen(): void {
    const { stdin, stdout, process } = this.#io;
    this.#on(stdin, "data", (chunk) => this.#read(chunk));
    this.#on(stdin, "end", () => this.#end());
    this.#on(stdin, "error", () => this.#end());
    this.#on(stdout, "error", (error) => this.#writeFailed(error));
    this.#on(stdout, "resize", () => this.screen.resized());
    this.#on(process, "SIGINT", () => this.#interrupted());
    this.#on(process, "SIGCONT", () => this.#continued());
    this.#on(process, "exit", () => this.#restore());
  }

  #on(
    source: { on: TerminalIo["process"]["on"]; off: TerminalIo["process"]["off"] },
    event: string,
    listener: Listener,
  ) {
    source.on(event, listener);
    this.#listeners.push([source, event, listener]);
  }

  #read(chunk: unknown): void {
    if (this.#away || !(typeof chunk === "string" || chunk instanceof Uint8Array)) return;
    if (this.#hidden) return this.#readSecret(chunk, this.#hidden);
    if (this.traits.plain) {
      for (const text of this.#lines.push(chunk)) this.#emit({ type: "line", text });
      return;
    }
    this.#emitKeys(this.#decoder.push(this.#asTyped(chunk)));
    this.#armTimeout();
  }

  /** Before raw mode the driver turned enter into a line feed, which in raw mode is ctrl-j: a new line in the draft. */
  #asTyped(chunk: string | Uint8Array): string | Uint8Array {
    const first = !this.#hasRead && this.#io.clock.now() - this.#openedAt <= TYPE_AHEAD_MS;
    this.#hasRead = true;
    // A CR in it was read raw, and an ESC may begin a paste.
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    if (!first || bytes.includes(0x0d) || bytes.includes(0x1b)) return chunk;
    return bytes.map((byte) => (byte === 0x0a ? 0x0d : byte));
  }

  /** With echo off the terminal edits nothing either: backspace, ctrl-u, ctrl-c and ctrl-d are done here. */
  #readSecret(chunk: string | Uint8Array, decoder: KeyDecoder): void {
    for (const key of decoder.push(chunk)) {
      if (key.type !== "key") this.#secret += key.text;
      else if (key.id === "backspace") this.#secret = graphemes(this.#secret).slice(0, -1).join("");
      else if (key.id === "ctrl-u") this.#secret = "";
      else if (key.id === "ctrl-c" || key.id === "ctrl-d") this.#endSecret({ type: "interrupt" });
      else if (key.id === "enter" || key.id === "ctrl-j") this.#endSecret({ type: "line", text: this.#secret });
    }
  }

  #endSecret(event: TerminalEvent): void {
    this.#secret = "";
    this.#emit(event);
  }

  #armTimeout(): void {
    this.#stopTimeout?.();
    this.#stopTimeout = null;
    const { pending } = this.#decoder;
    if (pending === "none") return;
    const ms = pending === "escape" ? this.traits.escTimeoutMs : PASTE_IDLE_MS;
    this.#stopTimeout = this.#io.clock.after(ms, () => this.#emitKeys(this.#decoder.flush()));
  }

  #emitKeys(keys: Key[]): void {
    if (keys.length > 0) this.#emit({ type: "keys", keys });
  }

  #emit(event: TerminalEvent): void {
    if (this.#early) this.#early.push(event);
    else this.#receive(event);
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#gone ||= this.#isHangup();
    for (const text of this.#lines.end()) this.#emit({ type: "line", text });
    this.#emit({ type: "end", hangup: this.#gone });
  }

  // In raw mode ctrl-d is a byte like others, so the end of input is the end of the terminal. In line mode it
  // may be either; a terminal that hung up is no terminal any more.
  #isHangup(): boolean {
    if (!this.#io.stdin.isTTY) return false;
    return !this.traits.plain || !isatty(this.#io.stdin.fd ?? 0);
  }

  #writeFailed(error: unknown): void {
    if (errnoOf(error) === "EAGAIN") return;
    this.#gone = true;
    this.#end();
  }

  #write(text: string): void {
    if (!this.#gone) this.#io.stdout.write(text);
  }

  #enter(): void {
    if (this.traits.plain || this.#gone) return;
    this.#io.stdin.setRawMode?.(true);
    this.#raw = true;
    this.#write(PASTE_ON);
  }

  #leave(): void {
    if (!this.#raw) return;
    this.#raw = false;
    this.#write(PASTE_OFF);
    if (!this.#gone) this.#io.stdin.setRawMode?.(false);
  }

  /** ctrl-c in an editor we lent the terminal to is meant for it, and reaches us as one of its group. */
  #interrupted(): void {
    if (this.#away) return;
    // Without raw mode the terminal has echoed ^C where the cursor stood.
    if (this.traits.plain && this.stdinIsTty) this.screen.write("\n");
    this.#emit({ type: "interrupt" });
  }

  #comeBack(): void {
    if (!this.#away || this.#closed) return;
    this.#away = false;
    this.#suspended = false;
    this.#takeOver();
  }

  /** Stopped by someone else (SIGSTOP) and continued: the shell has set its own modes meanwhile. */
  #continued(): void {
    if (this.#suspended) return this.#comeBack();
    if (this.#away || !this.#raw || this.#closed) return;
    this.#io.stdin.setRawMode?.(false);
    this.#takeOver();
  }

  #takeOver(): void {
    this.#enter();
    this.screen.redraw();
    this.onReturn?.();
  }

  #restore(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopTimeout?.();
    if (this.#hidden) this.readHidden(false);
    this.#leave();
  }
}
