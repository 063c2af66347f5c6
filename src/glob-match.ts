/** Compiles a glob to a small automaton and runs it in time linear in text × pattern, so no ignore file or model can stall us. Knows no paths on disk. */
import { foldedTest, parseClass, type Test } from "./glob-match-class.ts";

export interface GlobSyntax {
  /** `{a,b}` means alternatives. */
  braces: boolean;
  /** What an unclosed `[` means: git lets such a pattern match nothing, for a person's glob it is a plain character. */
  openBracket: "never" | "literal";
  ignoreCase: boolean;
  /** False: `*` and `?` cross slashes (patterns that only ever see one name). */
  pathname: boolean;
}

type Op =
  | { kind: "test"; test: Test; char: string | null }
  | { kind: "split"; a: number; b: number }
  | { kind: "jump"; to: number }
  | { kind: "match" }
  | { kind: "never" };

const SLASH = 47;

export class Glob {
  readonly #ops: Op[];
  readonly #prefix: string;
  readonly #suffix: string;
  readonly #seen: Uint32Array;
  #mark = 0;

  constructor(ops: Op[], ignoreCase: boolean) {
    this.#ops = ops;
    this.#seen = new Uint32Array(ops.length);
    this.#prefix = ignoreCase ? "" : literalRun(ops);
    this.#suffix = ignoreCase ? "" : literalEnd(ops);
  }

  matches(text: string): boolean {
    if (!text.startsWith(this.#prefix) || !text.endsWith(this.#suffix)) return false;
    let current: number[] = [];
    this.#nextMark();
    this.#add(current, 0);
    for (let at = 0; at < text.length && current.length > 0;) {
      const code = text.codePointAt(at) ?? 0;
      at += code > 0xffff ? 2 : 1;
      current = this.#step(current, code);
    }
    return current.some((index) => this.#ops[index]?.kind === "match");
  }

  #step(current: readonly number[], code: number): number[] {
    const next: number[] = [];
    this.#nextMark();
    for (const index of current) {
      const op = this.#ops[index];
      if (op?.kind === "test" && op.test(code)) this.#add(next, index + 1);
    }
    return next;
  }

  #nextMark(): void {
    if (this.#mark === 0xffffffff) {
      this.#seen.fill(0);
      this.#mark = 0;
    }
    this.#mark++;
  }

  #add(list: number[], start: number): void {
    const open = [start];
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      if (this.#seen[index] === this.#mark) continue;
      this.#seen[index] = this.#mark;
      const op = this.#ops[index];
      if (op?.kind === "split") open.push(op.b, op.a);
      else if (op?.kind === "jump") open.push(op.to);
      else list.push(index);
    }
  }
}

function literalRun(ops: readonly Op[]): string {
  let run = "";
  for (const op of ops) {
    if (op.kind !== "test" || op.char === null) break;
    run += op.char;
  }
  return run;
}

/** The characters every match ends with: those behind the last op that is no character and the last jump's target. */
function literalEnd(ops: readonly Op[]): string {
  let from = 0;
  for (const [index, op] of ops.entries()) {
    if (op.kind === "never") return "";
    if (op.kind === "split") from = Math.max(from, op.a, op.b);
    if (op.kind === "jump") from = Math.max(from, op.to);
    if (op.kind === "test" && op.char === null) from = Math.max(from, index + 1);
  }
  return literalRun(ops.slice(from));
}

/** Compiles a pattern. Never throws: what is malformed matches nothing or itself, as the syntax says. */
export function compileGlob(pattern: string, syntax: GlobSyntax): Glob {
  return new Glob(new Compiler(pattern, syntax).compile(), syntax.ignoreCase);
}

class Compiler {
  readonly #pattern: string;
  readonly #syntax: GlobSyntax;
  readonly #ops: Op[] = [];
  readonly #braceEnds: Map<number, number>;
  #at = 0;
  /** Up to here the pattern is literal; git compares that part first and starts its matcher behind it. */
  readonly #literalEnd: number;

  constructor(pattern: string, syntax: GlobSyntax) {
    this.#pattern = pattern;
    this.#syntax = syntax;
    this.#literalEnd = syntax.braces ? -1 : pattern.search(/[*?[\\]|$/);
    this.#braceEnds = syntax.braces ? matchBraces(pattern) : new Map();
  }

  compile(): Op[] {
    this.#sequence(this.#pattern.length, false);
    this.#ops.push({ kind: "match" });
    return this.#ops;
  }

  #sequence(end: number, inBraces: boolean): void {
    while (this.#at < end) {
      if (inBraces && this.#pattern[this.#at] === ",") return;
      this.#one(end);
    }
  }

