import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CONFIG_FIELDS, loadConfig, writeConfig } from "../src/config.ts";
import { UserError } from "../src/errors.ts";

const root = mkdtempSync(join(tmpdir(), "shiro-config-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function file(text: string): string {
  const path = join(mkdtempSync(join(root, "config-")), "config.json");
  writeFileSync(path, text);
  return path;
}

const load = (text: string, env: Record<string, string> = {}, flags: Parameters<typeof loadConfig>[0]["flags"] = {}) =>
  loadConfig({ path: file(text), env, flags });

test("file, environment and flags overlay in this order, and each value knows its origin", () => {
  const text = '{\n"model": "from-file",\n"provider": "openai",\n"thinking": "low"\n}';
  const loaded = load(
    text,
    { SHIRO_MODEL: "from-env", SHIRO_PROVIDER: "anthropic" },
    { model: { value: "from-flag", flag: "--model" } },
  );
  expect(loaded.values).toEqual({ model: "from-flag", provider: "anthropic", thinking: "low" });
  expect(loaded.origins).toEqual({ model: "--model", provider: "SHIRO_PROVIDER", thinking: "config.json:4" });
});

test("a missing file is an empty configuration", () => {
  const loaded = loadConfig({ path: "/nowhere/at/all/config.json", env: {}, flags: {} });
  expect([loaded.values, loaded.reports]).toEqual([{}, []]);
});

test.each([
  ['{\n"modle": "x"}', ['config.json:2: unknown key "modle" ignored (did you mean "model"?)']],
  ['{"thinking": "hard"}', [/^config.json:1: bad value for "thinking" ignored: /]],
  ['{"maxRetries": -1}', [/^config.json:1: bad value for "maxRetries" ignored: /]],
  ['{"pricing": {"m": {"input": "1"}}}', [/^config.json:1: bad value for "pricing.m.input" ignored: /]],
  ['{"permission": ["bash"]}', ['config.json:1: "permission" must be an object of tools; ignored']],
  ['{"$schema": "https://x"}', []],
  ["[]", [/must hold one object; ignored$/]],
] as const)("%j is reported with its place and ignored", (text, reports) => {
  const loaded = load(text);
  expect(loaded.values).toEqual({});
  expect(loaded.reports).toHaveLength(reports.length);
  reports.forEach((report, at) => expect(loaded.reports[at]).toMatch(report as string));
});

test("a syntax error stops with line and column, and the file stays as it is", () => {
  const path = file('{\n"model": \n}');
  expect(() => loadConfig({ path, env: {}, flags: {} })).toThrow(UserError);
  expect(() => loadConfig({ path, env: {}, flags: {} })).toThrow(/line 3, column 1\. Fix it or move it away$/);
  expect(readFileSync(path, "utf8")).toBe('{\n"model": \n}');
});

test("a bad value on the command line or in the environment is an error with the valid list", () => {
  expect(() => load("{}", { SHIRO_PROVIDER: "gpt" })).toThrow('Unknown provider "gpt". Available: anthropic, openai');
  expect(() => load("{}", { SHIRO_BASE_URL: "not a url" })).toThrow(
    /^SHIRO_BASE_URL: bad value "not a url" for baseURL/,
  );
});

test("permission entries keep file order, integer-like keys and lines included", () => {
  const { permission } = load(
    '{"permission": {\n"bash": {"*": "ask",\n"1": "deny", "git *": "allow"},\n"edit_file": "allow", "x": 5}}',
  );
  expect(permission).toEqual([
    {
      key: "bash",
      line: 2,
      value: [
        { key: "*", line: 2, value: "ask" },
        { key: "1", line: 3, value: "deny" },
        { key: "git *", line: 3, value: "allow" },
      ],
    },
    { key: "edit_file", line: 4, value: "allow" },
    { key: "x", line: 4, value: "5" },
  ]);
});

describe("writing", () => {
  test("keeps unknown keys and comments", async () => {
    const path = file('{\n  // note\n  "later": 1,\n  "model": "a"\n}\n');
    await writeConfig(path, { model: "b", baseURL: undefined, provider: "openai" }, (to, text) =>
      writeFileSync(to, text),
    );
    const text = readFileSync(path, "utf8");
    expect(text).toContain("// note");
    expect(text).toContain('"later": 1');
    expect(load(text).values).toEqual({ model: "b", provider: "openai" });
  });
});

test("every field has a help text", () => {
  for (const [name, field] of Object.entries(CONFIG_FIELDS))
    expect([name, field.help.length > 5]).toEqual([name, true]);
});
