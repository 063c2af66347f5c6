/** The providers offered by name. */
import { describe, expect, test } from "bun:test";
import { factsFor } from "../src/models.ts";
import { PRESETS, firstPresetWithKey, keyFromEnv, presetById, presetForHost } from "../src/presets.ts";

test("the table of presets", () => {
  expect(PRESETS.map(({ id, protocol, baseURL, envKeys }) => [id, protocol, baseURL, ...envKeys])).toEqual([
    ["anthropic", "anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"],
    ["openai", "openai", "https://api.openai.com/v1", "OPENAI_API_KEY"],
    ["openrouter", "openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"],
    ["groq", "openai", "https://api.groq.com/openai/v1", "GROQ_API_KEY"],
    ["deepseek", "openai", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"],
    ["xai", "openai", "https://api.x.ai/v1", "XAI_API_KEY"],
    ["ollama", "openai", "http://localhost:11434/v1"],
    ["lmstudio", "openai", "http://localhost:1234/v1"],
    ["custom-openai", "openai", ""],
    ["custom-anthropic", "anthropic", ""],
  ]);
});

test("only Anthropic and OpenAI have models to fall back on, and all of them are known and alive", () => {
  const short = PRESETS.filter((preset) => preset.fallbackModels.length > 0);
  expect(short.map((preset) => preset.id)).toEqual(["anthropic", "openai"]);
  for (const { id, fallbackModels } of short) {
    const facts = fallbackModels.map((model) => factsFor(model, id));
    expect(facts.map((each) => each.id)).toEqual([...fallbackModels]);
    expect(facts.map((each) => each.status)).toEqual(fallbackModels.map(() => null));
  }
});

describe("a preset is found", () => {
  test.each([
    ["api.x.ai", "xai"],
    ["https://API.X.AI/v1/", "xai"],
    ["localhost:11434", "ollama"],
    ["http://127.0.0.1:11434/v1", "ollama"],
    ["http://[::1]:1234", "lmstudio"],
    ["https://api.openai.com.evil.test/v1", undefined],
    ["localhost:8080", undefined],
    ["", undefined],
  ])("by host %p: %p", (host, id) => {
    expect(presetForHost(host)?.id).toBe(id);
  });

  test.each([
    ["anthropic", { OPENAI_API_KEY: "a", ANTHROPIC_API_KEY: "b" }],
    ["groq", { XAI_API_KEY: "a", GROQ_API_KEY: "b" }],
    ["deepseek", { ANTHROPIC_API_KEY: "  ", DEEPSEEK_API_KEY: "k" }],
    [undefined, { PATH: "/bin" }],
  ])("%s by the first key in the environment", (id, env) => {
    expect(firstPresetWithKey(env)?.id).toBe(id);
  });

  test("by id", () => {
    expect(presetById("groq")?.label).toBe("Groq");
    expect(presetById("toString")).toBeUndefined();
  });
});

test("a key is told with its variable, trimmed", () => {
  const groq = PRESETS.find((preset) => preset.id === "groq");
  expect(groq && keyFromEnv(groq, { GROQ_API_KEY: " gsk-1\n" })).toEqual({ variable: "GROQ_API_KEY", key: "gsk-1" });
});
