import { describe, expect, test } from "bun:test";
import type { Config, LoadedConfig } from "../src/config.ts";
import { nothingConfigured, resolveEndpoint } from "../src/endpoint.ts";
import { UserError } from "../src/errors.ts";

const loaded = (values: Config): LoadedConfig => ({
  values,
  origins: {},
  permission: [],
  reports: [],
  path: "config.json",
});
const resolve = (values: Config, env: Record<string, string> = {}) => resolveEndpoint(loaded(values), env);

describe("which provider", () => {
  test.each<[string, Config, Record<string, string>, string, string]>([
    ["the first preset with a key", {}, { GROQ_API_KEY: "g", DEEPSEEK_API_KEY: "d" }, "groq", "g"],
    ["Anthropic before the others", {}, { OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a" }, "anthropic", "a"],
    ["the configured protocol", { provider: "openai" }, { OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a" }, "openai", "o"],
    ["the configured preset", { presetId: "xai" }, { XAI_API_KEY: "x", ANTHROPIC_API_KEY: "a" }, "xai", "x"],
    [
      "the preset of a known host",
      { baseURL: "https://api.groq.com/openai/v1/" },
      { GROQ_API_KEY: "g", OPENAI_API_KEY: "o" },
      "groq",
      "g",
    ],
    [
      "a configured key over the environment",
      { provider: "openai", apiKey: "mine" },
      { OPENAI_API_KEY: "o" },
      "openai",
      "mine",
    ],
    [
      "a custom host with the protocol's key",
      { baseURL: "https://llm.corp.test/v1" },
      { OPENAI_API_KEY: "o" },
      "custom-openai",
      "o",
    ],
    [
      "a custom Anthropic host",
      { baseURL: "https://llm.corp.test", provider: "anthropic" },
      { ANTHROPIC_API_KEY: "a" },
      "custom-anthropic",
      "a",
    ],
    ["env:NAME", { provider: "openai", apiKey: "env:CORP" }, { CORP: " k " }, "openai", "k"],
    [
      "cmd:",
      { provider: "openai", apiKey: "cmd:printf 'from-cmd\\nsecond'" },
      { PATH: process.env.PATH ?? "" },
      "openai",
      "from-cmd",
    ],
  ])("%s", async (_, values, env, presetId, apiKey) => {
    const { endpoint } = await resolve(values, env);
    expect([endpoint.presetId, endpoint.apiKey]).toEqual([presetId, apiKey]);
  });

  test.each(["ftp://models.test/v1", "file:///etc/passwd", "localhost:11434"])("%s is no base URL", (baseURL) => {
    expect(resolve({ provider: "openai", apiKey: "k", baseURL })).rejects.toThrow(
      `baseURL "${baseURL}" is no http(s) URL`,
    );
  });

  test("says what it chose by a key it found", async () => {
    expect((await resolve({}, { OPENAI_API_KEY: "o" })).said).toBe("OpenAI, because OPENAI_API_KEY is set");
    expect((await resolve({ provider: "openai" }, { OPENAI_API_KEY: "o" })).said).toBeNull();
  });

  test("a key of another vendor's preset never goes to a known host", () => {
    expect(resolve({ baseURL: "https://api.x.ai/v1" }, { OPENAI_API_KEY: "o" })).rejects.toThrow(
      /^No key for "xAI"\. Set XAI_API_KEY/,
    );
  });
});

describe("without a key", () => {
  test("a local server needs none", async () => {
    expect((await resolve({ baseURL: "http://127.0.0.1:8080/v1" })).endpoint.apiKey).toBeNull();
    expect((await resolve({ presetId: "ollama" })).endpoint).toMatchObject({ presetId: "ollama", apiKey: null });
  });
  test.each<[Config, Record<string, string>, RegExp]>([
    [{}, {}, /^No key for "Anthropic"\. Set ANTHROPIC_API_KEY/],
    [{ provider: "openai" }, { OPENAI_API_KEY: "  " }, /^No key for "OpenAI"/],
    [{ provider: "openai", apiKey: "env:NOPE" }, {}, /names the variable NOPE, which is not set/],
    [{ provider: "openai", apiKey: "cmd:exit 3" }, { PATH: process.env.PATH ?? "" }, /failed with 3/],
    [{ provider: "openai", apiKey: "cmd:true" }, { PATH: process.env.PATH ?? "" }, /printed nothing/],
  ])("%j %j is an error of kind auth", async (values, env, message) => {
    const error = await resolve(values, env).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(UserError);
    expect(error).toMatchObject({ kind: "auth", message: expect.stringMatching(message) });
  });
});

test("SHIRO_WIRE takes chat or responses and nothing else", async () => {
  expect(
    (await resolve({ provider: "openai" }, { OPENAI_API_KEY: "o", SHIRO_WIRE: "responses" })).endpoint.forcedWire,
  ).toBe("responses");
  expect(resolve({ provider: "openai" }, { OPENAI_API_KEY: "o", SHIRO_WIRE: "soap" })).rejects.toThrow(
    'Unknown SHIRO_WIRE "soap". Available: chat, responses',
  );
});

test("all keys of the environment are known, to be masked", async () => {
  const { keys } = await resolve({ provider: "openai", apiKey: "mine" }, { OPENAI_API_KEY: "o1", GROQ_API_KEY: "g1" });
  expect(keys.toSorted()).toEqual(["g1", "mine", "o1"]);
});

test("setup is offered only when neither configuration nor environment says anything", () => {
  expect(nothingConfigured({}, {})).toBe(true);
  expect(nothingConfigured({}, { XAI_API_KEY: "x" })).toBe(false);
  expect(nothingConfigured({ baseURL: "http://localhost:1/v1" }, {})).toBe(false);
});
