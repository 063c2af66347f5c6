/** Patch formats and their application to a text, with git as the other opinion. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { applyChunks } from "../src/patch-apply.ts";
import { parsePatch } from "../src/patch-parse.ts";
import { PatchSyntaxError } from "../src/patch.ts";
import { growth } from "./support/growth.ts";
import { randomText, seeded } from "./support/random-text.ts";
import { tempDir } from "./support/workspace-tools.ts";

const envelope = (...lines: string[]) => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");

/** Applies a patch of one updated file. */
function applied(text: string, patch: string): string {
  const [file] = parsePatch(patch);
  if (file?.kind !== "update") throw new Error(`a patch that updates: ${file?.kind}`);
  return applyChunks(text, file.chunks);
}

const update = (text: string, ...lines: string[]) => applied(text, envelope("*** Update File: f", ...lines));

test("every kind of file section is understood, in order", () => {
  const patch = envelope(
    "*** Add File: new.txt",
    "+one",
    "+",
    "*** Delete File: old.txt",
    "*** Update File: a b.ts",
    "*** Move to: c.ts",
    "@@ class A",
    " kept",
    "-gone",
    "+come",
    "*** End of File",
  );
  expect(parsePatch(patch)).toEqual([
    { kind: "add", path: "new.txt", text: "one\n\n" },
    { kind: "delete", path: "old.txt" },
    {
      kind: "update",
      path: "a b.ts",
      moveTo: "c.ts",
      chunks: [
        {
          anchors: ["class A"],
          atEnd: true,
          lines: [
            { op: " ", text: "kept" },
            { op: "-", text: "gone" },
            { op: "+", text: "come" },
          ],
        },
      ],
    },
  ]);
});

test.each([
  ["padded markers", "  *** Begin Patch \n *** Delete File: f \n *** End Patch  "],
  ["CR LF", "*** Begin Patch\r\n*** Delete File: f\r\n*** End Patch\r\n"],
  ["a here-document", "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: f\n*** End Patch\nEOF"],
])("%s make no difference", (_, patch) => {
  expect(parsePatch(patch)).toEqual([{ kind: "delete", path: "f" }]);
});

test.each([
  ["", 1, "expected"],
  ["hello", 1, "expected"],
  ["*** Begin Patch\n*** Delete File: f", 2, "last line"],
  [envelope(), 1, "changes no file"],
  [envelope("*** Frob File: f"), 2, "no file header"],
  [envelope("*** Add File: "), 2, "header"],
  [envelope("*** Update File: f"), 3, "changes nothing"],
  [envelope("*** Update File: f", "@@"), 4, "without lines"],
  [envelope("*** Update File: f", "@@", "-a", "b"), 5, "must begin with"],
  [envelope("*** Add File: f", "+a", "b"), 4, "no file header"],
  ["--- a/f\n+++ b/f\n", 1, "changes nothing"],
  ["diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", 2, "mode"],
  ["diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", 2, "regular files"],
  ["diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\nliteral 1\n", 3, "binary"],
])("%j is refused with its line", (patch, line, reason) => {
  try {
    parsePatch(patch);
    throw new Error("parsed");
  } catch (error) {
    if (!(error instanceof PatchSyntaxError)) throw error;
    expect(error.message).toContain(reason);
    expect(error.line).toBe(line);
  }
});

