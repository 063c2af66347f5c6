import { describe, expect, test } from "bun:test";
import {
  matchTable,
  parsePermission,
  parseRuleFlag,
  tableFor,
  unknownTools,
  type PermissionConfig,
  type RuleEntry,
} from "../src/permission.ts";
import { SECRET_READ_RULES } from "../src/secrets.ts";
import { UserError } from "../src/errors.ts";
import { matchesWildcard } from "../src/wildcard.ts";
import { ordered, SAMPLE_TOOLS, type WrittenRules } from "./support/approval-bench.ts";
import { growth } from "./support/growth.ts";

const read = (rules: WrittenRules) => parsePermission(ordered(rules), { tools: SAMPLE_TOOLS });
const decide = (rules: WrittenRules, tool: string, subject: string, fallback: Parameters<typeof tableFor>[2] = "ask") =>
  matchTable(tableFor(tool, read(rules).rules, fallback), subject).decision;

describe("the last matching entry wins", () => {
  test.each([
    [{ bash: { "*": "ask", "git *": "allow", "git push*": "deny" } }, "git push x", "deny"],
    [{ bash: { "*": "ask", "git *": "allow", "git push*": "deny" } }, "git log", "allow"],
    [{ bash: { "git *": "allow", "git push*": "deny", "*": "ask" } }, "git push x", "ask"],
    [{ bash: { "git *": "allow", "*": "ask" } }, "git log", "ask"],
    [{ bash: { "git push*": "deny", "git *": "allow" } }, "git push x", "allow"],
    [{ bash: { "*": "deny", "git *": "allow" } }, "ls", "deny"],
    [{ bash: { "git *": "allow" } }, "ls", "ask"],
    [{ bash: {} }, "ls", "ask"],
    [{ bash: "allow" }, "ls", "allow"],
    [{ bash: { "git *": "allow" } }, "git", "allow"],
    [{ bash: { "git *": "allow" } }, "gitk", "ask"],
    [{ bash: { "ls ?": "allow" } }, "ls a", "allow"],
    [{ bash: { "ls ?": "allow" } }, "ls ab", "ask"],
    [{ bash: { "git *": "allow" } }, "git commit -m 'a\nb'", "allow"],
    [{ bash: { "a.c": "allow" } }, "abc", "ask"],
  ] satisfies [WrittenRules, string, string][])("%j on %s: %s", (rules, subject, decision) => {
    expect<string>(decide(rules, "bash", subject)).toBe(decision);
  });
});

test("the order of the file counts, integer-like keys included", () => {
  const rows = [
    { key: "*", line: 3, value: "ask" },
    { key: "1", line: 4, value: "deny" },
    { key: "?", line: 5, value: "allow" },
  ];
  const { rules } = parsePermission([{ key: "bash", line: 2, value: rows }], { tools: SAMPLE_TOOLS });
  expect(matchTable(tableFor("bash", rules, "ask"), "1").decision).toBe("allow");
});

