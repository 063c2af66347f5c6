/** The body fields of every thinking level, by wire, vendor and model family. */
import { describe, expect, test } from "bun:test";
import type { Wire } from "../src/provider.ts";
import { lowerEffort, thinkingFields, type ThinkingQuery } from "../src/thinking.ts";
import { THINKING_LEVELS, type JsonObject, type ThinkingLevel } from "../src/types.ts";

type Row = readonly [model: string, ...fields: JsonObject[]];

const ask = (over: Partial<ThinkingQuery>): ThinkingQuery => ({
  wire: "chat",
  presetId: "custom",
  host: "gateway.example.test",
  model: "m",
  level: "medium",
  maxOutputTokens: 32_000,
  hasTools: true,
  ...over,
});

function fieldsOf(over: Partial<ThinkingQuery>): JsonObject[] {
  return THINKING_LEVELS.map((level) => thinkingFields(ask({ ...over, level })).fields);
}

const nothing: JsonObject[] = [{}, {}, {}, {}, {}];
const adaptive = (effort: string, display?: string): JsonObject => ({
  thinking: { type: "adaptive", ...(display ? { display } : {}) },
  output_config: { effort },
});
const adaptives = (display?: string) => ["low", "medium", "high", "max"].map((effort) => adaptive(effort, display));
const budget = (tokens: number): JsonObject => ({ thinking: { type: "enabled", budget_tokens: tokens } });
const budgets = [budget(2048), budget(8192), budget(16_384), budget(23_808)];
const chat = (...words: string[]): JsonObject[] => words.map((word) => ({ reasoning_effort: word }));
const responses = (...words: string[]): JsonObject[] => words.map((word) => ({ reasoning: { effort: word } }));

describe("Anthropic", () => {
  const rows: Row[] = [
    ["claude-fable-5", adaptive("low"), ...adaptives()],
    ["claude-fable-5-2", adaptive("low"), ...adaptives()],
    ["claude-mythos-5-1", adaptive("low"), ...adaptives()],
    ["claude-opus-5-5", adaptive("low", "summarized"), ...adaptives("summarized")],
    [
      "claude-sonnet-5-5",
      { thinking: { type: "between_tools" }, output_config: { effort: "low" } },
      ...adaptives("summarized"),
    ],
    ["claude-haiku-5-5", { thinking: { type: "disabled" }, output_config: { effort: "low" } }, ...adaptives()],
    ["claude-opus-5", { thinking: { type: "disabled" }, output_config: { effort: "low" } }, ...adaptives()],
    ["claude-sonnet-5", { thinking: { type: "disabled" } }, ...adaptives()],
    ["claude-opus-4-8", {}, ...adaptives()],
    ["claude-opus-4-7", {}, ...adaptives()],
    ["claude-opus-4-6", {}, ...adaptives()],
    ["claude-sonnet-4-6", {}, ...adaptives()],
    [
      "claude-opus-4-5-20251101",
      {},
      { ...budget(2048), output_config: { effort: "low" } },
      { ...budget(8192), output_config: { effort: "medium" } },
      { ...budget(16_384), output_config: { effort: "high" } },
      { ...budget(23_808), output_config: { effort: "high" } },
    ],
    ["claude-sonnet-4-5", {}, ...budgets],
    ["claude-haiku-4-5-20251001", {}, ...budgets],
    ["claude-3-7-sonnet-20250219", {}, ...budgets],
    ["claude-3-5-haiku-20241022", ...nothing],
    // Nobody has written this one down: it is taken for the strictest known.
    ["claude-opus-7", adaptive("low", "summarized"), ...adaptives("summarized")],
  ];
  test.each(rows)("%s", (model, ...fields) => {
    expect(fieldsOf({ wire: "anthropic", presetId: "anthropic", host: "api.anthropic.com", model })).toEqual(fields);
  });

  test("a gateway's Claude is treated like the vendor's", () => {
    const model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
    expect(fieldsOf({ wire: "anthropic", model })).toEqual([{}, ...budgets]);
    expect(fieldsOf({ wire: "anthropic", model: "anthropic/claude-opus-4.7" })).toEqual([{}, ...adaptives()]);
  });

  test("a foreign model behind the wire gets the classic budget, and nothing for off", () => {
    expect(fieldsOf({ wire: "anthropic", model: "kimi-k9" })).toEqual([{}, ...budgets]);
  });

  test.each([
    [64_000, 55_808],
    [32_000, 23_808],
    [16_384, 8192],
    [4096, 2048],
    [2048, 1024],
  ])("in an answer of %d tokens the largest budget is %d", (maxOutputTokens, expected) => {
    const { fields } = thinkingFields(
      ask({ wire: "anthropic", model: "claude-sonnet-4-5", level: "max", maxOutputTokens }),
    );
    expect(fields).toEqual(budget(expected));
  });

  test("an answer too small to think in goes without thinking and says so", () => {
    const made = thinkingFields(
      ask({ wire: "anthropic", model: "claude-haiku-4-5", level: "low", maxOutputTokens: 1500 }),
    );
    expect(made.fields).toEqual({});
    expect(made.note).toContain("1500 tokens");
  });

  test("every budget is at least 1024 and below the answer size", () => {
    for (let maxOutputTokens = 1; maxOutputTokens < 70_000; maxOutputTokens += 97) {
      for (const fields of fieldsOf({ wire: "anthropic", model: "claude-sonnet-4-5", maxOutputTokens })) {
        if (Object.keys(fields).length === 0) continue;
        const tokens = Number(JSON.stringify(fields).match(/"budget_tokens":(\d+)/)?.[1]);
        expect(tokens).toBeGreaterThanOrEqual(1024);
        expect(tokens).toBeLessThan(maxOutputTokens);
      }
    }
  });
});

