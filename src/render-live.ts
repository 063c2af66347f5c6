/** A command's output while it runs: cut into lines, folded, kept for `/last`. Prints nothing. */
import { marksOf } from "./render-lines.ts";
import { SanitizeStream } from "./sanitize.ts";
import type { TerminalTraits } from "./terminal-traits.ts";

/** Live lines of one call before the rest is only counted. */
const LIVE_LINES = 20;
/** A live line longer than this is cut: `yes | tr -d '\n'` must not fill a slow link. */
const LIVE_LINE_CHARS = 2000;
/** What `/last` can show; of more the middle is missing. */
export const LAST_CHARS = 1_000_000;

/** Live output of one call: the first lines for the screen, all of it, up to a limit, for `/last`. */
export class LiveOutput {
  readonly #stream: SanitizeStream;
  readonly #dots: string;
  #line = "";
  #shown = 0;
  #head: string[] = [];
  #headChars = 0;
  #tail = "";
  #dropped = 0;
  hidden = 0;

  constructor(traits: TerminalTraits) {
    this.#stream = new SanitizeStream({ mode: "command", ascii: traits.ascii });
    this.#dots = marksOf(traits).dots;
  }

  /** Finished lines that are still shown, sanitised. */
  push(text: string): string[] {
    this.#keep(text);
    return this.#lines(this.#stream.push(text));
  }

  end(): string[] {
    const lines = this.#lines(this.#stream.end());
    if (this.#line !== "") lines.push(...this.#lines("\n"));
    return lines;
  }

  get whole(): string {
    const gap = this.#dropped > 0 ? `\n${this.#dots} ${this.#dropped} characters left out ${this.#dots}\n` : "";
    return this.#head.join("") + gap + this.#tail;
  }

  #lines(text: string): string[] {
    const pieces = text.split("\n");
    const lines: string[] = [];
    pieces.forEach((piece, index) => {
      if (this.#line.length < LIVE_LINE_CHARS) this.#line += piece.slice(0, LIVE_LINE_CHARS);
      if (index === pieces.length - 1) return;
      if (this.#shown < LIVE_LINES) lines.push(oneLineCut(this.#line, this.#dots));
      else this.hidden++;
      this.#shown++;
      this.#line = "";
    });
    return lines;
  }

  #keep(text: string): void {
    const room = LAST_CHARS / 2 - this.#headChars;
    if (room > 0) {
      this.#head.push(text.slice(0, room));
      this.#headChars += Math.min(room, text.length);
    }
    if (text.length <= room) return;
    this.#tail += text.slice(Math.max(0, room));
    // Cut only when twice too long, so that each character is copied a bounded number of times.
    if (this.#tail.length <= LAST_CHARS) return;
    this.#dropped += this.#tail.length - LAST_CHARS / 2;
    this.#tail = this.#tail.slice(-LAST_CHARS / 2);
  }
}

function oneLineCut(line: string, dots: string): string {
  return line.length < LIVE_LINE_CHARS ? line : `${line.slice(0, LIVE_LINE_CHARS - 1)}${dots}`;
}
