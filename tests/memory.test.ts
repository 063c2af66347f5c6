/** Project memory: what is kept, found, forgotten, merged, and that nobody's note is lost. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { conflictsWith } from "../src/memory-match.ts";
import { applyMerge, mergeRequest } from "../src/memory-merge.ts";
import { openMemory, type Memory } from "../src/memory.ts";
import { memoryFile } from "../src/paths.ts";

const root = mkdtempSync(join(tmpdir(), "shiro-memory-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
const newHome = () => join(root, `home-${count++}`);
let clock = Date.UTC(2026, 0, 1);
const now = () => new Date((clock += 1_000));
const open = (home = newHome()) => openMemory({ home, project: "/p", now });
const texts = (memory: Memory) => memory.list().map((note) => note.text);

async function filled(...notes: string[]): Promise<Memory> {
  const memory = open();
  for (const text of notes) await memory.add({ kind: "fact", text });
  return memory;
}

describe("adding", () => {
  test("a note is one line, private on disk, and there in the next session", async () => {
    const home = newHome();
    const memory = open(home);
    expect(await memory.add({ kind: "gotcha", text: "  the migration\n must run first " })).toMatchObject({
      state: "added",
    });
    expect(statSync(memory.path).mode & 0o777).toBe(0o600);
    expect(open(home).list()).toMatchObject([{ kind: "gotcha", text: "the migration must run first", hits: 0 }]);
    expect(memory.path).toBe(memoryFile(home, "/p"));
  });

  test.each(["Tests run with bun test!", "tests  run with  BUN test", "tests, run, with: bun-test"])(
    "%p repeats a note that is there",
    async (text) => {
      const memory = await filled("tests run with bun test");
      expect(await memory.add({ kind: "command", text })).toMatchObject({ state: "duplicate" });
      expect(texts(memory)).toHaveLength(1);
    },
  );

  test.each([
    ["", "empty"],
    ["x".repeat(401), "401 characters"],
  ])("a note that does not fit is refused with the reason", async (text, reason) => {
    const memory = open();
    expect(await memory.add({ kind: "fact", text })).toMatchObject({
      state: "refused",
      reason: expect.stringContaining(reason),
    });
    expect(memory.list()).toEqual([]);
  });

  test("a full store says so and names the least used", async () => {
    const home = newHome();
    const entries = Array.from({ length: 300 }, (_, index) => {
      const stamp = new Date(clock + index).toISOString();
      return {
        id: `${index}`,
        kind: "fact",
        text: `note number ${index}`,
        createdAt: stamp,
        usedAt: stamp,
        hits: index === 0 ? 5 : 0,
      };
    });
    mkdirSync(dirname(memoryFile(home, "/p")), { recursive: true });
    writeFileSync(memoryFile(home, "/p"), JSON.stringify({ entries }));
    const memory = open(home);
    const outcome = await memory.add({ kind: "fact", text: "one more" });
    expect(outcome).toMatchObject({ state: "full", leastUsed: [{ id: "1" }, { id: "2" }, { id: "3" }] });
    expect(memory.list()).toHaveLength(300);
  });

  test("a note that contradicts an older one of its kind takes precedence, and both are shown", async () => {
    const memory = await filled("The API is versioned under /v2.", "Logs go to stderr.");
    const outcome = await memory.add({ kind: "fact", text: "The API is versioned under /v3 since March" });
    const old = memory.list()[0];
    expect(outcome).toMatchObject({
      state: "added",
      superseded: { text: "The API is versioned under /v2." },
      note: { supersedes: old?.id ?? "" },
    });
    expect(
      memory
        .top()
        .map((note) => note.text)
        .at(-1),
    ).toBe("The API is versioned under /v2.");
    const other = await memory.add({ kind: "decision", text: "The API is versioned under /v4" });
    expect(other).toMatchObject({ superseded: null });
  });

  test.each([
    ["tests run with bun test", "tests run with npm test", true],
    ["The database is Postgres", "The database is MySQL 8", true],
    ["Lint with npm run lint", "Test with npm run test", false],
    ["The seed fails before the migration", "Uploads land in S3", false],
    ["Ports: 8080", "ports 8080", false],
  ])("%p and %p conflict: %p", (older, newer, expected) => {
    expect(conflictsWith(older, newer)).toBe(expected);
  });
});

describe("recalling and forgetting", () => {
  test("every word must appear, in any case, and each match is counted on disk", async () => {
    const home = newHome();
    const memory = open(home);
    for (const text of ["Migration before seed", "Seed needs a key", "Uploads land in S3"])
      await memory.add({ kind: "gotcha", text });
    expect((await memory.recall("SEED migration")).map((note) => note.text)).toEqual(["Migration before seed"]);
    expect(await memory.recall("seed")).toHaveLength(2);
    expect([await memory.recall("nothing of it"), await memory.recall("  ")]).toEqual([[], []]);
    expect(
      open(home)
        .list()
        .map((note) => note.hits),
    ).toEqual([2, 1, 0]);
  });

  test("the prompt gets the most recalled first, then the newest, twenty at most", async () => {
    const memory = await filled(
      ...Array.from({ length: 25 }, (_, index) => `alpha${index} beta${index} gamma${index}`),
    );
    await memory.recall("alpha3 beta3");
    const top = memory.top();
    expect(top).toHaveLength(20);
    expect(top.slice(0, 2).map((note) => note.text)).toEqual(["alpha3 beta3 gamma3", "alpha24 beta24 gamma24"]);
  });

  test("one match is removed, several are listed and kept, unless all are meant", async () => {
    const memory = await filled("Uploads land in S3", "Downloads come from S3", "Logs go to stderr");
    expect(await memory.forget("s3")).toMatchObject({ state: "several", notes: [{}, {}] });
    expect(memory.list()).toHaveLength(3);
    expect(await memory.forget("Uploads land")).toMatchObject({
      state: "removed",
      notes: [{ text: "Uploads land in S3" }],
    });
    expect(await memory.forget("nowhere")).toEqual({ state: "none" });
    expect(await memory.forget(" ")).toEqual({ state: "none" });
    await memory.add({ kind: "fact", text: "Backups are in S3" });
    expect(await memory.forget("s3", true)).toMatchObject({ state: "removed", notes: [{}, {}] });
    expect(texts(memory)).toEqual(["Logs go to stderr"]);
  });
});

describe("merging", () => {
  const answer = '```json\n[{"kind":"fact","text":"Uploads and downloads use S3"}]\n```';

  test("recalled notes stay word for word, the others are replaced, a backup is kept", async () => {
    const memory = await filled("Uploads land in S3", "Downloads come from S3", "Logs go to stderr");
    await memory.recall("stderr");
    const request = mergeRequest(memory.list());
    if (!request) throw new Error("no request");
    expect(request.prompt).toContain("Uploads land");
    expect(request.prompt).not.toContain("stderr");
    expect(await applyMerge(memory, request, answer)).toEqual({ state: "merged", before: 3, after: 2 });
    expect(texts(memory)).toEqual(["Logs go to stderr", "Uploads and downloads use S3"]);
    expect(readFileSync(`${memory.path}.backup`, "utf8")).toContain("Downloads come from S3");
  });

  test.each([
    ["no JSON", "I merged them for you."],
    ["an empty list", "[]"],
    ["a broken list", '[{"kind":"fact","text":"x"'],
    ["an unknown kind", '[{"kind":"opinion","text":"x"}]'],
    ["an empty note", '[{"kind":"fact","text":"  "}]'],
    ["a note too long", JSON.stringify([{ kind: "fact", text: "x".repeat(500) }])],
    ["more notes than before", JSON.stringify(["a", "b", "c"].map((text) => ({ kind: "fact", text })))],
  ])("an answer with %s leaves the store untouched", async (_, bad) => {
    const memory = await filled("Uploads land in S3", "Downloads come from S3");
    const before = readFileSync(memory.path);
    const request = mergeRequest(memory.list());
    if (!request) throw new Error("no request");
    expect(await applyMerge(memory, request, bad)).toMatchObject({ state: "untouched" });
    expect(readFileSync(memory.path)).toEqual(before);
  });

  test("a note added or recalled while the model was thinking survives", async () => {
    const memory = await filled("Uploads land in S3", "Downloads come from S3");
    const request = mergeRequest(memory.list());
    await memory.recall("uploads");
    await memory.add({ kind: "fact", text: "Logs go to stderr" });
    if (!request) throw new Error("no request");
    await applyMerge(memory, request, answer);
    expect(texts(memory)).toEqual(["Uploads land in S3", "Logs go to stderr", "Uploads and downloads use S3"]);
  });

  test("there is nothing to merge in fewer than two open notes", async () => {
    const memory = await filled("Uploads land in S3");
    expect(mergeRequest(memory.list())).toBeNull();
  });
});

describe("the file", () => {
  test("fields of a newer version survive", async () => {
    const home = newHome();
    const path = memoryFile(home, "/p");
    mkdirSync(dirname(path), { recursive: true });
    const entry = { id: "1", kind: "fact", text: "old one here", createdAt: "", usedAt: "", hits: 0, author: "me" };
    writeFileSync(path, JSON.stringify({ version: 3, tags: ["x"], entries: [entry] }));
    await open(home).add({ kind: "fact", text: "Logs go to stderr" });
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({
      version: 3,
      tags: ["x"],
      entries: [{ author: "me" }, {}],
    });
  });

  test.each(["", "garbage", "[1,2]"])(
    "one that holds %p is set aside, named, and a new one begins",
    async (content) => {
      const home = newHome();
      const path = memoryFile(home, "/p");
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      const memory = open(home);
      expect(memory.problem).toContain("moved to");
      expect(await memory.add({ kind: "fact", text: "Logs go to stderr" })).toMatchObject({ state: "added" });
      const aside = readdirSync(dirname(path)).find((name) => name.includes("unreadable"));
      expect(readFileSync(join(dirname(path), aside ?? ""), "utf8")).toBe(content);
      expect(memory.problem).toBeNull();
    },
  );

  test("a home that can't be written keeps notes for the session and saves them when it can", async () => {
    const home = newHome();
    writeFileSync(home, "in the way");
    const memory = open(home);
    expect(await memory.add({ kind: "fact", text: "Logs go to stderr" })).toMatchObject({ state: "added" });
    expect(memory.problem).toContain(home);
    expect(await memory.recall("logs")).toHaveLength(1);
    rmSync(home);
    await memory.add({ kind: "fact", text: "Uploads land in S3" });
    expect(memory.problem).toBeNull();
    expect(open(home).list()).toMatchObject([{ text: "Logs go to stderr", hits: 1 }, { text: "Uploads land in S3" }]);
  });

  test("three processes and a stale lock lose no note and no prompt", async () => {
    const home = newHome();
    const path = memoryFile(home, "/p");
    mkdirSync(dirname(path), { recursive: true });
    const dead = { pid: 4_194_303, boot: "an earlier one", host: hostname(), started: "", token: "" };
    writeFileSync(`${path}.lock`, JSON.stringify(dead));
    const writer = join(import.meta.dir, "support/store-writer.ts");
    const names = ["red", "green", "blue"];
    const children = names.map((name) => {
      return Bun.spawn([process.execPath, writer, home, "/p", name, "20"], { stderr: "inherit" });
    });
    expect(await Promise.all(children.map((child) => child.exited))).toEqual([0, 0, 0]);
    const notes = texts(open(home));
    const prompts: string[] = JSON.parse(
      readFileSync(join(home, "history", path.split("/").at(-1) ?? ""), "utf8"),
    ).entries;
    for (const name of names) {
      const own = prompts.filter((prompt) => prompt.startsWith(name));
      expect(own).toEqual(Array.from({ length: 20 }, (_, index) => `${name} prompt ${index}`));
      expect(notes.filter((text) => text.startsWith(name))).toHaveLength(20);
    }
  }, 20_000);
});
