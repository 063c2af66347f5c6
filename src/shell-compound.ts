/** Compound commands: `if`, `for`, `case`, groups, functions, `[[`, `((`. Lists and simple commands are shell-parse.ts's, handed in. */
import { readArithmetic, readRegex, readWord, tryArithmetic } from "./shell-lex.ts";
import {
  assignedSince,
  looksAt,
  matchAt,
  nested,
  peek,
  shapeOf,
  subshell,
  unexpected,
  type Cursor,
  type Node,
  type RawRedirect,
  type RawWord,
  type Script,
  type Shape,
} from "./shell-tree.ts";

/** What compound commands need of the rest of the grammar. */
export interface Grammar {
  parseScript: (cursor: Cursor, closers: readonly string[]) => Script;
  parseNode: (cursor: Cursor) => Node;
  parseRedirects: (cursor: Cursor) => RawRedirect[];
  skipBlanks: (cursor: Cursor) => void;
  skipNewlines: (cursor: Cursor) => void;
}

type Parse = (cursor: Cursor, grammar: Grammar) => Shape;

const OPENERS: Record<string, Parse> = {
  "{": parseGroup,
  if: parseIf,
  while: parseWhile,
  until: parseWhile,
  for: parseFor,
  select: parseFor,
  case: parseCase,
  function: parseFunction,
  "[[": parseTest,
  coproc: parseCoproc,
};

/** Reserved words that open a compound command. */
export const COMPOUND_WORDS: ReadonlySet<string> = new Set(Object.keys(OPENERS));

const OTHERS = ["then", "elif", "else", "fi", "do", "done", "esac", "}", "!", "time", "in"];
/** Every word that means something else where a command may start. */
export const RESERVED: ReadonlySet<string> = new Set([...COMPOUND_WORDS, ...OTHERS]);
const MISPLACED: ReadonlySet<string> = new Set(["then", "elif", "else", "fi", "do", "done", "esac", "}"]);

