/**
 * Styles Markdown while it streams: holds back only what the next characters may still change, never prints
 * twice, and keeps the cost in escape bytes below a share of the text. Takes sanitised text. Block starts are
 * read in markdown-block.ts.
 */
import { type Block, readBlock } from "./markdown-block.ts";
import { readLink, readRun } from "./markdown-inline.ts";

export interface MarkdownOptions {
  /** False passes everything through as it is. */
  colour: boolean;
  ascii: boolean;
}

const RESET = "\x1b[m";
const STYLES = { bold: "\x1b[1m", italic: "\x1b[3m", code: "\x1b[36m", dim: "\x1b[2m" } as const;
type Style = keyof typeof STYLES;

/**
 * Bytes per visible byte that an answer may cost on top of itself, for the terminal driver's CR at each line end
 * and for styles, and what it may spend before it has any text. The limit to hold is 0.15 over a long answer.
 */
const EXTRA_SHARE = 0.13;
const STYLE_CREDIT = 48;

export class MarkdownStream {
  readonly #options: MarkdownOptions;
  #held = "";
  #out: string[] = [];
  #atLineStart = true;
  /** Open styles, outermost first. */
  #open: Style[] = [];
  /** Length of the backtick run that ends the code span, 0 outside. */
  #codeRun = 0;
  #fence: { mark: string; indent: string } | null = null;
  #rawLine = false;
  #headingOpen = false;
  #last = "\n";
  #budget = STYLE_CREDIT;

  constructor(options: MarkdownOptions) {
    this.#options = options;
  }

  /** The sequences that open again what is open now, for those who print in between. */
  get openStyles(): string {
    return this.#open.map((style) => STYLES[style]).join("");
  }

  push(text: string): string {
    if (!this.#options.colour) return text;
    return this.#run(this.#held + text, false);
  }

  /** What was held back, and the end of every open style. The stream starts anew afterwards. */
  end(): string {
    if (!this.#options.colour) return "";
    this.#run(this.#held, true, true);
    this.#closeAll();
    this.#fence = null;
    this.#rawLine = false;
    this.#atLineStart = true;
    this.#last = "\n";
    this.#budget = STYLE_CREDIT;
    return this.#take();
  }

  #run(text: string, final: boolean, keep = false): string {
    let at = 0;
    while (at < text.length) {
      const used = this.#step(text, at, final);
      if (used === 0) break;
      at += used;
    }
    this.#held = text.slice(at);
    return keep ? "" : this.#take();
  }

  #take(): string {
    const text = this.#out.join("");
    this.#out = [];
    return text;
  }

  /** Returns how many characters it used, 0 to wait for more. */
  #step(text: string, at: number, final: boolean): number {
    if (this.#fence) return this.#stepFence(text, at, final);
    if (this.#atLineStart) return this.#stepLineStart(text, at, final);
    if (text[at] === "\n") return this.#lineEnd();
    if (this.#rawLine) return this.#plain(text, at, /[^\n]+/y);
    if (this.#codeRun > 0) return this.#stepCode(text, at, final);
    return this.#stepInline(text, at, final);
  }

  #stepLineStart(text: string, at: number, final: boolean): number {
    const block = readBlock(text, at, final);
    if (block === null) return 0;
    if (block.kind === "blank") this.#closeAll();
    if (block.kind !== "text" && block.kind !== "blank") this.#closeAll();
    this.#atLineStart = false;
    this.#startBlock(block);
    // An empty prefix uses nothing, but the state has changed: go on in the line.
    return block.length > 0 ? block.length : this.#step(text, at, final);
  }

  #startBlock(block: Block): void {
    switch (block.kind) {
      case "fence":
        this.#fence = { mark: block.mark, indent: block.indent };
        this.#rule(block.indent, block.info);
        this.#atLineStart = true;
        return;
      case "heading":
        this.#headingOpen = this.#openStyle("bold");
        if (!this.#headingOpen) this.#print(block.text);
        return;
      case "table":
        this.#rawLine = true;
        return;
      case "prefix":
        this.#print(block.text);
        return;
      case "text":
      case "blank":
        return;
      default:
        block satisfies never;
    }
  }

  #lineEnd(): number {
    if (this.#headingOpen) this.#closeAll();
    this.#rawLine = false;
    this.#atLineStart = true;
    this.#print("\n");
    return 1;
  }

  #stepFence(text: string, at: number, final: boolean): number {
    if (!this.#atLineStart) {
      if (text[at] === "\n") return this.#lineEnd();
      return this.#plain(text, at, /[^\n]+/y);
    }
    const end = text.indexOf("\n", at);
    const line = text.slice(at, end < 0 ? text.length : end);
    const mark = this.#fence?.mark ?? "```";
    const closes = mayClose(line, mark) && line.trim().startsWith(mark);
    if (end < 0 && !final && mayClose(line, mark)) return 0;
    if (!closes) {
      this.#atLineStart = false;
      return this.#stepFence(text, at, final);
    }
    this.#rule(this.#fence?.indent ?? "", "");
    this.#fence = null;
    return line.length + (end < 0 ? 0 : 1);
  }

  #rule(indent: string, info: string): void {
    const dash = this.#options.ascii ? "--" : "──";
    const styled = this.#openStyle("dim");
    this.#print(indent + dash + (info ? ` ${info}` : ""));
    if (styled) this.#closeStyle("dim");
    this.#print("\n");
  }

