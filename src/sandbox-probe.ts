/** The self-test: before anything counts as sandboxed, the launcher has to fail where it must and succeed where it must. What passed is remembered per kernel. */
import { closeSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { release } from "node:os";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { realOf } from "./path-facts.ts";
import { parseReport, type LauncherReport, type ProbeResult, type SandboxPlan } from "./sandbox-plan.ts";
import { RUNGS, type Rung } from "./sandbox-rungs.ts";
import { readStore, writeStoreNow } from "./store.ts";
import { VERSION } from "./version.ts";

export interface ProbeQuery {
  /** How the launcher is started. */
  self: readonly string[];
  /** Directory for the directories of the test; both are removed. */
  tmp: string;
  env: Readonly<Record<string, string>>;
  abiLimit?: number | undefined;
}

/** What is known of this kernel. */
export interface Tested {
  rung: Rung;
  abi: number;
  lost: string[];
  /** Why it counts for nothing; null when it passed. */
  problem: string | null;
}

const EACCES = 13;

const record = v.object({
  kernel: v.string(),
  rung: v.picklist(RUNGS),
  abi: v.number(),
  lost: v.array(v.string()),
});

/** What an earlier test on this very kernel, program and user found; null where it has to be done again. Only passes are kept. */
export function rememberedTest(stateHome: string): Tested | null {
  const found = readStore(testFile(stateHome));
  if (found.state !== "ok") return null;
  const parsed = v.safeParse(record, found.value);
  if (!parsed.success || parsed.output.kernel !== kernelKey()) return null;
  const { rung, abi, lost } = parsed.output;
  return { rung, abi, lost, problem: null };
}

/** Keeps a pass. Where it can't be written the next start tests again. */
export function rememberTest(stateHome: string, tested: Tested): void {
  if (tested.problem !== null) return;
  const { rung, abi, lost } = tested;
  writeStoreNow(testFile(stateHome), JSON.stringify({ kernel: kernelKey(), rung, abi, lost }));
}

/** The kernel turned out to be another one than was tested. */
export function forgetTest(stateHome: string): void {
  rmSync(testFile(stateHome), { force: true });
}

/** Starts the launcher once. Never throws for what the kernel does. */
export async function testSandbox(query: ProbeQuery): Promise<Tested> {
  const directory = mkdtempSync(join(query.tmp, "shiro-probe-"));
  const [inside, outside] = ["inside", "outside"].map((name) => mkdtempSync(join(directory, `${name}-`)));
  if (inside === undefined || outside === undefined) throw new Error("mkdtempSync returned nothing");
  const denied = deniedFile(outside);
  try {
    const plan = probePlan(inside, dirname(denied), query.abiLimit);
    return judge(await reportOf([...query.self, JSON.stringify(plan), "--probe", inside, outside, denied], query.env));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A file of every system, for its directory is quickly walked around; a temporary directory may hold thousands of others. */
function deniedFile(outside: string): string {
  const usual = "/etc/passwd";
  if (realOf(usual) === usual && existsSync(usual)) return usual;
  const own = join(outside, "secret");
  writeFileSync(own, "x");
  return own;
}

function probePlan(inside: string, denied: string, abiLimit: number | undefined): SandboxPlan {
  return {
    cwd: "/",
    write: [inside],
    deny: [denied],
    read: [],
    devices: [],
    sharedMemory: false,
    network: "off",
    unixSockets: "off",
    protect: [process.pid],
    accept: "net",
    ...(abiLimit === undefined ? {} : { abiLimit }),
  };
}

async function reportOf(argv: string[], env: Readonly<Record<string, string>>): Promise<LauncherReport> {
  const child = Bun.spawn(argv, {
    cwd: "/",
    env: { ...env },
    stdio: ["ignore", "ignore", "ignore", "pipe"],
    detached: true,
    timeout: 10_000,
  });
  const fd = child.stdio[3];
  if (typeof fd !== "number") throw new Error("no pipe for the launcher's report");
  try {
    return parseReport(await Bun.file(fd).text());
  } finally {
    closeSync(fd);
  }
}

function judge(report: LauncherReport): Tested {
  const none = (problem: string): Tested => ({ rung: "none", abi: 0, lost: [], problem });
  if (report.state === "silent") return none("the sandbox's launcher ended without a word");
  if (report.state === "failed")
    return none(`the kernel refuses a sandbox (${report.step}${report.errno ? `, errno ${report.errno}` : ""})`);
  const rung = RUNGS.find((one) => one === report.rung);
  if (rung === undefined || report.probe === null) return none("the sandbox's launcher said nothing usable");
  const wrong = wrongWith(report.probe, rung);
  if (wrong !== null) return none(`the self-test failed: ${wrong}`);
  return { rung, abi: report.abi, lost: report.lost, problem: null };
}

function wrongWith(probe: ProbeResult, rung: Rung): string | null {
  if (probe.socket !== EACCES) return "a network socket could be made";
  if (probe.writeInside !== 0) return `the temporary directory could not be written (errno ${probe.writeInside})`;
  if (rung === "net") return null;
  if (probe.writeOutside !== EACCES) return "a file outside could be written";
  return probe.readDenied === EACCES ? null : "a denied file could be read";
}

const testFile = (stateHome: string) => join(stateHome, "sandbox-test.json");

/** Another kernel, program, architecture or user is another test. */
function kernelKey(): string {
  return [release(), process.arch, VERSION, process.geteuid?.() ?? "", Bun.version].join(" ");
}
