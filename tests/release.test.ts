/** What a release checks of itself: versions, notes, archives, and programs it can't run. Real builds are for `npm run release`. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { signAdHoc } from "../scripts/macho-sign.ts";
import { tarGz, zip } from "../scripts/release-archive.ts";
import { neededLibraries, programProblems } from "../scripts/release-inspect.ts";
import { releaseNotes, versionProblem } from "../scripts/release-notes.ts";
import { type Machine, TARGETS, type Target, archiveName, programName, runsOn } from "../scripts/release-targets.ts";
import { VERSION } from "../src/version.ts";
import { elf, machO, pe } from "./support/programs.ts";

const base = mkdtempSync(join(tmpdir(), "shiro-release-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));

const root = join(import.meta.dir, "..");

test("eight platforms, each by its name", () => {
  expect(TARGETS.map(programName).join(" ")).toBe(
    "shiro-linux-x64 shiro-linux-x64-baseline shiro-linux-arm64 shiro-linux-x64-musl shiro-linux-arm64-musl " +
      "shiro-darwin-x64 shiro-darwin-arm64 shiro-windows-x64.exe",
  );
  expect(TARGETS.map(archiveName).join(" ")).toBe(
    "shiro-linux-x64.tar.gz shiro-linux-x64-baseline.tar.gz shiro-linux-arm64.tar.gz shiro-linux-x64-musl.tar.gz " +
      "shiro-linux-arm64-musl.tar.gz shiro-darwin-x64.tar.gz shiro-darwin-arm64.tar.gz shiro-windows-x64.zip",
  );
});

test.each<[Machine, string[]]>([
  [{ platform: "linux", arch: "x64", glibc: true }, ["linux-x64", "linux-x64-baseline"]],
  [{ platform: "linux", arch: "arm64", glibc: true }, ["linux-arm64"]],
  [{ platform: "linux", arch: "x64", glibc: false }, ["linux-x64-musl"]],
  [{ platform: "darwin", arch: "arm64", glibc: false }, ["darwin-arm64"]],
  [{ platform: "win32", arch: "x64", glibc: false }, ["windows-x64"]],
  [{ platform: "freebsd", arch: "x64", glibc: false }, []],
])("on %o what can be run is run", (machine, names) => {
  expect(TARGETS.filter((target) => runsOn(target, machine)).map((target) => target.name)).toEqual(names);
});

describe("versions", () => {
  const packaged = (version: string): string => JSON.stringify({ name: "shiro-neko", version });

  test("those of this checkout agree", () => {
    expect(versionProblem(VERSION, readFileSync(join(root, "package.json"), "utf8"), {})).toBeUndefined();
  });

  test.each<[string, string, Record<string, string>, string | undefined]>([
    ["all alike", "1.2.3", { GITHUB_REF_TYPE: "tag", GITHUB_REF_NAME: "v1.2.3" }, undefined],
    ["a branch that looks like a version", "1.2.3", { GITHUB_REF_TYPE: "branch", GITHUB_REF_NAME: "v9" }, undefined],
    ["another tag", "1.2.3", { GITHUB_REF_TYPE: "tag", GITHUB_REF_NAME: "v1.2.4" }, "the tag v1.2.4"],
    ["a tag without its v", "1.2.3", { GITHUB_REF_TYPE: "tag", GITHUB_REF_NAME: "1.2.3" }, "the tag 1.2.3"],
    ["another package.json", "1.2.2", {}, "package.json 1.2.2, the tag nothing"],
  ])("%s", (_, inPackage, env, end) => {
    const problem = versionProblem("1.2.3", packaged(inPackage), env);
    if (end === undefined) expect(problem).toBeUndefined();
    else expect(problem).toStartWith("Versions differ: src/version.ts says 1.2.3, ");
    expect(problem?.endsWith(end ?? "")).toBe(end === undefined ? undefined : true);
  });
});

test("the notes are the changelog's section of the version, else what is unreleased", () => {
  const changelog =
    "# Changelog\n\n## [Unreleased]\n\n- soon\n\n## [1.2.3] - 2026-01-02\n\n### Fixed\n\n- it\n\n## [1.2.2]\n\n- old\n";
  expect(releaseNotes("1.2.3", changelog)).toBe("### Fixed\n\n- it\n");
  expect(releaseNotes("1.2.2", changelog)).toBe("- old\n");
  expect(releaseNotes("2.0.0", changelog)).toBe("- soon\n");
  expect(() => releaseNotes("2.0.0", "# Changelog\n")).toThrow("CHANGELOG.md has no section for 2.0.0");
  expect(releaseNotes(VERSION, readFileSync(join(root, "CHANGELOG.md"), "utf8"))).toContain("### ");
});

describe("archives open with the usual tools", () => {
  const bytes = Buffer.from("#!/bin/sh\necho hello\n".repeat(100));

  test.each([
    ["tar", ["tar"]],
    ["busybox", ["busybox", "tar"]],
  ])("%s", (name, command) => {
    if (!Bun.which(name)) return void console.error(`!! ${name} is not installed: it opens no archive`);
    const folder = mkdtempSync(join(base, "tar-"));
    writeFileSync(join(folder, "a.tar.gz"), tarGz("shiro", bytes, 1_700_000_000));
    expect(Bun.spawnSync([...command, "-xzf", "a.tar.gz"], { cwd: folder }).exitCode).toBe(0);
    const { mode, mtimeMs } = statSync(join(folder, "shiro"));
    expect([readFileSync(join(folder, "shiro")).equals(bytes), mode & 0o777, mtimeMs]).toEqual([true, 0o755, 1.7e12]);
  });

  test("unzip", () => {
    if (!Bun.which("unzip")) return void console.error("!! unzip is not installed: it opens no archive");
    const folder = mkdtempSync(join(base, "zip-"));
    writeFileSync(join(folder, "a.zip"), zip("shiro.exe", bytes));
    expect(Bun.spawnSync(["unzip", "-qq", "a.zip"], { cwd: folder })).toMatchObject({ exitCode: 0 });
    expect(readFileSync(join(folder, "shiro.exe")).equals(bytes)).toBe(true);
  });
});

describe("a program that can't be run here", () => {
  const target = (name: string): Target => {
    const found = TARGETS.find((one) => one.name === name);
    if (!found) throw new Error(`no target ${name}`);
    return found;
  };
  const tail = 'x="1.2.3";';
  const glibc = ["libc.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2"];
  const musl = { loader: "/lib/ld-musl-x86_64.so.1", libraries: ["libstdc++.so.6", "libc.musl-x86_64.so.1"] };
  const signed = (arch: "x64" | "arm64"): Buffer => {
    const plain = machO({ arch });
    plain.write(tail, 20_000, "latin1");
    return signAdHoc(plain, "shiro");
  };

  test.each<[string, Buffer]>([
    ["linux-x64", elf({ libraries: glibc, tail })],
    ["linux-arm64", elf({ machine: 183, loader: "/lib/ld-linux-aarch64.so.1", libraries: ["libm.so.6"], tail })],
    ["linux-x64-musl", elf({ ...musl, tail })],
    ["darwin-x64", signed("x64")],
    ["darwin-arm64", signed("arm64")],
    ["windows-x64", pe({ tail })],
  ])("is fit for %s", (name, bytes) => {
    expect(programProblems(bytes, target(name), "1.2.3")).toEqual([]);
  });

  test.each<[string, string, Buffer, string]>([
    ["another version", "linux-x64", elf({ tail: 'x="1.2.4";' }), "doesn't hold version 1.2.3"],
    ["another processor", "linux-x64", elf({ machine: 183, tail }), "for ELF machine 183, not x64"],
    [
      "another libc",
      "linux-x64",
      elf({ ...musl, tail }),
      "asks for the loader /lib/ld-musl-x86_64.so.1, not /lib64/ld-linux-x86-64.so.2",
    ],
    [
      "a library that systems lack",
      "linux-x64",
      elf({ libraries: ["libc.so.6", "libssl.so.3"], tail }),
      "needs the library libssl.so.3",
    ],
    ["what is no ELF file", "linux-x64", Buffer.from(`#!/bin/sh ${tail}`), "not a 64-bit ELF file"],
    [
      "nothing but a start",
      "linux-x64",
      Buffer.concat([elf().subarray(0, 60), Buffer.from(tail)]),
      "cut short: a field lies outside the file",
    ],
    [
      "a signature that doesn't fit",
      "darwin-x64",
      Buffer.concat([signed("x64"), Buffer.from("\0")]),
      "the signature ends at",
    ],
    ["another processor", "windows-x64", pe({ machine: 0xaa64, tail }), "for PE machine 0xaa64, not x64"],
    ["what is no PE file", "windows-x64", Buffer.from(tail.repeat(9)), "not a PE file"],
    [
      "a cut file",
      "windows-x64",
      Buffer.concat([pe().subarray(0, 0x300), Buffer.from(tail)]),
      "cut short: sections end at 1024",
    ],
  ])("%s is not fit for %s", (_, name, bytes, problem) => {
    expect(programProblems(bytes, target(name), "1.2.3")).toEqual([expect.stringContaining(problem)]);
  });

  test.skipIf(!Bun.which("readelf") || process.platform !== "linux")(
    "its libraries are those that readelf finds",
    () => {
      const path = Bun.which("tar") ?? process.execPath;
      const listed = Bun.spawnSync(["readelf", "-dW", path]).stdout.toString();
      const names = [...listed.matchAll(/\(NEEDED\).*\[(.*)\]/g)].map((match) => match[1] ?? "");
      expect(names.length).toBeGreaterThan(0);
      expect(neededLibraries(readFileSync(path))).toEqual(names);
    },
  );
});