  #stepCode(text: string, at: number, final: boolean): number {
    if (text[at] !== "`") return this.#plain(text, at, /[^\n`]+/y);
    const run = readRun(text, at, final);
    if (run === null) return 0;
    if (run.length !== this.#codeRun) this.#print(run);
    else this.#endCode();
    return run.length;
  }

  #endCode(): void {
    if (this.#open.includes("code")) this.#closeStyle("code");
    else this.#print("`".repeat(this.#codeRun));
    this.#codeRun = 0;
  }

  #stepInline(text: string, at: number, final: boolean): number {
    switch (text[at]) {
      case "`":
        return this.#startCode(text, at, final);
      case "*":
      case "_":
        return this.#emphasis(text, at, final);
      case "[":
      case "!":
        return this.#link(text, at, final);
      case "\\":
        return this.#escape(text, at, final);
      default:
        return this.#plain(text, at, /[^\n`*_[!\\]+/y);
    }
  }

  #startCode(text: string, at: number, final: boolean): number {
    const run = readRun(text, at, final);
    if (run === null) return 0;
    // Nobody means code by it, and what is taken for a mark isn't shown.
    if (run.length > MAX_CODE_RUN) return this.#literal(run);
    this.#codeRun = run.length;
    // Without the money for a colour the marks stay, so that code is still told from prose.
    if (!this.#openStyle("code")) this.#print(run);
    return run.length;
  }

  #emphasis(text: string, at: number, final: boolean): number {
    const run = readRun(text, at, final);
    const next = run === null ? undefined : text[at + run.length];
    if (run === null || (next === undefined && !final)) return 0;
    const style: Style | null = run === "**" ? "bold" : run === "*" || run === "_" ? "italic" : null;
    if (style === null) return this.#literal(run);
    if (this.#open.includes(style)) return this.#endEmphasis(run, style, next);
    if (!opens(this.#last, next)) return this.#literal(run);
    if (style === "italic") {
      const word = firstWord(text, at + 1, final);
      if (word === null) return 0;
      // `_private_name` and `a_b` are names: an inner mark means that the first one isn't emphasis.
      if (isName(word, run)) return this.#literal(run);
    }
    return this.#openStyle(style) ? run.length : this.#literal(run);
  }

  #endEmphasis(run: string, style: Style, next: string | undefined): number {
    const closes = !/\s/.test(this.#last) && !(run === "_" && next !== undefined && /[\p{L}\p{N}]/u.test(next));
    if (!closes) return this.#literal(run);
    this.#closeStyle(style);
    return run.length;
  }

  #link(text: string, at: number, final: boolean): number {
    // After a letter it is an index or a call: `list[0](x)`.
    if (/[\p{L}\p{N}_]/u.test(this.#last)) return this.#literal(text.charAt(at));
    const link = readLink(text, at, final);
    if (link === "wait") return 0;
    if (link === null) return this.#literal(text.charAt(at));
    this.#print(link.text === link.url ? link.url : `${link.text} (${link.url})`);
    return link.length;
  }

  #escape(text: string, at: number, final: boolean): number {
    const next = text[at + 1];
    if (next === undefined && !final) return 0;
    if (next === undefined || !"*_`".includes(next)) return this.#literal("\\");
    this.#print(next);
    return 2;
  }

  #literal(text: string): number {
    this.#print(text);
    return text.length;
  }

  #plain(text: string, at: number, run: RegExp): number {
    run.lastIndex = at;
    return this.#literal(run.exec(text)?.[0] ?? text.charAt(at));
  }

  #print(text: string): void {
    if (text === "") return;
    this.#out.push(text);
    this.#last = text.at(-1) ?? this.#last;
    this.#budget += Buffer.byteLength(text) * EXTRA_SHARE - (text.match(/\n/g)?.length ?? 0);
  }

  /** False when the text so far doesn't pay for the escape bytes: slow lines come before looks. */
  #openStyle(style: Style): boolean {
    const cost = STYLES[style].length + RESET.length;
    if (cost > this.#budget) return false;
    this.#budget -= cost;
    this.#open.push(style);
    this.#out.push(STYLES[style]);
    return true;
  }

  #closeStyle(style: Style): void {
    this.#open = this.#open.filter((open) => open !== style);
    this.#out.push(RESET + this.#open.map((open) => STYLES[open]).join(""));
  }

  #closeAll(): void {
    if (this.#open.length > 0) this.#out.push(RESET);
    this.#open = [];
    this.#codeRun = 0;
    this.#headingOpen = false;
  }
}

const MAX_CODE_RUN = 16;
/** A longer line is code whatever is in it: it must not be waited for. */
const MAX_CLOSING = 80;

function mayClose(line: string, mark: string): boolean {
  return line.length <= MAX_CLOSING && line.trim().replaceAll(mark.charAt(0), "") === "";
}

// Narrower than CommonMark: globs (`**/*.ts`), products and pointers must come out as they are.
function opens(before: string, next: string | undefined): boolean {
  return next !== undefined && /[\s([{"'“‘—–\-/:*_]/.test(before) && /[\p{L}\p{N}`"'“‘(]/u.test(next);
}

function firstWord(text: string, at: number, final: boolean): string | null {
  const found = /[^\s]{0,64}/y;
  found.lastIndex = at;
  const word = found.exec(text)?.[0] ?? "";
  return !final && word.length < 64 && at + word.length === text.length ? null : word;
}

function isName(word: string, mark: string): boolean {
  const inner = word.indexOf(mark);
  return inner >= 0 && /[\p{L}\p{N}_]/u.test(word[inner + 1] ?? "");
}
