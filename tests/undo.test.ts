/** Undo and redo of file changes, prompt by prompt. */
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "bun:test";
import { openUndo, type Undo, type UndoOptions } from "../src/undo.ts";
import { seeded } from "./support/random-text.ts";
import { type Bench, openBench, tempDir } from "./support/workspace-tools.ts";

interface Stage extends Bench {
  undo: Undo;
  dir: string;
  notices: string[];
  /** As a session that is resumed in a new process. */
  reopen(): Undo;
}

function stage(options: Partial<UndoOptions> = {}): Stage {
  const bench = openBench();
  const dir = join(tempDir(), "undo", "session");
  const notices: string[] = [];
  const open = () => openUndo({ dir, notice: (message) => notices.push(message), ...options });
  const undo = open();
  bench.workspace.onWrite = (path) => undo.before(path);
  return { ...bench, undo, dir, notices, reopen: open };
}

async function edited(on: Stage, path: string, content: string): Promise<void> {
  if (existsSync(join(on.root, path))) await on.run("read_file", { path });
  await on.run("write_file", { path, content });
}

test("a changed file comes back, a created one goes with its directories, all else stays", async () => {
  const on = stage();
  on.write("a.txt", "one\r\n\ufeff");
  on.write("data/out.jsonl", "untracked");
  on.write("dirty.txt", "user's own");
  on.undo.beginPrompt(3, "do things");
  await edited(on, "a.txt", "two\n");
  await edited(on, "new/deep/b.txt", "b");
  on.write("new/other.txt", "somebody else's");
  on.undo.recordCommand("touch by-bash");
  on.write("by-bash", "");
  expect(on.undo.undo()).toEqual({
    index: 3,
    title: "do things",
    restored: [join(on.root, "new/deep/b.txt"), join(on.root, "a.txt")],
    skipped: [],
    commands: ["touch by-bash"],
  });
  expect(on.tree()).toEqual({
    "a.txt": "one\r\n\ufeff",
    "data/out.jsonl": "untracked",
    "dirty.txt": "user's own",
    "new/other.txt": "somebody else's",
    "by-bash": "",
  });
  expect(existsSync(join(on.root, "new/deep"))).toBe(false);
});

test("redo brings back what undo took, modes and created files included", async () => {
  const on = stage();
  on.write("run.sh", "old");
  chmodSync(join(on.root, "run.sh"), 0o750);
  on.undo.beginPrompt(0, "p");
  await edited(on, "run.sh", "new");
  await edited(on, "made/x", "x");
  on.undo.undo();
  expect(on.tree()).toEqual({ "run.sh": "old" });
  expect(on.undo.redo()?.restored.length).toBe(2);
  expect(on.tree()).toEqual({ "made/x": "x", "run.sh": "new" });
  expect(statSync(join(on.root, "run.sh")).mode & 0o777).toBe(0o750);
  expect(on.undo.redo()).toBe(null);
  on.undo.undo();
  expect(on.tree()).toEqual({ "run.sh": "old" });
});

test("bytes that are no text survive undo exactly", async () => {
  const on = stage();
  const bytes = Buffer.from([0xff, 0x00, 0xe9, 0x0d, 0x0a, 0x80]);
  on.write("f.bin", bytes);
  await on.run("read_file", { path: "f.bin" });
  on.undo.beginPrompt(0, "p");
  await on.run("apply_patch", { patch: "*** Begin Patch\n*** Delete File: f.bin\n*** End Patch" });
  expect(existsSync(join(on.root, "f.bin"))).toBe(false);
  on.undo.undo();
  expect(on.bytes("f.bin")).toEqual(bytes);
});

test("a move is taken back as a whole, with the mode", async () => {
  const on = stage();
  on.write("a.sh", "a\n");
  chmodSync(join(on.root, "a.sh"), 0o755);
  await on.run("read_file", { path: "a.sh" });
  on.undo.beginPrompt(0, "p");
  await on.run("apply_patch", {
    patch: "*** Begin Patch\n*** Update File: a.sh\n*** Move to: bin/b.sh\n@@\n-a\n+b\n*** End Patch",
  });
  expect(on.tree()).toEqual({ "bin/b.sh": "b\n" });
  on.undo.undo();
  expect(on.tree()).toEqual({ "a.sh": "a\n" });
  expect(statSync(join(on.root, "a.sh")).mode & 0o777).toBe(0o755);
  expect(readdirSync(on.root)).toEqual(["a.sh"]);
});

