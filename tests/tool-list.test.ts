/** `list_dir`. */
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { openBench } from "./support/workspace-tools.ts";

test("a tree, two levels deep, with sizes and without what is ignored", async () => {
  const bench = openBench();
  bench.write(".gitignore", "*.log\n");
  bench.write("b/two.ts", "x".repeat(2048));
  bench.write("b/deep/three.ts", "");
  bench.write("a.txt", "12345");
  bench.write("x.log", "");
  symlinkSync("b", join(bench.root, "link"));
  expect((await bench.run("list_dir", {})).text.split("\n")).toEqual([
    "./",
    "  .gitignore 6 B",
    "  a.txt 5 B",
    "  b/",
    "    deep/",
    "    two.ts 2.0 KB",
    "  link (link)",
  ]);
  expect((await bench.run("list_dir", { path: "b", depth: 3, includeIgnored: true })).text).toContain(
    "    three.ts 0 B",
  );
  expect((await bench.run("list_dir", { includeIgnored: true, depth: 1 })).text).toContain("x.log");
});

test("300 entries at most: the upper levels whole, the rest counted", async () => {
  const bench = openBench();
  for (let index = 0; index < 200; index++) bench.write(`d${String(index).padStart(3, "0")}/f`, "");
  const { text } = await bench.run("list_dir", {});
  const shown = text.split("\n");
  expect(shown.length).toBe(302);
  expect(shown.filter((line) => line.endsWith("/")).length).toBe(201);
  expect(shown.at(-1)).toBe("(100 more entries; list a subdirectory or use glob)");
});

test("names that would move the cursor or fake a line are escaped", async () => {
  const bench = openBench();
  for (const name of ["a\nb", "c\x1b[2Jd", "-rf", " x "]) bench.write(name, "");
  const { text } = await bench.run("list_dir", {});
  expect(text.split("\n").length).toBe(5);
  expect(text).toContain("a\\nb");
  expect(text).not.toContain("\x1b");
});

test("a name that is no UTF-8 does no harm", async () => {
  const bench = openBench();
  writeFileSync(Buffer.concat([Buffer.from(`${bench.root}/caf`), Buffer.from([0xe9]), Buffer.from(".txt")]), "x");
  bench.write("plain", "");
  const { text } = await bench.run("list_dir", {});
  expect(text).toContain("plain 0 B");
  expect(text.isWellFormed()).toBe(true);
  expect(await bench.refused("read_file", { path: "caf\ufffd.txt" })).toContain("no valid UTF-8");
});

test.each([
  ["f", '"f" is a file'],
  ["none", '"none" does not exist'],
  ["..", "outside the workspace"],
])("%p can't be listed", async (path, reason) => {
  const bench = openBench();
  bench.write("f", "");
  expect(await bench.refused("list_dir", { path })).toContain(reason);
});

test("an empty directory says so, and seven levels are too many", async () => {
  const bench = openBench();
  expect((await bench.run("list_dir", {})).text).toBe("./\n(empty)");
  expect(await bench.refused("list_dir", { depth: 7 })).toStartWith("[validation error]");
});
