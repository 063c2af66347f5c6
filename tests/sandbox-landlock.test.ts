/** What each kernel can do, and the rules of a plan, without a kernel. */
import { describe, expect, test } from "bun:test";
import { accessFor, pathBeneath, rulesetAttr, rulesOf, type Entry } from "../src/sandbox-landlock.ts";
import { macosProfile } from "../src/sandbox-macos.ts";
import { parsePlan, parseReport, type SandboxPlan } from "../src/sandbox-plan.ts";
import { FS, guardsFor, handledBy, meets, rungOf, scopeAttempts } from "../src/sandbox-rungs.ts";

const plan: SandboxPlan = {
  cwd: "/w",
  write: ["/w"],
  deny: ["/home/u/.ssh"],
  read: [],
  devices: [],
  sharedMemory: false,
  network: "off",
  unixSockets: "off",
  protect: [77],
  accept: "fs1",
};

describe("rungs", () => {
  const wants = { network: "off", unixSockets: "off" } as const;
  test.each([
    [0, "net", true, true],
    [1, "fs1", true, true],
    [2, "fs1", true, true],
    [3, "fs3", false, true],
    [5, "fs3", false, true],
    [6, "full", false, false],
    [7, "full", false, false],
  ])("ABI %i is %s", (abi, rung, truncate, signals) => {
    const { scoped } = handledBy(abi, wants);
    expect([rungOf(abi, scoped), guardsFor(abi, scoped)]).toEqual<unknown>([rung, { truncate, signals }]);
  });

  test("a kernel that knows only a part of its scopes is not full", () => {
    expect(scopeAttempts(3)).toEqual([3, 1, 0]);
    expect(rungOf(6, 1)).toBe("fs3");
  });

  test.each([
    [1, 0x1fff, 0, 0, 8],
    [2, 0x3fff, 0, 0, 8],
    [3, 0x7fff, 0, 0, 8],
    [4, 0x7fff, 3, 0, 16],
    [5, 0xffff, 3, 0, 16],
    [6, 0xffff, 3, 3, 24],
    [9, 0x1ffff, 3, 3, 24],
  ])("ABI %i handles every right it knows", (abi, fs, net, scoped, size) => {
    expect(handledBy(abi, wants)).toEqual<unknown>({ fs, net, scoped, size });
  });

  test("what is opened is not handled", () => {
    expect(handledBy(9, { network: "on", unixSockets: "on" })).toEqual({ fs: 0xffff, net: 0, scoped: 2, size: 24 });
  });

  test.each([
    ["net", "fs", false],
    ["fs1", "fs", true],
    ["fs3", "full", false],
    ["net", "any", true],
    ["none", "any", false],
  ] as const)("%s for %s: %p", (rung, required, enough) => {
    expect(meets(rung, required)).toBe(enough);
  });
});

