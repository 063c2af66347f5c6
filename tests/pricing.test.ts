/** Cost of a request from its usage. */
import { describe, expect, test } from "bun:test";
import { formatUsd, priceOf } from "../src/pricing.ts";
import type { Usage } from "../src/types.ts";

const usage = (inputTokens: number, outputTokens: number, cacheReadTokens = 0, cacheWriteTokens = 0): Usage => ({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
  reasoningTokens: 0,
});

const MILLION = 1_000_000;

describe("a request costs", () => {
  test.each([
    [0.03, "claude-sonnet-5-5", "anthropic", usage(10_000, 1000)],
    [0.0002 * 10 + 0.0008 + 0.0025 + 0.01, "claude-sonnet-5-5", "anthropic", usage(10_000, 1000, 8000, 1000)],
    [3, "claude-sonnet-4-5-20250929", "anthropic", usage(MILLION, 0)],
    [3, "anthropic/claude-sonnet-4-5", "openrouter", usage(MILLION, 0)],
    [0.75, "openai/gpt-oss-120b", "groq", usage(MILLION, MILLION)],
    [0.003, "openai/gpt-oss-120b", "openrouter", usage(100_000, 0)],
    // No rate for cached tokens is known: they cost what fresh ones do.
    [0.59, "llama-3.3-70b-versatile", "groq", usage(MILLION, 0, MILLION)],
    // Cache writes of a Claude whose rate was not published cost a quarter more than input.
    [10, "claude-fable-5-2", "anthropic", usage(MILLION, 0, 0, MILLION)],
  ])("$%p for %s at %s", (usd, model, preset, used) => {
    expect(priceOf(used, model, preset, {})).toBeCloseTo(usd, 9);
  });

  test.each([
    [272_000, 2],
    [272_001, 4],
  ])("a prompt of %d tokens is priced whole at $%d a million", (tokens, perMillion) => {
    expect(priceOf(usage(tokens, 0), "gpt-6-sol", "openai", {})).toBeCloseTo((tokens * perMillion) / MILLION, 9);
  });

  test("the tier is chosen by the whole prompt, cached tokens included", () => {
    expect(priceOf(usage(150_000, 1000, 150_000), "claude-haiku-5-5", "anthropic", {})).toBeCloseTo(
      0.15 * 0.05 + 0.0025,
      9,
    );
  });

  test("a cache rate a tier leaves out moves with its input rate", () => {
    expect(priceOf(usage(300_000, 0, 300_000), "gpt-5.6-sol", "openai", {})).toBeCloseTo(0.3 * 0.8, 9);
  });

  test.each([
    ["2026-11-30T02:00:00Z", 0.3], // a Monday, peak
    ["2026-11-30T05:00:00Z", 0.15],
    ["2026-11-28T02:00:00Z", 0.15], // a Saturday
    [undefined, 0.3],
  ])("at %p DeepSeek's million costs $%p", (at, usd) => {
    const when = at === undefined ? undefined : new Date(at);
    expect(priceOf(usage(MILLION, 0), "deepseek-flash", "deepseek", {}, when)).toBeCloseTo(usd, 9);
  });
});

test.each([
  ["no-such-model", "openai"],
  ["gpt-5.7", "openai"],
  ["claude-mythos-5-2", "anthropic"],
  ["groq/compound", "groq"],
  ["qwen3:8b", "ollama"],
  ["openai/gpt-oss-20b", "lmstudio"],
  ["openai/gpt-oss-20b", "custom-openai"],
  ["deepseek/deepseek-v4-pro", "openrouter"],
  ["anthropic/claude-opus-4.8:free", "openrouter"],
  ["devstral-2512", "custom-openai"],
])("%s at %s is unpriced, not free", (model, preset) => {
  expect(priceOf(usage(1000, 1000), model, preset, {})).toBeNull();
});

describe("a price from the config", () => {
  const own = { input: 1, output: 2 };
  test.each([
    ["the exact id", "my-model", { "my-model": own }],
    ["a dated copy", "my-model-20260101", { "my-model": own }],
    ["a vendor path the config leaves out", "corp/my-model", { "my-model": own }],
    ["an id the data knows", "gpt-5.6-sol", { "gpt-5.6-sol": own }],
    ["the longest of several", "my-model-big", { "my-model": { input: 9, output: 9 }, "my-model-big": own }],
  ])("wins for %s", (_, model, overrides) => {
    expect(priceOf(usage(MILLION, MILLION), model, "custom", overrides)).toBeCloseTo(3, 9);
  });

  test("says nothing of another model", () => {
    expect(priceOf(usage(1, 1), "my-model-mini", "custom", { "my-model": own })).toBeNull();
    expect(priceOf(usage(1, 1), "toString", "custom", { "my-model": own })).toBeNull();
  });

  test("a price of nothing is nothing, not unpriced", () => {
    expect(priceOf(usage(1000, 1000), "my-model", "custom", { "my-model": { input: 0, output: 0 } })).toBe(0);
  });
});

test("usage that contradicts itself never makes a negative cost", () => {
  expect(priceOf(usage(10, 0, 1000), "gpt-5.1", "openai", {})).toBeGreaterThan(0);
});

test.each([
  [null, "unpriced"],
  [0, "$0.00"],
  [0.00001, "<$0.0001"],
  [0.0031, "$0.0031"],
  [0.0999, "$0.0999"],
  [0.1, "$0.10"],
  [12.345, "$12.35"],
])("%p is shown as %s", (usd, text) => {
  expect(formatUsd(usd)).toBe(text);
});
