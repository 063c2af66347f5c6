/** A small terminal for tests: bytes in, the rows a person would see out. Throws on any control sequence that shiro must not use. */

interface Position {
  row: number;
  column: number;
}

/** Cells hold graphemes; the second half of a wide one is an empty string. */
export class VirtualTerminal {
  columns: number;
  rows: number;
  /** Everything ever shown; the screen is its last `rows` rows. */
  lines: string[][] = [[]];
  cursor: Position = { row: 0, column: 0 };
  /** SGR, bracketed paste switches and the clipboard, in order. */
  controls: string[] = [];
  #top = 0;
  #wrapPending = false;
  #held = "";
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  readonly #segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  write(bytes: Uint8Array | string): void {
    const text = this.#held + (typeof bytes === "string" ? bytes : this.#decoder.decode(bytes, { stream: true }));
    const open = /\x1b(?:\[[0-?]*[ -/]*|\][^\x07]*)?$/.exec(text);
    this.#held = open ? open[0] : "";
    this.#run(open ? text.slice(0, open.index) : text);
  }

  /** Rows as text, without trailing blanks; wide characters count once. */
  text(): string {
    return this.lines
      .map((line) => line.join("").trimEnd())
      .join("\n")
      .trimEnd();
  }

  row(index: number): string {
    return (this.lines[index] ?? []).join("").trimEnd();
  }

  /** The row the cursor is in, and those on either side through which it could have wrapped, are `row(cursor.row)`. */
  cursorRow(): string {
    return this.row(this.cursor.row);
  }

  /** Keeps rows as they are and cuts them, as xterm does; `reflow` breaks long ones anew, as tmux and VTE do. */
  resize(columns: number, rows: number, reflow = false): void {
    this.columns = columns;
    this.rows = rows;
    if (reflow) this.#reflow(columns);
    else this.lines = this.lines.map((line) => line.slice(0, columns));
    this.cursor.column = Math.min(this.cursor.column, columns - 1);
    this.#top = Math.max(0, this.lines.length - rows);
  }

  /** Rows that were broken here aren't joined again: programs that count on it would see it on real ones too. */
  #reflow(columns: number): void {
    const { row, column } = this.cursor;
    const lines: string[][] = [];
    for (const [at, line] of this.lines.entries()) {
      let start = 0;
      do {
        const end = start + fitting(line.slice(start), columns);
        // Behind the last cell of a row it stays there.
        const holds = column >= start && (column < end || end >= line.length);
        if (at === row && holds) this.cursor = { row: lines.length, column: column - start };
        lines.push(line.slice(start, end));
        start = end;
      } while (start < line.length);
    }
    this.lines = lines;
  }

  #run(text: string): void {
    const token = /\x1b\[([0-?]*)([ -/]*)([@-~])|\x1b\]([^\x07]*)\x07|[\x00-\x1f\x7f]|[^\x00-\x1f\x7f]+/gy;
    let last = 0;
    for (const found of text.matchAll(token)) {
      if (found[3] !== undefined) this.#csi(found[1] ?? "", found[3], found[0]);
      else if (found[4] !== undefined) this.#osc(found[4]);
      else if (found[0] < " " || found[0] === "\x7f") this.#control(found[0]);
      else for (const part of this.#segmenter.segment(found[0])) this.#print(part.segment);
      last = found.index + found[0].length;
    }
    if (last !== text.length) throw new Error(`not a sequence we know: ${JSON.stringify(text.slice(last, last + 20))}`);
  }

  #control(char: string): void {
    this.#wrapPending = false;
    if (char === "\r") this.cursor.column = 0;
    else if (char === "\n") this.#lineFeed();
    else if (char === "\t")
      this.cursor.column = Math.min(this.columns - 1, (Math.floor(this.cursor.column / 8) + 1) * 8);
    else throw new Error(`control character ${JSON.stringify(char)}`);
  }

  #lineFeed(): void {
    this.cursor.row++;
    while (this.lines.length <= this.cursor.row) this.lines.push([]);
    this.#top = Math.max(this.#top, this.cursor.row - this.rows + 1);
  }

  #osc(body: string): void {
    if (!body.startsWith("52;c;")) throw new Error(`OSC ${JSON.stringify(body)}`);
    this.controls.push(`\x1b]${body}`);
  }

  #csi(params: string, final: string, whole: string): void {
    const count = params === "" ? 1 : Number(params);
    if (final === "m" && /^[0-9;]*$/.test(params)) return void this.controls.push(whole);
    if ((final === "h" || final === "l") && params === "?2004") return void this.controls.push(whole);
    this.#wrapPending = false;
    if (final === "A") this.cursor.row = Math.max(this.#top, this.cursor.row - count);
    else if (final === "B")
      this.cursor.row = Math.min(this.#top + this.rows - 1, this.lines.length - 1, this.cursor.row + count);
    else if (final === "C") this.cursor.column = Math.min(this.columns - 1, this.cursor.column + count);
    else if (final === "D") this.cursor.column = Math.max(0, this.cursor.column - count);
    else if (final === "K" && (params === "" || params === "0")) this.#eraseToEnd();
    else if (final === "J" && (params === "" || params === "0")) this.#eraseBelow();
    else if (final === "H" && params === "") this.#home();
    else if (final === "J" && params === "2") this.#eraseScreen();
    else throw new Error(`control sequence ${JSON.stringify(whole)}`);
  }

  #eraseToEnd(): void {
    const line = this.lines[this.cursor.row] ?? [];
    this.lines[this.cursor.row] = line.slice(0, this.cursor.column);
  }

  #eraseBelow(): void {
    this.#eraseToEnd();
    this.lines.length = this.cursor.row + 1;
  }

  #home(): void {
    this.#top = this.lines.length;
    this.lines.push([]);
    this.cursor = { row: this.#top, column: 0 };
  }

  #eraseScreen(): void {
    for (let row = this.#top; row < this.lines.length; row++) this.lines[row] = [];
  }

  #print(part: string): void {
    const width = Math.max(1, Bun.stringWidth(part));
    if (this.#wrapPending || this.cursor.column + width > this.columns) {
      this.#wrapPending = false;
      this.cursor.column = 0;
      this.#lineFeed();
    }
    const line = (this.lines[this.cursor.row] ??= []);
    while (line.length < this.cursor.column) line.push(" ");
    line[this.cursor.column] = part;
    for (let half = 1; half < width; half++) line[this.cursor.column + half] = "";
    this.cursor.column += width;
    if (this.cursor.column < this.columns) return;
    this.cursor.column = this.columns - 1;
    this.#wrapPending = true;
  }
}

/** How many cells of a row fit without cutting a wide character in two. */
function fitting(cells: string[], columns: number): number {
  return cells.length > columns && cells[columns] === "" ? columns - 1 : Math.min(columns, cells.length);
}
