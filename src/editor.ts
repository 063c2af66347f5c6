/** The state of the input line: text, cursor, kill buffer, folded pastes. Pure; draws nothing and reads no keys (see editor-keys.ts). */
import { graphemes } from "./text.ts";

/** One step of the cursor: a grapheme, a line end, or a whole paste shown folded. */
export interface Cell {
  text: string;
  /** Shown instead of the text. */
  fold: string | null;
}

export interface EditorState {
  readonly cells: readonly Cell[];
  /** Index of the cell the cursor stands before; `cells.length` at the end. */
  readonly cursor: number;
  /** What ctrl-y brings back. */
  readonly killed: readonly Cell[];
  /** The last change was a kill: the next one adds to it. */
  readonly killing: boolean;
  /** Column that up and down try to keep, while they follow each other. */
  readonly goal: number | null;
}

export const EMPTY_EDITOR: EditorState = { cells: [], cursor: 0, killed: [], killing: false, goal: null };

/** Pastes with more lines than this are folded on screen. */
export const FOLD_LINES = 10;
/** … and those longer than this, which would fill a screen without a line end. */
const FOLD_CHARS = 4000;

export function textOf(state: EditorState): string {
  return joined(state.cells);
}

/** A fresh line with the cursor at its end; the kill buffer stays. */
export function withText(state: EditorState, text: string): EditorState {
  return insert({ ...EMPTY_EDITOR, killed: state.killed }, text);
}

/** Long texts (a paste, a recalled prompt) come in as one folded cell. */
export function insert(state: EditorState, text: string): EditorState {
  if (text === "") return settled(state);
  const fold = foldOf(text);
  if (fold !== null) return insertCells(state, [{ text, fold }]);
  return insertText(state, text);
}

function foldOf(text: string): string | null {
  // A line end at the end closes the last line and begins none.
  const lines = text.replace(/\n$/, "").split("\n").length;
  if (lines > FOLD_LINES) return `[pasted ${lines} lines]`;
  return text.length > FOLD_CHARS ? `[pasted ${text.length} characters]` : null;
}

// A combining mark or a joiner changes the grapheme before it, so the neighbours are segmented anew with it.
function insertText(state: EditorState, text: string): EditorState {
  const before = state.cells[state.cursor - 1];
  const after = state.cells[state.cursor];
  const left = before && isPlain(before) ? before.text : "";
  const right = after && isPlain(after) ? after.text : "";
  const start = state.cursor - (left ? 1 : 0);
  const end = state.cursor + (right ? 1 : 0);
  const middle = toCells(left + text + right);
  const cells = [...state.cells.slice(0, start), ...middle, ...state.cells.slice(end)];
  const cursor = start + toCellsUpTo(middle, left.length + text.length);
  // A joiner that stood alone before may bind one more.
  return settled(mendSeams({ ...state, cells, cursor }, [start + middle.length]));
}

function insertCells(state: EditorState, cells: readonly Cell[]): EditorState {
  const all = [...state.cells.slice(0, state.cursor), ...cells, ...state.cells.slice(state.cursor)];
  const end = state.cursor + cells.length;
  return settled(mendSeams({ ...state, cells: all, cursor: end }, [end, state.cursor]));
}

/**
 * Cells that have become neighbours may be one character, such as a letter and a combining mark. `seams` are indexes of
 * right-hand cells, from the last to the first. A cursor between the two comes behind them.
 */
function mendSeams(state: EditorState, seams: readonly number[]): EditorState {
  return seams.reduce(mendSeam, state);
}

function mendSeam(state: EditorState, at: number): EditorState {
  const [left, right] = [state.cells[at - 1], state.cells[at]];
  if (!left || !right || !isPlain(left) || !isPlain(right)) return state;
  const text = left.text + right.text;
  if (graphemes(text).length > 1) return state;
  const cells = [...state.cells.slice(0, at - 1), { text, fold: null }, ...state.cells.slice(at + 1)];
  return mendSeam({ ...state, cells, cursor: state.cursor > at ? state.cursor - 1 : state.cursor }, at);
}

function isPlain(cell: Cell): boolean {
  return cell.fold === null && cell.text !== "\n";
}

function toCells(text: string): Cell[] {
  return graphemes(text).map((part) => ({ text: part, fold: null }));
}

/** How many cells hold the first `chars` units, the one they end in included. */
function toCellsUpTo(cells: readonly Cell[], chars: number): number {
  let count = 0;
  for (let seen = 0; count < cells.length && seen < chars; count++) seen += cells[count]?.text.length ?? 0;
  return count;
}

