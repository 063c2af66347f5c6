/** Words of a shell line: quotes, escapes and expansions read into parts (bash(1) "QUOTING", "EXPANSION"). Expands nothing. */
import { decodeAnsi, unescapeBackticks } from "./shell-ansi.ts";
import { BODY, DOUBLE, isAtEnd, OPERAND, QUOTED_OPERAND, QUOTED_PATTERN, WORD, type Mode } from "./shell-modes.ts";
import {
  addText,
  assignedIn,
  attempt,
  cursorFor,
  looksAt,
  matchAt,
  nested,
  peek,
  shapeOf,
  ShellSyntaxError,
  subshell,
  unexpected,
  type Cursor,
  type Part,
  type RawWord,
} from "./shell-tree.ts";

const HIDDEN_CODE = /\[[^\]]*(\$\(|`)/;

/** Reads one word; the cursor must stand at its first character. `pattern` also takes `@(a|b)`. */
export function readWord(cursor: Cursor, pattern = false): RawWord {
  const start = cursor.at;
  const mode = pattern || cursor.flags.extglob ? { ...WORD, pattern: true } : WORD;
  const parts = readRun(cursor, mode);
  if (cursor.at === start) throw unexpected(cursor);
  return { parts, text: cursor.source.slice(start, cursor.at), start, end: cursor.at };
}

/** Reads what stands on the right of `=~`: parentheses and bars belong to it. */
export function readRegex(cursor: Cursor): RawWord {
  const start = cursor.at;
  let open = 0;
  const ends = (at: Cursor): boolean => {
    const char = peek(at);
    if (char === "(") open++;
    if (char === ")" && open-- === 0) return true;
    return isAtEnd(at) || (open <= 0 && /[ \t\n]/.test(char));
  };
  const parts = readRun(cursor, {
    ...WORD,
    name: "regular expression",
    ends,
    plain: /[^ \t\n()<>\\'"$`]+/y,
  });
  return { parts, text: cursor.source.slice(start, cursor.at), start, end: cursor.at };
}

/** Reads a here-document's body, whose text is the cursor's whole source. */
export function readBody(cursor: Cursor): Part[] {
  return readRun(cursor, BODY);
}

