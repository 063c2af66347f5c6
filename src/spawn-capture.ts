/** Keeps the beginning and the end of what a child prints, cleaned for a model, and the whole in a file. Bounded memory whatever comes. */
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";

export const HEAD_BYTES = 12 * 1024;
export const TAIL_BYTES = 20 * 1024;
/** A day of a chatty server's log. When it binds, the file ends early and the result says so. */
export const SPILL_BYTES = 50 * 1024 * 1024;
/** Up to here everything is in the result itself, see SHOWN_CHARS in tool-bash.ts. */
const HELD_BYTES = 28_000;
/** A line longer than this is passed on in pieces; only shorter ones can be overwritten by a later `\r`. */
const LINE_CHARS = 8 * 1024;
const SNIFF_BYTES = 8 * 1024;
/** Longer than any key. */
const HELD_CHARS = 4096;
const LIVE_HELD_CHARS = 512;
/** A question without a line end is shown after this. */
const LIVE_WAIT_MS = 50;

/** Turns a stream of text into clean lines: no escape sequences, and of a line drawn again and again only its last state. */
export class LineCleaner {
  #line = "";
  #emit: (text: string) => void;

  constructor(emit: (text: string) => void) {
    this.#emit = emit;
  }

  push(text: string): void {
    const joined = this.#line + text;
    const end = joined.lastIndexOf("\n") + 1;
    if (end > 0) this.#emit(cleanText(joined.slice(0, end)));
    this.#line = lastState(joined.slice(end));
    if (this.#line.length > LINE_CHARS) this.#flushPiece();
  }

  end(): void {
    this.#emit(cleanText(this.#line));
    this.#line = "";
  }

  #flushPiece(): void {
    // An escape sequence cut in two would show half of itself.
    const open = /\x1b[^\x1b]{0,32}$/.exec(this.#line.slice(-33));
    const cut = open && !isWholeEscape(open[0]) ? this.#line.length - open[0].length : this.#line.length;
    this.#emit(cleanText(this.#line.slice(0, cut)));
    this.#line = this.#line.slice(cut);
  }
}

/** What a terminal would still show of whole text: escape sequences removed, overwritten line states dropped. */
export function cleanText(text: string): string {
  const plain = /[\x1b\x9b]/.test(text) ? stripEscapes(text) : text;
  const shown = plain.includes("\r") ? plain.split("\n").map(lastState).join("\n").replaceAll("\r", "") : plain;
  return shown.replace(/[^\n]\x08/g, "").replaceAll("\0", "\u2400");
}

/** Of `10%\r20%\r30%` the last one counts; a `\r` at the end belongs to the line end and overwrites nothing yet. */
function lastState(line: string): string {
  const trimmed = line.replace(/\r+$/, "");
  const from = trimmed.lastIndexOf("\r") + 1;
  return from === 0 ? line : trimmed.slice(from) + line.slice(trimmed.length);
}

// ECMA-48: CSI, OSC and other strings up to BEL or ST, then two-byte escapes. Bounded so that a stray ESC eats little.
const ESCAPES =
  /\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[ -/]{0,4}[0-Z\\^-~])|\x9b[0-?]{0,64}[ -/]{0,8}[@-~]/g;

export function stripEscapes(text: string): string {
  return text.replace(ESCAPES, "");
}

function isWholeEscape(text: string): boolean {
  return stripEscapes(text).length < text.length && !stripEscapes(text).includes("\x1b");
}

/**
 * What is shown live, in pieces that end where a line ends or nothing follows for a moment: whoever takes keys out of a
 * piece must not get half a key.
 */
export class LivePieces {
  readonly #show: (text: string) => void;
  #held = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  push(text: string): void {
    clearTimeout(this.#timer);
    this.#held += text;
    const line = Math.max(this.#held.lastIndexOf("\n"), this.#held.lastIndexOf("\r")) + 1;
    this.#pass(Math.max(line, this.#held.length - LIVE_HELD_CHARS));
    if (this.#held !== "") this.#timer = setTimeout(() => this.end(), LIVE_WAIT_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#pass(this.#held.length);
  }

  #pass(end: number): void {
    if (end <= 0) return;
    this.#show(this.#held.slice(0, end));
    this.#held = this.#held.slice(end);
  }
}

/** Text kept at both ends. `dropped` counts characters between them. */
export class HeadTail {
  #head = "";
  #tail: string[] = [];
  #tailLength = 0;
  dropped = 0;

