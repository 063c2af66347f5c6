/** The edit tools change no byte they were not asked to change; the diff they show is the change. */
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { type Encoding, encodeText } from "../src/text-file.ts";
import { randomText, seeded } from "./support/random-text.ts";
import { rounds } from "./support/rounds.ts";
import { openBench, tempDir } from "./support/workspace-tools.ts";

const FORMATS: readonly { encoding: Encoding; bom: boolean }[] = [
  { encoding: "utf-8", bom: false },
  { encoding: "utf-8", bom: true },
  { encoding: "utf-16le", bom: true },
  { encoding: "utf-16be", bom: true },
];

test.each([
  ["f", "a\r\nb\r\nc\r\n", "a\nb", "a\nB", "a\r\nB\r\nc\r\n"],
  ["f", "a\nb\nc\n", "a\r\nb", "a\r\nB", "a\nB\nc\n"],
  ["f", "a\r\nb\nc\r\n", "a\nb\nc", "A\nb\nx\nc", "A\r\nb\nx\nc\r\n"],
  ["f", "\ufefffirst\r\nb\r\n", "first", "1st", "\ufeff1st\r\nb\r\n"],
  ["f", "\ufefffirst\nb", "\ufefffirst", "\ufeff1st", "\ufeff1st\nb"],
  ["f", "a\r\nb", "b", "b\nc", "a\r\nb\r\nc"],
  ["f", "l’été “x”\n", "’", "'", "l'été “x”\n"],
])("%s %j: %j by %j gives %j", async (path, before, oldString, newString, after) => {
  const bench = openBench();
  bench.write(path, before);
  await bench.run("read_file", { path });
  await bench.run("edit_file", { path, oldString, newString });
  expect(bench.text(path)).toBe(after);
});

test.each([
  ["a\r\nb\r\n", "A\nb\nc\n", "A\r\nb\r\nc\r\n"],
  ["a\nb\n", "A\r\nb\r\n", "A\nb\n"],
  ["\ufeffa\n", "b\n", "\ufeffb\n"],
  ["\ufeffa\n", "\ufeffb\n", "\ufeffb\n"],
  ["a\n", "\ufeffb\n", "b\n"],
  ["a\n", "b", "b"],
])("%j overwritten with %j is %j", async (before, content, after) => {
  const bench = openBench();
  bench.write("f", before);
  await bench.run("read_file", { path: "f" });
  await bench.run("write_file", { path: "f", content });
  expect(bench.text("f")).toBe(after);
});

test("a file in an 8-bit encoding is refused, byte for byte as it was", async () => {
  const bench = openBench();
  const bytes = Buffer.from("x=1\n# caf\xe9\n", "latin1");
  bench.write("f", bytes);
  await bench.run("read_file", { path: "f" });
  expect(await bench.refused("edit_file", { path: "f", oldString: "x=1", newString: "x=2" })).toContain(
    "neither UTF-8 nor UTF-16",
  );
  expect(await bench.refused("write_file", { path: "f", content: "x" })).toContain("neither UTF-8 nor UTF-16");
  const patch = "*** Begin Patch\n*** Update File: f\n@@\n-x=1\n+x=2\n*** End Patch";
  expect(await bench.refused("apply_patch", { patch })).toContain("neither UTF-8 nor UTF-16");
  expect(bench.bytes("f")).toEqual(bytes);
});

test("no byte but those asked for changes, over encodings, marks, endings, modes and links", async () => {
  const random = seeded(2024);
  const bench = openBench();
  mkdirSync(join(bench.root, "real"));
  for (let round = 0; round < rounds(60, 120); round++) {
    const format = FORMATS[random(FORMATS.length)] ?? { encoding: "utf-8", bom: false };
    const endings = [["\n"], ["\r\n"], ["\n", "\r\n"]][random(3)] ?? ["\n"];
    const [head, tail] = [randomText(random, { endings }), randomText(random, { endings })];
    const mode = [0o644, 0o755, 0o600][random(3)] ?? 0o644;
    const file = join(bench.root, "real", `f${round}`);
    writeFileSync(file, encodeText(`${head}needle${tail}`, format));
    chmodSync(file, mode);
    const path = random(2) ? `real/f${round}` : `link${round}`;
    if (path.startsWith("link")) symlinkSync(`real/f${round}`, join(bench.root, path));
    await bench.run("read_file", { path });
    await bench.run("edit_file", { path, oldString: "needle", newString: "Nadel ✓" });
    expect(readFileSync(file)).toEqual(Buffer.from(encodeText(`${head}Nadel ✓${tail}`, format)));
    expect(statSync(file).mode & 0o7777).toBe(mode);
  }
});

test("git apply makes of the shown diff what the tool has made of the file", async () => {
  if (Bun.which("git") === null) return console.error("SKIPPED: no git to apply the diffs with");
  const random = seeded(77);
  const bench = openBench();
  const copy = tempDir();
  const diffs: string[] = [];
  for (let round = 0; round < rounds(30, 60); round++) {
    const path =
      ["a b.txt", 'q"uote', "plain.ts", "dir/deep.ts", "ünï.md"][round % 5]?.replace(/(\.|$)/, `${round}$1`) ?? "";
    const endings = [["\n"], ["\r\n"], ["\n", "\r\n"]][random(3)] ?? ["\n"];
    const before = (random(4) === 0 ? "\ufeff" : "") + randomText(random, { endings });
    const after = randomText(random, { endings });
    if (random(4) > 0) {
      bench.write(path, before);
      mkdirSync(join(copy, "dir"), { recursive: true });
      writeFileSync(join(copy, path), before);
      await bench.run("read_file", { path });
    }
    diffs.push((await bench.run("write_file", { path, content: after })).diff ?? "");
  }
  writeFileSync(join(copy, "all.patch"), diffs.join(""));
  const run = Bun.spawnSync(["git", "apply", "--whitespace=nowarn", "all.patch"], {
    cwd: copy,
    stderr: "pipe",
    env: { PATH: process.env.PATH ?? "", HOME: copy },
  });
  expect(run.stderr.toString()).toBe("");
  for (const [path, text] of Object.entries(bench.tree()))
    expect([path, readFileSync(join(copy, path), "utf8")]).toEqual([path, text]);
});

test("the diff of two long texts that share only their ends applies as well, and mixed endings stay", async () => {
  if (Bun.which("git") === null) return console.error("SKIPPED: no git to apply the diff with");
  const bench = openBench();
  const copy = tempDir();
  const ends = { head: "one\r\ntwo\nthree\r\nfour\n", tail: "last\r\nbut\nnot least" };
  const middle = (name: string) => Array.from({ length: 1200 }, (_, index) => `${name} ${index}\n`).join("");
  const before = ends.head + middle("old") + ends.tail;
  bench.write("f", before);
  writeFileSync(join(copy, "f"), before);
  await bench.run("read_file", { path: "f" });
  const content = (ends.head + middle("new") + ends.tail).replaceAll("\r\n", "\n");
  const { diff } = await bench.run("write_file", { path: "f", content });
  expect(bench.text("f")).toBe(ends.head + middle("new") + ends.tail);
  const env = { PATH: process.env.PATH ?? "", HOME: copy };
  const stdin = Buffer.from(diff ?? "");
  const run = Bun.spawnSync(["git", "apply", "--whitespace=nowarn", "-"], { cwd: copy, env, stdin, stderr: "pipe" });
  expect(run.stderr.toString()).toBe("");
  expect(readFileSync(join(copy, "f"), "utf8")).toBe(bench.text("f"));
});
