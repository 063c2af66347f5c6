import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expandGlob } from "../src/glob-word.ts";
import { tempDirectory } from "./support/approval-bench.ts";

const NAMES = [
  ".env",
  ".env.local",
  "a.c",
  "a.h",
  "ab.c",
  "b",
  "b-c",
  "x[1].txt",
  "sub",
  "sub/a.c",
  "sub/.hid",
  "sub/deep",
  "sub/deep/a.c",
  "UP.C",
];
const DIRECTORIES = ["sub", "sub/deep"];

function makeTree(): string {
  const root = tempDirectory();
  for (const directory of DIRECTORIES) mkdirSync(join(root, directory), { recursive: true });
  for (const name of NAMES) if (!DIRECTORIES.includes(name)) writeFileSync(join(root, name), "");
  return root;
}

const limits = { maxEntries: 1_000, dots: false };
const bash = Bun.which("bash");
if (!bash) console.error("!! bash is not installed: wildcard expansion is not compared with it");

/** What bash makes of each pattern, one list per pattern. */
function expandByBash(root: string, patterns: readonly string[]): string[][] {
  const script = [
    "export LC_ALL=C; shopt -s nullglob",
    ...patterns.map((pattern) => `printf '%s\\n' ${pattern}; echo --`),
  ].join("\n");
  const { stdout } = Bun.spawnSync([bash ?? "bash", "--norc", "-c", script], {
    cwd: root,
    env: { PATH: process.env["PATH"] ?? "" },
  });
  const lists = stdout.toString().split("--\n").slice(0, -1);
  return lists.map((list) =>
    list
      .split("\n")
      .filter((line) => line !== "")
      .sort(),
  );
}

function expandHere(root: string, pattern: string): string[] {
  const { paths } = expandGlob(pattern, root, limits);
  return paths
    .map((path) => path.slice(root.length + 1))
    .filter((path) => NAMES.includes(path))
    .sort();
}

test.skipIf(!bash)("wildcards become what bash makes of them", () => {
  const root = makeTree();
  const fixed = [
    "*",
    ".*",
    ".e*",
    ".en?",
    ".en[v]",
    "*.c",
    "[ab].c",
    "[!a]*",
    "[^a].c",
    "?",
    "*/*.c",
    "*/*/*",
    "s?b/.h*",
    "[a-b]*",
    "[]x]*",
    "x\\[*",
    "*[1]*",
    "[[:alpha:]].c",
    "*.[ch]",
    "sub/*/a.?",
  ];
  let seed = 11;
  const random = (limit: number) => (seed = (seed * 48271) % 2147483647) % limit;
  const pieces = ["*", "?", "a", "b", ".", "c", "[ab]", "[!b]", "/", "sub", "-"];
  const generated = Array.from({ length: 300 }, () =>
    Array.from({ length: 1 + random(5) }, () => pieces[random(pieces.length)]).join(""),
  ).filter(
    (pattern) =>
      /[*?[]/.test(pattern) &&
      !pattern.startsWith("/") &&
      !pattern.startsWith("-") &&
      !pattern.includes("//") &&
      !pattern.endsWith("/") &&
      !/(^|\/)\.\.?($|\/)/.test(pattern),
  );
  const patterns = [...fixed, ...generated];
  const expected = expandByBash(root, patterns).map((list) => list.filter((name) => NAMES.includes(name)));
  expect(patterns.map((pattern) => [pattern, expandHere(root, pattern)])).toEqual(
    patterns.map((pattern, index) => [pattern, expected[index] ?? []]),
  );
});

test("with dotglob wildcards match a leading dot", () => {
  const root = makeTree();
  expect(expandGlob("*env", root, { ...limits, dots: true }).paths).toEqual([join(root, ".env")]);
  expect(expandGlob("*env", root, limits).paths).toEqual([]);
});

test("no more entries are looked at than allowed", () => {
  const root = makeTree();
  expect(expandGlob("*/*", root, { maxEntries: 3, dots: true }).looked).toBeLessThanOrEqual(4);
});
