/** Escapes and bracket classes of rg's dialect, written for rg and for JavaScript's `v` flag. Part of search-pattern.ts. */
import { ToolError } from "./errors.ts";

/** A piece in three forms, and where the source goes on. */
export interface Written {
  unicode: string;
  ascii: string;
  /** Null: rg has no such thing. */
  rust: string | null;
  whyNoJs: string;
  end: number;
}

export interface Escape extends Written {
  /** Set when the escape is just a way to write one character. */
  char: string | null;
  isAssertion: boolean;
}

// Rust's \w, \d and \s are Unicode; JavaScript's are ASCII whatever the flags.
const WORD = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}";
const CLASSES: Readonly<Record<string, { unicode: string; ascii: string }>> = {
  d: { unicode: "\\p{Nd}", ascii: "0-9" },
  w: { unicode: WORD, ascii: "0-9A-Za-z_" },
  s: { unicode: "\\p{White_Space}", ascii: "\\t-\\r\\x20" },
};

const W = `[${WORD}]`;
const A = "[0-9A-Za-z_]";
const ASSERTIONS: Readonly<Record<string, { unicode: string; ascii: string; rust: string | null }>> = {
  b: { unicode: `(?:(?<=${W})(?!${W})|(?<!${W})(?=${W}))`, ascii: "\\b", rust: "\\b" },
  B: { unicode: `(?:(?<=${W})(?=${W})|(?<!${W})(?!${W}))`, ascii: "\\B", rust: "\\B" },
  A: { unicode: "^", ascii: "^", rust: "^" },
  z: { unicode: "$", ascii: "$", rust: "$" },
  // Not rg's, but everybody's who knows grep.
  "<": { unicode: `(?<!${W})(?=${W})`, ascii: `(?<!${A})(?=${A})`, rust: null },
  ">": { unicode: `(?<=${W})(?!${W})`, ascii: `(?<=${A})(?!${A})`, rust: null },
};

const CONTROLS: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", f: "\f", v: "\v", a: "\x07" };

const POSIX: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7f",
  blank: "\\t\\x20",
  cntrl: "\\x00-\\x1f\\x7f",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: "\\x20-~",
  punct: "!-\\x2f:-@\\x5b-`\\x7b-~",
  space: "\\t-\\r\\x20",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
};

/** Reads the escape at `at`. Throws ToolError for one that means nothing. */
export function readEscape(source: string, at: number): Escape {
  const name = source[at + 1];
  if (name === undefined) throw bad("it ends in a single backslash");
  const assertion = ASSERTIONS[name];
  if (assertion) return { ...assertion, whyNoJs: "", end: at + 2, char: null, isAssertion: true };
  const set = readSet(source, at);
  if (set) return { ...set, char: null, isAssertion: false };
  const char = readChar(source, at);
  if (char)
    return { unicode: "", ascii: "", rust: "", whyNoJs: "", end: char.end, char: char.char, isAssertion: false };
  if (/[1-9]/.test(name))
    return {
      unicode: `\\${name}`,
      ascii: `\\${name}`,
      rust: null,
      whyNoJs: "",
      end: at + 2,
      char: null,
      isAssertion: false,
    };
  throw bad(`\\${name} means nothing`);
}

/** `\d`, `\W`, `\pL`, `\p{Greek}` as a class of its own; null for other escapes. */
function readSet(source: string, at: number): Written | null {
  const name = source[at + 1] ?? "";
  const known = CLASSES[name.toLowerCase()];
  const not = name === name.toUpperCase() ? "^" : "";
  if (known)
    return {
      unicode: `[${not}${known.unicode}]`,
      ascii: `[${not}${known.ascii}]`,
      rust: `\\${name}`,
      whyNoJs: "",
      end: at + 2,
    };
  if (name !== "p" && name !== "P") return null;
  const [whole = "", negation = "", long, short] =
    /^\\[pP](?:\{(\^?)([^{}]+)\}|([A-Z]))/.exec(source.slice(at, at + 80)) ?? [];
  if (whole === "") throw bad("\\p needs a name, as in \\p{Greek}");
  const property = propertyName(long ?? short ?? "");
  const js = property === null ? "" : `\\${(negation === "^") !== (name === "P") ? "P" : "p"}{${property}}`;
  return {
    unicode: js,
    ascii: js,
    rust: whole,
    whyNoJs: property === null ? `JavaScript knows no ${whole}, and rg is not installed` : "",
    end: at + whole.length,
  };
}

/** Scripts need `Script=` in JavaScript; names are tried as they are first. */
function propertyName(name: string): string | null {
  const capital = name.charAt(0).toUpperCase() + name.slice(1);
  return [name, capital, `Script=${capital}`].find((candidate) => compiles(`\\p{${candidate}}`)) ?? null;
}

function compiles(source: string): boolean {
  try {
    return new RegExp(source, "v") instanceof RegExp;
  } catch {
    return false;
  }
}

