/** What is known of a model by its id, and that the embedded facts are whole and fresh. */
import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { generateModelData } from "../scripts/models.ts";
import { defaultModel, dataSource, factsFor, lifecycleNotice } from "../src/models.ts";
import { canonicalId, coversId, vendorOf } from "../src/models-match.ts";
import { PRESETS } from "../src/presets.ts";
import { growth } from "./support/growth.ts";

const read = (path: string) => Bun.file(new URL(`../src/${path}`, import.meta.url)).text();

const count = v.pipe(v.number(), v.integer(), v.minValue(1));
const rate = v.pipe(v.number(), v.minValue(0), v.maxValue(1000));
const day = v.pipe(v.string(), v.isoDate());
const rates = { input: rate, output: rate, cacheRead: v.optional(rate), cacheWrite: v.optional(rate) };
const word = v.picklist(["none", "default", "minimal", "low", "medium", "high", "xhigh", "max"]);
const row = v.strictObject({
  provider: v.picklist(["anthropic", "openai", "google", "xai", "mistral", "deepseek", "groq", "openrouter"]),
  id: v.pipe(v.string(), v.nonEmpty()),
  name: v.pipe(v.string(), v.nonEmpty()),
  default: v.optional(v.literal(true)),
  released: v.optional(day),
  status: v.optional(v.picklist(["legacy", "beta", "deprecated", "retired"])),
  deprecated: v.optional(day),
  retires: v.optional(day),
  retired: v.optional(day),
  retiresNotBefore: v.optional(day),
  servedBy: v.optional(v.string()),
  context: v.optional(count),
  maxOutput: v.optional(count),
  inputLimit: v.optional(count),
  price: v.optional(v.strictObject(rates)),
  tiers: v.optional(v.array(v.strictObject({ above: count, ...rates }))),
  offPeak: v.optional(v.strictObject(rates)),
  reasoning: v.union([
    v.literal(false),
    v.strictObject({
      kinds: v.array(v.picklist(["effort", "toggle", "budget"])),
      effort: v.optional(v.pipe(v.array(word), v.nonEmpty())),
      budget: v.optional(v.strictObject({ min: v.optional(v.number()), max: v.optional(v.number()) })),
      default: v.optional(word),
      off: v.picklist(["none", "disabled", "omit", "between-tools", "never"]),
      offEffort: v.optional(word),
      form: v.optional(v.picklist(["adaptive", "budget"])),
      field: v.optional(v.string()),
      chatLimit: v.optional(word),
    }),
  ]),
  temperature: v.optional(v.boolean()),
  tools: v.optional(v.boolean()),
  vision: v.optional(v.boolean()),
  responses: v.optional(v.literal(true)),
  bindsThinking: v.optional(v.literal(true)),
  silentBetweenTools: v.optional(v.literal(true)),
  notes: v.optional(v.array(v.string())),
  src: v.pipe(v.array(v.string()), v.nonEmpty()),
});

describe("the embedded facts", () => {
  test("are what the generator makes of the file kept by hand", async () => {
    expect(generateModelData(await read("models.json"))).toBe(await read("models-data.ts"));
  });

  test("say where they come from, have the right shape, and no model twice", async () => {
    const data = JSON.parse(await read("models.json"));
    const models = v.parse(v.array(row), data.models);
    const keys = models.map((each) => `${each.provider} ${each.id}`);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys.length).toBeGreaterThan(100);
    for (const { tiers = [] } of models) {
      expect(tiers.map((tier) => tier.above)).toEqual(tiers.map((tier) => tier.above).toSorted((a, b) => a - b));
    }
    expect(dataSource()).toEqual({ source: data.source, retrieved: data.retrieved, license: data.licenseNote });
  });

  test("every known model is found by its own id, at its own provider", async () => {
    const models: { provider: string; id: string }[] = JSON.parse(await read("models.json")).models;
    for (const { provider, id } of models) expect(factsFor(id, provider)).toMatchObject({ id, provider });
  });

  test("name a default for every preset that has a key", () => {
    const keyed = PRESETS.filter((preset) => preset.envKeys.length > 0);
    expect(keyed.map((preset) => factsFor(defaultModel(preset.id) ?? "", preset.id).provider)).toEqual(
      keyed.map((preset) => preset.id),
    );
    expect(defaultModel("ollama")).toBeNull();
  });
});

