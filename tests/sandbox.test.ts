/** The sandbox as the rest of the program sees it, and what a login shell hands to its commands, and what is noticed after them. */
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SELF_PROTECTED } from "../src/protect.ts";
import { captureLogin } from "../src/sandbox-login.ts";
import { parsePlan } from "../src/sandbox-plan.ts";
import { settingsOf, type SandboxConfig } from "../src/sandbox-settings.ts";
import { SandboxTmp } from "../src/sandbox-tmp.ts";
import { openWatch } from "../src/sandbox-watch.ts";
import { openSandbox, type SandboxOptions } from "../src/sandbox.ts";
import { isExcludedLine } from "../src/tool-bash-sandbox.ts";
import { landlockAbi } from "./support/sandbox-run.ts";
import { closePlaces, places } from "./support/sandbox-places.ts";

afterAll(closePlaces);

describe("the sandbox as the program sees it", () => {
  const at = places();
  const open = (config: SandboxConfig | undefined, more: Partial<SandboxOptions> = {}) =>
    openSandbox({
      settings: settingsOf(config),
      places: at,
      env: {},
      platform: "linux",
      self: ["/nonexistent/shiro"],
      passed: [],
      isExcluded: isExcludedLine,
      ...more,
    });
  const command = (line: string) => ({ argv: ["bash", "-c", line], cwd: at.workspace, env: {}, command: line });

  test.skipIf(landlockAbi() < 1)("what worked once is not left out later: the command is not run", async () => {
    const where = places();
    const self = [process.execPath, join(import.meta.dir, "../src/main.ts"), "__sandbox"];
    const sandbox = open("on", { places: where, self });
    const entered = await sandbox.enter({ ...command("true"), cwd: where.workspace });
    expect(entered.inside).toBe(true);
    expect(await sandbox.ready()).toMatchObject({ state: "active", why: "" });
    // As after a boot without Landlock, or in a container that refuses it.
    sandbox.settle({ state: "failed", step: "ruleset", errno: 1 });
    self[0] = "/nonexistent/shiro";
    await expect(sandbox.enter(command("true"))).rejects.toThrow(
      "The sandbox can't be set up any more: the self-test could not run",
    );
    sandbox.close();
  });

  test.skipIf(landlockAbi() < 1)(
    "a TMPDIR that can't be used is no reason to go without, and no root is in another",
    async () => {
      const where = places(".aws", "more/inner");
      const self = [process.execPath, join(import.meta.dir, "../src/main.ts"), "__sandbox"];
      for (const TMPDIR of ["/nonexistent", "work", join(where.workspace, "tmp")]) {
        if (TMPDIR.startsWith(where.workspace)) mkdirSync(TMPDIR);
        const sandbox = open("on", { places: where, self, env: { TMPDIR } });
        expect([sandbox.addRoot(join(where.home, "more/inner")), sandbox.addRoot(join(where.home, "more"))]).toEqual([
          null,
          null,
        ]);
        const why = `commands may not read ${where.home}/.aws, and could then`;
        expect([sandbox.addRoot(join(where.home, ".aws")), sandbox.addRoot(join(where.home, ".aws/x"))]).toEqual([
          why,
          why,
        ]);
        const entered = await sandbox.enter({ ...command("true"), cwd: where.workspace });
        if (!entered.inside) throw new Error("it was left outside");
        const { write } = parsePlan(entered.argv.find((text) => text.startsWith("{")) ?? "") ?? { write: [] };
        const tmp = TMPDIR.startsWith(where.workspace) ? [] : [expect.stringContaining("-tmp-")];
        expect(write).toEqual([where.workspace, join(where.home, "more"), ...tmp]);
        sandbox.close();
      }
    },
  );

  test("a link in the place of the temporary directory is not swept", () => {
    const where = places("backups", "tmp");
    const tmp = new SandboxTmp(join(where.home, "tmp"), where.stateHome);
    const [own, kept] = [tmp.open(), tmp.keep("env")];
    expect([own.startsWith(join(where.home, "tmp/")), kept.startsWith(join(where.stateHome, "sandbox/"))]).toEqual([
      true,
      true,
    ]);
    const old = ["1-tmp-aaaaaa", "999999999-tmp-aaaaaa", "999999999-old"].map((name) =>
      join(where.home, "backups", name),
    );
    for (const path of old) {
      mkdirSync(path);
      utimesSync(path, 0, 0);
    }
    renameSync(join(own, ".."), join(where.home, "moved"));
    symlinkSync(join(where.home, "backups"), join(own, ".."));
    tmp.close();
    expect([...old.map(existsSync), existsSync(kept)]).toEqual([true, true, true, false]);
  });

  test("nothing is tested before the first command", () => {
    expect(open("on").status()).toMatchObject({ state: "expected", rung: "none", network: "off", networkAsks: true });
  });

  test("a launcher that can't be started counts as no sandbox, said once", async () => {
    const said: string[] = [];
    const sandbox = open("on", { onUnavailable: (why) => said.push(why) });
    expect(await sandbox.enter(command("true"))).toEqual({ inside: false });
    await sandbox.enter(command("true"));
    expect(said).toEqual([expect.stringContaining("the self-test could not run")]);
    expect(sandbox.promptLine()).toBeNull();
  });

  test.each([
    ["off", "linux", "sandbox.mode is off"],
    ["on", "win32", "No OS sandbox on Windows; approvals are the only barrier; use WSL2"],
    ["on", "darwin", "no tested sandbox on macOS (sandbox.experimental tries sandbox-exec)"],
    ["auto-allow-sandboxed", "freebsd", "no sandbox on freebsd"],
  ] as const)("mode %s on %s: %s", async (mode, platform, why) => {
    const sandbox = open(mode, { platform });
    expect(await sandbox.ready()).toMatchObject({ state: "off", why });
    expect(await sandbox.enter(command("true"))).toEqual({ inside: false });
    expect(sandbox.verdictFor("true").autoAllow).toBe(false);
  });

  test("an experiment on macOS wraps the command, reports nothing and allows nothing", async () => {
    const sandbox = open(
      { mode: "auto-allow-sandboxed", experimental: true },
      { platform: "darwin", env: { TMPDIR: at.home } },
    );
    const entered = await sandbox.enter({ ...command("true"), env: { PATH: "/bin" } });
    if (!entered.inside) throw new Error("it was left outside");
    const { argv, reports, cwd, env } = entered;
    expect([argv[0], argv.slice(-3), reports, cwd, env["SHIRO_SANDBOX"]]).toEqual([
      "/usr/bin/sandbox-exec",
      ["bash", "-c", "true"],
      false,
      at.workspace,
      "macos",
    ]);
    expect(sandbox.verdictFor("true").autoAllow).toBe(false);
    sandbox.close();
  });

  test("what is excluded runs outside and is never allowed by itself", async () => {
    const sandbox = open({ mode: "auto-allow-sandboxed", excluded: ["docker *"] });
    expect(await sandbox.enter(command("docker ps"))).toEqual({ inside: false });
    expect(sandbox.verdictFor("docker ps")).toEqual({ autoAllow: false, why: "it is excluded from the sandbox" });
  });

  test.each([
    ["docker ps", true],
    ["docker ps | docker x", true],
    ["docker ps; curl evil", false],
    ["docker ps > ~/.bashrc", false],
    ["docker run $(curl evil)", false],
    ["sudo docker ps", false],
    ["docker() { evil; }; docker ps", false],
    ["docker 'unclosed", false],
    ["", false],
  ])("%s is excluded by docker *: %p", (line, excluded) => {
    expect(isExcludedLine(line, ["docker *"])).toBe(excluded);
  });

  test("no command is allowed by itself before the test, or where the mode doesn't say so", () => {
    expect(open("auto-allow-sandboxed").verdictFor("true")).toEqual({
      autoAllow: false,
      why: "the sandbox has not been tested yet",
    });
    expect(open("on").verdictFor("true").autoAllow).toBe(false);
  });
});

