/** Streams that break the rules of their wire in ways that endpoints are known for, and still have one right reading. */
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Wire } from "../src/provider.ts";
import type { JsonObject, ToolCallPart } from "../src/types.ts";
import { type Answer, ask, collect, endpoint, failure, open, request, user } from "./support/model-kit.ts";
import { type ModelServer, type Reply, startModelServer } from "./support/model-server.ts";

let server: ModelServer;
let next: Reply[] = [];
let at = 0;

beforeAll(async () => {
  server = await startModelServer(() => next[Math.min(at++, next.length - 1)] ?? { text: "ok" }, { lenient: true });
});
afterAll(() => server.close());

async function reply(wire: Wire, replies: Reply[], maxRetries = 0): Promise<Answer & { sent: number }> {
  next = replies;
  at = 0;
  const answer = await ask(server, wire, request([user("hi")]), { maxRetries });
  return { ...answer, sent: at };
}

const DONE = "data: [DONE]\n\n";
const named = (events: JsonObject[]): string =>
  events.map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`).join("");
const chunk = (delta: JsonObject, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const piece = (fn: JsonObject, more: JsonObject = {}): JsonObject => ({ ...more, function: fn });
const pieces = (...calls: JsonObject[]): string => chunk({ tool_calls: calls });

const brief = (calls: ToolCallPart[]) => calls.map((call) => [call.name, call.input, call.inputError?.kind ?? null]);

describe("chat: whose call a piece belongs to", () => {
  test.each<[string, string[], unknown[]]>([
    [
      "two whole calls in one delta, without index and id",
      [pieces(piece({ name: "ls", arguments: '{"path":"x"}' }), piece({ name: "ls", arguments: '{"path":"y"}' }))],
      [
        ["ls", { path: "x" }, null],
        ["ls", { path: "y" }, null],
      ],
    ],
    [
      "two whole calls with empty ids",
      [
        pieces(piece({ name: "ls", arguments: '{"path":"x"}' }, { id: "" })),
        pieces(piece({ name: "ls", arguments: '{"path":"y"}' }, { id: "" })),
      ],
      [
        ["ls", { path: "x" }, null],
        ["ls", { path: "y" }, null],
      ],
    ],
    [
      "two whole calls under one index, without ids",
      [
        pieces(piece({ name: "ls", arguments: '{"path":"x"}' }, { index: 0 })),
        pieces(piece({ name: "ls", arguments: '{"path":"y"}' }, { index: 0 })),
      ],
      [
        ["ls", { path: "x" }, null],
        ["ls", { path: "y" }, null],
      ],
    ],
    [
      "two calls without arguments, told apart by their names alone",
      [pieces(piece({ name: "ls", arguments: "" })), pieces(piece({ name: "status", arguments: "" }))],
      [
        ["ls", {}, null],
        ["status", {}, null],
      ],
    ],
    [
      "one call whose pieces repeat its name",
      [
        pieces(piece({ name: "ls", arguments: '{"path":' })),
        pieces(piece({ name: "ls", arguments: '"a}b' })),
        pieces(piece({ name: "ls", arguments: '"}' })),
      ],
      [["ls", { path: "a}b" }, null]],
    ],
    [
      "one call whose index counts its pieces",
      [
        pieces(piece({ name: "ls", arguments: "" }, { index: 0, id: "a" })),
        pieces(piece({ arguments: '{"path":' }, { index: 1, id: "a" })),
        pieces(piece({ arguments: '"x"}' }, { index: 2, id: "a" })),
      ],
      [["ls", { path: "x" }, null]],
    ],
    [
      "two calls that were given one id",
      [
        pieces(
          piece({ name: "ls", arguments: '{"path":"x"}' }, { index: 0, id: "a" }),
          piece({ name: "ls", arguments: '{"path":"y"}' }, { index: 1, id: "a" }),
        ),
      ],
      [
        ["ls", { path: "x" }, null],
        ["ls", { path: "y" }, null],
      ],
    ],
  ])("%s", async (_, events, calls) => {
    const answer = await reply("chat", [{ raw: [...events, chunk({}, "tool_calls"), DONE] }]);
    expect(brief(answer.calls)).toEqual(calls as never[]); // The table's rows are plain values.
    expect(new Set(answer.calls.map((call) => call.id)).size).toBe(answer.calls.length);
  });
});

describe("chat: arguments in odd forms", () => {
  test.each<[string, string[], JsonObject]>([
    ["an empty object first, the arguments behind it", ["{}", '{"path":"x"}'], { path: "x" }],
    ["the arguments in pieces, then once more", ['{"path"', ':"x"}', '{"path":"x"}'], { path: "x" }],
    ["an empty list, as PHP writes an empty object", ["[]"], {}],
  ])("%s", async (_, texts, input) => {
    const events = texts.map((text, place) =>
      pieces(
        piece({ ...(place === 0 && { name: "ls" }), arguments: text }, { index: 0, ...(place === 0 && { id: "a" }) }),
      ),
    );
    const answer = await reply("chat", [{ raw: [...events, chunk({}, "tool_calls"), DONE] }]);
    expect(brief(answer.calls)).toEqual([["ls", input, null]]);
  });

  test("two different objects in one call stay an error", async () => {
    const raw = [
      pieces(piece({ name: "ls", arguments: '{"a":1}{"b":2}' }, { index: 0, id: "a" })),
      chunk({}, "stop"),
      DONE,
    ];
    expect(brief((await reply("chat", [{ raw }])).calls)).toEqual([["ls", {}, "invalid"]]);
  });
});

const TOOL_BLOCK = { type: "tool_use", id: "t", name: "ls", input: {} };
const START: JsonObject = {
  type: "message_start",
  message: { role: "assistant", content: [], usage: { input_tokens: 3 } },
};
const block = (content_block: JsonObject, index = 0): JsonObject => ({
  type: "content_block_start",
  index,
  content_block,
});
const part = (delta: JsonObject, index = 0): JsonObject => ({ type: "content_block_delta", index, delta });
const blockEnd = (index = 0): JsonObject => ({ type: "content_block_stop", index });
const ends = (reason: string): JsonObject[] => [
  { type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 2 } },
  { type: "message_stop" },
];
const item = (type: "added" | "done", value: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: `response.output_item.${type}`,
  item: value,
  ...more,
});
const completed = (output: JsonObject[] = [], more: JsonObject = {}): JsonObject => ({
  type: "response.completed",
  response: { status: "completed", output, ...more },
});
const incomplete = (reason: string): JsonObject => ({
  type: "response.incomplete",
  response: { status: "incomplete", incomplete_details: { reason }, output: [] },
});
const message = (text: string, id = "m1"): JsonObject => ({
  type: "message",
  id,
  content: [{ type: "output_text", text }],
});
const functionCall = (args: string, more: JsonObject = {}): JsonObject => ({
  type: "function_call",
  id: "f1",
  call_id: "c1",
  name: "ls",
  arguments: args,
  ...more,
});

describe("a call without arguments at the end of the token limit never got to them and is not run", () => {
  test.each<[Wire, string]>([
    ["chat", pieces(piece({ name: "ls", arguments: "" }, { index: 0, id: "a" })) + chunk({}, "length") + DONE],
    ["anthropic", named([START, block(TOOL_BLOCK), blockEnd(), ...ends("max_tokens")])],
    ["anthropic", named([START, block(TOOL_BLOCK), ...ends("max_tokens")])],
    ["responses", named([item("done", functionCall("", { status: "incomplete" })), incomplete("max_output_tokens")])],
    ["responses", named([item("added", functionCall("")), incomplete("max_output_tokens")])],
  ])("%s", async (wire, raw) => {
    expect(brief((await reply(wire, [{ raw }])).calls)).toEqual([["ls", {}, "truncated"]]);
  });

  test.each<[Wire, string]>([
    ["chat", pieces(piece({ name: "ls", arguments: "{}" }, { index: 0, id: "a" })) + chunk({}, "length") + DONE],
    [
      "anthropic",
      named([START, block(TOOL_BLOCK), blockEnd(), block({ type: "text", text: "and" }, 1), ...ends("max_tokens")]),
    ],
    ["responses", named([item("done", functionCall("{}")), incomplete("max_output_tokens")])],
  ])("but one that was complete before the limit is: %s", async (wire, raw) => {
    expect(brief((await reply(wire, [{ raw }])).calls)).toEqual([["ls", {}, null]]);
  });
});

describe("anthropic: blocks that break the rules", () => {
  test("text whose block was never begun is kept", async () => {
    const raw = named([START, part({ type: "text_delta", text: "hi" }), ...ends("end_turn")]);
    const answer = await reply("anthropic", [{ raw }]);
    expect(answer.text).toBe("hi");
    expect(answer.parts).toEqual([{ type: "text", text: "hi" }]);
  });

  test("text in a block whose start doesn't say what it is is kept", async () => {
    const raw = named([START, block({}), part({ type: "text_delta", text: "hi" }), blockEnd(), ...ends("end_turn")]);
    expect((await reply("anthropic", [{ raw }])).parts).toEqual([{ type: "text", text: "hi" }]);
  });

  test("blocks that all have index 0 and no end are all kept, in order", async () => {
    const raw = named([
      START,
      block({ type: "text", text: "" }),
      part({ type: "text_delta", text: "hi" }),
      block(TOOL_BLOCK),
      part({ type: "input_json_delta", partial_json: '{"path":"x"}' }),
      block({ ...TOOL_BLOCK, id: "t2" }),
      ...ends("tool_use"),
    ]);
    const answer = await reply("anthropic", [{ raw }]);
    expect(answer.parts[0]).toEqual({ type: "text", text: "hi" });
    expect(brief(answer.calls)).toEqual([
      ["ls", { path: "x" }, null],
      ["ls", {}, null],
    ]);
  });

  test("an input that is an empty list is an empty input", async () => {
    const raw = named([START, block({ ...TOOL_BLOCK, input: [] }), blockEnd(), ...ends("tool_use")]);
    expect(brief((await reply("anthropic", [{ raw }])).calls)).toEqual([["ls", {}, null]]);
  });
});

describe("responses: items that break the rules", () => {
  test.each<[string, JsonObject[]]>([
    [
      "no index at all",
      [
        item("added", { type: "message", id: "m1" }),
        { type: "response.output_text.delta", item_id: "m1", delta: "hi" },
        item("done", message("hi")),
        item("done", functionCall("{}")),
        completed(),
      ],
    ],
    [
      "index 0 for each",
      [
        item("added", { type: "message", id: "m1" }, { output_index: 0 }),
        { type: "response.output_text.delta", output_index: 0, item_id: "m1", delta: "hi" },
        item("done", message("hi"), { output_index: 0 }),
        item("added", functionCall(""), { output_index: 0 }),
        item("done", functionCall("{}"), { output_index: 0 }),
        completed(),
      ],
    ],
    [
      "index 0 for each, never announced",
      [
        item("done", message("hi"), { output_index: 0 }),
        item("done", functionCall("{}"), { output_index: 0 }),
        completed(),
      ],
    ],
    [
      "the call only in the final response",
      [item("done", message("hi"), { output_index: 0 }), completed([message("hi"), functionCall("{}")])],
    ],
    [
      "everything again in the final response",
      [
        item("done", message("hi"), { output_index: 0 }),
        item("done", functionCall("{}"), { output_index: 1 }),
        completed([message("hi"), functionCall("{}")]),
      ],
    ],
    [
      "everything again, under other ids",
      [
        item("added", { type: "message", id: "m0" }, { output_index: 0 }),
        { type: "response.output_text.delta", output_index: 0, item_id: "m9", delta: "hi" },
        item("done", message("hi", "m2"), { output_index: 0 }),
        item("done", functionCall("{}", { id: "f2" }), { output_index: 1 }),
        completed([message("hi", "m3"), functionCall("{}", { id: "f3" })]),
      ],
    ],
    [
      "deltas without an end, then the final response",
      [
        { type: "response.output_text.delta", item_id: "m1", delta: "hi" },
        completed([{ type: "reasoning", id: "r", summary: [] }, message("hi"), functionCall("{}")]),
      ],
    ],
  ])("%s: text and call come out once", async (_, events) => {
    const answer = await reply("responses", [{ raw: named(events) }]);
    expect(answer.text).toBe("hi");
    expect(answer.parts.filter((one) => one.type === "text")).toHaveLength(1);
    expect(brief(answer.calls)).toEqual([["ls", {}, null]]);
  });

  test.each<[string, JsonObject[]]>([
    ["in deltas only", [{ type: "response.function_call_arguments.delta", output_index: 0, delta: '{"path":"x"}' }]],
    [
      "in their last event only",
      [{ type: "response.function_call_arguments.done", output_index: 0, arguments: '{"path":"x"}' }],
    ],
    [
      "in deltas, with a finished item that leaves them out",
      [
        { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"path":' },
        { type: "response.function_call_arguments.delta", output_index: 0, delta: '"x"}' },
        item("done", functionCall(""), { output_index: 0 }),
      ],
    ],
  ])("arguments that come %s", async (_, events) => {
    const raw = named([item("added", functionCall(""), { output_index: 0 }), ...events, completed()]);
    expect(brief((await reply("responses", [{ raw }])).calls)).toEqual([["ls", { path: "x" }, null]]);
  });

  test("text that comes without deltas is said", async () => {
    const raw = named([{ type: "response.output_text.done", output_index: 0, text: "hi" }, completed()]);
    const answer = await reply("responses", [{ raw }]);
    expect([answer.text, answer.parts.length]).toEqual(["hi", 1]);
  });
});

describe("chat: content, reasons and framing in odd forms", () => {
  test.each<[string, string, string]>([
    [
      "an index that is text",
      `data: {"choices":[{"index":"0","delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n`,
      "hi",
    ],
    [
      "data framed twice",
      `data: data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: data: [DONE]\n\n`,
      "hi",
    ],
    [
      "the whole message once more at the end",
      `${chunk({ content: "h" })}${chunk({ content: "i" })}data: {"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}\n\n`,
      "hi",
    ],
    [
      "reasoning in deltas, the answer in a message",
      `${chunk({ reasoning_content: "hm" })}data: {"choices":[{"index":0,"message":{"content":"hi","reasoning_content":"hm"},"finish_reason":"stop"}]}\n\n`,
      "hi",
    ],
    ["content that is one part", chunk({ content: { type: "text", text: "hi" } }, "stop"), "hi"],
    [
      "lines of JSON without framing",
      `{"choices":[{"delta":{"content":"h"}}]}\n{"choices":[{"delta":{"content":"i"},"finish_reason":"stop"}]}\n`,
      "hi",
    ],
  ])("%s", async (_, raw, text) => {
    const answer = await reply("chat", [{ raw }]);
    expect([answer.text, answer.stop, answer.error]).toEqual([text, "end", null]);
    expect(answer.reasoning).toBe(raw.includes("hm") ? "hm" : "");
  });

  test.each<[string, string]>([
    ["SAFETY", "filter"],
    ["content_filter: RECITATION", "filter"],
    ["MAX_TOKENS", "length"],
    ["STOP", "end"],
  ])("the finish reason %s means %s", async (reason, stop) => {
    expect((await reply("chat", [{ raw: chunk({ content: "hi" }, reason) + DONE }])).stop).toBe(stop as never);
  });

  test("a stream that says `null` in words and then breaks off is cut, not complete", async () => {
    const answer = await reply("chat", [{ raw: chunk({ content: "half" }, "null") }]);
    expect(failure(answer).kind).toBe("network");
  });

  test("a malformed call of Gemini's is asked for again, twice at most", async () => {
    const bad = { raw: chunk({}, "function_call_filter: MALFORMED_FUNCTION_CALL") + DONE };
    expect((await reply("chat", [bad, { text: "ok" }], 3)).text).toBe("ok");
    const never = await reply("chat", [bad], 5);
    expect([failure(never).code, never.sent]).toEqual(["tool_use_failed", 3]);
  });

  test("an error in a field of its own is that error", async () => {
    const body = { code: 400, type: "exceed_context_size_error", message: "the request exceeds the context size" };
    const answer = await reply("chat", [{ raw: `error: ${JSON.stringify(body)}\n\n` }], 3);
    expect([failure(answer).kind, answer.sent]).toEqual(["context", 1]);
  });

  test.each<[string, JsonObject, string, number]>([
    ["a message with a code", { message: "Too many requests", code: 429 }, "rate", 2],
    ["FastAPI's", { detail: "Internal trouble" }, "server", 2],
  ])("an error inside the stream that lacks the word: %s", async (_, data, kind, sent) => {
    const answer = await reply("chat", [{ raw: `data: ${JSON.stringify(data)}\n\n` }], 1);
    expect([failure(answer).kind, answer.sent]).toEqual([kind as never, sent]);
    expect(failure(answer).message).toBe(String(data.message ?? data.detail));
  });

  test.each<[Wire, JsonObject[]]>([
    [
      "anthropic",
      [START, block({ type: "text", text: "" }), part({ type: "text_delta", text: "hi" }), ...ends("end_turn")],
    ],
    ["responses", [{ type: "response.output_text.delta", output_index: 0, delta: "hi" }, completed()]],
  ])("events whose type stands only in their name: %s", async (wire, events) => {
    const raw = events.map(({ type, ...data }) => `event: ${String(type)}\ndata: ${JSON.stringify(data)}\n\n`).join("");
    const answer = await reply(wire, [{ raw }]);
    expect([answer.text, answer.stop, answer.error]).toEqual(["hi", "end", null]);
  });

  test("a plain text with status 200 is an error that shows it, and is not repeated", async () => {
    const text = { status: 200, body: "no healthy upstream", headers: { "content-type": "text/plain" } };
    const answer = await reply("chat", [text], 3);
    expect(failure(answer).kind).toBe("content");
    expect(failure(answer).message).toContain("no healthy upstream");
    expect(answer.sent).toBe(1);
  });
});

