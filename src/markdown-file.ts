/** Markdown with frontmatter: skills, custom commands, agents. Reads the small part of YAML such files use; knows no field by name and touches no disk. */

export type FieldValue = string | readonly string[] | ReadonlyMap<string, string>;

export interface Field {
  value: FieldValue;
  /** The value's first line as written. */
  raw: string;
  /** Line of the key, from 1. */
  line: number;
}

export interface MarkdownFile {
  fields: ReadonlyMap<string, Field>;
  /** What follows the frontmatter, without blank lines around it. */
  body: string;
}

/** Frontmatter that can't be read. The message names the line. */
export class FrontmatterError extends Error {
  override name = "FrontmatterError";
  constructor(line: number, what: string) {
    super(`line ${line}: ${what}`);
  }
}

/** A list in brackets is read again with each line it goes on to; nobody writes more than a handful. The form with dashes has no limit. */
const MAX_LIST_LINES = 50;
/** A repository may hold hundreds of such files, and all of them are read at the start. Move what is longer to the body. */
const MAX_FRONTMATTER_LINES = 500;

interface Lines {
  all: readonly string[];
  /** Index of the next line to be read. */
  at: number;
}

/**
 * Splits and reads a file; its beginning is enough where the frontmatter ends in that. One without frontmatter is all body.
 * Throws FrontmatterError for what can't be read.
 */
export function parseMarkdownFile(text: string, maxLines = MAX_FRONTMATTER_LINES): MarkdownFile {
  const all = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  if (all[0]?.trimEnd() !== "---") return { fields: new Map(), body: all.join("\n").trim() };
  const end = all.findIndex((line, index) => index > 0 && /^(?:---|\.\.\.)\s*$/.test(line));
  if (end < 0) throw new FrontmatterError(1, 'the frontmatter has no end: a line "---"');
  if (end > maxLines) throw new FrontmatterError(1, `the frontmatter is longer than ${maxLines} lines`);
  const fields = readFields({ all: all.slice(0, end), at: 1 });
  return {
    fields,
    body: all
      .slice(end + 1)
      .join("\n")
      .trim(),
  };
}

/** A field's text: a list joined by commas. Undefined when missing, or a mapping. */
export function textField(file: MarkdownFile, name: string): string | undefined {
  const value = file.fields.get(name)?.value;
  if (typeof value === "string") return value;
  return isList(value) ? value.join(", ") : undefined;
}

/** A field's entries; a text is split at commas outside of brackets. Undefined when missing, or a mapping. */
export function listField(file: MarkdownFile, name: string): string[] | undefined {
  const value = file.fields.get(name)?.value;
  if (typeof value === "string") return splitOutside(value);
  return isList(value) ? value.flatMap(splitOutside) : undefined;
}

function isList(value: FieldValue | undefined): value is readonly string[] {
  return Array.isArray(value);
}

// `Read, Bash(git add *, git commit *)` are two entries.
function splitOutside(text: string): string[] {
  const entries: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at <= text.length; at++) {
    const char = text[at];
    if (char === "(") depth++;
    if (char === ")") depth = Math.max(0, depth - 1);
    if (char !== undefined && (char !== "," || depth > 0)) continue;
    entries.push(text.slice(from, at).trim());
    from = at + 1;
  }
  return entries.filter((entry) => entry !== "");
}

function readFields(lines: Lines): Map<string, Field> {
  const fields = new Map<string, Field>();
  for (let entry = nextEntry(lines, 0); entry !== null; entry = nextEntry(lines, 0)) {
    if (fields.has(entry.key)) throw new FrontmatterError(entry.line, `"${entry.key}" is there twice`);
    fields.set(entry.key, { value: readValue(entry, lines), raw: entry.rest, line: entry.line });
  }
  return fields;
}

interface Entry {
  key: string;
  rest: string;
  line: number;
  /** Blanks before the key; what belongs to it has more. */
  depth: number;
}

