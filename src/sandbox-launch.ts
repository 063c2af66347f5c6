/** `shiro __sandbox PLAN -- PROGRAM ARGS…`: restricts this process for good and becomes the program. Any step that fails ends it with 125, and the program never runs. */
import { fstatSync, lstatSync, readdirSync, readlinkSync, statSync, writeSync } from "node:fs";
import { constants } from "node:os";
import { errnoOf } from "./errors.ts";
import { accessFor, pathBeneath, rulesetAttr, rulesOf, type Entry, type Rule } from "./sandbox-landlock.ts";
import { NOT_RUN, parsePlan, type LauncherStep, type ProbeResult, type SandboxPlan } from "./sandbox-plan.ts";
import { encodeFilter, seccompFilter } from "./sandbox-seccomp.ts";
import {
  FILE_RIGHTS,
  guardsFor,
  handledBy,
  lostWith,
  reaches,
  rungOf,
  scopeAttempts,
  type Handled,
} from "./sandbox-rungs.ts";
import { addressOf, AT_FDCWD, O, O_NOFOLLOW, openKernel, type Kernel } from "./sandbox-syscalls.ts";

/** Where the launcher reports. It closes by itself when the program is executed. */
const REPORT_FD = 3;
const PROBE = "--probe";

class StepError extends Error {
  override name = "StepError";
  constructor(
    readonly step: LauncherStep,
    readonly errno: number,
  ) {
    super(step);
  }
}

/** `argv`: what follows `__sandbox`. Returns an exit code where nothing was executed; else it doesn't return. */
export function launch(argv: readonly string[]): number {
  const plan = parsePlan(argv[0] ?? "");
  const say = plan?.quiet === true ? onStderr : onDescriptor;
  try {
    if (plan === null || (argv[1] !== "--" && argv[1] !== PROBE)) throw new StepError("plan", constants.errno.EINVAL);
    return restrictAndRun(plan, argv.slice(1), say);
  } catch (error) {
    const [step, errno] = error instanceof StepError ? [error.step, error.errno] : (["internal", 0] as const);
    say({ fail: step, errno });
    return NOT_RUN;
  }
}

function restrictAndRun(plan: SandboxPlan, [verb, ...rest]: readonly string[], say: Say): number {
  const kernel = openKernel();
  if (kernel === null) throw new StepError("libc", 0);
  if (say === onDescriptor) keepDescriptor(kernel);
  const facts = restrict(kernel, plan);
  if (verb !== PROBE) return become(kernel, plan, { facts, say }, rest);
  say({ ready: true, ...facts });
  say({ probe: probe(kernel, rest) });
  return 0;
}

function keepDescriptor(kernel: Kernel): void {
  if (!canReport()) throw new StepError("descriptor", constants.errno.EBADF);
  const [F_SETFD, FD_CLOEXEC] = [2, 1];
  // Its end tells the other side that the program has begun.
  check("descriptor", kernel.call("fcntl", REPORT_FD, F_SETFD, FD_CLOEXEC));
}

type Say = (line: object) => void;

interface Begun {
  facts: Facts;
  say: Say;
}

interface Facts {
  abi: number;
  rung: string;
  lost: string[];
}