describe("OpenAI", () => {
  const rows: readonly (readonly [model: string, words: string[]])[] = [
    ["gpt-6.2-astra", ["low", "low", "medium", "high", "max"]],
    ["gpt-6.2-sol", ["low", "low", "medium", "high", "max"]],
    ["gpt-6.1-sol", ["low", "low", "medium", "high", "max"]],
    ["gpt-6.1-terra", ["none", "low", "medium", "high", "max"]],
    ["gpt-6-astra", ["low", "low", "medium", "high", "max"]],
    ["gpt-6-sol", ["none", "low", "medium", "high", "max"]],
    ["gpt-6-luna", ["none", "low", "medium", "high", "max"]],
    ["gpt-5.6", ["none", "low", "medium", "high", "max"]],
    ["gpt-5.6-sol-2026-07-09", ["none", "low", "medium", "high", "max"]],
    ["gpt-5.6-terra", ["none", "low", "medium", "high", "xhigh"]],
    ["gpt-5.5", ["none", "low", "medium", "high", "xhigh"]],
    ["gpt-5.4-mini", ["none", "low", "medium", "high", "xhigh"]],
    ["gpt-5.2", ["none", "low", "medium", "high", "xhigh"]],
    ["gpt-5.5-pro", ["medium", "medium", "medium", "high", "xhigh"]],
    ["gpt-5.3-codex", ["none", "low", "medium", "high", "xhigh"]],
    ["gpt-5.2-codex", ["low", "low", "medium", "high", "xhigh"]],
    ["gpt-5.1-codex-max", ["low", "low", "medium", "high", "xhigh"]],
    ["gpt-5.1", ["none", "low", "medium", "high", "high"]],
    ["gpt-5.1-codex-mini", ["low", "low", "medium", "high", "high"]],
    ["gpt-5-codex", ["low", "low", "medium", "high", "high"]],
    ["gpt-5-mini-2025-08-07", ["minimal", "low", "medium", "high", "high"]],
    ["gpt-5-pro", ["high", "high", "high", "high", "high"]],
    ["o3", ["low", "low", "medium", "high", "high"]],
    ["o4-mini", ["low", "low", "medium", "high", "high"]],
    ["gpt-9", ["low", "low", "medium", "high", "xhigh"]],
  ];
  test.each(rows)("%s on responses", (model, words) => {
    const at = { wire: "responses" as Wire, presetId: "openai", host: "api.openai.com" };
    expect(fieldsOf({ ...at, model })).toEqual(responses(...words));
    expect(fieldsOf({ ...at, model, presetId: "custom" })).toEqual(responses(...words));
  });

  test.each(["gpt-4o", "gpt-4.1-mini", "gpt-4o-2024-08-06", "chatgpt-4o-latest", "gpt-3.5-turbo"])(
    "%s takes no effort",
    (model) => {
      expect(fieldsOf({ presetId: "openai", host: "api.openai.com", model })).toEqual(nothing);
    },
  );

  test("on chat completions, tools leave the newer models no thinking where they can do without", () => {
    const at = { presetId: "openai", host: "api.openai.com" };
    expect(fieldsOf({ ...at, model: "gpt-5.6-sol" })).toEqual(chat("none", "none", "none", "none", "none"));
    expect(fieldsOf({ ...at, model: "gpt-5.6-sol", hasTools: false })).toEqual(
      chat("none", "low", "medium", "high", "max"),
    );
    expect(fieldsOf({ ...at, model: "gpt-5.1" })).toEqual(chat("none", "low", "medium", "high", "high"));
    expect(thinkingFields(ask({ ...at, model: "gpt-5.6-sol" })).note).toContain("thinking is off");
  });

  test("one model's chat completions stop below its responses", () => {
    const at = { presetId: "openai", host: "api.openai.com", model: "gpt-6.1-sol" };
    expect(thinkingFields(ask({ ...at, level: "max" })).fields).toEqual({ reasoning_effort: "xhigh" });
  });
});

