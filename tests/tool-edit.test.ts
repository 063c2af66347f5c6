/** `write_file`, `edit_file`, `multi_edit`: what they do, refuse and say. */
import {
  appendFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { ToolError } from "../src/errors.ts";
import type { JsonObject } from "../src/types.ts";
import { type Bench, openBench } from "./support/workspace-tools.ts";

async function opened(content: string | Uint8Array, path = "f"): Promise<Bench> {
  const bench = openBench();
  bench.write(path, content);
  await bench.run("read_file", { path });
  return bench;
}

const edit = (oldString: string, newString: string, more: object = {}) => ({
  path: "f",
  oldString,
  newString,
  ...more,
});

test.each(["$&", "$1$2", "$`", "$'", "$$", "$$$$", 'log("$& ok")', "\\n", "\\1"])(
  "%s is literal in the new text",
  async (text) => {
    const bench = await opened("before MIDDLE after MIDDLE\n");
    await bench.run("edit_file", edit("before MIDDLE", text));
    expect(bench.text("f")).toBe(`${text} after MIDDLE\n`);
    await bench.run("edit_file", edit("MIDDLE", text, { replaceAll: true }));
    expect(bench.text("f")).toBe(`${text} after ${text}\n`);
  },
);

test("an edit of a file that isn't there says how one is made", async () => {
  const bench = openBench();
  expect(await bench.refused("edit_file", { path: "new.ts", oldString: "a", newString: "b" })).toBe(
    '[tool error] "new.ts" does not exist. Find it with glob. write_file creates files.',
  );
});

test("an edit says where, a second one needs no second reading", async () => {
  const bench = await opened("a\nb\nc\n");
  expect((await bench.run("edit_file", edit("b", "B"))).text).toBe("Edited f (line 2).");
  expect((await bench.run("edit_file", edit("c", "C"))).text).toBe("Edited f (line 3).");
  expect(bench.text("f")).toBe("a\nB\nC\n");
});

test.each([
  ["none", "x", "oldString was not found"],
  ["a", "a", "identical"],
  ["a\nb", "a\r\nb", "line endings only"],
  ["", "", "identical"],
  ["", "x", "an empty oldString only creates a new file"],
  ["a", "x", 'appears 2 times in "f" (lines 1, 3). Add surrounding context or set replaceAll'],
])("replacing %j by %j is refused, the file untouched", async (oldString, newString, reason) => {
  const bench = await opened("a\nb\na\n");
  expect(await bench.refused("edit_file", edit(oldString, newString))).toContain(reason);
  expect(bench.text("f")).toBe("a\nb\na\n");
});

test.each([
  [
    "  if (x) {\n    y();\n  }\n",
    "if (x) {\n  y();\n}",
    "differ in white space or punctuation only:\n1\t  if (x) {\n2\t    y();\n3\t  }",
  ],
  ["say(“hi”)\n", 'say("hi")', "punctuation only:\n1\tsay(“hi”)"],
  ["one\ny := 2\nthree\n", "one\ny := 99\nthree", "The nearest lines are:\n1\tone\n2\ty := 2\n3\tthree"],
  ["const total = sum(values);\n", "const total = sum(value);", "The nearest lines are:\n1\tconst total"],
])("a miss shows the nearest lines, and changes nothing", async (content, oldString, hint) => {
  const bench = await opened(content);
  expect(await bench.refused("edit_file", edit(oldString, "z"))).toContain(hint);
  expect(bench.text("f")).toBe(content);
});

test("line numbers copied from a reading are recognised", async () => {
  const bench = await opened("a\nb\n");
  expect(await bench.refused("edit_file", edit("1\ta\n2\tb", "z"))).toContain("Leave out the line numbers");
});

test("an empty oldString creates a new file, parents included", async () => {
  const bench = openBench();
  expect((await bench.run("edit_file", { path: "a/b/c.txt", oldString: "", newString: "x\ny" })).text).toBe(
    "Created a/b/c.txt (2 lines).",
  );
  expect(bench.text("a/b/c.txt")).toBe("x\ny");
});

test("writing says whether it created or replaced", async () => {
  const bench = openBench();
  expect((await bench.run("write_file", { path: "n/f", content: "1\n2\n" })).text).toBe("Created n/f (2 lines).");
  expect((await bench.run("write_file", { path: "n/f", content: "1\n" })).text).toBe(
    "Replaced n/f (1 line, before 2 lines).",
  );
  expect((await bench.run("write_file", { path: "n/f", content: "1\n" })).text).toContain("The content is the same.");
});

test.each(["write_file", "edit_file", "multi_edit"])("%s refuses a file that was not read", async (tool) => {
  const bench = openBench();
  bench.write("f", "a\n");
  const input = {
    write_file: { content: "x" },
    edit_file: edit("a", "b"),
    multi_edit: { edits: [{ oldString: "a", newString: "b" }] },
  };
  expect(await bench.refused(tool, { path: "f", ...input[tool as keyof typeof input] })).toContain("Read it first");
  expect(bench.text("f")).toBe("a\n");
});

test("a file changed by somebody else since is refused, their line survives", async () => {
  const bench = await opened("mine\n");
  appendFileSync(join(bench.root, "f"), "user\n");
  for (const [tool, input] of [
    ["write_file", { path: "f", content: "x" }],
    ["edit_file", edit("mine", "x")],
  ] as const)
    expect(await bench.refused(tool, input)).toContain("changed since you read it; read it again");
  expect(bench.text("f")).toBe("mine\nuser\n");
  await bench.run("read_file", { path: "f" });
  await bench.run("edit_file", edit("mine", "x"));
  expect(bench.text("f")).toBe("x\nuser\n");
});

test("a file changed while its approval was open is refused", async () => {
  const bench = await opened("mine\n");
  expect(await bench.preview("write_file", { path: "f", content: "x" })).toContain("-mine");
  appendFileSync(join(bench.root, "f"), "user\n");
  expect(await bench.refused("write_file", { path: "f", content: "x" })).toContain("changed since");
});

test("of two conversations that read a file, the second to write is told that it changed", async () => {
  const first = await opened("old\n");
  const second = openBench({ root: first.root });
  await second.run("read_file", { path: "f" });
  await first.run("write_file", { path: "f", content: "first\n" });
  expect(await second.refused("write_file", { path: "f", content: "second\n" })).toContain("changed since");
  expect(first.text("f")).toBe("first\n");
});

test("a change of the same size at the same time is noticed", async () => {
  const bench = await opened("aaaa");
  const { atime, mtime } = statSync(join(bench.root, "f"));
  writeFileSync(join(bench.root, "f"), "bbbb");
  utimesSync(join(bench.root, "f"), atime, mtime);
  expect(await bench.refused("write_file", { path: "f", content: "x" })).toContain("changed since");
});

test("a file that appeared since is not overwritten by a new one", async () => {
  const bench = openBench();
  const preview = await bench.preview("write_file", { path: "f", content: "x" });
  expect(preview).toContain("new file mode");
  bench.write("f", "theirs");
  expect(await bench.refused("write_file", { path: "f", content: "x" })).toContain("Read it first");
});

test("several edits are applied in order, each on the result of the one before", async () => {
  const bench = await opened("a b\n");
  const edits = [
    { oldString: "a", newString: "b" },
    { oldString: "b", newString: "c", replaceAll: true },
  ];
  expect((await bench.run("multi_edit", { path: "f", edits })).text).toBe("Edited f (2 edits, 3 replacements).");
  expect(bench.text("f")).toBe("c c\n");
});

test("one failing edit of several is named, and none is applied", async () => {
  const bench = await opened("a\nb\n");
  const edits = [
    { oldString: "a", newString: "x" },
    { oldString: "none", newString: "y" },
    { oldString: "b", newString: "z" },
  ];
  expect(await bench.refused("multi_edit", { path: "f", edits })).toContain(
    "Edit 2 of 3 failed, and none was applied. oldString was not found",
  );
  expect(bench.text("f")).toBe("a\nb\n");
  expect(await bench.refused("multi_edit", { path: "f", edits: [] })).toStartWith("[validation error]");
});

test.each([0o755, 0o600, 0o640])("mode %o stays", async (mode) => {
  const bench = await opened("a\n");
  Bun.spawnSync(["chmod", mode.toString(8), join(bench.root, "f")]);
  await bench.run("edit_file", edit("a", "b"));
  await bench.run("write_file", { path: "f", content: "c" });
  expect(statSync(join(bench.root, "f")).mode & 0o7777).toBe(mode);
});

test("through a link the target is edited and the link stays; hard links stay together", async () => {
  const bench = openBench();
  bench.write("dir/run.sh", "echo a\n");
  symlinkSync("dir/run.sh", join(bench.root, "f"));
  linkSync(join(bench.root, "dir/run.sh"), join(bench.root, "hard"));
  await bench.run("read_file", { path: "dir/run.sh" });
  await bench.run("edit_file", edit("a", "b"));
  expect([bench.text("dir/run.sh"), bench.text("hard")]).toEqual(["echo b\n", "echo b\n"]);
  expect(lstatSync(join(bench.root, "f")).isSymbolicLink()).toBe(true);
  expect(readdirSync(bench.root).sort()).toEqual(["dir", "f", "hard"]);
});

test("a link to a file that is not there yet creates its target", async () => {
  const bench = openBench();
  symlinkSync("later.txt", join(bench.root, "f"));
  await bench.run("write_file", { path: "f", content: "x" });
  expect([bench.text("later.txt"), lstatSync(join(bench.root, "f")).isSymbolicLink()]).toEqual(["x", true]);
});

test.each([
  ["esc/new/x.txt", "outside the workspace"],
  ["../w-evil", "outside the workspace"],
  ["dir", "is a directory"],
  ["new/", "names a directory"],
  ["f/below", "f is a file, not a directory"],
])("writing to %p is refused and leaves nothing behind", async (path, reason) => {
  const bench = await opened("a");
  mkdirSync(join(bench.root, "dir"));
  const outside = openBench();
  symlinkSync(outside.root, join(bench.root, "esc"));
  expect(await bench.refused("write_file", { path, content: "x" })).toContain(reason);
  expect([bench.tree(), outside.tree(), readdirSync(outside.root)]).toEqual([{ f: "a" }, {}, []]);
});

test("what may not be read is not shown by a failing edit either", async () => {
  const bench = openBench({ mayRead: (path) => !path.endsWith(".env") });
  bench.write(".env", "KEY=canary\n");
  const refusal = await bench.refused("edit_file", { path: ".env", oldString: "KEY=x", newString: "y" });
  expect(refusal).toStartWith("[permission error]");
  expect(refusal).not.toContain("canary");
  const shown = bench.preview("write_file", { path: ".env", content: "x" });
  await expect(shown).rejects.toMatchObject({
    category: "permission error",
    message: expect.not.stringContaining("canary"),
  });
});

test("a preview changes nothing and shows what will happen", async () => {
  const bench = await opened("a\nb\n");
  const preview = await bench.preview("edit_file", edit("b", "B"));
  expect(bench.text("f")).toBe("a\nb\n");
  const { diff } = await bench.run("edit_file", edit("b", "B"));
  expect(diff).toBe("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
  expect(preview).toBe(diff ?? null);
});

test.each<[string, JsonObject]>([
  ["edit_file", { path: "f", oldString: "none", newString: "B" }],
  ["edit_file", { path: "unread", oldString: "a", newString: "B" }],
  ["multi_edit", { path: "f", edits: [{ oldString: "none", newString: "B" }] }],
  ["write_file", { path: "unread", content: "B" }],
  ["apply_patch", { patch: "*** Begin Patch\n*** Update File: f\n@@\n-none\n+B\n*** End Patch" }],
])("a preview of %s that can't be done says what running it would say: %j", async (tool, input) => {
  const bench = await opened("a\nb\n");
  bench.write("unread", "a\n");
  const refusal = await bench.refused(tool, input);
  const shown = await bench.preview(tool, input).catch((error: unknown) => error);
  expect(shown).toBeInstanceOf(ToolError);
  if (shown instanceof ToolError) expect(`[${shown.category}] ${shown.message}`).toBe(refusal);
});

test("the undo hooks see a file before and after, and not when nothing is written", async () => {
  const bench = await opened("a\n");
  const seen: string[] = [];
  bench.workspace.onWrite = (path) => {
    seen.push(`before ${path}: ${bench.text("f")}`);
    return () => seen.push(`after ${path}: ${bench.text("f")}`);
  };
  await bench.refused("edit_file", edit("none", "b"));
  await bench.run("edit_file", edit("a", "b"));
  expect(seen).toEqual([`before ${bench.root}/f: a\n`, `after ${bench.root}/f: b\n`]);
});

test("two edits that were asked for together both land", async () => {
  const bench = await opened("top = 0\nkeep\nbottom = 0\n");
  await Promise.all([
    bench.run("edit_file", edit("top = 0", "top = 1")),
    bench.run("edit_file", edit("bottom = 0", "bottom = 2")),
  ]);
  expect(bench.text("f")).toBe("top = 1\nkeep\nbottom = 2\n");
});

test("a rewrite that shares next to nothing with a large file is one hunk, not compared line by line", async () => {
  const text = (word: string) =>
    Array.from({ length: 3000 }, (_, index) => (index === 1500 ? "same\n" : `${word} ${index}\n`)).join("");
  const bench = await opened(text("old"));
  const { diff } = await bench.run("write_file", { path: "f", content: text("new") });
  // A comparison would find the line that both have; it costs the square of the lines that differ.
  expect([...(diff ?? "").matchAll(/^(?:@@.*|.same)$/gm)].map(([line]) => line)).toEqual([
    "@@ -1,3000 +1,3000 @@",
    "-same",
    "+same",
  ]);
});
