/** What providers call an unknown model, a full context and an empty account, each in words of its own. */
import { describe, expect, test } from "bun:test";
import { EXIT, type ProviderErrorKind } from "../src/errors.ts";
import { exitOfError } from "../src/loop-exit.ts";
import { classifyResponse, isModelUnknown } from "../src/provider-errors.ts";
import type { Json } from "../src/types.ts";

function classify(status: number, body: Json) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return classifyResponse(text, { status, headers: new Headers(), url: "https://h/v1/chat/completions", now: 0 });
}

const says = (message: string, more: Json = {}): Json => ({
  error: { message, type: "invalid_request_error", ...(typeof more === "object" ? more : {}) },
});

describe("an unknown model is told from a wrong path, and ends the program as a wrong setting does", () => {
  test.each<[string, number, Json]>([
    [
      "OpenAI",
      404,
      says("The model `gpt-9` does not exist or you do not have access to it.", { code: "model_not_found" }),
    ],
    [
      "vLLM, old",
      404,
      { object: "error", message: "The model `Qwen/Qwen2.5-7B` does not exist.", type: "NotFoundError", code: 404 },
    ],
    [
      "vLLM",
      404,
      { error: { message: "The model `Qwen/Qwen2.5-7B` does not exist.", type: "NotFoundError", code: 404 } },
    ],
    ["Anthropic", 404, { type: "error", error: { type: "not_found_error", message: "model: claude-9" } }],
    ["Ollama", 404, { error: { message: 'model "llama9:7b" not found, try pulling it first', type: "api_error" } }],
    ["Ollama's own interface", 404, { error: "model 'llama9' not found" }],
    ["OpenRouter", 400, { error: { message: "foo/bar is not a valid model ID", code: 400 } }],
    ["OpenRouter without a route", 404, { error: { message: "No endpoints found for foo/bar.", code: 404 } }],
    ["Mistral", 400, { object: "error", message: "Invalid model: mistral-9", type: "invalid_model", code: "1500" }],
    [
      "Gemini",
      404,
      [{ error: { code: 404, message: "models/gemini-9 is not found for API version v1main", status: "NOT_FOUND" } }],
    ],
    ["DeepSeek", 400, says("Model Not Exist", { code: "invalid_request_error" })],
    [
      "xAI",
      404,
      {
        code: "Some requested entity was not found",
        error: "The model grok-9 does not exist or your team abc does not have access to it.",
      },
    ],
    [
      "LiteLLM",
      400,
      says("Invalid model name passed in model=gpt-9. Call `/v1/models` to view available models for your key.", {
        code: "400",
      }),
    ],
    [
      "Azure",
      404,
      { error: { code: "DeploymentNotFound", message: "The API deployment for this resource does not exist." } },
    ],
    ["Moonshot", 404, says("Not found the model kimi-9 or Permission denied", { type: "resource_not_found_error" })],
    ["Zhipu", 400, { error: { code: "1211", message: "模型不存在，请检查模型代码。" } }],
    ["Bedrock", 400, { message: "The provided model identifier is invalid." }],
    ["a name with dots", 404, says('Model "gpt-4.9" is not available')],
  ])("%s", (_, status, body) => {
    const error = classify(status, body);
    expect([error.kind, error.code, isModelUnknown(error), exitOfError(error)]).toEqual([
      "request",
      "model_not_found",
      true,
      EXIT.usage,
    ]);
  });

  test.each<[string, number, Json]>([
    [
      "a path that Anthropic doesn't know",
      404,
      { type: "error", error: { type: "not_found_error", message: "Not Found" } },
    ],
    ["a path that OpenAI doesn't know", 404, says("Invalid URL (POST /chat/completions)")],
    ["a plain page", 404, "404 page not found"],
    ["a model that can't do something", 400, says("This model does not support the tools parameter")],
    ["a server's own trouble", 500, says("model not found in cache")],
  ])("not so %s", (_, status, body) => {
    const error = classify(status, body);
    expect([error.code === "model_not_found", exitOfError(error)]).toEqual([false, EXIT.provider]);
  });
});

test.each<[ProviderErrorKind, string, number, Json]>([
  ["context", "Moonshot", 400, says("Invalid request: Your request exceeded model token limit: 131072")],
  ["context", "Zhipu", 400, { error: { code: "1261", message: "Prompt exceeds max length" } }],
  ["context", "LiteLLM", 400, says("litellm.ContextWindowExceededError: litellm.BadRequestError: x", { code: "400" })],
  [
    "context",
    "a model's name with a dot",
    400,
    says("input tokens (300000) exceeds the model's (gpt-4.1) context window"),
  ],
  [
    "context",
    "DashScope",
    400,
    says("Range of input length should be [1, 30720]", { code: "invalid_parameter_error" }),
  ],
  [
    "context",
    "TGI",
    422,
    says("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens"),
  ],
  [
    "context",
    "vLLM's decoder",
    400,
    says("The decoder prompt (length 40000) is longer than the maximum model length of 32768."),
  ],
  [
    "context",
    "Copilot",
    400,
    says("prompt token count of 140000 exceeds the limit of 128000", { code: "model_max_prompt_tokens_exceeded" }),
  ],
  ["context", "FastAPI", 400, { detail: "Prompt length (40000) exceeds maximum (32768)" }],
  ["context", "Cohere", 400, says("too many tokens: total tokens 140000 exceeds limit of 128000")],
  [
    "context",
    "a text over OpenAI's size",
    400,
    says("Invalid 'input[2].output': string too long. Expected a string with maximum length 10485760", {
      code: "string_above_max_length",
    }),
  ],
  [
    "request",
    "a name over OpenAI's size",
    400,
    says("Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64", {
      code: "string_above_max_length",
    }),
  ],
  [
    "request",
    "an answer over the model's size",
    400,
    says("max_tokens is too large: 40000. This model supports at most 16384 completion tokens", {
      param: "max_tokens",
    }),
  ],
  ["quota", "Zhipu", 429, { error: { code: "1113", message: "余额不足或无可用资源包,请充值。" } }],
  [
    "quota",
    "Moonshot",
    429,
    says("Your account is suspended, please check your plan", { type: "exceeded_current_quota_error" }),
  ],
  [
    "quota",
    "an OpenRouter key's limit",
    403,
    { error: { message: "Key limit exceeded (total limit). Manage it using the settings", code: 403 } },
  ],
  [
    "quota",
    "LiteLLM's budget",
    400,
    says("Budget has been exceeded! Current cost: 10, Max budget: 5", { type: "budget_exceeded" }),
  ],
  [
    "quota",
    "Anthropic's own limit",
    400,
    says("You have reached your specified API usage limits. You will regain access on 2026-12-01."),
  ],
])("%s: %s", (kind, _, status, body) => {
  expect(classify(status, body).kind).toBe(kind);
});

test("a message that is an object of FastAPI's is read", () => {
  const detail = [{ type: "extra_forbidden", loc: ["body", "stream_options"], msg: "Extra inputs are not permitted" }];
  const error = classify(422, { object: "error", message: { detail }, type: "invalid_request_error" });
  expect([error.message, error.parameter]).toEqual([
    "body.stream_options: Extra inputs are not permitted",
    "body.stream_options",
  ]);
});

test("a proxy that wants a password says so", () => {
  const error = classify(407, "Proxy Authentication Required");
  expect([error.kind, error.hint]).toEqual(["request", "Check the user and password in the proxy variable."]);
});

test("a full context tells a person what to do", () => {
  expect(classify(413, "").hint).toContain("/compact");
});
