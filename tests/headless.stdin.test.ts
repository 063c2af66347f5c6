/** The stdin contract of `shiro -p`, with every kind of stdin a shell can make. */
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Bench, BINARY, closeBenches, openBench } from "./support/binary.ts";
import { eventFaults } from "./support/event-check.ts";
import { openPty } from "./support/pty.ts";

afterAll(closeBenches);

const bench = (files: Record<string, string> = {}): Promise<Bench> => openBench([{ text: "ok" }], { files });

/** Text of the last user message that the model got. */
function asked({ server }: Bench): string {
  expect(server.faults).toEqual([]);
  const messages = server.requests.at(-1)?.body.messages;
  const last = Array.isArray(messages) ? messages.at(-1) : null;
  const content = typeof last === "object" && last !== null && "content" in last ? last.content : null;
  return typeof content === "string" ? content : JSON.stringify(content);
}

const FIFO = 'mkfifo silent && exec 3<>silent && exec "$@" <&3';

describe.concurrent("with a prompt argument", () => {
  test.each([
    ["a pipe", 'printf PANDA-1 | "$@"', "say it\n\n<stdin>\nPANDA-1\n</stdin>"],
    ["a file", '"$@" < notes', "say it\n\n<stdin>\none\ntwo\n</stdin>"],
    ["a file that was read from before", '{ read -r first; "$@"; } < notes', "say it\n\n<stdin>\ntwo\n</stdin>"],
    ["a FIFO with a writer", 'mkfifo f; printf via-fifo > f & "$@" < f', "say it\n\n<stdin>\nvia-fifo\n</stdin>"],
    ["a pipe that ends at once", 'true | "$@"', "say it"],
    ["an empty file", '"$@" < empty', "say it"],
    ["/dev/null", '"$@" < /dev/null', "say it"],
    ["a closed stdin", '"$@" <&-', "say it"],
    ["an endless device", '"$@" < /dev/zero', "say it"],
    [
      "bytes that are no UTF-8",
      "printf 'caf\\351 \\000 end' | \"$@\"",
      "say it\n\n<stdin>\ncaf\uFFFD \uFFFD end\n</stdin>",
    ],
    ["a pipe, but --no-stdin", 'printf PANDA-1 | "$@" --no-stdin', "say it"],
  ])("%s", async (_, shell, text) => {
    const at = await bench({ notes: "one\ntwo\n", empty: "" });
    const { code, stdout } = await at.run(["-p", "say it"], { shell });
    expect([code, stdout]).toEqual([0, "ok\n"]);
    expect(asked(at)).toBe(text);
  });

  test("a socket goes along as a pipe does", async () => {
    const at = await bench();
    const run = at.start(["-p", "say it"], { open: true });
    run.write("from a ");
    run.write("socket");
    run.closeStdin();
    expect((await run.ended).code).toBe(0);
    expect(asked(at)).toBe("say it\n\n<stdin>\nfrom a socket\n</stdin>");
  });

  test("an open silent pipe is not read with --no-stdin", async () => {
    const at = await bench();
    const { code, stderr } = await at.run(["-p", "say it", "--no-stdin"], { shell: FIFO });
    expect(code).toBe(0);
    expect(stderr).not.toContain("waiting for stdin");
    expect(asked(at)).toBe("say it");
  });

  test("a silent socket is given up soon, and both the user and the model are told", async () => {
    const at = await bench();
    const { code, stderr } = await at.start(["-p", "say it"], { open: true }).ended;
    expect(code).toBe(0);
    expect(stderr).toContain("silent for 2 s");
    expect(asked(at)).toBe("say it\n\n[stdin was open but nothing came; it was not read]");
  });

  test("a silent FIFO is announced, then given up", async () => {
    const at = await bench();
    const { code, stderr } = await at.run(["-p", "say it"], { shell: FIFO });
    expect(code).toBe(0);
    expect(stderr.indexOf("waiting for stdin (use --no-stdin)")).toBeGreaterThanOrEqual(0);
    expect(stderr.indexOf("silent for 10 s")).toBeGreaterThan(stderr.indexOf("waiting for stdin"));
    expect(asked(at)).toContain("it was not read");
  });

  test("--stdin waits past the time at which it would have been given up", async () => {
    const at = await bench();
    const run = at.start(["-p", "say it", "--stdin"], { open: true });
    await run.seen("stderr", "waiting for stdin (use --no-stdin)");
    run.write("late");
    run.closeStdin();
    expect((await run.ended).code).toBe(0);
    expect(asked(at)).toBe("say it\n\n<stdin>\nlate\n</stdin>");
  });

  test("after the first byte it is read to its end, however slow", async () => {
    const at = await bench({ gate: "" });
    const slow = at.start(["-p", "say it", "--json"], { open: true });
    slow.write("begun ");
    const other = await at.start(["-p", "other"], { open: true }).ended; // takes longer than a silent socket may
    expect(other.stderr).toContain("silent");
    slow.write("ended");
    slow.closeStdin();
    expect((await slow.ended).code).toBe(0);
    expect(asked(at)).toBe("say it\n\n<stdin>\nbegun ended\n</stdin>");
  });

  test("more than 10 MB is cut at a whole character, with a note to both", async () => {
    const at = await bench();
    const shell = '{ printf x; yes é | head -c 30000000; } | "$@"';
    const { code, stderr } = await at.run(["-p", "say it"], { shell });
    expect(code).toBe(0);
    expect(stderr).toContain("longer than 10 MB");
    const text = asked(at);
    expect(text).toContain("only the first 10485760 bytes");
    expect(text).not.toContain("\uFFFD");
    expect(Buffer.byteLength(text)).toBeLessThan(10.6e6);
  });

  test("what the model can't take is refused before any request, with both sizes", async () => {
    const at = await bench();
    const shell = 'head -c 6000000 /dev/zero | tr "\\0" "a " | "$@"';
    const { code, stderr } = await at.run(["-p", "say it", "--model", "gpt-4o"], { shell });
    expect(code).toBe(2);
    expect(stderr).toMatch(/\nshiro: The prompt is too long: about \d+ tokens, and gpt-4o takes \d+\n$/);
    expect(at.server.requests).toEqual([]);
  });
});

