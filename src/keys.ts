/** Bytes from a terminal → keys. Pure: knows no terminal, no timer, and not what a key does. Tables of sequences: keys-sequences.ts. */
import { csiKey, ss3Key } from "./keys-sequences.ts";

/**
 * `id` is the key with its modifiers in the order ctrl, alt, shift, super: `ctrl-a`, `alt-enter`, `up`, `shift-tab`.
 * Letters are lower case. `text` is what would be typed: one or more printable characters.
 */
export type Key = { type: "text"; text: string } | { type: "key"; id: string } | { type: "paste"; text: string };

/** What a caller must wait for before the rest is final, see `KeyDecoder.pending`. */
export type Pending = "none" | "escape" | "paste";

const PASTE_END = "\x1b[201~";
/** Longer pastes are cut: more than any model reads, and a paste whose end is lost must not eat all memory. */
const MAX_PASTE_CHARS = 16 * 1024 * 1024;
/** A sequence this long is noise (a terminal's reply to a question we never asked, or line noise). */
const MAX_SEQUENCE_CHARS = 4096;

/** Reads key bytes in any cut. Unknown sequences are swallowed whole, never typed into the line. */
export class KeyDecoder {
  readonly #utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  #held = "";
  #paste: { parts: string[]; chars: number } | null = null;

  /** `escape`: an ESC may still become a sequence, call `flush` after the escape time-out. `paste`: its end is missing. */
  get pending(): Pending {
    if (this.#paste) return "paste";
    return this.#held === "" ? "none" : "escape";
  }

  push(bytes: Uint8Array | string): Key[] {
    const text = typeof bytes === "string" ? bytes : this.#utf8.decode(bytes, { stream: true });
    return this.#read(this.#held + text, false);
  }

  /** Nothing more will come for now: a held ESC is the escape key, an open paste ends here. */
  flush(): Key[] {
    if (!this.#paste) return this.#read(this.#held, true);
    const rest = this.#held;
    this.#held = "";
    return [this.#endPaste(rest)];
  }

  #read(text: string, final: boolean): Key[] {
    this.#held = "";
    const keys: Key[] = [];
    let at = 0;
    while (at < text.length) {
      const taken = this.#paste ? this.#takePaste(text, at, keys) : this.#takeKey(text, at, final, keys);
      if (taken === 0) break;
      at += taken;
    }
    this.#held = text.slice(at);
    return keys;
  }

  /** Returns how many characters it used; 0 to wait for more. */
  #takeKey(text: string, at: number, final: boolean, keys: Key[]): number {
    const typed = readText(text, at);
    if (typed !== "") {
      keys.push({ type: "text", text: typed });
      return typed.length;
    }
    if (text[at] !== "\x1b") {
      keys.push({ type: "key", id: controlId(text.charCodeAt(at)) });
      return 1;
    }
    const sequence = readEscape(text, at, final);
    if (sequence.key === "paste-start") this.#paste = { parts: [], chars: 0 };
    else if (sequence.key) keys.push(sequence.key);
    return sequence.length;
  }

  #takePaste(text: string, at: number, keys: Key[]): number {
    const end = text.indexOf(PASTE_END, at);
    if (end >= 0) {
      keys.push(this.#endPaste(text.slice(at, end)));
      return end - at + PASTE_END.length;
    }
    // The last characters may be the beginning of the end mark.
    const sure = Math.max(0, text.length - at - (PASTE_END.length - 1));
    this.#addPaste(text.slice(at, at + sure));
    return sure;
  }

  #addPaste(text: string): void {
    if (!this.#paste) return;
    const room = MAX_PASTE_CHARS - this.#paste.chars;
    this.#paste.parts.push(text.slice(0, Math.max(0, room)));
    this.#paste.chars += text.length;
  }

  #endPaste(rest: string): Key {
    this.#addPaste(rest);
    const text = this.#paste?.parts.join("") ?? "";
    this.#paste = null;
    return { type: "paste", text: cleanPaste(text) };
  }
}

/** Pasted text as it may enter a line: line ends are LF, control characters are gone. */
export function cleanPaste(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}

function readText(text: string, at: number): string {
  const printable = /[^\x00-\x1f\x7f-\x9f]+/y;
  printable.lastIndex = at;
  return printable.exec(text)?.[0] ?? "";
}

const CONTROL_IDS: Record<number, string> = {
  0: "ctrl-space",
  8: "backspace",
  9: "tab",
  13: "enter",
  27: "escape",
  28: "ctrl-\\",
  29: "ctrl-]",
  30: "ctrl-^",
  31: "ctrl-_",
  127: "backspace",
};

function controlId(code: number): string {
  // C1 controls can't come from a UTF-8 keyboard; their id is bound to nothing.
  if (code > 127) return `c1-${code.toString(16)}`;
  return CONTROL_IDS[code] ?? `ctrl-${String.fromCharCode(code + 96)}`;
}