test("prompts are taken back one at a time, newest first, and redone in order", async () => {
  const on = stage();
  for (const step of [1, 2, 3]) {
    on.undo.beginPrompt(step, `p${step}`);
    await edited(on, "f", `v${step}`);
    await edited(on, `g${step}`, "g");
  }
  expect([on.undo.undo()?.index, on.text("f")]).toEqual([3, "v2"]);
  expect([on.undo.undo()?.index, on.text("f")]).toEqual([2, "v1"]);
  expect([on.undo.redo()?.index, on.text("f")]).toEqual([2, "v2"]);
  expect([on.undo.redo()?.index, on.text("f")]).toEqual([3, "v3"]);
  expect(on.undo.redo()).toBe(null);
  for (const index of [3, 2, 1]) expect(on.undo.undo()?.index).toBe(index);
  expect([on.undo.undo(), on.tree()]).toEqual([null, {}]);
});

test("several changes of a file in one prompt go back to before the first", async () => {
  const on = stage();
  on.write("f", "0");
  on.undo.beginPrompt(0, "p");
  for (const content of ["1", "2", "3"]) await edited(on, "f", content);
  on.undo.undo();
  expect(on.text("f")).toBe("0");
  on.undo.redo();
  expect(on.text("f")).toBe("3");
});

test("a file that somebody changed since is named and skipped, unless forced", async () => {
  const on = stage();
  on.write("f", "old\n");
  on.write("g", "old\n");
  on.undo.beginPrompt(0, "p");
  await edited(on, "f", "new\n");
  await edited(on, "g", "new\n");
  appendFileSync(join(on.root, "f"), "user\n");
  const first = on.undo.undo();
  expect(first).toMatchObject({
    restored: [join(on.root, "g")],
    skipped: [{ path: join(on.root, "f"), reason: "changed since" }],
  });
  expect(on.tree()).toEqual({ f: "new\nuser\n", g: "old\n" });
  expect(on.undo.undo({ force: true })).toMatchObject({ index: 0, restored: [join(on.root, "f")], skipped: [] });
  expect(on.text("f")).toBe("old\n");
  on.undo.redo();
  expect(on.text("f")).toBe("new\nuser\n");
});

test("a created file that somebody edited is not removed; one already deleted is no trouble", async () => {
  const on = stage();
  on.undo.beginPrompt(0, "p");
  await edited(on, "kept", "x");
  await edited(on, "gone", "x");
  on.write("kept", "edited");
  unlinkSync(join(on.root, "gone"));
  expect(on.undo.undo()).toMatchObject({ restored: [], skipped: [{ path: join(on.root, "kept") }] });
  expect(on.tree()).toEqual({ kept: "edited" });
});

test("somebody's chmod since neither hinders undo nor is lost", async () => {
  const on = stage();
  on.write("f", "old");
  on.undo.beginPrompt(0, "p");
  await edited(on, "f", "new");
  chmodSync(join(on.root, "f"), 0o755);
  on.undo.undo();
  expect([on.text("f"), statSync(join(on.root, "f")).mode & 0o777]).toEqual(["old", 0o755]);
});

test("links are put back as links, and a directory in the way is left alone", () => {
  const on = stage();
  const [link, file] = [join(on.root, "link"), join(on.root, "file")];
  symlinkSync("elsewhere", link);
  writeFileSync(file, "f");
  on.undo.beginPrompt(0, "p");
  for (const path of [link, file]) {
    const written = on.undo.before(path);
    unlinkSync(path);
    written();
  }
  mkdirSync(file);
  expect(on.undo.undo({ force: true })).toMatchObject({
    restored: [link],
    skipped: [{ path: file, reason: "it is no file any more" }],
  });
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
});

