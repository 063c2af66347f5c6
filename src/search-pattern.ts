/** Reads a pattern in rg's dialect and writes it for both engines: rg itself and JavaScript's. Pure; searching is elsewhere. */
import { ToolError } from "./errors.ts";
import { readClass, readEscape, type Written } from "./search-class.ts";

export interface SearchPattern {
  /** For rg; null when rg has no such feature (look-around, back-references). */
  rust: string | null;
  /** For lines of any text and, faster, for ASCII lines; null with the reason when JavaScript can't say it. */
  js: { unicode: RegExp; ascii: RegExp } | null;
  whyNoJs: string;
  /** Text that every match contains, to skip files and lines quickly. Null when none is sure. */
  literal: string | null;
}

/** Longer ones are data, not patterns. */
const MAX_LENGTH = 10_000;

/** Translates and compiles. Throws ToolError `Invalid regex: …` when neither engine could take it. */
export function parsePattern(source: string, ignoreCase: boolean): SearchPattern {
  if (source.length > MAX_LENGTH) throw invalid("it is longer than 10,000 characters");
  const writer = new Writer(source);
  writer.run();
  const js = writer.whyNoJs === "" ? compile(writer, ignoreCase) : null;
  const literal = ignoreCase || writer.anyFlags ? null : writer.literal();
  // In a verbose pattern blanks and # mean something else than what was read: rg gets it as it came.
  return { rust: !writer.rustCan ? null : writer.verbose ? source : writer.rust, js, whyNoJs: writer.whyNoJs, literal };
}

export function invalid(reason: string): ToolError {
  return new ToolError(`Invalid regex: ${reason}.`);
}

