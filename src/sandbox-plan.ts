/** What the launcher is told and what it answers: the plan it gets as an argument, the lines it writes to descriptor 3. Pure. */

/** Everything the launcher needs. All paths are absolute and real; no secret may be in it, since other processes can read it. */
export interface SandboxPlan {
  /** Where the command starts. */
  cwd: string;
  /** What may be written, made and removed; everything in it may be read too. */
  write: string[];
  /** What may not be read, with everything in it. */
  deny: string[];
  /** Inside of `deny`, readable all the same. */
  read: string[];
  /** Device files beside the usual ones. */
  devices: string[];
  /** /dev/shm may be written. */
  sharedMemory: boolean;
  network: "off" | "on";
  unixSockets: "off" | "on";
  /** Process and thread ids that no signal may reach where the kernel can't confine signals. */
  protect: number[];
  /** Below this the command isn't run. */
  accept: "net" | "fs1" | "fs3" | "full";
  /** There is no descriptor 3: failures go to stderr as a line, and nothing is said of a start. */
  quiet?: true;
  /** For tests: claim no more than this Landlock ABI knows. */
  abiLimit?: number;
}

export const LAUNCHER_STEPS = [
  "descriptor",
  "plan",
  "libc",
  "capabilities",
  "no-new-privileges",
  "ruleset",
  "rule",
  "restrict",
  "filter",
  "check",
  "rung",
  "directory",
  "program",
  "exec",
  "internal",
] as const;
export type LauncherStep = (typeof LAUNCHER_STEPS)[number];

/** What the self-test saw: errno of each attempt, 0 where it succeeded. */
export interface ProbeResult {
  writeOutside: number;
  writeInside: number;
  readDenied: number;
  socket: number;
}

/** What came on descriptor 3. `started`: the command's program is running. */
export type LauncherReport =
  | { state: "started"; abi: number; rung: string; lost: string[]; probe: ProbeResult | null }
  | { state: "failed"; step: string; errno: number }
  /** Nothing usable: it ended before it could say anything. */
  | { state: "silent" };

/** The launcher's exit code when it did not run the command. A command may end with it too: the report decides. */
export const NOT_RUN = 125;

/** Longest plan that fits into one argument (MAX_ARG_STRLEN is 128 KiB), with room to spare. */
export const MAX_PLAN_BYTES = 120 * 1024;

/** Reads an argument of the launcher. Null for anything that is no whole plan: nothing is filled in. */
export function parsePlan(text: string): SandboxPlan | null {
  const value = parseObject(text);
  if (value === null) return null;
  const { cwd, write, deny, read, devices, sharedMemory, network, unixSockets, protect, accept, quiet, abiLimit } =
    value;
  if (!isPath(cwd) || !isPaths(write) || !isPaths(deny) || !isPaths(read) || !isPaths(devices)) return null;
  if (typeof sharedMemory !== "boolean" || !isSwitch(network) || !isSwitch(unixSockets)) return null;
  if (!Array.isArray(protect) || !protect.every(Number.isSafeInteger)) return null;
  if (accept !== "net" && accept !== "fs1" && accept !== "fs3" && accept !== "full") return null;
  const plan: SandboxPlan = { cwd, write, deny, read, devices, sharedMemory, network, unixSockets, protect, accept };
  if (quiet !== undefined && quiet !== true) return null;
  if (abiLimit !== undefined && (typeof abiLimit !== "number" || !Number.isSafeInteger(abiLimit) || abiLimit < 0))
    return null;
  return { ...plan, ...(quiet === undefined ? {} : { quiet }), ...(abiLimit === undefined ? {} : { abiLimit }) };
}

/** Reads what the launcher wrote until it was replaced by the command or ended. A failure after "ready" counts. */
export function parseReport(text: string): LauncherReport {
  const lines = text
    .split("\n")
    .map(parseObject)
    .filter((line) => line !== null);
  const failed = lines.find((line) => typeof line["fail"] === "string");
  if (failed) return { state: "failed", step: String(failed["fail"]), errno: Number(failed["errno"] ?? 0) };
  const ready = lines.find((line) => line["ready"] === true);
  if (!ready) return { state: "silent" };
  const { abi, rung, lost } = ready;
  return {
    state: "started",
    abi: typeof abi === "number" ? abi : 0,
    rung: typeof rung === "string" ? rung : "none",
    lost: Array.isArray(lost) ? lost.map(String) : [],
    probe: probeOf(lines.find((line) => line["probe"] !== undefined)?.["probe"]),
  };
}

function probeOf(value: unknown): ProbeResult | null {
  if (!isObject(value)) return null;
  const { writeOutside, writeInside, readDenied, socket } = value;
  if (typeof writeOutside !== "number" || typeof writeInside !== "number") return null;
  if (typeof readDenied !== "number" || typeof socket !== "number") return null;
  return { writeOutside, writeInside, readDenied, socket };
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    // Not JSON: an empty or a cut line.
    return null;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isPath(value: unknown): value is string {
  return typeof value === "string" && value.startsWith("/") && !value.includes("\0");
}

function isPaths(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(isPath);
}

function isSwitch(value: unknown): value is "off" | "on" {
  return value === "off" || value === "on";
}
