/** Which build install.sh takes on which machine, from where, and what it says of PATH. The machines are stand-ins for uname, ldd and the like. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type InstallKit, openInstallKit, scriptText } from "./support/install-kit.ts";

let kit: InstallKit;
beforeAll(async () => {
  kit = await openInstallKit();
});
afterAll(() => kit.close());

interface Machine {
  system?: string;
  processor?: string;
  ldd?: string;
  avx2?: boolean;
  translated?: boolean;
  libstdcxx?: boolean;
}

/** Programs that describe the machine, and the script with its library directory moved to one of ours. */
function machine({ system = "Linux", processor = "x86_64", ldd = "", ...has }: Machine): {
  PATH: string;
  script: string;
} {
  const fakes = kit.fakes({
    uname: `case "$1" in -s) echo ${system} ;; *) echo ${processor} ;; esac`,
    ldd: `echo "${ldd || "ldd (Debian GLIBC 2.36-9) 2.36"}"`,
    sysctl: `echo ${has.translated ? 1 : 0}`,
    grep: `case "$*" in *avx2*) ${has.avx2 === false ? "exit 1" : "exit 0"} ;; esac\nexec ${Bun.which("grep")} "$@"`,
  });
  const library = mkdtempSync(join(kit.base, "lib-"));
  if (has.libstdcxx) writeFileSync(join(library, "libstdc++.so.6.0.33"), "");
  const script = join(library, "install.sh");
  writeFileSync(script, scriptText().replaceAll("/usr/lib/libstdc++", `${library}/libstdc++`));
  return { PATH: `${fakes}:${process.env["PATH"] ?? ""}`, script };
}

const MUSL = "musl libc (x86_64)";

test.each<[string, Machine, string]>([
  ["Linux", {}, "linux-x64"],
  ["Linux of another name for its libc", { ldd: "ldd (GNU libc) 2.38" }, "linux-x64"],
  ["Linux without AVX2", { avx2: false }, "linux-x64-baseline"],
  ["Linux on ARM, AVX2 or not", { processor: "aarch64", avx2: false }, "linux-arm64"],
  ["Alpine", { ldd: MUSL, libstdcxx: true }, "linux-x64-musl"],
  ["Alpine on ARM", { ldd: MUSL, libstdcxx: true, processor: "aarch64", avx2: false }, "linux-arm64-musl"],
  ["a Mac", { system: "Darwin", processor: "arm64" }, "darwin-arm64"],
  ["an Intel Mac", { system: "Darwin" }, "darwin-x64"],
  ["a Mac whose shell runs translated", { system: "Darwin", translated: true }, "darwin-arm64"],
])("%s gets the build for it", async (_, described, target) => {
  const { PATH, script } = machine(described);
  const run = await kit.run(kit.nowhere, { script, env: { PATH } });
  expect(run.stdout).toBe(`Downloading shiro-${target}.tar.gz from ${kit.nowhere}\n`);
});

test.each<[string, Machine, string]>([
  ["musl without libstdc++", { ldd: MUSL }, "libstdc++ is missing. Run: apk add libstdc++"],
  ["musl without AVX2", { ldd: MUSL, libstdcxx: true, avx2: false }, "no build for musl on a processor without AVX2"],
  ["an unknown processor", { processor: "sparc64" }, "no build for the processor sparc64"],
  ["an unknown system", { system: "FreeBSD" }, "FreeBSD is not supported here. On Windows use install.ps1"],
  [
    "Git's shell on Windows",
    { system: "MINGW64_NT-10.0" },
    "MINGW64_NT-10.0 is not supported here. On Windows use install.ps1",
  ],
])("%s is refused before anything is downloaded", async (_, described, reason) => {
  const { PATH, script } = machine(described);
  const run = await kit.run(kit.publish("good"), { script, env: { PATH } });
  expect(run).toMatchObject({ code: 1, stdout: "", stderr: `install.sh: ${reason}\n`, files: [], requests: [] });
});

describe("without a mirror", () => {
  test.each([
    ["the latest release", {}, "https://github.com/shiro-neko/shiro/releases/latest/download"],
    ["a version", { SHIRO_VERSION: "1.2.3" }, "https://github.com/shiro-neko/shiro/releases/download/v1.2.3"],
    [
      "a version as its tag",
      { SHIRO_VERSION: "v1.2.3" },
      "https://github.com/shiro-neko/shiro/releases/download/v1.2.3",
    ],
    ["another repository", { SHIRO_REPO: "me/mine" }, "https://github.com/me/mine/releases/latest/download"],
  ])("%s comes from GitHub, over https and nothing less", async (_, env: Record<string, string>, url) => {
    const log = join(mkdtempSync(join(kit.base, "log-")), "log");
    const PATH = `${kit.fakes({ curl: `echo "$*" >>${log}; exit 22` })}:${process.env["PATH"] ?? ""}`;
    const run = await kit.run("", { env: { ...env, PATH } });
    expect([run.code, run.stderr]).toEqual([1, `install.sh: download failed: ${url}/checksums.txt\n`]);
    const asked = (await Bun.file(log).text()).trim();
    expect(asked).toEndWith(` ${url}/checksums.txt`);
    expect(asked).toContain("--proto =https");
  });
});

describe("PATH", () => {
  const shiroIn = (folder: string): string => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "shiro"), "#!/bin/sh\n", { mode: 0o755 });
    return folder;
  };
  test("fish is told in its own words", async () => {
    const run = await kit.run(kit.publish("good"), { env: { SHELL: "/usr/bin/fish" } });
    expect(run.stdout).toContain(`${run.into} is not on your PATH. Run:  fish_add_path "${run.into}"`);
  });

  test("nothing is said where it is already right", async () => {
    const into = mkdtempSync(join(kit.base, "right-"));
    const env = { SHIRO_INSTALL_DIR: into, PATH: `${into}:${process.env["PATH"] ?? ""}` };
    const run = await kit.run(kit.publish("good"), { env });
    expect([run.code, run.stdout.includes("PATH")]).toEqual([0, false]);
  });

  test("another shiro that comes first is named", async () => {
    const [into, other] = [mkdtempSync(join(kit.base, "later-")), shiroIn(join(kit.base, "earlier"))];
    const env = { SHIRO_INSTALL_DIR: into, PATH: `${other}:${into}:${process.env["PATH"] ?? ""}` };
    const run = await kit.run(kit.publish("good"), { env });
    expect(run.stdout).toContain(`Another shiro comes first on your PATH: ${other}/shiro\n`);
  });

  test("the default place is the user's own, and root's for root", async () => {
    for (const [id, place] of [
      ["1000", join(kit.base, ".local/bin")],
      ["0", "/usr/local/bin"],
    ] as const) {
      const PATH = `${kit.fakes({ id: `echo ${id}`, rm: `echo "$@"` })}:${process.env["PATH"] ?? ""}`;
      const run = await kit.run("", { args: ["--uninstall"], env: { PATH, SHIRO_INSTALL_DIR: undefined } });
      expect(run.stdout + run.stderr).toContain(`${place}/shiro`);
    }
  });
});
