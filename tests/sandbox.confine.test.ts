/** What may run in the sandbox only, what a person allows on top, and what is offered: on a kernel that is said to have passed its test. Nothing is started. */
import { afterAll, describe, expect, test } from "bun:test";
import { realpathSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ToolError } from "../src/errors.ts";
import { rememberTest } from "../src/sandbox-probe.ts";
import type { Rung } from "../src/sandbox-rungs.ts";
import { settingsOf, type SandboxConfig } from "../src/sandbox-settings.ts";
import { openSandbox } from "../src/sandbox.ts";
import { isExcludedLine } from "../src/tool-bash-sandbox.ts";
import { closePlaces, places } from "./support/sandbox-places.ts";

afterAll(closePlaces);

function open(config: SandboxConfig, rung: Rung = "full") {
  const at = places("tmp", "other");
  // One that failed isn't remembered: it is run again, and can't be here.
  rememberTest(at.stateHome, {
    rung,
    abi: rung === "none" ? 0 : 7,
    lost: [],
    problem: rung === "none" ? "refused" : null,
  });
  const sandbox = openSandbox({
    settings: settingsOf(config),
    places: at,
    env: { TMPDIR: join(at.home, "tmp") },
    platform: "linux",
    self: ["/self"],
    passed: [],
    isExcluded: isExcludedLine,
  });
  const request = { argv: ["true"], cwd: at.workspace, env: {}, command: "true" };
  const other = realpathSync(join(at.home, "other"));
  return { at, sandbox, request, other };
}

describe("what may run in the sandbox only", () => {
  test.each([
    ["off", "full", "sandbox.mode is off"],
    ["on", "none", "the self-test could not run"],
    [{ require: "any" }, "net", "files are not protected here"],
    [{ require: "full" }, "fs3", 'this kernel reaches "fs3"'],
    [{ excluded: ["true"] }, "full", "it is excluded from the sandbox"],
  ] as const)("%j on %s: %s", async (config, rung, why) => {
    const { sandbox, request } = open(
      { ...(typeof config === "string" ? { mode: config } : config) } as SandboxConfig,
      rung,
    );
    const refused = sandbox.enter({ ...request, mustConfine: true });
    await expect(refused).rejects.toThrow(`It may run only in the sandbox, and can't: ${why}`);
    await expect(refused).rejects.toThrow(ToolError);
    sandbox.close();
  });

  test("is refused by the launcher too where the kernel is less than it was", async () => {
    for (const [require, accept] of [
      ["any", "fs1"],
      ["fs", "fs1"],
      ["full", "full"],
    ] as const) {
      const { sandbox, request } = open({ require });
      const entered = await sandbox.enter({ ...request, mustConfine: true });
      expect(entered.inside && JSON.parse(entered.argv[1] ?? "").accept).toBe(accept);
      sandbox.close();
    }
  });

  test("a person may still take it out", async () => {
    const { sandbox, request } = open("on");
    expect(await sandbox.enter({ ...request, mustConfine: true, allowed: { outside: true } })).toEqual({
      inside: false,
    });
  });
});

describe("what a person allows on top", () => {
  test("holds for one command, a directory for the session for all that follow", async () => {
    const { sandbox, request, other } = open("on");
    const planOf = async (allowed = {}) => {
      const entered = await sandbox.enter({ ...request, allowed });
      const { network, write } = JSON.parse((entered.inside && entered.argv[1]) || "{}");
      return [network, write.includes(other)];
    };
    expect(await planOf({ network: true, write: [other] })).toEqual(["on", true]);
    expect(await planOf()).toEqual(["off", false]);
    expect(sandbox.addRoot(other)).toBeNull();
    expect([await planOf(), sandbox.status().write.includes(other)]).toEqual([["off", true], true]);
    sandbox.close();
  });

  test("never the home directory, shiro's own, or one that leads elsewhere by now", async () => {
    const { at, sandbox, request } = open("on");
    for (const path of [at.home, at.stateHome]) {
      await expect(sandbox.enter({ ...request, allowed: { write: [path] } })).rejects.toThrow("can't be made writable");
      expect(sandbox.addRoot(path)).not.toBeNull();
    }
    const moved = join(at.home, "moved");
    symlinkSync("other", moved);
    await expect(sandbox.enter({ ...request, allowed: { write: [moved] } })).rejects.toThrow("it leads elsewhere now");
    sandbox.close();
  });
});

test.each([
  ["ask", ["network", "outside"]],
  ["off", ["outside"]],
] as const)("network %s offers %j", async (network, kinds) => {
  const { sandbox, request } = open({ network });
  const entered = await sandbox.enter(request);
  const failure = {
    exitCode: 6,
    signal: null,
    stdout: "",
    stderr: "curl: (6) Could not resolve host: x",
    cwd: "/",
    env: {},
  };
  const explained = entered.inside ? entered.explain(failure) : null;
  expect(explained?.offers.map((offer) => offer.kind)).toEqual([...kinds]);
  sandbox.close();
});

test("the test is run for a verdict only where the mode lets commands run unasked", async () => {
  expect(await open("on").sandbox.testedVerdict("true")).toBeNull();
  expect(await open("auto-allow-sandboxed").sandbox.testedVerdict("true")).toEqual({
    autoAllow: true,
    why: "it runs in the sandbox (full)",
  });
  const { sandbox } = open({ mode: "off", excluded: ["true"] });
  expect([sandbox.excludes("true"), open({ excluded: ["true"] }).sandbox.excludes("true")]).toEqual([false, true]);
});