describe("which table is in force", () => {
  test("an exact key beats a wildcard key wherever it stands", () => {
    expect(decide({ bash: "allow", "*": "deny" }, "bash", "ls")).toBe("allow");
    expect(decide({ "*": "deny", bash: "allow" }, "bash", "ls")).toBe("allow");
  });

  test("among wildcard keys the last one counts", () => {
    expect(decide({ "mcp__*": "allow", "mcp__x__*": "deny" }, "mcp__x__y", "mcp__x__y")).toBe("deny");
    expect(decide({ "mcp__x__*": "deny", "mcp__*": "allow" }, "mcp__x__y", "mcp__x__y")).toBe("allow");
  });

  test("a table replaces the default, it isn't merged with it", () => {
    expect(decide({ read_file: { "*": "allow" } }, "read_file", ".env", SECRET_READ_RULES)).toBe("allow");
    expect(decide({ read_file: { "src/*": "allow" } }, "read_file", "a.c", SECRET_READ_RULES)).toBe("ask");
  });

  test("a wildcard key never lifts the denial of secret files", () => {
    expect(decide({ "*": "allow" }, "read_file", ".env", SECRET_READ_RULES)).toBe("deny");
    expect(decide({ "read_*": "allow" }, "read_file", "a/.ENV", SECRET_READ_RULES)).toBe("deny");
    expect(decide({ "*": "deny" }, "read_file", "a.c", SECRET_READ_RULES)).toBe("deny");
    expect(decide({ "*": "ask" }, "read_file", "a.c", SECRET_READ_RULES)).toBe("ask");
  });

  test("flags add to what is in force instead of replacing it", () => {
    const flags = [parseRuleFlag("bash(git *)", "allow"), parseRuleFlag("read_file(.env)", "allow")];
    const all = [...read({ bash: { "*": "deny" } }).rules, ...flags];
    const of = (tool: string, subject: string, fallback: Parameters<typeof tableFor>[2]) =>
      matchTable(tableFor(tool, all, fallback), subject).decision;
    expect(of("bash", "git log", "ask")).toBe("allow");
    expect(of("bash", "ls", "ask")).toBe("deny");
    expect(of("read_file", ".env", SECRET_READ_RULES)).toBe("allow");
    expect(of("read_file", "key.pem", SECRET_READ_RULES)).toBe("deny");
  });
});

test.each([
  [".env", "deny"],
  ["a/b/.env", "deny"],
  [".ENV", "deny"],
  [".env.local", "deny"],
  ["prod.env", "deny"],
  ["x/server.PEM", "deny"],
  ["a.key", "deny"],
  ["id_rsa", "deny"],
  ["id_rsa.pub", "allow"],
  ["k/id_ed25519_work", "deny"],
  [".netrc", "deny"],
  [".git-credentials", "deny"],
  ["gcp/credentials.json", "deny"],
  [".aws/credentials", "deny"],
  ["home/.aws/credentials", "deny"],
  [".aws/config", "allow"],
  [".ssh/deploy", "deny"],
  [".ssh/config", "allow"],
  [".ssh/known_hosts", "allow"],
  ["a.p12", "deny"],
  ["a.pfx", "deny"],
  ["a.keystore", "deny"],
  [".env.example", "allow"],
  ["x/.env.sample", "allow"],
  [".env.template", "allow"],
  [".npmrc", "ask"],
  ["a/.pypirc", "ask"],
  ["environment.ts", "allow"],
  ["keyboard.ts", "allow"],
  ["src/env", "allow"],
])("reading %s: %s by default", (path, decision) => {
  expect<string>(matchTable(tableFor("read_file", [], SECRET_READ_RULES), path).decision).toBe(decision);
});

describe("reports at startup", () => {
  test("a decision that is none is dropped and named with its place, never widened", () => {
    const { rules, reports } = read({ bash: { "*": "alow", "git *": "allow" }, web_fetch: "yes" });
    expect(rules.map((one) => one.tool)).toEqual(["bash"]);
    expect(reports).toEqual([
      `config.json:3: permission bash "*": "alow" is not allow, ask, deny; ignored`,
      `config.json:5: permission web_fetch: "yes" is not allow, ask, deny; ignored`,
    ]);
    expect(matchTable(tableFor("bash", rules, "ask"), "ls").decision).toBe("ask");
  });

  test("a table of which nothing could be read leaves the tool its default", () => {
    const { rules } = read({ read_file: { "*": "yes" } });
    expect(rules).toEqual([]);
  });

  test("a catch-all after narrower entries is reported as making them dead", () => {
    const { reports } = read({ bash: { "git *": "allow", "rm *": "deny", "*": "ask" } });
    expect(reports).toEqual([
      `config.json:5: permission bash: "*" comes last, so "git *", "rm *" before it never count`,
    ]);
  });

  test("a key that names no tool is reported, families and MCP names are not", () => {
    const { reports } = read({ bahs: "allow", mcp__x__y: "allow", "git_*": "allow" });
    expect(reports).toHaveLength(1);
    expect(reports[0]).toContain('"bahs" names no tool');
  });
});

