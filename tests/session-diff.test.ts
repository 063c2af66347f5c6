/** The diff of what a session's file tools changed. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { parseArgs } from "../src/args.ts";
import type { CommandUi } from "../src/command.ts";
import { UserError } from "../src/errors.ts";
import { Interactive } from "../src/interactive-host.ts";
import { sessionDiff } from "../src/session-diff.ts";
import { setUp } from "../src/setup.ts";
import { slashCommands } from "../src/slash-commands.ts";
import { openUndo } from "../src/undo.ts";
import { openBench, tempDir } from "./support/workspace-tools.ts";

function stage() {
  const bench = openBench();
  const dir = join(tempDir(), "undo");
  const undo = openUndo({ dir });
  bench.workspace.onWrite = (path) => undo.before(path);
  undo.beginPrompt(0, "first");
  const edit = async (path: string, content: string): Promise<void> => {
    await bench.run("read_file", { path }).catch(() => {}); // a new file can't be read first
    await bench.run("write_file", { path, content });
  };
  return { ...bench, dir, undo, edit, diff: () => sessionDiff(undo, bench.root) };
}

test("nothing changed is an empty diff", async () => {
  const on = stage();
  on.write("a.txt", "one\n");
  expect(await on.diff()).toBe("");
});

test("edited, created and deleted files are compared with what was there before the first prompt", async () => {
  const on = stage();
  on.write("edited.txt", "one\ntwo\nthree\n");
  on.write("gone.txt", "old\n");
  await on.edit("edited.txt", "one\n2\nthree\n");
  on.undo.beginPrompt(2, "second");
  await on.edit("edited.txt", "one\n2\nthree\nfour\n");
  await on.edit("made.txt", "new\n");
  await on.run("read_file", { path: "gone.txt" });
  await on.run("apply_patch", { patch: "*** Begin Patch\n*** Delete File: gone.txt\n*** End Patch" });
  const diff = await on.diff();
  expect(diff.match(/^(?:---|\+\+\+) .*$/gm)).toEqual([
    "--- a/edited.txt",
    "+++ b/edited.txt",
    "--- a/gone.txt",
    "+++ /dev/null",
    "--- /dev/null",
    "+++ b/made.txt",
  ]);
  expect(diff).toContain("@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n");
});

test("a prompt that was taken back is not in the diff, nor is a file changed back by hand", async () => {
  const on = stage();
  on.write("a.txt", "one\n");
  on.write("b.txt", "one\n");
  await on.edit("a.txt", "two\n");
  await on.edit("b.txt", "two\n");
  writeFileSync(join(on.root, "b.txt"), "one\n");
  expect(await on.diff()).toContain("+++ b/a.txt");
  expect(await on.diff()).not.toContain("b.txt");
  on.undo.undo();
  expect(await on.diff()).toBe("");
});

test("what can't be compared is named with the reason", async () => {
  const on = stage();
  on.write("dir.txt", "1\n");
  on.write("large.txt", "1\n");
  on.write("link.txt", "1\n");
  for (const path of ["dir.txt", "large.txt", "link.txt"]) await on.edit(path, "2\n");
  rmSync(join(on.root, "dir.txt"));
  mkdirSync(join(on.root, "dir.txt"));
  rmSync(join(on.root, "link.txt"));
  symlinkSync("/etc/passwd", join(on.root, "link.txt"));
  on.write("large.txt", "x".repeat(3 * 1024 * 1024));
  expect(await on.diff()).toBe(
    "dir.txt: no regular file any more\nlarge.txt: too large to compare\nlink.txt: no regular file any more\n",
  );
});

test("a line end in a file's name can't pass for a line of the diff", async () => {
  const on = stage();
  await on.edit("a\n+forged", "x\n");
  expect(await on.diff()).not.toMatch(/^\+forged/m);
});

test("earlier states that are gone from the disk are an error a person can understand", async () => {
  const on = stage();
  on.write("a.txt", "one\n");
  await on.edit("a.txt", "two\n");
  rmSync(join(on.dir, "blobs"), { recursive: true });
  await expect(on.diff()).rejects.toThrow(UserError);
});

async function diffCommand(flags: string[], change: (undoable: (path: string) => () => void, cwd: string) => void) {
  const cwd = tempDir();
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: cwd,
    SHIRO_HOME: join(tempDir(), "home"),
    SHIRO_PROVIDER: "openai",
    SHIRO_BASE_URL: "http://127.0.0.1:9/v1",
    SHIRO_MODEL: "some-model",
    SHIRO_API_KEY: "some-key",
  };
  const { options } = parseArgs(flags);
  const setup = await setUp({ options, env, cwd, interactive: true, onNotice: () => {} });
  const { undo } = setup.session.parts;
  undo?.beginPrompt(0, "prompt");
  change((path) => undo?.before(path) ?? (() => {}), cwd);
  const shown: string[] = [];
  const take = (text: string): void => void shown.push(text);
  const traits = { colour: false, ascii: false };
  const ui = { print: take, printStyled: take, traits } as unknown as CommandUi; // all that /diff asks of it
  await new Interactive(setup, slashCommands).commands.run({ name: "diff", args: "" }, ui);
  await setup.close();
  return shown.join("");
}

test("/diff shows the changes with nothing in them that moves the cursor, and no more than a thousand lines", async () => {
  const shown = await diffCommand([], (undoable, cwd) => {
    const path = join(cwd, "made.txt");
    const changed = undoable(path);
    writeFileSync(path, `\x1b[2J\n${"line\n".repeat(3000)}`);
    changed();
  });
  expect(shown).toContain("+++ b/made.txt\n");
  expect(shown).toContain("+␛[2J\n+line\n");
  expect(shown.split("\n").length).toBe(1002);
  expect(shown).toMatch(/\n… \d+ more lines\n$/);
});

test("/diff says when nothing changed, and when a session keeps no states", async () => {
  expect(await diffCommand([], () => {})).toBe("The file tools changed nothing in this session.");
  expect(await diffCommand(["--ephemeral"], () => {})).toContain("keeps no earlier states");
});
