/** Long results: what is kept, where the whole goes, and when it is removed. */
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { boundResult, RESULT_CHARS, spillPath, sweepSpills } from "../src/spill.ts";

const root = mkdtempSync(join(tmpdir(), "shiro-spill-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const place = { dir: join(root, "new", "session"), callId: "call/../1" };

test("a short result stays as it is, without NUL and lone surrogates, and writes nothing", () => {
  expect(boundResult("a\0b\ud800c", place)).toBe("a␀b\ufffdc");
  expect(existsSync(place.dir)).toBe(false);
});

test("a long result keeps both ends within the limit, and the whole is in a private file", () => {
  const text = `first\n${"x".repeat(50_000)}\nlast`;
  const bounded = boundResult(text, place);
  expect(bounded.length).toBeLessThanOrEqual(RESULT_CHARS);
  expect(bounded).toMatch(/^first\n[^]*\n\[… \d+ characters left out; the whole is in \S+\.txt …\]\n[^]*\nlast$/);
  const path = /the whole is in (\S+)/.exec(bounded)?.[1] ?? "";
  expect(readFileSync(path, "utf8")).toBe(text);
  expect([statSync(path).mode & 0o777, statSync(place.dir).mode & 0o777]).toEqual([0o600, 0o700]);
  expect(boundResult(bounded, place)).toBe(bounded);
});

test("a directory that can't be written costs only the file", () => {
  writeFileSync(join(root, "file"), "");
  expect(boundResult("x".repeat(40_000), { dir: join(root, "file"), callId: "a" })).toMatch(
    /^x+\n\[… \d+ characters left out …\]\nx+$/,
  );
});

test("names differ from call to call and stay in their directory", () => {
  expect(spillPath(place)).not.toBe(spillPath(place));
  expect(join(spillPath(place), "..")).toBe(place.dir);
});

test("sessions untouched for a week are swept, others are not", () => {
  const now = Date.now();
  for (const [name, days] of [
    ["old", 8],
    ["recent", 6],
  ] as const) {
    mkdirSync(join(root, "sweep", name), { recursive: true });
    utimesSync(join(root, "sweep", name), now / 1000 - days * 86_400, now / 1000 - days * 86_400);
  }
  sweepSpills(join(root, "sweep"), now);
  sweepSpills(join(root, "missing"), now);
  expect([existsSync(join(root, "sweep/old")), existsSync(join(root, "sweep/recent"))]).toEqual([false, true]);
});
