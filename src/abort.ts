/** Waiting that a signal ends: the work itself goes on, and nobody is held by it. */

/** The work's value, or the signal's reason as a rejection. What the work throws after the signal is nobody's. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  work.catch(() => {}); // after the signal it is the signal that counts
  try {
    return await Promise.race([promise, work]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** The work's value, or null once the signal fires. Rejects as the work does before that. */
export async function orNull<T>(work: Promise<T>, signal: AbortSignal): Promise<T | null> {
  const over = Symbol("over");
  const { promise, resolve } = Promise.withResolvers<typeof over>();
  const stop = (): void => resolve(over);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  work.catch(() => {});
  try {
    const first = await Promise.race([promise, work]);
    return first === over ? null : first;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
