/** The one writer to stdout and stderr: writes in order, knows when the reader went away, and is flushed before the program ends. */
import { errnoOf } from "./errors.ts";

/** What Output needs of a stream; process.stdout and process.stderr are such. */
export interface Sink {
  write(text: string, done: (error?: Error | null) => void): boolean;
  on(event: "error", listener: (error: Error) => void): unknown;
}

export class Output {
  #open: () => Sink;
  #sink: Sink | null = null;
  #pending = 0;
  #backlog = 0;
  #idle: (() => void)[] = [];
  #closed = false;
  #onClose: (() => void) | null = null;

  /** `open` is called at the first write: making the process's streams costs a third of an empty start. */
  constructor(open: () => Sink) {
    this.#open = open;
  }

  /** The reader is gone (EPIPE, EIO …): writing goes nowhere from here on. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Characters written that have not left the process yet. */
  get backlog(): number {
    return this.#closed ? 0 : this.#backlog;
  }

  /** Called once when the reader goes away. */
  onClose(listener: () => void): void {
    this.#stream();
    this.#onClose = listener;
    if (this.#closed) listener();
  }

  write(text: string): void {
    if (this.#closed || text === "") return;
    this.#pending++;
    this.#backlog += text.length;
    this.#stream().write(text, (error) => {
      this.#pending--;
      this.#backlog -= text.length;
      if (error) this.#fail(error);
      if (this.#pending === 0) this.#release();
    });
  }

  /** Resolves when everything written has left the process, or can't any more, or the signal fires. */
  async flush(signal?: AbortSignal): Promise<void> {
    if (this.#pending === 0 || this.#closed || signal?.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle.push(resolve);
    const stop = (): void => resolve();
    signal?.addEventListener("abort", stop, { once: true });
    await promise;
    signal?.removeEventListener("abort", stop);
  }

  #stream(): Sink {
    if (this.#sink) return this.#sink;
    this.#sink = this.#open();
    this.#sink.on("error", (error) => this.#fail(error));
    return this.#sink;
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#release();
    const listener = this.#onClose;
    this.#onClose = null;
    listener?.();
    const code = errnoOf(error);
    // A reader that left is ordinary; ENOSPC on a redirected stdout must not look like success.
    if (code !== "EPIPE" && code !== "EIO" && code !== "ECONNRESET") this.failure = error;
  }

  /** Why the stream broke, unless its reader just left. */
  failure: Error | null = null;

  #release(): void {
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }
}
