/** The append-only file under a session. */
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Journal, readJournal } from "../src/journal.ts";

const root = mkdtempSync(join(tmpdir(), "shiro-journal-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
const fresh = () => join(root, `${count++}`, "x.journal");
const lines = (path: string) => readJournal(path).entries;

test("a line is in the file when the call returns", () => {
  const path = fresh();
  const journal = new Journal(path);
  journal.append("1");
  expect(readFileSync(path, "utf8")).toBe("1\n");
  expect([journal.bytes, journal.problem]).toEqual([2, null]);
  journal.close();
});

test("nothing touches the disk while it is held, and all comes at the release, in order", () => {
  const path = fresh();
  const journal = new Journal(path, { held: true });
  journal.append("1");
  journal.append("2");
  expect(existsSync(dirname(path))).toBe(false);
  journal.release();
  expect(lines(path)).toEqual([1, 2]);
  journal.close();
});

test("a missing file is an empty journal; torn ends and lost blocks are told apart", () => {
  const path = fresh();
  expect(readJournal(path)).toEqual({ entries: [], goodBytes: 0, damaged: 0 });
  mkdirSync(dirname(path));
  writeFileSync(path, '{"a":1}\n\0\0\0\n{"b":"漢"}\n{"c":');
  expect(readJournal(path)).toEqual({ entries: [{ a: 1 }, { b: "漢" }], goodBytes: 8 + 4 + 12, damaged: 1 });
});

test("opening cuts off what is not known to be good", () => {
  const path = fresh();
  mkdirSync(dirname(path));
  writeFileSync(path, "1\n2\n3");
  const journal = new Journal(path, { goodBytes: readJournal(path).goodBytes });
  journal.append("4");
  expect(readFileSync(path, "utf8")).toBe("1\n2\n4\n");
  journal.close();
});

test("lines that could not be written wait and come later, before newer ones", () => {
  const path = fresh();
  writeFileSync(dirname(path), "in the way");
  const journal = new Journal(path);
  journal.append("1");
  journal.append("2");
  expect(journal.problem).toMatchObject({ code: expect.stringMatching(/EEXIST|ENOTDIR/) });
  expect(journal.retry()).toBe(false);
  rmSync(dirname(path));
  expect(journal.retry()).toBe(true);
  journal.append("3");
  expect(lines(path)).toEqual([1, 2, 3]);
  expect(journal.problem).toBeNull();
  journal.close();
});

test("dropping to a mark keeps what came after it", () => {
  const path = fresh();
  const journal = new Journal(path);
  journal.append("1");
  journal.mark();
  journal.append("2");
  journal.dropToMark();
  journal.append("3");
  expect(lines(path)).toEqual([2, 3]);
  expect(journal.bytes).toBe(statSync(path).size);
  journal.mark();
  journal.dropToMark();
  expect(statSync(path).size).toBe(0);
  journal.append("4");
  expect(lines(path)).toEqual([4]);
  journal.close();
  expect(existsSync(path)).toBe(true);
});

test("an empty journal leaves no file", () => {
  const path = fresh();
  const journal = new Journal(path);
  journal.append("1");
  journal.mark();
  journal.dropToMark();
  journal.close();
  expect(existsSync(path)).toBe(false);
});