test("a link laid into the path since does not lead undo out of the workspace", async () => {
  const on = stage();
  const outside = tempDir();
  on.undo.beginPrompt(0, "p");
  on.write("d/f", "old");
  await edited(on, "d/f", "new");
  rmSync(join(on.root, "d"), { recursive: true });
  symlinkSync(outside, join(on.root, "d"));
  writeFileSync(join(outside, "f"), "new");
  expect(on.undo.undo()).toMatchObject({ restored: [], skipped: [{ reason: "its directory is a link now" }] });
  expect(readFileSync(join(outside, "f"), "utf8")).toBe("new");
});

test("a resumed session can undo and redo what the one before did", async () => {
  const on = stage();
  on.write("f", "old");
  on.undo.beginPrompt(7, "p");
  await edited(on, "f", "new");
  on.undo.recordCommand("make");
  const second = on.reopen();
  expect(second.last()).toEqual({ index: 7, title: "p", files: [join(on.root, "f")], commands: ["make"] });
  expect(second.undo()?.restored).toEqual([join(on.root, "f")]);
  const third = on.reopen();
  expect([third.last(), third.redo()?.index, on.text("f")]).toEqual([null, 7, "new"]);
});

test("a torn or foreign record is left out, the others work", async () => {
  const on = stage();
  on.undo.beginPrompt(0, "p");
  await edited(on, "f", "x");
  const log = readdirSync(on.dir).find((name) => name.endsWith(".jsonl")) ?? "";
  appendFileSync(join(on.dir, log), '{"type":"before","pa');
  writeFileSync(join(on.dir, "999999.jsonl"), "\0garbage");
  expect(on.reopen().undo()?.restored).toEqual([join(on.root, "f")]);
});

test("a new prompt ends what could be redone", async () => {
  const on = stage();
  on.undo.beginPrompt(0, "p");
  await edited(on, "f", "x");
  on.undo.undo();
  on.undo.beginPrompt(1, "q");
  expect(on.undo.redo()).toBe(null);
});

test("only the prompt that is meant is taken back", async () => {
  const on = stage();
  on.undo.beginPrompt(1, "p");
  await edited(on, "f", "x");
  on.undo.beginPrompt(2, "asked only");
  expect(on.undo.undo({ prompt: { index: 2, title: "asked only" } })).toBe(null);
  expect(on.undo.undo({ prompt: { index: 1, title: "another, after the transcript was shortened" } })).toBe(null);
  expect(on.undo.undo({ prompt: { index: 1, title: "p" } })?.restored.length).toBe(1);
});

test("what a killed process left half-written beside a file is cleared away when its session goes on", async () => {
  const on = stage();
  on.undo.beginPrompt(1, "p");
  await edited(on, "f", "x");
  const child = Bun.spawnSync(["true"]);
  const [dead, alive] = [child.pid, process.pid].map((pid) => `.shiro-${pid}-${"0123456789abcdef01"}.tmp`);
  for (const name of [dead, alive, ".shiro-notes.tmp"]) on.write(name ?? "", "half");
  on.reopen();
  expect(readdirSync(on.root).toSorted()).toEqual([alive ?? "", ".shiro-notes.tmp", "f"].toSorted());
});

test("what a resumed session finishes belongs to the prompt that asked for it", async () => {
  const on = stage();
  on.undo.beginPrompt(1, "p");
  await edited(on, "f", "x");
  const resumed = on.reopen();
  on.workspace.onWrite = (path) => resumed.before(path);
  resumed.resumePrompt(1, "p");
  await edited(on, "g", "y");
  expect(resumed.undo({ prompt: { index: 1, title: "p" } })?.restored.length).toBe(2);
  expect([existsSync(join(on.root, "f")), existsSync(join(on.root, "g"))]).toEqual([false, false]);
});

test("the state before the session's first change is known of every file", async () => {
  const on = stage();
  on.write("f", "first");
  for (const step of [1, 2]) {
    on.undo.beginPrompt(step, "p");
    await edited(on, "f", `v${step}`);
    await edited(on, `g${step}`, "g");
  }
  const origins = () =>
    on.undo
      .origins()
      .map(({ path, before }) => [path.slice(on.root.length + 1), before && Buffer.from(before).toString()]);
  expect(origins()).toEqual([
    ["f", "first"],
    ["g1", null],
    ["g2", null],
  ]);
  on.undo.undo();
  expect(origins()).toEqual([
    ["f", "first"],
    ["g1", null],
  ]);
});

