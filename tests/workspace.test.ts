/** The path jail. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { JailError } from "../src/errors.ts";
import { isInside, openWorkspace } from "../src/workspace.ts";
import { tempDir } from "./support/workspace-tools.ts";

/** `<dir>/w` is the workspace, `<dir>/w-evil` and `<dir>/out` are not. */
function lay() {
  const dir = tempDir();
  for (const name of ["w/src", "w/..foo", "w-evil", "out/deep"]) mkdirSync(join(dir, name), { recursive: true });
  for (const name of ["w/a.txt", "w/src/b.ts", "w/..foo/c", "w-evil/s", "out/secret"])
    writeFileSync(join(dir, name), name);
  symlinkSync(join(dir, "out"), join(dir, "w/esc"));
  symlinkSync(join(dir, "out/secret"), join(dir, "w/link"));
  symlinkSync(join(dir, "out/not-yet"), join(dir, "w/dangling"));
  symlinkSync("not-yet.txt", join(dir, "w/inner"));
  symlinkSync("src", join(dir, "w/s"));
  symlinkSync("loop", join(dir, "w/loop"));
  symlinkSync("esc/deep", join(dir, "w/twice"));
  return { dir, root: join(dir, "w"), workspace: openWorkspace({ root: join(dir, "w") }) };
}

test.each([
  ["a.txt", "a.txt", "a.txt", true],
  ["./src/../a.txt", "a.txt", "a.txt", true],
  ["src//b.ts", "src/b.ts", "src/b.ts", true],
  ["s/b.ts", "s/b.ts", "src/b.ts", true],
  ["s/new/file", "s/new/file", "src/new/file", false],
  ["..foo/c", "..foo/c", "..foo/c", true],
  ["inner", "inner", "not-yet.txt", false],
  ["a.txt/below", "a.txt/below", "a.txt/below", false],
  ["~/x", "~/x", "~/x", false],
  [".", ".", ".", true],
  ["", ".", ".", true],
])("%p inside the workspace is %p and really %p", (path, written, realWritten, exists) => {
  const { root, workspace } = lay();
  const located = workspace.locate(path, "write");
  expect(located).toEqual({
    written,
    realWritten,
    exists,
    absolute: join(root, written),
    real: join(root, realWritten),
  });
});

test.each([
  "../w-evil/s",
  "..",
  "/",
  "esc",
  "esc/secret",
  "esc/deep/new/x.txt",
  "link",
  "dangling",
  "dangling/below",
  "twice",
  "s/../../w-evil/s",
  "src/../../out/secret",
])("%p leads out and is refused for every access", (path) => {
  const { workspace } = lay();
  for (const access of ["read", "write", "list"] as const)
    expect(() => workspace.locate(path, access)).toThrow(JailError);
});

test("a sibling whose name begins like the workspace is outside, however it is spelled", () => {
  const { dir, workspace } = lay();
  for (const path of [`${dir}/w-evil/s`, `${dir}/w/../w-evil/s`, `${dir}/w//../w-evil/s`])
    expect(() => workspace.locate(path, "read")).toThrow("outside the workspace");
});

test("the refusal of a link names what was asked and where it leads", () => {
  const { dir, workspace } = lay();
  expect(() => workspace.locate("esc/secret", "read")).toThrow(`"esc/secret" leads to ${dir}/out/secret`);
});

test("a loop of links is refused", () => {
  const { workspace } = lay();
  expect(() => workspace.locate("loop", "read")).toThrow("loop of symbolic links");
  expect(() => workspace.locate("loop/x", "write")).toThrow("loop of symbolic links");
});

test("a path that can't be one is refused by the jail like any other, so that whoever asks about it gets a refusal", () => {
  const { workspace } = lay();
  expect(() => workspace.locate("a\0b", "read")).toThrow(JailError);
  expect(() => workspace.locate("x".repeat(300), "write")).toThrow(JailError);
  expect(() => workspace.locate("x/".repeat(4000), "write")).toThrow(JailError);
});

test("a workspace behind a link works by both names", () => {
  const { dir, root } = lay();
  symlinkSync(root, join(dir, "lnk"));
  const workspace = openWorkspace({ root: join(dir, "lnk") });
  for (const path of ["a.txt", join(dir, "lnk/a.txt"), join(root, "a.txt")]) {
    const located = workspace.locate(path, "read");
    expect([located.written, located.realWritten, located.real]).toEqual(["a.txt", "a.txt", join(root, "a.txt")]);
  }
});

test("an added directory may be written, a readable one only read", () => {
  const { dir, root } = lay();
  const workspace = openWorkspace({ root, extraDirs: [join(dir, "out")] });
  workspace.readableDirs.add(join(dir, "w-evil"));
  expect(workspace.locate("esc/secret", "write").realWritten).toBe(join(dir, "out/secret"));
  expect(workspace.locate(join(dir, "w-evil/s"), "read").exists).toBe(true);
  expect(() => workspace.locate(join(dir, "w-evil/s"), "write")).toThrow("may only be read");
});

test("a fork shares the jail and the hooks, and has read nothing", () => {
  const { root, workspace } = lay();
  const seen: string[] = [];
  workspace.freshness.note(join(root, "a.txt"), { mtimeNs: 1n, size: 1n, hash: "h" });
  const fork = workspace.fork();
  workspace.onWrite = (path) => void seen.push(path);
  fork.onWrite?.("x");
  expect(seen).toEqual(["x"]);
  expect(fork.readableDirs).toBe(workspace.readableDirs);
  expect(fork.freshness.check(join(root, "a.txt"), { mtimeNs: 1n, size: 1n, hash: "h" })).toBe("unread");
});

test.each([
  ["/w", "/w", true],
  ["/w", "/w/a/b", true],
  ["/w", "/w-evil", false],
  ["/w", "/", false],
  ["/w", "/w/..foo", true],
  ["/", "/any", true],
])("%p contains %p: %p", (base, path, inside) => {
  expect(isInside(base, path)).toBe(inside);
});
