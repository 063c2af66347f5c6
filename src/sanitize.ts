/** Turns untrusted text into what a terminal may be shown: nothing that moves, hides or recolours. Says nothing about what a model may be sent. */
import { oneLine, wellFormed } from "./text.ts";

export interface SanitizeOptions {
  /** `text` shows every escape sequence; `command` drops colours (SGR) and shows the rest. */
  mode?: "text" | "command";
  /** Write the replacements in ASCII: `\x1b` instead of `␛`. */
  ascii?: boolean;
}

/** Everything dangerous becomes visible; newlines and tabs stay; CR LF becomes LF. */
export function sanitize(text: string, options: SanitizeOptions = {}): string {
  return clean(prepare(wellFormed(text), options), 0, options);
}

/** As `sanitize`, without the colours that commands print. */
export function sanitizeCommandOutput(text: string, options: { ascii?: boolean } = {}): string {
  return sanitize(text, { ...options, mode: "command" });
}

/** As `sanitize`, for names and titles: line ends and tabs are shown as well, so the result is one line. */
export function sanitizeLine(text: string, options: SanitizeOptions = {}): string {
  return sanitize(text, options).replace(/[\n\t]/g, (char) => control(char.charCodeAt(0), options.ascii ?? false));
}

/** One line for a list or a label: white space is single blanks, what is too long is cut, the rest as `sanitizeLine`. */
export function sanitizeLabel(text: string, maxChars: number, options: SanitizeOptions = {}): string {
  return sanitizeLine(oneLine(text, maxChars, options.ascii ? "..." : "…"), options);
}

/**
 * For an approval prompt: what is on screen is what will run. Stricter than `sanitize`: a CR is shown
 * before a LF too, joiners are shown within emoji, blanks other than space and tab are named, and runs
 * of 20 blanks or more are counted (`[400 spaces]`). `mark` may colour what was replaced.
 */
export function escapeForApproval(text: string, mark: (escaped: string) => string = (escaped) => escaped): string {
  return wellFormed(text).replace(HIDDEN_OR_BLANKS, (found) =>
    /^[ \t]{2}/.test(found) ? mark(blanks(found)) : mark(escapeExactly(found)),
  );
}

/** `sanitize` for text that arrives in pieces: sequences, characters and line ends cut by a chunk's edge come out whole. */
export class SanitizeStream {
  readonly #options: SanitizeOptions;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Raw text already shown, as far as the next character's meaning depends on it. */
  #before = "";
  #held = "";

  constructor(options: SanitizeOptions = {}) {
    this.#options = options;
  }

