import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const script = join(import.meta.dir, "../install.sh");
const shells = ["sh", "bash", "dash", "busybox"].filter((name) => Bun.which(name));
for (const name of ["dash", "busybox", "shellcheck"])
  if (!Bun.which(name)) console.error(`!! ${name} is not installed: install.sh is not tried with it`);

const base = mkdtempSync(join(tmpdir(), "install-"));
const files = new Map<string, Uint8Array | string>();
let server: ReturnType<typeof Bun.serve>;

beforeAll(() => {
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const body = files.get(new URL(request.url).pathname.slice(1));
      return body === undefined ? new Response("no", { status: 404 }) : new Response(body);
    },
  });
});
afterAll(() => {
  server.stop(true);
  rmSync(base, { recursive: true, force: true });
});

/** A release under a path of its own, with a stand-in for the program. */
function publish(name: string, change: { checksum?: string; program?: string; truncated?: boolean } = {}): string {
  const folder = join(base, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "shiro"), change.program ?? '#!/bin/sh\necho "shiro 9.9.9 (stand-in)"\n', { mode: 0o755 });
  Bun.spawnSync(["tar", "-czf", join(folder, "a.tar.gz"), "-C", folder, "shiro"]);
  const archive = readFileSync(join(folder, "a.tar.gz"));
  const sum = change.checksum ?? createHash("sha256").update(archive).digest("hex");
  const targets = [
    "linux-x64",
    "linux-x64-baseline",
    "linux-arm64",
    "linux-x64-musl",
    "linux-arm64-musl",
    "darwin-x64",
    "darwin-arm64",
  ];
  files.set(`${name}/checksums.txt`, targets.map((target) => `${sum}  shiro-${target}.tar.gz\n`).join(""));
  for (const target of targets)
    files.set(`${name}/shiro-${target}.tar.gz`, change.truncated ? archive.subarray(0, 40) : archive);
  return `http://127.0.0.1:${server.port}/${name}`;
}