interface Sequence {
  key: Key | "paste-start" | null;
  /** Characters used; 0 when more must come. */
  length: number;
}

const WAIT: Sequence = { key: null, length: 0 };
const ESCAPE: Sequence = { key: { type: "key", id: "escape" }, length: 1 };

/** `text[at]` is ESC. With `final`, an unfinished sequence is read as the keys its first characters are. */
function readEscape(text: string, at: number, final: boolean): Sequence {
  const next = text[at + 1];
  if (next === undefined) return final ? ESCAPE : WAIT;
  if (next === "[") return readCsi(text, at, final);
  if (next === "O") return readSs3(text, at, final);
  if ("]P_^X".includes(next)) return readString(text, at, final);
  if (next === "\x1b") return readAltSequence(text, at, final);
  return readAlt(text, at);
}

function readCsi(text: string, at: number, final: boolean): Sequence {
  // ECMA-48: parameters 0x30–0x3f, intermediates 0x20–0x2f, one final byte; `$` is rxvt's final for shift.
  const whole = /\x1b\[(\[(?:[A-E]|\d{1,2}~)|M[^]{3}|[0-?]*[ -#%-/]*[@-Z\\-~$])/y;
  whole.lastIndex = at;
  const found = whole.exec(text);
  if (found) {
    const key = csiKey(found[1] ?? "");
    return { key: key === "paste-start" ? key : toKey(key), length: found[0].length };
  }
  const open = /\x1b\[(\[\d{0,2}|M[^]{0,2}|[0-?]*[ -#%-/]*)$/y;
  open.lastIndex = at;
  return unfinished(text, at, final, open.test(text) && text.length - at < MAX_SEQUENCE_CHARS);
}

function readSs3(text: string, at: number, final: boolean): Sequence {
  const whole = /\x1bO([0-9;]*[A-Za-z])/y;
  whole.lastIndex = at;
  const found = whole.exec(text);
  if (found) return { key: toKey(ss3Key(found[1] ?? "")), length: found[0].length };
  return unfinished(text, at, final, /^\x1bO[0-9;]*$/.test(text.slice(at, at + 32)));
}

/** OSC, DCS and their like: replies of a terminal. Nobody types them, so nothing comes of them. */
function readString(text: string, at: number, final: boolean): Sequence {
  const rest = text.slice(at, at + MAX_SEQUENCE_CHARS);
  const found = /^\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)/.exec(rest);
  if (found) return { key: null, length: found[0].length };
  return unfinished(text, at, final, /^\x1b[\]P_^X][^\x07\x1b]*\x1b?$/.test(rest) && rest.length < MAX_SEQUENCE_CHARS);
}

function unfinished(text: string, at: number, final: boolean, mayGoOn: boolean): Sequence {
  if (mayGoOn && !final) return WAIT;
  // Half a CSI is the rest of something lost on the line: typing its digits would be worse than dropping it.
  const broken = /\x1b\[[0-?]+[ -/]*/y;
  broken.lastIndex = at;
  const lost = broken.exec(text);
  return lost ? { key: null, length: lost[0].length } : readAlt(text, at);
}

/** ESC ESC [ A is alt-up on terminals that send ESC for alt. */
function readAltSequence(text: string, at: number, final: boolean): Sequence {
  const inner = readEscape(text, at + 1, final);
  if (inner.length === 0) return WAIT;
  if (inner.length === 1 || inner.key === "paste-start" || inner.key === null) return ESCAPE;
  return { key: withAlt(inner.key), length: inner.length + 1 };
}

function readAlt(text: string, at: number): Sequence {
  const char = String.fromCodePoint(text.codePointAt(at + 1) ?? 0);
  const code = char.charCodeAt(0);
  const typed = readText(char, 0) !== "";
  const id = typed ? altLetter(char) : `alt-${controlId(code)}`.replace(/^alt-ctrl-/, "ctrl-alt-");
  return { key: { type: "key", id }, length: 1 + char.length };
}

function altLetter(char: string): string {
  if (char === " ") return "alt-space";
  const lower = char.toLowerCase();
  return lower === char ? `alt-${char}` : `alt-shift-${lower}`;
}

function withAlt(key: Key): Key {
  if (key.type !== "key" || /(?:^|-)alt-/.test(key.id)) return key;
  return { type: "key", id: key.id.startsWith("ctrl-") ? `ctrl-alt-${key.id.slice(5)}` : `alt-${key.id}` };
}

function toKey(key: { text: string } | { id: string } | null): Key | null {
  if (key === null) return null;
  return "text" in key ? { type: "text", text: key.text } : { type: "key", id: key.id };
}
