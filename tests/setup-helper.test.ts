/** Which model subagents and summaries are asked of, by which endpoint, and with which key. */
import { afterAll, expect, test } from "bun:test";
import { rmSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "../src/args.ts";
import type { Config, LoadedConfig } from "../src/config.ts";
import { resolveEndpoint } from "../src/endpoint.ts";
import { UserError } from "../src/errors.ts";
import { helperModel } from "../src/setup-helper.ts";
import { setUp } from "../src/setup.ts";

const folder = mkdtempSync(join(tmpdir(), "shiro-helper-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function helperOf(values: Config, env: Record<string, string>) {
  const loaded: LoadedConfig = { values, origins: {}, permission: [], reports: [], path: "config.json" };
  const found = await helperModel(loaded, await resolveEndpoint(loaded, env), env);
  if (found === null) return null;
  const { protocol, baseURL, apiKey, headers } = found.endpoint;
  return [found.model, protocol, baseURL, apiKey, Object.keys(headers)];
}

const ANTHROPIC = "https://api.anthropic.com/v1";
const OPENAI = "https://api.openai.com/v1";
const OWN = "https://llm.corp.test/v1";
const keys = { OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a" };

test.each<[string, Config, Record<string, string>, unknown]>([
  ["nothing configured: none", { provider: "openai" }, keys, null],
  [
    "a model alone is the main endpoint's",
    { provider: "openai", subagentModel: "small", headers: { x: "1" } },
    keys,
    ["small", "openai", OPENAI, "o", ["x"]],
  ],
  [
    "the protocol of the main one changes nothing",
    { baseURL: OWN, apiKey: "mine", provider: "openai", subagentProvider: "openai", subagentModel: "small" },
    keys,
    ["small", "openai", OWN, "mine", []],
  ],
  [
    "another protocol is that provider's endpoint and key; the main one's key and headers stay away",
    { provider: "openai", apiKey: "mine", headers: { x: "1" }, subagentProvider: "anthropic", subagentModel: "small" },
    keys,
    ["small", "anthropic", ANTHROPIC, "a", []],
  ],
  [
    "an endpoint of one's own is asked in the other protocol where that provider has no key",
    { baseURL: OWN, apiKey: "mine", provider: "openai", subagentProvider: "anthropic", subagentModel: "small" },
    { OPENAI_API_KEY: "o" },
    ["small", "anthropic", OWN, "mine", []],
  ],
])("%s", async (_, values, env, expected) => expect(await helperOf(values, env)).toEqual(expected as null));

test("without a key for it, or a model, the start says what is missing", async () => {
  const other = { provider: "openai", subagentProvider: "anthropic", subagentModel: "small" } as const;
  expect(helperOf(other, { OPENAI_API_KEY: "o" })).rejects.toThrow("ANTHROPIC_API_KEY");
  const own = { baseURL: OWN, apiKey: "mine", provider: "openai", subagentProvider: "anthropic" } as const;
  expect(helperOf(own, {})).rejects.toThrow("subagentProvider needs a subagentModel");
});

test("a model of theirs without a price is never free: headless runs with a money ceiling refuse it", async () => {
  const env = {
    HOME: folder,
    SHIRO_HOME: join(folder, "home"),
    SHIRO_PROVIDER: "openai",
    SHIRO_BASE_URL: "http://127.0.0.1:9/v1",
    SHIRO_MODEL: "main",
    SHIRO_API_KEY: "some-key",
  };
  await Bun.write(
    join(folder, "home/config.json"),
    JSON.stringify({ pricing: { main: { input: 1, output: 1 } }, subagentModel: "small", maxSpendUsd: 1 }),
  );
  const { options } = parseArgs(["-p", "go"]);
  const start = setUp({ options, env, cwd: folder, interactive: false, headless: true, onNotice: () => {} });
  expect(start).rejects.toThrow(UserError);
  expect(start).rejects.toThrow("small has no known price");
});
