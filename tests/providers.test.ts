/** The provider as the loop sees it, against a strict server: every wire, whole conversations, fallbacks and repeats. */
import { afterEach, describe, expect, test } from "bun:test";
import { factsFor } from "../src/models.ts";
import { isObject } from "../src/provider-errors.ts";
import { hostOf } from "../src/provider.ts";
import type { JsonObject, Message } from "../src/types.ts";
import {
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
import { type ModelServer, type ModelServerOptions, type Reply, startModelServer } from "./support/model-server.ts";

const WIRES = ["chat", "responses", "anthropic"] as const;
const servers: ModelServer[] = [];

async function serve(
  script: Parameters<typeof startModelServer>[0],
  options: ModelServerOptions = {},
): Promise<ModelServer> {
  const server = await startModelServer(script, options);
  servers.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const signal = () => new AbortController().signal;

describe.each([...WIRES])("%s", (wire) => {
  const protocol = wire === "anthropic" ? "anthropic" : "openai";

  test("streams text, reports usage and stops", async () => {
    const server = await serve([{ text: "Hello there, friend", usage: { input: 12, output: 7, cached: 4 } }]);
    const answer = await ask(server, wire, request([user("hi")]));
    expect(answer.error).toBeNull();
    expect(server.faults).toEqual([]);
    expect(answer.text).toBe("Hello there, friend");
    expect(answer.parts).toEqual([{ type: "text", text: "Hello there, friend" }]);
    expect(answer.stop).toBe("end");
    expect(answer.usage?.outputTokens).toBe(7);
    expect(answer.usage?.cacheReadTokens).toBe(4);
    expect(answer.usage?.inputTokens).toBe(wire === "anthropic" ? 16 : 12);
  });

  test("a tool round with reasoning is accepted by the strict server", async () => {
    const script: Reply[] = [
      {
        reasoning: "I should list",
        redacted: "enc1",
        text: "Listing.",
        calls: [
          { name: "ls", input: { path: "a" } },
          { name: "ls", input: {} },
        ],
      },
      { text: "done" },
    ];
    const server = await serve(script, { requireReasoning: "reasoning_content" });
    const first = await ask(server, wire, request([user("list")], { thinking: "high" }));
    expect(first.error).toBeNull();
    expect(first.reasoning).toBe("I should list");
    expect(first.calls.map(({ name, input }) => ({ name, input }))).toEqual([
      { name: "ls", input: { path: "a" } },
      { name: "ls", input: {} },
    ]);
    expect(first.stop).toBe("tool");
    const history: Message[] = [
      user("list"),
      said(first, server, "test-model", protocol),
      results(...first.calls.map((one) => one.id)),
    ];
    const second = await ask(server, wire, request(history, { thinking: "high" }));
    expect(server.faults).toEqual([]);
    expect(second.text).toBe("done");
    expect(JSON.stringify(server.requests[1]?.body)).toContain(
      wire === "chat" ? "I should list" : wire === "responses" ? "enc_1" : "sig_1",
    );
  });

  test("an interrupted, blank or foreign history is made legal", async () => {
    const server = await serve([{ text: "ok" }]);
    const foreign = {
      origin: "anthropic|elsewhere|other",
      data: { type: "thinking", thinking: "x", signature: "s", field: "reasoning_content", encrypted_content: "e" },
    };
    const history: Message[] = [
      assistant([{ type: "text", text: "orphan" }]),
      user("one"),
      user(" \n"),
      assistant([{ type: "reasoning", text: "x", meta: foreign }, { type: "text", text: "\n\n" }, call("toolu|1/ä")]),
      {
        role: "tool",
        results: [{ callId: "toolu|1/ä", name: "ls", content: [{ type: "text", text: "" }], isError: true }],
        notes: ["mind the list", " "],
      },
      user("two"),
      assistant([{ type: "reasoning", text: "only this", meta: foreign }]),
      assistant([{ type: "text", text: "half an ans" }]),
    ];
    const answer = await ask(server, wire, request(history, { thinking: "high" }));
    expect(server.faults).toEqual([]);
    expect(answer.text).toBe("ok");
    const sent = server.requests[0]?.text ?? "";
    expect(sent).toContain("(no output)");
    expect(sent).toContain("mind the list");
    expect(sent).not.toContain("only this");
    expect(sent).not.toContain('"signature"');
  });

  test("half an emoji and NUL never reach the body", async () => {
    const server = await serve([{ text: "ok" }]);
    const bad = "a\ud83d b\0c";
    const history: Message[] = [
      user(bad),
      assistant([{ type: "text", text: bad }, call("c1", { [bad]: [bad] })]),
      {
        role: "tool",
        results: [{ callId: "c1", name: "ls", content: [{ type: "text", text: bad }], isError: false }],
        notes: [bad],
      },
    ];
    const tools = [
      { name: "ls", description: bad, schema: { type: "object", properties: { [bad]: { description: bad } } } },
    ];
    const answer = await ask(server, wire, request(history, { system: bad, tools }));
    expect(server.faults).toEqual([]);
    expect(answer.text).toBe("ok");
  });

  test("without tools, calls of the history go as text", async () => {
    const server = await serve([{ text: "summary" }]);
    const history: Message[] = [
      user("go"),
      assistant([call("c1", { path: "src" })]),
      results("c1"),
      user("Summarise."),
    ];
    const answer = await ask(server, wire, request(history, { tools: [] }));
    expect(server.faults).toEqual([]);
    expect(answer.text).toBe("summary");
    const body = server.requests[0]?.body;
    expect(body).not.toHaveProperty("tools");
    expect(server.requests[0]?.text).toContain("Called ls");
    expect(server.requests[0]?.text).toContain("result of c1");
  });

  test("each request begins with the bytes of the one before it", async () => {
    const server = await serve((_, index) =>
      index < 6
        ? { reasoning: `r${index}`, text: `t${index}`, calls: [{ name: "ls", input: { path: String(index) } }] }
        : { text: "end" },
    );
    const history: Message[] = [user("go")];
    for (let step = 0; step < 7; step++) {
      const answer = await ask(server, wire, request([...history], { thinking: "medium" }));
      history.push(said(answer, server, "test-model", protocol));
      if (answer.calls.length > 0) history.push(results(...answer.calls.map((one) => one.id)));
    }
    expect(server.faults).toEqual([]);
    const bodies = server.requests.map((one) => listOf(one.body));
    for (const [at, body] of bodies.entries())
      if (at > 0) expect(body.slice(0, bodies[at - 1]?.length)).toEqual(bodies[at - 1] ?? []);
    expect(new Set(server.requests.map((one) => JSON.stringify(one.body.tools))).size).toBe(1);
  });

  test("images of results reach a model that sees, and a note one that doesn't", async () => {
    const server = await serve([{ text: "ok" }]);
    const history: Message[] = [
      user("shot"),
      assistant([call("c1")]),
      {
        role: "tool",
        results: [
          {
            callId: "c1",
            name: "ls",
            content: [
              { type: "text", text: "shot" },
              { type: "image", mediaType: "image/png", data: "QUJD" },
            ],
            isError: false,
          },
        ],
      },
    ];
    await ask(server, wire, request(history));
    expect(server.requests[0]?.text).toContain("QUJD");
    const blind = (model: string) => ({ ...factsFor(model, "custom"), vision: false });
    await ask(server, wire, request(history), { factsFor: blind });
    expect(server.faults).toEqual([]);
    expect(server.requests[1]?.text).not.toContain("QUJD");
    expect(server.requests[1]?.text).toContain("takes no images");
  });

  test("a refused image becomes a note, once and for the rest of the session", async () => {
    const server = await serve(({ text }) =>
      text.includes("QklH")
        ? {
            status: 400,
            json: {
              error: {
                type: "invalid_request_error",
                message:
                  "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
              },
            },
          }
        : { text: "fine" },
    );
    const at = endpoint(server.url, protocol, { forcedWire: wire === "anthropic" ? null : wire });
    const provider = open(at);
    const message: Message = {
      role: "user",
      content: [
        { type: "text", text: "see" },
        { type: "image", mediaType: "image/png", data: "QklH" },
      ],
    };
    const first = await collect(provider.stream(request([message]), signal()));
    expect(first.text).toBe("fine");
    expect(server.requests).toHaveLength(2);
    const second = await collect(
      provider.stream(request([message, assistant([{ type: "text", text: "fine" }]), user("and?")]), signal()),
    );
    expect(second.text).toBe("fine");
    expect(server.requests).toHaveLength(3);
    expect(server.faults).toEqual([]);
  });

  test("a connection that drops before the answer is tried again, and nothing is doubled", async () => {
    const server = await serve([{ text: "Hello", cut: 0 }, { text: "Hello", cut: 20 }, { text: "Hello" }]);
    const answer = await ask(server, wire, request([user("hi")]));
    expect(answer.error).toBeNull();
    expect(answer.text).toBe("Hello");
    expect(answer.retries.map((event) => event.waitMs)).toEqual([1000, 2000]);
  });

  test("tries are used up: the error says that the connection was lost", async () => {
    const server = await serve([{ text: "Hello", cut: 0 }]);
    const answer = await ask(server, wire, request([user("hi")]), { maxRetries: 2 });
    expect(failure(answer).kind).toBe("network");
    expect(answer.error?.message).toMatch(/lost|ended early/);
    expect(server.requests).toHaveLength(3);
  });

  test("an answer that breaks off is kept so far, and not repeated", async () => {
    const text = "word ".repeat(40);
    const server = await serve([{ text, calls: [{ name: "ls", input: { path: "x".repeat(200) } }], hang: "stream" }]);
    const at = endpoint(server.url, protocol, { timeoutMs: 400, forcedWire: wire === "anthropic" ? null : wire });
    const answer = await collect(open(at).stream(request([user("hi")]), signal()));
    expect(failure(answer).kind).toBe("timeout");
    expect(answer.text.length).toBeGreaterThan(0);
    expect(server.requests).toHaveLength(1);
    expect(
      answer.parts
        .filter((part) => part.type === "text")
        .map((part) => part.text)
        .join(""),
    ).toBe(answer.text);
  });

  test("an abort ends a silent stream at once", async () => {
    const server = await serve([{ hang: true }]);
    const controller = new AbortController();
    const at = endpoint(server.url, protocol, { forcedWire: wire === "anthropic" ? null : wire });
    const pending = collect(open(at).stream(request([user("hi")]), controller.signal));
    while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    const answer = await pending;
    expect(answer.error?.name).toBe("AbortError");
    expect(server.requests).toHaveLength(1);
  });

  test("a completion in one piece is read like a stream", async () => {
    const server = await serve([{ status: 200, json: wholeAnswer(wire) }]);
    const answer = await ask(server, wire, request([user("hi")]));
    expect(answer.error).toBeNull();
    expect(answer.text).toBe("whole");
    expect(answer.calls.map(({ name, input }) => ({ name, input }))).toEqual([{ name: "ls", input: { path: "x" } }]);
    expect(answer.stop).toBe("tool");
    expect(answer.usage?.outputTokens).toBe(2);
  });

  test("a web page is an error with a hint, never an empty answer", async () => {
    const page = `<!doctype html><html><head><title>Welcome</title></head><body>${"<p>x</p>".repeat(600)}</body></html>`;
    const server = await serve([{ status: 200, body: page, headers: { "content-type": "text/html" } }]);
    const answer = await ask(server, wire, request([user("hi")]));
    expect(failure(answer).kind).toBe("content");
    expect(answer.error?.message).toContain("Welcome");
    expect((answer.error?.message ?? "").length).toBeLessThan(300);
    expect(failure(answer).hint).toBeDefined();
    expect(server.requests).toHaveLength(1);
  });

  test("a gateway's page with 502 is tried again", async () => {
    const server = await serve([
      { status: 502, body: "<html><title>Bad gateway</title></html>", headers: { "content-type": "text/html" } },
      { text: "ok" },
    ]);
    const answer = await ask(server, wire, request([user("hi")]));
    expect(answer.text).toBe("ok");
    expect(answer.retries).toHaveLength(1);
  });

  test("an error in a 200 JSON body is an error that names status and address, and is not repeated", async () => {
    const server = await serve([{ status: 200, json: { error: { message: "model not loaded" } } }]);
    const answer = await ask(server, wire, request([user("hi")]));
    expect(failure(answer).message).toContain(`HTTP 200 from ${server.url}`);
    expect(failure(answer).message).toEndWith(": model not loaded");
    expect(failure(answer).kind).toBe("content");
    expect(server.requests).toHaveLength(1);
  });

  test("an error in a 200 JSON body that says what it is counts as that", async () => {
    const server = await serve([
      { status: 200, json: { error: { code: 502, message: "Provider returned error" } } },
      { text: "ok" },
    ]);
    expect((await ask(server, wire, request([user("hi")]))).text).toBe("ok");
  });

  test("only our own headers go out", async () => {
    const server = await serve([{ text: "ok" }]);
    const at = endpoint(server.url, protocol, {
      forcedWire: wire === "anthropic" ? null : wire,
      headers: { "X-Team": "blue" },
    });
    await collect(open(at).stream(request([user("hi")]), signal()));
    const headers = server.requests[0]?.headers ?? {};
    expect(headers["x-team"]).toBe("blue");
    const key = wire === "anthropic" ? [null, "k"] : ["Bearer k", null];
    expect([headers.authorization ?? null, headers["x-api-key"] ?? null]).toEqual(key);
    expect(Object.keys(headers).filter((name) => name.startsWith("x-stainless") || name.startsWith("openai-"))).toEqual(
      [],
    );
  });

  test("a keyless endpoint gets no key", async () => {
    const server = await serve([{ text: "ok" }]);
    const at = endpoint(server.url, protocol, { apiKey: null, forcedWire: wire === "anthropic" ? null : wire });
    const answer = await collect(open(at).stream(request([user("hi")]), signal()));
    expect(answer.text).toBe("ok");
    expect(server.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(server.requests[0]?.headers).not.toHaveProperty("x-api-key");
  });

  test.each(["", "/", "/v1", "/v1/"])("the base URL may end in %p", async (end) => {
    const server = await serve([{ text: "ok" }], {});
    const at = endpoint(server.url.replace(/\/v1$/, "") + end, protocol, {
      forcedWire: wire === "anthropic" ? null : wire,
    });
    const answer = await collect(open(at).stream(request([user("hi")]), signal()));
    expect(answer.text).toBe("ok");
  });
});

function listOf(body: JsonObject): unknown[] {
  const list = Array.isArray(body.messages) ? body.messages : Array.isArray(body.input) ? body.input : [];
  // Cache marks move; nothing else may.
  return list.map((item) =>
    JSON.parse(JSON.stringify(item, (key, value) => (key === "cache_control" ? undefined : value))),
  );
}

function wholeAnswer(wire: (typeof WIRES)[number]): JsonObject {
  const text = { type: "output_text", text: "whole", annotations: [] };
  switch (wire) {
    case "chat":
      return {
        object: "chat.completion",
        choices: [
          {
            index: 0,
            message: {
              role: "assistant",
              content: "whole",
              tool_calls: [{ id: "c1", type: "function", function: { name: "ls", arguments: '{"path":"x"}' } }],
            },
            finish_reason: "tool_calls",
          },
        ],
        usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
      };
    case "responses":
      return {
        object: "response",
        status: "completed",
        output: [
          { type: "message", id: "m", role: "assistant", content: [text] },
          { type: "function_call", id: "f", call_id: "c1", name: "ls", arguments: '{"path":"x"}' },
        ],
        usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
      };
    default:
      return {
        type: "message",
        role: "assistant",
        content: [
          { type: "text", text: "whole" },
          { type: "tool_use", id: "c1", name: "ls", input: { path: "x" } },
        ],
        stop_reason: "tool_use",
        usage: { input_tokens: 1, output_tokens: 2 },
      };
  }
}

describe("chat to responses", () => {
  const needsResponses =
    "Function tools with reasoning_effort are not supported for gpt-x in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
  const refuseChat =
    (status: number, message: string, code: string | null = null): Parameters<typeof startModelServer>[0] =>
    (received) =>
      received.wire === "chat"
        ? { status, json: { error: { message, type: "invalid_request_error", param: null, code } } }
        : { text: "from responses" };

  async function asked(script: Parameters<typeof startModelServer>[0], asOpenAI = true) {
    const server = await serve(script);
    const provider = open(endpoint(server.url), asOpenAI ? { openaiHosts: [hostOf(server.url)] } : {});
    const history: Message[] = [
      user("go"),
      assistant([{ type: "text", text: "so" }, call("c1", { path: "p" })]),
      results("c1"),
    ];
    const first = await collect(provider.stream(request(history), signal()));
    return { server, provider, first };
  }

  test.each([
    [400, needsResponses],
    [404, "This model is only supported in v1/responses and not in v1/chat/completions."],
    [405, "Method not allowed"],
    [501, "Not implemented"],
  ])("a %d from chat turns the same turn over, and the choice sticks", async (status, message) => {
    const { server, provider, first } = await asked(refuseChat(status, message));
    expect(first.text).toBe("from responses");
    expect(first.notices).toHaveLength(1);
    expect(server.faults).toEqual([]);
    const turned = server.requests[1]?.text ?? "";
    for (const kept of ["Be brief.", '"call_id":"c1"', "result of c1"]) expect(turned).toContain(kept);
    const second = await collect(provider.stream(request([user("again")]), signal()));
    expect(second.notices).toEqual([]);
    expect(server.requests.map((one) => one.wire)).toEqual(["chat", "responses", "responses"]);
  });

  test.each([
    [404, "The model `gpt-x` does not exist or you do not have access to it.", "model_not_found"],
    [401, "Incorrect API key provided", "invalid_api_key"],
    [400, "This model's maximum context length is 10 tokens.", "context_length_exceeded"],
    [429, "You exceeded your current quota", "insufficient_quota"],
  ])("a %d (%s) stays what it is", async (status, message, code) => {
    const { server, first } = await asked(refuseChat(status, message, code));
    expect(failure(first).message).toContain(message.slice(0, 20));
    expect(server.requests.map((one) => one.wire)).toEqual(["chat"]);
  });

  test("other hosts are never turned over", async () => {
    const { server, first } = await asked(refuseChat(400, "nothing we know"), false);
    expect(failure(first).status).toBe(400);
    expect(server.requests.map((one) => one.wire)).toEqual(["chat"]);
  });

  test("when both refuse, the first error is shown with the second behind it", async () => {
    const { first } = await asked((received) => ({
      status: 404,
      json: { error: { message: received.wire === "chat" ? "first words" : "second words" } },
    }));
    expect(failure(first).message).toMatch(/^first words.*second words/);
  });

  test("a model known to need it starts there", async () => {
    const server = await serve([{ text: "ok" }]);
    const provider = open(endpoint(server.url), {
      openaiHosts: [hostOf(server.url)],
      factsFor: (model) => ({ ...factsFor(model, "custom"), responsesOnly: true }),
    });
    const answer = await collect(provider.stream(request([user("hi")]), signal()));
    expect(answer.text).toBe("ok");
    expect(server.requests.map((one) => one.wire)).toEqual(["responses"]);
  });

  test("a rate limit on the second wire is waited for there", async () => {
    let limited = true;
    const { server, first } = await asked((received) => {
      if (received.wire === "chat") return { status: 404, json: { error: { message: "use /v1/responses" } } };
      if (!limited) return { text: "ok" };
      limited = false;
      return { status: 429, json: { error: { message: "slow down" } }, headers: { "retry-after": "1" } };
    });
    expect(first.text).toBe("ok");
    expect(server.requests.map((one) => one.wire)).toEqual(["chat", "responses", "responses"]);
  });
});

describe("thinking that is refused", () => {
  test.each([
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
    "messages.1.content.0.thinking.signature: Field required",
  ])("%s: it is left out once, and from then on", async (message) => {
    const server = await serve(
      ({ text }) =>
        text.includes("sigX")
          ? { status: 400, json: { type: "error", error: { type: "invalid_request_error", message } } }
          : { text: "ok" },
      { lenient: true },
    );
    const provider = open(endpoint(server.url, "anthropic"));
    const origin = provider.origin("test-model");
    const thinking = {
      type: "reasoning" as const,
      text: "t",
      meta: { origin, data: { type: "thinking", thinking: "t", signature: "sigX" } },
    };
    const history: Message[] = [user("a"), assistant([thinking, { type: "text", text: "b" }], origin), user("c")];
    const first = await collect(provider.stream(request(history), signal()));
    expect(first.text).toBe("ok");
    const second = await collect(
      provider.stream(request([...history, assistant([{ type: "text", text: "ok" }]), user("d")]), signal()),
    );
    expect(second.text).toBe("ok");
    expect(server.requests).toHaveLength(3);
  });

  test("a complaint about the parameter is no complaint about the blocks", async () => {
    const server = await serve(({ body }) =>
      body.thinking === undefined
        ? { text: "ok" }
        : {
            status: 400,
            json: {
              type: "error",
              error: {
                type: "invalid_request_error",
                message:
                  "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'",
              },
            },
          },
    );
    const answer = await ask(server, "anthropic", request([user("a")], { model: "claude-opus-4-8", thinking: "high" }));
    expect(answer.text).toBe("ok");
    expect(server.requests).toHaveLength(2);
  });

  test("a tool loop without its thinking goes on with thinking switched off", async () => {
    const server = await serve([{ text: "ok" }]);
    const history: Message[] = [user("a"), assistant([call("c1")]), results("c1")];
    const answer = await ask(server, "anthropic", request(history, { model: "claude-sonnet-4-5", thinking: "high" }));
    expect([answer.text, server.faults]).toEqual(["ok", []]);
  });

  test("another model's signature stays at home, and no empty message is left", async () => {
    const server = await serve([
      { reasoning: "mine", calls: [{ name: "ls", input: {} }] },
      { text: "b" },
      { text: "c" },
    ]);
    const ofA = request([user("go")], { model: "claude-sonnet-4-5", thinking: "high" });
    const first = await ask(server, "anthropic", ofA);
    const history: Message[] = [
      user("go"),
      said(first, server, ofA.model, "anthropic"),
      results(first.calls[0]?.id ?? ""),
    ];
    const other = await ask(server, "anthropic", request(history, { model: "claude-haiku-4-5", thinking: "high" }));
    expect(other.text).toBe("b");
    const back = await ask(
      server,
      "anthropic",
      request([...history, said(other, server, "claude-haiku-4-5", "anthropic"), user("more")], {
        model: ofA.model,
        thinking: "high",
      }),
    );
    expect(back.text).toBe("c");
    expect(server.faults).toEqual([]);
    expect(server.requests[1]?.text).not.toContain("sig_1");
    expect(server.requests[2]?.text).toContain("sig_1");
  });

  test("encrypted reasoning the endpoint can't read is left out", async () => {
    const server = await serve(
      ({ text }) =>
        text.includes("encX")
          ? {
              status: 400,
              json: {
                error: {
                  message: "The encrypted content for item rs_1 could not be verified.",
                  code: "invalid_encrypted_content",
                },
              },
            }
          : { text: "ok" },
      { lenient: true },
    );
    const provider = open(endpoint(server.url, "openai", { forcedWire: "responses" }));
    const origin = provider.origin("test-model");
    const item = {
      type: "reasoning" as const,
      text: "",
      meta: { origin, data: { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "encX" } },
    };
    const answer = await collect(
      provider.stream(
        request([user("a"), assistant([item, { type: "text", text: "b" }], origin), user("c")]),
        signal(),
      ),
    );
    expect(answer.text).toBe("ok");
  });
});

describe("limits", () => {
  test("a prompt that fits with a shorter answer is sent again with one", async () => {
    const server = await serve(({ body }) =>
      Number(body.max_tokens) > 4000
        ? {
            status: 400,
            json: {
              type: "error",
              error: {
                type: "invalid_request_error",
                message:
                  "input length and `max_tokens` exceed context limit: 196000 + 8192 > 200000, decrease input length or `max_tokens` and try again",
              },
            },
          }
        : { text: "ok" },
    );
    const answer = await ask(server, "anthropic", request([user("long")], { maxOutputTokens: 8192 }));
    expect(answer.text).toBe("ok");
    expect(server.requests.map((one) => one.body.max_tokens)).toEqual([8192, 4000]);
  });

  test("no room for an answer is a full context", async () => {
    const server = await serve([
      {
        status: 400,
        json: {
          type: "error",
          error: {
            type: "invalid_request_error",
            message: "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000",
          },
        },
      },
    ]);
    const answer = await ask(server, "anthropic", request([user("long")], { maxOutputTokens: 8192 }));
    expect(failure(answer).kind).toBe("context");
    expect(server.requests).toHaveLength(1);
  });

  test("a paused turn is continued where it stopped", async () => {
    const server = await serve(
      [
        { text: "first ", stop: "pause_turn", usage: { input: 3, output: 2 } },
        { text: "second", usage: { input: 5, output: 1 } },
      ],
      { lenient: true },
    );
    const answer = await ask(server, "anthropic", request([user("go")]));
    expect(answer.text).toBe("first second");
    expect(answer.stop).toBe("end");
    expect(answer.usage?.outputTokens).toBe(3);
    const messages = server.requests[1]?.body.messages;
    const last = Array.isArray(messages) ? messages.at(-1) : null;
    expect(isObject(last) ? last.role : null).toBe("assistant");
  });
});

test("variables that the clients read for themselves add nothing to a request", async () => {
  const variables = {
    OPENAI_ORG_ID: "org",
    OPENAI_PROJECT_ID: "proj",
    OPENAI_CUSTOM_HEADERS: "X-Leak: 1",
    OPENAI_LOG: "debug",
    OPENAI_BASE_URL: "http://127.0.0.1:9",
    ANTHROPIC_CUSTOM_HEADERS: "X-Leak: 1",
    ANTHROPIC_AUTH_TOKEN: "leak",
    ANTHROPIC_LOG: "debug",
    ANTHROPIC_BASE_URL: "http://127.0.0.1:9",
  };
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  const server = await serve([{ text: "ok" }]);
  try {
    for (const wire of WIRES) expect((await ask(server, wire, request([user("hi")]))).text).toBe("ok");
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
  for (const { headers } of server.requests) expect(JSON.stringify(headers)).not.toMatch(/leak|org|proj|stainless/);
});

test("a key with a line end is a clear error, without the key in it", async () => {
  const server = await serve([{ text: "ok" }]);
  const answer = await collect(
    open(endpoint(server.url, "openai", { apiKey: "sk-secret\nx" })).stream(request([user("hi")]), signal()),
  );
  expect([failure(answer).kind, answer.retries.length]).toEqual(["request", 0]);
  expect(answer.error?.message).not.toContain("secret");
});

test("loopback never goes through a proxy", async () => {
  const server = await serve([{ text: "ok" }]);
  const dead = "http://127.0.0.1:9";
  const answer = await ask(server, "chat", request([user("hi")]), {
    env: { HTTP_PROXY: dead, http_proxy: dead, HTTPS_PROXY: dead },
  });
  expect(answer.text).toBe("ok");
});

test("an empty 200 is no answer: it is tried again", async () => {
  const server = await serve([{ status: 200 }, { status: 200, body: " \n" }, { text: "ok" }]);
  const answer = await ask(server, "chat", request([user("hi")]));
  expect([answer.text, answer.retries.length]).toEqual(["ok", 2]);
});

test("a bare host that serves pages everywhere: the first page is reported, with the hint", async () => {
  const server = await serve([
    { status: 200, body: "<!doctype html><title>Portal</title>", headers: { "content-type": "text/html" } },
  ]);
  const answer = await collect(open(endpoint(server.url.replace("/v1", ""))).stream(request([user("hi")]), signal()));
  expect(failure(answer).message).toContain(`${server.url.replace("/v1", "")}/chat/completions`);
  expect(failure(answer).hint).toContain("/v1");
  expect(server.requests.map((one) => one.path)).toEqual(["/chat/completions", "/v1/chat/completions"]);
});

test("a consumer that stops reading ends the request", async () => {
  let gone: () => void = () => {};
  const closed = new Promise<void>((resolve) => (gone = resolve));
  const listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data: (socket) =>
        void socket.write(
          'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
        ),
      close: () => gone(),
    },
  });
  for await (const event of open(endpoint(`http://127.0.0.1:${listener.port}/v1`)).stream(
    request([user("hi")]),
    signal(),
  )) {
    expect(event).toEqual({ type: "text", text: "a" });
    break;
  }
  await closed;
  listener.stop(true);
});

test("a server that keeps the socket open behind the end doesn't hold the answer", async () => {
  const end = 'data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  const server = await serve([{ raw: end, hang: "stream" }]);
  const answer = await ask(server, "chat", request([user("hi")]));
  expect([answer.text, answer.stop]).toEqual(["ok", "end"]);
});

test("white space before the answer is life", async () => {
  const end = 'data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  const server = await serve([{ raw: [...Array(10).fill("\n"), " ", "\uFEFF", end] }]);
  const answer = await ask(server, "chat", request([user("hi")]));
  expect([answer.text, answer.stop]).toEqual(["ok", "end"]);
});

test("comments are life: a stream of them outlasts the idle limit", async () => {
  const end = 'data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  const server = await serve([{ raw: [...Array(10).fill(": keep-alive\n\n"), end], gapMs: 40 }]);
  const answer = await collect(
    open(endpoint(server.url, "openai", { timeoutMs: 300 })).stream(request([user("hi")]), signal()),
  );
  expect([answer.text, answer.retries.length]).toEqual(["ok", 0]);
});

test("no first byte within the limit is a timeout, tried again", async () => {
  const server = await serve((_, index) => (index === 0 ? { hang: true } : { text: "ok" }));
  // Long enough for the second request of a busy machine.
  const at = endpoint(server.url, "openai", { timeoutMs: 250 });
  const answer = await collect(open(at).stream(request([user("hi")]), signal()));
  expect(answer.text).toBe("ok");
  expect(answer.retries).toHaveLength(1);
});

test("a refused connection names the host", async () => {
  const server = await startModelServer([]);
  await server.close();
  const answer = await ask(server, "chat", request([user("hi")]), { maxRetries: 1 });
  expect(failure(answer).kind).toBe("network");
  expect(answer.error?.message).toContain(hostOf(server.url));
  expect(answer.retries).toHaveLength(1);
});
