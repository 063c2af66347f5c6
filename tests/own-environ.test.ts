import { expect, test } from "bun:test";
import { join } from "node:path";
import { hideOwnVariables } from "../src/own-environ.ts";

const onLinux = process.platform === "linux";
if (!onLinux) console.error("!! not Linux: the check of /proc/self/environ is skipped");

test.skipIf(!onLinux)(
  "a key is gone from what the kernel shows of the environment, and still known to the program",
  () => {
    const env = { PATH: process.env["PATH"] ?? "", SHIRO_PROBE_KEY: "canary-environ-1" };
    const run = Bun.spawnSync([process.execPath, join(import.meta.dir, "support/environ-probe.ts")], { env });
    expect(JSON.parse(run.stdout.toString())).toEqual({
      blanked: ["SHIRO_PROBE_KEY"],
      before: true,
      after: false,
      held: "canary-environ-1",
    });
  },
);

test("a name that isn't set is not hidden", () => {
  expect(hideOwnVariables(["SHIRO_NO_SUCH_KEY"], process.env)).toEqual([]);
});
