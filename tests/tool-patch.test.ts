/** `apply_patch`: all files or none, nothing overwritten, nothing outside. */
import { chmodSync, lstatSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { applyPatchTool } from "../src/tool-patch.ts";
import { type Bench, openBench, tempDir } from "./support/workspace-tools.ts";

const envelope = (...lines: string[]) => ({ patch: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") });

/** A workspace with these files, all of them read. */
async function withFiles(files: Record<string, string>, options: Parameters<typeof openBench>[0] = {}): Promise<Bench> {
  const bench = openBench(options);
  for (const [path, content] of Object.entries(files)) {
    bench.write(path, content);
    await bench.run("read_file", { path });
  }
  return bench;
}

const THREE = { "a.txt": "a\n", "b.txt": "b\n", "c.sh": "c\n" };

test("several files change together, and the report says how", async () => {
  const bench = await withFiles(THREE);
  chmodSync(join(bench.root, "c.sh"), 0o755);
  const { text, diff } = await bench.run(
    "apply_patch",
    envelope(
      "*** Add File: new/n.txt",
      "+n",
      "*** Update File: a.txt",
      "@@",
      "-a",
      "+A",
      "*** Delete File: b.txt",
      "*** Update File: c.sh",
      "*** Move to: bin/c.sh",
      "@@",
      "-c",
      "+C",
    ),
  );
  expect(text).toBe("Applied the patch:\nA new/n.txt\nM a.txt\nD b.txt\nR c.sh -> bin/c.sh");
  expect(bench.tree()).toEqual({ "a.txt": "A\n", "bin/c.sh": "C\n", "new/n.txt": "n\n" });
  expect(statSync(join(bench.root, "bin/c.sh")).mode & 0o777).toBe(0o755);
  expect(diff).toContain("rename from c.sh\nrename to bin/c.sh\n");
});

test.each([
  ["a file to add exists", ["*** Add File: b.txt", "+x"], "exists already"],
  ["a move would overwrite", ["*** Update File: c.sh", "*** Move to: b.txt", "@@", "-c", "+C"], "exists already"],
  ["a path leads out", ["*** Add File: ../../tmp/e", "+x"], "outside the workspace"],
  ["a file is missing", ["*** Update File: none", "@@", "-a", "+b"], "does not exist"],
  ["a deleted file is missing", ["*** Delete File: none"], "does not exist"],
  ["a line is not there", ["*** Update File: b.txt", "@@", "-x", "+y"], "not found"],
  ["a directory is named", ["*** Delete File: dir"], "is a directory"],
  ["a file was not read", ["*** Delete File: unread"], "Read it first"],
  [
    "a file was deleted above",
    ["*** Delete File: b.txt", "*** Update File: b.txt", "@@", "-b", "+c"],
    "does not exist",
  ],
  ["a link would be moved", ["*** Update File: link", "*** Move to: d", "@@", "-A", "+B"], "symbolic link"],
  ["a link would be deleted", ["*** Delete File: link"], "symbolic link"],
])("nothing changes when %s", async (_, lines, reason) => {
  const bench = await withFiles(THREE);
  mkdirSync(join(bench.root, "dir"));
  bench.write("unread", "x\n");
  symlinkSync("a.txt", join(bench.root, "link"));
  const before = bench.tree();
  const patch = envelope("*** Update File: a.txt", "@@", "-a", "+A", ...lines);
  expect(await bench.refused("apply_patch", patch)).toContain(reason);
  expect(bench.tree()).toEqual(before);
  expect(lstatSync(join(bench.root, "link")).isSymbolicLink()).toBe(true);
});

test("a file changed since it was read stops the whole patch", async () => {
  const bench = await withFiles(THREE);
  bench.write("b.txt", "user\n");
  const patch = envelope("*** Update File: a.txt", "@@", "-a", "+A", "*** Delete File: b.txt");
  expect(await bench.refused("apply_patch", patch)).toContain("changed since you read it");
  expect(bench.tree()).toEqual({ ...THREE, "b.txt": "user\n" });
});

test("when the second write fails, the first is put back with its mode, and made directories go", async () => {
  const bench = await withFiles(THREE);
  chmodSync(join(bench.root, "a.txt"), 0o640);
  const full = join(bench.root, "full");
  mkdirSync(full);
  const root = process.getuid?.() === 0;
  if (!root) chmodSync(full, 0o555);
  else if (Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", full]).exitCode !== 0)
    return console.error("SKIPPED: root may not mount a small tmpfs here, so no write can fail");
  try {
    const big = Array.from({ length: 2000 }, () => "+some text that takes room");
    const patch = envelope(
      "*** Update File: a.txt",
      "@@",
      "-a",
      "+A",
      "*** Add File: x/y/z",
      "+z",
      "*** Add File: full/big",
      ...big,
    );
    const refusal = await bench.refused("apply_patch", patch);
    expect(refusal).toContain(root ? "no space left" : "denies access");
    expect(refusal).toContain("Nothing was changed.");
    expect(bench.tree()).toEqual(THREE);
    expect(lstatSync(join(bench.root, "x"), { throwIfNoEntry: false })).toBe(undefined);
    expect(statSync(join(bench.root, "a.txt")).mode & 0o777).toBe(0o640);
  } finally {
    if (root) Bun.spawnSync(["umount", full]);
  }
});

test("one file may be changed by several sections, each on the result of the one before", async () => {
  const bench = await withFiles({ f: "a\nb\n" });
  const { text } = await bench.run(
    "apply_patch",
    envelope("*** Update File: f", "@@", "-a", "+x", "*** Update File: f", "@@", "-x", "+y"),
  );
  expect([text, bench.text("f")]).toEqual(["Applied the patch:\nM f", "y\nb\n"]);
});

test("a deleted file may be added again by the same patch", async () => {
  const bench = await withFiles({ f: "a\n" });
  await bench.run("apply_patch", envelope("*** Delete File: f", "*** Add File: f", "+b"));
  expect(bench.tree()).toEqual({ f: "b\n" });
});

test("a patch that asks for what is there changes nothing and says so", async () => {
  const bench = await withFiles({ f: "a\n" });
  expect((await bench.run("apply_patch", envelope("*** Update File: f", "@@", " a"))).text).toContain("already hold");
});

test("a link is followed to the file it names, and stays", async () => {
  const bench = await withFiles({ "real.txt": "a\n" });
  symlinkSync("real.txt", join(bench.root, "link"));
  await bench.run("apply_patch", envelope("*** Update File: link", "@@", "-a", "+b"));
  expect([bench.text("real.txt"), lstatSync(join(bench.root, "link")).isSymbolicLink()]).toEqual(["b\n", true]);
});

test("what may not be read can be neither patched nor deleted, and is not shown", async () => {
  const bench = await withFiles({ f: "a\n" }, { mayRead: (path) => !path.endsWith(".env") });
  bench.write(".env", "KEY=canary\n");
  for (const lines of [["*** Delete File: .env"], ["*** Update File: .env", "@@", "-KEY=x", "+y"]]) {
    const refusal = await bench.refused("apply_patch", envelope(...lines));
    expect(refusal).toStartWith("[permission error]");
    expect(refusal).not.toContain("canary");
  }
  expect(bench.text(".env")).toBe("KEY=canary\n");
});

test("every path of a patch is a subject, the target of a move included", () => {
  const patch = envelope(
    "*** Add File: a",
    "+x",
    "*** Update File: b",
    "*** Move to: c",
    "@@",
    "-x",
    "+y",
    "*** Delete File: a",
  );
  const path = (name: string) => ({ kind: "path", path: name, access: "write" });
  expect(applyPatchTool.subjects(patch)).toEqual([path("a"), path("b"), path("c")] as never);
  expect(applyPatchTool.subjects({ patch: "nonsense" })).toEqual([{ kind: "text", text: "unreadable patch" }]);
});

test("the preview and the shown diff are what git apply needs to do the same", async () => {
  if (Bun.which("git") === null) return console.error("SKIPPED: no git to apply the diff with");
  const bench = await withFiles({ ...THREE, "m.txt": "1\r\n2\n3" });
  const copy = tempDir();
  for (const [path, text] of Object.entries(bench.tree())) writeFileSync(join(copy, path), text);
  const patch = envelope(
    "*** Add File: sub/new.txt",
    "+n",
    "*** Add File: empty",
    "*** Delete File: b.txt",
    "*** Update File: c.sh",
    "*** Move to: sub/c.sh",
    "*** Update File: m.txt",
    "@@",
    " 1",
    "-2",
    "+two",
    "+zwei",
  );
  const preview = await bench.preview("apply_patch", patch);
  const { diff } = await bench.run("apply_patch", patch);
  expect(preview).toBe(diff ?? null);
  const env = { PATH: process.env.PATH ?? "", HOME: copy };
  const run = Bun.spawnSync(["git", "apply", "--whitespace=nowarn", "-"], {
    cwd: copy,
    env,
    stdin: Buffer.from(diff ?? ""),
    stderr: "pipe",
  });
  expect(run.stderr.toString()).toBe("");
  expect(openBench({ root: copy }).tree()).toEqual(bench.tree());
});
