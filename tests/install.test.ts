/** install.sh against a release on loopback, in every shell it is meant for: what it puts in place, and when it puts nothing. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import {
  type InstallKit,
  type ReleaseChange,
  SCRIPT,
  STAND_IN_VERSION,
  USED_TOOLS,
  openInstallKit,
  scriptText,
} from "./support/install-kit.ts";

const shells = ["bash", "dash", "busybox"].filter((name) => Bun.which(name));
for (const name of ["bash", "dash", "busybox", "shellcheck", "curl", "wget"])
  if (!Bun.which(name)) console.error(`!! ${name} is not installed: install.sh is not tried with it`);

let kit: InstallKit;
beforeAll(async () => {
  kit = await openInstallKit();
});
afterAll(() => kit.close());

test.skipIf(!Bun.which("shellcheck"))("install.sh is shellcheck clean", () => {
  const run = Bun.spawnSync(["shellcheck", SCRIPT]);
  expect([run.exitCode, run.stdout.toString()]).toEqual([0, ""]);
});

test.each(shells)("%s installs, says where and how to reach it", async (shell) => {
  const run = await kit.run(kit.publish("good"), { shell });
  expect([run.code, run.stderr, run.files]).toEqual([0, "", ["shiro"]]);
  expect(statSync(join(run.into, "shiro")).mode & 0o777).toBe(0o755);
  expect(run.stdout).toContain(`Installed ${STAND_IN_VERSION} in ${run.into}`);
  expect(run.stdout).toContain(`export PATH="${run.into}:$PATH"`);
  expect(run.stdout).toContain(`Try: ${run.into}/shiro demo\n`);
});

describe("nothing is installed when", () => {
  const CHANGES: [string, ReleaseChange, RegExp][] = [
    ["the checksum is wrong", { checksum: "0".repeat(64) }, /checksum mismatch for shiro-.*Nothing was installed/],
    ["the archive is shorter than it was", { shortened: true }, /checksum mismatch/],
    ["the connection ends in the middle", { dropped: true }, /download failed: http:\/\/127\.0\.0\.1:\d+\/.*\.tar\.gz/],
    [
      "the program ends without a word",
      { program: "#!/bin/sh\nkill -ILL $$\n" },
      /the downloaded program does not run on this machine\. Nothing was installed\n$/,
    ],
    [
      "the program does not run here",
      { program: "#!/bin/sh\necho no such library >&2\nexit 1\n" },
      /does not run on this machine: no such library\. Nothing was installed/,
    ],
  ];
  test.each(CHANGES)("%s", async (name, change, message) => {
    const run = await kit.run(kit.publish(name.replaceAll(" ", "-"), change));
    expect([run.code, run.files]).toEqual([1, []]);
    expect(run.stderr).toMatch(message);
  });

  test("the release isn't there", async () => {
    const run = await kit.run(kit.nowhere);
    expect([run.code, run.files]).toEqual([1, []]);
    expect(run.stderr).toContain(`install.sh: download failed: ${kit.nowhere}/checksums.txt\n`);
  });

  // As root a directory's mode forbids nothing, and /proc still takes no files.
  test.skipIf(!existsSync("/proc/self/fd"))("the directory can't be written, for root neither", async () => {
    const run = await kit.run(kit.publish("good"), { env: { SHIRO_INSTALL_DIR: "/proc/self/fdinfo" } });
    expect([run.code, run.stderr]).toEqual([
      1,
      "install.sh: /proc/self/fdinfo can't be written. Set SHIRO_INSTALL_DIR\n",
    ]);
  });

  test("a file stands where the directory should be", async () => {
    const run = await kit.run(kit.publish("good"), { env: { SHIRO_INSTALL_DIR: "/dev/null/bin" } });
    expect([run.code, run.stderr]).toEqual([1, "install.sh: /dev/null/bin could not be made. Set SHIRO_INSTALL_DIR\n"]);
  });

  test("a directory stands where the program should be", async () => {
    const into = mkdtempSync(join(kit.base, "taken-"));
    mkdirSync(join(into, "shiro"));
    const run = await kit.run(kit.publish("good"), { env: { SHIRO_INSTALL_DIR: into } });
    expect([run.code, run.stderr, run.files]).toEqual([
      1,
      `install.sh: ${into}/shiro is a directory. Set SHIRO_INSTALL_DIR\n`,
      ["shiro"],
    ]);
  });

  test("an option is unknown", async () => {
    const run = await kit.run(kit.publish("good"), { args: ["--force"] });
    expect([run.code, run.stderr, run.requests]).toEqual([
      1,
      "install.sh: unknown option --force (only --uninstall)\n",
      [],
    ]);
  });
});

describe("a script that was cut short does nothing,", () => {
  const text = scriptText();
  const lastLine = text.lastIndexOf("\n", text.length - 2) + 1;
  const everywhere = Array.from({ length: Math.ceil(lastLine / 200) }, (_, index) => index * 200);
  // In its last line each cut counts; what lacks only the line's end is whole.
  const inLastLine = Array.from({ length: text.length - 1 - lastLine }, (_, index) => lastLine + index);

  test("wherever that was", async () => {
    const url = kit.publish("good");
    for (const length of [...everywhere, ...inLastLine]) {
      const run = await kit.run(url, { input: text.slice(0, length) });
      expect([length, run.stdout, run.files, run.requests]).toEqual([length, "", [], []]);
    }
  });

  test.each(shells)("%s agrees", async (shell) => {
    const url = kit.publish("good");
    for (const length of inLastLine.slice(-3)) {
      const run = await kit.run(url, { shell, input: text.slice(0, length) });
      expect([length, run.stdout, run.files, run.requests]).toEqual([length, "", [], []]);
    }
    expect((await kit.run(url, { shell, input: text })).files).toEqual(["shiro"]);
  });
});

test.skipIf(!Bun.which("sleep"))("an install over a running program leaves the process alone", async () => {
  const url = kit.publish("good");
  const into = mkdtempSync(join(kit.base, "running-"));
  const path = join(into, "shiro");
  // A real program: its file is busy while it runs, and can't be written to.
  copyFileSync(Bun.which("sleep") ?? "", path);
  const running = Bun.spawn([path, "60"]);
  const run = await kit.run(url, { env: { SHIRO_INSTALL_DIR: into } });
  expect([run.code, run.stderr, run.files, running.exitCode]).toEqual([0, "", ["shiro"], null]);
  expect(readFileSync(path, "utf8")).toStartWith("#!/bin/sh");
  running.kill();
  await running.exited;
});

test("a link in the program's place is replaced, not written through", async () => {
  const victim = join(kit.base, "victim");
  writeFileSync(victim, "mine");
  const into = mkdtempSync(join(kit.base, "planted-"));
  symlinkSync(victim, join(into, "shiro"));
  await kit.run(kit.publish("good"), { env: { SHIRO_INSTALL_DIR: into } });
  expect(readFileSync(victim, "utf8")).toBe("mine");
  expect(readFileSync(join(into, "shiro"), "utf8")).toContain(STAND_IN_VERSION);
});

test("--uninstall removes the program and says what stays", async () => {
  const { into } = await kit.run(kit.publish("good"));
  const env = { SHIRO_INSTALL_DIR: into };
  const run = await kit.run("", { args: ["--uninstall"], env, input: scriptText() });
  expect([run.code, run.files]).toEqual([0, []]);
  expect(run.stdout).toContain("Settings and sessions stay");
  const again = await kit.run("", { args: ["--uninstall"], env });
  expect([again.code, again.stderr]).toEqual([1, `install.sh: there is no ${into}/shiro\n`]);
});

describe("downloads come through", () => {
  const curl = USED_TOOLS.concat("curl");
  const wget = USED_TOOLS.concat("wget");
  const busybox = (): string | null => Bun.which("busybox");
  const BOXES: [string, () => string | null][] = [
    ["curl alone", () => kit.toolbox(curl)],
    ["wget alone", () => kit.toolbox(wget)],
    // ldd is a script of the C library's, not of busybox.
    [
      "busybox, as on Alpine",
      () =>
        kit.toolbox(
          wget.filter((name) => name !== "ldd"),
          busybox,
        ),
    ],
  ];
  test.each(BOXES)("%s", async (name, box) => {
    const PATH = box();
    if (PATH === null) return void console.error(`!! not everything for ${name} is installed: not tried`);
    // Where no ldd answers, a musl loader decides; this machine may have one.
    if (name.startsWith("busybox")) writeFileSync(join(PATH, "ldd"), "#!/bin/sh\necho GLIBC\n", { mode: 0o755 });
    const run = await kit.run(kit.publish("good"), { shell: join(PATH, "sh"), env: { PATH } });
    expect([run.code, run.stderr, run.files]).toEqual([0, "", ["shiro"]]);
  });

  test("neither, which is said", async () => {
    const PATH = kit.toolbox(USED_TOOLS);
    if (PATH === null) return void console.error("!! not everything that install.sh uses is installed: not tried");
    const run = await kit.run(kit.publish("good"), { shell: join(PATH, "sh"), env: { PATH } });
    expect([run.code, run.stderr]).toEqual([1, "install.sh: neither curl nor wget is installed\n"]);
  });
});
