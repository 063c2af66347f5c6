/** Grammar of a shell line: lists, pipelines and simple commands (bash(1) "SHELL GRAMMAR"). shell-compound.ts has `if`, `for` and the rest. */
import { COMPOUND_WORDS, parseCompound, RESERVED, reservedAt, type Grammar } from "./shell-compound.ts";
import { readBody, readSubscript, readWord } from "./shell-lex.ts";
import {
  assignedSince,
  cursorFor,
  looksAt,
  matchAt,
  peek,
  shapeOf,
  ShellSyntaxError,
  unexpected,
  type Cursor,
  type Flags,
  type Node,
  type Pipeline,
  type RawAssignment,
  type RawRedirect,
  type RawSimple,
  type RawWord,
  type Script,
  type Shape,
} from "./shell-tree.ts";

export interface Tree {
  script: Script;
  assigned: readonly string[];
  flags: Flags;
}

/** Parses a whole line. Throws ShellSyntaxError for what isn't one. */
export function parseTree(source: string): Tree {
  const extglob = /\bextglob\b/.test(source);
  const ansi = /\$['"]/.test(source);
  const flags = { runsCode: false, arithmetic: false, hidden: false, bashOnly: false, extglob, ansi, steps: 0 };
  const assigned: string[] = [];
  const cursor = { source, at: 0, depth: 0, pending: [], arithmetic: new Map(), assigned, flags, parseScript };
  const script = parseScript(cursor, []);
  if (cursor.at < source.length) throw unexpected(cursor);
  readBodies(cursor);
  return { script, assigned, flags };
}

const grammar: Grammar = { parseScript, parseNode, parseRedirects, skipBlanks, skipNewlines };

function parseScript(cursor: Cursor, closers: readonly string[]): Script {
  const script: Script = { items: [] };
  skipNewlines(cursor);
  while (peek(cursor) !== "" && !closes(cursor, closers)) {
    const pipeline = parsePipeline(cursor);
    const after = parseSeparator(cursor);
    script.items.push({ pipeline, after: after ?? ";" });
    if (after === null) break;
    if (after === "&&" || after === "||") requireCommand(cursor, closers);
    else skipNewlines(cursor);
  }
  skipBlanks(cursor);
  return script;
}

function closes(cursor: Cursor, closers: readonly string[]): boolean {
  if (peek(cursor) === ")" || looksAt(cursor, ";;") || looksAt(cursor, ";&")) return true;
  const word = reservedAt(cursor);
  return word !== null && closers.includes(word);
}

function requireCommand(cursor: Cursor, closers: readonly string[]): void {
  skipNewlines(cursor);
  if (peek(cursor) === "" || closes(cursor, closers)) throw unexpected(cursor);
}

/** The operator after a pipeline; null at the end of the list. */
function parseSeparator(cursor: Cursor): "&&" | "||" | ";" | "&" | null {
  skipBlanks(cursor);
  if (looksAt(cursor, ";;") || looksAt(cursor, ";&")) return null;
  for (const operator of ["&&", "||", ";", "&"] as const) {
    if (!looksAt(cursor, operator)) continue;
    cursor.at += operator.length;
    return operator;
  }
  if (peek(cursor) !== "\n") return null;
  takeNewline(cursor);
  return ";";
}

function parsePipeline(cursor: Cursor): Pipeline {
  let negated = false;
  for (let word = reservedAt(cursor); word === "!" || opensTimed(cursor, word); word = reservedAt(cursor)) {
    if (word === "!") negated = !negated;
    cursor.at += word === "!" ? 1 : (matchAt(cursor, TIMED)?.length ?? 0);
    skipBlanks(cursor);
  }
  // A `!` or `time` of nothing is a command too.
  if (negated && /^[;\n]?$/.test(peek(cursor))) return { negated, stages: [] };
  const from = cursor.assigned.length;
  const stages = [parseNode(cursor)];
  while (takePipe(cursor)) {
    skipNewlines(cursor);
    stages.push(parseNode(cursor));
    // Stages of a pipeline run in subshells: nothing they assign outlives them.
    cursor.assigned.length = from;
  }
  return { negated, stages };
}

const TIMED = /time(?:[ \t]+-p)?(?:[ \t]+--)?(?=[ \t(])/y;

/** `time` in front of a compound command. In front of a simple one it is left to the wrappers, as the program of that name is. */
function opensTimed(cursor: Cursor, word: string | null): word is "time" {
  const timed = word === "time" ? matchAt(cursor, TIMED) : null;
  if (timed === null) return false;
  const ahead = { ...cursor, at: cursor.at + timed.length };
  skipBlanks(ahead);
  const next = reservedAt(ahead);
  return peek(ahead) === "(" || next === "!" || (next !== null && COMPOUND_WORDS.has(next));
}

function takePipe(cursor: Cursor): boolean {
  skipBlanks(cursor);
  if (peek(cursor) !== "|" || peek(cursor, 1) === "|") return false;
  cursor.at += peek(cursor, 1) === "&" ? 2 : 1;
  return true;
}

function parseNode(cursor: Cursor): Node {
  cursor.flags.steps++;
  const start = cursor.at;
  const shape = parseCompound(cursor, grammar);
  const redirects: RawRedirect[] = [];
  const found = shape ?? parseSimple(cursor, redirects);
  if (shape && shape.kind !== "function") redirects.push(...parseRedirects(cursor));
  const end = trimmedEnd(cursor, start);
  return { ...found, redirects, text: cursor.source.slice(start, end), start, end };
}

function trimmedEnd(cursor: Cursor, start: number): number {
  let end = cursor.at;
  while (end > start && /[ \t\n]/.test(cursor.source.charAt(end - 1)) && cursor.source.charAt(end - 2) !== "\\") end--;
  return end;
}

function parseSimple(cursor: Cursor, redirects: RawRedirect[]): RawSimple | FunctionShape {
  const simple: RawSimple = { kind: "simple", assignments: [], words: [] };
  const before = cursor.at;
  for (skipBlanks(cursor); ; skipBlanks(cursor)) {
    const redirect = parseRedirect(cursor);
    if (redirect) redirects.push(redirect);
    else if (isWordStart(cursor)) readOperand(cursor, simple);
    else break;
    if (isDefinition(cursor, simple)) return parseDefinition(cursor, simple);
  }
  if (cursor.at === before) throw unexpected(cursor);
  noteAssigned(cursor, simple);
  return simple;
}

type FunctionShape = Extract<Shape, { kind: "function" }>;

function isWordStart(cursor: Cursor): boolean {
  const char = peek(cursor);
  if (char === "" || /[ \t\n|&;()]/.test(char)) return false;
  return (char !== "<" && char !== ">") || peek(cursor, 1) === "(";
}

function readOperand(cursor: Cursor, simple: RawSimple): void {
  const declares = simple.words.length > 0 && DECLARING.has(simple.words[0]?.text ?? "");
  const assignment = simple.words.length === 0 || declares ? parseAssignment(cursor) : null;
  if (!assignment) simple.words.push(readArgument(cursor, simple));
  else if (declares && assignment.elements.length === 0 && assignment.value)
    simple.words.push(asWord(cursor, assignment));
  else simple.assignments.push(assignment);
}

function readArgument(cursor: Cursor, { words }: RawSimple): RawWord {
  const word = readWord(cursor);
  if (!word.text.includes("\\\n")) return word;
  // Joined, it may be the number of a descriptor.
  if (/[<>]/.test(peek(cursor))) throw new ShellSyntaxError("line continuation before a redirection");
  const broken = words.length === 0 && word.parts.every((part) => !part.quoted);
  if (broken && RESERVED.has(shapeOf(word.parts))) throw new ShellSyntaxError("line continuation in a reserved word");
  return word;
}

const DECLARING = new Set(["declare", "typeset", "local", "export", "readonly"]);

/** `export A=x`: an argument that assigns. Kept as a word; shell-builtins.ts knows what it does. */
function asWord(cursor: Cursor, { value, start }: RawAssignment & { start: number }): RawWord {
  const end = value?.end ?? cursor.at;
  const text = cursor.source.slice(start, end);
  const head = cursor.source.slice(start, value?.start ?? end);
  return { parts: [{ kind: "text", value: head, quoted: true }, ...(value?.parts ?? [])], text, start, end };
}

function parseAssignment(cursor: Cursor): (RawAssignment & { start: number }) | null {
  const start = cursor.at;
  const name = matchAt(cursor, /[A-Za-z_]\w*(?=\[|\+?=)/y);
  if (matchAt(cursor, /[A-Za-z_]\w*(?:\\\n\w*)+(?:\+?=|\[)/y))
    throw new ShellSyntaxError("line continuation in a name");
  if (name === null) return null;
  cursor.at += name.length;
  const subscript = peek(cursor) === "[" ? readSubscript(cursor) : [];
  const operator = matchAt(cursor, /\+?=/y);
  if (operator === null) {
    // Whatever stands in the brackets is part of the name then, blanks, quotes and # included.
    if (subscript.length > 0 || peek(cursor, -1) === "]")
      throw new ShellSyntaxError("a subscript without an assignment");
    cursor.at = start;
    return null;
  }
  cursor.at += operator.length;
  return { name, append: operator === "+=", subscript, start, ...readValue(cursor) };
}

function readValue(cursor: Cursor): { value: RawWord | null; elements: RawWord[] } {
  if (peek(cursor) === "(") return { value: null, elements: readElements(cursor) };
  if (isWordStart(cursor)) return { value: readWord(cursor), elements: [] };
  return { value: { parts: [], text: "", start: cursor.at, end: cursor.at }, elements: [] };
}

function readElements(cursor: Cursor): RawWord[] {
  const elements: RawWord[] = [];
  cursor.at++;
  for (skipNewlines(cursor); peek(cursor) !== ")"; skipNewlines(cursor)) {
    if (!isWordStart(cursor)) throw unexpected(cursor);
    elements.push(readWord(cursor));
  }
  cursor.at++;
  if (isWordStart(cursor)) throw unexpected(cursor);
  return elements;
}

function isDefinition(cursor: Cursor, simple: RawSimple): boolean {
  if (simple.words.length !== 1 || simple.assignments.length > 0) return false;
  return matchAt(cursor, /[ \t]*\([ \t]*\)/y) !== null;
}

function parseDefinition(cursor: Cursor, simple: RawSimple): FunctionShape {
  cursor.at += matchAt(cursor, /[ \t]*\([ \t]*\)/y)?.length ?? 0;
  skipNewlines(cursor);
  const from = cursor.assigned.length;
  const body = parseNode(cursor);
  return {
    kind: "function",
    name: shapeOf(simple.words[0]?.parts ?? []),
    body,
    assigns: assignedSince(cursor, from),
  };
}

/** Builtins whose arguments name variables they change; then those that may change any, and those that change the directory. */
const CHANGES = new Set([..."read mapfile readarray printf getopts let unset select wait".split(" "), ...DECLARING]);
const CHANGES_ANY = new Set(["eval", "source", ".", "trap"]);
const MOVES = new Set(["cd", "pushd", "popd", "eval"]);

function noteAssigned(cursor: Cursor, simple: RawSimple): void {
  for (const { name } of simple.assignments) cursor.assigned.push(name);
  const [first, ...rest] = simple.words.map((word) => shapeOf(word.parts));
  const name = first === "builtin" || first === "command" ? rest.shift() : first;
  if (name === undefined) return;
  if (MOVES.has(name)) cursor.assigned.push("-cd");
  if (CHANGES_ANY.has(name) || name.includes("$") || name.includes("`")) cursor.assigned.push("*");
  if (CHANGES.has(name) || (/^(test|\[)$/.test(name) && rest.includes("-v"))) cursor.flags.arithmetic = true;
  if (CHANGES.has(name)) for (const word of rest) cursor.assigned.push(/^\w*/.exec(word)?.[0] ?? "");
}

function parseRedirects(cursor: Cursor): RawRedirect[] {
  const redirects: RawRedirect[] = [];
  for (skipBlanks(cursor); ; skipBlanks(cursor)) {
    const redirect = parseRedirect(cursor);
    if (!redirect) return redirects;
    redirects.push(redirect);
  }
}

const REDIRECT = /(\d+|\{[A-Za-z_]\w*(?:\[[^\]\n]*\])?\})?(<<<|<<-|<<|<&|<>|<(?!\()|>>|>&|>\||>(?!\()|&>>|&>)/y;

function parseRedirect(cursor: Cursor): RawRedirect | null {
  const start = cursor.at;
  REDIRECT.lastIndex = start;
  const found = REDIRECT.exec(cursor.source);
  if (!found) return null;
  const [whole, prefix, op = ""] = found;
  if (prefix !== undefined && op.startsWith("&")) return null;
  // To a POSIX sh the ampersand ends the command, and what follows the file is another one.
  if (op.startsWith("&")) cursor.flags.bashOnly = true;
  cursor.at += whole.length;
  skipBlanks(cursor);
  const target = readWord(cursor);
  const fd = prefix === undefined ? null : /^\d/.test(prefix) ? Number(prefix) : prefix.slice(1, -1);
  return keepRedirect(cursor, { op, fd, target, hereDoc: null, text: cursor.source.slice(start, cursor.at) });
}

function keepRedirect(cursor: Cursor, redirect: RawRedirect): RawRedirect {
  if (redirect.op !== "<<" && redirect.op !== "<<-") return redirect;
  const parts = redirect.target?.parts ?? [];
  const quoted = parts.some((part) => part.kind === "text" && part.quoted);
  redirect.hereDoc = { delimiter: shapeOf(parts), quoted, tabs: redirect.op === "<<-", body: "", parts: [] };
  redirect.target = null;
  cursor.pending.push(redirect);
  return redirect;
}

/** Blanks, continued lines and, at the start of a token, comments. */
function skipBlanks(cursor: Cursor): void {
  // bash joins the lines first, so that these would be one operator.
  if (/[|&;<>(]/.test(peek(cursor, -1)) && matchAt(cursor, /(?:\\\n)+[|&;<>(]/y))
    throw new ShellSyntaxError("line continuation in an operator");
  const blanks = matchAt(cursor, /(?:[ \t]|\\\n)*/y) ?? "";
  cursor.at += blanks.length;
  if (peek(cursor) === "#") cursor.at += matchAt(cursor, /[^\n]*/y)?.length ?? 0;
}

function skipNewlines(cursor: Cursor): void {
  for (skipBlanks(cursor); peek(cursor) === "\n"; skipBlanks(cursor)) takeNewline(cursor);
}

function takeNewline(cursor: Cursor): void {
  cursor.at++;
  if (cursor.pending.length > 0) readBodies(cursor);
}

function readBodies(cursor: Cursor): void {
  for (const { hereDoc } of cursor.pending.splice(0)) {
    if (!hereDoc) continue;
    hereDoc.body = takeBody(cursor, hereDoc);
    if (hereDoc.quoted) continue;
    // Continued lines are joined before anything else, even inside quotes.
    const joined = hereDoc.body.replace(/\\([\s\S])/g, (whole, char: string) => (char === "\n" ? "" : whole));
    hereDoc.parts = readBody(cursorFor(joined, cursor));
  }
}

/** Text up to the delimiter's line, or to the end of everything, as bash does with a warning. */
function takeBody(cursor: Cursor, doc: { delimiter: string; quoted: boolean; tabs: boolean }): string {
  const line = doc.quoted ? /[^\n]*\n?/y : /(?:[^\\\n]|\\[\s\S]|\\$)*\n?/y;
  const body: string[] = [];
  while (cursor.at < cursor.source.length) {
    const raw = matchAt(cursor, line) ?? "";
    const text = doc.tabs ? raw.replace(/^\t+/gm, "") : raw;
    cursor.at += raw.length;
    cursor.flags.steps++;
    if (text.replace(/\\\n/g, "").replace(/\n$/, "") === doc.delimiter) break;
    body.push(text);
  }
  return body.join("");
}
