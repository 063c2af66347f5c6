/** `read_file` and `read_many_files`. */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { readLines } from "../src/read-lines.ts";
import { readFileTool, readManyFilesTool } from "../src/tool-read.ts";
import { openBench, tempDir } from "./support/workspace-tools.ts";
import { randomText, seeded } from "./support/random-text.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const lines = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => `line ${from + index}\n`).join("");

test.each([
  ["a\nb\n", {}, "1\ta\n2\tb"],
  ["a\r\nb\r\n", {}, "1\ta\n2\tb"],
  ["a\n\nb", {}, "1\ta\n2\t\n3\tb\n(no newline at the end of the file)"],
  ["\ufeffa\nb\n", {}, "1\ta\n2\tb"],
  ["", {}, "(empty file)"],
  ["\n", {}, "1\t"],
  [lines(5), { offset: 4 }, "4\tline 4\n5\tline 5"],
  [lines(5), { offset: 2, limit: 2 }, "2\tline 2\n3\tline 3\n(lines 2-3, of 5; go on with offset=4)"],
  [lines(5), { limit: 5 }, "1\tline 1\n2\tline 2\n3\tline 3\n4\tline 4\n5\tline 5"],
  [`${"x".repeat(2003)}\nb\n`, {}, `1\t${"x".repeat(2000)}… (+3 characters)\n2\tb`],
] as const)("%j read with %j", async (content, range, expected) => {
  const bench = openBench();
  bench.write("f", content);
  expect((await bench.run("read_file", { path: "f", ...range })).text).toBe(expected);
});

test("2,000 lines are the default, and the rest can be read on", async () => {
  const bench = openBench();
  bench.write("f", lines(2500));
  const first = (await bench.run("read_file", { path: "f" })).text.split("\n");
  expect([first.length, first.at(-1)]).toEqual([2001, "(lines 1-2000, of 2500; go on with offset=2001)"]);
  const rest = (await bench.run("read_file", { path: "f", offset: 2001 })).text.split("\n");
  expect([rest[0], rest.at(-1)]).toEqual(["2001\tline 2001", "2500\tline 2500"]);
});

test("60 KB are cut at a line, and going on loses none", async () => {
  const bench = openBench();
  const all = Array.from({ length: 300 }, (_, index) => `${index} ${"é".repeat(400)}`);
  bench.write("f", all.join("\n"));
  const seen: string[] = [];
  for (let offset = 1; offset <= 300; offset = seen.length + 1) {
    const { text } = await bench.run("read_file", { path: "f", offset });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(60 * 1024 + 100);
    const numbered = text.split("\n").filter((line) => /^\d+\t/.test(line));
    seen.push(...numbered.map((line) => line.slice(line.indexOf("\t") + 1)));
  }
  expect(seen).toEqual(all);
});

test("one line of 650 KB is cut, and says by how much", async () => {
  const bench = openBench();
  bench.write("a.min.js", "y".repeat(650_000));
  const { text } = await bench.run("read_file", { path: "a.min.js", limit: 1 });
  expect(text).toContain("… (+648000 characters)");
  expect(text.length).toBeLessThan(2100);
});

test("a cut never splits a character", async () => {
  const bench = openBench();
  bench.write("f", `${"x".repeat(1999)}🌍🌍\n`);
  const { text } = await bench.run("read_file", { path: "f" });
  expect(text.isWellFormed()).toBe(true);
  expect(text).toContain("x… (+4 characters)");
});

test("a range near the end of a sparse file of 100 MB takes little memory", async () => {
  const path = join(tempDir(), "big.log");
  const size = 100 * 1024 ** 2;
  writeFileSync(path, lines(10));
  truncateSync(path, size);
  const fd = openSync(path, "r+");
  try {
    writeSync(fd, `\n${lines(3, 11)}`, size - 200);
    const before = process.memoryUsage.rss();
    const range = {
      offset: 12,
      limit: 2,
      maxLineChars: 100,
      maxBytes: 60_000,
      wholeBytes: 1 << 20,
      signal: new AbortController().signal,
    };
    const read = await readLines(fd, range);
    expect(read.lines.map((line) => line.text)).toEqual(["line 11", "line 12"]);
    expect([read.next, read.total, read.hash]).toEqual([14, null, null]);
    expect(process.memoryUsage.rss() - before).toBeLessThan(48 * 1024 * 1024);
  } finally {
    closeSync(fd);
  }
});

test("reading a huge file stops when the call is aborted", async () => {
  const path = join(tempDir(), "big.log");
  writeFileSync(path, "");
  truncateSync(path, 100 * 1024 ** 2);
  const fd = openSync(path, "r");
  const stop = new AbortController();
  const range = { offset: 2, limit: 1, maxLineChars: 100, maxBytes: 60_000, wholeBytes: 0, signal: stop.signal };
  const read = readLines(fd, range);
  stop.abort();
  expect(await read.catch((error: Error) => error.name)).toBe("AbortError");
  closeSync(fd);
});

