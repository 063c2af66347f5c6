/** Glob patterns as the glob tool reads them, and that none makes the matcher slow. */
import { expect, test } from "bun:test";
import { ToolError } from "../src/errors.ts";
import { parseGlob } from "../src/glob.ts";
import { growth } from "./support/growth.ts";
import { rounds } from "./support/rounds.ts";

test.each<[pattern: string, path: string, matches: boolean]>([
  ["*.ts", "a.ts", true],
  ["*.ts", "deep/down/a.ts", true],
  ["*.ts", "a.tsx", false],
  ["./*.ts", "deep/a.ts", false],
  ["/*.ts", "a.ts", true],
  [".//./src/*.ts", "src/a.ts", true],
  ["src/*.ts", "src/a.ts", true],
  ["src/*.ts", "src/sub/a.ts", false],
  ["src/**/*.ts", "src/a.ts", true],
  ["src/**/*.ts", "src/x/y/a.ts", true],
  ["src/**", "src/x/y", true],
  ["src/**", "src", false],
  ["src/", "src/x/y", true],
  ["**", "any/thing", true],
  ["**/*", ".hidden", true],
  ["*", ".hidden", true],
  ["*", "sub/.hidden", true],
  ["a**b", "axxb", true],
  ["./a**b", "ax/xb", false],
  ["?.ts", "é.ts", true],
  ["?.ts", "😀.ts", true],
  ["?", "ab", false],
  ["./a?b", "a/b", false],
  ["[ab].ts", "b.ts", true],
  ["[!ab].ts", "b.ts", false],
  ["[^ab].ts", "c.ts", true],
  ["[a-c]x", "bx", true],
  ["[]x]", "]", true],
  ["./a[/]b", "a/b", false],
  ["[[:digit:]]*", "7up", true],
  ["[", "[", true],
  ["a[b", "a[b", true],
  ["\\*", "*", true],
  ["\\*", "a", false],
  ["*.{ts,tsx}", "x/a.tsx", true],
  ["*.{ts,tsx}", "a.js", false],
  ["{src,test}/**/*.ts", "test/a/b.ts", true],
  ["{src,test}/**/*.ts", "lib/b.ts", false],
  ["a{,b}c", "ac", true],
  ["a{b{c,d},e}f", "abdf", true],
  ["a{b{c,d},e}f", "aef", true],
  ["a{b{c,d},e}f", "abf", false],
  ["{**/x,y}/z", "p/q/x/z", true],
  ["{a,**}/z", "p/q/z", true],
  ["a{b", "a{b", true],
  ["a}b", "a}b", true],
  ["{a}", "a", true],
  ["{a,b}{c,d}", "bc", true],
  ["{[,],x}", ",", true],
  ["", "any", true],
  [".", "any", true],
  ["Makefile", "sub/Makefile", true],
  ["A.ts", "a.ts", false],
])("%j on %j: %p", (pattern, path, matches) => {
  const glob = parseGlob(pattern);
  expect(glob.matches(path)).toBe(matches);
  const above = path.split("/").slice(0, -1);
  const directories = above.map((_, index) => above.slice(0, index + 1).join("/"));
  if (matches) expect(directories.filter((directory) => !glob.mayEnter(directory))).toEqual([]);
});

test("directories in which nothing can match are not entered", () => {
  const glob = parseGlob("src/lib*/**/*.ts");
  expect(["src", "src/lib", "src/other", "srcs", "test", "src2/lib"].map((name) => glob.mayEnter(name))).toEqual([
    ...[true, true, true, false, false, false],
  ]);
  expect(parseGlob("*.ts").mayEnter("any")).toBe(true);
  expect(parseGlob("/*.ts").mayEnter("any")).toBe(true);
});

test("a plain path is known as one", () => {
  expect(["src/a.ts", "./src/a.ts", "*.ts", "a\\b", "{a}"].map((pattern) => parseGlob(pattern).literal)).toEqual([
    "src/a.ts",
    "src/a.ts",
    null,
    null,
    null,
  ]);
});

// Few enough stars and braces that a matcher which tries everything would still end, and be seen to explode.
test.each<[name: string, pattern: (size: number) => string, path: (size: number) => string, size: number]>([
  ["stars in a long name", () => "*a*a*b*", (size) => "a".repeat(size), 50],
  ["directories in a deep tree", () => "**/a/**/a/**/b*", (size) => "a/".repeat(size), 30],
  ["any directories in a deep tree", () => "**/**/**/b*", (size) => "a/".repeat(size), 30],
  ["alternatives", (size) => "{a,b}".repeat(size), (size) => "a".repeat(size), 1],
  ["nested alternatives", (size) => "{a*,".repeat(size) + "}".repeat(size), () => "a".repeat(50), 1],
  ["open brackets", (size) => "[".repeat(size), () => "a", 60],
])("a pattern made to be slow is not: %s", async (_, pattern, path, size) => {
  expect(await growth(judging(pattern, path), size)).toBeLessThan(8);
  expect(
    await growth(
      judging((count) => `./${pattern(count)}`, path),
      size,
    ),
  ).toBeLessThan(8);
});

test("each of many brackets looks for its class once", async () => {
  // Up to the square of a pattern's length, which is limited; never its cube.
  const brackets = (size: number) => `${"[".repeat(size)}[:no:]`;
  expect(
    await growth(
      judging(brackets, () => "a"),
      60,
      24,
    ),
  ).toBeLessThan(32);
});

const judging = (pattern: (size: number) => string, path: (size: number) => string) => (size: number) => {
  const [written, judged] = [pattern(size), path(size)];
  return () => parseGlob(written).matches(judged);
};

test("a pattern without measure is refused", () => {
  expect(() => parseGlob("a".repeat(5000))).toThrow(ToolError);
  expect(() => parseGlob("{".repeat(100))).toThrow(ToolError);
});

// Bun's own glob is the judge where both mean the same: whole paths, no class, no brace.
test("random patterns agree with another implementation", () => {
  let state = 7;
  const pick = <T>(from: readonly T[]): T => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    // The index is below the length.
    return from[Math.floor((state / 2 ** 32) * from.length)] as T;
  };
  const pieces = ["a", "b", "ab", "*", "?", "*a", "a*", "**", "b?"];
  const names = ["a", "b", "ab", "ba", "aab"];
  const join = (from: readonly string[]) => Array.from({ length: pick([1, 2, 3]) }, () => pick(from)).join("/");
  for (let round = 0; round < rounds(150, 300); round++) {
    const pattern = join(pieces);
    const other = new Bun.Glob(pattern);
    for (let path = join(names), count = 0; count < 8; path = join(names), count++) {
      expect(`${pattern} ${path} ${parseGlob(`./${pattern}`).matches(path)}`).toBe(
        `${pattern} ${path} ${other.match(path)}`,
      );
    }
  }
});