describe.concurrent("as the prompt", () => {
  test.each([
    ["bare -p", ["-p"], 'printf "  the task\\n" | "$@"'],
    ["-p -", ["-p", "-"], '"$@" < task'],
    ["an empty argument", ["-p", ""], 'printf "the task" | "$@"'],
    ["flags after the dash", ["-p", "-", "--no-memory"], 'printf "the task" | "$@"'],
  ])("%s", async (_, args, shell) => {
    const at = await bench({ task: "the task\n" });
    expect((await at.run(args, { shell })).code).toBe(0);
    expect(asked(at)).toBe("the task");
  });

  test.each([
    ["/dev/null", '"$@" < /dev/null'],
    ["a closed stdin", '"$@" <&-'],
    ["blanks", 'printf " \\n\\n" | "$@"'],
  ])("nothing there: %s", async (_, shell) => {
    const at = await bench();
    const { code, stdout, stderr } = await at.run(["-p"], { shell });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toStartWith("shiro: No prompt");
    expect(at.server.requests).toEqual([]);
  });

  test("nothing there: a terminal, which is not read", async () => {
    const at = await bench();
    const env = { SHIRO_HOME: at.home, HOME: at.dir };
    const pty = openPty([BINARY, "-p"], { cwd: at.dir, env: { ...env, SHIRO_BASE_URL: at.server.url }, cols: 200 });
    expect(await pty.exited).toBe(2);
    expect(pty.raw()).toStartWith("shiro: No prompt");
    pty.close();
  });

  test("without -p and without a terminal it runs as -p and says so", async () => {
    const at = await bench();
    const { code, stdout, stderr } = await at.run(["review"], { shell: 'printf diff | "$@"' });
    expect([code, stdout]).toEqual([0, "ok\n"]);
    expect(stderr).toContain("stdin is not a terminal, so this runs as -p");
    expect(asked(at)).toBe("review\n\n<stdin>\ndiff\n</stdin>");
  });

  test.each([
    ["with a prompt", ["-p", "say it"]],
    ["without one", ["-p"]],
  ])("a directory is refused %s", async (_, args) => {
    const at = await bench();
    const { code, stderr } = await at.run(args, { shell: '"$@" < .' });
    expect(code).toBe(2);
    expect(stderr).toBe("shiro: stdin is a directory. Redirect a file, or give --no-stdin\n");
  });
});

describe.concurrent("a run that waits for stdin", () => {
  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s ends it", async (signal, exit) => {
    const at = await bench();
    const run = at.start(["-p", "--json"], { open: true });
    await run.seen("stderr", "waiting for stdin");
    run.kill(signal);
    const { code, events, stderr } = await run.ended;
    expect(code).toBe(exit);
    expect(stderr).toEndWith("\nshiro: interrupted\n");
    expect(await eventFaults(events)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: "done", exit, reason: "interrupted" });
  });

  test("--timeout ends it, also after the first byte", async () => {
    const at = await bench();
    const run = at.start(["-p", "say it", "--json", "--timeout", "300ms"], { open: true });
    run.write("begun, never ended");
    const { code, events } = await run.ended;
    expect(code).toBe(7);
    expect(events.map((event) => event.type)).toEqual(["session", "done"]);
    expect(await eventFaults(events)).toEqual([]);
  });
});

test("stdin is not kept from a program that runs after shiro", async () => {
  const at = await bench({ both: "for shiro\nfor the next\n" });
  await at.run(["-p", "say it", "--no-stdin"], { shell: '{ "$@" >/dev/null; cat; } < both > rest' });
  expect(readFileSync(join(at.dir, "rest"), "utf8")).toBe("for shiro\nfor the next\n");
});