describe("a model is found", () => {
  test.each([
    ["claude-sonnet-4-5-20250929", "anthropic", "claude-sonnet-4-5-20250929"],
    ["claude-sonnet-4-5-20260101", "anthropic", "claude-sonnet-4-5"],
    ["anthropic/claude-sonnet-4-5", "custom", "claude-sonnet-4-5"],
    ["anthropic/claude-sonnet-4.5", "openrouter", "claude-sonnet-4-5"],
    ["us.anthropic.claude-opus-4-6-20260205-v1:0", "custom", "claude-opus-4-6"],
    ["claude-haiku-5-5@20261007", "custom", "claude-haiku-5-5"],
    ["GPT-5.6-Sol", "openai", "gpt-5.6-sol"],
    ["gpt-5.1-2025-11-13", "openai", "gpt-5.1"],
    ["openai/gpt-6-sol", "openrouter", "gpt-6-sol"],
    ["models/gemini-2.5-flash", "custom", "gemini-2.5-flash"],
    ["gemini-2.5-flash-preview-09-2025", "custom", "gemini-2.5-flash"],
    ["openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"],
    ["gpt-oss-120b", "custom", "openai/gpt-oss-120b"],
    ["anthropic/claude-opus-5.5:nitro", "openrouter", "anthropic/claude-opus-5.5"],
    ["x-ai/grok-4.7", "openrouter", "x-ai/grok-4.7"],
    ["x-ai/grok-4.5", "openrouter", "grok-4.5"],
  ])("%s at %s is %s", (model, preset, id) => {
    expect(factsFor(model, preset).id).toBe(id);
  });

  test.each([
    ["gpt-5.7", "openai"],
    ["gpt-5.6-sol-mini", "openai"],
    ["gpt-5-chat-latest", "openai"],
    ["claude-opus-5-6", "anthropic"],
    ["claude-opus-5-5-fast", "anthropic"],
    ["o3-mini", "openai"],
    ["gemini-2.5-flash-image", "custom"],
    ["grok-4.75", "xai"],
    ["gpt-oss-20b-distill", "groq"],
    ["", "openai"],
    ["/", "custom"],
    ["constructor", "custom"],
    ["__proto__", "__proto__"],
  ])("%p at %s is a product nobody has written down", (model, preset) => {
    expect(factsFor(model, preset)).toMatchObject({ id: model, provider: null, context: null, price: null });
  });
});

describe("facts", () => {
  test("hold what requests need", () => {
    expect(factsFor("claude-opus-5-5", "anthropic")).toMatchObject({
      context: 1_000_000,
      maxOutput: 128_000,
      vision: true,
      tools: true,
      temperature: false,
      responsesOnly: false,
      bindsThinking: true,
      interleavedDisplay: true,
      reasons: true,
    });
    expect(factsFor("gpt-5.6-sol", "openai")).toMatchObject({ inputLimit: 922_000, responsesOnly: true });
    expect(factsFor("gpt-4o", "openai")).toMatchObject({ reasons: false, reasoning: null, temperature: true });
    expect(factsFor("deepseek-flash", "deepseek").reasoning?.field).toBe("reasoning_content");
  });

  test("temperature is not sent to a reasoning model unless it is known to take it", () => {
    expect(factsFor("gpt-6.2-sol", "openai").temperature).toBe(false);
    expect(factsFor("claude-fable-5-1", "anthropic").temperature).toBe(false);
    expect(factsFor("a-model-of-next-year", "custom").temperature).toBe(false);
    expect(factsFor("claude-sonnet-4-6", "anthropic").temperature).toBe(true);
  });

  test("thinking stays bound through a reseller", () => {
    expect(factsFor("anthropic/claude-sonnet-5.5", "openrouter").bindsThinking).toBe(true);
    expect(factsFor("anthropic/claude-opus-4.8", "openrouter").bindsThinking).toBe(false);
  });

  test("only the maker's own endpoint, or a gateway to it, needs responses", () => {
    expect(factsFor("gpt-6-sol", "custom").responsesOnly).toBe(true);
    expect(factsFor("openai/gpt-6-sol", "openrouter").responsesOnly).toBe(false);
  });

  test("a local server's limits are unknown, whatever the model", () => {
    expect(factsFor("openai/gpt-oss-20b", "lmstudio")).toMatchObject({ context: null, maxOutput: null, price: null });
    expect(factsFor("gpt-oss:20b", "ollama")).toMatchObject({ context: null, reasons: true });
  });

  test.each([
    ["claude-opus-9", { bindsThinking: true, temperature: false }],
    ["gpt-7", { responsesOnly: true, temperature: false }],
    ["gpt-5.4-somewhere", { responsesOnly: true }],
    ["claude-3-5-sonnet-20241022", { reasons: false, temperature: true }],
    ["llama3.1:8b", { reasons: false }],
    ["gemini-4-pro", { reasons: true }],
  ])("%s gets its family's rule", (model, expected) => {
    expect(factsFor(model, "custom")).toMatchObject(expected);
  });

  test("are given for any name at all", () => {
    let state = 5_417;
    const random = (below: number) => (state = (state * 48_271) % 2_147_483_647) % below;
    const bits = [
      "claude",
      "gpt",
      "-",
      ".",
      ":",
      "/",
      "5",
      "20250929",
      "\u{1f600}",
      "\n",
      "opus",
      "anthropic.",
      " ",
      "$&",
    ];
    for (let round = 0; round < 3000; round++) {
      const name = Array.from({ length: random(8) }, () => bits[random(bits.length)]).join("");
      const facts = factsFor(name, ["custom", "openrouter", "ollama", "anthropic"][round % 4] ?? "");
      expect(facts.price === null || facts.provider !== null).toBe(true);
      expect(facts.reasons === true || facts.reasoning === null).toBe(true);
    }
  });

  test.each([
    ["claude-", "9.", "custom"],
    ["gpt-5", "-chat", "openai"],
    ["", "claude-", "anthropic"],
    ["", "x/claude-v1", "anthropic"],
  ])("a long name costs no more than its length: %s%s…", async (start, piece, provider) => {
    const lookUp = (count: number) => () => factsFor(start + piece.repeat(count), provider);
    expect(await growth(lookUp, 5000)).toBeLessThan(8);
  });
});

