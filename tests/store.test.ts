/** Atomic files and locks. */
import { afterAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { tryLock, withLock } from "../src/store-lock.ts";
import { isTemporary, readStore, setAside, writeStore, writeStoreNow } from "../src/store.ts";

const root = mkdtempSync(join(tmpdir(), "shiro-store-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
const fresh = () => join(root, `${count++}`);

describe.each([
  ["awaited", writeStore],
  ["at once", async (path: string, text: string) => writeStoreNow(path, text)],
])("a file written %s", (_, write) => {
  test("is private, makes its directories, and leaves nothing beside it", async () => {
    const path = join(fresh(), "a", "b.json");
    expect(await write(path, "{}")).toBeNull();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(path, ".."))).toEqual(["b.json"]);
  });

  test("keeps a symbolic link and replaces what it points to", async () => {
    const directory = fresh();
    mkdirSync(join(directory, "dotfiles"), { recursive: true });
    writeFileSync(join(directory, "dotfiles", "real.json"), "old");
    symlinkSync("dotfiles/real.json", join(directory, "link.json"));
    expect(await write(join(directory, "link.json"), "new")).toBeNull();
    expect(readlinkSync(join(directory, "link.json"))).toBe("dotfiles/real.json");
    expect(readFileSync(join(directory, "dotfiles", "real.json"), "utf8")).toBe("new");
  });

  test("that can't be written is a problem that names it, and the old one stays", async () => {
    const directory = fresh();
    mkdirSync(join(directory, "x.json", "inside"), { recursive: true });
    const problem = await write(join(directory, "x.json"), "{}");
    expect(problem?.reason).toStartWith(join(directory, "x.json"));
    expect(readdirSync(directory)).toEqual(["x.json"]);
    writeFileSync(join(directory, "file"), "");
    expect(await write(join(directory, "file", "y.json"), "{}")).toMatchObject({
      code: expect.stringMatching(/ENOTDIR|EEXIST/),
    });
  });
});

test("a write that is no longer wanted changes nothing and leaves nothing", async () => {
  const path = join(fresh(), "a.json");
  await writeStore(path, "first");
  expect(await writeStore(path, "second", () => false)).toBeNull();
  expect(readFileSync(path, "utf8")).toBe("first");
  expect(readdirSync(join(path, ".."))).toEqual(["a.json"]);
});

test("readers see the old text or the new, never a part", async () => {
  const path = join(fresh(), "a.json");
  const texts = ["a", "b"].map((letter) => JSON.stringify(letter.repeat(300_000)));
  await writeStore(path, texts[0] ?? "");
  let writing = true;
  const writer = (async () => {
    for (let round = 0; round < 20; round++) await writeStore(path, texts[round % 2] ?? "");
    writing = false;
  })();
  let reads = 0;
  while (writing) {
    expect(texts).toContain(readFileSync(path, "utf8"));
    reads++;
    await setImmediate();
  }
  await writer;
  expect(reads).toBeGreaterThan(5);
});

test.each([
  ["missing", null, { state: "missing" }],
  ["empty", "", { state: "corrupt" }],
  ["blank", " \n", { state: "corrupt" }],
  ["torn", '{"a":[1,', { state: "corrupt" }],
  ["whole", '{"a":1}', { state: "ok", value: { a: 1 } }],
  ["with half an emoji", '{"a\\udc4d":["x\\ud83d"]}', { state: "ok", value: { "a\ufffd": ["x\ufffd"] } }],
  ["with an emoji as escapes", '["\\ud83d\\udc4d"]', { state: "ok", value: ["👍"] }],
])("reading a file that is %s", (_, text, expected) => {
  const path = join(root, `read-${count++}.json`);
  if (text !== null) writeFileSync(path, text);
  expect(readStore(path)).toMatchObject(expected);
});

test("a directory in place of a file can't be read, which is not the same as missing", () => {
  expect(readStore(root)).toMatchObject({ state: "unreadable" });
});

test("a file set aside keeps its bytes under a telling name", () => {
  const path = join(root, "bad.json");
  writeFileSync(path, "garbage");
  const aside = setAside(path, new Date(Date.UTC(2026, 1, 3)));
  expect(aside).toBe(`${path}.unreadable-2026-02-03T00-00-00-000Z`);
  expect(existsSync(path)).toBe(false);
  expect(readFileSync(aside ?? "", "utf8")).toBe("garbage");
  expect(setAside(path, new Date())).toBeNull();
});

test("unfinished files are told from others by name", () => {
  expect([".a.json.0123456789ab.tmp", "a.json", "notes.tmp"].map(isTemporary)).toEqual([true, false, false]);
});

describe("locks", () => {
  const take = (path: string) => {
    const attempt = tryLock(path);
    if (attempt.state !== "taken") throw new Error(attempt.state);
    return attempt.lock;
  };

  test("one holder at a time; released, the next one has it", () => {
    const path = join(fresh(), "x.lock");
    const lock = take(path);
    expect(tryLock(path)).toEqual({ state: "held", pid: process.pid });
    lock.release();
    lock.release();
    take(path).release();
    expect(existsSync(path)).toBe(false);
  });

  test("releasing does not remove a lock that another took over meanwhile", () => {
    const path = join(fresh(), "x.lock");
    const lock = take(path);
    const other = { ...JSON.parse(readFileSync(path, "utf8")), token: "other" };
    writeFileSync(path, JSON.stringify(other));
    lock.release();
    expect(existsSync(path)).toBe(true);
  });

  test.each([
    ["another machine, touched just now", { host: "elsewhere" }, 0, "held"],
    ["another machine, silent for hours", { host: "elsewhere" }, 2 * 3600, "taken"],
    ["a process that is no more", { pid: 4_194_303 }, 0, "taken"],
    ["this machine, long silent, alive", {}, 48 * 3600, "held"],
  ])("a lock of %s", (_, change, ageSeconds, expected) => {
    const path = join(fresh(), "x.lock");
    take(path);
    const holder = JSON.parse(readFileSync(path, "utf8"));
    expect(holder.host).toBe(hostname());
    writeFileSync(path, JSON.stringify({ ...holder, ...change }));
    const then = Date.now() / 1000 - ageSeconds;
    utimesSync(path, then, then);
    expect(tryLock(path).state).toBe(expected as "held" | "taken"); // The table's column holds these two words.
  });

  test("an empty lock is respected while it may still be written, then taken over", () => {
    const path = join(fresh(), "x.lock");
    mkdirSync(join(path, ".."));
    writeFileSync(path, "");
    expect(tryLock(path)).toEqual({ state: "held", pid: null });
    utimesSync(path, 1, 1);
    expect(tryLock(path).state).toBe("taken");
  });

  test("work under a lock never overlaps, and its result and its error come through", async () => {
    const path = join(fresh(), "x.lock");
    let inside = 0;
    const works = Array.from({ length: 20 }, (_, index) =>
      withLock(path, async () => {
        expect(++inside).toBe(1);
        await setImmediate();
        inside--;
        return index;
      }),
    );
    expect(await Promise.all(works)).toEqual(Array.from({ length: 20 }, (_, value) => ({ value })));
    await expect(withLock(path, () => Promise.reject(new Error("inside")))).rejects.toThrow("inside");
    expect(await withLock(path, () => 1)).toEqual({ value: 1 });
  });

  test("a lock that stays held is a problem after the wait", async () => {
    const path = join(fresh(), "x.lock");
    take(path);
    expect(await withLock(path, () => 1, 30)).toMatchObject({ problem: { code: "EBUSY" } });
  });

  test("processes that fight for a lock and die with it never hold it together", async () => {
    if (process.platform !== "linux") return console.warn("SKIPPED: telling the dead from the living needs /proc");
    const directory = fresh();
    mkdirSync(directory);
    const racer = join(import.meta.dir, "support/lock-racer.ts");
    const racers = Array.from({ length: 6 }, () => {
      return Bun.spawn([process.execPath, racer, directory, "600"], { stdout: "pipe", stderr: "inherit" });
    });
    const complaints = await Promise.all(racers.map((child) => new Response(child.stdout).text()));
    expect(complaints.join("")).toBe("");
  });

  test("a directory that can't be written is a problem, no lock and no exception", () => {
    writeFileSync(join(root, "plain"), "");
    expect(tryLock(join(root, "plain", "x.lock"))).toMatchObject({ state: "failed" });
  });
});
