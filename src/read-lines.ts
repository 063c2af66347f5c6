/** A range of lines of a file of any size, in bounded memory. Decodes; numbers and labels are for the caller. */
import { fstatSync, read, readSync } from "node:fs";
import { cutHead } from "./text.ts";

export interface LineRange {
  /** 1-based. */
  offset: number;
  limit: number;
  /** Lines above this many UTF-16 units are cut. */
  maxLineChars: number;
  /** The lines taken cost no more than this many bytes together. */
  maxBytes: number;
  /** Up to this size the file is read to its end: lines counted, content hashed. */
  wholeBytes: number;
  signal: AbortSignal;
}

export interface Line {
  text: string;
  /** UTF-16 units left out. */
  dropped: number;
}

export interface LinesRead {
  lines: Line[];
  /** Of the first line that was asked for and not taken; null at the end of the file. */
  next: number | null;
  /** Null when the file was not read to its end. */
  total: number | null;
  /** SHA-256 in hex; null as `total`. */
  hash: string | null;
  /** Null as `total`. */
  endsInNewline: boolean | null;
  /** False when a line taken holds bytes that are no UTF-8; they come out as U+FFFD. */
  validUtf8: boolean;
}

/** Bytes read into the buffer; 0 at the end. `position` null goes on from where the descriptor stands. */
export function readAt(fd: number, buffer: Buffer, position: number | null): Promise<number> {
  return new Promise((resolve, reject) =>
    read(fd, buffer, 0, buffer.length, position, (error, bytesRead) => (error ? reject(error) : resolve(bytesRead))),
  );
}

const CHUNK_BYTES = 1024 * 1024;
const SMALLEST_BYTES = 16 * 1024;
/** What is read without leaving the thread: for a small file the way there and back takes longer than the reading. */
const AT_ONCE_BYTES = 64 * 1024;

/** Reads lines from an open file descriptor. CR before LF and a byte order mark are no part of a line. Rejects when aborted. */
export async function readLines(fd: number, range: LineRange): Promise<LinesRead> {
  const scan = new Scan(range);
  const { size } = fstatSync(fd);
  // A byte more than the file has: its end shows in the first read. Files of /proc say 0 and hold more.
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(SMALLEST_BYTES, size + 1)));
  const isSmall = size > 0 && size <= AT_ONCE_BYTES;
  for (let position = 0; ;) {
    range.signal.throwIfAborted();
    const bytesRead = isSmall ? readSync(fd, buffer, 0, buffer.length, position) : await readAt(fd, buffer, position);
    position += bytesRead;
    scan.push(buffer.subarray(0, bytesRead));
    if (bytesRead === 0 || (isSmall && bytesRead < buffer.length)) return scan.end(true);
    if (scan.full && position > range.wholeBytes) return scan.end(false);
  }
}

class Scan {
  readonly #range: LineRange;
  readonly #lines: Line[] = [];
  #hash: Bun.CryptoHasher | null = new Bun.CryptoHasher("sha256");
  #seen = 0;
  #taken = 0;
  /** 1-based number of the line that the next byte belongs to. */
  #line = 1;
  #last = 0x0a;
  #validUtf8 = true;
  #next: number | null = null;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #droppedChars = 0;

  constructor(range: LineRange) {
    this.#range = range;
  }

  /** The range is complete, and at least one byte lies beyond it. */
  get full(): boolean {
    return this.#next !== null;
  }

  push(chunk: Buffer): void {
    this.#seen += chunk.length;
    if (this.#seen > this.#range.wholeBytes) this.#hash = null;
    this.#hash?.update(chunk);
    this.#last = chunk.at(-1) ?? this.#last;
    for (let at = 0; at < chunk.length;) {
      const end = chunk.indexOf(0x0a, at);
      if (this.#wanted()) this.#keep(chunk.subarray(at, end < 0 ? chunk.length : end));
      if (end < 0) return;
      this.#endLine();
      at = end + 1;
    }
  }

  end(reachedEnd: boolean): LinesRead {
    const openLine = this.#last !== 0x0a;
    if (reachedEnd && openLine) this.#endLine();
    return {
      lines: this.#lines,
      next: this.#next,
      total: reachedEnd ? this.#line - 1 : null,
      hash: reachedEnd ? (this.#hash?.digest("hex") ?? null) : null,
      endsInNewline: reachedEnd ? !openLine : null,
      validUtf8: this.#validUtf8,
    };
  }

  #wanted(): boolean {
    if (this.#line < this.#range.offset || this.#next !== null) return false;
    if (this.#lines.length < this.#range.limit) return true;
    this.#next = this.#line;
    return false;
  }

  /** Four bytes a character is the most, so what is beyond them is dropped in any case; it is only counted. */
  #keep(piece: Buffer): void {
    const room = Math.max(0, this.#range.maxLineChars * 4 + 4 - this.#keptBytes);
    const kept = Buffer.from(piece.subarray(0, room));
    this.#kept.push(kept);
    this.#keptBytes += kept.length;
    this.#droppedChars += countUnits(piece.subarray(room));
  }

  #endLine(): void {
    if (this.#line >= this.#range.offset && this.#next === null) this.#take();
    this.#line++;
  }

  #take(): void {
    const bytes = Buffer.concat(this.#kept);
    const text = this.#decode(this.#droppedChars === 0 ? withoutCr(bytes) : bytes);
    const cut = cutHead(this.#line === 1 ? text.replace(/^\ufeff/, "") : text, this.#range.maxLineChars);
    this.#taken += lineCost(cut.text);
    // The first line is taken in any case: a range that gives nothing can't be gone on from.
    if (this.#taken > this.#range.maxBytes && this.#lines.length > 0) this.#next = this.#line;
    else this.#lines.push({ text: cut.text, dropped: cut.dropped + this.#droppedChars });
    this.#kept = [];
    this.#keptBytes = 0;
    this.#droppedChars = 0;
  }

  #decode(bytes: Buffer): string {
    const text = bytes.toString("utf8");
    // A kept piece may end in the middle of a character: that says nothing about the file.
    if (this.#droppedChars === 0 && text.includes("\ufffd") && !bytes.equals(Buffer.from(text)))
      this.#validUtf8 = false;
    return text;
  }
}

/** Bytes a line takes once it has a number, a tab and a line end. */
export function lineCost(text: string): number {
  return Buffer.byteLength(text) + 8;
}

function withoutCr(bytes: Buffer): Buffer {
  return bytes.at(-1) === 0x0d ? bytes.subarray(0, -1) : bytes;
}

/** UTF-16 units: one per character, two for those that take four bytes. */
function countUnits(bytes: Buffer): number {
  let units = 0;
  for (const byte of bytes) if ((byte & 0xc0) !== 0x80) units += byte >= 0xf0 ? 2 : 1;
  return units;
}
