/** Who asks, in each protocol's own form. */
import { expect, test } from "bun:test";
import { endpointHeaders } from "../src/provider-headers.ts";
import { endpoint } from "./support/model-kit.ts";

test.each([
  ["OpenAI's protocol", endpoint("https://x.test/v1"), { authorization: "Bearer k" }],
  ["Anthropic's", endpoint("https://x.test", "anthropic"), { "x-api-key": "k", "anthropic-version": "2023-06-01" }],
  ["no key", endpoint("https://x.test/v1", "openai", { apiKey: null }), {}],
  ["an empty key", endpoint("https://x.test/v1", "openai", { apiKey: "" }), {}],
  ["Azure", endpoint("https://me.openai.azure.com/openai/v1"), { authorization: "Bearer k", "api-key": "k" }],
  ["a host that only looks like Azure", endpoint("https://azure.com.test/v1"), { authorization: "Bearer k" }],
  [
    "the user's own, whatever their case, win",
    endpoint("https://x.test/v1", "openai", { headers: { Authorization: "Basic z", "X-Team": "blue" } }),
    { authorization: "Basic z", "x-team": "blue" },
  ],
])("%s", (_, at, headers) => {
  expect(endpointHeaders(at)).toEqual(headers as Record<string, string>); // The table's rows differ in their keys.
});
