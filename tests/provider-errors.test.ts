/** Refusals in every provider's own words, and what the runtime says when a connection breaks. */
import { describe, expect, test } from "bun:test";
import { ProviderError, type ProviderErrorKind } from "../src/errors.ts";
import { classifyPayload, classifyResponse, classifyThrown, isModelUnknown } from "../src/provider-errors.ts";
import type { Json } from "../src/types.ts";

const URL_V1 = "https://api.example.com/v1/chat/completions";

function refusal(status: number | undefined, body: Json | string, headers: Record<string, string> = {}): ProviderError {
  const facts = { status, headers: new Headers(headers), url: URL_V1, now: 0 };
  return typeof body === "string" ? classifyResponse(body, facts) : classifyPayload(body, facts);
}

const openai = (message: string, code: string | null = null, type = "invalid_request_error"): Json => ({
  error: { message, type, param: null, code },
});
const claude = (message: string, type = "invalid_request_error"): Json => ({ type: "error", error: { type, message } });

test.each<[ProviderErrorKind, number | undefined, Json | string]>([
  // A full context, said in many ways.
  [
    "context",
    400,
    openai(
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
      "context_length_exceeded",
    ),
  ],
  ["context", 400, claude("prompt is too long: 210000 tokens > 200000 maximum")],
  [
    "context",
    400,
    claude(
      "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length or `max_tokens` and try again",
    ),
  ],
  [
    "context",
    400,
    {
      object: "error",
      message:
        "This model's maximum context length is 262144 tokens. However, you requested 270000 tokens (262000 in the messages, 8000 in the completion).",
      type: "BadRequestError",
      param: null,
      code: 400,
    },
  ],
  [
    "context",
    400,
    {
      error: {
        code: 400,
        message: "the request exceeds the available context size. try increasing the context size",
        type: "exceed_context_size_error",
        n_prompt_tokens: 1407,
        n_ctx: 256,
      },
    },
  ],
  ["context", 500, { error: { code: 500, message: "context size exceeded", type: "exceed_context_size_error" } }],
  [
    "context",
    413,
    openai("Request too large for model: tokens per minute (TPM): Limit 6000, Requested 8000", "rate_limit_exceeded"),
  ],
  ["context", 413, "<html><head><title>413 Request Entity Too Large</title></head></html>"],
  [
    "context",
    undefined,
    { type: "error", code: "context_length_exceeded", message: "Your input exceeds the context window of this model." },
  ],
  [
    "context",
    400,
    [
      {
        error: {
          code: 400,
          message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
          status: "INVALID_ARGUMENT",
        },
      },
    ],
  ],
  ["context", 400, openai("This model's maximum prompt length is 131072 but the request contains 140000 tokens.")],
  ["context", 400, openai("Please reduce the length of the messages or completion.")],
  [
    "context",
    400,
    openai("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"),
  ],
  [
    "context",
    400,
    { error: "The number of tokens to keep from the initial prompt is greater than the context length." },
  ],
  [
    "context",
    400,
    {
      error:
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is too large",
    },
  ],
  [
    "context",
    429,
    openai(
      "Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 45000. The input or output tokens must be reduced.",
      "rate_limit_exceeded",
      "tokens",
    ),
  ],
  [
    "rate",
    429,
    openai(
      "Rate limit reached: Limit 30000, Used 29000, Requested 4500. Please try again in 7s.",
      "rate_limit_exceeded",
      "tokens",
    ),
  ],
  // The same status, another matter.
  [
    "request",
    400,
    {
      error: {
        message: "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
        param: "max_tokens",
        code: "invalid_value",
      },
    },
  ],
  ["request", 400, openai("Unsupported parameter: 'temperature'", "unsupported_parameter")],
  ["request", 422, { detail: [{ loc: ["body", "messages", 0, "content"], msg: "Input should be a valid string" }] }],
  ["request", 400, claude("messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t2")],
  // Money, keys, speed.
  ["quota", 402, { error: { message: "Insufficient Balance", type: "unknown_error" } }],
  [
    "quota",
    429,
    openai(
      "You exceeded your current quota, please check your plan and billing details.",
      "insufficient_quota",
      "insufficient_quota",
    ),
  ],
  ["quota", 400, claude("Your credit balance is too low to access the Anthropic API.")],
  ["quota", 403, claude("billing problem", "billing_error")],
  [
    "rate",
    429,
    openai(
      "Rate limit reached for gpt-x. Visit https://platform.openai.com/account/billing to add a payment method.",
      "rate_limit_exceeded",
      "tokens",
    ),
  ],
  [
    "rate",
    429,
    [
      {
        error: {
          code: 429,
          message: "You exceeded your current quota. Please retry in 33s.",
          status: "RESOURCE_EXHAUSTED",
          details: [{ retryDelay: "33s" }],
        },
      },
    ],
  ],
  ["rate", 529, claude("Overloaded", "overloaded_error")],
  ["rate", undefined, claude("Overloaded", "overloaded_error")],
  ["rate", undefined, { error: { message: "Rate limit exceeded", code: 429 } }],
  ["auth", 401, openai("Incorrect API key provided", "invalid_api_key")],
  ["auth", 403, claude("Your account may not use this model", "permission_error")],
  [
    "auth",
    400,
    [{ error: { code: 400, message: "API key not valid. Please pass a valid API key.", status: "INVALID_ARGUMENT" } }],
  ],
  [
    "auth",
    400,
    {
      code: "Client specified an invalid argument",
      error: "Incorrect API key provided: x. You can obtain one at console.x.ai",
    },
  ],
  // The server's fault.
  ["server", 500, claude("Internal server error", "api_error")],
  ["server", 503, ""],
  ["server", 408, openai("timeout")],
  ["server", 409, openai("conflict")],
  ["server", 502, "<html><body>Bad gateway</body></html>"],
  [
    "server",
    400,
    {
      error: {
        message: "Failed to call a function. Please adjust your prompt.",
        type: "invalid_request_error",
        code: "tool_use_failed",
        failed_generation: "<function=x>",
      },
    },
  ],
  ["server", undefined, { error: { message: "Failed to call a function", code: "tool_use_failed" } }],
  ["server", undefined, { error: { message: "oops", code: "server_error" } }],
  ["server", undefined, { error: { message: "unheard of" } }],
  // Wrong door.
  [
    "shape",
    400,
    openai(
      "Function tools with reasoning_effort are not supported for gpt-x in /v1/chat/completions. To use function tools, use /v1/responses.",
    ),
  ],
  ["shape", 404, openai("This model is only supported in v1/responses and not in v1/chat/completions.")],
  ["shape", 404, "404 page not found"],
  ["shape", 501, "not implemented"],
  ["shape", 405, ""],
  ["request", 404, openai("The model `x` does not exist or you do not have access to it.", "model_not_found")],
  ["request", 404, claude("model: claude-nothing", "not_found_error")],
  [
    "request",
    404,
    {
      error: { message: "model 'llama9' not found, try pulling it first", type: "api_error", param: null, code: null },
    },
  ],
  ["content", 404, "<!doctype html><html><head><title>Nothing here</title></head></html>"],
  ["auth", 403, "<html><title>Just a moment...</title></html>"],
])("%s for %p %j", (kind, status, body) => {
  const error = refusal(status, body);
  expect(error.kind).toBe(kind);
  expect(error.message).not.toBe("");
  expect(error.message).not.toContain("\n");
});

