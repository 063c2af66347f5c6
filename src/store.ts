/** Small files that must never be seen half-written: atomic JSON, private modes, reasons instead of exceptions. Knows no format but JSON. */
import {
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { randomHex } from "./digest.ts";
import { errnoOf, messageOf } from "./errors.ts";

/** Why something could not be saved. `reason` is one line for a person. */
export interface StoreProblem {
  code: string;
  reason: string;
}

export type StoreRead =
  | { state: "missing" }
  | { state: "ok"; value: unknown; text: string }
  /** There, and no JSON: empty, cut, foreign. */
  | { state: "corrupt"; reason: string }
  /** There, and not ours to open. */
  | { state: "unreadable"; reason: string };

const PRIVATE_FILE = 0o600;
const PRIVATE_DIR = 0o700;
const CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;

/** Reads a JSON file. Never throws. */
export function readStore(path: string): StoreRead {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return { state: "missing" };
    return { state: "unreadable", reason: messageOf(error) };
  }
  if (text.trim() === "") return { state: "corrupt", reason: "the file is empty" };
  try {
    return { state: "ok", value: parseHealed(text), text };
  } catch (error) {
    return { state: "corrupt", reason: `not valid JSON (${messageOf(error)})` };
  }
}

/** Replaces lone surrogates in every string of a JSON value. Sessions of older versions hold them, and no provider takes them. */
function healStrings(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(healStrings);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), healStrings(item)]));
}

/** Parses JSON text and heals it where needed. Throws SyntaxError. */
export function parseHealed(source: string): unknown {
  const value: unknown = JSON.parse(source);
  // Only an escape can bring a lone surrogate into decoded UTF-8.
  return /\\u[dD][89a-fA-F]/.test(source) ? healStrings(value) : value;
}

/**
 * Replaces a file whole: a new file beside it (0600), fsync, rename. A reader sees the old text or the new one.
 * A symbolic link stays and its target is replaced. Never throws: the problem is returned, the old file untouched.
 * `stillWanted` is asked right before the rename; false leaves the old file and counts as success.
 */
export async function writeStore(
  path: string,
  text: string,
  stillWanted: () => boolean = () => true,
): Promise<StoreProblem | null> {
  const target = followLink(path);
  const temporary = temporaryName(target);
  try {
    await mkdir(dirname(target), { recursive: true, mode: PRIVATE_DIR });
    await writeSynced(temporary, text);
    if (!stillWanted()) unlinkSync(temporary);
    else renameSync(temporary, target);
    return null;
  } catch (error) {
    discard(temporary);
    return problemOf(error, path);
  }
}

/** `writeStore` for signal handlers and exits, where nothing may be awaited. */
export function writeStoreNow(path: string, text: string): StoreProblem | null {
  const target = followLink(path);
  const temporary = temporaryName(target);
  try {
    mkdirSync(dirname(target), { recursive: true, mode: PRIVATE_DIR });
    const file = openSync(temporary, CREATE_NEW, PRIVATE_FILE);
    try {
      writeFully(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, target);
    return null;
  } catch (error) {
    discard(temporary);
    return problemOf(error, path);
  }
}

/** Writes all bytes: one `write` may take only a part of them, a nearly full disk for instance. Throws. */
export function writeFully(file: number, text: string): number {
  const bytes = Buffer.from(text, "utf8");
  let written = 0;
  while (written < bytes.length) written += writeSync(file, bytes, written);
  return bytes.length;
}

/** Moves a file that can't be used out of the way, beside itself. The new path, or null when even that failed. */
export function setAside(path: string, now: Date): string | null {
  const aside = `${path}.unreadable-${now.toISOString().replace(/[:.]/g, "-")}`;
  try {
    renameSync(path, aside);
    return aside;
  } catch {
    // Read-only home: the file stays where it is, and the write that follows reports why.
    return null;
  }
}

/** True for the names `writeStore` gives its unfinished files. */
export function isTemporary(name: string): boolean {
  return /\.[0-9a-f]{12}\.tmp$/.test(name);
}

/** A system error as a problem that names the file. */
export function problemOf(error: unknown, path: string): StoreProblem {
  const code = errnoOf(error) ?? "EUNKNOWN";
  return { code, reason: `${path}: ${WORDS[code] ?? messageOf(error)}` };
}

const WORDS: Record<string, string> = {
  EACCES: "permission denied",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  ENOTDIR: "a part of the path is not a directory",
  EEXIST: "a file is in the way",
};

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, CREATE_NEW, PRIVATE_FILE);
  try {
    await file.writeFile(text, "utf8");
    await file.sync();
  } finally {
    await file.close();
  }
}

// Dot files are often links into a repository; a rename over the link would cut it off.
function followLink(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

function temporaryName(target: string): string {
  return join(dirname(target), `.${basename(target)}.${randomHex(6)}.tmp`);
}

function discard(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It was never made, or the disk lets nothing go; the problem of the write itself is reported.
  }
}
