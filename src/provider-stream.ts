/** The body of a streamed answer on its way to an SDK: cleaned, watched by the clock, its errors classified. */
import { ProviderError } from "./errors.ts";
import type { Clock } from "./provider-clock.ts";
import { classifyPayload, classifyThrown, type FailureFacts } from "./provider-errors.ts";
import { mergeDeltas } from "./provider-merge.ts";
import { BrokenFrameError, errorIn, type Frame, FrameReader, isEnd, isLast, writeFrame } from "./provider-sse.ts";
import type { Wire } from "./provider.ts";

/** What is used of a body's reader; the two libraries that declare it disagree about the rest. */
export interface ByteReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** What is known of an exchange besides its bytes. */
export interface Progress {
  /** The end marker was seen (`[DONE]`, `message_stop`, `response.completed`), or the answer came in one piece. */
  ended: boolean;
  /** The classified reason why the answer broke off, whatever an SDK made of it. */
  failure: Error | null;
  url: string;
  /** What the request went through. */
  proxy: string | null;
}

export interface StreamParts {
  exchange: Progress;
  wire: Wire;
  /** Without a status: that of the response says nothing about an error inside it. */
  facts: FailureFacts;
  clock: Clock;
}

/** Reads on demand. Whatever comes after the end marker is passed on, but not waited for long. */
export class CleanStream {
  readonly #frames = new FrameReader();
  readonly #encoder = new TextEncoder();
  readonly #reader: ByteReader;
  readonly #parts: StreamParts;
  #pending: Uint8Array | null;
  #held: { error: unknown } | null = null;
  #isFinishing = false;

  constructor(first: Uint8Array, reader: ByteReader, parts: StreamParts) {
    this.#pending = first;
    this.#reader = reader;
    this.#parts = parts;
  }

  open(): ReadableStream<Uint8Array> {
    const source = {
      pull: (controller: ReadableStreamDefaultController<Uint8Array>) => this.#pull(controller),
      cancel: () => this.#stop(),
    };
    return new ReadableStream<Uint8Array>(source, { highWaterMark: 0 });
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      if (this.#held) throw this.#held.error;
      for (;;) {
        const bytes = await this.#next();
        const passed = this.#pass(controller, bytes ? this.#frames.push(bytes) : this.#frames.end());
        if (!bytes && !this.#held) return controller.close();
        if (passed) return;
      }
    } catch (error) {
      await this.#fail(controller, error);
    }
  }

  async #next(): Promise<Uint8Array | null> {
    const { clock, exchange } = this.#parts;
    const pending = this.#pending;
    this.#pending = null;
    if (pending) return pending;
    // The clock runs while we wait for bytes, not while the reader of our events takes its time.
    if (exchange.ended) clock.linger();
    else if (this.#isFinishing) clock.startLast();
    else clock.start();
    const { done, value } = await this.#reader.read();
    clock.stop();
    return done || !value ? null : value;
  }

  /** Hands over what is good; an error behind it waits for the next pull, since it would throw the good away. */
  #pass(controller: ReadableStreamDefaultController<Uint8Array>, frames: Iterable<Frame>): boolean {
    const good: string[] = [];
    try {
      for (const frame of mergeDeltas(frames)) {
        const error = errorIn(frame);
        if (error !== null) throw classifyPayload(error, this.#parts.facts);
        if (isEnd(frame, this.#parts.wire)) this.#parts.exchange.ended = true;
        this.#isFinishing ||= isLast(frame, this.#parts.wire);
        good.push(writeFrame(frame));
      }
    } catch (error) {
      if (good.length === 0) throw error;
      this.#held = { error };
    }
    if (good.length > 0) controller.enqueue(this.#encoder.encode(good.join("")));
    return good.length > 0;
  }

  async #fail(controller: ReadableStreamDefaultController<Uint8Array>, error: unknown): Promise<void> {
    const { exchange, clock } = this.#parts;
    // Behind the end marker there is nothing left to lose: some servers keep the socket open, or drop it.
    if (exchange.ended) controller.close();
    else {
      exchange.failure = explain(error, exchange, clock);
      controller.error(exchange.failure);
    }
    await this.#stop();
  }

  async #stop(): Promise<void> {
    this.#parts.clock.stop();
    await this.#reader.cancel().catch(ignoreClosed);
  }
}

/** Cancelling a body that has failed already rejects with the failure we hold. */
export function ignoreClosed(): void {}

/** The reason why an exchange failed: our clock, a frame that is none, or what the runtime threw. */
export function explain(error: unknown, { url, proxy }: Pick<Progress, "url" | "proxy">, clock: Clock): Error {
  if (clock.late) return clock.late;
  if (error instanceof BrokenFrameError) return new ProviderError(error.message, { kind: "server", cause: error });
  return classifyThrown(error, url, proxy);
}
