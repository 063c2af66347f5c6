import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listTrust, recordRefusal, recordTrust, removeTrust, trustState } from "../src/trust.ts";
import { tempDirectory } from "./support/approval-bench.ts";

const now = new Date("2026-03-01T10:00:00Z");

test("consent is for one path and one content", async () => {
  const home = tempDirectory();
  expect(trustState(home, "/w/a.md", "x")).toBe("unknown");
  expect(await recordTrust(home, { realPath: "/w/a.md", content: "x" }, now)).toBeNull();
  expect(trustState(home, "/w/a.md", "x")).toBe("trusted");
  expect(trustState(home, "/w/a.md", "x ")).toBe("changed");
  expect(trustState(home, "/w/b.md", "x")).toBe("unknown");
});

test("consent can be taken back, and what there is can be listed", async () => {
  const home = tempDirectory();
  await recordTrust(home, { realPath: "/w/b", content: "1" }, now);
  await recordTrust(home, { realPath: "/w/a", content: "2" }, now);
  expect(listTrust(home).map((one) => one.realPath)).toEqual(["/w/a", "/w/b"]);
  await removeTrust(home, "/w/a");
  expect(listTrust(home).map((one) => one.realPath)).toEqual(["/w/b"]);
  expect(trustState(home, "/w/a", "2")).toBe("unknown");
});

test("the file is the user's alone and keeps fields a newer version wrote", async () => {
  const home = tempDirectory();
  writeFileSync(
    join(home, "trust.json"),
    JSON.stringify({ later: 1, entries: { "/w/z": { sha256: "0", at: "x", more: 2 } } }),
  );
  await recordTrust(home, { realPath: "/w/a", content: "2" }, now);
  const written = JSON.parse(readFileSync(join(home, "trust.json"), "utf8"));
  expect(written).toMatchObject({ later: 1, entries: { "/w/z": { more: 2 } } });
  expect(statSync(join(home, "trust.json")).mode & 0o777).toBe(0o600);
  expect(existsSync(join(home, "trust.json.lock"))).toBe(false);
});

test("a damaged file means no consent", () => {
  const home = tempDirectory();
  writeFileSync(join(home, "trust.json"), "{");
  expect(trustState(home, "/w/a", "x")).toBe("unknown");
  writeFileSync(join(home, "trust.json"), '{"entries":{"/w/a":true}}');
  expect(trustState(home, "/w/a", "x")).toBe("unknown");
});

test("many at once lose nothing", async () => {
  const home = tempDirectory();
  await Promise.all(
    Array.from({ length: 12 }, (_, index) => recordTrust(home, { realPath: `/w/${index}`, content: "x" }, now)),
  );
  expect(listTrust(home)).toHaveLength(12);
});

test("a refusal is for one path and one content, is no consent, and gives way to one", async () => {
  const home = tempDirectory();
  const item = { realPath: "/w/a", content: "1" };
  expect(await recordRefusal(home, item, now)).toBeNull();
  expect(trustState(home, "/w/a", "1")).toBe("refused");
  expect(trustState(home, "/w/a", "2")).toBe("unknown");
  expect(listTrust(home)).toEqual([]);
  await recordTrust(home, item, now);
  expect(trustState(home, "/w/a", "1")).toBe("trusted");
});