describe("what a refusal carries", () => {
  test("status, code, parameter, request id", () => {
    const error = refusal(
      400,
      { error: { message: "Unsupported parameter: 'max_tokens'", param: "max_tokens", code: "unsupported_parameter" } },
      { "x-request-id": "r1" },
    );
    expect([error.status, error.code, error.parameter, error.requestId]).toEqual([
      400,
      "unsupported_parameter",
      "max_tokens",
      "r1",
    ]);
  });

  test("a parameter that only the words name", () => {
    expect(refusal(400, openai("Unrecognized request argument supplied: stream_options")).parameter).toBe(
      "stream_options",
    );
    expect(refusal(400, claude("max_tokens: 64000 > 8192, which is the maximum allowed")).parameter).toBe("max_tokens");
  });

  test("a gateway's error holds the upstream's words", () => {
    const error = refusal(400, {
      error: {
        message: "Provider returned error",
        code: 400,
        metadata: { raw: '{"error":{"message":"too many images"}}', provider_name: "X" },
      },
    });
    expect(error.message).toBe("Provider returned error: too many images");
  });

  test("one short line, without what a terminal would obey", () => {
    const error = refusal(400, openai(`bad\u001b[2J\n\n${"x".repeat(5000)}`));
    expect(error.message).not.toMatch(/[\u0000-\u001f]/);
    expect(error.message.length).toBeLessThan(500);
  });

  test("a hint where one helps", () => {
    const page = classifyResponse("<!doctype html><title>x</title>", {
      status: 404,
      headers: new Headers(),
      url: "http://127.0.0.1:1/chat/completions",
      now: 0,
    });
    expect(page.hint).toContain("/v1");
    expect(refusal(401, openai("no")).hint).toContain("key");
    expect(refusal(404, openai("no model", "model_not_found")).hint).toContain("shiro models");
    expect(classifyResponse("not found", { status: 404, url: "http://u:p@h:1/v1/messages?k=1", now: 0 }).hint).toBe(
      "HTTP 404 from http://h:1/v1/messages: check baseURL and provider.",
    );
  });

  test.each<[Record<string, string>, Json, number | undefined]>([
    [{ "retry-after": "3" }, {}, 3000],
    [{ "retry-after-ms": "1500", "retry-after": "9" }, {}, 1500],
    [{ "retry-after": "198300" }, {}, 198_300_000],
    [{ "retry-after": "0" }, {}, 0],
    [{ "retry-after": "Thu, 01 Jan 1970 00:00:04 GMT" }, {}, 4000],
    [{ "retry-after": "Wed, 31 Dec 1969 00:00:04 GMT" }, {}, 0],
    [{ "retry-after": "soon" }, {}, undefined],
    [{}, openai("Please try again in 12s."), 12_000],
    [{}, openai("Please try again in 1m2.5s. Visit us"), 62_500],
    [{}, openai("Please try again in 250ms."), 250],
    [{}, openai("retry after 2 minutes"), 120_000],
    [{}, openai("Please wait for 7 seconds"), 7000],
    [{}, [{ error: { message: "quota", details: [{ retryDelay: "33s" }] } }], 33_000],
    [{}, openai("try again in a few minutes"), undefined],
  ])("the wait asked for by %j %j", (headers, body, wanted) => {
    expect(refusal(429, body, headers).retryAfterMs).toBe(wanted);
  });

  test("an unknown model is known as such", () => {
    expect(isModelUnknown(refusal(404, openai("The model `x` does not exist", "model_not_found")))).toBe(true);
    expect(isModelUnknown(refusal(400, openai("Something about the model's tools")))).toBe(false);
  });
});