test.each([
  ["the first place", "x\ny\nx\n", ["@@", "-x", "+z"], "z\ny\nx\n"],
  ["the place after an anchor", "fn a\nx\nfn b\nx\n", ["@@ fn b", "-x", "+z"], "fn a\nx\nfn b\nz\n"],
  ["anchors in a row", "A\n f\n  p\nB\n f\n  p\n", ["@@ B", "@@  f", "-  p", "+  q"], "A\n f\n  p\nB\n f\n  q\n"],
  ["no header", "a\nb\n", [" a", "-b", "+c"], "a\nc\n"],
  ["line numbers in a header", "a\nb\n", ["@@ -1,2 +1,2 @@ fn", " a", "-b", "+c"], "a\nc\n"],
  ["the end of the file", "m\nx\nm\ne\n", ["@@", "-m", "+M", " e", "*** End of File"], "m\nx\nM\ne\n"],
  ["added at the end", "a\n", ["@@", "+b"], "a\nb\n"],
  ["added after an anchor", "a\nb\n", ["@@ a", "+x"], "a\nx\nb\n"],
  ["added to nothing", "", ["@@", "+b"], "b\n"],
  ["blank lines between chunks", "a\n\nb\n", ["@@", "-a", "+A", "", "@@", "-b", "+B"], "A\n\nB\n"],
  ["a blank line of the file", "a\n\nb\n", ["@@", " a", "", "-b", "+B"], "a\n\nB\n"],
  ["trailing blanks in the file, kept", "a  \nb\n", ["@@", " a", "-b", "+c"], "a  \nc\n"],
  ["other indentation, kept", "  a\nb\n", ["@@", " a", "-b", "+c"], "  a\nc\n"],
  ["CR LF", "a\r\nb\r\n", ["@@", "-a", "+x", "+y", " b"], "x\r\ny\r\nb\r\n"],
  ["mixed endings", "a\r\nb\nc\r\nd\n", ["@@", " a", "-b", "+B", " c", "-d", "+D"], "a\r\nB\nc\r\nD\n"],
  ["no final newline", "a\nb", ["@@", "-b", "+c", "+d"], "a\nc\nd"],
  ["deleting the last line without newline", "a\nb", ["@@", " a", "-b"], "a"],
  ["an addition with nothing before, then a change", "a\nb\n", ["@@", "+z", "@@", "-a", "+A"], "A\nb\nz\n"],
])("%s", (_, text, lines, expected) => {
  expect(update(text, ...lines)).toBe(expected);
});

test.each([
  ["a differing line", "a\nb\n", ["@@", "-a", "-x", "+c"], "not found"],
  ["typographic quotes", "“a”\n", ["@@", '-"a"', "+b"], "differ in white space or punctuation only"],
  ["lines in the wrong order", "a\nb\n", ["@@", "-b", "+B", "@@", "-a", "+A"], "Chunk 2 of 2"],
  ["a missing anchor", "a\n", ["@@ none", "-a", "+b"], "not found"],
  ["white space that fits twice", " a\n  a\n", ["@@", "-a", "+b"], "several places"],
  ["an end that is elsewhere", "a\nb\n", ["@@", "-a", "+b", "*** End of File"], "not found"],
])("%s is refused", (_, text, lines, reason) => {
  expect(() => update(text, ...lines)).toThrow(reason);
});

const diff = (...hunk: string[]) => ["--- a/f", "+++ b/f", ...hunk, ""].join("\n");

test.each([
  ["the stated line among equals", "x\nx\nx\n", diff("@@ -2 +2 @@", "-x", "+y"), "x\ny\nx\n"],
  ["a wrong line when the place is the only one", "a\nb\nc\n", diff("@@ -9,2 +9,2 @@", " b", "-c", "+C"), "a\nb\nC\n"],
  ["wrong counts", "a\nb\nc\n", diff("@@ -1,9 +1,9 @@", " a", "-b", "+B", " c"), "a\nB\nc\n"],
  ["removed lines that look like headers", "-- x\nb\n", diff("@@ -1,2 +1 @@", "--- x", " b"), "b\n"],
  ["insertion by number", "a\nb\n", diff("@@ -1,0 +2 @@", "+x"), "a\nx\nb\n"],
  ["a newline taken away", "a\nb\n", diff("@@ -2 +2 @@", "-b", "+b", "\\ No newline at end of file"), "a\nb"],
  ["a newline given", "a\nb", diff("@@ -2 +2 @@", "-b", "\\ No newline at end of file", "+b"), "a\nb\n"],
])("unified: %s", (_, text, patch, expected) => {
  expect(applied(text, patch)).toBe(expected);
});

