/** Lock files among the processes that share a state directory, and across a reboot. Advisory; knows nothing of what is locked. */
import { closeSync, mkdirSync, openSync, readFileSync, statSync, unlinkSync, utimesSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { randomHex } from "./digest.ts";
import { errnoOf } from "./errors.ts";
import { problemOf, writeFully, type StoreProblem } from "./store.ts";

export type LockAttempt =
  | { state: "taken"; lock: Lock }
  /** A live process has it. */
  | { state: "held"; pid: number | null }
  /** The directory can't be written. */
  | { state: "failed"; problem: StoreProblem };

export interface Lock {
  /** Tells processes on other machines that the holder lives; the pid tells those on this one. */
  touch(): void;
  /** Idempotent. */
  release(): void;
}

interface Holder {
  pid: number;
  boot: string;
  host: string;
  started: string;
  token: string;
}

// A holder on another machine can't be asked. Sessions touch their lock at every save; an hour of silence is an end.
const FOREIGN_STALE_MS = 60 * 60_000;
// Between creating a lock and writing its content lie microseconds; a file this old without content has no author left.
const UNWRITTEN_STALE_MS = 5_000;

/** Takes a lock if nobody alive holds it. A lock left by a dead process, or from before a reboot, is taken over. Never throws. */
export function tryLock(path: string): LockAttempt {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return create(path) ?? takeOver(path);
  } catch (error) {
    return { state: "failed", problem: problemOf(error, path) };
  }
}

/**
 * Runs `work` under the lock, waiting up to `waitMs` (3 s) for it. The problem is returned when the lock can't be had;
 * what `work` throws is thrown.
 */
export async function withLock<T>(
  path: string,
  work: () => Promise<T> | T,
  waitMs = 3_000,
): Promise<{ value: T } | { problem: StoreProblem }> {
  const attempt = await waitForLock(path, waitMs);
  if (attempt.state === "failed") return { problem: attempt.problem };
  if (attempt.state === "held") {
    return { problem: { code: "EBUSY", reason: `${path}: held by process ${attempt.pid ?? "unknown"}` } };
  }
  try {
    return { value: await work() };
  } finally {
    attempt.lock.release();
  }
}

async function waitForLock(path: string, waitMs: number): Promise<LockAttempt> {
  let attempt = tryLock(path);
  for (let waited = 0; attempt.state === "held" && waited < waitMs;) {
    const pause = 3 + Math.random() * 12;
    await Bun.sleep(pause);
    waited += pause;
    attempt = tryLock(path);
  }
  return attempt;
}

function create(path: string): LockAttempt | null {
  let file: number;
  try {
    file = openSync(path, "wx", 0o600);
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return null;
    throw error;
  }
  const holder = self();
  try {
    writeFully(file, JSON.stringify(holder));
  } catch (error) {
    // A full disk lets files be created and nothing be written: an empty lock must not stay.
    unlinkSync(path);
    throw error;
  } finally {
    closeSync(file);
  }
  return { state: "taken", lock: held(path, holder.token) };
}

function held(path: string, token: string): Lock {
  return {
    touch: () => attempt(() => utimesSync(path, new Date(), new Date())),
    release: () => {
      if (readHolder(path)?.token === token) attempt(() => unlinkSync(path));
    },
  };
}

function takeOver(path: string): LockAttempt {
  if (!isStale(path)) return create(path) ?? { state: "held", pid: readHolder(path)?.pid ?? null };
  // Two processes may see the same stale lock. Only the one that makes the breaker file may remove it, after a second look.
  const breaker = `${path}.break`;
  dropIfOlder(breaker, UNWRITTEN_STALE_MS);
  let file: number;
  try {
    file = openSync(breaker, "wx", 0o600);
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return { state: "held", pid: null };
    throw error;
  }
  try {
    closeSync(file);
    // A lock that is gone by now must not be removed: the next moment it may be somebody's.
    if (isStale(path)) attempt(() => unlinkSync(path));
    return create(path) ?? { state: "held", pid: readHolder(path)?.pid ?? null };
  } finally {
    attempt(() => unlinkSync(breaker));
  }
}

/** There, and left by nobody who is alive. The holder is read before the age: a lock made in between is young. */
function isStale(path: string): boolean {
  const holder = readHolder(path);
  const age = ageMs(path);
  if (age === null) return false;
  if (!holder) return age > UNWRITTEN_STALE_MS;
  if (holder.host !== hostname()) return age > FOREIGN_STALE_MS;
  if (holder.boot !== bootId()) return true;
  return !processExists(holder.pid) || (holder.started !== "" && startOf(holder.pid) !== holder.started);
}

function readHolder(path: string): Holder | null {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isHolder(value) ? value : null;
  } catch {
    // Gone, empty or torn: judged by its age.
    return null;
  }
}

function isHolder(value: unknown): value is Holder {
  if (typeof value !== "object" || value === null) return false;
  const fields = value as Partial<Record<keyof Holder, unknown>>; // An object, any of whose fields may be absent.
  return (
    typeof fields.pid === "number" &&
    Number.isInteger(fields.pid) &&
    fields.pid > 0 &&
    [fields.boot, fields.host, fields.started, fields.token].every((field) => typeof field === "string")
  );
}

function self(): Holder {
  const token = randomHex(8);
  return { pid: process.pid, boot: bootId(), host: hostname(), started: startOf(process.pid), token };
}

/** True for a live process, another user's included. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) === "EPERM";
  }
}

/** Changes with every boot on Linux; elsewhere constant, and the pid alone decides. */
function bootId(): string {
  return readLine("/proc/sys/kernel/random/boot_id");
}

/** When a process began, in clock ticks since boot: a number used again for another process differs here. Empty where unknown. */
function startOf(pid: number): string {
  // proc(5): the name in field 2 may hold blanks and brackets, so count from the last bracket; starttime is field 22.
  const fields = (readLine(`/proc/${pid}/stat`).split(") ").at(-1) ?? "").split(" ");
  // A zombie has a number and does nothing any more; no living holder ever wrote this.
  return fields[0] === "Z" ? "dead" : (fields[19] ?? "");
}

function readLine(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    // No such file on this system.
    return "";
  }
}

function ageMs(path: string): number | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats ? Date.now() - stats.mtimeMs : null;
}

function dropIfOlder(path: string, limitMs: number): void {
  const age = ageMs(path);
  if (age !== null && age > limitMs) attempt(() => unlinkSync(path));
}

// Another process may have been quicker, or the disk may refuse: the next attempt on the lock tells.
function attempt(step: () => void): void {
  try {
    step();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}
