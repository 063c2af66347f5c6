/** Bracket expressions of globs, read as git's wildmatch reads them, and letter case. Part of glob-match.ts. */

/** Whether a code point fits. */
export type Test = (code: number) => boolean;

export interface ClassSyntax {
  ignoreCase: boolean;
  /** A class never matches a slash. */
  pathname: boolean;
}

const SLASH = 47;

const POSIX: Readonly<Record<string, RegExp>> = {
  alnum: /[A-Za-z0-9]/,
  alpha: /[A-Za-z]/,
  blank: /[ \t]/,
  cntrl: /[\x00-\x1f\x7f]/,
  digit: /[0-9]/,
  graph: /[!-~]/,
  lower: /[a-z]/,
  print: /[ -~]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /[\t-\r ]/,
  upper: /[A-Z]/,
  xdigit: /[A-Fa-f0-9]/,
};

/**
 * A bracket expression that begins at `start`, read as git's wildmatch reads it: `]` first is a member, a backslash
 * escapes, `!` or `^` negates. Null when it has no end or names an unknown class.
 */
export function parseClass(pattern: string, start: number, syntax: ClassSyntax): { test: Test; end: number } | null {
  // Without this a run of brackets would be read to the end once for each of them.
  if (pattern.indexOf("]", start + 2) < 0) return null;
  const tests: Test[] = [];
  let at = start + 1;
  const negated = pattern[at] === "!" || pattern[at] === "^";
  if (negated) at++;
  let previous: number | null = null;
  for (let first = true; first || pattern[at] !== "]"; first = false) {
    const member = classMember(pattern, at, previous);
    if (!member) return null;
    tests.push(member.test);
    previous = member.last;
    at = member.end;
  }
  const has = (code: number) => tests.some((test) => test(code));
  const hasFolded = (code: number) => has(code) || has(fold(code)) || has(upper(code));
  const hit = syntax.ignoreCase ? hasFolded : has;
  return { test: (code) => hit(code) !== negated && !(syntax.pathname && code === SLASH), end: at + 1 };
}

function upper(code: number): number {
  return String.fromCodePoint(code).toUpperCase().codePointAt(0) ?? code;
}

interface Member {
  test: Test;
  end: number;
  /** What a following `-` would start a range from. */
  last: number | null;
}

function classMember(pattern: string, at: number, previous: number | null): Member | null {
  const char = pattern.codePointAt(at);
  if (char === undefined) return null;
  if (char === 45 && previous !== null && pattern[at + 1] !== undefined && pattern[at + 1] !== "]")
    return range(pattern, at + 1, previous);
  if (pattern.startsWith("[:", at)) return posixMember(pattern, at);
  const single = classChar(pattern, at);
  return single && { test: (code) => code === single.code, end: single.end, last: single.code };
}

function range(pattern: string, at: number, from: number): Member | null {
  const to = classChar(pattern, at);
  return to && { test: (code) => code >= from && code <= to.code, end: to.end, last: null };
}

function posixMember(pattern: string, at: number): Member | null {
  const close = pattern.indexOf("]", at + 2);
  if (close < 0) return null;
  // Without ":]" it is an ordinary "[" among the members.
  if (close < at + 3 || pattern[close - 1] !== ":") return { test: (code) => code === 91, end: at + 1, last: 91 };
  const name = POSIX[pattern.slice(at + 2, close - 1)];
  return name ? { test: (code) => name.test(String.fromCodePoint(code)), end: close + 1, last: null } : null;
}

function classChar(pattern: string, at: number): { code: number; end: number } | null {
  const from = pattern[at] === "\\" ? at + 1 : at;
  const code = pattern.codePointAt(from);
  return code === undefined ? null : { code, end: from + (code > 0xffff ? 2 : 1) };
}

/** Fits a character in either case. */
export function foldedTest(code: number): Test {
  const folded = fold(code);
  return (other) => fold(other) === folded;
}

function fold(code: number): number {
  return String.fromCodePoint(code).toLowerCase().codePointAt(0) ?? code;
}
