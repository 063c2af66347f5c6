/** Where the state directory is and how files of a project are named. */
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { historyFile, memoryFile, projectHash, projectPath, resolveHome, sessionFiles } from "../src/paths.ts";
import { writeStoreNow } from "../src/store.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "shiro-paths-")));
writeFileSync(join(root, "file"), "");
const none = () => null;

test.each([
  ["SHIRO_HOME wins", { SHIRO_HOME: "/x/y", HOME: root }, "/x/y"],
  ["SHIRO_HOME may be relative", { SHIRO_HOME: "state" }, join(root, "state")],
  ["an empty SHIRO_HOME is none", { SHIRO_HOME: "", HOME: root }, join(root, ".shiro-neko")],
  ["HOME", { HOME: root }, join(root, ".shiro-neko")],
])("%s", (_, env, path) => {
  expect(resolveHome({ env, cwd: root, accountHome: none })).toEqual({ path, problem: null });
});

test("without HOME the account's directory is used", () => {
  const home = resolveHome({ env: {}, cwd: "/", accountHome: () => root });
  expect(home).toEqual({ path: join(root, ".shiro-neko"), problem: null });
});

test.each([
  ["no HOME and no account", {}],
  ["a HOME that does not exist", { HOME: join(root, "nobody") }],
  ["a HOME that is a file", { HOME: join(root, "file") }],
])("%s is a problem, and nothing can be written where the path leads", (_, env) => {
  const home = resolveHome({ env, cwd: root, accountHome: none });
  expect(home.problem).toContain("nothing is saved");
  expect(writeStoreNow(join(home.path, "sessions", "x.json"), "{}")).not.toBeNull();
});

test("a project has one name whichever way it is entered", () => {
  const real = join(root, "project");
  mkdirSync(real);
  symlinkSync(real, join(root, "link"));
  expect(projectPath(join(root, "link"))).toBe(real);
  expect(projectPath(join(root, "link", "..", "link", "."))).toBe(real);
  expect(projectPath(join(root, "gone"))).toBe(join(root, "gone"));
  expect(projectHash(real)).toBe(createHash("sha256").update(real).digest("hex").slice(0, 16));
});

test("files have their documented places", () => {
  const hash = projectHash("/p");
  expect(memoryFile("/h", "/p")).toBe(`/h/memory/${hash}.json`);
  expect(historyFile("/h", "/p")).toBe(`/h/history/${hash}.json`);
  expect(sessionFiles("/h", "id")).toMatchObject({ record: "/h/sessions/id.json", journal: "/h/sessions/id.journal" });
});
