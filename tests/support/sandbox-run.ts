/** Starts the built program's launcher with a plan, as this user or as an unprivileged one, and collects what it reports. Judges nothing. */
import {
  chmodSync,
  existsSync,
  chownSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseReport, type LauncherReport, type SandboxPlan } from "../../src/sandbox-plan.ts";
import { openKernel } from "../../src/sandbox-syscalls.ts";
import { BINARY } from "./binary.ts";

/** An account without rights, of every system. */
export const NOBODY = 65534;

/** Landlock's ABI here; 0 where there is none. */
export function landlockAbi(): number {
  return Math.max(0, openKernel()?.call("landlockCreateRuleset", 0, 0, 1) ?? 0);
}

/** A workspace, a second writable directory, one outside with a file and a secret. All of it belongs to `uid`. */
export interface Ground {
  base: string;
  work: string;
  tmp: string;
  out: string;
  secret: string;
}

export function openGround(uid = process.getuid?.() ?? 0): Ground {
  const base = realpathSync(mkdtempSync(join(roomy(), "shiro-sandbox-")));
  chmodSync(base, 0o755);
  const [work, tmp, out] = [join(base, "work"), join(base, "tmp"), join(base, "out")];
  const secrets = join(out, "secret");
  for (const directory of [work, tmp, out, secrets]) mkdirSync(directory);
  const [file, secret] = [join(out, "file"), join(secrets, "key")];
  writeFileSync(file, "content\n");
  writeFileSync(secret, "secret\n");
  if (process.getuid?.() === 0) for (const path of [work, tmp, out, secrets, file, secret]) chownSync(path, uid, uid);
  return { base, work, tmp, out, secret };
}

/** Each entry beside what is denied costs a rule, and a temporary directory may have thousands of them. */
function roomy(): string {
  return existsSync("/var/tmp") ? "/var/tmp" : tmpdir();
}

export function planFor(ground: Ground, more: Partial<SandboxPlan> = {}): SandboxPlan {
  return {
    cwd: ground.work,
    write: [ground.work, ground.tmp],
    deny: [join(ground.out, "secret")],
    read: [],
    devices: [],
    sharedMemory: false,
    network: "off",
    unixSockets: "off",
    protect: [process.pid],
    accept: "net",
    ...more,
  };
}

export interface Launched {
  code: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
  report: LauncherReport;
}

export interface Launch {
  plan: SandboxPlan | string;
  argv: readonly string[];
  uid?: number | undefined;
  env?: Record<string, string>;
  cwd?: string;
  stdin?: Uint8Array;
  binary?: string;
  /** Called with the process id right after the start. */
  onStart?(pid: number): void;
}

export async function launch(query: Launch): Promise<Launched> {
  const plan = typeof query.plan === "string" ? query.plan : JSON.stringify(query.plan);
  const binary = query.binary ?? (query.uid === undefined ? BINARY : readableBinary());
  const child = Bun.spawn([...asUser(query.uid), binary, "__sandbox", plan, "--", ...query.argv], {
    cwd: query.cwd ?? "/",
    env: { PATH: process.env["PATH"] ?? "", HOME: "/", LANG: "C.UTF-8", ...query.env },
    stdio: [query.stdin ?? "ignore", "pipe", "pipe", "pipe"],
    detached: true,
  });
  query.onStart?.(child.pid);
  const fd = child.stdio[3];
  if (typeof fd !== "number") throw new Error("no pipe for the report");
  const [stdout, stderr, report] = await Promise.all([
    new Response(child.stdout as ReadableStream).text(), // "pipe" above makes it one
    new Response(child.stderr as ReadableStream).text(),
    Bun.file(fd).text(),
    child.exited,
  ]);
  closeSync(fd);
  const signal = child.signalCode === null ? null : String(child.signalCode);
  return { code: signal === null ? child.exitCode : null, signal, stdout, stderr, report: parseReport(report) };
}

export function asUser(uid: number | undefined): string[] {
  return uid === undefined ? [] : ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
}

let copy: string | null = null;

/** The project may be where only root gets to. */
function readableBinary(): string {
  if (copy !== null) return copy;
  const directory = mkdtempSync(join(tmpdir(), "shiro-copy-"));
  chmodSync(directory, 0o755);
  copy = join(directory, "shiro");
  copyFileSync(BINARY, copy);
  chmodSync(copy, 0o755);
  return copy;
}

/** Directory of the copy, for clearing away; null where none was needed. */
export function binaryCopy(): string | null {
  return copy === null ? null : join(copy, "..");
}
