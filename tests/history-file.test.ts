/** Prompt history of a directory. Several processes at once are tested with the memory's. */
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PromptHistory } from "../src/history-file.ts";
import { historyFile } from "../src/paths.ts";

const root = mkdtempSync(join(tmpdir(), "shiro-history-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
const newHome = () => join(root, `home-${count++}`);
const open = (home: string | null, project = "/p") => new PromptHistory({ home, project, now: () => new Date(0) });

function written(home: string, content: string): string {
  const path = historyFile(home, "/p");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

test("a prompt of several lines is one entry after a restart, in a private file of its directory", async () => {
  const home = newHome();
  await open(home).add("one\ntwo\r\nthree");
  expect(open(home).entries).toEqual(["one\ntwo\nthree"]);
  expect(open(home, "/other").entries).toEqual([]);
  expect(statSync(historyFile(home, "/p")).mode & 0o777).toBe(0o600);
});

test("repeats of the newest, blanks and lines that begin with a space are not kept", async () => {
  const home = newHome();
  const history = open(home);
  for (const text of ["a", "a", "", " \n", " secret", "b", "a"]) await history.add(text);
  expect(history.entries).toEqual(["a", "b", "a"]);
  expect(open(home).entries).toEqual(["a", "b", "a"]);
});

test("the newest two hundred stay", async () => {
  const home = newHome();
  written(home, JSON.stringify(Array.from({ length: 50_000 }, (_, index) => `prompt ${index}`)));
  const history = open(home);
  expect(history.entries).toHaveLength(200);
  await history.add("last");
  expect(open(home).entries.slice(-2)).toEqual(["prompt 49999", "last"]);
  expect(statSync(historyFile(home, "/p")).size).toBeLessThan(10_000);
});

test("a pasted file is not kept", async () => {
  const history = open(newHome());
  await history.add("x".repeat(1_000_000));
  expect(history.entries).toEqual([]);
});

test("prompts added together are all saved, in order", async () => {
  const home = newHome();
  const history = open(home);
  for (let index = 0; index < 30; index++) void history.add(`p${index}`);
  await history.settled();
  expect(open(home).entries).toEqual(Array.from({ length: 30 }, (_, index) => `p${index}`));
});

test("two sessions keep each other's prompts", async () => {
  const home = newHome();
  const [left, right] = [open(home), open(home)];
  await left.add("from the left");
  await right.add("from the right");
  await left.add("left again");
  expect(open(home).entries).toEqual(["from the left", "from the right", "left again"]);
  expect(left.entries).toEqual(open(home).entries);
});

test("what must not be stored is taken out first", async () => {
  const home = newHome();
  const redact = (text: string) => text.replaceAll("sk-123", "[redacted key]");
  await new PromptHistory({ home, project: "/p", now: () => new Date(0), redact }).add("use sk-123 now");
  expect(readFileSync(historyFile(home, "/p"), "utf8")).not.toContain("sk-123");
});

test("NUL, carriage returns and half an emoji in the file don't reach the editor", () => {
  const home = newHome();
  written(home, '{"version":1,"entries":["a\\u0000b","c\\r\\nd","e\\ud83d"]}');
  expect(open(home).entries).toEqual(["ab", "c\nd", "e\ufffd"]);
});

test.each(["", '["cut', '{"entries":5}'])("a file that holds %p is set aside and a new one begins", async (content) => {
  const home = newHome();
  const path = written(home, content);
  const history = open(home);
  expect(history.entries).toEqual([]);
  await history.add("new");
  const names = readdirSync(dirname(path)).toSorted();
  expect(names).toHaveLength(2);
  expect(readFileSync(join(dirname(path), names[1] ?? ""), "utf8")).toBe(content);
  expect(history.movedTo).toBe(join(dirname(path), names[1] ?? ""));
});

test("without a place to save, entries are kept for the session; when there is one again, all are saved", async () => {
  await expect(open(null).add("x")).resolves.toBeUndefined();
  const home = newHome();
  writeFileSync(home, "in the way");
  const history = open(home);
  await history.add("first");
  expect(history.problem?.reason).toContain(home);
  expect(history.entries).toEqual(["first"]);
  rmSync(home);
  await history.add("second");
  expect(history.problem).toBeNull();
  expect(open(home).entries).toEqual(["first", "second"]);
});
