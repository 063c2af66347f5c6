/** Children: bounded, ended on time, and nothing left behind; and what is kept of their output. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { childEnv } from "../src/child-env.ts";
import { cleanText, HeadTail, LineCleaner, LivePieces, looksBinary, SpillFile } from "../src/spawn-capture.ts";
import { endAll, runCommand, SpawnError, type SpawnRequest } from "../src/spawn.ts";

const dir = mkdtempSync(join(tmpdir(), "shiro-spawn-"));
afterAll(async () => {
  await endAll();
  rmSync(dir, { recursive: true, force: true });
});
const env = { PATH: process.env.PATH ?? "/usr/bin:/bin" };
let calls = 0;

function run(script: string, more: Partial<SpawnRequest> = {}) {
  const never = new AbortController().signal;
  return runCommand({
    argv: ["sh", "-c", script],
    cwd: dir,
    env,
    callId: "c",
    timeoutMs: 10_000,
    signal: never,
    spillPath: join(dir, "spill", `s${calls++}`),
    ...more,
  });
}

/** Whether a process is there and no zombie. */
function isRunning(pid: string): boolean {
  const ps = Bun.spawnSync(["ps", "-o", "stat=", "-p", pid]).stdout.toString().trim();
  return ps !== "" && !ps.startsWith("Z");
}

const pidsIn = (file: string): string[] => readFileSync(join(dir, file), "utf8").trim().split("\n");

test.skipIf(process.platform !== "linux")(
  "outputs can be opened by their names, and no descriptor is left",
  async () => {
    const open = (): number => readdirSync("/proc/self/fd").length;
    await run("true");
    const before = open();
    const result = await run("echo out > /dev/stdout; echo x | tee /dev/stderr > /proc/self/fd/1");
    expect([result.stdout, result.stderr, result.exitCode]).toEqual(["out\nx\n", "x\n", 0]);
    await expect(run("", { argv: ["/nonexistent/program"] })).rejects.toThrow(SpawnError);
    expect(open()).toBe(before);
  },
);

