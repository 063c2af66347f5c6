/** The chat-completions wire: the dialects of its streams, and what goes out. */
import { HistoryItems } from "../src/provider-history.ts";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isObject } from "../src/provider-errors.ts";
import type { Json, JsonObject, Message } from "../src/types.ts";
import {
  type Answer,
  ask,
  assistant,
  call,
  endpoint,
  failure,
  open,
  collect,
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

const HI: Message[] = [user("hi")];

const frame = (value: unknown) => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
const delta = (value: JsonObject | null, finish: string | null = null): JsonObject => ({
  choices: [{ index: 0, delta: value, finish_reason: finish }],
});
const tools = (...calls: JsonObject[]) => delta({ tool_calls: calls });
const stop = delta({}, "stop");

/** The answer to a stream of these events, `[DONE]` behind them unless `end` says otherwise. */
async function streamed(
  events: (JsonObject | string)[],
  { end = frame("[DONE]"), history = HI, maxRetries = 0 } = {},
): Promise<Answer> {
  next = [
    {
      raw:
        events
          .map((event) =>
            typeof event === "string" && event.startsWith(":")
              ? `${event}\n\n`
              : typeof event === "string" && event.startsWith("event")
                ? `${event}\n\n`
                : frame(event),
          )
          .join("") + end,
    },
  ];
  at = 0;
  return ask(server, "chat", request(history), { maxRetries });
}

async function bodyOf(
  messages: Message[],
  more: Parameters<typeof request>[1] = {},
  where: Parameters<typeof endpoint>[2] = {},
): Promise<JsonObject> {
  next = [{ text: "ok" }];
  const before = server.requests.length;
  await collect(
    open(endpoint(server.url, "openai", where)).stream(request(messages, more), new AbortController().signal),
  );
  return server.requests[before]?.body ?? {};
}

const messagesOf = (body: JsonObject): JsonObject[] =>
  Array.isArray(body.messages) ? body.messages.filter(isObject) : [];

const bare = (answer: Answer): unknown[] =>
  answer.calls.map(({ name, input, inputError }) => (inputError ? { name, error: inputError.kind } : { name, input }));

const fn = (name: string | null | undefined, args?: Json): JsonObject => ({
  ...(name !== undefined && { name }),
  ...(args !== undefined && { arguments: args }),
});

describe("tool calls put together from deltas", () => {
  const ls = (p: number) => ({ name: "read", input: { p } });
  const cases: [string, JsonObject[], unknown[]][] = [
    [
      "calls without an index",
      [tools({ id: "c1", function: fn("read", '{"p":1}') }), tools({ id: "c2", function: fn("read", '{"p":2}') })],
      [ls(1), ls(2)],
    ],
    [
      "two calls without an index in one delta",
      [tools({ id: "c1", function: fn("read", '{"p":1}') }, { id: "c2", function: fn("read", '{"p":2}') })],
      [ls(1), ls(2)],
    ],
    [
      "pieces without index and id",
      [
        tools({ id: "c1", function: fn("read", '{"p":1}') }),
        tools({ id: "c2", function: fn("read", '{"p"') }),
        tools({ function: fn(undefined, ":2}") }),
      ],
      [ls(1), ls(2)],
    ],
    [
      "a name that comes late",
      [
        tools({ index: 0, id: "c1", function: fn(null, "") }),
        tools({ index: 0, function: fn(undefined, '{"p":') }),
        tools({ index: 0, function: fn("read", "1}") }),
      ],
      [ls(1)],
    ],
    [
      "a name that is repeated",
      [
        tools({ index: 0, id: "c1", function: fn("read", '{"p"') }),
        tools({ index: 0, id: "c1", function: fn("read", ":1}") }),
      ],
      [ls(1)],
    ],
    [
      "an empty name and id in later pieces",
      [
        tools({ index: 0, id: "c1", function: fn("read", '{"p"') }),
        tools({ index: 0, id: "", function: fn("", ":1}") }),
      ],
      [ls(1)],
    ],
    [
      "two calls under one index",
      [
        tools({ index: 0, id: "a", function: fn("read", '{"p":1}') }),
        tools({ index: 0, id: "b", function: fn("read", '{"p":2}') }),
      ],
      [ls(1), ls(2)],
    ],
    [
      "gaps in the numbers",
      [
        tools({ index: 3, id: "a", function: fn("read", '{"p":1}') }),
        tools({ index: 7, id: "b", function: fn("read", '{"p":2}') }),
      ],
      [ls(1), ls(2)],
    ],
    [
      "numbers as text",
      [
        tools({ index: "0", id: "a", function: fn("read", '{"p"') }),
        tools({ index: 0, function: fn(undefined, ":1}") }),
      ],
      [ls(1)],
    ],
    [
      "interleaved pieces",
      [
        tools({ index: 0, id: "a", function: fn("read", '{"p"') }, { index: 1, id: "b", function: fn("read", '{"p"') }),
        tools({ index: 1, function: fn(undefined, ":2}") }, { index: 0, function: fn(undefined, ":1}") }),
      ],
      [ls(1), ls(2)],
    ],
    ["arguments as an object", [tools({ index: 0, id: "a", function: fn("read", { p: 1 }) })], [ls(1)]],
    [
      "arguments encoded twice",
      [tools({ index: 0, id: "a", function: fn("read", JSON.stringify('{"p":1}')) })],
      [ls(1)],
    ],
    ["no arguments at all", [tools({ index: 0, id: "a", function: fn("read") })], [{ name: "read", input: {} }]],
    ["empty arguments", [tools({ index: 0, id: "a", function: fn("read", "") })], [{ name: "read", input: {} }]],
    ["blank arguments", [tools({ index: 0, id: "a", function: fn("read", "  ") })], [{ name: "read", input: {} }]],
    ["null arguments", [tools({ index: 0, id: "a", function: fn("read", null) })], [{ name: "read", input: {} }]],
    [
      "arguments that are null in JSON",
      [tools({ index: 0, id: "a", function: fn("read", "null") })],
      [{ name: "read", input: {} }],
    ],
    [
      "a list as arguments",
      [tools({ index: 0, id: "a", function: fn("read", "[1]") })],
      [{ name: "read", error: "invalid" }],
    ],
    [
      "words as arguments",
      [tools({ index: 0, id: "a", function: fn("read", "p is 1") })],
      [{ name: "read", error: "invalid" }],
    ],
    [
      "a line end inside a text",
      [tools({ index: 0, id: "a", function: fn("read", '{"p":"a\nb"}') })],
      [{ name: "read", input: { p: "a\nb" } }],
    ],
    [
      "no name at all",
      [tools({ index: 0, id: "a", function: fn(undefined, "{}") })],
      [{ name: "unnamed_tool", error: "invalid" }],
    ],
    [
      "the older form of one function call",
      [delta({ function_call: { name: "read", arguments: '{"p"' } }), delta({ function_call: { arguments: ":1}" } })],
      [ls(1)],
    ],
  ];
  test.each(cases)("%s", async (_, events, wanted) => {
    const answer = await streamed([...events, stop]);
    expect(answer.error).toBeNull();
    expect(bare(answer)).toEqual(wanted);
    expect(answer.stop).toBe("tool");
    expect(new Set(answer.calls.map((one) => one.id)).size).toBe(wanted.length);
  });

  test("a call is announced as soon as its name is known, once", async () => {
    const answer = await streamed([
      tools({ index: 0, id: "c1", function: fn("read", "") }),
      tools({ index: 0, function: fn("read", "{}") }),
      stop,
    ]);
    expect(answer.events.filter((event) => event.type === "tool-start")).toEqual([
      { type: "tool-start", id: "c1", name: "read" },
    ]);
  });

  test("ids that are missing, empty or used before are replaced", async () => {
    const history: Message[] = [user("a"), assistant([call("call_0")]), results("call_0")];
    const answer = await streamed(
      [
        tools({ index: 0, id: "call_0", function: fn("ls", "{}") }),
        tools({ index: 1, id: "", function: fn("ls", "{}") }),
        tools({ index: 2, function: fn("ls", "{}") }),
        stop,
      ],
      { history },
    );
    const ids = answer.calls.map((one) => one.id);
    expect(new Set([...ids, "call_0", ""]).size).toBe(5);
  });

  test.each(["length", "tool_calls", "stop"])("arguments that stop in the middle are not run (%s)", async (finish) => {
    const answer = await streamed([
      tools({ index: 0, id: "a", function: fn("write", '{"path":"a.txt","content":"hel') }),
      delta({}, finish),
    ]);
    expect(bare(answer)).toEqual([{ name: "write", error: "truncated" }]);
    expect(answer.calls[0]?.input).toEqual({});
    expect(answer.calls[0]?.inputError?.message).toMatch(/smaller parts/);
  });

  test("finish_reason tool_calls without a call is a plain end", async () => {
    const answer = await streamed([delta({ content: "hm" }), delta({}, "tool_calls")]);
    expect(answer.stop).toBe("end");
  });

  test("a thought signature on a call goes back with that call, unchanged", async () => {
    const extra = { google: { thought_signature: "sig==" } };
    const answer = await streamed([
      tools({ index: 0, id: "c1", function: fn("ls", "{}"), extra_content: extra }),
      stop,
    ]);
    const body = await bodyOf([user("a"), said(answer, server), results("c1")]);
    expect(messagesOf(body)[2]?.tool_calls).toEqual([
      { id: "c1", type: "function", function: { name: "ls", arguments: "{}" }, extra_content: extra },
    ]);
    const elsewhere = await bodyOf([user("a"), said(answer, server), results("c1")], { model: "other" });
    expect(JSON.stringify(elsewhere)).not.toContain("extra_content");
  });
});

describe("reasoning", () => {
  const history = (answer: Answer): Message[] => [
    user("a"),
    said(answer, server),
    results(...answer.calls.map((one) => one.id)),
  ];
  const end = [tools({ index: 0, id: "c1", function: fn("ls", "{}") }), delta({}, "tool_calls")];

  test.each<[string, JsonObject[], JsonObject]>([
    ["reasoning_content", [delta({ reasoning_content: "We" })], { reasoning_content: "We" }],
    ["an empty reasoning_content", [delta({ reasoning_content: "" })], { reasoning_content: "" }],
    ["reasoning", [delta({ content: "", reasoning: "We" })], {}],
    ["both names in one delta", [delta({ reasoning_content: "We", reasoning: "We" })], { reasoning_content: "We" }],
    [
      "details beside reasoning",
      [
        delta({ reasoning: "W", reasoning_details: [{ type: "reasoning.text", text: "W", index: 0 }] }),
        delta({ reasoning: "e", reasoning_details: [{ type: "reasoning.text", text: "e", index: 0, signature: "s" }] }),
      ],
      { reasoning_details: [{ type: "reasoning.text", text: "We", index: 0, signature: "s" }] },
    ],
    [
      "details alone, one encrypted",
      [
        delta({
          reasoning_details: [
            { type: "reasoning.summary", summary: "We", index: 0 },
            { type: "reasoning.encrypted", data: "x==", id: "r1", index: 0 },
          ],
        }),
      ],
      {
        reasoning_details: [
          { type: "reasoning.summary", summary: "We", index: 0 },
          { type: "reasoning.encrypted", data: "x==", id: "r1", index: 0 },
        ],
      },
    ],
    [
      "a list of parts",
      [
        delta({
          content: [
            { type: "thinking", thinking: [{ type: "text", text: "We" }] },
            { type: "text", text: "ok" },
          ],
        }),
      ],
      {},
    ],
    ["tags", [delta({ content: "<think>We</think>\n\nok" })], {}],
    ["tags cut across deltas", ["<th", "ink>W", "e</thi", "nk>", "\n", "ok"].map((content) => delta({ content })), {}],
  ])("in %s is shown once and sent back as its sender wants it", async (name, events, wanted) => {
    const answer = await streamed([...events, ...end]);
    expect(answer.reasoning).toBe(name.startsWith("an empty") ? "" : "We");
    expect(answer.text).toBe(/parts|tags/.test(name) ? "ok" : "");
    const [, , sent] = messagesOf(await bodyOf(history(answer)));
    const { role: _, content: __, tool_calls: ___, ...fields } = sent ?? {};
    expect(fields).toEqual(wanted);
    const [, , foreign] = messagesOf(await bodyOf(history(answer), { model: "another" }));
    expect(Object.keys(foreign ?? {}).sort()).toEqual(["content", "role", "tool_calls"]);
  });

  test.each([
    ["<b>bold</b>", "<b>bold</b>", ""],
    ["say <think> aloud", "say <think> aloud", ""],
    ["  <thinking>deep</thinking>done", "done", "deep"],
    ["<think>never closed", "", "never closed"],
    ["<thin", "<thin", ""],
    ["<think></think>ok", "ok", ""],
  ])("%p, cut at every place", async (content, text, reasoning) => {
    for (let cut = 0; cut <= content.length; cut++) {
      const { ThinkTag } = await import("../src/provider-think-tag.ts");
      const tag = new ThinkTag();
      const splits = [tag.push(content.slice(0, cut)), tag.push(content.slice(cut)), tag.end()];
      expect(splits.map((split) => split.text).join("")).toBe(text);
      expect(splits.map((split) => split.reasoning).join("")).toBe(reasoning);
    }
  });
});

describe("streams as servers really send them", () => {
  test("keep-alives in every form are skipped", async () => {
    const answer = await streamed([
      ": OPENROUTER PROCESSING",
      delta({ content: "a" }),
      "event: keepalive",
      "event: ping",
      "",
      { type: "keepalive", sequence_number: 1 },
      "ping",
      delta({ content: "b" }),
      stop,
    ]);
    expect(answer.error).toBeNull();
    expect(answer.text).toBe("ab");
  });

  test("chunks with no choices, no delta or other choices are ignored", async () => {
    const answer = await streamed([
      { id: "", choices: [], prompt_filter_results: [{}] },
      {},
      { choices: null },
      delta(null),
      { choices: [{ index: 0, finish_reason: null, content_filter_offsets: {} }] },
      { choices: [{ index: 1, delta: { content: "other" }, finish_reason: "stop" }] },
      delta({ content: "mine" }),
      stop,
    ]);
    expect(answer.error).toBeNull();
    expect(answer.text).toBe("mine");
  });

  test.each<[string, JsonObject[], [number | null, number | null, number, boolean]]>([
    [
      "usage beside and after the end",
      [
        { ...stop, usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } },
        { choices: [], usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 } },
      ],
      [3, 5, 0, false],
    ],
    ["usage null everywhere", [{ ...stop, usage: null }], [null, null, 0, true]],
    [
      "usage in the choice",
      [
        {
          choices: [
            {
              index: 0,
              delta: {},
              finish_reason: "stop",
              usage: { prompt_tokens: 3, completion_tokens: 4, cached_tokens: 2 },
            },
          ],
        },
      ],
      [3, 4, 2, false],
    ],
    [
      "usage under x_groq",
      [{ ...stop, x_groq: { usage: { prompt_tokens: 3, completion_tokens: 4 } } }],
      [3, 4, 0, false],
    ],
    [
      "a cache hit under its own name",
      [{ ...stop, usage: { prompt_tokens: 9, completion_tokens: 1, prompt_cache_hit_tokens: 8 } }],
      [9, 1, 8, false],
    ],
    [
      "reasoning counted beside the completion",
      [
        {
          ...stop,
          usage: {
            prompt_tokens: 10,
            completion_tokens: 5,
            total_tokens: 45,
            completion_tokens_details: { reasoning_tokens: 30 },
          },
        },
      ],
      [10, 35, 0, false],
    ],
  ])("%s", async (_, events, [input, output, cached, estimated]) => {
    const { usage } = await streamed([delta({ content: "hello" }), ...events]);
    if (input !== null) expect(usage?.inputTokens).toBe(input);
    if (output !== null) expect(usage?.outputTokens).toBe(output);
    expect(usage?.cacheReadTokens).toBe(cached);
    expect(usage?.estimated ?? false).toBe(estimated);
    if (estimated) expect(usage?.inputTokens).toBeGreaterThan(10);
  });

  test.each([
    ["stop", "end"],
    ["length", "length"],
    ["content_filter", "filter"],
    ["eos", "end"],
    ["model_context_window_exceeded", "context"],
  ])("finish_reason %s is the stop %s", async (finish, wanted) => {
    const answer = await streamed([delta({ content: "x" }), delta({}, finish)]);
    expect(String(answer.stop)).toBe(wanted);
  });

  test("a refusal is text, and a refusal", async () => {
    const answer = await streamed([delta({ refusal: "I can't" }), stop]);
    expect([answer.text, answer.stop]).toEqual(["I can't", "refusal"]);
  });

  test.each([
    ["text, then the end of the file", [delta({ content: "Hello wo" })], "Hello wo"],
    [
      "half a call, then the end of the file",
      [tools({ index: 0, id: "c", function: fn("bash", '{"command":"rm -r') })],
      "",
    ],
    [
      "a whole call, then the end of the file",
      [tools({ index: 0, id: "c", function: fn("bash", '{"command":"ls"}') })],
      "",
    ],
    ["nothing", [], ""],
  ])("%s: cut, and no call is run", async (_, events, text) => {
    const answer = await streamed(events, { end: "" });
    expect(failure(answer).kind).toBe("network");
    expect(answer.calls).toEqual([]);
    expect(answer.text).toBe(text);
    expect(answer.stop).toBeNull();
  });

  test("an end of the file right after finish_reason is an end", async () => {
    const answer = await streamed([delta({ content: "ok" }), stop], { end: "" });
    expect([answer.error, answer.text, answer.stop]).toEqual([null, "ok", "end"]);
  });

  test("[DONE] without finish_reason is an end", async () => {
    const answer = await streamed([delta({ content: "ok" })]);
    expect([answer.error, answer.text, answer.stop]).toEqual([null, "ok", "end"]);
  });

  test.each<[JsonObject, string]>([
    [{ error: { message: "Overloaded", code: 529 } }, "rate"],
    [{ error: { message: "upstream died", code: 502 } }, "server"],
    [
      {
        error: { message: "Provider returned error", code: "server_error" },
        choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
      },
      "server",
    ],
    [{ error: { message: "no credits", code: 402 } }, "quota"],
    [{ error: "something broke" }, "server"],
  ])("an error inside the stream is classified: %j", async (event, kind) => {
    const early = await streamed([event]);
    expect(String(failure(early).kind)).toBe(kind);
    const late = await streamed([
      delta({ content: "part" }),
      tools({ index: 0, id: "c", function: fn("ls", "{}") }),
      event,
    ]);
    expect(String(failure(late).kind)).toBe(kind);
    expect([late.text, late.calls.length]).toEqual(["part", 0]);
  });

  test("a call that the server could not parse is tried again at most twice", async () => {
    next = [
      {
        status: 400,
        json: {
          error: {
            message: "Failed to call a function.",
            code: "tool_use_failed",
            failed_generation: "<function=read>",
          },
        },
      },
    ];
    at = 0;
    const before = server.requests.length;
    const answer = await ask(server, "chat", request([user("hi")]), { maxRetries: 5 });
    expect(failure(answer).code).toBe("tool_use_failed");
    expect(server.requests.length - before).toBe(3);
  });
});

