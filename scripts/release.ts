/** Builds every platform into dist/release: programs, archives, checksums, notes, install scripts. Ships nothing that fails its checks. */
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { UserError } from "../src/errors.ts";
import { VERSION } from "../src/version.ts";
import { build, reportUserError, root } from "./build.ts";
import { signAdHoc } from "./macho-sign.ts";
import { signatureProblems } from "./macho.ts";
import { tarGz, zip } from "./release-archive.ts";
import { programProblems } from "./release-inspect.ts";
import { releaseNotes, versionProblem } from "./release-notes.ts";
import { smoke } from "./release-smoke.ts";
import { type Target, TARGETS, archiveName, programName, runsOn } from "./release-targets.ts";

const out = join(root, "dist/release");

/** Everything, or only the targets named. */
async function release(names: readonly string[]): Promise<void> {
  const targets = chosen(names);
  const problem = versionProblem(VERSION, readFileSync(join(root, "package.json"), "utf8"), process.env);
  if (problem) throw new UserError(problem);
  const notes = releaseNotes(VERSION, readFileSync(join(root, "CHANGELOG.md"), "utf8"));
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  for (const target of targets) await makeProgram(target);
  await smokeOwn(targets);
  const archives = targets.map(makeArchive);
  for (const script of ["install.sh", "install.ps1"]) copyFileSync(join(root, script), join(out, script));
  const files = [...archives, ...targets.map((target) => join(out, programName(target)))];
  writeFileSync(join(out, "checksums.txt"), files.map((path) => `${sha256(path)}  ${basename(path)}\n`).join(""));
  writeFileSync(join(out, "notes.md"), notes);
  console.log(`dist/release: ${archives.map((path) => basename(path)).join(", ")}, checksums.txt, notes.md`);
}

function chosen(names: readonly string[]): readonly Target[] {
  const unknown = names.find((name) => !TARGETS.some((target) => target.name === name));
  if (unknown !== undefined)
    throw new UserError(`Unknown target "${unknown}". Available: ${TARGETS.map((target) => target.name).join(", ")}`);
  return names.length === 0 ? TARGETS : TARGETS.filter((target) => names.includes(target.name));
}

/** Built, signed where the signature isn't right, and judged. */
async function makeProgram(target: Target): Promise<void> {
  const path = join(out, programName(target));
  await build(path, target.bun);
  if (target.format === "mach-o") mendSignature(path);
  const bytes = readFileSync(path);
  const problems = programProblems(bytes, target, VERSION);
  if (problems.length > 0) {
    rmSync(path);
    throw new UserError(`${basename(path)} is not fit to ship:\n  ${problems.join("\n  ")}`);
  }
  console.log(`${basename(path)}: ${megabytes(bytes.length)}`);
}

/**
 * Cross-compiled for darwin-x64, Bun 1.4.5 leaves the signature of its own program in place, which no longer fits: macOS
 * would kill shiro at its first wrong page. On a Mac, Apple's tool has the last word.
 */
function mendSignature(path: string): void {
  const wrong = signatureProblems(readFileSync(path));
  if (wrong.length > 0) {
    console.log(`${basename(path)}: signed anew, since ${wrong.join("; ")}`);
    writeFileSync(path, signAdHoc(readFileSync(path), "shiro"), { mode: 0o755 });
  }
  if (process.platform !== "darwin") return;
  if (codesign("--verify", "--strict", path)) return;
  if (!codesign("--force", "--sign", "-", path) || !codesign("--verify", "--strict", path))
    throw new UserError(`codesign neither accepts nor signs ${path}`);
}

function codesign(...args: string[]): boolean {
  return Bun.spawnSync(["codesign", ...args], { stdout: "inherit", stderr: "inherit" }).exitCode === 0;
}

/** Runs what was built for this machine. */
async function smokeOwn(targets: readonly Target[]): Promise<void> {
  const glibc = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"].some((path) => existsSync(path));
  const machine = { platform: process.platform, arch: process.arch, glibc };
  const own = targets.filter((target) => runsOn(target, machine));
  if (own.length === 0) console.log("nothing was built for this platform: nothing was run");
  for (const target of own) await smoke(join(out, programName(target)));
}

function makeArchive(target: Target): string {
  const bytes = readFileSync(join(out, programName(target)));
  const path = join(out, archiveName(target));
  writeFileSync(path, target.format === "pe" ? zip("shiro.exe", bytes) : tarGz("shiro", bytes, releaseSeconds()));
  console.log(`${basename(path)}: ${megabytes(readFileSync(path).length)}`);
  return path;
}

/** The time written into archives: that of the commit where the caller says so, as reproducible-builds.org asks for. */
function releaseSeconds(): number {
  return Number(process.env["SOURCE_DATE_EPOCH"]) || Math.floor(Date.now() / 1000);
}

function sha256(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

if (import.meta.main)
  await reportUserError("release", () => release(process.argv.slice(2).filter((word) => !word.startsWith("-"))));
