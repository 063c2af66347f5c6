/** Headless runs whose reader is slow, stops reading, or goes away; and disks that are full behind stdout. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { watch } from "node:fs/promises";
import { join } from "node:path";
import { type Bench, closeBenches, openBench } from "./support/binary.ts";
import type { Reply } from "./support/model-server.ts";

afterAll(closeBenches);

const HAS_FULL = existsSync("/dev/full");
if (!HAS_FULL) console.error("SKIPPED: a full disk behind stdout needs /dev/full");

const LONG = `${"0123456789abcdef".repeat(20_000)}\nend`;

function savedSessions({ home }: Bench): string[] {
  const dir = join(home, "sessions");
  return existsSync(dir) ? readdirSync(dir).filter((name) => /\.(json|journal)$/.test(name)) : [];
}

/** Resolves when the record of a session holds the text. */
async function savedWith(at: Bench, text: string): Promise<void> {
  const dir = join(at.home, "sessions");
  mkdirSync(dir, { mode: 0o700, recursive: true });
  const watched = watch(dir);
  for await (const event of watched) if (event.filename?.endsWith(".json") && savedText(at).includes(text)) return;
}

function savedText(bench: Bench): string {
  return savedSessions(bench)
    .map((name) => readFileSync(join(bench.home, "sessions", name), "utf8"))
    .join("\n");
}

/** A stream of the chat wire that ends before its end. */
const unfinished = (content: string): string =>
  `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;

/** A reader that takes nothing until the gate is opened. */
const SLOW = '{ "$@"; echo "exit $?" >&2; } | { read -r line < gate; wc -c; }';

describe.concurrent("300 KB through a pipe that nobody reads for a while", () => {
  /** Opens the gate once the model has answered the last time. */
  async function slowly(
    script: Reply[],
    args: string[],
    env = {},
  ): Promise<{ bytes: number; stderr: string; at: Bench }> {
    const served = Promise.withResolvers<void>();
    let at: Bench | null = null;
    const bench = await openBench(
      (_, index) => {
        if (index >= script.length - 1) served.resolve();
        return script[index] ?? {};
      },
      // Outside the sandbox, whose commands can't signal the program.
      { config: { permission: { bash: "allow" }, maxRetries: 0, sandbox: "off" } },
    );
    at = bench;
    Bun.spawnSync(["mkfifo", bench.path("gate")]);
    const run = at.start(args, { shell: SLOW, env });
    await served.promise;
    // Blocks until the reader has its end open.
    const gate = Bun.spawn(["sh", "-c", "echo go > gate"], { cwd: bench.dir });
    await gate.exited;
    const { stdout, stderr } = await run.ended;
    return { bytes: Number(stdout.trim()), stderr, at: bench };
  }

  test("text arrives whole", async () => {
    const { bytes, stderr } = await slowly([{ text: LONG }], ["-p", "go"]);
    expect([bytes, stderr]).toEqual([LONG.length + 1, expect.stringMatching(/^\d.* out, .*\nexit 0\n$/)]);
  });

  test("JSON arrives whole", async () => {
    const { bytes, stderr } = await slowly([{ text: LONG }], ["-p", "go", "--json"]);
    expect(bytes).toBeGreaterThan(LONG.length);
    expect(stderr).toMatch(/^(?:\d.* out, .*\n)?exit 0\n$/);
  });

  test("so does what was said before the stream broke", async () => {
    const { bytes, stderr } = await slowly([{ raw: unfinished(LONG) }], ["-p", "go"]);
    expect(bytes).toBe(LONG.length + 1);
    expect(stderr).toMatch(/shiro: .*\nexit 4\n$/);
  });

  test("and what was said before --timeout", async () => {
    const { bytes, stderr } = await slowly([{ text: LONG, hang: "stream" }], ["-p", "go", "--timeout", "4s"]);
    expect(bytes).toBe(LONG.length + 1);
    expect(stderr).toEndWith("exit 7\n");
  });

  test("and what was said before a SIGTERM", async () => {
    const script = [{ text: LONG, calls: [{ name: "bash", input: { command: "kill -TERM $PPID; sleep 20" } }] }];
    const { bytes, stderr } = await slowly(script, ["-p", "go"]);
    expect(bytes).toBe(LONG.length + 1);
    expect(stderr).toEndWith("shiro: interrupted\nexit 143\n");
  });
});

describe.concurrent("a reader that goes away", () => {
  test.each([
    ["--json", ["-p", "go", "--json"]],
    ["text", ["-p", "go"]],
  ])("%s: no stack trace, exit 0, session saved", async (_, args) => {
    const at = await openBench([{ text: LONG }]);
    const { stderr } = await at.run(args, { shell: '{ "$@"; echo "exit $?" >&2; } | head -1 | head -c 10' });
    expect(stderr).toMatch(/^(?:\d.* out, .*\n)?exit 0\n$/);
    expect(savedText(at)).toContain("0123456789abcdef");
  });

  test("ends a run that goes on, and the tools with it", async () => {
    const at = await openBench(
      [{ text: "x", calls: [{ name: "bash", input: { command: "echo begun; while :; do echo more; done" } }] }],
      { config: { permission: { bash: "allow" } } },
    );
    const { stderr } = await at.run(["-p", "go", "--json"], {
      shell: '{ "$@"; echo "exit $?" >&2; } | grep -m1 tool-output >/dev/null',
    });
    expect(stderr).toMatch(/^(?:\d.* out, .*\n)?exit 0\n$/);
    expect(savedText(at)).toContain("It did not finish");
  });

  test.skipIf(!HAS_FULL)("a full disk behind stdout is no success", async () => {
    const at = await openBench([{ text: "lost" }]);
    const { code, stderr } = await at.run(["-p", "go"], { shell: '"$@" > /dev/full' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/shiro: .*(ENOSPC|no space)/i);
  });

  test("a reader that never reads doesn't outlive a signal, and the session is saved", async () => {
    const at = await openBench([{ text: LONG }]);
    const shell = 'mkfifo never && exec 3<>never && exec "$@" >&3';
    const run = at.start(["-p", "go", "--json"], { shell });
    await savedWith(at, "0123456789");
    run.kill("SIGTERM");
    expect([0, 143]).toContain((await run.ended).code);
  });

  test("both streams into one reader that leaves", async () => {
    const at = await openBench([
      { text: "First I look.", calls: [{ name: "list_dir", input: {} }] },
      { text: "Found." },
    ]);
    const { stdout } = await at.run(["-p", "go"], {
      shell: '{ "$@"; echo "exit $?" > code; } 2>&1 | head -1; cat code',
    });
    expect(stdout).toBe("First I look.\nexit 0\n");
  });

  test("a closed stdout or stderr stops nothing", async () => {
    const at = await openBench([{ text: "said" }]);
    expect((await at.run(["-p", "go", "-o", "f"], { shell: '"$@" >&-' })).code).toBe(0);
    expect(readFileSync(at.path("f"), "utf8")).toBe("said\n");
    expect(await at.run(["-p", "go"], { shell: '"$@" 2>&-' })).toMatchObject({ code: 0, stdout: "said\n" });
  });
});
