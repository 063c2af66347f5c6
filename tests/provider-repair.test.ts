/** Refused parameters: changed once, remembered, never a visible error. */
import { describe, expect, test } from "bun:test";
import { ProviderError } from "../src/errors.ts";
import { classifyPayload } from "../src/provider-errors.ts";
import { repairBody } from "../src/provider-repair-apply.ts";
import { RepairMemory, repairFor } from "../src/provider-repair.ts";
import type { Wire } from "../src/provider.ts";
import type { Json, JsonObject, Message } from "../src/types.ts";
import { assistant, call, collect, endpoint, failure, open, request, results, user } from "./support/model-kit.ts";
import { startModelServer } from "./support/model-server.ts";

function refusal(error: JsonObject, status = 400): ProviderError {
  return classifyPayload({ error }, { status, headers: undefined, url: "http://x/v1", now: 0 });
}

/** The body after the repair that this refusal asks for; null where none is. */
function repaired(error: JsonObject, body: JsonObject, wire: Wire = "chat"): JsonObject | null {
  const repair = repairFor(refusal(error), body, wire);
  return repair ? repairBody(body, [repair]) : null;
}

const bareCall = (content: Json): JsonObject => ({
  messages: [
    { role: "user", content: "a" },
    { role: "assistant", content, tool_calls: [{ id: "c" }] },
  ],
});

test.each<[string, JsonObject, JsonObject, JsonObject]>([
  [
    "the newer name of the limit",
    {
      message:
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      param: "max_tokens",
      code: "unsupported_parameter",
    },
    { max_tokens: 5 },
    { max_completion_tokens: 5 },
  ],
  [
    "the older name of the limit",
    { message: "Unrecognized request argument supplied: max_completion_tokens" },
    { max_completion_tokens: 5 },
    { max_tokens: 5 },
  ],
  [
    "a limit that is too high",
    {
      message: "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
      param: "max_tokens",
    },
    { max_tokens: 100_000 },
    { max_tokens: 16_384 },
  ],
  [
    "a limit that is out of range",
    { message: "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]" },
    { max_tokens: 32_000 },
    { max_tokens: 8192 },
  ],
  [
    "temperature",
    {
      message: "Unsupported value: 'temperature' does not support 0 with this model.",
      param: "temperature",
      code: "unsupported_value",
    },
    { temperature: 0, a: 1 },
    { a: 1 },
  ],
  [
    "stream_options",
    { message: "Unrecognized request argument supplied: stream_options" },
    { stream_options: {}, a: 1 },
    { a: 1 },
  ],
  [
    "stream_options as an extra field",
    { message: "body.stream_options: Extra inputs are not permitted" },
    { stream_options: {}, a: 1 },
    { a: 1 },
  ],
  [
    "parallel_tool_calls",
    { message: "parallel_tool_calls is not supported" },
    { parallel_tool_calls: true, a: 1 },
    { a: 1 },
  ],
  [
    "prompt_cache_key",
    { message: "Unknown parameter: 'prompt_cache_key'.", code: "unknown_parameter", param: "prompt_cache_key" },
    { prompt_cache_key: "s", a: 1 },
    { a: 1 },
  ],
  ["tool_choice", { message: "tool_choice is not supported for this model" }, { tool_choice: "auto", a: 1 }, { a: 1 }],
  [
    "an effort with a list of others",
    {
      message:
        "Unsupported value: 'xhigh' is not supported with this model. Supported values are: 'low', 'medium', and 'high'.",
      param: "reasoning_effort",
      code: "unsupported_value",
    },
    { reasoning_effort: "xhigh" },
    { reasoning_effort: "high" },
  ],
  [
    "an effort below the list",
    {
      message:
        "Unsupported value: 'none' is not supported with this model. Supported values are: 'low', 'medium', and 'high'.",
      param: "reasoning_effort",
    },
    { reasoning_effort: "none" },
    { reasoning_effort: "low" },
  ],
  [
    "an effort without a list",
    { message: "Invalid value for reasoning_effort: 'max'" },
    { reasoning_effort: "max" },
    { reasoning_effort: "xhigh" },
  ],
  [
    "the lowest effort",
    { message: "Invalid value for reasoning_effort: 'low'" },
    { reasoning_effort: "low", a: 1 },
    { a: 1 },
  ],
  [
    "an unknown reasoning_effort",
    { message: "Unrecognized request argument supplied: reasoning_effort" },
    { reasoning_effort: "low", a: 1 },
    { a: 1 },
  ],
  [
    "strict",
    { message: "Unknown parameter: 'tools[0].function.strict'. strict is not supported" },
    { tools: [{ type: "function", function: { name: "t", strict: true } }] },
    { tools: [{ type: "function", function: { name: "t" } }] },
  ],
  [
    "the developer role",
    { message: "developer is not one of ['system', 'assistant', 'user'] - 'messages.0.role'" },
    { messages: [{ role: "developer", content: "s" }] },
    { messages: [{ role: "system", content: "s" }] },
  ],
  ["null content", { message: "invalid message content type: <nil>" }, bareCall(null), bareCall("")],
  ["missing content", { message: "messages[1]: missing field `content`" }, bareCall(null), bareCall("")],
  ["empty content", { message: "messages: text content blocks must be non-empty" }, bareCall(""), bareCall(null)],
  [
    "tools that go without thinking only",
    {
      message:
        "Function tools with reasoning_effort are not supported for x in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
    },
    { reasoning_effort: "low" },
    { reasoning_effort: "none" },
  ],
  [
    "a schema for the answer that strict mode doesn't take",
    {
      message: "Invalid schema for response_format 'answer': In context=(), 'additionalProperties' is required",
      param: "response_format",
    },
    { response_format: { type: "json_schema" }, a: 1 },
    { a: 1 },
  ],
  [
    "reasoning that is missed",
    { message: "The reasoning_content in the thinking mode must be passed back to the API." },
    { messages: [{ role: "assistant", content: "x" }] },
    { messages: [{ role: "assistant", content: "x", reasoning_content: "" }] },
  ],
  [
    "reasoning that is refused",
    { message: "property 'reasoning_content' is unsupported" },
    { messages: [{ role: "assistant", content: "x", reasoning_content: "r" }] },
    { messages: [{ role: "assistant", content: "x" }] },
  ],
])("%s", (_, error, body, wanted) => {
  expect(repaired(error, body)).toEqual(wanted);
});

