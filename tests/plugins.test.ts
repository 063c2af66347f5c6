import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { UserError } from "../src/errors.ts";
import { factsOf, isWithin, realOf } from "../src/path-facts.ts";
import { makePluginHost, type Plugin, type PluginCall, type PluginVerdict } from "../src/plugin.ts";
import { describeTime } from "../src/plugin-time.ts";
import { openPlugins, PLUGIN_NAMES } from "../src/plugins.ts";
import { ownerOf, selfProtection, SELF_PROTECTED } from "../src/protect.ts";
import { makeWorkspace } from "./support/approval-bench.ts";

const rung: string[] = [];
const deps = {
  clock: { now: () => new Date(0) },
  isIgnored: () => false,
  ring: (byte: string) => void rung.push(byte),
};
const nothing: PluginCall = { tool: null, input: undefined, subjects: [], lines: [], writes: [] };

const saying = (name: string, verdict: PluginVerdict | null): Plugin => ({
  name,
  description: "",
  beforeToolCall: () => verdict,
});
const deny = (reason: string): PluginVerdict => ({ decision: "deny", by: "plugin", reason });

describe("which plugins are on", () => {
  test("guard, protect, secrets and time when nothing is said", () => {
    expect(openPlugins(undefined, deps).plugins.map((plugin) => plugin.name)).toEqual([
      "guard",
      "protect",
      "secrets",
      "time",
    ]);
  });

  test("a list means exactly those, in its order, each once", () => {
    expect(openPlugins(["bell", "guard", "bell"], deps).plugins.map((plugin) => plugin.name)).toEqual([
      "bell",
      "guard",
    ]);
    expect(openPlugins([], deps).plugins).toEqual([]);
  });

  test("an unknown name is a mistake to mend, with the valid ones", () => {
    expect(() => openPlugins(["gaurd"], deps)).toThrow(UserError);
    expect(() => openPlugins(["gaurd"], deps)).toThrow('did you mean "guard"');
    expect(() => openPlugins(["x"], deps)).toThrow(PLUGIN_NAMES.join(", "));
  });

  test("installed ones come after the builtin ones, and may be named", () => {
    const host = openPlugins(["time", "mine"], deps, [saying("mine", null)]);
    expect(host.plugins.map((plugin) => plugin.name)).toEqual(["time", "mine"]);
  });
});

describe("the host", () => {
  test("the first refusal wins, over earlier questions too", () => {
    const ask: PluginVerdict = { decision: "ask", by: "secret", reason: "q" };
    const host = makePluginHost([saying("a", ask), saying("b", deny("first")), saying("c", deny("second"))]);
    expect(host.judge(nothing)).toEqual({ ...deny("first"), plugin: "b" });
    expect(makePluginHost([saying("a", null), saying("b", ask)]).judge(nothing)).toEqual({ ...ask, plugin: "b" });
    expect(makePluginHost([saying("a", null)]).judge(nothing)).toBeNull();
  });

  test("a check that throws refuses", () => {
    const broken: Plugin = {
      name: "broken",
      description: "",
      beforeToolCall: () => {
        throw new Error("no disk");
      },
    };
    expect(makePluginHost([broken]).judge(nothing)).toMatchObject({ decision: "deny", plugin: "broken" });
  });

  test("one failing afterTurn doesn't stop the others and is reported", async () => {
    const seen: string[] = [];
    const failing: Plugin = {
      name: "a",
      description: "",
      afterTurn: async () => {
        throw new Error("x");
      },
    };
    const working: Plugin = { name: "b", description: "", afterTurn: () => void seen.push("b") };
    expect(
      await makePluginHost([failing, working]).afterTurn({ durationMs: 1, interactive: true, controls: true }),
    ).toEqual(["plugin a: x"]);
    expect(seen).toEqual(["b"]);
  });
});

test("the bell rings after a long turn of a person whose terminal takes control bytes, and only then", async () => {
  const host = openPlugins(["bell"], deps);
  for (const [durationMs, interactive, controls] of [
    [9_000, true, true],
    [10_001, true, true],
    [60_000, false, true],
    [60_000, true, false],
  ] as const)
    await host.afterTurn({ durationMs, interactive, controls });
  expect(rung).toEqual(["\x07"]);
});

