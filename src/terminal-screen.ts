/**
 * The one writer of an interactive screen: output is appended in order, and only the input line and a
 * one-line indicator, both on the cursor's own lines, are ever rewritten. Takes text that is safe already.
 */
import type { Cell } from "./editor.ts";
import {
  drawInput,
  eraseInput,
  type InputView,
  layoutInput,
  leaveInput,
  redrawInput,
  resizedInput,
} from "./editor-view.ts";
import { endsLine, openStyles } from "./terminal-style.ts";
import type { TerminalTraits } from "./terminal-traits.ts";
import { cutWidth, displayWidth } from "./text.ts";

/** Timers, handed in. Each returns the function that stops it. */
export interface Clock {
  now(): number;
  after(ms: number, run: () => void): () => void;
  every(ms: number, run: () => void): () => void;
}

export interface ScreenDevice {
  write(text: string): void;
  /** Never 0: the owner replaces a size nobody told by 80×24. */
  size(): { columns: number; rows: number };
}

/** What the wait indicator says; a function is asked again whenever it is drawn. */
export type StatusText = string | (() => string);

/** What stands in the input line. `cursor` counts cells. */
export interface InputShown {
  prompt: string;
  cells: readonly Cell[];
  cursor: number;
}

// A frame is a CR and one glyph of up to 3 bytes: 4 a second and a label every 3 s stay below 30 bytes/s.
const FRAME_MS = 250;
const LABEL_MS = 3000;

interface Indicator {
  text: StatusText;
  drawn: boolean;
  frame: number;
  drawnAt: number;
  /** Columns before the cursor. */
  column: number;
  stop: () => void;
}

export class Screen {
  readonly #device: ScreenDevice;
  readonly #traits: TerminalTraits;
  readonly #clock: Clock;
  readonly #frames: readonly string[];
  #pending: string[] = [];
  #stopBatch: (() => void) | null = null;
  /** Output after the last line end that has not been written because the input line is shown. */
  #partial = "";
  #atLineStart = true;
  /** Another program has the terminal: what is written waits, and nothing is drawn. */
  #aside = false;
  /** Styles that output has opened and not closed; the input line is drawn without them. */
  #style = "";
  #input: { shown: InputShown; view: InputView } | null = null;
  #status: Indicator | null = null;

  constructor(device: ScreenDevice, traits: TerminalTraits, clock: Clock, frames: readonly string[] = ["-"]) {
    this.#device = device;
    this.#traits = traits;
    this.#clock = clock;
    this.#frames = frames;
  }

  /** Queues output; it is written within one batch's time. */
  write(text: string): void {
    if (text === "") return;
    this.#pending.push(text);
    this.#stopBatch ??= this.#clock.after(this.#traits.batchMs, () => this.flush());
  }