test.each<[string, Wire, JsonObject, JsonObject, JsonObject]>([
  [
    "an effort",
    "responses",
    {
      message:
        "Unsupported value: 'max' is not supported with the 'gpt-x' model. Supported values are: 'low', 'medium', and 'high'.",
      param: "reasoning.effort",
    },
    { reasoning: { effort: "max", summary: "auto" } },
    { reasoning: { effort: "high", summary: "auto" } },
  ],
  [
    "reasoning as a whole",
    "responses",
    {
      message: "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
      param: "reasoning.effort",
      code: "unsupported_parameter",
    },
    { reasoning: { effort: "low" }, a: 1 },
    { a: 1 },
  ],
  [
    "encrypted content",
    "responses",
    { message: "Encrypted content is not supported with this model.", param: "include" },
    { include: ["reasoning.encrypted_content"], a: 1 },
    { a: 1 },
  ],
  [
    "a limit",
    "anthropic",
    { message: "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for this model" },
    { max_tokens: 64_000 },
    { max_tokens: 8192 },
  ],
  [
    "adaptive thinking",
    "anthropic",
    { message: "adaptive thinking is not supported on this model" },
    { thinking: { type: "adaptive" }, max_tokens: 1 },
    { max_tokens: 1 },
  ],
  [
    "a thinking type by its tag",
    "anthropic",
    {
      message:
        "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'",
    },
    { thinking: { type: "adaptive" }, max_tokens: 1 },
    { max_tokens: 1 },
  ],
  [
    "a thinking budget",
    "anthropic",
    {
      message:
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    },
    { thinking: { type: "enabled", budget_tokens: 2048 } },
    { thinking: { type: "adaptive" } },
  ],
  [
    "a schema for the answer",
    "anthropic",
    { message: "output_config.format.schema: Extra inputs are not permitted" },
    { output_config: { effort: "high", format: { type: "json_schema" } } },
    { output_config: { effort: "high" } },
  ],
  [
    "an effort in output_config",
    "anthropic",
    {
      message:
        "output_config.effort: Input should be 'low', 'medium' or 'high'. 'max' is not a supported value, must be one of low, medium, high",
    },
    { output_config: { effort: "max" } },
    { output_config: { effort: "high" } },
  ],
])("%s on %s", (_, wire, error, body, wanted) => {
  expect(repaired(error, body, wire)).toEqual(wanted);
});