function settled(state: EditorState): EditorState {
  return { ...state, killing: false, goal: null };
}

export function moveTo(state: EditorState, cursor: number): EditorState {
  return settled({ ...state, cursor: Math.min(Math.max(0, cursor), state.cells.length) });
}

/** Start of the line of text (not of the screen's row) the cursor is in. */
export function lineStart(state: EditorState, from = state.cursor): number {
  let at = from;
  while (at > 0 && state.cells[at - 1]?.text !== "\n") at--;
  return at;
}

export function lineEnd(state: EditorState, from = state.cursor): number {
  let at = from;
  while (at < state.cells.length && state.cells[at]?.text !== "\n") at++;
  return at;
}

export function wordLeft(state: EditorState): number {
  let at = state.cursor;
  while (at > 0 && !isWord(state.cells[at - 1])) at--;
  while (at > 0 && isWord(state.cells[at - 1])) at--;
  return at;
}

export function wordRight(state: EditorState): number {
  let at = state.cursor;
  while (at < state.cells.length && !isWord(state.cells[at])) at++;
  while (at < state.cells.length && isWord(state.cells[at])) at++;
  return at;
}

/** ctrl-w goes by white space, as the terminal driver and bash do; alt-backspace by letters. */
export function blankLeft(state: EditorState): number {
  let at = state.cursor;
  while (at > 0 && isBlank(state.cells[at - 1])) at--;
  while (at > 0 && !isBlank(state.cells[at - 1])) at--;
  return at;
}

function isWord(cell: Cell | undefined): boolean {
  return cell !== undefined && (cell.fold !== null || /[\p{L}\p{N}\p{M}_]/u.test(cell.text));
}

function isBlank(cell: Cell | undefined): boolean {
  return cell !== undefined && cell.fold === null && /^\s/.test(cell.text);
}

/** Removes without keeping: backspace and delete. */
export function remove(state: EditorState, from: number, to: number): EditorState {
  const [start, end] = [Math.max(0, Math.min(from, to)), Math.min(state.cells.length, Math.max(from, to))];
  const cells = [...state.cells.slice(0, start), ...state.cells.slice(end)];
  return settled(mendSeams({ ...state, cells, cursor: start }, [start]));
}

/** Removes from the cursor to `to` and keeps it for ctrl-y; kills in a row gather in reading order. */
export function kill(state: EditorState, to: number): EditorState {
  if (to === state.cursor) return { ...state, goal: null };
  const forward = to > state.cursor;
  const cut = forward ? state.cells.slice(state.cursor, to) : state.cells.slice(to, state.cursor);
  const earlier = state.killing ? state.killed : [];
  const killed = forward ? [...earlier, ...cut] : [...cut, ...earlier];
  return { ...remove(state, state.cursor, to), killed, killing: true };
}

export function yank(state: EditorState): EditorState {
  return insertCells(state, state.killed);
}

/** Swaps the characters around the cursor; at the end of a line the two before it. */
export function transpose(state: EditorState): EditorState {
  const start = lineStart(state);
  const at = state.cursor === lineEnd(state) ? state.cursor - 1 : state.cursor;
  const [left, right] = [state.cells[at - 1], state.cells[at]];
  if (at - 1 < start || left === undefined || right === undefined) return settled(state);
  const cells = [...state.cells.slice(0, at - 1), right, left, ...state.cells.slice(at + 1)];
  return settled(mendSeams({ ...state, cells, cursor: at + 1 }, [at + 1, at, at - 1]));
}

/** One line of text up or down in a draft of several; null at its first or last. */
export function moveLine(state: EditorState, by: -1 | 1): EditorState | null {
  const start = lineStart(state);
  const column = state.goal ?? state.cursor - start;
  const target = by < 0 ? start - 1 : lineEnd(state) + 1;
  if (target < 0 || target > state.cells.length) return null;
  const from = by < 0 ? lineStart(state, target) : target;
  const cursor = Math.min(from + column, lineEnd(state, from));
  return { ...state, cursor, killing: false, goal: column };
}

/** True when the last thing before the cursor is a backslash that enter turns into a new line. */
export function endsInBackslash(state: EditorState): boolean {
  if (state.cursor !== state.cells.length) return false;
  let count = 0;
  while (state.cells[state.cells.length - 1 - count]?.text === "\\") count++;
  return count % 2 === 1;
}

function joined(cells: readonly Cell[]): string {
  return cells.map((cell) => cell.text).join("");
}
