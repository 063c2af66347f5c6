/** A chat completions endpoint on loopback that streams one fixed answer, for the benchmark. */

export interface AnswerServer {
  /** API root. */
  url: string;
  stop(): void;
}

export interface AnswerTiming {
  /** Before the first piece. */
  firstMs?: number;
  /** After each piece. */
  pauseMs?: number;
  onRequest?(): void;
}

/** Streams `pieces` as deltas to every request. */
export function serveAnswer(pieces: readonly string[], timing: AnswerTiming = {}): AnswerServer {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch() {
      timing.onRequest?.();
      return new Response(answer(pieces, timing), { headers: { "content-type": "text/event-stream" } });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/v1`, stop: () => void server.stop(true) };
}

function answer(pieces: readonly string[], { firstMs = 0, pauseMs = 0 }: AnswerTiming): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const event = (choices: unknown[], rest: object = {}): Uint8Array =>
    encoder.encode(
      `data: ${JSON.stringify({ id: "bench", object: "chat.completion.chunk", created: 0, model: "bench", choices, ...rest })}\n\n`,
    );
  return new ReadableStream({
    async start(controller) {
      if (firstMs > 0) await Bun.sleep(firstMs);
      for (const content of pieces) {
        controller.enqueue(event([{ index: 0, delta: { role: "assistant", content }, finish_reason: null }]));
        if (pauseMs > 0) await Bun.sleep(pauseMs);
      }
      controller.enqueue(event([{ index: 0, delta: {}, finish_reason: "stop" }]));
      controller.enqueue(event([], { usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 } }));
      controller.enqueue(encoder.encode("data: [DONE]\n\n"));
      controller.close();
    },
  });
}
