/** The program where little is as it should be: no home, a read-only one, a full disk, odd terminals; and what it shows without a model. */
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EXIT } from "../src/errors.ts";
import { closeBenches, openBench, runShiro } from "./support/binary.ts";
import { eventFaults } from "./support/event-check.ts";
import type { Reply } from "./support/model-server.ts";

afterAll(closeBenches);

const WORK: Reply[] = [
  { calls: [{ name: "write_file", input: { path: "made", content: "x\n" } }] },
  { calls: [{ name: "bash", input: { command: "head -c 100000 /dev/zero | tr '\\0' x" } }] },
  { calls: [{ name: "remember", input: { kind: "fact", text: "the port is 8080" } }] },
  { text: "over" },
];
const UNSAVED = /Saving fails|nothing is saved/g;
/** A mount namespace of one's own is what stops root from writing, and what gives a small disk. */
const canMount =
  Bun.which("unshare") !== null && Bun.spawnSync(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]).success;
if (!canMount)
  console.error("SKIPPED: the tests of a read-only home and of a full disk need unshare and the right to mount");

describe.concurrent("a home that can't be written", () => {
  const none = (): void => {};
  test.each<[string, Record<string, string | undefined>, (base: string) => void]>([
    ["HOME that doesn't exist", { HOME: "/nonexistent", SHIRO_HOME: undefined }, none],
    ["SHIRO_HOME below a file", { SHIRO_HOME: "/dev/null/x" }, none],
    ["SHIRO_HOME is a file", { SHIRO_HOME: "../file" }, (base) => writeFileSync(join(base, "file"), "mine")],
    ["a kernel directory", { SHIRO_HOME: "/proc/shiro" }, none],
  ])("%s: the work is done, the user is told once", async (_, env, prepare) => {
    const at = await openBench(WORK);
    prepare(join(at.dir, ".."));
    const { code, stdout, stderr } = await at.run(["-p", "go", "--yolo"], { env });
    expect([code, stdout]).toEqual([0, "over\n"]);
    expect(readFileSync(at.path("made"), "utf8")).toBe("x\n");
    expect(stderr.match(UNSAVED)).toHaveLength(1);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(at.server.faults).toEqual([]);
  });

  test("HOME unset: the account's own home is used, or nothing is saved; never a crash", async () => {
    const at = await openBench([{ text: "ok" }]);
    const env = { HOME: undefined, SHIRO_HOME: undefined };
    expect(await at.run(["-p", "go", "--ephemeral"], { env })).toMatchObject({ code: 0, stdout: "ok\n" });
  });

  test.skipIf(!canMount)("a read-only home", async () => {
    const at = await openBench(WORK);
    // Root ignores modes; a mount namespace of its own with a read-only mount stops it too.
    const inner = 'mount --bind "$SHIRO_HOME" "$SHIRO_HOME" && mount -o remount,ro,bind "$SHIRO_HOME" && exec "$@"';
    const shell = `unshare -m sh -c '${inner}' sh "$@"`;
    const { code, stdout, stderr } = await at.run(["-p", "go", "--yolo"], { shell });
    expect([code, stdout]).toEqual([0, "over\n"]);
    expect(stderr.match(UNSAVED)).toHaveLength(1);
    expect(readdirSync(at.home)).toEqual([]);
  });

  test.skipIf(!canMount)("a full disk", async () => {
    const at = await openBench(WORK);
    const inner =
      'mount -t tmpfs -o size=64k none "$SHIRO_HOME" && head -c 60000 /dev/zero > "$SHIRO_HOME/filler"; "$@"; code=$?; ls -lR "$SHIRO_HOME" >&2; exit $code';
    const shell = `unshare -m sh -c '${inner}' sh "$@"`;
    const { code, stderr, events } = await at.run(["-p", "go", "--yolo", "--json"], { shell });
    expect(code).toBe(0);
    expect(events.map((event) => (event.type === "text" ? event.text : "")).join("")).toBe("over");
    expect(await eventFaults(events)).toEqual([]);
    const notices = events.filter((event) => event.type === "notice").map((event) => String(event.message));
    expect(notices.filter((message) => message.match(UNSAVED))).toEqual([expect.stringContaining("the disk is full")]);
    expect(stderr).toContain("filler");
    expect(stderr).not.toContain(".tmp");
    expect(at.server.faults).toEqual([]);
  });

  test("a workspace that can't be written: reading works, writing says why not", async () => {
    const calls = [
      { name: "read_file", input: { path: "version" } },
      { name: "write_file", input: { path: "made", content: "x" } },
    ];
    const at = await openBench([{ calls }, { text: "over" }]);
    const { code, events } = await at.run(["-p", "go", "--yolo", "--json", "-C", "/proc"]);
    expect(code).toBe(0);
    expect(events.filter((event) => event.type === "tool-result").map((event) => event.name)).toEqual(["read_file"]);
    expect(events.filter((event) => event.type === "tool-error").map((event) => event.name)).toEqual(["write_file"]);
  });

  test("a working directory that is gone ends the run with one plain line", async () => {
    const at = await openBench([{ text: "never" }]);
    const { code, stderr } = await at.run(["-p", "go"], { shell: 'mkdir gone && cd gone && rmdir ../gone && "$@"' });
    expect(code).toBeGreaterThan(0);
    expect(stderr).toMatch(/^.*directory.*\n$/);
  });
});