/** Reads up to the `)` or `]` that closes the bracket before the cursor; the closer stays unread. */
export function readArithmetic(cursor: Cursor, closer: ")" | "]"): Part[] {
  cursor.flags.arithmetic = true;
  const opener = closer === ")" ? "(" : "[";
  let open = 0;
  const ends = (at: Cursor): boolean => {
    const char = peek(at);
    if (char === opener) open++;
    return char === closer && open-- === 0;
  };
  const plain = closer === ")" ? /[^\\'"$`()]+/y : /[^\\'"$`[\]]+/y;
  const parts = readRun(cursor, { ...QUOTED_OPERAND, name: opener, ends, plain, escapes: null });
  cursor.assigned.push(...assignedIn(parts));
  return parts;
}

/**
 * Reads `((…))` as arithmetic, cursor on the first parenthesis; null, and the cursor where it was, when it turns out to be
 * a subshell in a subshell. bash decides by whether the two closing parentheses touch.
 */
export function tryArithmetic(cursor: Cursor): Part[] | null {
  const { at, depth, pending } = cursor;
  if (cursor.arithmetic.get(at) === false) return null;
  const assigned = cursor.assigned.length;
  const parts = attempt(() => closedArithmetic(cursor));
  if (parts) return parts;
  // bash has read it once by then, and lost the quotes of these.
  if (cursor.flags.ansi) throw new ShellSyntaxError("(( that isn't arithmetic, with $' on the line");
  cursor.arithmetic.set(at, false);
  Object.assign(cursor, { at, depth, pending });
  cursor.assigned.length = assigned;
  return null;
}

function closedArithmetic(cursor: Cursor): Part[] | null {
  cursor.at += 2;
  const parts = nested(cursor, () => readArithmetic(cursor, ")"));
  if (!looksAt(cursor, "))")) return null;
  cursor.at += 2;
  return parts;
}

function readRun(cursor: Cursor, mode: Mode): Part[] {
  const parts: Part[] = [];
  while (!mode.ends(cursor)) {
    if (isAtEnd(cursor)) throw new ShellSyntaxError(`unterminated ${mode.name}`);
    cursor.flags.steps++;
    readPiece(cursor, mode, parts);
    if (mode.pattern && peek(cursor) === "(") readGroup(cursor, mode, parts);
  }
  return parts;
}

function readPiece(cursor: Cursor, mode: Mode, parts: Part[]): void {
  const char = peek(cursor);
  if (char === "\\") return readEscape(cursor, mode, parts);
  if (char === "'" && mode.single !== "none") return readSingle(cursor, mode, parts);
  if (char === '"' && mode.double) return readDouble(cursor, parts);
  if (char === "$") return readDollar(cursor, mode, parts);
  if (char === "`") return void parts.push(readBackticks(cursor, mode));
  if (mode.process && (char === "<" || char === ">") && peek(cursor, 1) === "(")
    return void parts.push(readCommands(cursor, mode));
  const run = matchAt(cursor, mode.plain) ?? char;
  cursor.at += run.length;
  addText(parts, run, mode.quoted);
}

function readEscape(cursor: Cursor, mode: Mode, parts: Part[]): void {
  const next = peek(cursor, 1);
  cursor.at += 2;
  if (next === "\n") return;
  if (next === "") {
    cursor.at--;
    return addText(parts, "\\", true);
  }
  const quotes = mode.escapes === null || mode.escapes.includes(next);
  addText(parts, quotes ? next : `\\${next}`, true);
}

function readSingle(cursor: Cursor, mode: Mode, parts: Part[]): void {
  if (mode.single === "balance") return readBalanced(cursor, mode, parts);
  const close = cursor.source.indexOf("'", cursor.at + 1);
  if (close < 0) throw new ShellSyntaxError("unterminated single quote");
  addLiteral(cursor, parts, cursor.source.slice(cursor.at + 1, close));
  cursor.at = close + 1;
}

/** Text the shell doesn't look into now; arithmetic may later, when it is a subscript. */
function addLiteral(cursor: Cursor, parts: Part[], value: string): void {
  if (HIDDEN_CODE.test(value)) cursor.flags.hidden = true;
  addText(parts, value, true);
}

function readBalanced(cursor: Cursor, mode: Mode, parts: Part[]): void {
  cursor.at++;
  addText(parts, "'", true);
  const ends = (at: Cursor): boolean => {
    // dash ends the expansion or the double quotes here, bash doesn't.
    if (/["}]/.test(peek(at))) throw new ShellSyntaxError("quotes that shells read differently");
    return peek(at) === "'";
  };
  parts.push(
    ...readRun(cursor, { ...mode, name: "single quote", ends, plain: /[^\\'"$`]+/y, single: "none", double: false }),
  );
  cursor.at++;
  addText(parts, "'", true);
}

function readDouble(cursor: Cursor, parts: Part[]): void {
  cursor.at++;
  const inner = nested(cursor, () => readRun(cursor, DOUBLE));
  cursor.at++;
  // An empty pair still makes an argument.
  if (inner.length === 0) addText(parts, "", true);
  for (const part of inner) {
    if (part.kind === "text") addLiteral(cursor, parts, part.value);
    else parts.push(part);
  }
}

function readDollar(cursor: Cursor, mode: Mode, parts: Part[]): void {
  const next = peek(cursor, 1);
  if (next === "(") return void parts.push(readParenthesis(cursor, mode));
  if (next === "{") return void parts.push(readBraces(cursor, mode));
  if (next === "[") return void parts.push(readBracket(cursor, mode));
  // bash decodes it and then expands the result once more.
  if (next === "'" && mode.quoted && mode.double) throw new ShellSyntaxError("$' inside an expansion");
  if (next === "'" && mode.single === "quote") return readAnsi(cursor, parts);
  // $"…" is translated text: without a catalogue, the text itself.
  if (next === '"' && mode.double) return void cursor.at++;
  // bash joins the lines first, so that an expansion would start here which isn't seen as one.
  if (next === "\\" && peek(cursor, 2) === "\n") throw new ShellSyntaxError("line continuation after $");
  const name = matchAt({ ...cursor, at: cursor.at + 1 }, VARIABLE);
  if (name === null) {
    cursor.at++;
    return addText(parts, "$", mode.quoted);
  }
  parts.push(readPlainVariable(cursor, mode, name));
}

const VARIABLE = /[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]/y;

function readPlainVariable(cursor: Cursor, mode: Mode, name: string): Part {
  cursor.at += 1 + name.length;
  if (looksAt(cursor, "\\\n") && /^\w/.test(name) && /\w/.test(peek(cursor, 2)))
    throw new ShellSyntaxError("line continuation in a variable's name");
  return { kind: "variable", source: `$${name}`, quoted: mode.quoted, name, operator: "", operand: [] };
}

function readAnsi(cursor: Cursor, parts: Part[]): void {
  const body = matchAt({ ...cursor, at: cursor.at + 2 }, /[^\\']*(?:\\[\s\S][^\\']*)*'/y);
  if (body === null) throw new ShellSyntaxError("unterminated $'");
  cursor.flags.bashOnly = true;
  addLiteral(cursor, parts, decodeAnsi(body.slice(0, -1)));
  cursor.at += 2 + body.length;
}

function readParenthesis(cursor: Cursor, mode: Mode): Part {
  const start = cursor.at++;
  const arithmetic = looksAt(cursor, "((") ? tryArithmetic(cursor) : null;
  if (!arithmetic) {
    cursor.at = start;
    return readCommands(cursor, mode);
  }
  return { kind: "arithmetic", source: cursor.source.slice(start, cursor.at), quoted: mode.quoted, parts: arithmetic };
}

function readBracket(cursor: Cursor, mode: Mode): Part {
  const start = cursor.at;
  cursor.at += 2;
  const parts = nested(cursor, () => readArithmetic(cursor, "]"));
  cursor.at++;
  return { kind: "arithmetic", source: cursor.source.slice(start, cursor.at), quoted: mode.quoted, parts };
}

function readCommands(cursor: Cursor, mode: Mode): Part {
  const start = cursor.at;
  const opener = peek(cursor);
  // A body that is still to come starts after the newline behind the substitution, not at one inside.
  const { pending } = cursor;
  cursor.pending = [];
  cursor.at += 2;
  const script = nested(cursor, () => subshell(cursor, () => cursor.parseScript(cursor, [")"])));
  if (peek(cursor) !== ")") throw unexpected(cursor);
  // bash itself only warns, and then reads the body from somewhere else.
  if (cursor.pending.length > 0) throw new ShellSyntaxError("here-document without a body in a substitution");
  cursor.at++;
  cursor.pending = pending;
  const flow = opener === "$" ? "output" : opener === "<" ? "input" : "sink";
  return { kind: "commands", source: cursor.source.slice(start, cursor.at), quoted: mode.quoted, script, flow };
}

function readBackticks(cursor: Cursor, mode: Mode): Part {
  const start = cursor.at;
  const raw = matchAt({ ...cursor, at: start + 1 }, /[^\\`]*(?:\\[\s\S][^\\`]*)*`/y);
  if (raw === null) throw new ShellSyntaxError("unterminated backtick");
  cursor.at += 1 + raw.length;
  const inner = cursorFor(unescapeBackticks(raw.slice(0, -1), mode.escapes?.includes('"') === true), cursor);
  const script = nested(inner, () => subshell(inner, () => inner.parseScript(inner, [])));
  if (!isAtEnd(inner)) throw unexpected(inner);
  return {
    kind: "commands",
    source: cursor.source.slice(start, cursor.at),
    quoted: mode.quoted,
    script,
    flow: "output",
  };
}

function readBraces(cursor: Cursor, mode: Mode): Part {
  return nested(cursor, () => {
    const start = cursor.at;
    const header = readHeader(cursor);
    const literal = mode.quoted && /^:?[-=?+]$/.test(header.operator);
    const operand = readRun(cursor, mode.quoted ? (literal ? QUOTED_OPERAND : QUOTED_PATTERN) : OPERAND);
    cursor.at++;
    if (header.operator.endsWith("=")) cursor.assigned.push(header.name);
    const source = cursor.source.slice(start, cursor.at);
    const operator = followedOperator(header, operand);
    return {
      kind: "variable",
      source,
      quoted: mode.quoted,
      name: header.name,
      operator,
      operand: [...header.parts, ...operand],
    };
  });
}

const FOLLOWED = new Set(["", ":-", "-", ":=", "=", ":+", "+"]);

function followedOperator({ operator, opening, parts }: Header, operand: readonly Part[]): string {
  if (opening !== "${" || (operator === "" && operand.length > 0)) return "?";
  if (parts.length > 0) return operator === "" ? "[]" : "?";
  return FOLLOWED.has(operator) ? operator : "?";
}

interface Header {
  /** `${`, or with the `#` of a length or the `!` of an indirection. */
  opening: string;
  name: string;
  operator: string;
  /** The subscript. */
  parts: Part[];
}

function readHeader(cursor: Cursor): Header {
  // ${ command; } and ${|command; } run commands in newer shells and fail in older ones.
  const opening = matchAt(cursor, /\$\{(?![ \t\n|])(?:[#!](?=[\w@*]))?/y);
  if (opening === null) throw new ShellSyntaxError("${ followed by a blank");
  cursor.at += opening.length;
  const name = matchAt(cursor, /[A-Za-z_]\w*|[0-9]+|[@*]/y) ?? "";
  cursor.at += name.length;
  const parts = peek(cursor) === "[" && name !== "" ? readSubscript(cursor) : [];
  // bash would have ended the expansion there.
  if (parts.some((part) => part.kind === "text" && part.value.includes("}")))
    throw new ShellSyntaxError("} in a subscript");
  const operator = (name === "" ? null : matchAt(cursor, /:?[-=?+]|@[A-Za-z]|[#%/^,]+|:/y)) ?? "";
  cursor.at += operator.length;
  if (/^@?\\\n/.test(cursor.source.slice(cursor.at, cursor.at + 3)))
    throw new ShellSyntaxError("line continuation in ${");
  if (operator === "@P") cursor.flags.runsCode = true;
  if (operator === ":") cursor.flags.arithmetic = true;
  return { opening, name, operator, parts };
}

/** Reads `[…]` after a name; the cursor stands on the bracket. */
export function readSubscript(cursor: Cursor): Part[] {
  cursor.at++;
  const before = cursor.flags.arithmetic;
  const parts = nested(cursor, () => readArithmetic(cursor, "]"));
  if (/^(@|\*|\d+)$/.test(shapeOf(parts))) cursor.flags.arithmetic = before;
  cursor.at++;
  return parts;
}

/** `@(a|b)`: text of the pattern, with whatever it expands. */
function readGroup(cursor: Cursor, mode: Mode, parts: Part[]): void {
  const last = parts.at(-1);
  if (last?.kind !== "text" || last.quoted || !/[?*+@!]$/.test(last.value)) return;
  cursor.at++;
  addText(parts, "(", false);
  const ends = (at: Cursor): boolean => peek(at) === ")";
  const inner = nested(cursor, () => readRun(cursor, { ...mode, name: "(", ends, plain: /[^()\\'"$`?*+@!<>]+/y }));
  for (const part of inner) part.kind === "text" ? addText(parts, part.value, part.quoted) : parts.push(part);
  cursor.at++;
  addText(parts, ")", false);
}