describe("rules of a plan", () => {
  const tree: Record<string, Entry[]> = {
    "/": ["home", "usr", "dev", "proc"].map((name) => ({ name, kind: "directory" })),
    "/home": [
      { name: "u", kind: "directory" },
      { name: "other", kind: "directory" },
    ],
    "/home/u": [
      { name: ".ssh", kind: "directory" },
      { name: "keys", kind: "link" },
      { name: "code", kind: "directory" },
      { name: ".profile", kind: "other" },
    ],
  };
  const rules = (more: Partial<SandboxPlan> = {}, handled = 0xffff) => [
    ...rulesOf({ ...plan, ...more }, handled, (directory) => tree[directory] ?? null),
  ];
  const granted = (mask: number, more: Partial<SandboxPlan> = {}) =>
    rules(more)
      .filter((rule) => (rule.access & mask) !== 0 && !rule.path.startsWith("/dev/"))
      .map((rule) => rule.path)
      .sort();

  test("content is granted around what is denied, links are left out, devices too", () => {
    expect(granted(FS.READ_FILE)).toEqual(["/home/other", "/home/u/.profile", "/home/u/code", "/proc", "/usr", "/w"]);
  });

  test("names are listed everywhere", () => {
    expect(rules()[0]).toEqual({ path: "/", access: FS.READ_DIR, optional: false, listed: false });
  });

  test("only write roots may be written, and no devices made in them", () => {
    expect(granted(FS.WRITE_FILE | FS.MAKE_REG | FS.REMOVE_FILE)).toEqual(["/w"]);
    expect(rules().find((rule) => rule.path === "/w")?.access).toBe(0xffff & ~(FS.MAKE_CHAR | FS.MAKE_BLOCK));
  });

  test("what is denied may hold something that is readable again", () => {
    expect(granted(FS.READ_FILE, { read: ["/home/u/.ssh/pub"] })).toContain("/home/u/.ssh/pub");
  });

  test("a directory that can't be listed grants nothing below it", () => {
    expect([...rulesOf(plan, 0xffff, () => null)].filter((rule) => rule.path.startsWith("/home"))).toEqual([]);
  });

  test("a rule on a file carries no rights of directories", () => {
    expect(accessFor(0xffff, false)).toBe(FS.EXECUTE | FS.WRITE_FILE | FS.READ_FILE | FS.TRUNCATE | FS.IOCTL_DEV);
    expect(accessFor(0xffff, true)).toBe(0xffff);
  });

  test("structures are as the kernel reads them", () => {
    expect([...rulesetAttr({ fs: 0x1fff, net: 3, scoped: 2, size: 16 })]).toEqual([
      0xff, 0x1f, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
    ]);
    expect([...pathBeneath(0x8001, -2)]).toEqual([1, 0x80, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]);
  });
});

describe("plans and reports", () => {
  test("a whole plan is read back as it was", () => {
    expect(parsePlan(JSON.stringify(plan))).toEqual(plan);
  });

  test.each([
    ["", "nothing"],
    ["[]", "no object"],
    [JSON.stringify({ ...plan, write: "all" }), "a root that is no list"],
    [JSON.stringify({ ...plan, deny: ["relative"] }), "a relative path"],
    [JSON.stringify({ ...plan, cwd: "/a\0b" }), "a NUL"],
    [JSON.stringify({ ...plan, network: "perhaps" }), "an unknown switch"],
    [JSON.stringify({ ...plan, accept: "none" }), "no rung at all"],
    [JSON.stringify({ ...plan, protect: ["1"] }), "an id that is no number"],
    [JSON.stringify({ ...plan, abiLimit: -1 }), "a negative ABI"],
    [JSON.stringify({ ...plan, quiet: "yes" }), "a switch that is none"],
    [JSON.stringify({ ...plan, deny: undefined }), "a missing list"],
  ])("%s is no plan (%s)", (text) => {
    expect(parsePlan(text)).toBeNull();
  });

  test.each([
    [
      '{"ready":true,"abi":7,"rung":"full","lost":[]}\n',
      { state: "started", abi: 7, rung: "full", lost: [], probe: null },
    ],
    [
      '{"ready":true,"abi":7,"rung":"full","lost":[]}\n{"fail":"exec","errno":2}\n',
      { state: "failed", step: "exec", errno: 2 },
    ],
    ['{"fail":"ruleset","errno":1}\n', { state: "failed", step: "ruleset", errno: 1 }],
    ['{"ready":tr', { state: "silent" }],
    ["", { state: "silent" }],
    ['{"ready":"yes"}', { state: "silent" }],
  ])("%j", (text, report) => {
    expect(parseReport(text)).toEqual<unknown>(report);
  });
});

test("the macOS profile quotes paths and ends with its denials", () => {
  const profile = macosProfile({ ...plan, write: ['/w"x'], deny: ["/Users/u/.ssh"] });
  expect(profile).toContain('(subpath "/w\\"x")');
  expect(profile.indexOf("(deny file-read-data")).toBeGreaterThan(profile.indexOf("(allow file-write*"));
  expect(profile).toContain("(deny network*)");
});