test("lines read in pieces of any file are its lines", async () => {
  const random = seeded(3);
  const dir = tempDir();
  for (let round = 0; round < 60; round++) {
    const text = Array.from({ length: 1 + random(3) }, () => randomText(random, { endings: ["\n", "\r\n"] })).join("");
    const path = join(dir, `f${round}`);
    writeFileSync(path, text);
    const expected = text.split("\n").map((line) => line.replace(/\r$/, ""));
    if (text.endsWith("\n") || text === "") expected.pop();
    const fd = openSync(path, "r");
    const seen: string[] = [];
    const range = {
      limit: 2,
      maxLineChars: 1000,
      maxBytes: 60_000,
      wholeBytes: 1 << 20,
      signal: new AbortController().signal,
    };
    for (let offset: number | null = 1; offset !== null;) {
      const read = await readLines(fd, { ...range, offset });
      seen.push(...read.lines.map((line) => line.text));
      expect(read.total).toBe(expected.length);
      offset = read.next;
    }
    closeSync(fd);
    expect(seen).toEqual(expected);
  }
});

test("UTF-16 is shown as text", async () => {
  const bench = openBench();
  bench.write("le", Buffer.from("\ufeffä\r\nb\r\n", "utf16le"));
  bench.write("be", Buffer.from("\ufeffä\r\nb\r\n", "utf16le").swap16());
  for (const path of ["le", "be"]) expect((await bench.run("read_file", { path })).text).toBe("1\tä\n2\tb");
  expect((await bench.run("read_file", { path: "le", limit: 1 })).text).toBe(
    "1\tä\n(lines 1-1, of 2; go on with offset=2)",
  );
});

test("bytes that are no UTF-8 are shown and announced", async () => {
  const bench = openBench();
  bench.write("f", Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]));
  const { text } = await bench.run("read_file", { path: "f" });
  expect(text).toStartWith("1\tcaf\ufffd\n(not valid UTF-8");
});

test.each([
  ["zeros", Buffer.alloc(10), "binary file (10 bytes, unknown type)"],
  ["png", PNG, `binary file (${PNG.length} bytes, image/png)`],
  ["elf", Buffer.from("\x7fELF\x02\x01\x01\0\0", "latin1"), "binary file (9 bytes, ELF executable)"],
])("%s is described, not shown", async (name, content, expected) => {
  const bench = openBench();
  bench.write(name, content);
  expect(await bench.run("read_file", { path: name })).toEqual({ text: expected });
});

test("an image goes as an image to a model that takes them", async () => {
  const bench = openBench({ vision: true });
  bench.write("a.png", PNG);
  const { text, images } = await bench.run("read_file", { path: "a.png" });
  expect(text).toBe(`image/png, ${PNG.length} bytes`);
  expect(images).toEqual([{ type: "image", mediaType: "image/png", data: PNG.toString("base64") }]);
});

test("a batch holds only as many images as a request can carry, and names the others", async () => {
  const bench = openBench({ vision: true });
  const large = Buffer.concat([PNG, Buffer.alloc(3_000_000)]);
  for (const name of ["a.png", "b.png", "c.png"]) bench.write(name, large);
  bench.write("d.txt", "text\n");
  const files = ["a.png", "b.png", "c.png", "d.txt"].map((path) => ({ path }));
  const { text, images } = await bench.run("read_many_files", { files });
  expect(images?.length).toBe(2);
  expect(text).toContain("==> d.txt\n1\ttext");
  expect(text).toEndWith("(left out, the result is full; read them on their own: c.png)");
});

test("a directory is listed", async () => {
  const bench = openBench();
  bench.write("src/a.ts", "1");
  bench.write("src/sub/b.ts", "1");
  expect((await bench.run("read_file", { path: "src" })).text).toBe("src/\n  a.ts 1 B\n  sub/");
});

