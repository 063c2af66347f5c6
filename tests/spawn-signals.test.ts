/** A child that lives longer than one call ends with this process, however that ends. Real processes. */
import { expect, test } from "bun:test";
import { join } from "node:path";

const SPAWN = join(import.meta.dir, "../src/spawn.ts");

/** Starts a child in a session of its own, has it adopted, prints its pid and then does `last`. */
const program = (last: string): string => `
  import { adoptFamily } from ${JSON.stringify(SPAWN)};
  const child = Bun.spawn(["sleep", "300"], { detached: true, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  adoptFamily({ pid: child.pid, mark: "no-such-mark" });
  console.log(child.pid);
  setInterval(() => {}, 1000);
  ${last}
`;

function isRunning(pid: number): boolean {
  try {
    return (
      process.kill(pid, 0) && !/^State:\s*Z/m.test(Bun.spawnSync(["cat", `/proc/${pid}/status`]).stdout.toString())
    );
  } catch {
    return false; // ESRCH
  }
}

test.skipIf(process.platform === "win32").concurrent.each([
  ["an exception nobody caught", "setTimeout(() => { throw new Error('bug') }, 1)", 1, null],
  ["a rejection nobody caught", "setTimeout(() => void Promise.reject(new Error('bug')), 1)", 1, null],
  ["process.exit", "setTimeout(() => process.exit(3), 1)", 3, null],
  ["SIGTERM without a handler", "setTimeout(() => process.kill(process.pid, 'SIGTERM'), 1)", null, "SIGTERM"],
  ["SIGINT without a handler", "setTimeout(() => process.kill(process.pid, 'SIGINT'), 1)", null, "SIGINT"],
  ["SIGHUP without a handler", "setTimeout(() => process.kill(process.pid, 'SIGHUP'), 1)", null, "SIGHUP"],
  [
    "SIGTERM with a handler of the program's",
    "process.on('SIGTERM', () => process.exit(9)); setTimeout(() => process.kill(process.pid, 'SIGTERM'), 1)",
    9,
    null,
  ],
] as const)("%s", async (_, last, code, signal) => {
  const run = Bun.spawn([process.execPath, "-e", program(last)], { stdout: "pipe", stderr: "ignore" });
  const pid = Number(await new Response(run.stdout).text());
  await run.exited;
  expect([run.signalCode === null ? run.exitCode : null, run.signalCode]).toEqual([code, signal]);
  expect(pid).toBeGreaterThan(1);
  // KILL was sent before the end; the kernel may take a moment for it.
  for (let looks = 0; isRunning(pid) && looks < 100; looks++) await Bun.sleep(20);
  expect(isRunning(pid)).toBe(false);
});