/** The reserved word at the cursor; only meaningful where a command may start. */
export function reservedAt(cursor: Cursor): string | null {
  const word = matchAt(cursor, /(?:[a-z]+|[{}!]|\[\[)(?=(?:\\\n)*(?:[ \t\n|&;()<>]|$))/y);
  return word !== null && RESERVED.has(word) ? word : null;
}

/** The compound command at the cursor; null when a simple command stands there. */
export function parseCompound(cursor: Cursor, grammar: Grammar): Shape | null {
  if (peek(cursor) === "(") return nested(cursor, () => parseParenthesis(cursor, grammar));
  const word = reservedAt(cursor);
  if (word === null) return null;
  if (MISPLACED.has(word)) throw unexpected(cursor);
  const parse = Object.hasOwn(OPENERS, word) ? OPENERS[word] : undefined;
  if (!parse) return null;
  return nested(cursor, () => parse(cursor, grammar));
}

function parseParenthesis(cursor: Cursor, grammar: Grammar): Shape {
  const start = cursor.at;
  const parts = looksAt(cursor, "((") ? tryArithmetic(cursor) : null;
  if (parts) {
    cursor.flags.bashOnly = true;
    const text = cursor.source.slice(start, cursor.at);
    return { kind: "test", words: [{ parts, text, start, end: cursor.at }], arithmetic: true };
  }
  cursor.at++;
  const body = subshell(cursor, () => parseBody(cursor, grammar, [")"]));
  expect(cursor, ")");
  return { kind: "group", subshell: true, body };
}

function parseGroup(cursor: Cursor, grammar: Grammar): Shape {
  cursor.at++;
  const body = parseBody(cursor, grammar, ["}"]);
  expect(cursor, "}");
  return { kind: "group", subshell: false, body };
}

/** A list that mustn't be empty. */
function parseBody(cursor: Cursor, { parseScript }: Grammar, closers: readonly string[]): Script {
  const script = parseScript(cursor, closers);
  if (script.items.length === 0) throw unexpected(cursor);
  return script;
}

function expect(cursor: Cursor, word: string): void {
  if (word === ")" ? peek(cursor) !== ")" : reservedAt(cursor) !== word) throw unexpected(cursor);
  cursor.at += word.length;
}

function parseIf(cursor: Cursor, grammar: Grammar): Shape {
  const branches: { test: Script | null; body: Script }[] = [];
  for (let word = "if"; word !== "fi"; word = reservedAt(cursor) ?? "") {
    expect(cursor, word);
    const test = word === "else" ? null : parseBody(cursor, grammar, ["then"]);
    if (test) expect(cursor, "then");
    branches.push({ test, body: parseBody(cursor, grammar, word === "else" ? ["fi"] : ["elif", "else", "fi"]) });
    if (reservedAt(cursor) === null) throw unexpected(cursor);
  }
  expect(cursor, "fi");
  return { kind: "if", branches };
}

function parseWhile(cursor: Cursor, grammar: Grammar): Shape {
  const from = cursor.assigned.length;
  cursor.at += 5;
  const test = parseBody(cursor, grammar, ["do"]);
  const body = parseDo(cursor, grammar);
  return { kind: "while", test, body, assigns: assignedSince(cursor, from) };
}

function parseDo(cursor: Cursor, grammar: Grammar): Script {
  const closer = reservedAt(cursor) === "{" ? "}" : "done";
  expect(cursor, closer === "}" ? "{" : "do");
  const body = parseBody(cursor, grammar, [closer]);
  expect(cursor, closer);
  return body;
}

function parseFor(cursor: Cursor, grammar: Grammar): Shape {
  const from = cursor.assigned.length;
  cursor.at += reservedAt(cursor)?.length ?? 0;
  grammar.skipBlanks(cursor);
  if (looksAt(cursor, "((")) return parseCount(cursor, grammar, from);
  const name = matchAt(cursor, /[A-Za-z_]\w*(?=[ \t\n;]|\\\n|$)/y);
  if (name === null) throw unexpected(cursor);
  cursor.at += name.length;
  cursor.assigned.push(name);
  const words = parseForWords(cursor, grammar);
  const body = parseDo(cursor, grammar);
  return { kind: "for", name, words, body, assigns: assignedSince(cursor, from) };
}

function parseForWords(cursor: Cursor, grammar: Grammar): RawWord[] | null {
  grammar.skipNewlines(cursor);
  if (reservedAt(cursor) !== "in") {
    if (peek(cursor) === ";") cursor.at++;
    grammar.skipNewlines(cursor);
    return null;
  }
  cursor.at += 2;
  const words: RawWord[] = [];
  for (grammar.skipBlanks(cursor); !/^[;\n]?$/.test(peek(cursor)); grammar.skipBlanks(cursor))
    words.push(readWord(cursor));
  if (peek(cursor) === ";") cursor.at++;
  grammar.skipNewlines(cursor);
  return words;
}

function parseCount(cursor: Cursor, grammar: Grammar, from: number): Shape {
  cursor.flags.bashOnly = true;
  cursor.at += 2;
  const parts = readArithmetic(cursor, ")");
  if (!looksAt(cursor, "))")) throw unexpected(cursor);
  cursor.at += 2;
  grammar.skipBlanks(cursor);
  if (peek(cursor) === ";") cursor.at++;
  grammar.skipNewlines(cursor);
  const body = parseDo(cursor, grammar);
  return { kind: "count", parts, body, assigns: assignedSince(cursor, from) };
}

function parseCase(cursor: Cursor, grammar: Grammar): Shape {
  cursor.at += 4;
  grammar.skipBlanks(cursor);
  const subject = readWord(cursor);
  grammar.skipNewlines(cursor);
  expect(cursor, "in");
  const clauses: { patterns: RawWord[]; body: Script }[] = [];
  grammar.skipNewlines(cursor);
  while (reservedAt(cursor) !== "esac") clauses.push(parseClause(cursor, grammar));
  expect(cursor, "esac");
  return { kind: "case", subject, clauses };
}

function parseClause(cursor: Cursor, grammar: Grammar): { patterns: RawWord[]; body: Script } {
  if (peek(cursor) === "(") cursor.at++;
  const patterns: RawWord[] = [];
  do {
    if (patterns.length > 0) cursor.at++;
    grammar.skipBlanks(cursor);
    patterns.push(readWord(cursor));
    grammar.skipBlanks(cursor);
  } while (peek(cursor) === "|");
  expect(cursor, ")");
  const body = grammar.parseScript(cursor, ["esac"]);
  const operator = matchAt(cursor, /;;&|;;|;&/y);
  if (operator === null && reservedAt(cursor) !== "esac") throw unexpected(cursor);
  cursor.at += operator?.length ?? 0;
  grammar.skipNewlines(cursor);
  return { patterns, body };
}

function parseFunction(cursor: Cursor, grammar: Grammar): Shape {
  cursor.at += "function".length;
  grammar.skipBlanks(cursor);
  const name = shapeOf(readWord(cursor).parts);
  cursor.at += matchAt(cursor, /[ \t]*\([ \t]*\)/y)?.length ?? 0;
  grammar.skipNewlines(cursor);
  const from = cursor.assigned.length;
  const body = grammar.parseNode(cursor);
  return { kind: "function", name, body, assigns: assignedSince(cursor, from) };
}

function parseCoproc(cursor: Cursor, grammar: Grammar): Shape {
  cursor.at += "coproc".length;
  grammar.skipBlanks(cursor);
  const name = matchAt(cursor, /[A-Za-z_]\w*[ \t]+(?=[{(]|(?:if|while|until|for|select|case)[ \t\n]|\[\[)/y);
  if (name !== null && reservedAt(cursor) === null) cursor.at += name.length;
  return { kind: "coproc", body: subshell(cursor, () => grammar.parseNode(cursor)) };
}

/** `[[ … ]]`: its operators are skipped, its words kept for what they expand. */
function parseTest(cursor: Cursor, grammar: Grammar): Shape {
  cursor.flags.bashOnly = true;
  cursor.at += 2;
  const words: RawWord[] = [];
  for (grammar.skipNewlines(cursor); !closesTest(cursor); grammar.skipNewlines(cursor)) {
    const operator = matchAt(cursor, /&&|\|\||[()<>](?!\()|[()]|!(?=[ \t\n(])/y);
    if (operator !== null) cursor.at += operator.length;
    else words.push(words.at(-1)?.text === "=~" ? readRegex(cursor) : readWord(cursor, true));
  }
  cursor.at += 2;
  if (words.some((word) => /^-(eq|ne|lt|le|gt|ge|v)$/.test(word.text))) cursor.flags.arithmetic = true;
  return { kind: "test", words, arithmetic: false };
}

function closesTest(cursor: Cursor): boolean {
  if (peek(cursor) === "") throw unexpected(cursor);
  return matchAt(cursor, /\]\](?=[ \t\n|&;()<>]|$)/y) !== null;
}
