/** Many producers, one async iterator: events of calls that run together come out as one stream. Unbounded; the loop drains it as it goes. */

export class Channel<T> implements AsyncIterable<T> {
  #items: T[] = [];
  #waiting: (() => void) | null = null;
  #closed = false;
  #failure: { error: unknown } | null = null;

  /** Adds an item. After `close` it is dropped: a late producer must not bring a finished turn back to life. */
  push(item: T): void {
    if (this.#closed) return;
    this.#items.push(item);
    this.#wake();
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }

  /** Ends the stream with an error once what is queued has been read. */
  fail(error: unknown): void {
    if (this.#closed) return;
    this.#failure = { error };
    this.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      // Swapped, not shifted: shift() on a long array is quadratic.
      const batch = this.#items;
      this.#items = [];
      yield* batch;
      if (this.#items.length > 0) continue;
      if (this.#closed) break;
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
    if (this.#failure) throw this.#failure.error;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.();
  }
}