describe("nothing is changed", () => {
  test.each<[string, JsonObject, JsonObject]>([
    [
      "for a complaint about the messages",
      { message: "messages.1: tool_use ids were found without tool_result blocks" },
      { max_tokens: 5, temperature: 0 },
    ],
    [
      "for a parameter we didn't send",
      { message: "Unsupported parameter: 'top_k'", param: "top_k" },
      { max_tokens: 5 },
    ],
    [
      "for a model that doesn't exist",
      { message: "The model `temperature` does not exist", code: "model_not_found" },
      { temperature: 0 },
    ],
  ])("%s", (_, error, body) => {
    expect(repaired(error, body)).toBeNull();
  });

  test("for another status or a full context", () => {
    expect(
      repairFor(refusal({ message: "Unsupported parameter: 'temperature'" }, 429), { temperature: 0 }, "chat"),
    ).toBeNull();
    expect(
      repairFor(
        refusal({ message: "max_tokens unsupported", code: "context_length_exceeded" }),
        { max_tokens: 5 },
        "chat",
      ),
    ).toBeNull();
  });

  test("in the body that was given", () => {
    const body = { max_tokens: 5, tools: [{ strict: true }] };
    repairBody(body, [{ kind: "rename", from: "max_tokens", to: "x" }, { kind: "strict" }]);
    expect(body).toEqual({ max_tokens: 5, tools: [{ strict: true }] });
  });
});

describe("against a server", () => {
  const signal = () => new AbortController().signal;
  const refuse = (message: string, param: string | null = null) => ({
    status: 400,
    json: { error: { message, param, code: null, type: "invalid_request_error" } },
  });

  test("several repairs in one call, remembered for the next, unseen by the user", async () => {
    const server = await startModelServer(({ body }) => {
      if (body.max_tokens !== undefined)
        return refuse(
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
          "max_tokens",
        );
      if (body.stream_options !== undefined) return refuse("Unrecognized request argument supplied: stream_options");
      return { text: "ok" };
    });
    const memory = new RepairMemory();
    const asked = request([user("hi")], { maxOutputTokens: 100 });
    for (const requests of [3, 4]) {
      const answer = await collect(open(endpoint(server.url), { memory }).stream(asked, signal()));
      expect([answer.text, answer.error, answer.notices]).toEqual(["ok", null, []]);
      expect(server.requests).toHaveLength(requests);
    }
    expect(server.requests[3]?.body).toMatchObject({ max_completion_tokens: 100 });
    const other = await collect(
      open(endpoint(server.url), { memory }).stream({ ...asked, model: "another" }, signal()),
    );
    expect(other.text).toBe("ok");
    expect(server.requests).toHaveLength(7);
    await server.close();
  });

  test("a server that always complains is asked four times at most, and its words are shown", async () => {
    const server = await startModelServer(({ body }) => {
      const field = [
        "stream_options",
        "reasoning_effort",
        "prompt_cache_key",
        "max_tokens",
        "max_completion_tokens",
      ].find((name) => body[name] !== undefined);
      return refuse(`Unsupported parameter: '${field ?? "model"}'`, field ?? "model");
    });
    const answer = await collect(
      open(endpoint(server.url)).stream(request([user("hi")], { maxOutputTokens: 9, thinking: "high" }), signal()),
    );
    expect(failure(answer).kind).toBe("request");
    expect(server.requests.length).toBeLessThanOrEqual(4);
    await server.close();
  });

  test.each([
    ["null", null, "invalid message content type: <nil>"],
    ["an empty text", "", "text content blocks must be non-empty"],
  ])("a server that refuses %s beside calls gets the other form", async (_, refused, message) => {
    const server = await startModelServer(({ body }) => {
      const messages = Array.isArray(body.messages) ? body.messages : [];
      const bad = messages.some(
        (one) =>
          one !== null &&
          typeof one === "object" &&
          !Array.isArray(one) &&
          one.role === "assistant" &&
          one.content === refused,
      );
      return bad ? refuse(message) : { text: "ok" };
    });
    const history: Message[] = [user("a"), assistant([call("c1")]), results("c1")];
    const answer = await collect(open(endpoint(server.url)).stream(request(history), signal()));
    expect(answer.text).toBe("ok");
    await server.close();
  });

  test("a repair that didn't help is not remembered", async () => {
    const server = await startModelServer([
      refuse("Unsupported parameter: 'stream_options'", "stream_options"),
      { status: 401, json: { error: { message: "no" } } },
      { text: "ok" },
    ]);
    const memory = new RepairMemory();
    await collect(open(endpoint(server.url), { memory }).stream(request([user("hi")]), signal()));
    await collect(open(endpoint(server.url), { memory }).stream(request([user("hi")]), signal()));
    expect(server.requests[2]?.body).toHaveProperty("stream_options");
    await server.close();
  });
});
