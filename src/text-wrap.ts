/** Wraps our own lines at blanks, so that a narrow screen breaks no words. What a model or a command said is left to the terminal. Pure. */
import { displayWidth } from "./text.ts";

/**
 * Lines longer than `columns` are broken at blanks. A line of a list (`name  state  what it is`) goes on under its last
 * column, or, where that is past the middle of the screen, on lines of its own; any other goes on `hang` columns in. A word
 * that is too long for a row stays whole, where it is. Styles (SGR) count no columns.
 */
export function wrapWords(text: string, columns: number, hang = 2): string {
  return text
    .split("\n")
    .map((line) => (fits(line, columns) ? line : wrapLine(line, columns, hang)))
    .join("\n");
}

/** Columns end within this; a pasted prompt of a megabyte is not searched for them. */
const COLUMNS_CHARS = 200;

// Most lines are short: measuring graphemes is for those that may be too wide.
function fits(line: string, columns: number): boolean {
  return line.length * 2 <= columns || displayWidth(line) <= columns;
}

function wrapLine(line: string, columns: number, more: number): string {
  const lead = /^ */.exec(line)?.[0] ?? "";
  const first = columnsBefore(line, columns);
  const hang = first !== "" && displayWidth(first) * 2 <= columns ? displayWidth(first) : lead.length + more;
  const indent = " ".repeat(Math.min(hang, Math.floor(columns / 2)));
  const apart = first !== "" && displayWidth(first) * 2 > columns;
  if (!apart) return fill(line, indent, columns);
  return `${fill(first.trimEnd(), indent, columns)}\n${fill(indent + line.slice(first.length), indent, columns)}`;
}

/** The first column, and those after it that leave half the screen to the last. */
function columnsBefore(line: string, columns: number): string {
  let before = "";
  for (const [, more = ""] of line.slice(0, COLUMNS_CHARS).matchAll(/( *\S+(?: \S+)* {2,})(?=\S)/gy)) {
    if (before !== "" && displayWidth(before + more) * 2 > columns) break;
    before += more;
  }
  return before;
}

/** Takes word by word, each with the blanks before it; those at a break are dropped. */
function fill(line: string, indent: string, columns: number): string {
  const rows: string[] = [];
  let row = "";
  let width = 0;
  for (const [piece] of line.matchAll(/ *[^ ]+/g)) {
    const wide = displayWidth(piece);
    // A word wider than a row is cut by the terminal anywhere: breaking before it would only tear it from its sentence.
    if (row.trim() === "" || width + wide <= columns || displayWidth(piece.trimStart()) > columns - indent.length) {
      row += piece;
      width += wide;
      continue;
    }
    rows.push(row);
    row = indent + piece.trimStart();
    width = displayWidth(row);
  }
  return [...rows, row].join("\n");
}
