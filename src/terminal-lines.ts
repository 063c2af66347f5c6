/** Plain mode's input: bytes → lines, and lines → prompts of several lines. Pure. */

/** Longer lines are cut into pieces of this size, so that a stream without line ends can't fill the memory. */
const MAX_LINE_CHARS = 16 * 1024 * 1024;

/** Cuts a byte stream into lines; CR LF counts as one end. */
export class LineReader {
  readonly #utf8 = new TextDecoder("utf-8");
  #parts: string[] = [];
  #chars = 0;

  push(chunk: string | Uint8Array): string[] {
    const text = typeof chunk === "string" ? chunk : this.#utf8.decode(chunk, { stream: true });
    const pieces = text.split("\n");
    const lines: string[] = [];
    pieces.forEach((piece, index) => {
      this.#parts.push(piece);
      this.#chars += piece.length;
      if (index < pieces.length - 1 || this.#chars > MAX_LINE_CHARS) lines.push(this.#take());
    });
    return lines;
  }

  /** The last line, if it had no end. */
  end(): string[] {
    this.#parts.push(this.#utf8.decode());
    const rest = this.#take();
    return rest === "" ? [] : [rest];
  }

  #take(): string {
    const line = this.#parts.join("");
    this.#parts = [];
    this.#chars = 0;
    return line.endsWith("\r") ? line.slice(0, -1) : line;
  }
}

const FENCE = '"""';

/** Gathers lines into prompts: a block between two `"""`, or lines that end in a backslash. */
export class PromptAssembler {
  #lines: string[] = [];
  #fenced = false;

  /** True while more lines belong to the prompt. */
  get open(): boolean {
    return this.#fenced || this.#lines.length > 0;
  }

  /** The finished prompt, or null while it goes on. */
  push(line: string): string | null {
    if (this.#fenced) return this.#pushFenced(line);
    if (this.#lines.length === 0 && line.trimStart().startsWith(FENCE)) return this.#openFence(line.trimStart());
    if (/(?:^|[^\\])(?:\\\\)*\\$/.test(line)) {
      this.#lines.push(line.slice(0, -1));
      return null;
    }
    return this.#finish(line);
  }

  /** What has been gathered when input ends; null when nothing has. */
  end(): string | null {
    if (!this.open) return null;
    return this.#finish(null);
  }

  reset(): void {
    this.#lines = [];
    this.#fenced = false;
  }

  #openFence(line: string): string | null {
    const rest = line.slice(FENCE.length);
    // `"""one line"""` is a whole block.
    if (rest.trimEnd().endsWith(FENCE) && rest.trim() !== FENCE)
      return this.#finish(rest.trimEnd().slice(0, -FENCE.length));
    this.#fenced = true;
    if (rest !== "") this.#lines.push(rest);
    return null;
  }

  #pushFenced(line: string): string | null {
    if (!line.trimEnd().endsWith(FENCE)) {
      this.#lines.push(line);
      return null;
    }
    const rest = line.trimEnd().slice(0, -FENCE.length);
    return this.#finish(rest === "" ? null : rest);
  }

  #finish(last: string | null): string {
    const text = [...this.#lines, ...(last === null ? [] : [last])].join("\n");
    this.reset();
    return text;
  }
}