describe("other vendors on chat completions", () => {
  const deepseek = (effort: string): JsonObject => ({ thinking: { type: "enabled" }, reasoning_effort: effort });
  const parsed: JsonObject = { reasoning_effort: "default", reasoning_format: "parsed" };
  const router = (...values: JsonObject[]): JsonObject[] => values.map((reasoning) => ({ reasoning }));
  const words = (...efforts: string[]): JsonObject[] => router(...efforts.map((effort) => ({ effort })));
  const rows: readonly (readonly [preset: string, host: string, model: string, fields: JsonObject[]])[] = [
    [
      "deepseek",
      "api.deepseek.com",
      "deepseek-flash",
      [{ thinking: { type: "disabled" } }, ...["low", "high", "high", "max"].map(deepseek)],
    ],
    [
      "deepseek",
      "api.deepseek.com",
      "deepseek-v4-pro",
      [{ thinking: { type: "disabled" } }, ...["low", "high", "high", "max"].map(deepseek)],
    ],
    ["deepseek", "api.deepseek.com", "deepseek-chat", nothing],
    ["deepseek", "api.deepseek.com", "deepseek-reasoner", nothing],
    ["xai", "api.x.ai", "grok-4.7", chat("low", "low", "medium", "high", "xhigh")],
    ["xai", "api.x.ai", "grok-4.6", chat("low", "low", "medium", "high", "high")],
    ["xai", "api.x.ai", "grok-4.3", chat("none", "low", "medium", "high", "high")],
    ["xai", "api.x.ai", "grok-4.20-0309-reasoning", nothing],
    ["xai", "api.x.ai", "grok-4.20-0309-non-reasoning", nothing],
    ["xai", "api.x.ai", "grok-code-fast-1", nothing],
    ["groq", "api.groq.com", "openai/gpt-oss-120b", chat("low", "low", "medium", "high", "high")],
    [
      "groq",
      "api.groq.com",
      "qwen/qwen3.8-27b",
      [{ ...parsed, reasoning_effort: "none" }, parsed, parsed, parsed, parsed],
    ],
    ["groq", "api.groq.com", "llama-3.3-70b-versatile", nothing],
    ["groq", "api.groq.com", "groq/compound", nothing],
    ["custom", "api.mistral.ai", "mistral-large-4", chat("none", "high", "high", "high", "high")],
    ["custom", "api.mistral.ai", "mistral-medium-3.5", chat("none", "high", "high", "high", "high")],
    ["custom", "api.mistral.ai", "codestral-latest", nothing],
    ["custom", "generativelanguage.googleapis.com", "gemini-3.8-flash", chat("low", "low", "medium", "high", "high")],
    [
      "custom",
      "generativelanguage.googleapis.com",
      "gemini-3.1-pro-preview",
      chat("low", "low", "medium", "high", "high"),
    ],
    [
      "custom",
      "generativelanguage.googleapis.com",
      "models/gemini-3.5-flash",
      chat("minimal", "low", "medium", "high", "high"),
    ],
    [
      "custom",
      "generativelanguage.googleapis.com",
      "gemini-2.5-flash-lite",
      chat("none", "low", "medium", "high", "high"),
    ],
    ["custom", "generativelanguage.googleapis.com", "gemini-2.5-pro", chat("low", "low", "medium", "high", "high")],
    ["openrouter", "openrouter.ai", "x-ai/grok-4.3", words("none", "low", "medium", "high", "high")],
    [
      "openrouter",
      "openrouter.ai",
      "anthropic/claude-opus-4.8",
      [...router({ enabled: false }), ...words("low", "medium", "high", "max")],
    ],
    ["openrouter", "openrouter.ai", "anthropic/claude-opus-5.5", words("low", "low", "medium", "high", "max")],
    ["openrouter", "openrouter.ai", "openai/gpt-5.3-codex", words("low", "low", "medium", "high", "xhigh")],
    [
      "openrouter",
      "openrouter.ai",
      "someone/new-thinker",
      [...router({ enabled: false }), ...words("low", "medium", "high", "xhigh")],
    ],
    [
      "openrouter",
      "openrouter.ai",
      "xiaomi/mimo-v2.5-pro",
      router({ enabled: false }, { enabled: true }, { enabled: true }, { enabled: true }, { enabled: true }),
    ],
    [
      "openrouter",
      "openrouter.ai",
      "anthropic/claude-haiku-4.5",
      router(
        { enabled: false },
        { max_tokens: 2048 },
        { max_tokens: 8192 },
        { max_tokens: 16_384 },
        { max_tokens: 23_808 },
      ),
    ],
    ["openrouter", "openrouter.ai", "qwen/qwen3-coder-next", nothing],
    ["ollama", "localhost:11434", "qwen3:8b", chat("none", "low", "medium", "high", "max")],
    ["custom", "127.0.0.1:11434", "gpt-oss:20b", chat("low", "low", "medium", "high", "high")],
    ["ollama", "server.lan:11434", "llama3.2:3b", nothing],
    ["lmstudio", "localhost:1234", "qwen3-8b", nothing],
    ["custom", "gateway.example.test", "some-model", [{}, ...chat("low", "medium", "high", "high")]],
    ["custom", "gateway.example.test", "gpt-4o", nothing],
  ];
  test.each(rows)("%s at %s, %s", (presetId, host, model, fields) => {
    expect(fieldsOf({ presetId, host, model })).toEqual(fields);
  });

  test("responses nest the effort, and LM Studio takes it only there", () => {
    expect(fieldsOf({ wire: "responses", presetId: "xai", host: "api.x.ai", model: "grok-4.7" })).toEqual(
      responses("low", "low", "medium", "high", "xhigh"),
    );
    expect(fieldsOf({ wire: "responses", presetId: "lmstudio", host: "localhost:1234", model: "m" })).toEqual([
      {},
      ...responses("low", "medium", "high", "high"),
    ]);
  });

  test("DeepSeek's other two forms", () => {
    const at = { presetId: "deepseek", host: "api.deepseek.com", model: "deepseek-flash" };
    expect(fieldsOf({ ...at, wire: "responses" })).toEqual(responses("none", "low", "high", "high", "max"));
    expect(fieldsOf({ ...at, wire: "anthropic" })[0]).toEqual({ thinking: { type: "disabled" } });
    expect(fieldsOf({ ...at, wire: "anthropic" })[4]).toEqual({
      thinking: { type: "enabled" },
      output_config: { effort: "max" },
    });
  });

  test("Groq is asked for parsed reasoning only beside tools", () => {
    const at = { presetId: "groq", host: "api.groq.com", model: "qwen/qwen3.8-27b", hasTools: false };
    expect(thinkingFields(ask(at)).fields).toEqual({ reasoning_effort: "default" });
  });
});

