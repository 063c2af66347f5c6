/** The time one MCP call may take: begun anew by progress, stopped while a question waits for its answer, with an end to it all. */

/** Progress begins the time anew, but not for ever. A longer `timeoutMs` lifts it. */
export const CALL_CAP_MS = 10 * 60_000;

/** Why a call was given up. The message says which limit it was. */
export class CallTimeout extends Error {
  override name = "CallTimeout";
}

export class CallClock {
  readonly #controller = new AbortController();
  readonly #limitMs: number;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #cap: { timer: ReturnType<typeof setTimeout>; startedAt: number } | undefined;
  #capLeftMs: number;
  #paused = 0;
  #forget: () => void;

  /** `signal` ends the call as well; a reason of its own is passed on. */
  constructor(limitMs: number, signal: AbortSignal, capMs = CALL_CAP_MS) {
    this.#limitMs = limitMs;
    this.#capLeftMs = Math.max(capMs, limitMs);
    const onAbort = (): void => this.#controller.abort(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#forget = () => signal.removeEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    this.#run();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The server shows that it works. */
  progress(): void {
    if (this.#paused === 0) this.#restartIdle();
  }

  /** Stops the time while `work` waits for a person. */
  async pause<T>(work: () => Promise<T>): Promise<T> {
    if (this.#paused++ === 0) this.#halt();
    try {
      return await work();
    } finally {
      if (--this.#paused === 0) this.#run();
    }
  }

  /** For the end of the call; idempotent. */
  stop(): void {
    this.#paused = Infinity;
    this.#halt();
    this.#forget();
  }

  #run(): void {
    if (this.#controller.signal.aborted) return;
    this.#restartIdle();
    const timer = setTimeout(() => this.#end(this.#capLeftMs, "in all"), this.#capLeftMs);
    this.#cap = { timer, startedAt: performance.now() };
  }

  #halt(): void {
    clearTimeout(this.#idle);
    if (!this.#cap) return;
    clearTimeout(this.#cap.timer);
    this.#capLeftMs = Math.max(1, this.#capLeftMs - (performance.now() - this.#cap.startedAt));
    this.#cap = undefined;
  }

  #restartIdle(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#end(this.#limitMs, "without progress"), this.#limitMs);
  }

  #end(ms: number, how: string): void {
    this.#controller.abort(new CallTimeout(`no answer within ${Math.round(ms / 100) / 10} s ${how}`));
  }
}