test("a missing file suggests close names, at most three", async () => {
  const bench = openBench();
  for (const name of ["index.ts", "indexes.ts", "index.js", "index.tsx", "unrelated.md"])
    bench.write(`src/${name}`, "");
  const refusal = await bench.refused("read_file", { path: "src/idnex.ts" });
  expect(refusal).toStartWith('[tool error] "src/idnex.ts" does not exist. Close names: "src/index.ts"');
  expect(refusal.match(/"src\/index/g)?.length).toBe(3);
  expect(await bench.refused("read_file", { path: "nowhere/at/all" })).toBe(
    '[tool error] "nowhere/at/all" does not exist. Find it with glob.',
  );
});

test("a file whose name is no UTF-8 is not suggested under the name that doesn't reach it", async () => {
  const bench = openBench();
  writeFileSync(Buffer.concat([Buffer.from(`${bench.root}/caf`), Buffer.from([0xe9]), Buffer.from(".txt")]), "x");
  expect(await bench.refused("read_file", { path: "caf\ufffd.txt" })).toBe(
    '[tool error] The name of "caf\ufffd.txt" is no valid UTF-8. Reach it with bash and a wildcard.',
  );
});

test("an offset behind the end is an error that tells the length", async () => {
  const bench = openBench();
  bench.write("f", lines(3));
  expect(await bench.refused("read_file", { path: "f", offset: 9 })).toBe(
    '[tool error] "f" has 3 lines; offset 9 is behind the end.',
  );
});

test("pipes, sockets and devices are refused at once, by type", async () => {
  const bench = openBench();
  if (Bun.spawnSync(["mkfifo", join(bench.root, "pipe")]).exitCode !== 0) console.error("SKIPPED: no mkfifo");
  else
    expect(await bench.refused("read_file", { path: "pipe" })).toBe(
      '[tool error] "pipe" is a named pipe, not a regular file.',
    );
  const server = Bun.listen({ unix: join(bench.root, "socket"), socket: { data() {} } });
  expect(await bench.refused("read_file", { path: "socket" })).toBe(
    '[tool error] "socket" is a socket, not a regular file.',
  );
  server.stop(true);
  symlinkSync("/dev/zero", join(bench.root, "zero"));
  expect(await bench.refused("read_file", { path: "zero" })).toContain("outside the workspace");
});

test("what the rules forbid is refused on the real path and never shown", async () => {
  const bench = openBench({ mayRead: (path) => !path.endsWith("/.env") });
  bench.write(".env", "KEY=canary");
  bench.write("ok", "fine");
  symlinkSync(".env", join(bench.root, "notes.txt"));
  const refusal = await bench.refused("read_file", { path: "notes.txt" });
  expect(refusal).toStartWith("[permission error]");
  const { text } = await bench.run("read_many_files", {
    files: [{ path: "notes.txt" }, { path: "ok" }, { path: ".env" }],
  });
  expect(text).toContain("==> ok\n1\tfine");
  expect(text.match(/\[permission error\]/g)?.length).toBe(2);
  expect(refusal + text).not.toContain("canary");
});

test("several files come as labelled blocks in the given order, a failing one in its own", async () => {
  const bench = openBench();
  bench.write("b", "2\n");
  bench.write("a", "1\nx\n");
  mkdirSync(join(bench.root, "d"));
  const { text } = await bench.run("read_many_files", {
    files: [{ path: "b" }, { path: "none" }, { path: "../out" }, { path: "a", offset: 2, limit: 1 }],
  });
  const blocks = text.split("\n\n");
  expect(blocks.map((block) => block.split("\n")[0])).toEqual(["==> b", "==> none", "==> ../out", "==> a"]);
  expect(blocks[1]).toContain("[tool error]");
  expect(blocks[2]).toContain("[permission error]");
  expect(blocks[3]).toBe("==> a\n2\tx");
});

test("what does not fit into the result of several files is named", async () => {
  const bench = openBench();
  for (const name of ["a", "b", "c", "d"]) bench.write(name, "x".repeat(99).concat("\n").repeat(400));
  bench.write("small", "fits\n");
  const files = ["a", "b", "c", "d", "small"].map((path) => ({ path }));
  const { text } = await bench.run("read_many_files", { files });
  expect(text).toContain("(left out, the result is full; read them on their own: c, d)");
  expect(text).toContain("==> small\n1\tfits");
  expect(text.length).toBeLessThan(110_000);
});

test("more than twenty files and a zero offset fail validation", async () => {
  const bench = openBench();
  const files = Array.from({ length: 21 }, (_, index) => ({ path: `f${index}` }));
  expect(await bench.refused("read_many_files", { files })).toStartWith("[validation error]");
  expect(await bench.refused("read_file", { path: "f", offset: 0 })).toStartWith("[validation error]");
});

test("odd names are read like any other", async () => {
  const bench = openBench();
  for (const name of ["-rf", " x ", "a\nb", "*"]) {
    bench.write(name, name);
    expect((await bench.run("read_file", { path: name })).text).toContain(name.split("\n")[0] ?? "");
  }
});

test("a file that was only touched still counts as read", async () => {
  const bench = openBench();
  const path = bench.write("f", "a\n");
  await bench.run("read_file", { path: "f" });
  utimesSync(path, 1, 1);
  expect((await bench.run("edit_file", { path: "f", oldString: "a", newString: "b" })).text).toContain("Edited f");
});

test("the tools say what they read, and may run beside others", () => {
  expect(readFileTool.subjects({ path: "a" })).toEqual([{ kind: "path", path: "a", access: "read" }]);
  expect(readManyFilesTool.subjects({ files: [{ path: "a" }, { path: "b" }] })).toHaveLength(2);
  expect([readFileTool.mutates, readFileTool.concurrencySafe({ path: "a" })]).toEqual([false, true]);
});

const hasProc = existsSync("/proc/self/mem");
if (!hasProc) console.error("SKIPPED: no /proc here, so a file whose reading fails was not tried");
test.if(hasProc)("a file whose reading fails is told in words", async () => {
  const bench = openBench({ root: "/proc/self" });
  expect(await bench.refused("read_file", { path: "mem" })).toBe('[tool error] "mem": the system refused (EIO).');
});