test.each([
  ["2026-03-01T08:05:09Z", "Europe/Berlin", "2026-03-01T09:05:09+01:00", "Sunday"],
  ["2026-07-01T23:30:00Z", "Asia/Kolkata", "2026-07-02T05:00:00+05:30", "Thursday"],
  ["2026-07-01T00:00:00Z", "UTC", "2026-07-01T00:00:00+00:00", "Wednesday"],
  ["2026-01-01T03:00:00Z", "America/St_Johns", "2025-12-31T23:30:00-03:30", "Wednesday"],
])("%s in %s is %s, a %s", (utc, zone, iso, day) => {
  const [first, second] = describeTime(new Date(utc), zone).split("\n");
  expect(first).toBe(iso);
  expect(new Date(first ?? "").toISOString()).toBe(new Date(utc).toISOString());
  expect(second).toContain(day);
});

describe("protected paths", () => {
  const root = makeWorkspace();
  const roots = { root, realRoot: root, extraDirs: [] };
  const context = { home: join(root, "../home/.shiro-neko"), yolo: false };
  const why = (path: string, rows = SELF_PROTECTED) => selfProtection(factsOf(path, root, roots), context, rows);

  test.each(SELF_PROTECTED.map((row) => [row.path, row] as const))(
    "%s, at any depth and in any case; without its row it isn't",
    (pattern, row) => {
      const path = pattern.replace("**", "x");
      for (const place of [path, `a/b/${path}`, `a/${path.toUpperCase()}`])
        expect([place, why(place) === null]).toEqual([place, false]);
      expect(
        why(
          path,
          SELF_PROTECTED.filter((other) => other !== row),
        ),
      ).toBeNull();
    },
  );

  test.each([
    ["src/a.c"],
    [".gitignore"],
    [".github/x.yml"],
    ["AGENTS.md"],
    ["docs/.bashrc.md"],
    ["git/config"],
    ["shiro/x"],
    ["a.shiro"],
    [".shirorc"],
  ])("%s isn't", (path) => expect(why(path)).toBeNull());

  test.each([
    ["/etc/cron.d/x"],
    ["/var/spool/cron/me"],
    ["../home/.shiro-neko/config.json"],
    ["../AGENTS.md"],
    ["dangling.txt"],
    ["loop/.shiro/x"],
  ])("%s is, by where it leads", (path) => expect(why(path)).not.toBeNull());

  test.each([
    ["package-lock.json", "npm install"],
    ["a/bun.lock", "bun install"],
    ["Cargo.lock", "cargo update"],
    ["go.sum", "go mod tidy"],
    [".git/config", "git commands"],
    ["node_modules/x/y.js", "the package manager"],
    ["a/.venv/lib/x.py", "pip, uv or python -m venv"],
  ])("%s is written by %s", (path, by) => expect(ownerOf(factsOf(path, root, roots), () => false)?.by).toBe(by));

  test.each([
    ["dist/a.js"],
    ["a/vendor/b.go"],
    ["build/x"],
    ["out/x".replace("out", "target")],
    [".next/x"],
    ["coverage/x"],
  ])("%s is somebody's only where git ignores it", (path) => {
    expect(ownerOf(factsOf(path, root, roots), () => false)).toBeNull();
    expect(ownerOf(factsOf(path, root, roots), () => true)).not.toBeNull();
  });
});

describe("real paths", () => {
  test("links are followed, dangling and missing parts included", () => {
    const root = makeWorkspace();
    expect(realOf(join(root, "link.txt"))).toBe(join(root, ".env"));
    expect(realOf(join(root, "loop/loop/new/x"))).toBe(join(root, "new/x"));
    expect(realOf(join(root, "dangling.txt"))).toBe(join(root, ".shiro/not-yet.json"));
    expect(realOf("/")).toBe("/");
  });

  test("a sibling with the same prefix isn't inside, a name that begins with dots is", () => {
    expect(isWithin("/tmp/w", "/tmp/w-evil/s")).toBe(false);
    expect(isWithin("/tmp/w", "/tmp")).toBe(false);
    expect(isWithin("/tmp/w", "/tmp/w/..foo")).toBe(true);
    expect(isWithin("/tmp/w", "/tmp/w")).toBe(true);
  });
});
