/** What a headless run writes where: stdout for the answer, stderr for the rest, a file besides, or events. */
import { afterAll, describe, expect, test } from "bun:test";
import { lstatSync, readFileSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { BINARY, closeBenches, openBench } from "./support/binary.ts";
import { eventFaults } from "./support/event-check.ts";
import type { Reply } from "./support/model-server.ts";
import { openPty } from "./support/pty.ts";

afterAll(closeBenches);

const LONG = `${"0123456789abcdef".repeat(20_000)}\nend`;
/** A remark, a look at a file, another remark, another look, the answer. */
const STEPS: Reply[] = [
  { text: "First I look.", calls: [{ name: "read_file", input: { path: "a.txt" } }] },
  { text: "And once more.", calls: [{ name: "list_dir", input: { path: "." } }] },
  { text: "The answer.\n\n\n" },
];
const FILES = { "a.txt": "alpha\n" };

describe.concurrent("text into a pipe", () => {
  test("only the last message goes to stdout, with one newline; remarks and tools go to stderr", async () => {
    const at = await openBench(STEPS, { files: FILES });
    const { code, stdout, stderr } = await at.run(["-p", "go"]);
    expect([code, stdout]).toEqual([0, "The answer.\n"]);
    const spent = "30 in (0% cached), 15 out, unpriced, context 1%, ";
    expect(stderr).toStartWith(`First I look.\n> read_file a.txt\nAnd once more.\n> list_dir .\n${spent}`);
    expect(stderr.slice(stderr.indexOf(spent) + spent.length)).toMatch(/^\d+(?:\.\d)? m?s\n$/);
    expect(at.server.faults).toEqual([]);
  });

  test("-q keeps stderr empty, but not of errors", async () => {
    const at = await openBench(STEPS, { files: FILES });
    expect(await at.run(["-q", "-p", "go"])).toMatchObject({ code: 0, stdout: "The answer.\n", stderr: "" });
    const denied = await openBench([{ calls: [{ name: "bash", input: { command: "touch x" } }] }, { text: "no" }]);
    expect(await denied.run(["-q", "-p", "go"])).toMatchObject({ code: 0, stderr: "" });
    const failing = await openBench([{ status: 401, json: { error: { message: "bad key" } } }]);
    const failed = await failing.run(["-q", "-p", "go"]);
    expect(failed).toMatchObject({ code: 3, stdout: "" });
    expect(failed.stderr).toMatch(/^shiro: .*bad key.*\n$/);
  });

  test("an answer without a newline gets one; blank answers print nothing", async () => {
    const at = await openBench([{ text: "  spaced  " }]);
    expect((await at.run(["-p", "go"])).stdout).toBe("  spaced  \n");
  });

  test("an answer full of empty lines takes no longer than another", async () => {
    const text = `${"\n".repeat(250_000)}x${"\n".repeat(50_000)}`;
    const at = await openBench([{ text }]);
    const { stdout } = await at.run(["-p", "go"]);
    expect(stdout).toBe(`${"\n".repeat(250_000)}x\n`);
  });

  test("pieces of one answer that the length limit cut are one message", async () => {
    const at = await openBench([{ text: "one ", stop: "length" }, { text: "two" }]);
    expect((await at.run(["-p", "go"])).stdout).toBe("one two\n");
    expect(at.server.faults).toEqual([]);
  });
});

describe.concurrent("-o", () => {
  test("writes the last message to a new file and over an old one", async () => {
    const at = await openBench(STEPS, { files: { ...FILES, "old.txt": "a longer text that must be gone\n" } });
    expect((await at.run(["-p", "go", "-o", "new.txt"])).stdout).toBe("The answer.\n");
    expect(readFileSync(at.path("new.txt"), "utf8").trimEnd()).toBe("The answer.");
    const again = await openBench([{ text: "other" }], { files: { "old.txt": "a longer text that must be gone\n" } });
    await again.run(["-p", "go", "--json", "-o", "old.txt"]);
    expect(readFileSync(again.path("old.txt"), "utf8")).toBe("other\n");
    expect(readdirSync(again.dir)).toEqual(["old.txt"]);
  });

  test("a pipe is written to and a link followed; neither is replaced", async () => {
    const at = await openBench([{ text: "kept" }], { files: { "real.txt": "old\n" } });
    symlinkSync("real.txt", at.path("link.txt"));
    symlinkSync("later.txt", at.path("dangling.txt"));
    const shell = 'mkfifo pipe; cat pipe > read & "$@"; wait';
    expect((await at.run(["-p", "go", "-o", "pipe"], { shell })).code).toBe(0);
    expect(readFileSync(at.path("read"), "utf8")).toBe("kept\n");
    expect(lstatSync(at.path("pipe")).isFIFO()).toBe(true);
    for (const [name, target] of [
      ["link.txt", "real.txt"],
      ["dangling.txt", "later.txt"],
    ] as const) {
      expect((await at.run(["-p", "go", "-o", name])).code).toBe(0);
      expect([lstatSync(at.path(name)).isSymbolicLink(), readFileSync(at.path(target), "utf8")]).toEqual([
        true,
        "kept\n",
      ]);
    }
    expect((await at.run(["-p", "go", "-o", "/dev/null"])).code).toBe(0);
    expect(lstatSync("/dev/null").isCharacterDevice()).toBe(true);
  });

  test("a run that fails with nothing said leaves an old file alone", async () => {
    const at = await openBench([{ status: 401, json: { error: { message: "no" } } }], {
      files: { "old.txt": "old\n" },
    });
    expect((await at.run(["-p", "go", "-o", "old.txt"])).code).toBe(3);
    expect(readFileSync(at.path("old.txt"), "utf8")).toBe("old\n");
  });

  test.each(["no/such/dir/f", ".", "", "a.txt/f"])("%p is refused before any request", async (path) => {
    const at = await openBench([{ text: "never" }], { files: FILES });
    const { code, stdout, stderr } = await at.run(["-p", "go", "-o", path]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toStartWith(path === "" ? "shiro: --output needs a value" : "shiro: -o ");
    expect(at.server.requests).toEqual([]);
  });

  test("what can't be written in the end is an error, after the answer was printed", async () => {
    const script = (request: { text: string }): Reply =>
      request.text.includes("mv out gone")
        ? { text: "kept" }
        : { calls: [{ name: "bash", input: { command: "mv out gone" } }] };
    const at = await openBench(script, { config: { sandbox: "off" }, files: { "out/x": "" } });
    const text = await at.run(["-p", "go", "--yolo", "-o", "out/f"]);
    expect([text.code, text.stdout]).toEqual([2, "kept\n"]);
    expect(text.stderr).toMatch(/^shiro: -o out\/f could not be written: .*\n$/m);
    await at.run(["-p", "go"], { shell: "mv gone out" });
    const json = await at.run(["-p", "go", "--yolo", "--json", "-o", "out/f"]);
    expect(await eventFaults(json.events)).toEqual([]);
    expect(json.events.slice(-2)).toMatchObject([
      { type: "error", kind: "usage" },
      { type: "done", exit: 2, reason: "error" },
    ]);
  });
});

describe.concurrent("--json", () => {
  test("every line is an event of the schema, in order, with the text the model sees", async () => {
    const files = { ...FILES, "b.txt": "one\n" };
    const at = await openBench(
      [
        {
          text: "Reading.",
          reasoning: "think",
          calls: [
            { id: "c1", name: "read_file", input: { path: "a.txt" } },
            { id: "c2", name: "read_file", input: { path: "missing.txt" } },
          ],
        },
        { calls: [{ id: "c3", name: "bash", input: { command: "echo out; echo err >&2" } }] },
        { calls: [{ id: "c4", name: "todo_write", input: { todos: [{ content: "do it", status: "in_progress" }] } }] },
        { calls: [{ id: "c5", name: "write_file", input: { path: "n.txt", content: "x" } }] },
        { text: "Done.", usage: { input: 100, output: 7, cached: 50 } },
      ],
      { files, config: { permission: { bash: "allow" }, unknownKey: 1 } },
    );
    const { code, events, stdout } = await at.run(["-p", "go", "--json"]);
    expect(code).toBe(0);
    expect(await eventFaults(events)).toEqual([]);
    expect(stdout).toEndWith("}\n");
    const of = (id: string): string[] => events.filter((event) => event.id === id).map((event) => event.type);
    expect(of("c1")).toEqual(["tool-start", "tool-call", "tool-result"]);
    expect(of("c2")).toEqual(["tool-start", "tool-call", "tool-error"]);
    expect(new Set(of("c3"))).toEqual(new Set(["tool-start", "tool-call", "tool-output", "tool-result"]));
    expect(of("c5")).toEqual(["tool-start", "tool-call", "tool-denied"]);
    expect(events.filter((event) => event.type === "todos")).toHaveLength(1);
    const notices = events.filter((event) => event.type === "notice").map((event) => event.message);
    expect(notices.join()).toContain("unknownKey");
    const sent = at.server.requests[1]?.text ?? "";
    for (const event of events)
      if (event.type === "tool-result" && event.id === "c1")
        expect(sent).toContain(JSON.stringify(event.output).slice(1, -1));
    expect(events.at(-1)).toMatchObject({ steps: 5, inputTokens: 140, outputTokens: 27, cacheReadTokens: 50, exit: 0 });
    expect(at.server.faults).toEqual([]);
  });

  test.each(["chat", "responses", "anthropic"] as const)("%s: no event ends within a character", async (wire) => {
    const at = await openBench([{ text: "x🙂🙂y", reasoning: "🙂🙂🙂!" }], { wire }); // sent in thirds: cut within the pairs
    const { events } = await at.run(["-p", "go", "--json"]);
    const texts = events.filter((event) => event.type === "text").map((event) => String(event.text));
    expect(texts.join("")).toBe("x🙂🙂y");
    for (const event of events) expect(JSON.stringify(event)).not.toMatch(/\\ud[89a-f]/);
  });

  test("text events joined are the answer", async () => {
    const at = await openBench([{ text: LONG }]);
    const { events } = await at.run(["-p", "go", "--json"]);
    expect(events.map((event) => (event.type === "text" ? event.text : "")).join("")).toBe(LONG);
  });
});

test("lines about calls stay lines, whatever the command holds", async () => {
  const command = "echo one\necho 'shiro: all is well'\r\x1b[2K";
  const at = await openBench([{ calls: [{ name: "bash", input: { command } }] }, { text: "ok" }], {
    config: { sandbox: "off", permission: { bash: "allow" } },
  });
  const { stderr } = await at.run(["-p", "go"]);
  expect(stderr).not.toMatch(/^(echo|shiro:)/m);
  expect(stderr).not.toContain("\x1b");
});

describe.concurrent("text on a terminal", () => {
  test("streams everything the model says, without its escapes, and asks nothing of stdin", async () => {
    const steps: Reply[] = [
      { text: "A remark.", calls: [{ name: "read_file", input: { path: "a.txt" } }] },
      { text: "Title \x1b]0;PWN\x07 and \x1b[2Jend" },
    ];
    const at = await openBench(steps, { files: FILES });
    const env = Object.fromEntries(Object.entries(at.env).map(([name, value]) => [name, value ?? ""]));
    const pty = openPty([BINARY, "-p", "go"], { cwd: at.dir, env: { ...env, SHIRO_HOME: at.home, HOME: at.dir } });
    expect(await pty.exited).toBe(0);
    await pty.expect("end\r\n");
    const raw = pty.raw();
    expect(raw).toStartWith("A remark.\r\n> read_file a.txt\r\nTitle ");
    for (const control of ["\x1b", "\x07"]) expect(raw).not.toContain(control);
    expect(raw.split("end\r\n")).toEqual([expect.any(String), expect.stringMatching(/^20 in .* out, .* m?s\r\n$/)]);
    expect(at.server.requests[0]?.text).not.toContain("<stdin>");
    expect(at.server.faults).toEqual([]);
  });
});

test("a file as stdout gets the same bytes", async () => {
  const at = await openBench([{ text: LONG }]);
  await at.run(["-p", "go"], { shell: '"$@" > out' });
  expect(statSync(at.path("out")).size).toBe(LONG.length + 1);
});
