/** The grammar tree of a shell line, between shell-parse.ts and shell-walk.ts, and the cursor both lexer and parser move. Nothing is expanded yet. */

export type Part =
  | { kind: "text"; value: string; quoted: boolean }
  | {
      kind: "variable";
      source: string;
      quoted: boolean;
      name: string;
      /** `""`, `:-`, `-`, `:=`, `=`, `:+`, `+`, `[]` for an element, or `?` for everything whose result isn't followed. */
      operator: string;
      operand: Part[];
    }
  | {
      kind: "commands";
      source: string;
      quoted: boolean;
      script: Script;
      /** `output`: `$(…)` and backticks. `input`: `<(…)`. `sink`: `>(…)`, whose standard input is what the command writes there. */
      flow: "output" | "input" | "sink";
    }
  | { kind: "arithmetic"; source: string; quoted: boolean; parts: Part[] };

export interface RawWord {
  parts: Part[];
  text: string;
  start: number;
  end: number;
}

export interface RawRedirect {
  op: string;
  fd: number | string | null;
  target: RawWord | null;
  /** Filled when the newline that starts the body is reached. */
  hereDoc: { delimiter: string; quoted: boolean; tabs: boolean; body: string; parts: Part[] } | null;
  text: string;
}

export interface RawAssignment {
  name: string;
  append: boolean;
  value: RawWord | null;
  elements: RawWord[];
  subscript: Part[];
}

export interface RawSimple {
  kind: "simple";
  assignments: RawAssignment[];
  words: RawWord[];
}

export type Shape =
  | RawSimple
  | { kind: "group"; subshell: boolean; body: Script }
  | { kind: "if"; branches: { test: Script | null; body: Script }[] }
  | { kind: "while"; test: Script; body: Script; assigns: string[] }
  | { kind: "for"; name: string; words: RawWord[] | null; body: Script; assigns: string[] }
  | { kind: "count"; parts: Part[]; body: Script; assigns: string[] }
  | { kind: "case"; subject: RawWord; clauses: { patterns: RawWord[]; body: Script }[] }
  | { kind: "function"; name: string; body: Node; assigns: string[] }
  | { kind: "test"; words: RawWord[]; arithmetic: boolean }
  | { kind: "coproc"; body: Node };

/** A command of the tree with the redirections written after it. */
export type Node = Shape & { redirects: RawRedirect[]; text: string; start: number; end: number };

export interface Pipeline {
  negated: boolean;
  stages: Node[];
}

export interface Script {
  items: { pipeline: Pipeline; after: "&&" | "||" | ";" | "&" }[];
}

export interface Cursor {
  source: string;
  at: number;
  /** Constructs around `at`; ends in an error before the call stack does. */
  depth: number;
  /** Here-documents whose body starts after the next newline. */
  pending: RawRedirect[];
  /** Whether the `((` at an offset opened arithmetic: asked again after stepping back, so that nesting stays cheap. */
  arithmetic: Map<number, boolean>;
  /** Names assigned so far outside of finished subshells; `*` stands for any name, `-cd` for the directory. */
  assigned: string[];
  flags: Flags;
  /** Parses commands up to one of `closers`, which is left unread. Handed in, so that the lexer needn't know the parser. */
  parseScript: (cursor: Cursor, closers: readonly string[]) => Script;
}

export interface Flags {
  /** Expansions or builtins that run text as code. */
  runsCode: boolean;
  /** Arithmetic, or a builtin that takes names with subscripts, is somewhere: it runs `$(…)` in the subscripts of values. */
  arithmetic: boolean;
  /** Literal text holds a subscript with `$(…)` or a backtick in it. */
  hidden: boolean;
  /** `shopt -s extglob` is on the line. */
  extglob: boolean;
  /** `$'` or `$"` is on the line. */
  ansi: boolean;
  /** POSIX shells see commands where bash sees text. */
  bashOnly: boolean;
  /** Steps taken by the lexer, so that a test can see that time is linear. */
  steps: number;
}

/** What bash refuses too, or what this parser doesn't follow. Never leaves the shell-*.ts files. */
export class ShellSyntaxError extends Error {
  override name = "ShellSyntaxError";
}

const MAX_DEPTH = 100;

/** A cursor at the start of text of its own (backticks, here-document bodies) that shares everything else with `parent`. */
export function cursorFor(source: string, parent: Cursor): Cursor {
  return { ...parent, source, at: 0, pending: [], arithmetic: new Map() };
}

/** Runs `read` one level deeper. Lines nested deeper than 100 constructs are refused: real ones stay below ten. */
export function nested<T>(cursor: Cursor, read: () => T): T {
  if (++cursor.depth > MAX_DEPTH) throw new ShellSyntaxError(`more than ${MAX_DEPTH} constructs inside each other`);
  const result = read();
  cursor.depth--;
  return result;
}

/** Whether `text` stands at the cursor. */
export function looksAt(cursor: Cursor, text: string): boolean {
  return cursor.source.startsWith(text, cursor.at);
}

/** The character `ahead` places on; empty at the end. */
export function peek(cursor: Cursor, ahead = 0): string {
  return cursor.source.charAt(cursor.at + ahead);
}

/** Matches a sticky expression at the cursor without moving. */
export function matchAt(cursor: Cursor, sticky: RegExp): string | null {
  sticky.lastIndex = cursor.at;
  return sticky.exec(cursor.source)?.[0] ?? null;
}

/** What was assigned since `from`, each name once. */
export function assignedSince(cursor: Cursor, from: number): string[] {
  return [...new Set(cursor.assigned.slice(from))];
}

/** Runs `read` on what runs in a subshell: what it assigns is forgotten. */
export function subshell<T>(cursor: Cursor, read: () => T): T {
  const from = cursor.assigned.length;
  const result = read();
  cursor.assigned.length = Math.min(cursor.assigned.length, from);
  return result;
}

/** Text of parts with quotes removed and expansions as written. */
export function shapeOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === "text" ? part.value : part.source)).join("");
}

/** Names an arithmetic expression may assign: all of its names, when anything in it assigns. */
export function assignedIn(parts: readonly Part[]): string[] {
  const text = shapeOf(parts);
  return /\+\+|--|(?:^|[^=!<>]|<<|>>)=(?!=)/.test(text) ? (text.match(/[A-Za-z_]\w*/g) ?? []) : [];
}

/** The error for what stands at the cursor. */
export function unexpected(cursor: Cursor): ShellSyntaxError {
  const found = peek(cursor);
  return new ShellSyntaxError(found ? `unexpected ${JSON.stringify(found)} at ${cursor.at}` : "unexpected end");
}

/** Text next to text of the same quoting joins it, so that a word of plain characters is one part. */
export function addText(parts: Part[], value: string, quoted: boolean): void {
  const last = parts.at(-1);
  if (last?.kind === "text" && last.quoted === quoted) last.value += value;
  else parts.push({ kind: "text", value, quoted });
}

/** What `read` reads; null when it isn't well formed. */
export function attempt<T>(read: () => T | null): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof ShellSyntaxError) return null;
    throw error;
  }
}
