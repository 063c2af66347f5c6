/** Finds and ends the processes of one child: its group, its session, and on Linux whatever carries its mark. Starts nothing but taskkill. */
import { readdirSync, readFileSync } from "node:fs";

/** One child's family, as far as it can be recognised. */
export interface Family {
  /** Leader of the group and the session. */
  pid: number;
  /** Value of SHIRO_CALL in the environment of everything it started. */
  mark: string;
}

/** How long a process may take to react to TERM before it is killed. */
const GRACE_MS = 2000;
/** KILL can't be refused; a process in uninterruptible sleep is the only reason to wait longer, and waiting doesn't help it. */
const KILL_WAIT_MS = 1000;
const POLL_MS = 40;

/** Whether anything of the family is still running. Zombies don't count: nobody may be there to reap them. */
export function isAlive(family: Family): boolean {
  const members = membersOf(family);
  return members === null ? signal(-family.pid, 0) : members.length > 0;
}

/** Ends the family: TERM, two seconds, KILL. Resolves when it is gone. Never throws. */
export async function endFamily(family: Family): Promise<void> {
  if (process.platform === "win32") return endTree(family.pid);
  signalFamily(family, "SIGTERM");
  if (await isGoneWithin(family, GRACE_MS, null)) return;
  signalFamily(family, "SIGKILL");
  await isGoneWithin(family, KILL_WAIT_MS, "SIGKILL");
}

/** Ends the family at once, without waiting: for the last moments of the program. */
export function killFamily(family: Family): void {
  signalFamily(family, "SIGKILL");
}

/** `again` goes to whoever is still there at each look: between a look and its signal a process may fork. */
async function isGoneWithin(family: Family, waitMs: number, again: "SIGKILL" | null): Promise<boolean> {
  const until = performance.now() + waitMs;
  while (isAlive(family)) {
    if (performance.now() > until) return false;
    await Bun.sleep(POLL_MS);
    if (again) signalFamily(family, again);
  }
  return true;
}

function signalFamily(family: Family, name: "SIGTERM" | "SIGKILL"): void {
  const members = membersOf(family);
  // While the group has a member, its number can't belong to anything else.
  if (members === null || members.some((member) => member.group === family.pid)) signal(-family.pid, name);
  for (const { pid, group } of members ?? []) {
    if (group !== family.pid) signal(pid, name);
    // A stopped process acts on TERM only when it is woken.
    if (name === "SIGTERM") signal(pid, "SIGCONT");
  }
}

/** False when there is no such process or group. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    // ESRCH: it is gone, which is what we want. EPERM: it became another user's (sudo), nothing we can do.
    return false;
  }
}

async function endTree(pid: number): Promise<void> {
  const killer = Bun.spawn(["taskkill", "/T", "/F", "/PID", String(pid)], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  await killer.exited;
}

/**
 * The family on Linux, by group, session and mark: setsid leaves the first two, `env -i` the last, few leave all.
 * Null where there is no /proc to look at; the group is then all that is known.
 */
function membersOf(family: Family): { pid: number; group: number }[] | null {
  const pids = processIds();
  if (pids === null) return null;
  const needle = `SHIRO_CALL=${family.mark}`;
  return pids.flatMap((pid) => {
    const stat = pid === process.pid ? null : statOf(pid);
    if (!stat || stat.state === "Z" || stat.state === "X") return [];
    const belongs = stat.group === family.pid || stat.session === family.pid || environmentHas(pid, needle);
    return belongs ? [{ pid, group: stat.group }] : [];
  });
}

function processIds(): number[] | null {
  if (process.platform !== "linux") return null;
  try {
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => pid > 1);
  } catch {
    // Not mounted, as in some chroots.
    return null;
  }
}

/** proc(5): the command name is in parentheses and may itself hold some, so fields are counted from the last one. */
function statOf(pid: number): { state: string; group: number; session: number } | null {
  const text = readProc(`/proc/${pid}/stat`);
  if (text === null) return null;
  const [state = "", , group, session] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state, group: Number(group), session: Number(session) };
}

function environmentHas(pid: number, needle: string): boolean {
  const text = readProc(`/proc/${pid}/environ`);
  return text !== null && `\0${text}\0`.includes(`\0${needle}\0`);
}

function readProc(path: string): string | null {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // It ended in between, or belongs to someone else.
    return null;
  }
}
