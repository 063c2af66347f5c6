/** Help topics for the screen: headings in bold, tables as lists in columns, paragraphs wrapped. The texts themselves are in help.ts. Pure. */
import { coloursOf } from "./render-colours.ts";
import { displayWidth } from "./text.ts";
import { wrapWords } from "./text-wrap.ts";

export interface HelpViewOptions {
  colour: boolean;
  /** Infinity: nothing is wrapped. */
  columns: number;
}

/** The first column of a table that is too wide takes no more than this, nor a third of the screen. */
const FIRST_COLUMN = 24;

/** `text` is our own Markdown, safe for a screen. Ends in a line end. */
export function helpView(text: string, { colour, columns }: HelpViewOptions): string {
  const { bold } = coloursOf({ colour });
  const rows = tablesAsLists(text.trimEnd().split("\n"), columns).map((line) => {
    const heading = /^#+ (.*)$/.exec(line)?.[1];
    return heading === undefined ? wrapWords(line, columns, hangOf(line)) : bold(heading);
  });
  return `${rows.join("\n")}\n`;
}

/** A paragraph goes on at the margin, a list item under its text. */
function hangOf(line: string): number {
  return /^(?:[-*]|\d+\.) /.exec(line)?.[0].length ?? 0;
}

function tablesAsLists(lines: readonly string[], columns: number): string[] {
  const out: string[] = [];
  let table: string[][] = [];
  for (const line of [...lines, ""]) {
    if (line.startsWith("|")) {
      table.push(cellsOf(line));
      continue;
    }
    out.push(...inColumns(table, columns), line);
    table = [];
  }
  return out.slice(0, -1);
}

/** The names of the columns are left out where there are two: what they hold is plain. */
function inColumns([names = [], , ...rows]: readonly string[][], columns: number): string[] {
  const shown = names.length > 2 ? [names, ...rows] : rows;
  const widths = names.map((_, column) => Math.max(0, ...shown.map((row) => displayWidth(row[column] ?? ""))));
  const whole = widths.reduce((sum, width) => sum + 2 + width, 0);
  const [first = 0] = widths;
  const narrow = Math.min(first, FIRST_COLUMN, Math.floor(columns / 3));
  if (whole > columns) return shown.flatMap((row) => stacked(row, narrow, columns));
  return shown.map(
    (row) =>
      `  ${row
        .map((cell, column) => padded(cell, widths[column] ?? 0))
        .join("  ")
        .trimEnd()}`,
  );
}

/** Where the table is wider than the screen: each further cell below the one before, a long first one on a line of its own. */
function stacked([name = "", ...cells]: readonly string[], width: number, columns: number): string[] {
  const indent = " ".repeat(width + 4);
  const lines = cells.flatMap((cell) => (cell === "" ? [] : wrapWords(cell, columns - indent.length, 0).split("\n")));
  const [beside = "", ...below] = displayWidth(name) > width ? ["", ...lines] : lines;
  return [`  ${padded(name, width)}  ${beside}`.trimEnd(), ...below.map((line) => indent + line)];
}

function padded(cell: string, width: number): string {
  return cell + " ".repeat(Math.max(0, width - displayWidth(cell)));
}

function cellsOf(row: string): string[] {
  const inner = row.replace(/^\| ?/, "").replace(/ ?\|$/, "");
  return inner.split(/ ?(?<!\\)\| ?/).map((cell) => cell.replaceAll("\\|", "|").trim());
}
