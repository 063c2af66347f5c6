/** Opens regular files that the jail has judged, and makes sure that what was opened is what was judged. Knows nothing of text. */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
} from "node:fs";
import type { BigIntStats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { errnoOf, JailError, ToolError } from "./errors.ts";
import { closeNames } from "./near.ts";
import type { Located } from "./workspace.ts";

/** Files above this are read by range only and never edited. Lift it together with the memory a turn may take. */
export const MAX_WHOLE_BYTES = 32 * 1024 * 1024;

export interface OpenedFile {
  fd: number;
  stat: BigIntStats;
}

/**
 * Opens a located regular file for reading; the caller closes `fd`.
 * Throws ToolError for anything that is no regular file, and JailError when the path was swapped after it was judged.
 */
export function openLocated(located: Located): OpenedFile {
  const before = statLocated(located);
  assertRegular(located, before);
  // O_NONBLOCK: a pipe swapped in after the check above must not hang the open.
  const fd = openReal(located, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(fd, { bigint: true });
    assertRegular(located, stat);
    assertSame(located, { fd, stat });
    return { fd, stat };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** All bytes of an opened file; null when there are more than `maxBytes`. */
export function readOpened(file: OpenedFile, maxBytes: number): Uint8Array | null {
  const chunks: Buffer[] = [];
  let total = 0;
  // Read until the end, not up to the size: kernel files claim a size of 0.
  for (;;) {
    const chunk = Buffer.allocUnsafe(Math.max(64 * 1024, Number(file.stat.size) - total + 1));
    const count = readSync(file.fd, chunk, 0, chunk.length, total);
    if (count === 0) return Buffer.concat(chunks, total);
    chunks.push(chunk.subarray(0, count));
    total += count;
    if (total > maxBytes) return null;
  }
}

/** The first bytes of an opened file, fewer when it is shorter. */
export function readHead(file: OpenedFile, count: number): Uint8Array {
  const head = Buffer.alloc(count);
  return head.subarray(0, readSync(file.fd, head, 0, count, 0));
}

export function isDirectory(located: Located): boolean {
  return statLocated(located).isDirectory();
}

function assertParent(located: Located): void {
  const parent = dirname(located.real);
  if (realpathSync.native(parent) !== parent) throw swapped(located);
}

/** Enough to look up names in it; to list it may be forbidden. */
const O_PATH = 0o10000000;

/**
 * Hands `act` a name of the file that leads through its opened directory: what is done by that name happens where the
 * jail saw it, even if a process that a command left behind swaps directories for links meanwhile. Where the system
 * can't do that it is the real path, looked at right before. Throws JailError where the directory is another one now.
 */
export function inParent<T>(located: Located, act: (path: string) => T): T {
  const parent = dirname(located.real);
  const fd = process.platform === "linux" ? openSync(parent, constants.O_DIRECTORY | O_PATH) : null;
  const held = `/proc/self/fd/${fd}`;
  try {
    const leads = fd === null ? null : linkTarget(held);
    if (leads === null) assertParent(located);
    else if (leads !== parent) throw swapped(located);
    return act(leads === null ? located.real : join(held, basename(located.real)));
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

/** Null where /proc isn't mounted. */
function linkTarget(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** The error for a path that names nothing, with up to three close names. `advice` is a sentence. */
export function notFound(located: Located, advice = ""): ToolError {
  const wanted = basename(located.real);
  const inDirectory = namesIn(dirname(located.real));
  if (wanted.includes("\ufffd") && inDirectory.includes(wanted))
    return new ToolError(`The name of "${located.written}" is no valid UTF-8. Reach it with bash and a wildcard.`);
  const names = closeNames(wanted, inDirectory);
  const base = located.written.slice(0, located.written.length - basename(located.written).length);
  const close = names.map((name) => `"${base}${name}"`).join(", ");
  const hint = close === "" ? "Find it with glob." : `Close names: ${close}.`;
  return new ToolError(`"${located.written}" does not exist. ${hint}${advice && ` ${advice}`}`);
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    // Only a hint hangs on it: a directory that is missing or closed has no names to offer.
    return [];
  }
}

function statLocated(located: Located): BigIntStats {
  try {
    return lstatSync(located.real, { bigint: true });
  } catch (error) {
    throw systemError(located, error);
  }
}

function openReal(located: Located, flags: number): number {
  try {
    return openSync(located.real, flags);
  } catch (error) {
    if (errnoOf(error) === "ELOOP") throw swapped(located);
    throw systemError(located, error);
  }
}

function assertRegular(located: Located, stat: BigIntStats): void {
  if (stat.isFile()) return;
  throw new ToolError(`"${located.written}" is ${typeName(stat)}, not a regular file.`);
}

function typeName(stat: BigIntStats): string {
  if (stat.isDirectory()) return "a directory";
  if (stat.isFIFO()) return "a named pipe";
  if (stat.isSocket()) return "a socket";
  if (stat.isCharacterDevice() || stat.isBlockDevice()) return "a device";
  return "a special file";
}

function assertSame(located: Located, { fd, stat }: OpenedFile): void {
  const leads = process.platform === "linux" ? linkTarget(`/proc/self/fd/${fd}`) : null;
  // The opened file's own name: looking at the path again would be looking at what it leads to by then.
  if (leads === located.real) return;
  if (leads !== null) throw swapped(located);
  const now = statLocated(located);
  const same = now.ino === stat.ino && now.dev === stat.dev;
  if (!same || realpathSync.native(located.real) !== located.real) throw swapped(located);
}

/** The error for a path that leads elsewhere than when the jail saw it. */
export function swapped(located: Located): JailError {
  return new JailError(
    `"${located.written}" was replaced while it was being opened. Look at it again before going on.`,
  );
}

/** A system error on a path, for the model. */
export function systemError(located: { written: string }, error: unknown): Error {
  const code = errnoOf(error);
  if (code === undefined || !(error instanceof Error)) return error instanceof Error ? error : new Error(String(error));
  return new ToolError(`"${located.written}": ${reasonOf(code)}.`, { cause: error });
}

function reasonOf(code: string): string {
  return REASONS[code] ?? `the system refused (${code})`;
}

const REASONS: Record<string, string> = {
  ENOENT: "no such file",
  ENOTDIR: "a part of the path is a file, not a directory",
  EISDIR: "is a directory",
  EEXIST: "exists already",
  EACCES: "the system denies access (EACCES)",
  EPERM: "the system does not permit it (EPERM)",
  EROFS: "the file system is read-only",
  ENOSPC: "no space left on the device; the file is as it was",
  EDQUOT: "the disk quota is used up; the file is as it was",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "a loop of symbolic links",
};
