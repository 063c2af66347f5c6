/** How long an endpoint may be silent: the limits of one exchange, as an abort signal. Knows nothing of HTTP. */
import { ProviderError } from "./errors.ts";

export interface ClockOptions {
  /** Milliseconds until the first byte of the answer's body; 0 waits for ever. */
  firstByteMs: number;
  /** Milliseconds between bytes; 0 waits for ever. */
  idleMs: number;
  /** The caller's own. */
  signal: AbortSignal;
}

const LINGER_MS = 300;
// A server that keeps the socket open and never sends its end marker must not hold up a finished answer.
const LAST_MS = 3_000;
// A program that was stopped (ctrl-z, a suspended laptop) or starved wakes with its limits long past, and its mail unread.
const ASLEEP_MS = 50;

/** First-byte and idle limits of one exchange, joined with the caller's signal. Any byte is life, comments too. */
export class Clock {
  readonly signal: AbortSignal;
  /** Why it rang, once it has. */
  late: ProviderError | null = null;
  readonly #controller = new AbortController();
  readonly #firstByteMs: number;
  readonly #idleMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor({ firstByteMs, idleMs, signal }: ClockOptions) {
    this.signal = AbortSignal.any([signal, this.#controller.signal]);
    this.#firstByteMs = firstByteMs;
    this.#idleMs = idleMs;
  }

  /** The request goes out: the wait for its first byte begins. */
  begin(): void {
    this.#arm(this.#firstByteMs, "no answer");
  }

  /** Begins a wait for more bytes. */
  start(): void {
    this.#arm(this.#idleMs, "the answer stopped: nothing");
  }

  /** Begins a wait for the end marker of an answer that has said why it ends. */
  startLast(): void {
    this.#arm(this.#idleMs > 0 ? Math.min(LAST_MS, this.#idleMs) : LAST_MS, "no end of the answer: nothing");
  }

  /** Begins a short wait for what may follow an answer that is complete: usage, a second answer, the end. */
  linger(): void {
    this.#arm(LINGER_MS, "nothing behind the answer");
  }

  /** What came too late was not needed after all. */
  forgive(): void {
    this.stop();
    this.late = null;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Nobody listens any more: the request is aborted. */
  end(): void {
    this.stop();
    this.#controller.abort();
  }

  #arm(ms: number, what: string): void {
    clearTimeout(this.#timer);
    if (ms <= 0) return;
    const due = performance.now() + ms;
    this.#timer = setTimeout(() => this.#ring(ms, what, due), ms);
  }

  #ring(ms: number, what: string, due: number): void {
    if (performance.now() - due > ASLEEP_MS) return this.#arm(ms, what);
    const hint = "Raise timeoutMs, or set it to 0 for no limit.";
    this.late = new ProviderError(`${what} for ${ms < 1000 ? `${ms} ms` : `${Math.round(ms / 1000)} s`}`, {
      kind: "timeout",
      hint,
    });
    this.#controller.abort();
  }
}