function compile(writer: Writer, ignoreCase: boolean): SearchPattern["js"] {
  const flags = ignoreCase ? "vi" : "v";
  try {
    return { unicode: new RegExp(writer.unicode, flags), ascii: new RegExp(writer.ascii, flags) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw invalid(error.message.replace(/^Invalid regular expression: /, ""));
  }
}

interface Group {
  /** Modifier groups opened by `(?i)` in here, to be closed with it and at every `|`. */
  modifiers: string[];
  /** Start of the group in the three outputs. */
  start: Mark;
}

interface Mark {
  unicode: number;
  ascii: number;
}

/** One pass over the source; the three outputs grow together. */
class Writer {
  unicode = "";
  ascii = "";
  rust = "";
  rustCan = true;
  whyNoJs = "";
  anyFlags = false;
  verbose = false;
  readonly #source: string;
  #at = 0;
  readonly #groups: Group[] = [{ modifiers: [], start: { unicode: 0, ascii: 0 } }];
  #atom: Mark | null = null;
  #quantified = false;
  #run = "";
  #longest = "";
  #alternatives = false;

  constructor(source: string) {
    this.#source = source;
  }

  run(): void {
    while (this.#at < this.#source.length) this.#one();
    if (this.#groups.length > 1) throw invalid("a ( is never closed");
    this.#closeModifiers();
    this.#endRun();
  }

  literal(): string | null {
    return this.#alternatives || this.#longest === "" ? null : this.#longest;
  }

  #one(): void {
    const char = String.fromCodePoint(this.#source.codePointAt(this.#at) ?? 0);
    if (char === "\\") return this.#escape();
    if (char === "[") return this.#class();
    if (char === "(") return this.#open();
    if (char === ")") return this.#close();
    if (char === "|") return this.#alternative();
    if (char === "." || char === "^" || char === "$") return this.#special(char);
    const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})/.exec(this.#source.slice(this.#at, this.#at + 24))?.[0];
    if (quantifier && (this.#atom || char !== "{")) return this.#quantify(quantifier);
    if (char === "\n") throw invalid("a match never spans lines, so it can't hold a line end");
    this.#literalChar(char, char.length);
  }

  /** Appends to all outputs. */
  #write(unicode: string, ascii: string, rust: string): void {
    this.unicode += unicode;
    this.ascii += ascii;
    this.rust += rust;
  }

  #startAtom(): void {
    this.#atom = { unicode: this.unicode.length, ascii: this.ascii.length };
    this.#quantified = false;
  }

  #literalChar(char: string, length: number): void {
    this.#startAtom();
    const escaped = /[\^$\\.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char;
    this.#write(escaped, escaped, /[\^$\\.*+?()[\]{}|#&~-]/.test(char) ? `\\${char}` : char);
    if (this.#groups.length === 1) this.#run += char;
    this.#at += length;
  }

  #endRun(): void {
    if (this.#run.length > this.#longest.length) this.#longest = this.#run;
    this.#run = "";
  }

  #special(char: string): void {
    this.#endRun();
    if (char === ".") this.#startAtom();
    else this.#atom = null;
    const js = char === "." ? "[^\\n]" : char;
    this.#write(js, js, char);
    this.#at++;
  }

  #escape(): void {
    const read = readEscape(this.#source, this.#at);
    if (read.char !== null) {
      if (read.char === "\n") throw invalid("a match never spans lines, so it can't hold \\n");
      return this.#literalChar(read.char, read.end - this.#at);
    }
    this.#endRun();
    this.#append(read, read.isAssertion);
  }

  #class(): void {
    this.#endRun();
    this.#append(readClass(this.#source, this.#at), false);
  }

  #append(read: Written, isAssertion: boolean): void {
    if (isAssertion) this.#atom = null;
    else this.#startAtom();
    this.#write(read.unicode, read.ascii, read.rust ?? "");
    if (read.rust === null) this.rustCan = false;
    if (read.whyNoJs) this.whyNoJs = read.whyNoJs;
    this.#at = read.end;
  }

  #quantify(quantifier: string): void {
    if (!this.#atom) throw invalid(`there is nothing for ${quantifier} to repeat`);
    this.#checkCount(quantifier);
    if (this.#quantified) this.#wrapAtom();
    if (this.#run !== "") this.#quantifyRun(/^(?:[*?]|\{0)/.test(quantifier));
    this.#at += quantifier.length;
    const lazy = this.#source[this.#at] === "?" ? "?" : "";
    this.#at += lazy.length;
    this.#write(quantifier + lazy, quantifier + lazy, quantifier + lazy);
    this.#quantified = true;
  }

  #checkCount(quantifier: string): void {
    const [, from, to] = /^\{(\d+),?(\d*)\}$/.exec(quantifier) ?? [];
    if (from === undefined) return;
    if (Number(from) > 1000 || Number(to ?? 0) > 1000) throw invalid(`${quantifier} repeats too often`);
    if (to && Number(to) < Number(from)) throw invalid(`${quantifier} counts backwards`);
  }

  /** What may be missing is in no sure literal; what is repeated ends one. */
  #quantifyRun(optional: boolean): void {
    if (optional) this.#run = [...this.#run].slice(0, -1).join("");
    this.#endRun();
  }

  /** `a**` is legal for rg; JavaScript wants `(?:a*)*`. */
  #wrapAtom(): void {
    const atom = this.#atom;
    if (!atom) return;
    this.unicode = `${this.unicode.slice(0, atom.unicode)}(?:${this.unicode.slice(atom.unicode)})`;
    this.ascii = `${this.ascii.slice(0, atom.ascii)}(?:${this.ascii.slice(atom.ascii)})`;
  }

  #open(): void {
    this.#endRun();
    const head = /^\(\?(?:P?<([A-Za-z_]\w*)>|([=!]|<[=!])|:|(-?[a-zA-Z]+(?:-[a-zA-Z]+)?)(:|\)))/.exec(
      this.#source.slice(this.#at, this.#at + 200),
    );
    if (this.#source[this.#at + 1] === "?" && !head)
      throw invalid(`${this.#source.slice(this.#at, this.#at + 4)}… is no group`);
    const [whole = "(", name, look, flags, end] = head ?? [];
    if (flags !== undefined && end === ")") return this.#setFlags(flags, whole);
    const group: Group = { modifiers: [], start: { unicode: this.unicode.length, ascii: this.ascii.length } };
    this.#groups.push(group);
    if (look) this.rustCan = false;
    const js = flags === undefined ? (name ? `(?<${name}>` : whole) : `(?${this.#jsFlags(flags)}:`;
    this.#write(js, js, name ? `(?P<${name}>` : whole);
    this.#atom = null;
    this.#at += whole.length;
  }

  /** `(?i)` holds to the end of its group, over every `|` in it. */
  #setFlags(flags: string, whole: string): void {
    const open = `(?${this.#jsFlags(flags)}:`;
    this.#groups.at(-1)?.modifiers.push(open);
    this.#write(open, open, whole);
    this.#atom = null;
    this.#at += whole.length;
  }

  #jsFlags(flags: string): string {
    this.anyFlags = true;
    const bad = /[^imsuUx-]/.exec(flags)?.[0];
    if (bad !== undefined) throw invalid(`(?${flags}) has an unknown flag "${bad}"`);
    if (flags.includes("x")) this.verbose = true;
    if (/[Ux]/.test(flags)) this.whyNoJs = `(?${flags}) needs rg, which is not installed`;
    // s, m and u change nothing here: a line holds no line end, and the text is always Unicode.
    const kept = flags.replace(/[^i-]/g, "").replace(/-$/, "");
    return [...new Set(kept)].join("");
  }

  #closeModifiers(): void {
    const closing = ")".repeat(this.#groups.at(-1)?.modifiers.length ?? 0);
    this.#write(closing, closing, "");
  }

  #close(): void {
    this.#endRun();
    if (this.#groups.length === 1) throw invalid("a ) has no (");
    this.#closeModifiers();
    const group = this.#groups.pop();
    this.#write(")", ")", ")");
    this.#atom = group?.start ?? null;
    this.#quantified = false;
    this.#at++;
  }

  #alternative(): void {
    this.#endRun();
    this.#closeModifiers();
    const reopened = this.#groups.at(-1)?.modifiers.join("") ?? "";
    this.#write(`|${reopened}`, `|${reopened}`, "|");
    if (this.#groups.length === 1) this.#alternatives = true;
    this.#atom = null;
    this.#at++;
  }
}
