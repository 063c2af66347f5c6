/**
 * Where the input line stands on the screen, and the bytes that turn one drawing into the next. Pure.
 * Uses only: CR, LF, cursor up, down, right, left by a count, erase to the end of line, erase below.
 * Rows end one column before the edge: terminals differ in what they do when the last column is written.
 */
import type { Cell } from "./editor.ts";
import { sanitizeLine } from "./sanitize.ts";
import { displayWidth, graphemes } from "./text.ts";

export interface Part {
  text: string;
  width: number;
}

export interface InputView {
  rows: readonly (readonly Part[])[];
  cursorRow: number;
  cursorColumn: number;
  /** Columns of the terminal it was laid out for. */
  columns: number;
  /** Rows are missing because the screen is too low; print the text whole when it is submitted. */
  clipped: boolean;
}

export interface InputContent {
  /** May be styled. */
  prompt: string;
  cells: readonly Cell[];
  cursor: number;
  columns: number;
  /** Rows the view may take. */
  maxRows: number;
  ascii?: boolean;
}

export function layoutInput(content: InputContent): InputView {
  const columns = content.columns > 1 ? content.columns : 80;
  const layout = new Layout(columns - 1);
  layout.put(promptPart(content.prompt, columns - 1));
  let cursor = layout.position();
  content.cells.forEach((cell, index) => {
    if (index === content.cursor) cursor = layout.positionFor(cell);
    if (isLineEnd(cell)) layout.breakRow();
    else partsOf(cell, content.ascii ?? false).forEach((part) => layout.put(part));
  });
  if (content.cursor >= content.cells.length) cursor = layout.position();
  return clip({ rows: layout.rows, ...cursor, columns, clipped: false }, Math.max(1, content.maxRows));
}

class Layout {
  readonly rows: Part[][] = [[]];
  #column = 0;
  readonly #usable: number;

  constructor(usable: number) {
    this.#usable = usable;
  }