// The two that wait for what never comes do so at the same time.
test.concurrent(
  "a refusal whose body breaks off or never ends is still that refusal",
  async () => {
    const answers = await Promise.all(
      (["break off", "never end"] as const).map(async (how) => {
        const refusing = createServer((socket) => {
          socket.on("error", () => socket.destroy());
          socket.once("data", () => {
            const head = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n";
            socket.write(`${head}{"error":`, () => void (how === "break off" && socket.end()));
          });
        });
        await new Promise<void>((resolve) => refusing.listen(0, "127.0.0.1", resolve));
        const { port } = refusing.address() as AddressInfo; // A TCP server that listens has a port.
        const where = endpoint(`http://127.0.0.1:${port}/v1`);
        const answer = await collect(open(where).stream(request([user("hi")]), new AbortController().signal));
        refusing.close();
        return [failure(answer).kind, failure(answer).status];
      }),
    );
    expect(answers).toEqual([
      ["auth", 401],
      ["auth", 401],
    ]);
  },
  8000,
);

test.concurrent(
  "an answer that is complete does not wait for an end marker that never comes",
  async () => {
    const silent: [Wire, string][] = [
      ["chat", chunk({ content: "hi" }, "stop")],
      ["anthropic", named([START, block({ type: "text", text: "hi" }), blockEnd(), ...ends("end_turn").slice(0, 1)])],
    ];
    // At the same time: each waits a few seconds for a marker.
    const answers = await Promise.all(
      silent.map(async ([wire, raw]) => {
        const own = await startModelServer([{ raw, hang: "stream" }], { lenient: true });
        const answer = await ask(own, wire, request([user("hi")]), { maxRetries: 0 });
        await own.close();
        return [answer.text, answer.stop, answer.error];
      }),
    );
    expect(answers).toEqual([
      ["hi", "end", null],
      ["hi", "end", null],
    ]);
  },
  8000,
);