async function install(
  url: string,
  options: { shell?: string; env?: Record<string, string>; args?: string[]; input?: string } = {},
) {
  const into = mkdtempSync(join(base, "bin-"));
  const shell = options.shell ?? "sh";
  const argv =
    options.input === undefined
      ? [...(shell === "busybox" ? ["busybox", "sh"] : [shell]), script, ...(options.args ?? [])]
      : [shell];
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: base,
    SHIRO_INSTALL_DIR: into,
    SHIRO_BASE_DOWNLOAD_URL: url,
    ...options.env,
  };
  const child = Bun.spawn(argv, {
    env,
    stdin: options.input === undefined ? "ignore" : new Blob([options.input]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr, into, files: readdirSync(into) };
}

test.skipIf(!Bun.which("shellcheck"))("install.sh is shellcheck clean", () => {
  const run = Bun.spawnSync(["shellcheck", script]);
  expect([run.exitCode, run.stdout.toString()]).toEqual([0, ""]);
});

test.each(shells)("%s installs, says where and how to reach it", async (shell) => {
  const run = await install(publish("good"), { shell });
  expect([run.code, run.stderr, run.files]).toEqual([0, "", ["shiro"]]);
  expect(statSync(join(run.into, "shiro")).mode & 0o777).toBe(0o755);
  expect(run.stdout).toContain(`Installed shiro 9.9.9 (stand-in) in ${run.into}`);
  expect(run.stdout).toContain(`export PATH="${run.into}:$PATH"`);
});

describe("nothing is installed when", () => {
  test.each<[string, () => string, RegExp]>([
    [
      "the checksum is wrong",
      () => publish("wrong", { checksum: "0".repeat(64) }),
      /checksum mismatch for shiro-.*Nothing was installed/,
    ],
    ["the download is cut short", () => publish("cut", { truncated: true }), /checksum mismatch/],
    [
      "the release isn't there",
      () => `http://127.0.0.1:${server.port}/nowhere`,
      /download failed: http:\/\/127\.0\.0\.1:\d+\/nowhere\/checksums\.txt/,
    ],
    [
      "the program does not run here",
      () => publish("broken", { program: "#!/bin/sh\nexit 1\n" }),
      /does not run on this machine/,
    ],
  ])("%s", async (_, url, message) => {
    const run = await install(url());
    expect([run.code, run.files]).toEqual([1, []]);
    expect(run.stderr).toMatch(message);
  });

  test("the machine is unknown", async () => {
    const fake = join(base, "fake");
    mkdirSync(fake, { recursive: true });
    writeFileSync(join(fake, "uname"), '#!/bin/sh\n[ "$1" = -s ] && echo Linux || echo sparc64\n', { mode: 0o755 });
    const run = await install(publish("good"), { env: { PATH: `${fake}:${process.env.PATH ?? ""}` } });
    expect([run.code, run.files]).toEqual([1, []]);
    expect(run.stderr).toBe("install.sh: no build for the processor sparc64\n");
  });

  test("the script itself was cut short, wherever that was", async () => {
    const text = readFileSync(script, "utf8");
    const url = publish("good");
    for (const share of [0.3, 0.6, 0.9, 0.995]) {
      const run = await install(url, { input: text.slice(0, Math.floor(text.length * share)) });
      expect([share, run.files]).toEqual([share, []]);
    }
  });

  test.skipIf(process.getuid?.() === 0)("the directory can't be written", async () => {
    const locked = mkdtempSync(join(base, "locked-"));
    chmodSync(locked, 0o500);
    const run = await install(publish("good"), { env: { SHIRO_INSTALL_DIR: locked } });
    expect([run.code, run.stderr]).toEqual([1, `install.sh: ${locked} can't be written. Set SHIRO_INSTALL_DIR\n`]);
  });
  if (process.getuid?.() === 0) console.error("!! running as root: the read-only directory is not tried");

  test("a file stands where the directory should be", async () => {
    const run = await install(publish("good"), { env: { SHIRO_INSTALL_DIR: "/dev/null/bin" } });
    expect([run.code, run.stderr]).toEqual([1, "install.sh: /dev/null/bin could not be made. Set SHIRO_INSTALL_DIR\n"]);
  });
});

test("an install over a running program replaces the file and leaves the process alone", async () => {
  const url = publish("good");
  const first = await install(url);
  const path = join(first.into, "shiro");
  const before = statSync(path).ino;
  const held = Bun.spawn(["sh", "-c", `exec 3<"${path}"; read _ || true`], { stdin: "pipe" });
  const again = await install(url, { env: { SHIRO_INSTALL_DIR: first.into } });
  expect(again.code).toBe(0);
  expect(statSync(path).ino).not.toBe(before);
  expect(held.exitCode).toBeNull();
  held.kill();
  await held.exited;
});

test("a link planted at the temporary name is not written through", async () => {
  const url = publish("good");
  const victim = join(base, "victim");
  writeFileSync(victim, "mine");
  const into = mkdtempSync(join(base, "planted-"));
  symlinkSync(victim, join(into, "shiro"));
  await install(url, { env: { SHIRO_INSTALL_DIR: into } });
  expect(readFileSync(victim, "utf8")).toBe("mine");
});

test("--uninstall removes the program and says what stays", async () => {
  const { into } = await install(publish("good"));
  const run = await install("", { args: ["--uninstall"], env: { SHIRO_INSTALL_DIR: into } });
  expect([run.code, existsSync(join(into, "shiro"))]).toEqual([0, false]);
  expect(run.stdout).toContain("Settings and sessions stay");
  const again = await install("", { args: ["--uninstall"], env: { SHIRO_INSTALL_DIR: into } });
  expect([again.code, again.stderr]).toEqual([1, `install.sh: there is no ${into}/shiro\n`]);
});

test("wget serves where curl is not installed", async () => {
  const only = join(base, "only-wget");
  mkdirSync(only, { recursive: true });
  const needed = [
    "sh",
    "wget",
    "tar",
    "gzip",
    "mktemp",
    "id",
    "uname",
    "grep",
    "awk",
    "cut",
    "sed",
    "sha256sum",
    "cp",
    "chmod",
    "mv",
    "mkdir",
    "rm",
    "cat",
    "ldd",
    "bash",
  ];
  for (const name of needed) {
    const real = Bun.which(name);
    if (real && !existsSync(join(only, name))) symlinkSync(real, join(only, name));
  }
  if (!Bun.which("wget")) return void console.error("!! wget is not installed: not tried");
  const run = await install(publish("good"), { shell: join(only, "sh"), env: { PATH: only } });
  expect([run.code, run.files]).toEqual([0, ["shiro"]]);
});