  /** What can be shown now. Bytes that are not UTF-8 become U+FFFD. */
  push(chunk: string | Uint8Array): string {
    const text = typeof chunk === "string" ? chunk : this.#decoder.decode(chunk, { stream: true });
    const all = this.#held + text;
    const end = all.length - heldLength(all, this.#options);
    this.#held = all.slice(end);
    return this.#show(all.slice(0, end));
  }

  /** What was held back. The stream may be used again afterwards. */
  end(): string {
    const rest = this.#held + this.#decoder.decode();
    this.#held = "";
    const shown = this.#show(rest);
    this.#before = "";
    return shown;
  }

  #show(text: string): string {
    const safe = prepare(wellFormed(text), this.#options);
    const whole = this.#before + safe;
    const shown = clean(whole, this.#before.length, this.#options);
    this.#before = whole.slice(-CONTEXT_UNITS);
    return shown;
  }
}

/** The longest look back below is one emoji with its selector. */
const CONTEXT_UNITS = 4;

// Characters that move the cursor, reorder or hide: C0 but TAB and LF, DEL, C1, soft hyphen, joiners, bidi
// controls, line separators, variation selectors, fillers that draw nothing, annotations, tag characters.
const HIDDEN =
  "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f" +
  "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb" +
  "\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}";
const OTHER_BLANKS = "\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000";

const SUSPECT = new RegExp(`[${HIDDEN}]`, "gu");
const HIDDEN_OR_BLANKS = new RegExp(`[ \\t]{20,}|[${HIDDEN}${OTHER_BLANKS}]`, "gu");
const SGR = /\x1b\[[0-9;:]*m/g;

function prepare(text: string, options: SanitizeOptions): string {
  const plain = options.mode === "command" ? text.replace(SGR, "") : text;
  return plain.includes("\r\n") ? plain.replaceAll("\r\n", "\n") : plain;
}

/** Cleans `text` from `from` on; what is before serves as context only. */
function clean(text: string, from: number, options: SanitizeOptions): string {
  let shown = "";
  let last = from;
  const suspect = new RegExp(SUSPECT);
  suspect.lastIndex = from;
  for (let found = suspect.exec(text); found !== null; found = suspect.exec(text)) {
    if (isPartOfWriting(text, found.index, found[0])) continue;
    shown += text.slice(last, found.index) + escapeVisibly(found[0], options.ascii ?? false);
    last = found.index + found[0].length;
  }
  return shown + text.slice(last);
}

const JOINING_SCRIPTS =
  "\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Gurmukhi}\\p{Script=Gujarati}" +
  "\\p{Script=Oriya}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}\\p{Script=Malayalam}\\p{Script=Sinhala}" +
  "\\p{Script=Khmer}\\p{Script=Myanmar}\\p{Script=Mongolian}";
const EMOJI_BEFORE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]$/u;
const EMOJI_AFTER = /^\p{Extended_Pictographic}/u;
const SELECTED_BEFORE = /[\p{Emoji}]$/u;
const JOINED_BEFORE = new RegExp(`[${JOINING_SCRIPTS}]$`, "u");
const JOINED_AFTER = new RegExp(`^[${JOINING_SCRIPTS}]`, "u");

// Without these exceptions families, hearts, Persian and Hindi would be torn apart; none of them can hide text.
function isPartOfWriting(text: string, index: number, char: string): boolean {
  if (char !== "\u200d" && char !== "\u200c" && char !== "\ufe0f") return false;
  const before = text.slice(Math.max(0, index - 2), index);
  const after = text.slice(index + 1, index + 3);
  if (char === "\ufe0f") return SELECTED_BEFORE.test(before);
  if (char === "\u200d" && EMOJI_BEFORE.test(before) && EMOJI_AFTER.test(after)) return true;
  return JOINED_BEFORE.test(before) && JOINED_AFTER.test(after);
}

/** How many units at the end can't be judged yet. Bounded, so a hostile stream can't make us hold much. */
function heldLength(text: string, options: SanitizeOptions): number {
  const tail = text.slice(-MAX_SGR);
  if (options.mode === "command") {
    const open = /\x1b(?:\[[0-9;:]*)?$/.exec(tail);
    if (open) return open[0].length;
  }
  return /(?:\r|\u200c|\u200d|[\ud800-\udbff]|[\u200c\u200d][\ud800-\udbff])$/.exec(tail)?.[0].length ?? 0;
}

/** Longer colour sequences than this are shown, not waited for. */
const MAX_SGR = 64;

function escapeVisibly(char: string, ascii: boolean): string {
  const code = char.codePointAt(0) ?? 0;
  return code < 0x20 || code === 0x7f ? control(code, ascii) : codePoint(code);
}

function escapeExactly(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  return code < 0x20 || code === 0x7f ? control(code, true) : codePoint(code);
}

function control(code: number, ascii: boolean): string {
  // U+2400 … are the pictures of the C0 controls, in order; DEL's comes after them.
  if (!ascii) return String.fromCharCode(code === 0x7f ? 0x2421 : 0x2400 + code);
  const named: Record<number, string> = { 9: "\\t", 10: "\\n", 13: "\\r" };
  return named[code] ?? `\\x${code.toString(16).padStart(2, "0")}`;
}

function codePoint(code: number): string {
  return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

function blanks(run: string): string {
  return `[${run.length} ${/^ +$/.test(run) ? "spaces" : "blanks"}]`;
}