describe("a proxy that is the trouble is named", () => {
  async function through(proxy: string): Promise<Answer> {
    const at = endpoint("https://api.example.test/v1");
    const env = { HTTPS_PROXY: proxy };
    return collect(open(at, { env, maxRetries: 2 }).stream(request([user("hi")]), new AbortController().signal));
  }

  test.each([
    ["407 Proxy Authentication Required", "request", "password", 1],
    ["403 Forbidden", "request", "NO_PROXY", 1],
    ["502 Bad Gateway", "network", "NO_PROXY", 3],
  ])("%s instead of a tunnel", async (status, kind, hint, asked) => {
    let times = 0;
    const proxy = createServer((socket) => {
      socket.on("error", () => socket.destroy());
      socket.once("data", () => socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`));
      times++;
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const { port } = proxy.address() as AddressInfo; // A TCP server that listens has a port.
    const error = failure(await through(`http://me:secret@127.0.0.1:${port}`));
    proxy.close();
    expect([error.kind, times]).toEqual([kind as never, asked]);
    expect(error.message).toContain(status);
    expect(error.hint).toContain(hint);
    expect(`${error.message} ${error.hint}`).not.toContain("secret");
  });

  test("one that isn't there", async () => {
    const error = failure(await through("http://me:secret@127.0.0.1:1"));
    expect([error.kind, error.message]).toEqual(["network", "could not connect to api.example.test"]);
    expect(error.hint).toBe("The request went through the proxy 127.0.0.1:1: is that right?");
  });
});

test("what stands behind the ? of a base URL goes along with every request", async () => {
  next = [{ text: "ok" }];
  at = 0;
  const base = `${server.url}/deployments/gpt/?api-version=2026-01-01`;
  const answer = await collect(open(endpoint(base)).stream(request([user("hi")]), new AbortController().signal));
  expect(answer.text).toBe("ok");
  expect(server.requests.at(-1)?.path).toBe("/v1/deployments/gpt/chat/completions?api-version=2026-01-01");
});

describe("redirects", () => {
  const moved = (status: number, location: string): Reply => ({ status, body: "", headers: { location } });

  test.each([301, 302, 307, 308])("%d to another path of the same host is followed with the body", async (status) => {
    const answer = await reply("chat", [moved(status, "/v2/chat/completions"), { text: "ok" }]);
    expect([answer.text, answer.sent]).toEqual(["ok", 2]);
    const last = server.requests.at(-1);
    expect([last?.method, last?.path, last?.body.model]).toEqual(["POST", "/v2/chat/completions", "test-model"]);
  });

  test.each([
    ["another host", "http://127.0.0.2:9/v1/chat/completions"],
    ["another port", "http://127.0.0.1:9/v1/chat/completions"],
    ["another scheme", "file:///etc/passwd"],
  ])("one to %s would carry the key there and is an error", async (_, location) => {
    const answer = await reply("chat", [moved(307, location)], 3);
    expect(failure(answer).kind).toBe("request");
    expect(failure(answer).message).toContain(location);
    expect(answer.sent).toBe(1);
  });

  test("one without end stops", async () => {
    const answer = await reply("chat", [moved(307, "/v1/chat/completions")], 3);
    expect([failure(answer).kind, answer.sent]).toEqual(["request", 4]);
  });
});