describe("rules from flags", () => {
  test.each([
    ["bash(git *)", "bash", "git *"],
    ["bash", "bash", "*"],
    ["mcp__*", "mcp__*", "*"],
    ["bash(echo (x))", "bash", "echo (x)"],
    ["web_fetch(https://example.org/*)", "web_fetch", "https://example.org/*"],
  ])("%s", (text, tool, pattern) => {
    const rule = parseRuleFlag(text, "allow");
    const rows: RuleEntry[] = [{ pattern, decision: "allow", place: "--allow" }];
    expect(rule).toEqual({ tool, rules: rows, place: "--allow", added: true });
  });

  test.each([[""], ["bash()"], ["(git *)"], ["bash(git *"], ["git push"]])(
    "%p is refused with the form to use",
    (text) => {
      expect(() => parseRuleFlag(text, "deny")).toThrow(UserError);
      expect(() => parseRuleFlag(text, "deny")).toThrow("--deny");
    },
  );
});

test("rules of flags that name no tool are reported by their flag; families and MCP tools may come later", () => {
  const flags = ["bsh(git *)", "bash(git *)", "b?sh", "web*", "mcp__x__y", "*"].map((text) =>
    parseRuleFlag(text, "allow"),
  );
  expect(unknownTools([...flags, parseRuleFlag("raed_file", "deny")], SAMPLE_TOOLS)).toEqual([
    '--allow: permission "bsh" names no tool that exists now',
    '--deny: permission "raed_file" names no tool that exists now',
  ]);
});

describe("rules on addresses go by the parsed host", () => {
  const rules = { web_fetch: { "*": "ask", "https://docs.example.org*": "allow", "https://*.wiki.org/*": "allow" } };
  test.each([
    ["https://docs.example.org/", "allow"],
    ["https://docs.example.org/a/b?c", "allow"],
    ["https://DOCS.example.org./", "allow"],
    ["https://docs.example.org.evil.test/", "ask"],
    ["https://docs.example.org@evil.test/", "ask"],
    ["https://x:y@docs.example.org/", "ask"],
    ["https://docs.example.org:8443/", "ask"],
    ["http://docs.example.org/", "ask"],
    ["https://en.wiki.org/a", "allow"],
    ["https://evil.test/?x=.wiki.org/a", "ask"],
  ])("%s: %s", (url, decision) => expect<string>(decide(rules, "web_fetch", url)).toBe(decision));

  test("a denial counts by text as well", () => {
    expect(decide({ web_fetch: { "*": "allow", "https://evil*": "deny" } }, "web_fetch", "https://evil.test/")).toBe(
      "deny",
    );
  });
});

test("patterns agree with a regular expression on random texts", () => {
  let seed = 7;
  const random = (limit: number) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % limit;
  const pick = (alphabet: string, length: number) =>
    Array.from({ length }, () => alphabet[random(alphabet.length)]).join("");
  for (let round = 0; round < 3_000; round++) {
    const pattern = pick("ab *?.", random(8));
    const text = pick("ab .\n", random(10));
    const source = pattern.replace(/[.*?]/g, (char) => (char === "." ? "\\." : char === "*" ? "[^]*" : "[^]"));
    const bare = pattern.endsWith(" *") && text === pattern.slice(0, -2);
    expect([pattern, text, matchesWildcard(pattern, text)]).toEqual([
      pattern,
      text,
      bare || new RegExp(`^${source}$`).test(text),
    ]);
  }
});

test("a hostile pattern is tried once along the subject, not in every way its stars allow", async () => {
  // Three stars are enough to see the difference, and few enough to see the end of it.
  const config: PermissionConfig = [{ tool: "bash", rules: [{ pattern: "*a*a*a", decision: "deny" }], place: "x" }];
  const match = (length: number) => {
    const subject = `${"a".repeat(length)}b`;
    return () => expect(matchTable(tableFor("bash", config, "ask"), subject).decision).toBe("ask");
  };
  expect(await growth(match, 50)).toBeLessThan(8);
});