describe("life span", () => {
  const on = (day: string) => new Date(`${day}T12:00:00Z`);
  test.each([
    ["claude-opus-4-5", "anthropic", "2026-11-30", "claude-opus-4-5 is deprecated and will be retired on 2027-01-22."],
    ["claude-opus-4-5", "anthropic", "2027-01-22", "claude-opus-4-5 was retired on 2027-01-22."],
    ["claude-opus-4-1-20250805", "anthropic", "2026-11-30", "claude-opus-4-1-20250805 was retired on 2026-08-05."],
    [
      "deepseek-v4-flash",
      "deepseek",
      "2026-11-30",
      "deepseek-v4-flash is retired; deepseek-flash answers in its place.",
    ],
    ["gpt-5", "openai", "2026-11-30", "gpt-5 is deprecated and will be retired on 2026-12-11."],
    ["openai/gpt-5", "openrouter", "2026-11-30", "gpt-5 is deprecated and will be retired on 2026-12-11."],
    ["claude-sonnet-5-5", "anthropic", "2026-11-30", null],
    ["claude-opus-4-8", "anthropic", "2026-11-30", null],
    ["gpt-oss:20b", "ollama", "2026-11-30", null],
    ["devstral-2512", "custom", "2026-11-30", null],
    ["no-such-model", "openai", "2026-11-30", null],
  ])("%s at %s on %s: %p", (model, preset, day, notice) => {
    expect(lifecycleNotice(model, preset, on(day))).toBe(notice);
  });
});

describe("ids", () => {
  test.each([
    ["Anthropic/Claude-Sonnet-4.5", "anthropic/claude-sonnet-4-5"],
    ["eu.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5-20251001"],
    ["qwen3:8b", "qwen3-8b"],
    [" gpt-5.1 ", "gpt-5-1"],
  ])("%p is spelled %p", (id, canonical) => {
    expect(canonicalId(id)).toBe(canonical);
  });

  test.each([
    ["gpt-5", "gpt-5", true],
    ["gpt-5", "gpt-5-2025-08-07", true],
    ["gpt-5", "gpt-5-latest", true],
    ["gpt-5", "gpt-5-1", false],
    ["gpt-5", "gpt-50", false],
    ["gpt-5", "gpt-5-mini", false],
    ["gpt-5", "gpt-5-preview-mini", false],
    ["gpt-oss", "gpt-oss-20b", false],
  ])("%s covers %s: %p", (known, id, expected) => {
    expect(coversId(known, id)).toBe(expected);
  });

  test("the vendor is the last step of the path", () => {
    expect([vendorOf("openai/gpt-5"), vendorOf("a/b/c"), vendorOf("gpt-5"), vendorOf("/x")]).toEqual([
      "openai",
      "b",
      "",
      "",
    ]);
  });
});