describe("notes", () => {
  const note = (level: ThinkingLevel, model: string, presetId = "openai") =>
    thinkingFields(ask({ wire: "responses", presetId, host: "", model, level })).note;

  test("a level that could not be kept is said, a kept one and the highest are not", () => {
    expect(note("off", "gpt-6-astra")).toBe("gpt-6-astra cannot switch thinking off: using low.");
    expect(note("low", "gpt-5.5-pro")).toBe("gpt-5.5-pro has no thinking level low: using medium.");
    expect(note("medium", "deepseek-flash", "deepseek")).toContain("using high");
    expect(note("off", "gpt-6-sol")).toBeNull();
    expect(note("medium", "gpt-6-sol")).toBeNull();
    expect(note("max", "gpt-5.1")).toBeNull();
  });

  test("a model whose id decides says that off is not to be had", () => {
    expect(note("off", "grok-4.20-0309-reasoning", "xai")).toContain("cannot switch thinking off");
    expect(note("low", "grok-4.20-0309-reasoning", "xai")).toBeNull();
  });
});

test.each([
  ["max", "xhigh"],
  ["xhigh", "high"],
  ["high", "medium"],
  ["medium", "low"],
  ["low", null],
  ["none", "low"],
  ["minimal", "low"],
  ["default", null],
])("after a refused %s comes %s", (refused, next) => {
  expect(lowerEffort(refused)).toBe(next);
});

test("two calls never share the object they return", () => {
  const first = thinkingFields(ask({ model: "gpt-4o" })).fields;
  first.extra = true;
  expect(thinkingFields(ask({ model: "gpt-4o" })).fields).toEqual({});
});
