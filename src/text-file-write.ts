/** Writes whole files so that the old content survives any failure: temp file and rename, or, where a rename would break something, in place. */
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import type { Stats } from "node:fs";
import { dirname, join } from "node:path";
import { randomHex } from "./digest.ts";
import { errnoOf } from "./errors.ts";
import { processExists } from "./store-lock.ts";

/** What stands at a path, links not followed; null for nothing, a path through a file included. */
export function statIfAny(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return null;
    throw error;
  }
}

/**
 * Replaces the content of an existing regular file. Mode, owner and hard links stay; a file that may not be written
 * is refused. Throws the system's error, and then the file is as it was. `path` must be a real path.
 */
export function replaceFile(path: string, bytes: Uint8Array, options: { mode?: number } = {}): void {
  // A rename would replace a file that its owner made read-only.
  accessSync(path, constants.W_OK);
  const old = lstatSync(path);
  if (old.nlink > 1 || !replaceByRename(path, bytes, old, options.mode)) overwriteInPlace(path, bytes, options.mode);
}

/** Creates a file that must not exist. Throws the system's error (EEXIST …), and then nothing is left behind. */
export function createFile(path: string, bytes: Uint8Array, options: { mode?: number } = {}): void {
  const temp = tempBeside(path);
  // What mode says is never wider than what the file is born with: its content may be private.
  const fd = openNew(temp, options.mode ?? 0o666);
  try {
    fill(fd, bytes, options.mode);
    // link() fails where rename() would overwrite a file that appeared meanwhile.
    if (!linked(temp, path)) createDirectly(path, bytes, options.mode ?? fstatSync(fd).mode);
  } finally {
    closeSync(fd);
    unlinkSync(temp);
  }
  syncDirectory(dirname(path));
}

function replaceByRename(path: string, bytes: Uint8Array, old: Stats, mode: number | undefined): boolean {
  const temp = tempBeside(path);
  const fd = openTemp(temp);
  if (fd === null) return false;
  let renamed = false;
  try {
    if (!keepOwner(fd, old)) return false;
    fill(fd, bytes, mode ?? old.mode);
    renameSync(temp, path);
    renamed = true;
  } finally {
    closeSync(fd);
    if (!renamed) unlinkSync(temp);
  }
  syncDirectory(dirname(path));
  return true;
}

/** Removes what killed processes of ours left half-written in a directory. Never throws. */
export function removeLeftovers(directory: string): void {
  for (const name of namesIn(directory)) {
    const pid = TEMP_NAME.exec(name)?.[1];
    if (pid === undefined || processExists(Number(pid))) continue;
    try {
      unlinkSync(join(directory, name));
    } catch (error) {
      // It stays; it does no harm.
      if (errnoOf(error) === undefined) throw error;
    }
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    // Gone, or not ours to read: nothing of ours is in it.
    return [];
  }
}

const TEMP_NAME = /^\.shiro-(\d+)-[0-9a-f]{18}\.tmp$/;

/** Unguessable, and opened exclusively: nobody can lay a link where we will write. Says whose it is. */
function tempBeside(path: string): string {
  return join(dirname(path), `.shiro-${process.pid}-${randomHex(9)}.tmp`);
}

function openNew(path: string, mode: number): number {
  return openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode);
}

/** Null in a directory that takes no new file: the file itself may still be writable. */
function openTemp(temp: string): number | null {
  try {
    return openNew(temp, 0o600);
  } catch (error) {
    if (["EACCES", "EPERM", "EROFS"].includes(errnoOf(error) ?? "")) return null;
    throw error;
  }
}

function keepOwner(fd: number, old: Stats): boolean {
  const made = fstatSync(fd);
  if (made.uid === old.uid && made.gid === old.gid) return true;
  try {
    fchownSync(fd, old.uid, old.gid);
    return true;
  } catch (error) {
    if (errnoOf(error) === "EPERM") return false;
    throw error;
  }
}

function fill(fd: number, bytes: Uint8Array, mode: number | undefined): void {
  writeAll(fd, bytes, 0);
  if (mode !== undefined) fchmodSync(fd, mode & 0o7777);
  fsyncSync(fd);
}

function writeAll(fd: number, bytes: Uint8Array, position: number): void {
  let done = 0;
  while (done < bytes.length) done += writeSync(fd, bytes, done, bytes.length - done, position + done);
}

function linked(temp: string, path: string): boolean {
  try {
    linkSync(temp, path);
    return true;
  } catch (error) {
    // FAT, some network and some container file systems know no hard links.
    if (["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"].includes(errnoOf(error) ?? "")) return false;
    throw error;
  }
}

function createDirectly(path: string, bytes: Uint8Array, mode: number): void {
  const fd = openNew(path, 0o600);
  let filled = false;
  try {
    fill(fd, bytes, mode);
    filled = true;
  } finally {
    closeSync(fd);
    if (!filled) unlinkSync(path);
  }
}

/**
 * Not atomic for a reader, but nothing is lost: what the file must grow by is written first, so a full disk shows
 * before any old byte is touched, and a failure after that puts the old bytes back.
 */
function overwriteInPlace(path: string, bytes: Uint8Array, mode: number | undefined): void {
  const fd = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW);
  try {
    const old = readAll(fd);
    try {
      if (bytes.length > old.length) writeAll(fd, bytes.subarray(old.length), old.length);
      fsyncSync(fd);
      writeAll(fd, bytes.subarray(0, old.length), 0);
      ftruncateSync(fd, bytes.length);
      if (mode !== undefined) fchmodSync(fd, mode & 0o7777);
      fsyncSync(fd);
    } catch (error) {
      writeAll(fd, old, 0);
      ftruncateSync(fd, old.length);
      throw error;
    }
  } finally {
    closeSync(fd);
  }
}

function readAll(fd: number): Buffer {
  const bytes = Buffer.alloc(fstatSync(fd).size);
  let done = 0;
  while (done < bytes.length) {
    const count = readSync(fd, bytes, done, bytes.length - done, done);
    if (count === 0) break;
    done += count;
  }
  return bytes.subarray(0, done);
}

/** Makes the new name last through a power cut. Not every system can sync a directory, and none needs it to be right. */
function syncDirectory(directory: string): void {
  let fd: number | null = null;
  try {
    fd = openSync(directory, constants.O_RDONLY);
    fsyncSync(fd);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  } finally {
    if (fd !== null) closeSync(fd);
  }
}
