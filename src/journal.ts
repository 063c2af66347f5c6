/** A session's append-only file: one JSON line for each change, so that a killed process loses nothing it had announced. Knows lines, not their meaning. */
import { closeSync, fdatasync, ftruncateSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { errnoOf } from "./errors.ts";
import { parseHealed, problemOf, writeFully, writeStoreNow, type StoreProblem } from "./store.ts";

export interface JournalRead {
  /** Parsed lines, in order. */
  entries: unknown[];
  /** Bytes up to the end of the last whole line. */
  goodBytes: number;
  /** Whole lines that are no JSON: a disk lost them. */
  damaged: number;
}

/** Reads a journal. A torn last line is left out; a missing file is an empty one. Throws when the file can't be read. */
export function readJournal(path: string): JournalRead {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return { entries: [], goodBytes: 0, damaged: 0 };
    throw error;
  }
  const goodBytes = bytes.lastIndexOf(0x0a) + 1;
  const lines = bytes.toString("utf8", 0, goodBytes).split("\n").slice(0, -1);
  const parsed = lines.map(parseLine);
  const entries = parsed.filter((entry) => entry !== undefined);
  return { entries, goodBytes, damaged: parsed.length - entries.length };
}

function parseLine(line: string): unknown {
  try {
    return parseHealed(line);
  } catch {
    // Counted as damaged by the caller.
    return undefined;
  }
}

/**
 * Writes lines. Never throws: what can't be written is kept and written by a later `retry`, in order.
 * One writer at a time; the session's lock sees to that.
 */
export class Journal {
  readonly path: string;
  #file: number | null = null;
  #bytes: number;
  #waiting: string[] = [];
  #held: boolean;
  #tail: string[] | null = null;
  #problem: StoreProblem | null = null;

  /** `goodBytes`: what `readJournal` found; anything after it is cut off. `held`: nothing touches the disk before `release`. */
  constructor(path: string, options: { goodBytes?: number; held?: boolean } = {}) {
    this.path = path;
    this.#bytes = options.goodBytes ?? 0;
    this.#held = options.held ?? false;
  }

  /** Bytes in the file. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Why lines are waiting; null while all is written. */
  get problem(): StoreProblem | null {
    return this.#problem;
  }

  /** Adds a line, which must not contain a line break. */
  append(line: string): void {
    this.#tail?.push(line);
    this.#waiting.push(line);
    // A full disk is not asked again at every line: that would copy all waiting lines each time.
    if (!this.#held && !this.#problem) this.retry();
  }

  /** Lets held lines through. */
  release(): void {
    if (!this.#held) return;
    this.#held = false;
    this.retry();
  }

  /** Writes what waits. True when nothing waits any more. */
  retry(): boolean {
    if (this.#held || this.#waiting.length === 0) return this.#waiting.length === 0;
    try {
      const file = this.#open();
      const text = this.#waiting.map((line) => `${line}\n`).join("");
      this.#bytes += writeFully(file, text);
      this.#waiting = [];
      this.#problem = null;
      return true;
    } catch (error) {
      this.#problem = problemOf(error, this.path);
      this.#cutToGood();
      return false;
    }
  }

  /** Forces written lines to the disk itself. Failure shows in the next write. */
  async sync(): Promise<void> {
    const file = this.#file;
    if (file === null) return;
    await new Promise<void>((resolve) => fdatasync(file, () => resolve()));
  }

  /** Starts remembering the lines that come from now on: what a fold that is under way will not contain. */
  mark(): void {
    this.#tail = [];
  }

  /** Drops everything before the mark, once it is in the record. Never throws: a line kept twice does no harm. */
  dropToMark(): void {
    const tail = this.#tail ?? [];
    this.#tail = null;
    if (tail.length > 0) this.#replace(tail);
    else this.#clear();
  }

  /** Idempotent. Lines still waiting are lost with the process. An empty file goes too. */
  close(): void {
    if (this.#file === null) return;
    closeSync(this.#file);
    this.#file = null;
    if (this.#bytes === 0) rmSync(this.path, { force: true });
  }

  #open(): number {
    if (this.#file !== null) return this.#file;
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    this.#file = openSync(this.path, "a", 0o600);
    ftruncateSync(this.#file, this.#bytes);
    return this.#file;
  }

  // A write that failed half-way leaves a torn line, to which the next one must not be glued.
  #cutToGood(): void {
    try {
      ftruncateSync(this.#open(), this.#bytes);
    } catch {
      // Opened, and cut, by the next attempt.
      this.#file = null;
    }
  }

  #clear(): void {
    this.#waiting = [];
    this.#problem = null;
    this.#bytes = 0;
    this.#cutToGood();
  }

  #replace(lines: readonly string[]): void {
    const text = lines.map((line) => `${line}\n`).join("");
    if (writeStoreNow(this.path, text)) return;
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
    this.#bytes = Buffer.byteLength(text);
    this.#waiting = [];
    this.#problem = null;
  }
}