function restrict(kernel: Kernel, plan: SandboxPlan): Facts {
  const abi = landlockAbi(kernel, plan.abiLimit);
  dropCapabilities(kernel);
  const PR_SET_NO_NEW_PRIVS = 38;
  check("no-new-privileges", kernel.call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  const wanted = handledBy(abi, plan);
  const handled = abi < 1 ? wanted : confineFiles(kernel, plan, wanted);
  const rung = rungOf(abi, handled.scoped);
  if (!reaches(rung, plan.accept)) throw new StepError("rung", 95);
  filterCalls(kernel, plan, abi, handled);
  assertHolds(kernel, abi);
  return { abi, rung, lost: lostWith(abi, handled, wanted) };
}

/** 0 where there is no Landlock: not built in, off at boot, or refused by a container's own filter. */
function landlockAbi(kernel: Kernel, limit = Number.POSITIVE_INFINITY): number {
  const LANDLOCK_CREATE_RULESET_VERSION = 1;
  return Math.max(0, Math.min(limit, kernel.call("landlockCreateRuleset", 0, 0, LANDLOCK_CREATE_RULESET_VERSION)));
}

/** CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID, NET_BIND_SERVICE: what a build as root uses and what opens no way out. */
const KEPT_CAPABILITIES = [0, 1, 3, 5, 6, 7, 10].reduce((mask, bit) => mask | (1 << bit), 0);

/** Without this, root reads the environment and memory of everything outside. */
function dropCapabilities(kernel: Kernel): void {
  const header = new Uint8Array(new Uint32Array([0x20080522, 0]).buffer);
  const sets = new Uint32Array(6);
  const bytes = new Uint8Array(sets.buffer);
  check("capabilities", kernel.call("capget", header, bytes));
  const [, permitted = 0, , , permittedHigh = 0] = sets;
  if (permitted === 0 && permittedHigh === 0) return;
  const kept = permitted & KEPT_CAPABILITIES;
  sets.set([kept, kept, 0, 0, 0, 0]);
  check("capabilities", kernel.call("capset", header, bytes));
}

function confineFiles(kernel: Kernel, plan: SandboxPlan, wanted: Handled): Handled {
  const { fd, handled } = createRuleset(kernel, wanted);
  for (const rule of rulesOf(plan, handled.fs, list)) addRule(kernel, fd, rule, handled.fs);
  check("restrict", kernel.call("landlockRestrictSelf", fd, 0));
  kernel.call("close", fd);
  return handled;
}

function createRuleset(kernel: Kernel, wanted: Handled): { fd: number; handled: Handled } {
  let fd = 0;
  for (const scoped of scopeAttempts(wanted.scoped)) {
    const handled = { ...wanted, scoped };
    const attr = rulesetAttr(handled);
    fd = kernel.call("landlockCreateRuleset", attr, attr.length, 0);
    if (fd >= 0) return { fd, handled };
    if (fd !== -constants.errno.EINVAL) break;
  }
  throw new StepError("ruleset", -fd);
}

function addRule(kernel: Kernel, ruleset: number, rule: Rule, handled: number): void {
  const RULE_PATH_BENEATH = 1;
  const fd = kernel.call("openat", AT_FDCWD, rule.path, O.PATH | O.CLOEXEC | O_NOFOLLOW[kernel.arch], 0);
  if (fd < 0 && rule.optional) return;
  check("rule", fd);
  try {
    if (!leadsStraight(fd, rule)) return;
    const wanted = rule.access & handled;
    // Looked at only where it matters: a home directory has hundreds of entries.
    const access = accessFor(wanted, (wanted & ~FILE_RIGHTS) !== 0 && isDirectory(`/proc/self/fd/${fd}`, rule.path));
    if (access !== 0)
      check("rule", kernel.call("landlockAddRule", ruleset, RULE_PATH_BENEATH, pathBeneath(access, fd), 0));
  } finally {
    kernel.call("close", fd);
  }
}

/**
 * O_NOFOLLOW looks at the last name only: a command that still runs may have put a link in the place of an earlier one.
 * What was only listed lies where commands can't write.
 */
function leadsStraight(fd: number, { path, listed, optional }: Rule): boolean {
  if (listed || readlinkSync(`/proc/self/fd/${fd}`) === path) return true;
  if (optional) return false;
  throw new StepError("rule", constants.errno.ELOOP);
}

/** Of the open file, not of the name: that may lead elsewhere by now. */
function isDirectory(opened: string, path: string): boolean {
  try {
    return statSync(opened).isDirectory();
  } catch {
    // No /proc: the name has to do. The kernel refuses a rule that doesn't fit, and then nothing runs.
    return lstatSync(path).isDirectory();
  }
}

function list(directory: string): Entry[] | null {
  try {
    return readdirSync(directory, { withFileTypes: true }).map((entry) => ({
      name: entry.name,
      kind: entry.isSymbolicLink() ? "link" : entry.isDirectory() ? "directory" : "other",
    }));
  } catch (error) {
    // Not ours to read, or gone: nothing in it is granted.
    if (errnoOf(error) !== undefined) return null;
    throw error;
  }
}

/** A container's own filter may answer "done" to a call that it drops; the self-test has been in another one, perhaps. */
function assertHolds(kernel: Kernel, abi: number): void {
  const AF_VSOCK = 40;
  const { EACCES } = constants.errno;
  if (kernel.call("socket", AF_VSOCK, 1, 0) !== -EACCES) throw new StepError("check", 0);
  // One's own name may always be written, but for Landlock.
  if (abi >= 1 && errnoOfOpen(kernel, "/proc/self/comm", O.WRONLY) !== EACCES) throw new StepError("check", 0);
}

function filterCalls(kernel: Kernel, plan: SandboxPlan, abi: number, handled: Handled): void {
  const guards = guardsFor(abi, handled.scoped);
  const program = encodeFilter(
    seccompFilter(kernel.arch, {
      network: plan.network,
      unixSockets: plan.unixSockets,
      guardTruncate: guards.truncate && abi >= 1,
      guardSignals: guards.signals ? plan.protect : null,
      sharedMemory: plan.sharedMemory,
    }),
  );
  const fprog = new DataView(new ArrayBuffer(16));
  fprog.setUint16(0, program.length / 8, true);
  fprog.setBigUint64(8, addressOf(program), true);
  const SECCOMP_SET_MODE_FILTER = 1;
  check("filter", kernel.call("seccomp", SECCOMP_SET_MODE_FILTER, 0, new Uint8Array(fprog.buffer)));
  // Read after the call, so that the buffer can't have been collected before it.
  if (program.length === 0) throw new StepError("filter", 22);
}

function become(kernel: Kernel, plan: SandboxPlan, { facts, say }: Begun, argv: readonly string[]): number {
  check("directory", kernel.call("chdir", plan.cwd));
  const path = programPath(argv[0] ?? "", process.env["PATH"] ?? "");
  if (path === null) throw new StepError("program", constants.errno.ENOENT);
  // Bun ignores SIGPIPE and SIGXFSZ, and what is ignored stays so in the next program.
  for (let signal = 1; signal <= 31; signal++) if (signal !== 9 && signal !== 19) kernel.resetSignal(signal);
  if (say === onDescriptor) say({ ready: true, ...facts });
  throw new StepError("exec", kernel.exec(path, argv));
}

/** Relative entries of PATH would be looked up in the workspace. */
function programPath(name: string, path: string): string | null {
  if (name.startsWith("/")) return name;
  if (name === "" || name.includes("/")) return null;
  return (
    path
      .split(":")
      .flatMap((directory) => (directory.startsWith("/") ? [`${directory}/${name}`] : []))
      .find(isProgram) ?? null
  );
}

function isProgram(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true && (stat.mode & 0o111) !== 0;
}

/** Tries what must fail and what must work, in this restricted process, and reports errno of each. */
function probe(kernel: Kernel, [inside = "", outside = "", denied = ""]: readonly string[]): ProbeResult {
  const AF_INET = 2;
  const SOCK_STREAM = 1;
  return {
    writeOutside: create(kernel, `${outside}/probe`),
    writeInside: create(kernel, `${inside}/probe`),
    readDenied: errnoOfOpen(kernel, denied, O.RDONLY),
    socket: Math.max(0, -kernel.call("socket", AF_INET, SOCK_STREAM, 0)),
  };
}

function create(kernel: Kernel, path: string): number {
  return errnoOfOpen(kernel, path, O.WRONLY | O.CREAT | O.EXCL);
}

function errnoOfOpen(kernel: Kernel, path: string, flags: number): number {
  const fd = kernel.call("openat", AT_FDCWD, path, flags | O.CLOEXEC, 0o600);
  if (fd < 0) return -fd;
  kernel.call("close", fd);
  return 0;
}

function check(step: LauncherStep, result: number): void {
  if (result < 0) throw new StepError(step, -result);
}

/** Without the pipe, the number may be something of the runtime's own. */
function canReport(): boolean {
  try {
    const stat = fstatSync(REPORT_FD);
    return stat.isFIFO() || stat.isSocket() || stat.isFile() || stat.isCharacterDevice();
  } catch {
    return false; // closed
  }
}

function onDescriptor(line: object): void {
  if (canReport()) writeLine(REPORT_FD, JSON.stringify(line));
  // Only a failure gets here: without the descriptor nothing is begun. Somebody tries it by hand, perhaps.
  else onStderr(line);
}

function onStderr(line: object): void {
  writeLine(2, `shiro sandbox: not started: ${JSON.stringify(line)}`);
}

function writeLine(fd: number, text: string): void {
  try {
    writeSync(fd, `${text}\n`);
  } catch (error) {
    // Nobody listens: then the exit code is all there is to say.
    if (errnoOf(error) === undefined) throw error;
  }
}
