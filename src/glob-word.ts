/** File names an unquoted shell word may become: bounded expansion against the disk. For judging only; glob.ts is the search tool's. */
import { readdirSync } from "node:fs";
import { join } from "node:path";

type Token =
  | { kind: "star" }
  | { kind: "any" }
  | { kind: "char"; char: string }
  | { kind: "class"; negated: boolean; ranges: [string, string][] };

export interface GlobLimits {
  /** Directory entries looked at before giving up on the rest. */
  maxEntries: number;
  /** A leading dot is matched by wildcards too (`shopt -s dotglob`). */
  dots: boolean;
}

/** Absolute paths that match, and how many entries were looked at. `pattern` as the shell has it: quoted wildcards escaped by a backslash. */
export function expandGlob(pattern: string, cwd: string, limits: GlobLimits): { paths: string[]; looked: number } {
  const budget = { left: limits.maxEntries };
  let found = [pattern.startsWith("/") ? "/" : cwd];
  for (const part of pattern.split("/").filter((piece) => piece !== "")) {
    const tokens = tokensOf(part);
    const literal = literalOf(tokens);
    if (literal !== null) found = found.map((directory) => join(directory, literal));
    else found = found.flatMap((directory) => matchingEntries(directory, tokens, limits, budget));
  }
  return { paths: found, looked: limits.maxEntries - budget.left + 1 };
}

/** Whether a name matches one pattern without slashes. Linear in practice: no regular expression. */
export function matchesGlobPart(part: string, name: string): boolean {
  return matchesTokens(tokensOf(part), [...name]);
}

function matchingEntries(
  directory: string,
  tokens: readonly Token[],
  limits: GlobLimits,
  budget: { left: number },
): string[] {
  if (budget.left <= 0) return [];
  const names = namesIn(directory).slice(0, budget.left);
  budget.left -= names.length;
  const first = tokens[0];
  const wantsDot = limits.dots || (first?.kind === "char" && first.char === ".");
  return names
    .filter((name) => (wantsDot || !name.startsWith(".")) && matchesTokens(tokens, [...name]))
    .map((name) => join(directory, name));
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    // Not a directory, or not ours to read: the shell finds nothing there either.
    return [];
  }
}

function matchesTokens(tokens: readonly Token[], chars: readonly string[]): boolean {
  let token = 0;
  let at = 0;
  let star = -1;
  let mark = 0;
  while (at < chars.length) {
    const current = tokens[token];
    if (current?.kind === "star") {
      star = token++;
      mark = at;
    } else if (current && matchesChar(current, chars[at] ?? "")) {
      token++;
      at++;
    } else if (star >= 0) {
      token = star + 1;
      at = ++mark;
    } else return false;
  }
  while (tokens[token]?.kind === "star") token++;
  return token === tokens.length;
}

function matchesChar(token: Token, char: string): boolean {
  switch (token.kind) {
    case "star":
    case "any":
      return true;
    case "char":
      return token.char === char;
    case "class":
      return token.ranges.some(([low, high]) => low <= char && char <= high) !== token.negated;
    default:
      return token satisfies never;
  }
}

function literalOf(tokens: readonly Token[]): string | null {
  let text = "";
  for (const token of tokens) {
    if (token.kind !== "char") return null;
    text += token.char;
  }
  return text;
}

function tokensOf(part: string): Token[] {
  const chars = [...part];
  const tokens: Token[] = [];
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at] ?? "";
    const bracket = char === "[" ? readClass(chars, at) : null;
    if (char === "\\" && at + 1 < chars.length) tokens.push({ kind: "char", char: chars[++at] ?? "" });
    else if (char === "*") tokens.push({ kind: "star" });
    else if (char === "?") tokens.push({ kind: "any" });
    else if (bracket) {
      tokens.push(bracket.token);
      at = bracket.end;
    } else tokens.push({ kind: "char", char });
  }
  return tokens;
}

// [:alpha:] and its like stand for any character here: a wider match errs towards a question.
function readClass(chars: readonly string[], open: number): { token: Token; end: number } | null {
  const negated = chars[open + 1] === "!" || chars[open + 1] === "^";
  const from = open + (negated ? 2 : 1);
  const ranges: [string, string][] = [];
  for (let at = from; at < chars.length; at++) {
    const char = chars[at] ?? "";
    if (char === "]" && at > from) return { token: { kind: "class", negated, ranges }, end: at };
    if (char === "[" && ":.=".includes(chars[at + 1] ?? " ")) return skipNamedClass(chars, at);
    const high = chars[at + 1] === "-" && chars[at + 2] !== "]" ? chars[at + 2] : undefined;
    ranges.push([char, high ?? char]);
    if (high !== undefined) at += 2;
  }
  return null;
}

function skipNamedClass(chars: readonly string[], at: number): { token: Token; end: number } | null {
  const inner = chars.indexOf("]", at + 2);
  const end = inner === -1 ? -1 : chars.indexOf("]", inner + 1);
  return end === -1 ? null : { token: { kind: "any" }, end };
}