/** Escapes that stand for one character; null for others. */
function readChar(source: string, at: number): { char: string; end: number } | null {
  const rest = source.slice(at, at + 12);
  const hex = /^\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[xuU]\{([0-9a-fA-F]{1,6})\})/.exec(rest);
  if (hex) return { char: charOf(hex[1] ?? hex[2] ?? hex[3] ?? hex[4] ?? ""), end: at + hex[0].length };
  const name = source[at + 1] ?? "";
  const control = CONTROLS[name];
  if (control) return { char: control, end: at + 2 };
  // Any punctuation may be escaped; older versions of rg refuse most of it, so it is handed over bare.
  return /[!-/:-@[-`{-~ ]/.test(name) ? { char: name, end: at + 2 } : null;
}

function charOf(hex: string): string {
  const code = Number.parseInt(hex, 16);
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) throw bad(`${hex} is no character`);
  return String.fromCodePoint(code);
}

/** Reads the class at `at`, set operations and nested classes included. */
export function readClass(source: string, at: number): Written {
  const reader = new ClassReader(source, at);
  const { unicode, ascii } = reader.read(0);
  const rust = source
    .slice(at, reader.at)
    .replace(/\\([ -/:-@[-`{-~])/g, (whole, char: string) => (/[\\.+*?()|[\]{}^$#&~-]/.test(char) ? whole : char));
  return { unicode, ascii, rust, whyNoJs: reader.whyNoJs, end: reader.at };
}

interface Operand {
  unicode: string;
  ascii: string;
}

const MAX_NESTING = 50;

class ClassReader {
  at: number;
  whyNoJs = "";
  readonly #source: string;

  constructor(source: string, at: number) {
    this.#source = source;
    this.at = at;
  }

  read(depth: number): Operand {
    if (depth > MAX_NESTING) throw bad("its classes are nested too deeply");
    this.at++;
    const not = this.#take("^") ? "^" : "";
    let left: Operand | null = null;
    let operator = "";
    for (let first = true; ; first = false) {
      const right = this.#union(depth, first);
      left = left ? combine(left, operator, right) : right;
      operator = this.#source.slice(this.at, this.at + 2);
      if (this.#take("]")) return { unicode: `[${not}${left.unicode}]`, ascii: `[${not}${left.ascii}]` };
      this.at += 2;
    }
  }

  /** Members up to a `]` or a set operator. */
  #union(depth: number, first: boolean): Operand {
    const union: Operand = { unicode: "", ascii: "" };
    for (let count = 0; ; count++) {
      const char = this.#source[this.at];
      if (char === undefined) throw bad("a [ is never closed");
      if (char === "]" && !(first && count === 0)) return union;
      if (/^(?:&&|--|~~)/.test(this.#source.slice(this.at, this.at + 2)) && count > 0) return union;
      const member = this.#member(depth);
      union.unicode += member.unicode;
      union.ascii += member.ascii;
    }
  }

  #member(depth: number): Operand {
    const posix = /^\[:(\^?)([a-z]+):\]/.exec(this.#source.slice(this.at, this.at + 14));
    if (posix) return this.#posix(posix);
    if (this.#source[this.at] === "[") return this.read(depth + 1);
    const set = this.#source[this.at] === "\\" ? readSet(this.#source, this.at) : null;
    if (!set) return this.#range();
    this.at = set.end;
    if (set.whyNoJs) this.whyNoJs = set.whyNoJs;
    return set;
  }

  #posix(found: RegExpExecArray): Operand {
    const members = POSIX[found[2] ?? ""];
    if (members === undefined) throw bad(`[:${found[2]}:] is no class`);
    this.at += found[0].length;
    const js = `[${found[1]}${members}]`;
    return { unicode: js, ascii: js };
  }

  #range(): Operand {
    const from = this.#char();
    const next = this.#source[this.at + 1];
    let text = quoted(from);
    if (this.#source[this.at] === "-" && next !== undefined && next !== "]" && next !== "-") {
      this.at++;
      const to = this.#char();
      if ((to.codePointAt(0) ?? 0) < (from.codePointAt(0) ?? 0)) throw bad(`the range ${from}-${to} runs backwards`);
      text += `-${quoted(to)}`;
    }
    return { unicode: text, ascii: text };
  }

  #char(): string {
    if (this.#source[this.at] === "\\") {
      const escaped = readChar(this.#source, this.at);
      if (!escaped) throw bad(`\\${this.#source[this.at + 1] ?? ""} means nothing in a class`);
      this.at = escaped.end;
      return escaped.char;
    }
    const char = String.fromCodePoint(this.#source.codePointAt(this.at) ?? 0);
    this.at += char.length;
    return char;
  }

  #take(char: string): boolean {
    if (this.#source[this.at] !== char) return false;
    this.at++;
    return true;
  }
}

/** With the `v` flag an operand is one class or escape, so both sides are wrapped. */
function combine(left: Operand, operator: string, right: Operand): Operand {
  const join = (a: string, b: string) =>
    operator === "~~" ? `[[${a}]--[${b}]][[${b}]--[${a}]]` : `[[${a}]${operator}[${b}]]`;
  return { unicode: join(left.unicode, right.unicode), ascii: join(left.ascii, right.ascii) };
}

function quoted(char: string): string {
  return /[\w\u0080-\u{10ffff}]/u.test(char) ? char : `\\x${(char.codePointAt(0) ?? 0).toString(16).padStart(2, "0")}`;
}

function bad(reason: string): ToolError {
  return new ToolError(`Invalid regex: ${reason}.`);
}
