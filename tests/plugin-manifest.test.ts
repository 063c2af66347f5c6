import { describe, expect, test } from "bun:test";
import { factsOf } from "../src/path-facts.ts";
import { readLine } from "../src/permission-line.ts";
import type { Plugin, PluginCall } from "../src/plugin.ts";
import { readManifest } from "../src/plugin-manifest.ts";
import { patternProblem } from "../src/plugin-pattern.ts";
import { SAMPLE_TOOLS } from "./support/approval-bench.ts";

const rule = { tools: ["bash"], commandPattern: "^kubectl .*prod", reason: "no production from here" };
const written = (change: object = {}) =>
  JSON.stringify({ name: "no-prod", description: "Keeps away from production.", deny: [rule], ...change });

function plugin(change: object = {}): Plugin {
  const read = readManifest(written(change));
  if ("problem" in read) throw new Error(read.problem);
  return read.plugin;
}

const toolNamed = (name: string) => SAMPLE_TOOLS.find((tool) => tool.name === name) ?? null;
const base = { input: undefined, subjects: [], lines: [], writes: [] };
const bash = (command: string): PluginCall => ({ ...base, tool: toolNamed("bash"), lines: [readLine(command, {})] });
const decide = (subject: Plugin, call: PluginCall) => subject.beforeToolCall?.(call)?.reason ?? null;

describe("deny rules of a manifest", () => {
  test("commands are matched as they really run, in chains and wrappers", () => {
    for (const command of [
      "kubectl get -n prod pods",
      "ls; kubectl -n prod x",
      "sudo /usr/bin/kubectl prod",
      "sh -c 'k''ubectl prod'",
    ])
      expect([command, decide(plugin(), bash(command))]).toEqual([command, "no-prod: no production from here"]);
    expect(decide(plugin(), bash("echo 'kubectl prod'"))).toBeNull();
  });

  test("only the named tools are meant, families included", () => {
    const writes = [factsOf("src/gen/x.ts", "/w", { root: "/w", realRoot: "/w", extraDirs: [] })];
    const generated = plugin({ deny: [{ tools: ["write_*"], pathPattern: "(^|/)gen/", reason: "generated" }] });
    expect(decide(generated, { ...base, tool: toolNamed("write_file"), writes })).toBe("no-prod: generated");
    expect(decide(generated, { ...base, tool: toolNamed("read_file"), writes })).toBeNull();
  });

  test("addresses are matched as parsed", () => {
    const hosts = plugin({ deny: [{ tools: ["web_fetch"], urlPattern: "^https://evil\\.test/", reason: "no" }] });
    const fetch = (text: string): PluginCall => ({
      ...base,
      tool: toolNamed("web_fetch"),
      subjects: [{ kind: "text", text }],
    });
    expect(decide(hosts, fetch("https://EVIL.test"))).toBe("no-prod: no");
    expect(decide(hosts, fetch("https://good.test/?https://evil.test/"))).toBeNull();
  });
});

test.each([
  ["{", "JSON"],
  [written({ name: "No Prod" }), "name"],
  [written({ deny: [] }), "deny"],
  [written({ extra: 1 }), "extra"],
  [written({ deny: [{ tools: ["bash"], reason: "x" }] }), "exactly one"],
  [written({ deny: [{ ...rule, pathPattern: "x" }] }), "exactly one"],
  [written({ deny: [{ ...rule, tools: [] }] }), "deny"],
  [written({ deny: [{ ...rule, commandPattern: "x".repeat(201) }] }), "deny"],
  [written({ deny: [{ ...rule, commandPattern: "(" }] }), "pattern ("],
  [written({ deny: [{ ...rule, commandPattern: "(a+)+$" }] }), "repeated group"],
])("%p is refused, saying what is wrong", (text, part) => {
  const read = readManifest(text);
  expect("problem" in read && read.problem).toContain(part);
});

describe("patterns that may run", () => {
  test.each([
    ["(a+)+$"],
    ["(a|a)*b"],
    ["((a*)b)*"],
    ["(?:x+y?)+z"],
    ["(.*,){5,}x"],
    ["(a)\\1"],
    ["(?=a+)b"],
    ["(?<!a)b"],
    ["a**"],
    ["a*a*a*a*a*a*a*a*b"],
  ])("not %s", (source) => expect(patternProblem(source)).not.toBeNull());

  test.each([
    ["^kubectl .*prod"],
    ["(^|/)secrets?/"],
    ["\\.(pem|key)$"],
    ["rm\\s+-[a-z]*r"],
    ["^https?://[^/]+\\.internal(/|$)"],
    ["[(a+)+]x"],
    ["(foo|bar)?baz"],
  ])("%s", (source) => expect(patternProblem(source)).toBeNull());
});