  position(): { cursorRow: number; cursorColumn: number } {
    return { cursorRow: this.rows.length - 1, cursorColumn: this.#column };
  }

  /** Where the cell will start: on the next row when it doesn't fit in this one. */
  positionFor(cell: Cell): { cursorRow: number; cursorColumn: number } {
    const width = isLineEnd(cell) ? 0 : (partsOf(cell, false)[0]?.width ?? 0);
    const wraps = this.#column > 0 && this.#column + width > this.#usable;
    return wraps ? { cursorRow: this.rows.length, cursorColumn: 0 } : this.position();
  }

  put(part: Part): void {
    if (this.#column > 0 && this.#column + part.width > this.#usable) this.breakRow();
    this.rows.at(-1)?.push(part);
    this.#column += part.width;
  }

  breakRow(): void {
    this.rows.push([]);
    this.#column = 0;
  }
}

function isLineEnd(cell: Cell): boolean {
  return cell.text === "\n" && cell.fold === null;
}

/** A prompt that would leave no room for the text gives way to a short one. */
function promptPart(prompt: string, usable: number): Part {
  const width = displayWidth(prompt);
  if (width <= usable - 4 || width < 3) return { text: prompt, width };
  return { text: "> ", width: 2 };
}

/** Only replaced characters and folds are wider than two columns; they may wrap within. */
function partsOf(cell: Cell, ascii: boolean): Part[] {
  const shown = cell.fold ?? (cell.text === "\t" ? "    " : sanitizeLine(cell.text, { ascii }));
  const width = displayWidth(shown);
  if (width <= 2) return [{ text: shown, width }];
  return graphemes(shown).map((text) => ({ text, width: displayWidth(text) }));
}

/** Keeps the rows around the cursor when there are more than fit: rows above the screen can't be redrawn. */
function clip(view: InputView, maxRows: number): InputView {
  if (view.rows.length <= maxRows) return view;
  const start = Math.min(Math.max(0, view.cursorRow - (maxRows >> 1)), view.rows.length - maxRows);
  return {
    ...view,
    rows: view.rows.slice(start, start + maxRows),
    cursorRow: view.cursorRow - start,
    clipped: true,
  };
}

/** For a cursor at the start of an empty line. */
export function drawInput(view: InputView): string {
  const last = view.rows.length - 1;
  return view.rows.map(rowText).join("\r\n") + move(last, rowWidth(view.rows[last]), view.cursorRow, view.cursorColumn);
}

/** Removes the view; the cursor is left where its first row began. */
export function eraseInput(view: InputView): string {
  return `${up(view.cursorRow)}\r\x1b[J`;
}

/** Leaves the view on the screen; the cursor goes to the line below it. */
export function leaveInput(view: InputView): string {
  return `${down(view.rows.length - 1 - view.cursorRow)}\r\n`;
}

/** The fewest rows rewritten that make `from` look like `to`; a character typed at the end is that character. */
export function redrawInput(from: InputView, to: InputView): string {
  const row = firstDifferentRow(from, to);
  if (row === null) return move(from.cursorRow, from.cursorColumn, to.cursorRow, to.cursorColumn);
  const part = firstDifferentPart(from.rows[row], to.rows[row]);
  const column = rowWidth(to.rows[row]?.slice(0, part));
  const last = to.rows.length - 1;
  return (
    reach(from, row, column) +
    rewriteRows(from, to, row, part) +
    move(last, rowWidth(to.rows[last]), to.cursorRow, to.cursorColumn)
  );
}

/** Moves to a row that exists, or to a new one below the last. */
function reach(from: InputView, row: number, column: number): string {
  if (row < from.rows.length) return move(from.cursorRow, from.cursorColumn, row, column);
  return `${down(from.rows.length - 1 - from.cursorRow)}\r\n`;
}

function rewriteRows(from: InputView, to: InputView, row: number, part: number): string {
  let bytes = "";
  for (let at = row; at < to.rows.length; at++) {
    const start = at === row ? part : 0;
    bytes += (at === row ? "" : "\r\n") + rowText(to.rows[at]?.slice(start));
    // Erasing at the end of a row that was shorter before would only cost bytes.
    if (rowWidth(from.rows[at]) > rowWidth(to.rows[at])) bytes += "\x1b[K";
  }
  return from.rows.length > to.rows.length ? `${bytes}\x1b[J` : bytes;
}

function firstDifferentRow(from: InputView, to: InputView): number | null {
  const count = Math.max(from.rows.length, to.rows.length);
  for (let row = 0; row < count; row++) {
    if (rowText(from.rows[row]) === rowText(to.rows[row]) && row < from.rows.length && row < to.rows.length) continue;
    // Rows that only went away are erased from the end of the last one that stays.
    return Math.min(row, to.rows.length - 1);
  }
  return null;
}

function firstDifferentPart(from: readonly Part[] = [], to: readonly Part[] = []): number {
  let part = 0;
  while (part < to.length && part < from.length && from[part]?.text === to[part]?.text) part++;
  return part;
}

function rowText(row: readonly Part[] = []): string {
  return row.map((part) => part.text).join("");
}

function rowWidth(row: readonly Part[] = []): number {
  return row.reduce((width, part) => width + part.width, 0);
}

function move(fromRow: number, fromColumn: number, toRow: number, toColumn: number): string {
  const vertical = toRow < fromRow ? up(fromRow - toRow) : down(toRow - fromRow);
  if (toColumn === fromColumn) return vertical;
  if (toColumn === 0) return `${vertical}\r`;
  const count = Math.abs(toColumn - fromColumn);
  return vertical + (toColumn > fromColumn ? `\x1b[${count}C` : `\x1b[${count}D`);
}

function up(count: number): string {
  return count > 0 ? `\x1b[${count}A` : "";
}

function down(count: number): string {
  return count > 0 ? `\x1b[${count}B` : "";
}

/**
 * The view after the window changed its width, as it probably stands on the screen now: a terminal that
 * wraps anew has split rows longer than the window; others have kept them.
 */
export function resizedInput(view: InputView, columns: number, reflows: boolean): InputView {
  if (!reflows || columns >= view.columns || columns < 1) return view;
  const above = view.rows.slice(0, view.cursorRow).reduce((sum, row) => sum + rewrapped(row, columns).height, 0);
  const { before, under } = splitAt(view.rows[view.cursorRow] ?? [], view.cursorColumn);
  const { height, width } = rewrapped(before, columns);
  // It goes along with the character under it; behind a full row it stays in that, as after printing there.
  if (under && width + under.width > columns) return { ...view, cursorRow: above + height, cursorColumn: 0 };
  return { ...view, cursorRow: above + height - 1, cursorColumn: Math.min(width, columns - 1) };
}

/** A row broken anew: a wide character that doesn't fit goes down whole. `width` is that of the last piece. */
function rewrapped(row: readonly Part[], columns: number): { height: number; width: number } {
  let [height, width] = [1, 0];
  // Wider than two is the prompt: several characters.
  const widths = row.flatMap((part) => (part.width <= 2 ? [part.width] : new Array<number>(part.width).fill(1)));
  for (const added of widths) {
    if (width + added > columns) [height, width] = [height + 1, 0];
    width += added;
  }
  return { height, width };
}

function splitAt(row: readonly Part[], column: number): { before: readonly Part[]; under: Part | undefined } {
  let width = 0;
  const at = row.findIndex((part) => (width += part.width) > column);
  return at < 0 ? { before: row, under: undefined } : { before: row.slice(0, at), under: row[at] };
}