test("a change that failed leaves nothing to take back", () => {
  const on = stage();
  const path = on.write("f", "old");
  on.undo.beginPrompt(0, "p");
  on.undo.before(path);
  expect(on.undo.undo()).toMatchObject({ restored: [], skipped: [] });
});

test("a prompt that wrote nothing leaves nothing on disk", () => {
  const on = stage();
  on.undo.beginPrompt(0, "p");
  expect([on.undo.last(), existsSync(on.dir), on.undo.available]).toEqual([null, false, true]);
});

test("the newest prompts are kept, by count and by size, and dropping for size is said", async () => {
  const few = stage({ maxPrompts: 3 });
  for (let index = 0; index < 6; index++) {
    few.undo.beginPrompt(index, "p");
    await edited(few, "f", `v${index}`);
  }
  const taken = Array.from({ length: 4 }, () => few.undo.undo()?.index ?? null);
  expect(taken).toEqual([5, 4, 3, null]);

  const small = stage({ maxBytes: 250_000 });
  small.write("f", "0".repeat(100_000));
  for (let index = 1; index < 6; index++) {
    small.undo.beginPrompt(index, "p");
    await edited(small, "f", String(index).repeat(100_000));
  }
  const blobs = readdirSync(join(small.dir, "blobs"));
  expect(blobs.length).toBe(2);
  expect(small.notices[0]).toContain("dropped");
  expect([small.undo.undo()?.index, small.undo.undo()?.index, small.undo.undo()]).toEqual([5, 4, null]);
  expect(small.text("f")).toBe("3".repeat(100_000));
});

test("contents are stored once, and nobody else can read them", async () => {
  const on = stage();
  on.write("a", "same");
  on.write("b", "same");
  const umask = process.umask(0o022);
  on.undo.beginPrompt(0, "p");
  await edited(on, "a", "x");
  await edited(on, "b", "y");
  process.umask(umask);
  const blobs = readdirSync(join(on.dir, "blobs"));
  expect(blobs.length).toBe(1);
  const modes = [
    on.dir,
    dirname(on.dir),
    join(on.dir, "blobs"),
    join(on.dir, "000001.jsonl"),
    join(on.dir, "blobs", blobs[0] ?? ""),
  ];
  expect(modes.map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700, 0o700, 0o600, 0o600]);
});

test("where nothing can be saved, undo says so, and the work goes on", async () => {
  const blocked = join(tempDir(), "file");
  writeFileSync(blocked, "");
  const on = stage({ dir: join(blocked, "undo") });
  expect([on.undo.available, on.undo.reason]).toEqual([false, `${blocked} is no directory`]);
  on.write("f", "old");
  on.undo.beginPrompt(0, "p");
  await edited(on, "f", "new");
  expect(on.text("f")).toBe("new");
  expect(on.undo.undo()).toMatchObject({
    restored: [],
    skipped: [{ reason: "its earlier content could not be saved" }],
  });
  expect(on.text("f")).toBe("new");
});

test("random work is taken back to exactly what was there, and forward again", async () => {
  const random = seeded(1234);
  const on = stage();
  for (const name of ["a", "b/c", "b/d"]) on.write(name, `first ${name}`);
  const states = [on.tree()];
  for (let prompt = 0; prompt < 25; prompt++) {
    on.undo.beginPrompt(prompt, "p");
    for (let step = 0; step <= random(4); step++) {
      const path = ["a", "b/c", "b/d", "n", "x/y"][random(5)] ?? "a";
      const there = existsSync(join(on.root, path));
      if (there) await on.run("read_file", { path });
      const remove = there && random(3) === 0;
      if (remove) await on.run("apply_patch", { patch: `*** Begin Patch\n*** Delete File: ${path}\n*** End Patch` });
      else await edited(on, path, `${prompt}.${step}`);
    }
    states.push(on.tree());
  }
  for (let prompt = 24; prompt >= 0; prompt--) {
    expect(on.undo.undo()?.skipped).toEqual([]);
    expect(on.tree()).toEqual(states[prompt] ?? {});
  }
  for (let prompt = 0; prompt < 25; prompt++) {
    expect(on.undo.redo()?.skipped).toEqual([]);
    expect(on.tree()).toEqual(states[prompt + 1] ?? {});
  }
});