describe("what the runtime throws", () => {
  const thrown = (message: string, code?: string) =>
    Object.assign(new TypeError(message), code === undefined ? {} : { code });

  test.each<[Error, string, string]>([
    [
      thrown("The socket connection was closed unexpectedly. For more information, pass `verbose: true`", "ECONNRESET"),
      "network",
      "lost",
    ],
    [
      thrown("Unable to connect. Is the computer able to access the url?", "ConnectionRefused"),
      "network",
      "could not connect",
    ],
    [thrown("getaddrinfo ENOTFOUND", "ENOTFOUND"), "network", "no such host"],
    [new Error("Connection error.", { cause: thrown("x", "ConnectionRefused") }), "network", "could not connect"],
    [thrown("self signed certificate", "DEPTH_ZERO_SELF_SIGNED_CERT"), "request", "certificate"],
    [thrown("fetch() URL is invalid", "ERR_INVALID_URL"), "request", "no URL"],
    [thrown("Header 'authorization' has invalid value: 'Bearer sk-1'"), "request", "characters"],
    [thrown("anything else"), "network", "lost"],
  ])("%s", (error, kind, words) => {
    const found = classifyThrown(error, URL_V1);
    expect(found).toBeInstanceOf(ProviderError);
    expect(found instanceof ProviderError ? found.kind : "").toBe(kind);
    expect(found.message).toContain(words);
  });

  test("an abort stays an abort", () => {
    const abort = new DOMException("stop", "AbortError");
    expect(classifyThrown(abort, URL_V1)).toBe(abort);
  });
});
