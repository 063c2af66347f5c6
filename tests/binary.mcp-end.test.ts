/** However the program ends, its MCP servers and what they started end with it. */
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BINARY, closeBenches, openBench, type Bench } from "./support/binary.ts";
import { openPty } from "./support/pty.ts";

afterAll(closeBenches);

const SERVER = join(import.meta.dir, "support/mcp-server.ts");
let count = 0;

/** A server that leaves TERM and the end of its stdin without effect, with a child in a session of its own. */
async function stage(): Promise<{ at: Bench; left(): string[] }> {
  const mark = `86${process.pid}${++count}`;
  const script = `setsid sleep ${mark} & exec '${process.execPath}' '${SERVER}' '{"stubborn":true}' ${mark}`;
  const at = await openBench([{ hang: true }], {
    config: { mcpServers: { stubborn: { command: "sh", args: ["-c", script] } } },
  });
  return { at, left: () => readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && isLeft(pid, mark)) };
}

/** Zombies don't count: nobody may be there to reap them. */
function isLeft(pid: string, mark: string): boolean {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, "latin1");
    return command.includes(`\0${mark}\0`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false; // it ended in between
  }
}

async function until(what: () => boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!what()) {
    if (performance.now() > end) throw new Error("it never happened");
    await Bun.sleep(20);
  }
}

describe.skipIf(process.platform !== "linux").concurrent("nothing of a server is left", () => {
  test.each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
    ["SIGQUIT", 131],
  ] as const)("after %s to a headless run", async (signal, code) => {
    const { at, left } = await stage();
    const run = at.start(["-p", "hi", "--json"]);
    await until(() => at.server.requests.length > 0);
    expect(left()).toHaveLength(2);
    run.kill(signal);
    expect((await run.ended).code).toBe(code);
    expect(left()).toEqual([]);
  });

  test("after a second ctrl-c, which waits for nobody", async () => {
    const { at, left } = await stage();
    const run = at.start(["-p", "hi", "--json"]);
    await until(() => at.server.requests.length > 0);
    run.kill("SIGINT");
    await Bun.sleep(100);
    run.kill("SIGINT");
    expect((await run.ended).code).toBe(130);
    await until(() => left().length === 0);
  });

  test("after SIGTERM to `shiro mcp test`", async () => {
    const { at, left } = await stage();
    const run = at.start(["mcp", "test", "stubborn"]);
    await until(() => left().length === 2);
    run.kill("SIGTERM");
    expect((await run.ended).signal).toBe("SIGTERM");
    await until(() => left().length === 0);
  });

  test("after the end of a session at a terminal", async () => {
    const { at, left } = await stage();
    const pty = openPty([BINARY], { cwd: at.dir, env: { ...terminalEnv(at), HOME: at.home, SHIRO_HOME: at.home } });
    await until(() => left().length === 2);
    pty.close();
    expect(await pty.exited).toBe(129);
    await until(() => left().length === 0);
  });
});

function terminalEnv({ env }: Bench): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