describe.concurrent("the configuration file", () => {
  test("readable by others: tightened, and said", async () => {
    const at = await openBench([{ text: "ok" }], { config: { model: "other" } });
    chmodSync(join(at.home, "config.json"), 0o644);
    expect((await at.run(["-p", "go"])).stderr).toContain("its mode is 0600 now");
    expect((await at.run(["-p", "go"])).stderr).not.toContain("0600");
  });

  test("environment beats file, flags beat environment, and doctor says which", async () => {
    const at = await openBench([{ text: "ok" }], { config: { model: "from-file", maxTokens: 5000 } });
    await at.run(["-p", "go"], { env: { SHIRO_MODEL: undefined } });
    await at.run(["-p", "go"]);
    await at.run(["-p", "go", "--model", "from-flag"]);
    expect(at.server.requests.map((request) => request.body.model)).toEqual(["from-file", "test-model", "from-flag"]);
    const { stdout } = await at.run(["doctor", "--think", "low"], { env: { SHIRO_WIRE: "responses" } });
    expect(stdout).toMatch(/test-model.*SHIRO_MODEL/);
    expect(stdout).toMatch(/thinking +low +\(--think\)/);
    expect(stdout).toMatch(/endpoint .*, responses by SHIRO_WIRE, /);
    expect(stdout).toMatch(/maxTokens.*5000.*config\.json/);
    expect(stdout).not.toContain("canary-key-2718281828");
    expect(stdout).not.toContain("\x1b");
  });
});

describe.concurrent("without a model", () => {
  test("--version says what it is", async () => {
    const { stdout } = await runShiro({ args: ["--version"], cwd: "/" });
    expect(stdout).toMatch(/^shiro \d+\.\d+\.\d+ \(bun [\d.]+, \w+-\w+, compiled\)\n$/);
  });

  test("the help fits 80 columns and names every exit code", async () => {
    const { stdout, code } = await runShiro({ args: ["--help"], cwd: "/" });
    expect(code).toBe(0);
    for (const exit of Object.values(EXIT)) expect(stdout).toMatch(new RegExp(`\\b${exit}\\b`));
    expect(stdout).not.toContain("\x1b");
  });

  test.each([
    ["demo --yes", ["demo", "--yes"], {}],
    [
      "demo --yes --plain with NO_COLOR on a dumb terminal",
      ["demo", "--yes", "--plain"],
      { TERM: "dumb", LANG: "C", NO_COLOR: "1" },
    ],
  ])("%s repairs its project without a key or a network, in plain text", async (_, args, env) => {
    const at = await openBench([], { endpoint: false });
    const { code, stdout, stderr } = await at.run(args, { env: { ...env, TMPDIR: at.dir } });
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("the model is a script");
    expect(stdout).toContain("The tests pass.");
    expect(stdout).not.toContain("\x1b");
    const folder = /The project is in (\S+);/.exec(stdout)?.[1] ?? "";
    expect(readFileSync(join(folder, "pages.sh"), "utf8")).toContain("+ $2 - 1");
    expect(readdirSync(at.home)).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  test("demo without a terminal and without --yes is refused", async () => {
    const at = await openBench([], { endpoint: false });
    expect(await at.run(["demo"])).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
  });

  test.each([
    ["sessions", ["sessions"]],
    ["cost", ["cost"]],
    ["cost as JSON", ["cost", "--json"]],
    ["prompt", ["prompt"]],
    ["completions", ["completions", "bash"]],
    ["permissions explain", ["permissions", "explain", "bash", "git push", "--json"]],
    ["models", ["models"]],
    ["update", ["update"]],
  ])("shiro %s writes plain text to stdout, also into a pipe that closes", async (_, args) => {
    const at = await openBench([]);
    const { code, stdout } = await at.run(args);
    expect(code).toBe(0);
    expect(stdout).toMatch(/[^]\n$/);
    expect(stdout).not.toContain("\x1b");
    const cut = await at.run(args, { shell: '{ "$@"; echo "exit $?" >&2; } | true' });
    expect(cut.stderr).toBe("exit 0\n");
  });

  test.each(["refused", "gone"])("an endpoint that is %s: one line ends `shiro models` with one line", async (kind) => {
    const at = await openBench([]);
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => Response.json({ error: { message: "bad key" } }, { status: 401 }),
    });
    const env = { SHIRO_BASE_URL: `http://127.0.0.1:${server.port}/v1` };
    if (kind === "gone") await server.stop(true);
    const { code, stdout, stderr } = await at.run(["models"], { env });
    expect([code, stdout]).toEqual([kind === "gone" ? 4 : 3, ""]);
    expect(stderr).toMatch(kind === "gone" ? /^shiro: could not connect to .*\n$/ : /^shiro: .*bad key.*\n$/);
    await server.stop(true);
  });

  test("a subcommand with words it doesn't know says how it is used", async () => {
    const at = await openBench([]);
    expect(await at.run(["schema", "things"])).toMatchObject({
      code: 2,
      stderr: "shiro: Usage: shiro schema events\n",
    });
    expect((await at.run(["permissions", "explain", "bash"])).code).toBe(2);
    expect((await at.run(["completions", "tcsh"])).code).toBe(2);
    expect((await at.run(["sessions", "older"])).stderr).toStartWith("shiro: Too many words. Usage: shiro sessions");
  });
});