describe.skipIf(Bun.which("bash") === null)("the login shell", () => {
  const capture = async (files: Record<string, string>, env: Record<string, string> = {}) => {
    const home = places().home;
    for (const [name, text] of Object.entries(files)) writeFileSync(join(home, name), text);
    const login = await captureLogin("bash", { PATH: process.env["PATH"] ?? "", HOME: home, ...env }, () => home);
    if (login === null) throw new Error("nothing was captured");
    const run = (script: string): string =>
      Bun.spawnSync(["bash", "-c", script], { env: { ...login.env, BASH_ENV: login.file } }).stdout.toString();
    return { login, run };
  };

  test("its variables, functions and umask hold for later shells, its noise and its own names don't", async () => {
    const profile =
      "echo noise; export A='x\ny' PATH=/opt/x:$PATH; cd /usr; umask 027; greet() { echo \"hi $1\"; }; sleep 30 &";
    const { login, run } = await capture({ ".bash_profile": profile });
    expect([login.env["A"], login.env["PWD"], login.env["SHLVL"], login.env["_"]]).toEqual([
      "x\ny",
      undefined,
      undefined,
      undefined,
    ]);
    expect(run('greet you; umask; echo "[$BASH_ENV]"; bash -c "greet you" 2>/dev/null || echo none')).toBe(
      "hi you\n0027\n[]\nnone\n",
    );
  });

  test("a BASH_ENV of the user's own is theirs again afterwards", async () => {
    const { run } = await capture({}, { BASH_ENV: "/it's" });
    expect(run('echo "$BASH_ENV"')).toBe("/it's\n");
  });

  test("start-up files that end the shell leave nothing to hand over", async () => {
    const home = places().home;
    writeFileSync(join(home, ".bash_profile"), "exit 1");
    expect(await captureLogin("bash", { PATH: process.env["PATH"] ?? "", HOME: home }, () => home)).toBeNull();
  });

  test("a name kept from commands stays kept although a start-up file sets it", async () => {
    if (landlockAbi() < 1) return console.warn("NO LANDLOCK HERE: not tried");
    const where = places("tmp");
    writeFileSync(join(where.home, ".bash_profile"), "export MY_PROVIDER=from-profile OTHER=kept");
    const self = [process.execPath, join(import.meta.dir, "../src/main.ts"), "__sandbox"];
    const sandbox = openSandbox({
      settings: settingsOf("on"),
      places: where,
      env: { TMPDIR: join(where.home, "tmp"), MY_PROVIDER: "hidden" },
      platform: "linux",
      self,
      passed: [],
      isExcluded: () => false,
    });
    const env = { PATH: process.env["PATH"] ?? "", HOME: where.home };
    const entered = await sandbox.enter({
      argv: ["bash", "-lc", "true"],
      cwd: where.workspace,
      env,
      command: "true",
      login: true,
    });
    if (!entered.inside) throw new Error("it was left outside");
    expect([entered.argv.slice(-3), entered.env["MY_PROVIDER"], entered.env["OTHER"]]).toEqual([
      ["bash", "-c", "true"],
      undefined,
      "kept",
    ]);
    sandbox.close();
  });
});

