/** `bash`: what the model is told, which commands may overlap, and other shells. Processes themselves are in spawn.test.ts. */
import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { UnknownOutcomeError } from "../src/errors.ts";
import { bashTool, findShell, isReadOnly } from "../src/tool-bash.ts";
import { bench } from "./support/exec-context.ts";

const bash = bashTool(findShell(process.env, process.platform));
const withoutTime = (text: string): string => text.replace(/, [\d.]+ m?s\]/, ", …]");
const outcome = async (command: string, more: object = {}): Promise<string> =>
  withoutTime((await bench().run(bash, { command, ...more })).text);

test.each([
  ["echo hi", "hi\n[exit code 0, …]"],
  ["true", "(no output)\n[exit code 0, …]"],
  ["grep nothing /dev/null", "(no output)\n[exit code 1, …]"],
  ["exit 300", "(no output)\n[exit code 44, …]"],
  ["echo out; echo err >&2", "out\n[stderr]\nerr\n[exit code 0, …]"],
  ["echo err >&2; false", "[stderr]\nerr\n[exit code 1, …]"],
  ["kill -SEGV $$", "(no output)\n[ended by signal SIGSEGV, …]"],
  ["echo $TERM $PAGER $GIT_TERMINAL_PROMPT $GIT_EDITOR", "dumb cat 0 false\n[exit code 0, …]"],
  [
    "sleep 30 >/dev/null 2>&1 & echo $!  >/dev/null",
    "(no output)\n[exit code 0, …]\n[a background process is still running; its later output is not kept, and it is ended when shiro exits]",
  ],
])("%s", async (command, text) => {
  expect(await outcome(command)).toBe(text);
  const { endAll } = await import("../src/spawn.ts");
  await endAll();
});

test("starts in the workspace root", async () => {
  const at = bench();
  expect((await at.run(bash, { command: "pwd" })).text).toStartWith(`${at.root}\n`);
});

test("prints live and forgets its kill when done", async () => {
  const at = bench();
  await at.run(bash, { command: "echo one; echo two >&2" });
  expect([at.printed.join("").split("\n").sort(), at.kills]).toEqual([["", "one", "two"], []]);
});

test("a timeout throws an unknown outcome with the output so far", async () => {
  const error = await bench()
    .run(bash, { command: "echo begun; sleep 30", timeout: 999 })
    .catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(UnknownOutcomeError);
  expect(String(error)).toBe(
    "UnknownOutcomeError: The command timed out after 999 ms and was stopped. It did not finish; its effects are unknown. Output so far:\nbegun",
  );
});

test("ctrl-c and the turn's signal interrupt a command", async () => {
  const at = bench();
  at.context.output = () => at.kills[0]?.();
  const error = await at.run(bash, { command: "echo begun; sleep 30" }).catch((caught: unknown) => caught);
  expect(String(error)).toContain(
    "was interrupted and stopped. It did not finish; its effects are unknown. Output so far:\nbegun",
  );
  const stop = new AbortController();
  const aborted = bench({}, { signal: stop.signal, output: () => stop.abort() });
  expect(await aborted.run(bash, { command: "echo x; sleep 30" }).catch((caught: unknown) => caught)).toBeInstanceOf(
    UnknownOutcomeError,
  );
});

test("long output stays within a result and names the file with the whole", async () => {
  const text = await outcome("seq 100000; seq 100000 >&2");
  expect(text.length).toBeLessThanOrEqual(30_000);
  expect(text).toMatch(
    /^1\n2\n[^]*characters left out[^]*100000\n\[stderr\]\n1\n2\n[^]*100000\n\[the whole of both streams is in \/[^\n]+\.txt\]\n\[exit code 0, …\]$/,
  );
});

test("a workspace that is gone is an error, not a crash", async () => {
  const at = bench();
  at.context.workspace = { ...at.context.workspace, root: join(at.root, "gone") };
  await expect(at.run(bash, { command: "true" })).rejects.toThrow("is gone");
});

describe("shells", () => {
  test("sh is used and named where bash is missing", async () => {
    const at = bench();
    const bin = join(at.root, "bin");
    mkdirSync(bin);
    symlinkSync(Bun.which("dash") ?? Bun.which("sh") ?? "/bin/sh", join(bin, "sh"));
    // /etc/profile asks for it on some systems.
    symlinkSync(Bun.which("id") ?? "/usr/bin/id", join(bin, "id"));
    const shell = findShell({ PATH: bin }, "linux");
    expect([shell.name, shell.argv("x")]).toEqual(["sh", ["sh", "-lc", "x"]]);
    expect(bashTool(shell).description).toContain("bash is not installed");
    at.context.childEnv.PATH = bin;
    expect(withoutTime((await at.run(bashTool(shell), { command: "echo hi; [ 1 = 1 ] && pwd" })).text)).toBe(
      `hi\n${at.root}\n[exit code 0, …]`,
    );
  });

  test.each([
    ["a script that runs another shell", '#!/bin/sh\nexec busybox ash "$@"\n', "sh"],
    ["a script that sets bash up", '#!/bin/sh\nexec /opt/bash/bin/bash "$@"\n', "bash"],
  ] as const)("%s in bash's place is told by what it runs", (_, script, name) => {
    const at = bench({ "bin/bash": script });
    chmodSync(join(at.root, "bin/bash"), 0o755);
    expect(findShell({ PATH: join(at.root, "bin") }, "linux").name).toBe(name);
  });

  test("a link to a small system's shell in bash's place is not bash", () => {
    const at = bench({ "bin/busybox": "\x7fELF" });
    chmodSync(join(at.root, "bin/busybox"), 0o755);
    symlinkSync("busybox", join(at.root, "bin/bash"));
    expect(findShell({ PATH: join(at.root, "bin") }, "linux").name).toBe("sh");
  });

  test("cmd is called so that it parses the line itself", () => {
    const shell = findShell({ ComSpec: "C:\\cmd.exe" }, "win32");
    expect(shell.argv('dir "a b"')).toEqual(["C:\\cmd.exe", "/d", "/s", "/c", '"dir "a b""']);
    expect(bashTool(shell).concurrencySafe({ command: "dir" })).toBe(false);
  });
});

test.each([
  ["ls -la", true],
  ["cat a | grep b | wc -l", true],
  ["git status && git log -3", true],
  ["pwd; ls; head -5 'a b'", true],
  ["/bin/ls", true],
  ["echo hi > f", false],
  ["cat < f", false],
  ["ls; rm x", false],
  ["ls $(rm x)", false],
  ["X=1 ls", false],
  ["git diff --output=x", false],
  ["git commit -m x", false],
  ["sort -o f f", false],
  ["find . -delete", false],
  ["$cmd", false],
  ["{ ls; } > f", false],
  ["sh -c 'rm x'", false],
  ["ls() { rm x; }; ls", false],
  ["npm test", false],
  ["ls 'unclosed", false],
  ["", false],
])("%j may overlap others: %p", (command, safe) => {
  expect(isReadOnly(command)).toBe(safe);
});