test("unified: a hunk whose counts are too large ends where the next file begins, names included", () => {
  const patch = [
    ...["--- a/f", "+++ b/f", "@@ -1,9 +1,9 @@", " a", "-b", "+B"],
    ...["--- a/g", "+++ b/g", "@@ -1 +1 @@", "-x", "+X", ""],
  ].join("\n");
  expect(parsePatch(patch).map((file) => file.path)).toEqual(["f", "g"]);
  const pair = ["--- a/f", "+++ b/f", "@@ -1 +1 @@", "--- x", "+++ y", "@@ -3 +3 @@", "-c", "+C", ""].join("\n");
  expect(applied("-- x\nb\nc\n", pair)).toBe("++ y\nb\nC\n");
});

test("unified: a wrong line number that fits several places is refused", () => {
  expect(() => applied("x\na\nx\n", diff("@@ -2 +2 @@", "-x", "+y"))).toThrow("several places");
});

test("unified: creation, deletion, renames and quoted names", () => {
  const patch = [
    "Some words before.",
    "diff --git a/new.sh b/new.sh",
    "new file mode 100755",
    "--- /dev/null",
    "+++ b/new.sh",
    "@@ -0,0 +1 @@",
    "+echo",
    "\\ No newline at end of file",
    "diff --git a/gone b/gone",
    "deleted file mode 100644",
    "--- a/gone",
    "+++ /dev/null",
    "@@ -1 +0,0 @@",
    "-x",
    "diff --git a/old name b/new name",
    "similarity index 100%",
    "rename from old name",
    "rename to new name",
    'diff --git "a/caf\\303\\251.txt" "b/caf\\303\\251.txt"',
    '--- "a/caf\\303\\251.txt"',
    '+++ "b/caf\\303\\251.txt"\t2026-01-01',
    "@@ -1 +1 @@",
    "-a",
    "+b",
    "",
  ].join("\n");
  expect(parsePatch(patch)).toMatchObject([
    { kind: "add", path: "new.sh", text: "echo", mode: 0o755 },
    { kind: "delete", path: "gone" },
    { kind: "update", path: "old name", moveTo: "new name", chunks: [] },
    { kind: "update", path: "café.txt" },
  ]);
  expect(parsePatch("--- src/x.ts\n+++ src/x.ts\n@@ -1 +1 @@\n-a\n+b\n")).toMatchObject([{ path: "src/x.ts" }]);
});

test("what git diff says between two texts, applied to the first, gives the second", () => {
  if (Bun.which("git") === null) return console.error("SKIPPED: no git to make diffs with");
  const random = seeded(99);
  const dir = tempDir();
  const env = { PATH: process.env.PATH ?? "", HOME: dir };
  const pairs = Array.from({ length: 80 }, () => {
    const endings = [["\n"], ["\r\n"]][random(2)] ?? ["\n"];
    return [randomText(random, { endings }), randomText(random, { endings })] as const;
  });
  for (const side of ["old", "new"]) mkdirSync(join(dir, side));
  pairs.forEach(([before, after], index) => {
    writeFileSync(join(dir, "old", `${index}`), before);
    writeFileSync(join(dir, "new", `${index}`), after);
  });
  const context = ["-U3", "-U1", "-U0"];
  for (const option of context) {
    const run = Bun.spawnSync(["git", "diff", "--no-index", "--no-prefix", option, "old", "new"], { cwd: dir, env });
    const files = parsePatch(run.stdout.toString());
    expect(files.length).toBeGreaterThan(60);
    for (const file of files) {
      if (file.kind !== "update") throw new Error(`not an update: ${file.kind}`);
      const [before, after] = pairs[Number(file.path.replace("old/", ""))] ?? ["", ""];
      expect([before, applyChunks(before, file.chunks)]).toEqual([before, after]);
    }
  }
});

test("a long patch of a long file is applied in one pass", async () => {
  const patch = (count: number) => {
    const lines = Array.from({ length: count * 10 }, (_, index) => `line ${index}`);
    const chunks = lines.filter((_, index) => index % 10 === 0).flatMap((line) => ["@@", `-${line}`, `+${line}!`]);
    const wanted = lines.map((line, index) => (index % 10 === 0 ? `${line}!\n` : `${line}\n`)).join("");
    return () => expect(update(`${lines.join("\n")}\n`, ...chunks)).toBe(wanted);
  };
  expect(await growth(patch, 200)).toBeLessThan(8);
});