describe("the watch", () => {
  test("notices what runs code later, and nothing else", () => {
    const { workspace } = places();
    mkdirSync(join(workspace, ".git/hooks"), { recursive: true });
    writeFileSync(join(workspace, ".git/config"), "[core]\n");
    writeFileSync(join(workspace, ".git/hooks/pre-commit"), "#!/bin/sh\n", { mode: 0o644 });
    const watch = openWatch(workspace);
    expect(watch.changed()).toEqual([]);
    writeFileSync(join(workspace, "other.ts"), "");
    writeFileSync(join(workspace, ".git/config"), "[core]\n");
    expect(watch.changed()).toEqual([]);
    writeFileSync(join(workspace, ".git/config"), "[core]\n\tfsmonitor = x\n");
    chmodSync(join(workspace, ".git/hooks/pre-commit"), 0o755);
    writeFileSync(join(workspace, ".envrc"), "x");
    mkdirSync(join(workspace, ".husky/deep"), { recursive: true });
    writeFileSync(join(workspace, ".husky/deep/x"), "");
    expect(watch.changed()).toEqual([".envrc", ".git/config", ".git/hooks/pre-commit", ".husky/deep/x"]);
    rmSync(join(workspace, ".envrc"));
    expect(watch.changed()).toEqual([".envrc"]);
    rmSync(join(workspace, ".git"), { recursive: true });
    expect(watch.changed()).toEqual([".git/config", ".git/hooks/pre-commit"]);
    writeFileSync(join(workspace, ".git"), "gitdir: made\n");
    expect(watch.changed()).toEqual([".git"]);
    expect(watch.changed()).toEqual([]);
  });

  test("knows every place in a project whose change asks", () => {
    const { workspace } = places();
    const watch = openWatch(workspace);
    const ofHome =
      /^library|^\.(?:git\/|gitconfig|config|ssh|bash|profile|z(?!ed)|[kt]?csh|ksh|login|inputrc|x|vimrc|exrc|emacs|gdb|lldb|tmux|screen)/;
    const inProject = SELF_PROTECTED.map(({ path }) => path.replace("**", "x")).filter((path) => !ofHome.test(path));
    const spelled = (path: string): string => path.replace("runconfigurations", "runConfigurations");
    const files = inProject.map((path) => spelled(path === ".shiro/x" ? ".shiro/commands/x" : path)).sort();
    for (const file of files) {
      mkdirSync(dirname(join(workspace, file)), { recursive: true });
      writeFileSync(join(workspace, file), "");
    }
    expect(files.length).toBeGreaterThan(15);
    expect(watch.changed()).toEqual(files);
  });
});
