/** Refusals that need more than a dropped field: another place for instructions, plain text, an answer in one piece. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ModelRequest, Wire } from "../src/provider.ts";
import type { Json, JsonObject, Message } from "../src/types.ts";
import { ask, request, user } from "./support/model-kit.ts";
import { type ModelServer, type Reply, startModelServer } from "./support/model-server.ts";

let server: ModelServer;
let next: Reply[] = [];
let at = 0;

beforeAll(async () => {
  server = await startModelServer(() => next[at++] ?? { text: "ok" }, { lenient: true });
});
afterAll(() => server.close());

const IMAGE = "iVBORw0KGgo=";
const seeing: Message[] = [
  {
    role: "user",
    content: [
      { type: "text", text: "see" },
      { type: "image", mediaType: "image/png", data: IMAGE },
    ],
  },
];

const says = (message: string, more: JsonObject = {}): Json => ({ error: { message, ...more } });

/** The body that is sent after this refusal; the answer must come then, after one repeat. */
async function secondBody(
  wire: Wire,
  refusal: Json,
  asked: Partial<ModelRequest> = {},
  status = 400,
): Promise<JsonObject> {
  next = [{ status, json: refusal }];
  at = 0;
  const answer = await ask(server, wire, request(asked.messages ? [...asked.messages] : [user("hi")], asked), {
    maxRetries: 0,
  });
  expect([answer.error, answer.text, at]).toEqual([null, "ok", 2]);
  return server.requests.at(-1)?.body ?? {};
}

const messagesOf = (body: JsonObject): Json[] => (Array.isArray(body.messages) ? body.messages : []);

describe("instructions that have no role of their own go to the head of the user's first message", () => {
  test.each<[string, Json]>([
    ["a template's words", says("System role not supported")],
    ["Gemini's", [{ error: { code: 400, message: "Developer instruction is not enabled for models/gemma-3-27b-it" } }]],
  ])("%s", async (_, refusal) => {
    expect(messagesOf(await secondBody("chat", refusal))).toEqual([{ role: "user", content: "Be brief.\n\nhi" }]);
  });

  test("before an image too", async () => {
    const [first] = messagesOf(await secondBody("chat", says("System role not supported"), { messages: seeing }));
    expect(first).toMatchObject({
      role: "user",
      content: [{ text: "Be brief." }, { text: "see" }, { type: "image_url" }],
    });
  });
});

test("an endpoint that takes only text as content gets text", async () => {
  const refusal = says(
    "'messages.1' : for 'role:user' the following must be satisfied[('messages.1.content' : value must be a string)]",
  );
  const body = await secondBody("chat", refusal, { messages: seeing });
  expect(messagesOf(body)[1]).toEqual({
    role: "user",
    content: "see\n\n[image left out: the provider takes text only]",
  });
});

test.each<[Wire]>([["chat"], ["responses"]])(
  "an organisation that may not stream gets its answer whole: %s",
  async (wire) => {
    const refusal = says("Your organization must be verified to stream this model. Please go to the settings", {
      param: "stream",
      code: "unsupported_value",
    });
    const body = await secondBody(wire, refusal);
    expect([body.stream, body.stream_options]).toEqual([false, undefined]);
  },
);

test("summaries that may not be had leave the effort alone", async () => {
  const refusal = says("Your organization must be verified to generate reasoning summaries.", {
    param: "reasoning.summary",
    code: "unsupported_value",
  });
  expect((await secondBody("responses", refusal, { thinking: "medium" })).reasoning).toEqual({ effort: "medium" });
});

test("encrypted reasoning that a model doesn't have is not asked for", async () => {
  const body = await secondBody("responses", says("Encrypted content is not supported with this model."));
  expect(body.include).toBeUndefined();
});

test("an endpoint that knows no cache marks gets none, and keeps everything else", async () => {
  const refusal = {
    type: "error",
    error: { type: "invalid_request_error", message: "system.0.cache_control: Extra inputs are not permitted" },
  };
  const body = await secondBody("anthropic", refusal);
  expect(JSON.stringify(body)).not.toContain("cache_control");
  expect(body.system).toEqual([{ type: "text", text: "Be brief." }]);
  expect(body.tools).toHaveLength(1);
});

describe("thinking that a model doesn't do is switched off", () => {
  test.each([
    ["Ollama", '"llama3" does not support thinking'],
    ["Gemini's level", "Thinking level is not supported for this model."],
    ["Gemini's budget", "Thinking budget is not supported for this model."],
  ])("%s", async (_, message) => {
    expect((await secondBody("chat", says(message), { thinking: "medium" })).reasoning_effort).toBeUndefined();
  });
});

test("the effort falls to the highest that is listed", async () => {
  const message = "output_config.effort: Input should be 'low', 'medium' or 'high'";
  const refusal = { type: "error", error: { type: "invalid_request_error", message } };
  const body = await secondBody("anthropic", refusal, { thinking: "max", model: "claude-opus-5" });
  expect(body.output_config).toEqual({ effort: "high" });
});

describe("an image that a model can't see is left out, and the turn goes on", () => {
  test.each<[string, number, Json]>([
    ["OpenRouter without a route", 404, says("No endpoints found that support image input", { code: 404 })],
    [
      "llama.cpp without a projector",
      500,
      says("image input is not supported - hint: you may need to provide the mmproj"),
    ],
    ["vLLM", 400, { object: "error", message: "foo is not a multimodal model None", code: 400 }],
    [
      "vLLM, counting",
      400,
      { object: "error", message: "At most 0 image(s) may be provided in one request.", code: 400 },
    ],
  ])("%s", async (_, status, refusal) => {
    const body = await secondBody("chat", refusal, { messages: seeing }, status);
    expect(JSON.stringify(body)).not.toContain(IMAGE);
    expect(JSON.stringify(body)).toContain("[image left out");
  });
});

test("an answer that doesn't fit behind the prompt is asked for shorter: vLLM's sum", async () => {
  const message =
    "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 10000 tokens and your request has 2000 input tokens (9000 > 10000 - 2000). None";
  const body = await secondBody("chat", { object: "error", message, code: 400 }, { maxOutputTokens: 9000 });
  expect(body.max_tokens).toBe(8000);
});
