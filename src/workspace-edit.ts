/** Changes to workspace files: what is there now, is it what was read, and several changes written all or none. Asks no permission. */
import { closeSync, lstatSync, mkdirSync, rmdirSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { errnoOf, messageOf, ToolError } from "./errors.ts";
import { stampOf } from "./freshness.ts";
import { createFile, replaceFile, statIfAny } from "./text-file-write.ts";
import { decodeText, type TextFormat } from "./text-file.ts";
import type { Located, Workspace } from "./workspace.ts";
import { inParent, MAX_WHOLE_BYTES, openLocated, readOpened, swapped, systemError } from "./workspace-open.ts";

/** A file as it is on disk, unchanged since the model read it. */
export interface CurrentFile {
  located: Located;
  bytes: Uint8Array;
  /** Permission bits. */
  mode: number;
}

/** Reads a file that is about to be changed. Throws ToolError when it was not read before, or changed since. */
export function readCurrent(workspace: Workspace, located: Located): CurrentFile {
  const file = openLocated(located);
  try {
    const bytes = readOpened(file, MAX_WHOLE_BYTES);
    if (bytes === null)
      throw new ToolError(`"${located.written}" is larger than ${MAX_WHOLE_BYTES >> 20} MB. Change it with bash.`);
    assertFresh(workspace, located, stampOf(file.stat, bytes));
    return { located, bytes, mode: Number(file.stat.mode) & 0o7777 };
  } finally {
    closeSync(file.fd);
  }
}

function assertFresh(workspace: Workspace, located: Located, now: ReturnType<typeof stampOf>): void {
  const verdict = workspace.freshness.check(located.real, now);
  if (verdict === "unread")
    throw new ToolError(`"${located.written}" exists and has not been read in this session. Read it first.`);
  if (verdict === "changed") throw new ToolError(`"${located.written}" changed since you read it; read it again.`);
}

/** Text of a file that is about to be edited. Throws ToolError where editing would mangle it. */
export function editableText(file: CurrentFile): { text: string; format: TextFormat } {
  const decoded = decodeText(file.bytes);
  const name = `"${file.located.written}"`;
  if (decoded.kind === "binary") throw new ToolError(`${name} is a binary file. Change it with bash.`);
  if (decoded.kind === "unknown-encoding")
    throw new ToolError(
      `${name} is neither UTF-8 nor UTF-16: editing would damage it. Change it with bash (iconv, sed).`,
    );
  return decoded;
}

/** One file's end state. `before` is null for a file that must not exist yet, `after` null for one to be deleted. */
export interface FileChange {
  located: Located;
  before: CurrentFile | null;
  after: { bytes: Uint8Array; mode?: number } | null;
}

/**
 * Writes all changes, deletions last, or none: on a failure what was written is put back. Sync, so that no other
 * call of this process comes between check and write. Throws ToolError that says what the disk now holds.
 */
export function commitChanges(workspace: Workspace, changes: readonly FileChange[]): void {
  const done: (Applied & { written: (() => void) | null })[] = [];
  for (const change of [...changes].sort((a, b) => Number(a.after === null) - Number(b.after === null))) {
    try {
      const written = workspace.onWrite?.(change.located.real) ?? null;
      done.push({ ...applyChange(change), written });
    } catch (error) {
      const cause = systemError(change.located, error);
      throw done.length === 0 ? cause : rolledBack(done, cause);
    }
  }
  for (const { change, written } of done) {
    written?.();
    remember(workspace, change);
  }
}

interface Applied {
  change: FileChange;
  /** Innermost last. */
  madeDirs: string[];
}

function applyChange(change: FileChange): Applied {
  const { located, before, after } = change;
  if (after === null) {
    inParent(located, unlinkSync);
    return { change, madeDirs: [] };
  }
  const options = after.mode === undefined ? {} : { mode: after.mode };
  if (before !== null) {
    inParent(located, (path) => replaceFile(path, after.bytes, options));
    return { change, madeDirs: [] };
  }
  const madeDirs = makeParents(located);
  try {
    inParent(located, (path) => createFile(path, after.bytes, options));
  } catch (error) {
    removeDirs(madeDirs);
    throw error;
  }
  return { change, madeDirs };
}

function makeParents(located: Located): string[] {
  const missing: string[] = [];
  let dir = dirname(located.real);
  for (; statIfAny(dir) === null; dir = dirname(dir)) missing.unshift(dir);
  if (lstatSync(dir).isSymbolicLink()) throw swapped(located);
  if (!lstatSync(dir).isDirectory()) throw new ToolError(`"${located.written}": ${dir} is a file, not a directory.`);
  mkdirSync(dirname(located.real), { recursive: true });
  return missing;
}

function removeDirs(dirs: readonly string[]): void {
  for (const dir of dirs.toReversed()) {
    try {
      rmdirSync(dir);
    } catch (error) {
      // Somebody has put something in meanwhile, or mkdir never came this far.
      if (["ENOTEMPTY", "EEXIST", "ENOENT"].includes(errnoOf(error) ?? "")) return;
      throw error;
    }
  }
}

function rolledBack(done: readonly Applied[], cause: Error): ToolError {
  const stuck = done
    .toReversed()
    .filter((applied) => !putBack(applied))
    .map(({ change }) => change.located.written);
  const state =
    stuck.length === 0
      ? "Nothing was changed."
      : `These could not be put back and hold the new content: ${stuck.join(", ")}. All others are as they were.`;
  return new ToolError(`${messageOf(cause)} ${state}`, { cause });
}

function putBack({ change, madeDirs }: Applied): boolean {
  const { located, before, after } = change;
  try {
    inParent(located, (path) => {
      if (before === null) unlinkSync(path);
      else if (after === null) createFile(path, before.bytes, { mode: before.mode });
      else replaceFile(path, before.bytes, { mode: before.mode });
    });
    removeDirs(madeDirs);
    return true;
  } catch {
    // The caller names the file; the first failure is the one worth reporting.
    return false;
  }
}

function remember(workspace: Workspace, change: FileChange): void {
  if (change.after === null) return workspace.freshness.forget(change.located.real);
  const stat = lstatSync(change.located.real, { bigint: true });
  workspace.freshness.note(change.located.real, stampOf(stat, change.after.bytes));
}
