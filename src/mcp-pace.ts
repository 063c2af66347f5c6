/** Keeps a server that never stops talking from taking the whole program: reading it rests now and then, which the server feels as a full pipe. Reads nothing itself. */

/** Longer work at a stretch is felt in the typing. */
const WORK_MS = 10;
/** What is left to the terminal and to other servers. */
const REST_MS = 5;
/** Answers to a server's own questions that it doesn't read would pile up without an end. */
const MAX_UNSENT = 200;
const UNSENT_POLL_MS = 20;

export class Pace {
  #since = performance.now();
  #unsent = 0;

  /** Counts what is on its way to the server. */
  async sending<T>(work: () => Promise<T>): Promise<T> {
    this.#unsent++;
    try {
      return await work();
    } finally {
      this.#unsent--;
    }
  }

  /** To be awaited between two pieces of what the server says. `isOver` ends the waiting for a server that reads nothing. */
  async rest(isOver: () => boolean = () => false): Promise<void> {
    while (this.#unsent > MAX_UNSENT && !isOver()) await Bun.sleep(UNSENT_POLL_MS);
    if (performance.now() - this.#since < WORK_MS) return;
    await Bun.sleep(REST_MS);
    this.#since = performance.now();
  }
}
