/** Stdout and stderr as sinks over their file descriptors: `process.stdout` would take longer to make than the rest of a start. Ordered, never blocking the loop. */
import { fstatSync, statSync, write, type Stats } from "node:fs";
import { errnoOf } from "./errors.ts";
import type { Sink } from "./output.ts";

/** A full pipe that doesn't block is tried again after this. */
const RETRY_MS = 4;

/** True when a person watches this descriptor. */
export function isTerminal(fd: number): boolean {
  const stat = statOf(() => fstatSync(fd));
  if (stat?.isCharacterDevice() !== true || stat.rdev === statOf(() => statSync("/dev/null"))?.rdev) return false;
  // The module that knows terminals loads the network with it: what can be told without is told above.
  return process.getBuiltinModule("node:tty").isatty(fd);
}

/** Sinks for both. Where they are one file, one pipe or one terminal, what is written first comes out first. */
export function openSinks(): { stdout: Sink; stderr: Sink } {
  const [out, err] = [1, 2].map((fd) => statOf(() => fstatSync(fd)));
  const same = out && err && out.dev === err.dev && out.ino === err.ino && out.rdev === err.rdev;
  const queue = new Queue();
  return { stdout: sinkOf(1, queue), stderr: sinkOf(2, same === true ? queue : new Queue()) };
}

function statOf(look: () => Stats): Stats | null {
  try {
    return look();
  } catch {
    return null; // closed, or a system without it: the first write says what is wrong
  }
}

/** Errors reach each write's own callback; nothing breaks in between. */
function sinkOf(fd: number, queue: Queue): Sink {
  return { write: (text, done) => queue.push({ fd, text, done }), on: () => {} };
}

interface Piece {
  fd: number;
  text: string;
  done: (error?: Error | null) => void;
}

/** One write at a time, by the runtime's threads: a reader that takes nothing holds up only what follows. */
class Queue {
  #waiting: Piece[] = [];
  #busy = false;

  push(piece: Piece): boolean {
    this.#waiting.push(piece);
    if (!this.#busy) void this.#run();
    return true;
  }

  async #run(): Promise<void> {
    this.#busy = true;
    while (this.#waiting.length > 0) {
      const pieces = this.#takeRun();
      const text = pieces.map((piece) => piece.text).join("");
      const failure = await writeAll(pieces[0]?.fd ?? 1, new TextEncoder().encode(text));
      for (const { done } of pieces) done(failure);
    }
    this.#busy = false;
  }

  /** What goes to one descriptor in a row goes out in one write. */
  #takeRun(): Piece[] {
    const fd = this.#waiting[0]?.fd;
    const end = this.#waiting.findIndex((piece) => piece.fd !== fd);
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }
}

async function writeAll(fd: number, bytes: Uint8Array): Promise<Error | null> {
  for (let from = 0; from < bytes.length;) {
    const outcome = await writeSome(fd, bytes.subarray(from));
    if (typeof outcome === "number") from += outcome;
    else if (errnoOf(outcome) === "EAGAIN") await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    else return outcome;
  }
  return null;
}

function writeSome(fd: number, bytes: Uint8Array): Promise<number | Error> {
  return new Promise((resolve) =>
    write(fd, bytes, 0, bytes.length, null, (error, written) => resolve(error ?? written)),
  );
}
