/** The one retry layer: repeats a model call that failed before anything of its answer was delivered. Knows no wire. */
import { ProviderError } from "./errors.ts";
import type { ModelEvent } from "./types.ts";

export interface RetryPolicy {
  /** Repeats at most, beside the first try. */
  limit: number;
  now: () => number;
  /** 0 ≤ n < 1. */
  random: () => number;
  /** Resolves after `ms`; rejects with an AbortError when the signal fires. */
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

// Longer waits are for a person to decide on; a spinner for two days helps nobody.
const MAX_WAIT_MS = 2 * 60_000;
const FIRST_WAIT_MS = 1000;
const LONGEST_BACKOFF_MS = 30_000;
// Groq reports what the model got wrong; a third try rarely goes better.
const TOOL_USE_FAILED_LIMIT = 2;

/**
 * Streams `open()`, again after a wait when it failed in a way that may pass and no part of an answer was seen. Yields
 * a `retry` event before each wait. A wait asked for above two minutes fails at once and says when to come back.
 */
export async function* withRetry(
  open: () => AsyncIterable<ModelEvent>,
  policy: RetryPolicy,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  for (let attempt = 1; ; attempt++) {
    let delivered = false;
    try {
      for await (const event of open()) {
        delivered ||= isAnswer(event);
        yield event;
      }
      return;
    } catch (error) {
      if (signal.aborted || !(error instanceof ProviderError) || !error.retryable) throw error;
      if (delivered) throw brokenOff(error);
      if (attempt > limitFor(error, policy)) throw error;
      const waitMs = waitFor(error, attempt, policy);
      if (waitMs > MAX_WAIT_MS) throw tooLong(error, waitMs, policy.now());
      yield { type: "retry", attempt, limit: limitFor(error, policy), waitMs, reason: error.message };
      await policy.sleep(waitMs, signal);
    }
  }
}

// Afterwards the user has read half an answer.
const isAnswer = (event: ModelEvent) => event.type !== "notice" && event.type !== "retry";

const limitFor = (error: ProviderError, { limit }: RetryPolicy) =>
  error.code === "tool_use_failed" ? Math.min(limit, TOOL_USE_FAILED_LIMIT) : limit;

function waitFor(error: ProviderError, attempt: number, { random }: RetryPolicy): number {
  if (error.retryAfterMs !== undefined) return error.retryAfterMs;
  const backoff = Math.min(LONGEST_BACKOFF_MS, FIRST_WAIT_MS * 2 ** (attempt - 1));
  return Math.round(backoff * (1 + random() / 4));
}

/** What was read so far is kept; repeating the request would say it twice. */
function brokenOff(error: ProviderError): ProviderError {
  const hint = 'The answer so far is kept: "continue" goes on from it.';
  return changed(error, { hint: error.hint ? `${error.hint} ${hint}` : hint });
}

function tooLong(error: ProviderError, waitMs: number, now: number): ProviderError {
  const when = new Date(now + waitMs).toISOString().replace("T", " ").slice(0, 16);
  return changed(error, {
    message: `${error.message} (the provider asks to wait ${duration(waitMs)})`,
    hint: `Come back after ${when} UTC.`,
    retryAfterMs: waitMs,
  });
}

function changed(
  error: ProviderError,
  { message = error.message, ...more }: { message?: string; hint?: string; retryAfterMs?: number },
): ProviderError {
  return new ProviderError(message, {
    kind: error.kind,
    ...(error.status !== undefined && { status: error.status }),
    ...(error.code !== undefined && { code: error.code }),
    ...(error.requestId !== undefined && { requestId: error.requestId }),
    ...more,
    cause: error,
  });
}

function duration(ms: number): string {
  const minutes = Math.ceil(ms / 60_000);
  if (minutes < 120) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1440)} days`;
}

/** A wait that the signal ends at once. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(abortOf(signal));
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", stop, { once: true });
    function done(): void {
      signal.removeEventListener("abort", stop);
      resolve();
    }
    function stop(): void {
      clearTimeout(timer);
      reject(abortOf(signal));
    }
  });
}

/** The rejection of an aborted signal as an AbortError, whatever reason it was given. */
export function abortOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  if (reason instanceof Error && reason.name === "AbortError") return reason;
  return new DOMException("The request was aborted.", "AbortError");
}
