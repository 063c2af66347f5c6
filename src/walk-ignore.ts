/** Rules of one ignore file, judged as git judges them. Reads nothing: text in, verdicts out. */
import { compileGlob } from "./glob-match.ts";

interface Rule {
  negated: boolean;
  directoriesOnly: boolean;
  matches(path: string, name: string): boolean;
}

export interface IgnoreRules {
  /**
   * True: ignored; false: taken back by a `!` rule; null: no rule speaks of it.
   * `path` is relative to the ignore file's directory and, like the rules, one character per byte (see `toBytes`).
   */
  verdict(path: string, isDirectory: boolean): boolean | null;
}

const NOT_ASCII = /[^\0-\x7f]/;

/** git matches bytes, so `?` is one byte of a character that takes several. */
export function toBytes(text: string): string {
  return NOT_ASCII.test(text) ? Buffer.from(text, "utf8").toString("latin1") : text;
}

/** Parses an ignore file, given as one character per byte. Null when it holds no rule. Never throws. */
export function parseIgnore(text: string, ignoreCase: boolean): IgnoreRules | null {
  const lines = text.replace(/^\xef\xbb\xbf/, "").split("\n");
  const rules = lines.map((line) => parseRule(line.replace(/\r$/, ""), ignoreCase)).filter((rule) => rule !== null);
  return rules.length === 0 ? null : { verdict: (path, isDirectory) => lastMatch(rules, path, isDirectory) };
}

/** gitignore(5): within one level of precedence, the last matching pattern decides the outcome. */
function lastMatch(rules: readonly Rule[], path: string, isDirectory: boolean): boolean | null {
  const name = path.slice(path.lastIndexOf("/") + 1);
  for (let index = rules.length - 1; index >= 0; index--) {
    const rule = rules[index];
    if (rule && (isDirectory || !rule.directoriesOnly) && rule.matches(path, name)) return !rule.negated;
  }
  return null;
}

function parseRule(line: string, ignoreCase: boolean): Rule | null {
  if (line === "" || line.startsWith("#")) return null;
  const trimmed = trimSpaces(line);
  const negated = trimmed.startsWith("!");
  const body = negated ? trimmed.slice(1) : trimmed;
  const directoriesOnly = body.endsWith("/");
  const pattern = directoriesOnly ? body.slice(0, -1) : body;
  if (pattern === "") return null;
  return { negated, directoriesOnly, matches: matcherOf(pattern, ignoreCase) };
}

/** Trailing spaces go unless a backslash quotes them; tabs stay. */
function trimSpaces(line: string): string {
  let end = 0;
  for (let at = 0; at < line.length; at++) {
    if (line[at] === "\\") at++;
    else if (line[at] === " ") continue;
    end = Math.min(at + 1, line.length);
  }
  return line.slice(0, end);
}

function matcherOf(pattern: string, ignoreCase: boolean): Rule["matches"] {
  // gitignore(5): a separator at the beginning or middle ties the pattern to the directory of its file.
  if (pattern.includes("/")) {
    const glob = compileGlob(pattern.replace(/^\//, ""), {
      braces: false,
      openBracket: "never",
      ignoreCase,
      pathname: true,
    });
    return (path) => glob.matches(path);
  }
  if (!ignoreCase && !/[*?[\\]/.test(pattern)) return (_, name) => name === pattern;
  const ending = pattern.slice(1);
  if (!ignoreCase && pattern.startsWith("*") && !/[*?[\\]/.test(ending)) return (_, name) => name.endsWith(ending);
  const glob = compileGlob(pattern, { braces: false, openBracket: "never", ignoreCase, pathname: false });
  return (_, name) => glob.matches(name);
}
