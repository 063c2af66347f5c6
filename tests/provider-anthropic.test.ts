/** The messages wire: blocks in and out, thinking kept byte for byte, cache marks, errors inside the stream. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isObject } from "../src/provider-errors.ts";
import type { Json, JsonObject, Message } from "../src/types.ts";
import {
  type Answer,
  ask,
  assistant,
  call,
  collect,
  endpoint,
  failure,
  open,
  request,
  results,
  said,
  user,
} from "./support/model-kit.ts";
import { type ModelServer, type Reply, startModelServer } from "./support/model-server.ts";

let server: ModelServer;
let next: Reply[] = [];
let at = 0;

beforeAll(async () => {
  server = await startModelServer(() => next[Math.min(at++, next.length - 1)] ?? { text: "ok" }, { lenient: true });
});
afterAll(() => server.close());

const frame = (event: JsonObject) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`;
const start: JsonObject = {
  type: "message_start",
  message: {
    role: "assistant",
    content: [],
    usage: { input_tokens: 5, cache_read_input_tokens: 3, cache_creation_input_tokens: 2, output_tokens: 1 },
  },
};
const block = (index: number, content_block: JsonObject, ...deltas: JsonObject[]): JsonObject[] => [
  { type: "content_block_start", index, content_block },
  ...deltas.map((delta): JsonObject => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index },
];
const text = (index: number, words: string) =>
  block(index, { type: "text", text: "" }, { type: "text_delta", text: words });
const toolUse = (index: number, ...json: string[]) =>
  block(
    index,
    { type: "tool_use", id: `t${index}`, name: "ls", input: {} },
    ...json.map((partial_json): JsonObject => ({ type: "input_json_delta", partial_json })),
  );
const end = (stop_reason: string): JsonObject[] => [
  { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 9, input_tokens: null } },
  { type: "message_stop" },
];

async function streamed(events: JsonObject[], maxRetries = 0): Promise<Answer> {
  next = [{ raw: events.map(frame).join("") }];
  at = 0;
  return ask(server, "anthropic", request([user("hi")]), { maxRetries });
}

async function bodyOf(messages: Message[], more: Parameters<typeof request>[1] = {}): Promise<JsonObject> {
  next = [{ text: "ok" }];
  const before = server.requests.length;
  await collect(open(endpoint(server.url, "anthropic")).stream(request(messages, more), new AbortController().signal));
  return server.requests[before]?.body ?? {};
}

const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
const sentBlocks = (body: JsonObject, message: number) => objects(objects(body.messages)[message]?.content);

describe("thinking", () => {
  const blocks = [
    ...block(
      0,
      { type: "thinking", thinking: "", signature: "" },
      { type: "thinking_delta", thinking: "I " },
      { type: "thinking_delta", thinking: "think \n" },
      { type: "signature_delta", signature: "sig" },
      { type: "signature_delta", signature: "A" },
    ),
    ...block(1, { type: "redacted_thinking", data: "enc1" }),
    ...block(2, { type: "thinking", thinking: "", signature: "" }, { type: "signature_delta", signature: "sigB" }),
    ...toolUse(3, '{"path":', '"x"}'),
  ];

  test("goes back as it came: joined, in order, redacted and empty blocks too", async () => {
    const answer = await streamed([start, ...blocks, ...end("tool_use")]);
    expect(answer.reasoning).toBe("I think \n");
    // As a saved session would give it back.
    const kept: Message = JSON.parse(JSON.stringify(said(answer, server, "test-model", "anthropic")));
    const body = await bodyOf([user("a"), kept, results("t3")]);
    expect(sentBlocks(body, 1)).toEqual([
      { type: "thinking", thinking: "I think \n", signature: "sigA" },
      { type: "redacted_thinking", data: "enc1" },
      { type: "thinking", thinking: "", signature: "sigB" },
      { type: "tool_use", id: "t3", name: "ls", input: { path: "x" } },
    ]);
  });

  test("that broke off before its signature stays at home", async () => {
    const answer = await streamed([start, ...blocks.slice(0, 2), ...text(1, "x").slice(0, 2)]);
    expect(failure(answer).kind).toBe("network");
    const body = await bodyOf([user("a"), said(answer, server, "test-model", "anthropic"), user("go on")]);
    expect(sentBlocks(body, 1)).toEqual([{ type: "text", text: "x" }]);
  });

  test("with a budget is left out for a tool loop that began without it", async () => {
    const model = "claude-sonnet-4-5";
    const fresh = await bodyOf([user("a")], { model, thinking: "high" });
    expect(fresh.thinking).toEqual({ type: "enabled", budget_tokens: 16_384 });
    const open = await bodyOf([user("a"), assistant([call("c1")]), results("c1")], { model, thinking: "high" });
    expect(open).not.toHaveProperty("thinking");
    const closed = await bodyOf(
      [user("a"), assistant([call("c1")]), results("c1"), assistant([{ type: "text", text: "b" }]), user("c")],
      { model, thinking: "high" },
    );
    expect(closed).toHaveProperty("thinking");
  });

  test("leaves room for an answer below max_tokens", async () => {
    for (const thinking of ["low", "medium", "high", "max"] as const) {
      const body = await bodyOf([user("a")], { model: "claude-sonnet-4-5", thinking, maxOutputTokens: 6000 });
      const budget = isObject(body.thinking) ? Number(body.thinking.budget_tokens) : 0;
      expect(budget).toBeLessThan(Number(body.max_tokens));
    }
  });
});

describe("answers", () => {
  test("input and cache shares add up to the prompt; the last output count holds", async () => {
    const answer = await streamed([start, ...text(0, "hello"), ...end("end_turn")]);
    expect(answer.usage).toEqual({
      inputTokens: 10,
      outputTokens: 9,
      cacheReadTokens: 3,
      cacheWriteTokens: 2,
      reasoningTokens: 0,
    });
  });

  test.each([
    ["no delta", []],
    ["an empty delta", [""]],
    ["blanks", ["  "]],
  ])("a call with %s runs with {}", async (_, json) => {
    const answer = await streamed([start, ...toolUse(0, ...json), ...end("tool_use")]);
    expect(answer.calls[0]).toEqual({ type: "tool-call", id: "t0", name: "ls", input: {} });
    const body = await bodyOf([user("a"), said(answer, server, "test-model", "anthropic"), results("t0")]);
    expect(sentBlocks(body, 1)[0]?.input).toEqual({});
  });

  test.each(["max_tokens", "tool_use"])(
    "a call cut in the middle is not run, and goes back as an object (%s)",
    async (reason) => {
      const answer = await streamed([start, ...toolUse(0, '{"path":"a", "content":"hel'), ...end(reason)]);
      expect(answer.calls[0]?.inputError?.kind).toBe("truncated");
      const body = await bodyOf([user("a"), said(answer, server, "test-model", "anthropic"), results("t0")]);
      expect(sentBlocks(body, 1)[0]?.input).toEqual({});
    },
  );

  test("input given whole at the start of the block counts", async () => {
    const answer = await streamed([
      start,
      ...block(0, { type: "tool_use", id: "t0", name: "ls", input: { path: "w" } }),
      ...end("tool_use"),
    ]);
    expect(answer.calls[0]?.input).toEqual({ path: "w" });
  });

  test.each([
    ["max_tokens", "length"],
    ["refusal", "refusal"],
    ["stop_sequence", "end"],
    ["model_context_window_exceeded", "context"],
    ["something_new", "end"],
  ])("stop_reason %s is the stop %s", async (reason, wanted) => {
    const answer = await streamed([start, ...text(0, "x"), ...end(reason)]);
    expect(String(answer.stop)).toBe(wanted);
  });

  test("blocks and events of newer clients are passed over", async () => {
    const answer = await streamed([
      start,
      { type: "ping" },
      { type: "novelty" },
      ...block(0, { type: "server_tool_use", id: "s", name: "web_search", input: {} }),
      ...text(1, "x"),
      ...end("end_turn"),
    ]);
    expect([answer.error, answer.text, answer.parts.length]).toEqual([null, "x", 1]);
  });
});

describe("streams that fail", () => {
  const overloaded: JsonObject = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };

  test("an overload before any content is tried again", async () => {
    next = [{ raw: [start, { type: "ping" }, overloaded].map(frame).join("") }, { text: "fine" }];
    at = 0;
    const answer = await ask(server, "anthropic", request([user("hi")]));
    expect(answer.text).toBe("fine");
    expect(answer.retries).toHaveLength(1);
  });

  test("an overload in the middle ends the answer: the half call is dropped", async () => {
    const answer = await streamed([start, ...text(0, "some words"), ...toolUse(1, '{"pa').slice(0, 2), overloaded], 3);
    expect(failure(answer).kind).toBe("rate");
    expect([answer.text, answer.calls.length, answer.retries.length, answer.stop]).toEqual(["some words", 0, 0, null]);
  });

  test.each([
    ["api_error", "server"],
    ["rate_limit_error", "rate"],
    ["authentication_error", "auth"],
    ["billing_error", "quota"],
    ["invalid_request_error", "request"],
    ["timeout_error", "server"],
  ])("%s in a stream is of kind %s", async (type, kind) => {
    const answer = await streamed([start, { type: "error", error: { type, message: "words" } }]);
    expect(String(failure(answer).kind)).toBe(kind);
  });

  test("an end of the file before message_stop is a cut", async () => {
    const answer = await streamed([start, ...text(0, "Hello wo").slice(0, 2)]);
    expect(failure(answer).kind).toBe("network");
    expect(answer.parts).toEqual([{ type: "text", text: "Hello wo" }]);
  });
});

describe("what goes out", () => {
  const marks = (body: JsonObject) =>
    [
      ...objects(body.system),
      ...objects(body.tools),
      ...objects(body.messages).flatMap((message) => objects(message.content)),
    ].filter((one) => one.cache_control !== undefined);

  test("at most four cache marks over a long session, none on thinking or empty blocks", async () => {
    const history: Message[] = [];
    for (let turn = 0; turn < 40; turn++)
      history.push(
        user(`q${turn}`),
        assistant([call(`c${turn}`)]),
        results(`c${turn}`),
        assistant([{ type: "text", text: `a${turn}` }]),
      );
    history.push({
      role: "user",
      content: [
        { type: "text", text: "last" },
        { type: "text", text: " " },
      ],
    });
    const marked = marks(await bodyOf(history));
    expect(marked.length).toBeGreaterThanOrEqual(2);
    expect(marked.length).toBeLessThanOrEqual(4);
    expect(marked.some((one) => one.type === "thinking" || one.text === " ")).toBe(false);
    expect(marked.some((one) => one.text === "last")).toBe(true);
  });

  test("without a system text the last tool is marked", async () => {
    const body = await bodyOf([user("a")], { system: " " });
    expect(body).not.toHaveProperty("system");
    expect(objects(body.tools).at(-1)).toHaveProperty("cache_control");
  });

  test("results come first in one user message, errors flagged, notes behind", async () => {
    const body = await bodyOf([
      user("a"),
      assistant([call("c1"), call("c2")]),
      {
        role: "tool",
        results: [
          { callId: "c1", name: "ls", content: [], isError: true },
          { callId: "c2", name: "ls", content: [{ type: "text", text: "x" }], isError: false },
        ],
        notes: ["n"],
      },
      user("b"),
    ]);
    expect(sentBlocks(body, 2).map((one) => [one.type, one.is_error ?? null])).toEqual([
      ["tool_result", true],
      ["tool_result", null],
      ["text", null],
      ["text", null],
    ]);
  });

  test("text behind a call moves before it", async () => {
    const body = await bodyOf([
      user("a"),
      assistant([{ type: "text", text: "one" }, call("c1"), { type: "text", text: "two" }]),
      results("c1"),
    ]);
    expect(sentBlocks(body, 1).map((one) => one.text ?? one.type)).toEqual(["one", "two", "tool_use"]);
  });

  test.each([
    [null, "claude-sonnet-4-5", 32_000],
    [500, "claude-sonnet-4-5", 500],
    [10_000_000, "claude-sonnet-4-5", 64_000],
    [null, "unknown-model", 32_000],
  ])("max_tokens for %p on %s", async (maxOutputTokens, model, wanted) => {
    expect((await bodyOf([user("a")], { model, maxOutputTokens })).max_tokens).toBe(wanted);
  });

  test("an answer to be shaped by a schema says so only to Anthropic itself", async () => {
    expect(await bodyOf([user("a")], { outputSchema: { type: "object" } })).not.toHaveProperty("output_config");
  });
});