/** The next `key: value` of this depth; null at the end, or where a line is less deep. */
function nextEntry(lines: Lines, depth: number): Entry | null {
  for (; lines.at < lines.all.length; lines.at++) {
    const text = lines.all[lines.at] ?? "";
    if (isBlank(text)) continue;
    const indent = indentOf(text, lines.at + 1);
    if (indent < depth) return null;
    const line = ++lines.at;
    if (indent > depth) throw new FrontmatterError(line, "this line is indented, and nothing before it says why");
    const entry = /^([\w][\w.-]*|"[^"\\]+"|'[^']+')\s*:(?:\s+(.*))?$/.exec(text.trim());
    if (!entry) throw new FrontmatterError(line, 'no "key: value"');
    return { key: (entry[1] ?? "").replace(/^["']|["']$/g, ""), rest: entry[2] ?? "", line, depth };
  }
  return null;
}

function readValue({ rest, line, depth }: Entry, lines: Lines): FieldValue {
  const first = rest[0];
  if (first === undefined || first === "#") return readBelow(depth, lines);
  if (first === "|" || first === ">") return readBlock({ rest, line, depth }, lines);
  if (first === "[") return readFlowList(rest, line, lines) ?? plain([rest, ...deeper(depth, lines)]);
  if (first === '"' || first === "'") return scalar(rest, line);
  refuseOther(rest, line);
  return plain([rest, ...deeper(depth, lines)]);
}

/** What stands below a key without a value on its line: a list, a mapping, a text, or nothing. */
function readBelow(depth: number, lines: Lines): FieldValue {
  while (lines.at < lines.all.length && isBlank(lines.all[lines.at] ?? "")) lines.at++;
  const next = lines.all[lines.at];
  if (next === undefined) return "";
  const indent = indentOf(next, lines.at + 1);
  if (indent >= depth && /^\s*-(?:\s|$)/.test(next)) return readList(indent, lines);
  if (indent <= depth) return "";
  if (/^\s*[\w"'][\w.-]*["']?\s*:(?:\s|$)/.test(next)) return readMapping(indent, lines);
  return plain(deeper(depth, lines));
}

function readList(indent: number, lines: Lines): string[] {
  const items: string[] = [];
  for (; lines.at < lines.all.length; lines.at++) {
    const text = lines.all[lines.at] ?? "";
    if (isBlank(text)) continue;
    const item = /^\s*-(?:\s+(.*))?$/.exec(text);
    if (!item && indentOf(text, lines.at + 1) <= indent) break;
    if (!item || indentOf(text, lines.at + 1) !== indent)
      throw new FrontmatterError(lines.at + 1, "lists within lists are not read");
    items.push(scalar(item[1] ?? "", lines.at + 1));
  }
  return items;
}

/** One level: `metadata:` of other agents' files. */
function readMapping(indent: number, lines: Lines): Map<string, string> {
  const found = new Map<string, string>();
  for (let entry = nextEntry(lines, indent); entry !== null; entry = nextEntry(lines, indent)) {
    const value = readValue(entry, lines);
    found.set(entry.key, typeof value === "string" ? value : isList(value) ? value.join(", ") : "");
  }
  return found;
}

/** `|` keeps line ends, `>` folds them; `-` drops the last one. */
function readBlock({ rest: header, line, depth: outer }: Omit<Entry, "key">, lines: Lines): string {
  if (!/^[|>][-+\d]{0,2}(?:\s+#.*)?\s*$/.test(header)) throw new FrontmatterError(line, `"${header}" begins no block`);
  const rows: string[] = [];
  for (; lines.at < lines.all.length; lines.at++) {
    const text = lines.all[lines.at] ?? "";
    if (text.trim() !== "" && text.length - text.trimStart().length <= outer) break;
    rows.push(text);
  }
  const depth = Math.min(...rows.filter((row) => row.trim() !== "").map((row) => row.length - row.trimStart().length));
  const kept = rows.map((row) => row.slice(depth));
  const text = header[0] === "|" ? kept.join("\n") : folded(kept);
  return text.trimEnd();
}

function folded(rows: readonly string[]): string {
  let text = "";
  for (const row of rows) {
    if (row.trim() === "") text += "\n";
    else text += text === "" || text.endsWith("\n") ? row : ` ${row}`;
  }
  return text;
}

/** Null for what only begins like a list: `[number] [title]`. May go on over several lines. */
function readFlowList(rest: string, line: number, lines: Lines): string[] | null {
  let text = rest;
  for (let count = 0; ; count++) {
    const read = flowItems(text, line);
    if (read !== "open") return read;
    const next = lines.all[lines.at];
    if (next === undefined || !/^[\s\]]/.test(next) || count === MAX_LIST_LINES)
      throw new FrontmatterError(line, 'the list has no "]"');
    text += ` ${next.trim()}`;
    lines.at++;
  }
}

function flowItems(text: string, line: number): string[] | null | "open" {
  const items: string[] = [];
  let at = 1;
  for (;;) {
    while (text[at] === " " || text[at] === ",") at++;
    if (at >= text.length) return "open";
    if (text[at] === "]") return /^\s*(?:#.*)?$/.test(text.slice(at + 1)) ? items : null;
    if (text[at] === "[" || text[at] === "{") throw new FrontmatterError(line, "lists within lists are not read");
    const end = itemEnd(text, at);
    if (end < 0) return "open";
    items.push(scalar(text.slice(at, end).trim(), line));
    at = end;
  }
}

/** Where an item of a list ends; -1 when it isn't on this line. */
function itemEnd(text: string, from: number): number {
  const quote = text[from];
  if (quote !== '"' && quote !== "'") {
    const length = text.slice(from).search(/[,\]]/);
    return length < 0 ? -1 : from + length;
  }
  const end = closingQuote(text, from);
  return end < 0 ? -1 : end + 1;
}

/** One value on one line, quoted or not. */
function scalar(text: string, line: number): string {
  const quote = text[0];
  if (quote !== '"' && quote !== "'") {
    refuseOther(text, line);
    return plain([text]);
  }
  const end = closingQuote(text, 0);
  if (end < 0) throw new FrontmatterError(line, `no closing ${quote}`);
  if (!/^\s*(?:#.*)?$/.test(text.slice(end + 1)))
    throw new FrontmatterError(line, `text after the closing ${quote}; put the whole value in quotes`);
  const inner = text.slice(1, end);
  return quote === "'" ? inner.replaceAll("''", "'") : unescaped(inner, line);
}

function closingQuote(text: string, from: number): number {
  const quote = text[from];
  for (let at = from + 1; at < text.length; at++) {
    if (quote === '"' && text[at] === "\\") at++;
    else if (text[at] === quote && quote === "'" && text[at + 1] === "'") at++;
    else if (text[at] === quote) return at;
  }
  return -1;
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  '"': '"',
  "\\": "\\",
  "/": "/",
  " ": " ",
};

function unescaped(text: string, line: number): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([^]))/g, (whole, long, short, char) => {
    const code: string | undefined = long ?? short;
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    const found = ESCAPES[String(char)];
    if (found === undefined) throw new FrontmatterError(line, `unknown escape ${whole}`);
    return found;
  });
}

/** The parts of YAML that nobody needs here would otherwise be taken for text. */
function refuseOther(text: string, line: number): void {
  if (/^[{&*!%@`]/.test(text))
    throw new FrontmatterError(line, `a value can't begin with ${text[0]}; put it in quotes`);
}

/** Lines folded into one text, comments left out. */
function plain(rows: readonly string[]): string {
  return rows
    .map((row) => row.trim())
    .map((row) => (row.startsWith("#") ? "" : withoutComment(row)))
    .filter((row) => row !== "")
    .join(" ");
}

function withoutComment(row: string): string {
  const at = row.search(/\s#/);
  return at < 0 ? row : row.slice(0, at).trimEnd();
}

/** Takes the lines that go on with a value: indented ones. */
function deeper(depth: number, lines: Lines): string[] {
  const rows: string[] = [];
  for (; lines.at < lines.all.length; lines.at++) {
    const text = lines.all[lines.at] ?? "";
    if (text.trim() === "" || indentOf(text, lines.at + 1) <= depth) break;
    rows.push(text);
  }
  return rows;
}

function isBlank(text: string): boolean {
  return text.trim() === "" || text.trimStart().startsWith("#");
}

function indentOf(text: string, line: number): number {
  const blank = text.slice(0, text.length - text.trimStart().length);
  if (blank.includes("\t")) throw new FrontmatterError(line, "indented with a tab; use blanks");
  return blank.length;
}