describe("a child's end", () => {
  test("exit code, both streams and the time are reported", async () => {
    const result = await run("echo out; echo err >&2; exit 3");
    expect({ ...result, ms: 0 }).toEqual({
      ended: "exited",
      exitCode: 3,
      signal: null,
      stdout: "out\n",
      stderr: "err\n",
      ms: 0,
      background: false,
      spill: null,
    });
    expect(result.ms).toBeGreaterThan(0);
  });

  test("a signal is named and is no exit code", async () => {
    const result = await run("kill -SEGV $$");
    expect([result.exitCode, result.signal]).toEqual([null, "SIGSEGV"]);
  });

  test("a background child goes on writing after the result, and ends with endAll", async () => {
    const fifo = join(dir, "told");
    await run(`mkfifo ${fifo}`);
    const script = `(sleep 0.4; i=0; while [ $i -lt 20000 ]; do echo tick; i=$((i+1)); done; echo alive > ${fifo}) & echo started`;
    const result = await run(script);
    expect([result.stdout, result.background]).toEqual(["started\n", true]);
    expect(await Bun.file(fifo).text()).toBe("alive\n");
  });

  test("a background child that holds the pipe holds up nothing, is noticed, and ends with endAll", async () => {
    const result = await run("sleep 300 & echo $! > bg1; echo done");
    expect([result.stdout, result.ended, result.background]).toEqual(["done\n", "exited", true]);
    const silent = await run("sleep 300 >/dev/null 2>&1 & echo $! > bg2");
    expect(silent.background).toBe(true);
    const pids = [...pidsIn("bg1"), ...pidsIn("bg2")];
    expect(pids.map(isRunning)).toEqual([true, true]);
    await endAll();
    expect(pids.map(isRunning)).toEqual([false, false]);
  }, 60_000);

  test("a timeout ends the whole group, deaf children included, and keeps what came", async () => {
    const result = await run("echo begun; trap '' TERM; echo $$ > deaf; sleep 300 & echo $! >> deaf; wait; sleep 300", {
      timeoutMs: 800,
    });
    expect([result.ended, result.stdout, result.background]).toEqual(["timeout", "begun\n", false]);
    expect(pidsIn("deaf").map(isRunning)).toEqual([false, false]);
  }, 60_000);

  test("an abort ends a pipeline at once", async () => {
    const stop = new AbortController();
    const script = "echo $$ > pipe; echo ready; sleep 300 | cat";
    const result = await run(script, { signal: stop.signal, onOutput: () => stop.abort() });
    expect(result.ended).toBe("aborted");
    expect(pidsIn("pipe").map(isRunning)).toEqual([false]);
    const reason = new Error("before");
    await expect(run("echo never > never", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(existsSync(join(dir, "never"))).toBe(false);
  });

  test.if(process.platform === "linux")("a child that left the session is found by its mark", async () => {
    const stop = new AbortController();
    const script =
      "setsid sh -c 'echo $$ > stray; exec sleep 300' & while [ ! -s stray ]; do :; done; echo ready; sleep 300";
    const result = await run(script, { signal: stop.signal, onOutput: () => stop.abort() });
    expect(result.ended).toBe("aborted");
    expect(pidsIn("stray").map(isRunning)).toEqual([false]);
  });

  test("standard input is at its end and there is no terminal", async () => {
    const result = await run("cat; read x || echo eof; (: </dev/tty) 2>/dev/null || echo none");
    expect(result.stdout).toBe("eof\nnone\n");
  });

  test("what can't be started says why", async () => {
    const failure = (request: Partial<SpawnRequest>) =>
      run("", request).then(
        () => null,
        (error: Error) => [error instanceof SpawnError, error.message],
      );
    expect(await failure({ argv: ["/no/such/program"] })).toEqual([
      true,
      `/no/such/program is not on PATH, or the directory ${dir} is gone.`,
    ]);
    expect(await failure({ argv: ["sh", "-c", `: ${"x".repeat(3_000_000)}`] })).toEqual([
      true,
      "The command is too long for the system; write it to a file and run that.",
    ]);
  });
});

describe("output", () => {
  test("endless output is kept at both ends in bounded memory, and the deadline still comes", async () => {
    const before = process.memoryUsage.rss();
    let live = 0;
    const result = await run("yes", { timeoutMs: 600, onOutput: (text) => (live += text.length) });
    expect([result.ended, result.stdout.length < 40_000, live < 1_100_000]).toEqual(["timeout", true, true]);
    expect(result.stdout).toMatch(/^y\ny\n[^]*\n\[… \d+ characters left out …\]\n[^]*y\n$/);
    expect(statSync(result.spill?.path ?? "").size).toBeLessThanOrEqual(50 * 1024 * 1024);
    // What was read is gigabytes; the collector of a busy machine may run late.
    expect(process.memoryUsage.rss() - before).toBeLessThan(256 * 1024 * 1024);
  });

  test("one enormous line is no trouble", async () => {
    const result = await run("head -c 100000000 /dev/zero | tr '\\0' x");
    expect(result.stdout).toMatch(/^x{12288}\n\[… 99967232 characters left out …\]\nx{20480}$/);
    expect(result.spill?.capped).toBe(true);
  });

  test("the spill file holds every byte of both streams and is for its owner only", async () => {
    const result = await run("i=0; while [ $i -lt 6000 ]; do echo line $i; i=$((i+1)); done");
    const path = result.spill?.path ?? "";
    expect(readFileSync(path, "utf8").split("\n")).toHaveLength(6001);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("a key is taken out of the spill file wherever a chunk cuts it, and nothing else is changed", () => {
    const path = join(dir, "spill", `s${calls++}`);
    const spill = new SpillFile(path, (text) => text.replaceAll("canary-key-1234", "[redacted key]"));
    const filler = Buffer.from(Array.from({ length: 40_000 }, (_, index) => (index * 31) % 256));
    const whole = Buffer.concat([filler, Buffer.from("canary-key-1234 é canary-key-1234"), filler]);
    for (let at = 0; at < whole.length; at += 7) spill.push(whole.subarray(at, at + 7));
    expect(spill.close()).toEqual({ path, capped: false });
    const expected = Buffer.concat([filler, Buffer.from("[redacted key] é [redacted key]"), filler]);
    expect(readFileSync(path).equals(expected)).toBe(true);
  });

  test("live output comes in pieces that cut no word of a line, and loses nothing", async () => {
    const pieces: string[] = [];
    const live = new LivePieces((text) => pieces.push(text));
    const whole = "one canary-key-1234\n10%\r20%\rtwo canary-key-1234\n".repeat(20) + "end canary-key-1234";
    for (let at = 0; at < whole.length; at += 5) live.push(whole.slice(at, at + 5));
    live.end();
    expect(pieces.join("")).toBe(whole);
    expect(pieces.filter((piece) => piece.includes("1234")).every((piece) => piece.includes("canary-key-1234"))).toBe(
      true,
    );
    live.push("Continue? ");
    await new Promise<void>((shown) => {
      const waiting = setInterval(() => {
        if (pieces.at(-1) !== "Continue? ") return;
        clearInterval(waiting);
        shown();
      }, 5);
    });
  });

  test("a key is taken out before the output is cut to head and tail", async () => {
    const redact = (text: string): string => text.replaceAll("canary-key-1234", "[redacted key]");
    const { stdout } = await run("i=0; while [ $i -lt 4000 ]; do echo canary-key-1234; i=$((i+1)); done", { redact });
    expect(stdout).toContain("characters left out");
    expect(stdout).not.toMatch(/canary|1234/);
  });

  test("a spill file that can't be written costs only the file", async () => {
    writeFileSync(join(dir, "blocked"), "");
    const result = await run("yes | head -c 100000", { spillPath: join(dir, "blocked/x") });
    expect([result.exitCode, result.spill, result.stdout.startsWith("y\n")]).toEqual([0, null, true]);
  });

  test("binary output is summed up, NUL-separated names are text", async () => {
    expect((await run("head -c 5000 /dev/urandom; head -c 5000 /dev/zero")).stdout).toBe(
      "(binary output, 10000 bytes, not shown)",
    );
    expect((await run("printf 'a\\0b\\0'")).stdout).toBe("a␀b␀");
  });

  test("characters cut by a write's end come out whole", async () => {
    const bytes = Buffer.from("北🌍é\n").toString("hex").match(/../g) ?? [];
    const script = bytes.map((byte) => `printf '\\${Number.parseInt(byte, 16).toString(8)}'`).join("; ");
    let live = "";
    const result = await run(script, { onOutput: (text) => (live += text) });
    expect([result.stdout, live]).toEqual(["北🌍é\n", "北🌍é\n"]);
  });

  test("colours are taken out and only the last state of a progress line is kept", async () => {
    const result = await run(
      "printf '\\033[31mred\\033[0m\\n'; i=0; while [ $i -lt 2000 ]; do printf '%s%%\\r' $i; i=$((i+1)); done; printf 'done\\n'",
    );
    expect(result.stdout).toBe("red\ndone\n");
  });
});

test.each([
  ["plain\n", "plain\n"],
  ["a\r\nb\r\n", "a\nb\n"],
  ["10%\r20%\r30%\n", "30%\n"],
  ["10%\r20%\r", "20%"],
  ["\x1b[1;31mx\x1b[0m", "x"],
  ["\x1b]0;title\x07x\x1b]8;;http://a\x1b\\y", "xy"],
  ["\x1b(Bx\x1b=y\x1bMz", "xyz"],
  ["b\x08bold", "bold"],
  ["a\0b", "a␀b"],
  ["\x9b31mx", "x"],
])("cleaning %j leaves %j", (text, cleaned) => {
  expect(cleanText(text)).toBe(cleaned);
});

test("a NUL in a command is named as what keeps it from starting", async () => {
  await expect(run("echo a\0b")).rejects.toThrow("holds a NUL character");
});

test("cleaning in pieces of any size gives what cleaning at once gives", () => {
  const text = `${"one\r\n\x1b[32mtwo\x1b[0m\n50%\r100%\n".repeat(40)}\x1b[1m${"long".repeat(10_000)}\x1b[0mend`;
  const whole = cleanText(text);
  for (const size of [1, 2, 3, 7, 64, 1000, 8191, 8192, 8193]) {
    let cleaned = "";
    const cleaner = new LineCleaner((part) => (cleaned += part));
    for (let at = 0; at < text.length; at += size) cleaner.push(text.slice(at, at + size));
    cleaner.end();
    expect(cleaned === whole).toBe(true);
  }
});

test("head and tail of a text in pieces are those of the whole", () => {
  const text = Array.from({ length: 30_000 }, (_, line) => `${line}\n`).join("");
  const kept = new HeadTail();
  for (let at = 0; at < text.length; at += 777) kept.push(text.slice(at, at + 777));
  const dropped = text.length - 32 * 1024;
  expect(kept.text()).toBe(
    `${text.slice(0, 12 * 1024)}\n[… ${dropped} characters left out …]\n${text.slice(-20 * 1024)}`,
  );
});

test.each<[string, Uint8Array, boolean]>([
  ["text", Buffer.from("hello\nwörld"), false],
  ["latin-1", Buffer.from("caf\xe9", "latin1"), false],
  ["names with NUL between", Buffer.from("a.ts\0b.ts\0"), false],
  ["zeros", Buffer.alloc(100), true],
  ["an ELF header", Buffer.from("\x7fELF\x02\x01\x01\0", "latin1"), true],
])("%s: binary %p", (_, bytes, binary) => {
  expect(looksBinary(bytes)).toBe(binary);
});

test("the environment of children is quiet and has no keys", () => {
  const env = childEnv(
    {
      PATH: "/bin",
      HOME: "/h",
      LANG: "de_DE",
      OPENAI_API_KEY: "canary-value",
      My_Key: "x",
      COPY: "Bearer canary-value",
      BUN_INSTALL: "/b",
      TERM: "xterm",
      EDITOR: "vi",
      SSH_ASKPASS: "/ask",
      SHIRO_CALL: "old",
      GONE: undefined,
    },
    { remove: ["OPENAI_API_KEY", "MY_KEY"], secretValues: ["canary-value", "/h"] },
  );
  expect(env).toEqual({
    ...{
      PATH: "/bin",
      HOME: "/h",
      LANG: "de_DE",
      TERM: "dumb",
      NO_COLOR: "1",
      PAGER: "cat",
      GIT_PAGER: "cat",
      MANPAGER: "cat",
    },
    ...{
      GIT_TERMINAL_PROMPT: "0",
      DEBIAN_FRONTEND: "noninteractive",
      EDITOR: "false",
      VISUAL: "false",
      GIT_EDITOR: "false",
      GIT_SEQUENCE_EDITOR: "false",
    },
  });
});

test("no temporary directory of a call is left but the spill files", () => {
  expect(readdirSync(join(dir, "spill")).every((name) => /^s\d+$/.test(name))).toBe(true);
});
