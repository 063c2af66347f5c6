/** Whether the sandbox was the cause of a failure, and the least that would help. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { explainFailure, type Failure, type InForce } from "../src/sandbox-explain.ts";
import { rootProblem } from "../src/sandbox-policy.ts";
import { closePlaces, places } from "./support/sandbox-places.ts";

afterAll(closePlaces);

describe("why a command failed", () => {
  const at = places(".ssh");
  const outside = join(at.home, "other");
  mkdirSync(outside);
  writeFileSync(join(outside, "note"), "");
  writeFileSync(join(at.home, ".ssh/id"), "");
  const inForce: InForce = {
    network: "off",
    write: [at.workspace],
    deny: [join(at.home, ".ssh")],
    read: [],
    sharedMemory: true,
    rootProblem: (real) => rootProblem(real, at),
  };
  const failure = (stderr: string, more: Partial<Failure> = {}): Failure => ({
    exitCode: 1,
    signal: null,
    stdout: "",
    stderr,
    cwd: at.workspace,
    env: { LANG: "en_US.UTF-8" },
    ...more,
  });
  const explain = (stderr: string, more: Partial<Failure> = {}, force: Partial<InForce> = {}) => {
    const found = explainFailure(failure(stderr, more), { ...inForce, ...force });
    return found && [found.reason, ...found.offers.map((offer) => (offer.kind === "write" ? offer.path : offer.kind))];
  };
  const write = (path: string) => [`${path} may not be written`, outside, "outside"];

  test.each([
    [`touch: cannot touch '${outside}/new': Permission denied`, `${outside}/new`],
    [`bash: line 1: ${outside}/note: Permission denied`, `${outside}/note`],
    [`Error: EACCES: permission denied, open '${outside}/new'`, `${outside}/new`],
    [`mkdir: cannot create directory ‘../home/other/x/y’: Permission denied`, `${outside}/x/y`],
    [`ln: failed to create hard link '${outside}/l': Invalid cross-device link`, `${outside}/l`],
  ])("%s: offers to let it write there", (stderr, path) => {
    expect(explain(stderr)).toEqual(write(path));
  });

  test("another language is judged by what this process could do", () => {
    const german = `touch: '${outside}/neu' kann nicht berührt werden: Keine Berechtigung`;
    expect(explain(german, { env: { LANG: "de_DE.UTF-8" } })).toEqual(write(`${outside}/neu`));
    expect(explain(german, { env: { LANG: "de_DE.UTF-8", LC_ALL: "C" } })).toBeNull();
  });

  test("a silent curl that reached nobody is taken for what it is, another program's silence isn't", () => {
    expect(explain("", { exitCode: 7 })).toEqual(["the network is off", "network", "outside"]);
    expect(explain("", { exitCode: 6, stdout: "000" })).toEqual(["the network is off", "network", "outside"]);
    expect(explain("", { exitCode: 7 }, { network: "on" })).toBeNull();
    expect(explain("", { exitCode: 1 })).toBeNull();
    expect(explain("", { exitCode: 7, stdout: "7 tests failed" })).toBeNull();
  });

  test("what is a secret may only be read outside", () => {
    const path = join(at.home, ".ssh/id");
    expect(explain(`cat: ${path}: Permission denied`)).toEqual([`${path} may not be read`, "outside"]);
  });

  test("no home directory is offered to be written", () => {
    expect(explain(`touch: cannot touch '${at.home}/new': Permission denied`)).toEqual([
      `${at.home}/new may not be written`,
      "outside",
    ]);
  });

  test("the name of a file that isn't there has no room for a text", () => {
    const path = `${outside}/${"it_is_safe/".repeat(60)}x`;
    const [reason = ""] = explain(`touch: cannot touch '${path}': Permission denied`) ?? [];
    expect(reason).toStartWith(`${outside}/it_is_safe/`);
    expect(reason).toEndWith("/x may not be written");
    expect(reason.length).toBeLessThan(230);
  });

  test("a linked worktree's repository is offered whole", () => {
    const lock = join(outside, ".git/worktrees/w/index.lock");
    mkdirSync(join(outside, ".git/worktrees/w"), { recursive: true });
    expect(explain(`fatal: Unable to create '${lock}': Permission denied`)).toEqual([
      `${lock} may not be written`,
      join(outside, ".git"),
      "outside",
    ]);
  });

  test.each([
    "curl: (6) Could not resolve host: example.org",
    "npm error code ENOTCACHED",
    "getaddrinfo EAI_AGAIN registry.npmjs.org",
    "fatal: unable to access 'https://x/': Couldn't connect to server",
    "bash: socket: Permission denied",
    "Error: listen EACCES: permission denied 0.0.0.0:3000",
    'File "/usr/lib/python3.11/socket.py", line 232, in __init__\nPermissionError: [Errno 13] Permission denied',
    "error: failed to download: you're in the offline mode",
  ])("%s: offers the network", (stderr) => {
    expect(explain(stderr)).toEqual(["the network is off", "network", "outside"]);
    expect(explain(stderr, {}, { network: "on" })).toBeNull();
  });

  test.each([
    ["error: expected ';'", {}],
    [`cat: ${join(at.workspace, "x")}: Permission denied`, {}],
    ["cp: cannot stat '/nowhere/at/all': No such file or directory", {}],
    ["", {}],
    [`note: see ${outside}/note`, {}],
  ])("%s: an ordinary error", (stderr, more) => {
    expect(explain(stderr, more)).toBeNull();
  });

  test("a path this process may not write either is an ordinary error", () => {
    if (process.getuid?.() === 0) {
      // The one place whose modes hold for root too.
      expect(explain("bash: /proc/sys/kernel/ostype: Permission denied", {}, { rootProblem: () => null })).toBeNull();
      return;
    }
    expect(explain("touch: cannot touch '/usr/x': Permission denied")).toBeNull();
  });

  test("a foreign system call is told by its exit code", () => {
    expect(explain("", { exitCode: 159 })).toEqual([
      "a 32-bit program or an old system-call interface was stopped",
      "outside",
    ]);
    expect(explain("", { exitCode: null, signal: "SIGSYS" })).not.toBeNull();
  });

  test("a success is asked only about how it ended", () => {
    const earlier = `curl: (6) Could not resolve host: x\n${"line\n".repeat(12)}`;
    expect(explain("", { exitCode: 0, stdout: earlier })).toBeNull();
    expect(explain("warning: unreachable code\n", { exitCode: 0 })).toBeNull();
  });

  test("a failure that a pipe hid is a hint", () => {
    expect(
      explainFailure(failure("", { exitCode: 0, stdout: "curl: (6) Could not resolve host: x\n" }), inForce)?.hint,
    ).toBe(true);
  });

  test("a message of a megabyte is no work", () => {
    const long = `touch: cannot touch '${outside}/a': Permission denied\n`.repeat(20_000);
    expect(explain(long)).toEqual(write(`${outside}/a`));
  });
});
