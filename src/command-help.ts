/** Help topics for the screen: headings in bold, tables as lists in columns, paragraphs wrapped. The texts themselves are in help.ts. Pure. */
import { coloursOf } from "./render-lines.ts";
import { displayWidth } from "./text.ts";
import { wrapWords } from "./text-wrap.ts";

export interface HelpViewOptions {
  colour: boolean;
  /** Infinity: nothing is wrapped. */
  columns: number;
}

/** `text` is our own Markdown, safe for a screen. Ends in a line end. */
export function helpView(text: string, { colour, columns }: HelpViewOptions): string {
  const { bold } = coloursOf({ colour });
  const rows = tablesAsLists(text.trimEnd().split("\n")).map((line) => {
    const heading = /^#+ (.*)$/.exec(line)?.[1];
    return heading === undefined ? wrapWords(line, columns, hangOf(line)) : bold(heading);
  });
  return `${rows.join("\n")}\n`;
}

/** A paragraph goes on at the margin, a list item under its text. */
function hangOf(line: string): number {
  return /^(?:[-*]|\d+\.) /.exec(line)?.[0].length ?? 0;
}

function tablesAsLists(lines: readonly string[]): string[] {
  const out: string[] = [];
  let table: string[][] = [];
  for (const line of [...lines, ""]) {
    if (line.startsWith("|")) {
      table.push(cellsOf(line));
      continue;
    }
    out.push(...inColumns(table), line);
    table = [];
  }
  return out.slice(0, -1);
}

/** The names of the columns are left out where there are two: what they hold is plain. */
function inColumns([names = [], , ...rows]: readonly string[][]): string[] {
  const shown = names.length > 2 ? [names, ...rows] : rows;
  const widths = names.map((_, column) => Math.max(0, ...shown.map((row) => displayWidth(row[column] ?? ""))));
  const padded = (cell: string, column: number) => cell + " ".repeat((widths[column] ?? 0) - displayWidth(cell));
  return shown.map((row) => `  ${row.map(padded).join("  ").trimEnd()}`);
}

function cellsOf(row: string): string[] {
  const inner = row.replace(/^\| ?/, "").replace(/ ?\|$/, "");
  return inner.split(/ ?(?<!\\)\| ?/).map((cell) => cell.replaceAll("\\|", "|").trim());
}