  /** Ends the line being written, if any. */
  freshLine(): void {
    this.flush();
    const atLineStart = endsLine(this.#pending.join(""), this.#atLineStart && this.#partial === "");
    if (!atLineStart) this.write("\n");
    this.flush();
  }

  /** Writes what is queued. With the input line shown, whole lines only, above it. */
  flush(): void {
    this.#stopBatch?.();
    this.#stopBatch = null;
    if (this.#aside) return;
    const text = this.#pending.join("");
    this.#pending = [];
    if (text === "") return;
    if (this.#input) this.#writeAbove(text);
    else this.#writeHere(text);
  }

  /** Plain mode: the terminal has echoed a line and its end. */
  lineTyped(): void {
    this.#atLineStart = true;
  }

  get inputShown(): boolean {
    return this.#input !== null;
  }

  /** Shows the input line or brings it up to date. A line of output that was being written is ended first. */
  setInput(shown: InputShown): void {
    this.flush();
    const view = this.#layout(shown);
    if (this.#aside) this.#input = { shown, view };
    else if (this.#input) this.#device.write(redrawInput(this.#input.view, view));
    else this.#device.write(this.#makeRoom() + this.#plainly(drawInput(view)));
    this.#input = { shown, view };
  }

  /** Takes the input line away; held output goes on where it stood. */
  hideInput(): void {
    if (!this.#input) return;
    if (this.#aside) return this.#forgetInput();
    this.flush();
    this.#device.write(eraseInput(this.#input.view));
    this.#input = null;
    this.#releasePartial();
  }

  /** Leaves the input line in the scrollback as it is; what comes next begins below it. */
  commitInput(): void {
    if (!this.#input) return;
    if (this.#aside) return this.#forgetInput();
    this.flush();
    const { shown, view } = this.#input;
    const whole = view.clipped ? this.#layout(shown, Number.POSITIVE_INFINITY) : view;
    this.#device.write(view.clipped ? eraseInput(view) + drawInput(whole) + leaveInput(whole) : leaveInput(view));
    this.#input = null;
    this.#atLineStart = true;
    this.#releasePartial();
  }

  /** Text for the wait indicator, null to take it away. It hides while there is output or input on its line. */
  setStatus(text: StatusText | null): void {
    if (this.#traits.plain || this.#traits.lowBandwidth) return;
    if (text === null) return this.#dropStatus();
    if (this.#status) {
      this.#status.text = text;
      return;
    }
    const stop = this.#clock.every(FRAME_MS, () => this.#tick());
    this.#status = { text, drawn: false, frame: 0, drawnAt: 0, column: 0, stop };
  }

  /** The window has a new size: the input line is laid out anew. */
  resized(): void {
    if (!this.#input) return this.#statusResized();
    const { shown, view } = this.#input;
    const standing = resizedInput(view, this.#device.size().columns, this.#traits.reflows);
    const next = this.#layout(shown);
    if (!this.#aside) this.#device.write(eraseInput(standing) + drawInput(next));
    this.#input = { shown, view: next };
  }

  /** ctrl-l: the visible screen only, scrollback is kept. */
  clear(): void {
    if (this.#aside) return;
    this.flush();
    // Many terminals keep what is cleared as scrollback.
    this.#eraseStatus();
    this.#device.write("\x1b[H\x1b[2J");
    this.#atLineStart = true;
    if (this.#input) this.#device.write(drawInput(this.#input.view));
  }

  /** Draws the input line again, as after another program has used the terminal, and what was written meanwhile. */
  redraw(): void {
    this.#aside = false;
    if (this.#input) this.#device.write(drawInput(this.#input.view));
    if (this.#status) this.#status.drawn = false;
    this.flush();
  }

  /** Before another program or the shell takes the terminal: nothing of ours is left on the cursor's line. */
  stepAside(): void {
    this.flush();
    this.#eraseStatus();
    if (this.#input) this.#device.write(leaveInput(this.#input.view));
    else if (!this.#atLineStart) this.#put("\n");
    this.#aside = true;
  }

  /** A sequence that moves nothing: mode switches, the clipboard. */
  control(sequence: string): void {
    this.flush();
    this.#device.write(sequence);
  }

  #layout(shown: InputShown, maxRows = this.#device.size().rows - 1): InputView {
    const { columns } = this.#device.size();
    return layoutInput({ ...shown, columns, maxRows, ascii: this.#traits.ascii });
  }

  #writeAbove(text: string): void {
    const all = this.#partial + text;
    const end = all.lastIndexOf("\n") + 1;
    this.#partial = all.slice(end);
    if (end === 0 || !this.#input) return;
    const lines = this.#style + all.slice(0, end);
    this.#style = openStyles(lines);
    this.#device.write(eraseInput(this.#input.view) + lines + this.#plainly(drawInput(this.#input.view)));
  }

  /** Between two pieces of output the terminal is left without a style. */
  #plainly(drawing: string): string {
    return this.#style === "" ? drawing : `\x1b[m${drawing}`;
  }

  #writeHere(text: string): void {
    this.#eraseStatus();
    this.#put(text);
  }

  #put(text: string): void {
    this.#device.write(text);
    this.#style = openStyles(this.#style + text);
    this.#atLineStart = endsLine(text, this.#atLineStart);
  }

  /** The style that was interrupted by the input line goes on. */
  #releasePartial(): void {
    const held = this.#style + this.#partial;
    this.#partial = "";
    if (held !== "") this.#put(held);
  }

  /** It stands where the other program drew over it; what it held back comes before what waits. */
  #forgetInput(): void {
    this.#input = null;
    this.#pending.unshift(this.#style + this.#partial);
    this.#partial = "";
  }

  #makeRoom(): string {
    this.#eraseStatus();
    if (this.#atLineStart) return "";
    this.#atLineStart = true;
    return "\n";
  }

  #tick(): void {
    const status = this.#status;
    if (!status || this.#aside || this.#input || !this.#atLineStart || this.#pending.length > 0) return;
    const glyph = this.#frames[status.frame++ % this.#frames.length] ?? "-";
    const relabel = !status.drawn || this.#clock.now() - status.drawnAt >= LABEL_MS;
    const line = relabel ? this.#labelled(glyph, status) : glyph;
    this.#device.write(`\r${line}${relabel && status.drawn ? "\x1b[K" : ""}`);
    status.column = displayWidth(line);
    if (relabel) status.drawnAt = this.#clock.now();
    status.drawn = true;
  }

  #labelled(glyph: string, { text }: Indicator): string {
    const room = Math.max(1, this.#device.size().columns - 4);
    return `${glyph} ${cutWidth(typeof text === "string" ? text : text(), room, this.#traits.ascii ? "..." : "…")}`;
  }

  /** A narrower window may have broken it into rows: the next frame draws it anew. */
  #statusResized(): void {
    const status = this.#status;
    if (!status?.drawn || this.#aside) return;
    // Behind a full row the cursor stays in that, as after printing there.
    const above = this.#traits.reflows ? Math.floor((status.column - 1) / Math.max(1, this.#device.size().columns)) : 0;
    this.#device.write(`${above > 0 ? `\x1b[${above}A` : ""}\r\x1b[J`);
    status.drawn = false;
  }

  #eraseStatus(): void {
    if (!this.#status?.drawn) return;
    this.#device.write("\r\x1b[K");
    this.#status.drawn = false;
  }

  #dropStatus(): void {
    this.#eraseStatus();
    this.#status?.stop();
    this.#status = null;
  }
}
