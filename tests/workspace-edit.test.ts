/** Opening and changing workspace files when somebody moves things meanwhile. */
import {
  closeSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { JailError, ToolError } from "../src/errors.ts";
import { openFreshness, stampOf } from "../src/freshness.ts";
import { createFile, replaceFile } from "../src/text-file-write.ts";
import { openWorkspace } from "../src/workspace.ts";
import { commitChanges, readCurrent } from "../src/workspace-edit.ts";
import { inParent, openLocated, readOpened } from "../src/workspace-open.ts";
import { tempDir } from "./support/workspace-tools.ts";

/** A workspace with `d/f`, and a directory outside with an `f` of its own. */
function lay() {
  const [root, outside] = [tempDir(), tempDir()];
  mkdirSync(join(root, "d"));
  writeFileSync(join(root, "d/f"), "inside");
  writeFileSync(join(outside, "f"), "outside");
  return { root, outside, workspace: openWorkspace({ root }) };
}

test("a directory swapped for a link after the check is not read through", () => {
  const { root, outside, workspace } = lay();
  const located = workspace.locate("d/f", "read");
  renameSync(join(root, "d"), join(root, "moved"));
  symlinkSync(outside, join(root, "d"));
  expect(() => openLocated(located)).toThrow(JailError);
});

test("a file swapped for a link or a pipe after the check is not opened", () => {
  const { root, outside, workspace } = lay();
  const located = workspace.locate("d/f", "read");
  unlinkSync(join(root, "d/f"));
  symlinkSync(join(outside, "f"), join(root, "d/f"));
  expect(() => openLocated(located)).toThrow(ToolError);
  unlinkSync(join(root, "d/f"));
  if (Bun.spawnSync(["mkfifo", join(root, "d/f")]).exitCode !== 0) return console.error("SKIPPED: no mkfifo");
  expect(() => openLocated(located)).toThrow("named pipe");
});

test("nor one that is swapped in the middle of it", () => {
  if (process.platform !== "linux") return console.error("SKIPPED: only Linux can hold a directory by name");
  const { root, outside, workspace } = lay();
  for (const name of ["f", "new"]) {
    const located = workspace.locate(`d/${name}`, "write");
    inParent(located, (path) => {
      renameSync(join(root, "d"), join(root, "moved"));
      symlinkSync(outside, join(root, "d"));
      if (name === "f") replaceFile(path, Buffer.from("mine"));
      else createFile(path, Buffer.from("mine"));
    });
    unlinkSync(join(root, "d"));
    renameSync(join(root, "moved"), join(root, "d"));
    expect(readFileSync(join(root, "d", name), "utf8")).toBe("mine");
  }
  expect([readFileSync(join(outside, "f"), "utf8"), readdirSync(outside)]).toEqual(["outside", ["f"]]);
});

test("a directory swapped for a link after the check is not written through", () => {
  const { root, outside, workspace } = lay();
  const [old, fresh] = [workspace.locate("d/f", "write"), workspace.locate("d/new", "write")];
  workspace.freshness.note(old.real, {
    mtimeNs: 0n,
    size: 0n,
    hash: stampOf({ mtimeNs: 0n, size: 0n }, Buffer.from("inside")).hash,
  });
  const before = readCurrent(workspace, old);
  renameSync(join(root, "d"), join(root, "moved"));
  symlinkSync(outside, join(root, "d"));
  const after = { bytes: Buffer.from("x") };
  expect(() => commitChanges(workspace, [{ located: old, before, after }])).toThrow(JailError);
  expect(() => commitChanges(workspace, [{ located: fresh, before: null, after }])).toThrow(JailError);
  expect([readdirSync(outside), readdirSync(join(root, "moved"))]).toEqual([["f"], ["f"]]);
});

test("a failing change puts back what came before it, and reports what it can't", () => {
  const { root, workspace } = lay();
  const [one, two] = ["made/deep/one", "d/f"].map((path) => workspace.locate(path, "write"));
  if (!one || !two) throw new Error("unreachable");
  const after = { bytes: Buffer.from("x") };
  // The second must not exist yet, as far as the change knows; it does.
  const changes = [
    { located: one, before: null, after },
    { located: two, before: null, after },
  ];
  expect(() => commitChanges(workspace, changes)).toThrow(`"d/f": exists already. Nothing was changed.`);
  expect(existsSync(join(root, "made"))).toBe(false);
  workspace.onWrite = (path) => {
    if (path === two.real) unlinkSync(one.real);
  };
  expect(() => commitChanges(workspace, changes)).toThrow(
    "could not be put back and hold the new content: made/deep/one",
  );
});

test("reading stops at the limit, whatever size the file claims", () => {
  const { workspace } = lay();
  const file = openLocated(workspace.locate("d/f", "read"));
  expect(readOpened(file, 6)?.length).toBe(6);
  expect(readOpened(file, 5)).toBe(null);
  closeSync(file.fd);
});

test.each([
  ["nothing noted", null, { mtimeNs: 1n, size: 1n, hash: "a" }, "unread"],
  [
    "the same content at another time",
    { mtimeNs: 1n, size: 1n, hash: "a" },
    { mtimeNs: 2n, size: 1n, hash: "a" },
    "fresh",
  ],
  [
    "other content at the same time",
    { mtimeNs: 1n, size: 1n, hash: "a" },
    { mtimeNs: 1n, size: 1n, hash: "b" },
    "changed",
  ],
  [
    "no hash, the same time and size",
    { mtimeNs: 1n, size: 1n, hash: null },
    { mtimeNs: 1n, size: 1n, hash: "b" },
    "fresh",
  ],
  ["no hash, another time", { mtimeNs: 1n, size: 1n, hash: null }, { mtimeNs: 2n, size: 1n, hash: "b" }, "changed"],
  ["no hash, another size", { mtimeNs: 1n, size: 1n, hash: null }, { mtimeNs: 1n, size: 2n, hash: null }, "changed"],
] as const)("freshness with %s: %p then %p is %p", (_, noted, now, verdict) => {
  const freshness = openFreshness();
  if (noted) freshness.note("f", noted);
  expect(freshness.check("f", now)).toBe(verdict);
  freshness.forget("f");
  expect(freshness.check("f", now)).toBe("unread");
});
