/** A unified diff for the screen: `+` and `-` always, colour on top, long ones folded. Sanitises what it shows; makes no diff itself. */
import picocolors from "picocolors";
import { sanitize, sanitizeLine } from "./sanitize.ts";
import { oneLine } from "./text.ts";

export interface DiffViewOptions {
  colour: boolean;
  ascii: boolean;
  /** Lines to show; the rest is counted. */
  maxLines?: number;
  /** Put before each line. */
  indent?: string;
  /** What the last line says where to find the rest. */
  rest?: string;
  /** How a line's text becomes safe; default `sanitize`. An approval prompt is stricter. */
  escape?: (line: string) => string;
}

/** Ends in a line end; empty for an empty diff. Lines of headers that say nothing (`===`, `index …`) are left out. */
export function diffView(diff: string, options: DiffViewOptions): string {
  const lines = diff
    .split("\n")
    .filter((line, index, all) => !isNoise(line, index, all) && !(index === all.length - 1 && line === ""));
  const shown = lines.length > (options.maxLines ?? 60) ? lines.slice(0, options.maxLines ?? 60) : lines;
  const indent = options.indent ?? "  ";
  const text = shown.map((line) => `${indent}${styleLine(line, options)}\n`).join("");
  return lines.length === shown.length ? text : text + indent + moreLines(lines.length - shown.length, options);
}

/** `+3 -1` of a unified diff. */
export function diffCounts(diff: string): { added: number; removed: number } {
  let [added, removed] = [0, 0];
  for (const line of diff.split("\n")) {
    if (line.startsWith("+") && !line.startsWith("+++ ")) added++;
    if (line.startsWith("-") && !line.startsWith("--- ")) removed++;
  }
  return { added, removed };
}

function isNoise(line: string, index: number, all: readonly string[]): boolean {
  // The two lines that name the file follow it, a mode at most in between; a pure rename has none and keeps it.
  if (line.startsWith("diff --git ")) return all.slice(index + 1, index + 4).some((next) => next.startsWith("--- "));
  return /^={10,}$/.test(line) || line.startsWith("Index: ") || /^index [0-9a-f]+\.\./.test(line);
}

function styleLine(line: string, options: DiffViewOptions): string {
  const colours = picocolors.createColors(options.colour);
  const escape = options.escape ?? ((text: string) => sanitize(text, { ascii: options.ascii }));
  const safe = escape(line);
  if (/^(?:\+\+\+|---) /.test(line)) return colours.bold(options.escape ? safe : sanitizeLine(line, options));
  if (line.startsWith("@@"))
    return colours.cyan(options.escape ? safe : oneLine(safe, 200, options.ascii ? "..." : "…"));
  if (line.startsWith("+")) return colours.green(safe);
  return line.startsWith("-") ? colours.red(safe) : safe;
}

function moreLines(count: number, options: DiffViewOptions): string {
  const dots = options.ascii ? "..." : "…";
  const text = `${dots} ${count} more lines${options.rest ? ` (${options.rest})` : ""}`;
  return `${picocolors.createColors(options.colour).dim(text)}\n`;
}
