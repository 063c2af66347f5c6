/** Landlock's structures and the rules of a plan, found by walking around what must not be read. Makes no system call of its own. */
import { dirname } from "node:path";
import { FILE_RIGHTS, FS, type Handled } from "./sandbox-rungs.ts";
import type { SandboxPlan } from "./sandbox-plan.ts";

/** One path_beneath rule before its path is opened. */
export interface Rule {
  path: string;
  access: number;
  /** It may have gone since it was listed: then nothing is granted and nothing is lost. */
  optional: boolean;
  /** Come upon by listing, not named by the plan. */
  listed: boolean;
}

export interface Entry {
  name: string;
  kind: "directory" | "link" | "other";
}

/** Lists a directory; null where that can't be done. */
export type List = (directory: string) => Entry[] | null;

/** Content may be read and programs run; names are listed everywhere, by the rule on `/`. */
const READ = FS.READ_FILE | FS.EXECUTE;
const DEVICE = FS.READ_FILE | FS.WRITE_FILE | FS.TRUNCATE | FS.IOCTL_DEV;
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty", "ptmx"].map((name) => `/dev/${name}`);
const TERMINALS = "/dev/pts";
export const SHARED_MEMORY = "/dev/shm";

/** struct landlock_ruleset_attr, as much of it as the kernel's ABI has. */
export function rulesetAttr(handled: Handled): Uint8Array {
  const view = new DataView(new ArrayBuffer(24));
  view.setBigUint64(0, BigInt(handled.fs), true);
  view.setBigUint64(8, BigInt(handled.net), true);
  view.setBigUint64(16, BigInt(handled.scoped), true);
  return new Uint8Array(view.buffer, 0, handled.size);
}

/** struct landlock_path_beneath_attr: packed, twelve bytes. */
export function pathBeneath(access: number, fd: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(12));
  view.setBigUint64(0, BigInt(access), true);
  view.setInt32(8, fd, true);
  return new Uint8Array(view.buffer);
}

/** The rules of a plan. Rights along a path add up, so a rule can't take anything away: what is denied gets none. */
export function* rulesOf(plan: SandboxPlan, handled: number, list: List): Generator<Rule> {
  const writable = handled & ~(FS.MAKE_CHAR | FS.MAKE_BLOCK);
  yield { path: "/", access: FS.READ_DIR, optional: false, listed: false };
  yield* readable(plan, list);
  for (const path of plan.write) yield { path, access: writable, optional: false, listed: false };
  const more = (path: string, access: number): Rule => ({ path, access, optional: true, listed: false });
  for (const path of plan.read) yield more(path, READ | FS.READ_DIR);
  if (plan.sharedMemory) yield more(SHARED_MEMORY, writable);
  for (const path of [...DEVICES, ...plan.devices]) yield more(path, DEVICE & handled);
  yield more(TERMINALS, (DEVICE & handled) | FS.READ_DIR);
}

/** A rule's rights, cut to what its kind of file may carry. */
export function accessFor(access: number, isDirectory: boolean): number {
  return isDirectory ? access : access & FILE_RIGHTS;
}

/**
 * Everything but the denied paths: the directories above them are gone through entry by entry. Links are left out, since
 * what they lead to is granted where it lives. /dev is left out too: for root a disk's device is every file on it.
 */
function* readable(plan: SandboxPlan, list: List): Generator<Rule> {
  const denied = new Set([...plan.deny, "/dev"]);
  const above = new Set(plan.deny.flatMap(ancestors));
  above.add("/");
  const open = ["/"];
  for (let directory = open.pop(); directory !== undefined; directory = open.pop())
    for (const entry of list(directory) ?? []) {
      const path = directory === "/" ? `/${entry.name}` : `${directory}/${entry.name}`;
      if (entry.kind === "link" || denied.has(path)) continue;
      if (above.has(path)) open.push(path);
      else yield { path, access: READ, optional: true, listed: true };
    }
}

function ancestors(path: string): string[] {
  const found: string[] = [];
  for (let at = dirname(path); ; at = dirname(at)) {
    found.push(at);
    if (at === "/") return found;
  }
}