  push(text: string): void {
    const room = HEAD_BYTES - this.#head.length;
    if (this.#tailLength === 0 && room > 0) {
      this.#head += text.slice(0, room);
      text = text.slice(room);
    }
    if (text === "") return;
    // One copy at a time, or a slice would keep a whole chunk alive.
    this.#tail.push(text.length > TAIL_BYTES ? text.slice(-TAIL_BYTES) : text);
    this.dropped += Math.max(0, text.length - TAIL_BYTES);
    this.#tailLength += Math.min(text.length, TAIL_BYTES);
    if (this.#tailLength > TAIL_BYTES * 8) this.#trim();
  }

  #trim(): void {
    const text = this.#tail.join("");
    const cut = Math.max(0, text.length - TAIL_BYTES);
    this.dropped += cut;
    this.#tail = [text.slice(cut)];
    this.#tailLength = text.length - cut;
  }

  /** Both ends joined, with a line in between that says what is missing. */
  text(): string {
    this.#trim();
    const tail = this.#tail.join("");
    if (this.dropped === 0) return this.#head + tail;
    return `${this.#head}\n[… ${this.dropped} characters left out …]\n${tail}`;
  }
}

/** Why bytes are taken for binary: NUL among them and they don't read as NUL-separated text. */
export function looksBinary(bytes: Uint8Array): boolean {
  const sample = bytes.subarray(0, SNIFF_BYTES);
  if (!sample.includes(0)) return false;
  const text = new TextDecoder().decode(sample).replace(/\uFFFD{1,3}$/, "");
  // `find -print0` and `git ls-files -z` are text; a run of NULs is not.
  return /\uFFFD|\0\0|[\x01-\x08\x0e-\x1a\x1c-\x1f]/.test(text);
}

/** The whole of both streams, written only once there is more than fits a result. */
export class SpillFile {
  #path: string;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #fd: number | null = null;
  #written = 0;
  #failed = false;
  readonly #redact: ((text: string) => string) | undefined;
  #held = "";

  constructor(path: string, redact?: (text: string) => string) {
    this.#path = path;
    this.#redact = redact;
  }

  push(bytes: Uint8Array): void {
    if (this.#failed || this.#written >= SPILL_BYTES) return;
    if (this.#fd !== null) return this.#pass(bytes);
    this.#pending.push(bytes.slice());
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes > HELD_BYTES) this.#open();
  }

  /** Closes the file. Null when everything fitted or the file couldn't be written. */
  close(): { path: string; capped: boolean } | null {
    if (this.#fd === null) return null;
    this.#write(Buffer.from(this.#held, "latin1"));
    closeSync(this.#fd);
    this.#fd = null;
    return this.#failed ? null : { path: this.#path, capped: this.#written >= SPILL_BYTES };
  }

  #open(): void {
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      this.#fd = openSync(this.#path, "wx", 0o600);
    } catch {
      // A full or read-only home must not stop the command: head and tail are still there.
      this.#failed = true;
    }
    const pending = this.#pending;
    this.#pending = [];
    for (const bytes of pending) this.#pass(bytes);
  }

  /** Keys are ASCII, so one character per byte will do. One that a chunk's end cuts is whole again with the next chunk. */
  #pass(bytes: Uint8Array): void {
    if (!this.#redact) return this.#write(bytes);
    const text = this.#redact(
      this.#held + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1"),
    );
    const end = Math.max(0, text.length - HELD_CHARS);
    this.#held = text.slice(end);
    this.#write(Buffer.from(text.slice(0, end), "latin1"));
  }

  #write(bytes: Uint8Array): void {
    if (this.#fd === null || this.#failed) return;
    const part = bytes.subarray(0, SPILL_BYTES - this.#written);
    try {
      for (let at = 0; at < part.length;) at += writeSync(this.#fd, part, at);
      this.#written += part.length;
    } catch {
      this.#failed = true;
    }
  }
}