describe("what goes out", () => {
  const used: Message[] = [user("a"), assistant([call("c1", { p: 1 })]), results("c1")];

  test.each([
    ["a local server", {}, ""],
    ["a hosted one", { presetId: "custom", baseURL: "" }, null],
  ])("an assistant message of calls alone: content for %s", async (where, more, content) => {
    const { chatWire } = await import("../src/provider-chat.ts");
    const { factsFor } = await import("../src/models.ts");
    const at = endpoint(
      where === "a local server" ? "http://localhost:11434/v1" : "https://api.example.com/v1",
      "openai",
      { presetId: "custom", ...("presetId" in more ? {} : more) },
    );
    const built = chatWire.build(request(used), {
      endpoint: at,
      origin: "o",
      facts: factsFor("test-model", "custom"),
      isOpenAI: false,
      keepReasoningFrom: 0,
      refusedImages: new Set(),
      continuing: false,
      history: new HistoryItems(),
    });
    expect(messagesOf(built.body)[2]?.content).toBe(content);
  });

  test("images of results follow all tool messages in one user message", async () => {
    const image = { type: "image" as const, mediaType: "image/png", data: "QUJD" };
    const body = await bodyOf([
      user("a"),
      assistant([call("c1"), call("c2")]),
      {
        role: "tool",
        results: [
          { callId: "c1", name: "ls", content: [image], isError: false },
          { callId: "c2", name: "ls", content: [{ type: "text", text: "t" }], isError: false },
        ],
        notes: ["note"],
      },
      user("then"),
    ]);
    const roles = messagesOf(body).map((message) => message.role);
    expect(roles).toEqual(["system", "user", "assistant", "tool", "tool", "user"]);
    expect(messagesOf(body).at(-1)?.content).toEqual([
      { type: "text", text: "[Image from ls]" },
      { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } },
      { type: "text", text: "note" },
      { type: "text", text: "then" },
    ]);
  });

  test("no tools: neither tools nor tool_choice", async () => {
    const body = await bodyOf([user("a")], { tools: [] });
    expect(body).not.toHaveProperty("tools");
    expect(body).not.toHaveProperty("tool_choice");
    expect(body).not.toHaveProperty("temperature");
  });

  test("a Gemini model gets schemas of its subset, others get them whole", async () => {
    const schema = {
      type: "object",
      properties: { u: { type: ["string", "null"], format: "uri" } },
      additionalProperties: false,
    };
    const tool = { name: "t", description: "d", schema };
    const gemini = await bodyOf([user("a")], { tools: [tool], model: "gemini-2.5-pro" });
    expect(JSON.stringify(gemini.tools)).toContain('"nullable":true');
    const other = await bodyOf([user("a")], { tools: [tool] });
    expect(JSON.stringify(other.tools)).toContain(JSON.stringify(schema));
  });
});
