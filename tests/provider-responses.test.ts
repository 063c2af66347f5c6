/** The responses wire: items in and out, encrypted reasoning, every way a stream ends. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isObject } from "../src/provider-errors.ts";
import { repair } from "../src/prune.ts";
import type { Json, JsonObject, Message } from "../src/types.ts";
import { type Answer, ask, assistant, call, failure, request, results, said, user } from "./support/model-kit.ts";
import { type ModelServer, type Reply, startModelServer } from "./support/model-server.ts";

let server: ModelServer;
let next: Reply[] = [];
let at = 0;

beforeAll(async () => {
  server = await startModelServer(() => next[Math.min(at++, next.length - 1)] ?? { text: "ok" }, { lenient: true });
});
afterAll(() => server.close());

const frame = (event: JsonObject) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`;
const item = (output_index: number, value: JsonObject, ...between: JsonObject[]): JsonObject[] => [
  { type: "response.output_item.added", output_index, item: value },
  ...between.map((event): JsonObject => ({ output_index, ...event })),
  { type: "response.output_item.done", output_index, item: value },
];
const reasoning = (id: string, encrypted_content: string, ...texts: string[]): JsonObject => ({
  type: "reasoning",
  id,
  status: "completed",
  encrypted_content,
  summary: texts.map((text) => ({ type: "summary_text", text })),
});
const message = (text: string, more: JsonObject = {}): JsonObject => ({
  type: "message",
  id: "m1",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [] }],
  ...more,
});
const fnCall = (call_id: string, args: string): JsonObject => ({
  type: "function_call",
  id: `fc_${call_id}`,
  call_id,
  name: "ls",
  arguments: args,
});
const completed = (more: JsonObject = {}): JsonObject => ({
  type: "response.completed",
  response: {
    status: "completed",
    output: [],
    usage: { input_tokens: 4, output_tokens: 6, total_tokens: 10, output_tokens_details: { reasoning_tokens: 2 } },
    ...more,
  },
});

async function streamed(events: JsonObject[], maxRetries = 0): Promise<Answer> {
  next = [{ raw: events.map(frame).join("") }];
  at = 0;
  return ask(server, "responses", request([user("hi")]), { maxRetries });
}

async function bodyOf(messages: Message[], more: Parameters<typeof request>[1] = {}): Promise<JsonObject> {
  next = [{ text: "ok" }];
  const before = server.requests.length;
  await ask(server, "responses", request(messages, more));
  return server.requests[before]?.body ?? {};
}

const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
const shape = (body: JsonObject) => objects(body.input).map((one) => one.encrypted_content ?? one.call_id ?? one.role);

describe("reasoning items", () => {
  test.each(["  \n", ""])("keep the message of %j they led to, so that the pair stays whole", async (blank) => {
    const answer = await streamed([
      { type: "response.created", response: {} },
      ...item(0, reasoning("rs_1", "e1")),
      ...item(1, message(blank)),
      ...item(2, fnCall("call_1", "{}")),
      completed(),
    ]);
    const history = repair([user("a"), said(answer, server), results("call_1")]);
    const body = await bodyOf(history);
    expect(shape(body)).toEqual(["user", "e1", "assistant", "call_1", "call_1"]);
    const elsewhere = await bodyOf([
      user("a"),
      {
        ...said(answer, server),
        content: [{ type: "text", text: blank, meta: { origin: "other", data: { blank: true } } }, call("call_1")],
      },
      results("call_1"),
    ]);
    expect(shape(elsewhere)).toEqual(["user", "call_1", "call_1"]);
  });

  test("go back inline, in order, encrypted, with a summary and without ids", async () => {
    const answer = await streamed([
      { type: "response.created", response: {} },
      ...item(0, reasoning("rs_1", "e1")),
      ...item(1, fnCall("call_1", "{}")),
      ...item(2, reasoning("rs_2", "e2", "why")),
      ...item(3, message("done")),
      completed(),
    ]);
    const body = await bodyOf([user("a"), said(answer, server), results("call_1")]);
    expect(objects(body.input).slice(1, 5)).toEqual([
      { type: "reasoning", encrypted_content: "e1", summary: [] },
      { type: "function_call", call_id: "call_1", name: "ls", arguments: "{}" },
      { type: "reasoning", encrypted_content: "e2", summary: [{ type: "summary_text", text: "why" }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "done", annotations: [] }] },
    ]);
    expect([body.store, body.include]).toEqual([false, ["reasoning.encrypted_content"]]);
  });

  test("with nothing after them are dropped", async () => {
    const answer = await streamed([
      ...item(0, reasoning("rs_1", "e1")),
      ...item(1, fnCall("call_1", "{}")),
      ...item(2, reasoning("rs_2", "e2")),
    ]);
    expect(failure(answer).kind).toBe("network");
    expect(shape(await bodyOf([user("a"), said(answer, server), results("call_1")]))).toEqual([
      "user",
      "e1",
      "call_1",
      "call_1",
    ]);
  });

  test("without encrypted content, or of another model, stay at home", async () => {
    const answer = await streamed([
      ...item(0, { type: "reasoning", id: "rs", summary: [] }),
      ...item(1, reasoning("rs_1", "e1")),
      ...item(2, message("x")),
      completed(),
    ]);
    expect(shape(await bodyOf([user("a"), said(answer, server), user("b")]))).toEqual([
      "user",
      "e1",
      "assistant",
      "user",
    ]);
    expect(shape(await bodyOf([user("a"), said(answer, server), user("b")], { model: "other" }))).toEqual([
      "user",
      "assistant",
      "user",
    ]);
  });

  test("parts of a summary are paragraphs", async () => {
    const part = (summary_index: number, delta: string): JsonObject => ({
      type: "response.reasoning_summary_text.delta",
      summary_index,
      delta,
    });
    const answer = await streamed([
      ...item(0, reasoning("rs_1", "e1", "One", "Two"), part(0, "On"), part(0, "e"), part(1, "Two")),
      ...item(1, message("x")),
      completed(),
    ]);
    expect(answer.reasoning).toBe("One\n\nTwo");
    expect(answer.parts[0]).toMatchObject({ type: "reasoning", text: "One\n\nTwo" });
  });
});

describe("answers", () => {
  test("text of deltas is shown once; the phase of a message goes back", async () => {
    const answer = await streamed([
      ...item(
        0,
        message("hello", { phase: "commentary" }),
        { type: "response.output_text.delta", delta: "hel" },
        { type: "response.output_text.delta", delta: "lo" },
      ),
      completed(),
    ]);
    expect([answer.text, answer.stop]).toEqual(["hello", "end"]);
    const body = await bodyOf([user("a"), said(answer, server), user("b")]);
    expect(objects(body.input)[1]?.phase).toBe("commentary");
  });

  test("an item without deltas is shown when it is complete, and one known from the end only too", async () => {
    expect((await streamed([...item(0, message("late")), completed()])).text).toBe("late");
    const atEnd = await streamed([completed({ output: [message("end"), fnCall("c9", '{"path":"p"}')] })]);
    expect([atEnd.text, atEnd.calls[0]?.input, atEnd.stop]).toEqual(["end", { path: "p" }, "tool"]);
  });

  test("keep-alives and unknown events are passed over", async () => {
    const answer = await streamed([
      { type: "keepalive", sequence_number: 1 },
      { type: "response.novelty.delta", delta: "x" },
      ...item(0, message("ok")),
      completed(),
    ]);
    expect([answer.error, answer.text]).toEqual([null, "ok"]);
  });

  test("usage counts reasoning as output", async () => {
    const answer = await streamed([
      ...item(0, message("ok")),
      completed({
        usage: {
          input_tokens: 10,
          input_tokens_details: { cached_tokens: 8 },
          output_tokens: 5,
          total_tokens: 40,
          output_tokens_details: { reasoning_tokens: 25 },
        },
      }),
    ]);
    expect(answer.usage).toEqual({
      inputTokens: 10,
      outputTokens: 30,
      cacheReadTokens: 8,
      cacheWriteTokens: 0,
      reasoningTokens: 25,
    });
  });

  test.each([
    ["max_output_tokens", "length"],
    ["content_filter", "filter"],
  ])("incomplete because of %s is the stop %s", async (reason, stop) => {
    const end = {
      type: "response.incomplete",
      response: { status: "incomplete", incomplete_details: { reason }, output: [] },
    };
    const answer = await streamed([
      ...item(0, message("par"), { type: "response.output_text.delta", delta: "par" }).slice(0, 2),
      end,
    ]);
    expect([answer.text, String(answer.stop)]).toEqual(["par", stop]);
    expect(answer.parts).toEqual([{ type: "text", text: "par" }]);
  });

  test("a call cut by the limit is told to the model and not run", async () => {
    const end = {
      type: "response.incomplete",
      response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output: [] },
    };
    const open = await streamed([
      ...item(0, fnCall("c1", ""), { type: "response.function_call_arguments.delta", delta: '{"pa' }).slice(0, 2),
      end,
    ]);
    const done = await streamed([...item(0, fnCall("c1", '{"pa')), end]);
    for (const answer of [open, done])
      expect(answer.calls.map((one) => [one.id, one.inputError?.kind])).toEqual([["c1", "truncated"]]);
  });

  test("a refusal is text, and a refusal", async () => {
    const answer = await streamed([
      ...item(0, { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "no" }] }),
      completed(),
    ]);
    expect([answer.text, answer.stop]).toEqual(["no", "refusal"]);
  });
});

describe("streams that fail", () => {
  test.each<[JsonObject, string]>([
    [
      {
        type: "error",
        code: "context_length_exceeded",
        message: "Your input exceeds the context window of this model.",
      },
      "context",
    ],
    [{ type: "error", error: { type: "rate_limit_error", code: "rate_limit_exceeded", message: "slow down" } }, "rate"],
    [
      {
        type: "response.failed",
        response: { status: "failed", error: { code: "server_error", message: "The server had an error" } },
      },
      "server",
    ],
    [
      {
        type: "response.failed",
        response: {
          status: "failed",
          error: { code: "insufficient_quota", message: "You exceeded your current quota" },
        },
      },
      "quota",
    ],
  ])("%j", async (event, kind) => {
    const answer = await streamed([{ type: "response.created", response: {} }, event]);
    expect(String(failure(answer).kind)).toBe(kind);
  });

  test("an end of the file is a cut; a finished call before it is kept as a part, a half one not", async () => {
    const answer = await streamed([...item(0, fnCall("c1", "{}")), ...item(1, fnCall("c2", "{}")).slice(0, 1)]);
    expect(failure(answer).kind).toBe("network");
    expect(answer.calls.map((one) => one.id)).toEqual(["c1"]);
  });
});

describe("what goes out", () => {
  test("system as instructions, the session as cache key, tools not strict, a summary asked for", async () => {
    const body = await bodyOf([user("a")], { model: "gpt-5.6", thinking: "high", maxOutputTokens: 900 });
    expect([body.instructions, body.prompt_cache_key, body.max_output_tokens]).toEqual(["Be brief.", "s1", 900]);
    expect(objects(body.tools)[0]).toMatchObject({ type: "function", name: "ls", strict: false });
    expect(body.reasoning).toEqual({ effort: "high", summary: "auto" });
  });

  test("images of results stand in the output itself", async () => {
    const image = { type: "image" as const, mediaType: "image/png", data: "QUJD" };
    const body = await bodyOf([
      user("a"),
      assistant([call("c1")]),
      {
        role: "tool",
        results: [{ callId: "c1", name: "ls", content: [{ type: "text", text: "shot" }, image], isError: false }],
      },
    ]);
    expect(objects(body.input).at(-1)?.output).toEqual([
      { type: "input_text", text: "shot" },
      { type: "input_image", image_url: "data:image/png;base64,QUJD", detail: "auto" },
    ]);
  });
});
