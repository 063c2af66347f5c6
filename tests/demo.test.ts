/** The demo at a terminal, answered by keys: it says what really happened. */
import { expect, test } from "bun:test";
import { BINARY } from "./support/binary.ts";
import { openPty, type Pty } from "./support/pty.ts";

const SLOW_MS = 15_000;

const demo = (cols = 80): Pty => openPty([BINARY, "demo"], { cols, rows: 60 });

test("allowed step by step it repairs the project; the diff is shown once", async () => {
  const pty = demo();
  for (let step = 0; step < 3; step++) {
    await pty.expect("view whole ", SLOW_MS);
    pty.write("y");
  }
  expect(await pty.exited).toBe(0);
  const text = pty.screen.text();
  expect(text).toContain("\nThe tests pass.\n");
  expect(text.split("+  echo $((($1 + $2 - 1) / $2))")).toHaveLength(2);
  expect(text).toContain("exit code 1 (");
}, 20_000);

test("stopped before a test ran it claims no success, and breaks no word on a narrow screen", async () => {
  const pty = demo(40);
  await pty.expect("view whole ", SLOW_MS);
  pty.write("\x1b");
  expect(await pty.exited).toBe(130);
  expect(pty.screen.text()).toContain("Stopped before the tests passed.");
  expect(pty.screen.text()).not.toContain("The tests pass.");
  expect(pty.screen.text()).toContain("> The page count is wrong for some\n  lists.");
}, 20_000);

test("where there is no sh it says so, and makes nothing", () => {
  const { exitCode, stderr, stdout } = Bun.spawnSync([BINARY, "demo", "--yes"], { env: { PATH: "/nowhere" } });
  expect([exitCode, stdout.toString()]).toEqual([2, ""]);
  expect(stderr.toString()).toBe(
    "shiro: shiro demo tests its project with sh, and there is none on PATH. Install one and run it again\n",
  );
});
