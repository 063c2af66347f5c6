/** The one retry layer: when it repeats, how long it waits, and when it gives up. */
import { describe, expect, test } from "bun:test";
import { ProviderError, type ProviderErrorKind } from "../src/errors.ts";
import { type RetryPolicy, sleep, withRetry } from "../src/retry.ts";
import type { ModelEvent } from "../src/types.ts";
import { ask, collect, endpoint, failure, open, request, user } from "./support/model-kit.ts";
import { startModelServer } from "./support/model-server.ts";

type Try = (ModelEvent | Error)[];

/** Plays one try after the other; an Error in a try is thrown there. */
async function play(tries: Try[], more: Partial<RetryPolicy> = {}) {
  const waits: number[] = [];
  let opened = 0;
  async function* open(): AsyncGenerator<ModelEvent> {
    for (const step of tries[opened++] ?? []) {
      if (step instanceof Error) throw step;
      yield step;
    }
  }
  const policy: RetryPolicy = {
    limit: 3,
    now: () => 0,
    random: () => 0,
    sleep: async (ms) => void waits.push(ms),
    ...more,
  };
  const answer = await collect(withRetry(open, policy, new AbortController().signal));
  return { answer, waits, opened };
}

const fail = (kind: ProviderErrorKind, more: Partial<ConstructorParameters<typeof ProviderError>[1]> = {}) =>
  new ProviderError(kind, { kind, ...more });
const text: ModelEvent = { type: "text", text: "hi" };
const stop: ModelEvent = { type: "stop", reason: "end" };

test.each(["rate", "server", "network", "timeout"] as const)(
  "%s before the answer is tried again with growing waits",
  async (kind) => {
    const { answer, waits } = await play([[fail(kind)], [fail(kind)], [fail(kind)], [text, stop]]);
    expect([answer.text, answer.error]).toEqual(["hi", null]);
    expect(waits).toEqual([1000, 2000, 4000]);
    expect(answer.retries.map(({ attempt, limit, waitMs, reason }) => [attempt, limit, waitMs, reason])).toEqual(
      [1000, 2000, 4000].map((ms, at) => [at + 1, 3, ms, kind]),
    );
  },
);

test.each(["auth", "quota", "context", "request", "shape", "content"] as const)(
  "%s is not tried again",
  async (kind) => {
    const { answer, opened } = await play([[fail(kind)], [text]]);
    expect([opened, failure(answer).kind]).toEqual([1, kind]);
  },
);

test("nothing is tried again once a word, a thought or a call was delivered; notices don't count", async () => {
  const deltas: ModelEvent[] = [text, { type: "reasoning", text: "r" }, { type: "tool-start", id: "c", name: "n" }];
  for (const event of deltas) {
    expect((await play([[event, fail("network")], [text]])).opened).toBe(1);
  }
  const { answer, opened } = await play([
    [{ type: "notice", level: "info", message: "m" }, fail("network")],
    [text, stop],
  ]);
  expect([opened, answer.text]).toEqual([2, "hi"]);
});

test("when the tries are used up the last error comes out", async () => {
  const { answer, opened } = await play([[fail("server", { status: 500 })], [fail("server", { status: 503 })]], {
    limit: 1,
  });
  expect([opened, failure(answer).status]).toEqual([2, 503]);
});

test("a limit of 0 means one try", async () => {
  expect((await play([[fail("rate")], [text]], { limit: 0 })).opened).toBe(1);
});

test("a bug is not tried again and keeps its class", async () => {
  const { answer, opened } = await play([[new TypeError("bug")], [text]]);
  expect([opened, answer.error?.name]).toEqual([1, "TypeError"]);
});

test("jitter only lengthens a wait", async () => {
  const { waits } = await play([[fail("rate")], [text]], { random: () => 0.999 });
  expect(waits[0]).toBeGreaterThanOrEqual(1000);
  expect(waits[0]).toBeLessThanOrEqual(1250);
});

describe("asked-for waits", () => {
  test.each([0, 1500, 120_000])("of %d ms are kept exactly", async (retryAfterMs) => {
    expect((await play([[fail("rate", { retryAfterMs })], [text]])).waits).toEqual([retryAfterMs]);
  });

  test.each([120_001, 198_300_000])("of %d ms fail at once and say when to come back", async (retryAfterMs) => {
    const { answer, waits, opened } = await play([[fail("rate", { retryAfterMs, status: 429 })], [text]]);
    expect([waits, opened, answer.retries.length]).toEqual([[], 1, 0]);
    expect(failure(answer).hint).toMatch(/Come back after 1970-01-0\d \d\d:\d\d UTC/);
    expect([failure(answer).kind, failure(answer).status]).toEqual(["rate", 429]);
  });

  test("from a server: twice 3 s, then the answer, over one retry layer", async () => {
    const limited = { status: 429, json: { error: { message: "slow down" } }, headers: { "retry-after": "3" } };
    const server = await startModelServer([limited, limited, { text: "ok" }]);
    for (const wire of ["chat", "anthropic"] as const) {
      const waits: number[] = [];
      const at = endpoint(server.url, wire === "chat" ? "openai" : "anthropic");
      const answer = await collect(open(at, {}, waits).stream(request([user("hi")]), new AbortController().signal));
      if (wire === "chat") expect([answer.text, waits]).toEqual(["ok", [3000, 3000]]);
    }
    expect(server.requests).toHaveLength(4);
    await server.close();
  });

  test("of days in a header are refused at once", async () => {
    const server = await startModelServer([
      { status: 429, json: { error: { message: "weekly limit" } }, headers: { "retry-after": "198300" } },
    ]);
    const answer = await ask(server, "anthropic", request([user("hi")]));
    expect(failure(answer).message).toContain("weekly limit");
    expect(server.requests).toHaveLength(1);
    await server.close();
  });
});

describe("an abort", () => {
  test("ends a wait at once", async () => {
    const controller = new AbortController();
    const waiting = sleep(60_000, controller.signal);
    controller.abort();
    expect(await waiting.catch((error: Error) => error.name)).toBe("AbortError");
    expect(await sleep(1, controller.signal).catch((error: Error) => error.name)).toBe("AbortError");
  });

  test("whatever its reason comes out as an AbortError", async () => {
    const controller = new AbortController();
    controller.abort("user");
    expect(await sleep(1, controller.signal).catch((error: Error) => error.name)).toBe("AbortError");
  });

  test("during a countdown ends the stream", async () => {
    const controller = new AbortController();
    async function* open(): AsyncGenerator<ModelEvent> {
      throw fail("rate", { retryAfterMs: 60_000 });
    }
    const policy: RetryPolicy = { limit: 3, now: () => 0, random: () => 0, sleep };
    const events: string[] = [];
    const run = (async () => {
      for await (const event of withRetry(open, policy, controller.signal)) {
        events.push(event.type);
        queueMicrotask(() => controller.abort());
      }
    })();
    expect(await run.catch((error: Error) => error.name)).toBe("AbortError");
    expect(events).toEqual(["retry"]);
  });
});