  #one(end: number): void {
    const char = String.fromCodePoint(this.#pattern.codePointAt(this.#at) ?? 0);
    if (char === "*") return this.#stars(end);
    if (char === "?") return this.#simple(this.#syntax.pathname ? notSlash : always, 1);
    if (char === "[") return this.#class();
    if (char === "\\") return this.#escape();
    const close = char === "{" ? this.#braceEnds.get(this.#at) : undefined;
    if (close !== undefined) return this.#braces(close);
    this.#literal(char, char.length);
  }

  #simple(test: Test, length: number): void {
    this.#ops.push({ kind: "test", test, char: null });
    this.#at += length;
  }

  #literal(char: string, length: number): void {
    const code = char.codePointAt(0) ?? 0;
    this.#ops.push(
      this.#syntax.ignoreCase
        ? { kind: "test", test: foldedTest(code), char: null }
        : { kind: "test", test: (c) => c === code, char },
    );
    this.#at += length;
  }

  #escape(): void {
    const code = this.#pattern.codePointAt(this.#at + 1);
    // wildmatch: a backslash at the end has nothing to escape, and the pattern matches nothing.
    if (code === undefined) {
      this.#ops.push({ kind: "never" });
      this.#at++;
      return;
    }
    const char = String.fromCodePoint(code);
    this.#literal(char, char.length + 1);
  }

  #stars(end: number): void {
    const start = this.#at;
    while (this.#at < end && this.#pattern[this.#at] === "*") this.#at++;
    const isDouble = this.#at - start > 1;
    if (!this.#syntax.pathname) return this.#loop(always);
    if (!isDouble || !this.#startsComponent(start)) return this.#loop(notSlash);
    const next = this.#pattern[this.#at];
    if (this.#at === this.#pattern.length) return this.#loop(always);
    if (next === "/") return this.#directories();
    if (next === "\\" && this.#pattern[this.#at + 1] === "/") return this.#loop(always);
    if (this.#syntax.braces && (next === "," || next === "}")) return this.#loop(always);
    this.#loop(notSlash);
  }

  #startsComponent(start: number): boolean {
    const before = this.#pattern[start - 1];
    if (start === 0 || before === "/" || start === this.#literalEnd) return true;
    return this.#syntax.braces && (before === "{" || before === ",");
  }

  // Two stars and a slash: nothing at all, or anything that ends in a slash.
  #directories(): void {
    this.#at++;
    const split: Op & { kind: "split" } = { kind: "split", a: this.#ops.length + 1, b: 0 };
    this.#ops.push(split);
    this.#loop(always);
    this.#ops.push({ kind: "test", test: (code) => code === SLASH, char: null });
    split.b = this.#ops.length;
  }

  #loop(test: Test): void {
    const start = this.#ops.length;
    this.#ops.push(
      { kind: "split", a: start + 1, b: start + 3 },
      { kind: "test", test, char: null },
      { kind: "jump", to: start },
    );
  }

  #braces(close: number): void {
    const jumps: (Op & { kind: "jump" })[] = [];
    for (;;) {
      this.#at++;
      const split: Op & { kind: "split" } = { kind: "split", a: this.#ops.length + 1, b: -1 };
      this.#ops.push(split);
      this.#sequence(close, true);
      const jump: Op & { kind: "jump" } = { kind: "jump", to: -1 };
      this.#ops.push(jump);
      jumps.push(jump);
      split.b = this.#ops.length;
      if (this.#at >= close) break;
    }
    // The way out of the last split: no alternative fits.
    this.#ops.push({ kind: "never" });
    for (const jump of jumps) jump.to = this.#ops.length;
    this.#at = close + 1;
  }

  #class(): void {
    const parsed = parseClass(this.#pattern, this.#at, this.#syntax);
    if (parsed) return this.#simple(parsed.test, parsed.end - this.#at);
    if (this.#syntax.openBracket === "literal") return this.#literal("[", 1);
    this.#ops.push({ kind: "never" });
    this.#at = this.#pattern.length;
  }
}

const always: Test = () => true;
const notSlash: Test = (code) => code !== SLASH;

/** Opening brace → its closing one, for those that have one. Escapes and classes hide braces. */
function matchBraces(pattern: string): Map<number, number> {
  const ends = new Map<number, number>();
  const open: number[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === "\\") at++;
    else if (char === "[") at = (parseClass(pattern, at, PLAIN)?.end ?? at + 1) - 1;
    else if (char === "{") open.push(at);
    else if (char === "}") {
      const start = open.pop();
      if (start !== undefined) ends.set(start, at);
    }
  }
  return ends;
}

const PLAIN: GlobSyntax = { braces: true, openBracket: "literal", ignoreCase: false, pathname: true };
