/** Sinks over file descriptors: order, slow readers that don't block, readers that left, full disks. Run in children, whose descriptors are theirs alone. */
import { expect, test } from "bun:test";
import { join } from "node:path";

const MODULE = JSON.stringify(join(import.meta.dir, "../src/output-fd.ts"));
const OUTPUT = JSON.stringify(join(import.meta.dir, "../src/output.ts"));

/** Runs a few lines with `stdout` and `stderr` at hand; `redirect` is the shell's part behind the program. */
function run(lines: string, redirect: string): { code: number; out: string; err: string } {
  const program = `import { isTerminal, openSinks } from ${MODULE}; import { Output } from ${OUTPUT};
    const sinks = openSinks(); const stdout = new Output(() => sinks.stdout); const stderr = new Output(() => sinks.stderr);
    ${lines}`;
  const argv = ["bash", "-c", `"$0" -e "$1" ${redirect}`, process.execPath, program];
  const child = Bun.spawnSync(argv, { env: { ...process.env, NO_COLOR: "1" } });
  return { code: child.exitCode, out: child.stdout.toString(), err: child.stderr.toString() };
}

test("what goes to one place by two ways comes out in the order it was written", () => {
  const lines = `for (let at = 0; at < 200; at++) (at % 2 ? stdout : stderr).write(at + "\\n"); await Promise.all([stdout.flush(), stderr.flush()]);`;
  expect(run(lines, "2>&1 | cat").out).toBe(Array.from({ length: 200 }, (_, at) => `${at}\n`).join(""));
});

test("a reader that is slow gets all of it, and the loop goes on meanwhile", () => {
  const lines = `let turns = 0; const tick = setInterval(() => turns++, 1); stdout.write("x".repeat(1e6)); await stdout.flush(); clearInterval(tick); stderr.write(turns > 0 ? "went on" : "stood still"); await stderr.flush();`;
  const { out, err } = run(
    lines,
    "| { dd bs=1 count=1 of=/dev/null 2>/dev/null; for at in {1..2000}; do :; done; wc -c; }",
  );
  expect([Number(out), err]).toEqual([999_999, "went on"]);
});

test("a reader that left is no failure, and nothing more is written", () => {
  const lines = `let closed = 0; stdout.onClose(() => closed++); for (let at = 0; at < 50; at++) { stdout.write("x".repeat(10_000)); await stdout.flush(); } stderr.write(JSON.stringify([closed, stdout.closed, stdout.failure])); await stderr.flush();`;
  expect(run(lines, "| head -c 1 >/dev/null").err).toBe("[1,true,null]");
});

test.skipIf(process.platform !== "linux")("a full disk is a failure", () => {
  const lines = `stdout.write("x"); await stdout.flush(); stderr.write(String(stdout.failure?.message)); await stderr.flush();`;
  expect(run(lines, "> /dev/full").err).toContain("ENOSPC");
});

test("a closed descriptor is no crash", () => {
  const { code, err } = run(
    `stdout.write("x"); await stdout.flush(); stderr.write("fine"); await stderr.flush();`,
    ">&-",
  );
  expect([code, err]).toEqual([0, "fine"]);
});

test("pipes, files and /dev/null are no terminals", () => {
  const lines = `stderr.write([0, 1, 9].map(isTerminal).join(" ")); await stderr.flush();`;
  expect(run(lines, "< /dev/null | cat").err).toBe("false false false");
});
