/** A chat completions endpoint on loopback for the benchmark: a fixed answer, or a script of tool calls; it notes when requests come and answers end. */

/** What one request is answered with. */
export type Answer = readonly string[] | { tool: string; input: object };

export interface AnswerServer {
  /** API root. */
  url: string;
  /** One entry a request: when its body was there and when the last byte of its answer was handed over, ms. */
  exchanges: { asked: number; answered: number; body: string }[];
  stop(): void;
}

export interface AnswerTiming {
  /** Before the first piece, ms. */
  firstMs?: number;
  /** After each piece, ms. */
  pauseMs?: number;
  onRequest?(): void;
}

/** Answers the nth request, from 0, with what `script` says of it. */
export function serveScript(script: (request: number) => Answer, timing: AnswerTiming = {}): AnswerServer {
  const exchanges: AnswerServer["exchanges"] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const body = await request.text();
      const exchange = { asked: performance.now(), answered: 0, body };
      exchanges.push(exchange);
      timing.onRequest?.();
      const stream = answer(script(exchanges.length - 1), timing, () => (exchange.answered = performance.now()));
      return new Response(stream, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/v1`, exchanges, stop: () => void server.stop(true) };
}

/** Streams `pieces` as deltas to every request. */
export function serveAnswer(pieces: readonly string[], timing: AnswerTiming = {}): AnswerServer {
  return serveScript(() => pieces, timing);
}

/** One event each; several pieces without a pause go out in one write, as they do under load. */
function answer(what: Answer, timing: AnswerTiming, done: () => void): ReadableStream<Uint8Array> {
  const { firstMs = 0, pauseMs = 0 } = timing;
  const encoder = new TextEncoder();
  return new ReadableStream({
    async start(controller) {
      if (firstMs > 0) await Bun.sleep(firstMs);
      for (const delta of deltasOf(what)) {
        controller.enqueue(encoder.encode(event([{ index: 0, delta, finish_reason: null }])));
        if (pauseMs > 0) await Bun.sleep(pauseMs);
      }
      const reason = "tool" in what ? "tool_calls" : "stop";
      const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
      controller.enqueue(encoder.encode(event([{ index: 0, delta: {}, finish_reason: reason }])));
      controller.enqueue(encoder.encode(`${event([], { usage })}data: [DONE]\n\n`));
      controller.close();
      done();
    },
  });
}

let calls = 0;

function deltasOf(what: Answer): object[] {
  if (!("tool" in what)) return what.map((content) => ({ role: "assistant", content }));
  const call = { name: what.tool, arguments: JSON.stringify(what.input) };
  return [{ role: "assistant", tool_calls: [{ index: 0, id: `call_${calls++}`, type: "function", function: call }] }];
}

function event(choices: unknown[], rest: object = {}): string {
  const chunk = { id: "bench", object: "chat.completion.chunk", created: 0, model: "bench", choices, ...rest };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}
