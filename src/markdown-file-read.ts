/** Finds and reads the Markdown files of a folder: bounded, regular files only, no link that leads out. What they mean is their owners' business. */
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, realpathSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { errnoOf, messageOf } from "./errors.ts";
import { refusedByName } from "./secrets.ts";
import { isInside } from "./workspace.ts";

export interface ReadFile {
  realPath: string;
  text: string;
  /** Of the file, in bytes; `text` may be its beginning only. */
  size: number;
}

/** Folders of more entries than this were not written by hand. */
export const MAX_FOLDER_ENTRIES = 500;

export interface FolderEntry {
  name: string;
  path: string;
  isDirectory: boolean;
}

/** Entries by name, links as what they lead to; an empty list for a folder that isn't there. Never throws. */
export function folderEntries(directory: string): { entries: FolderEntry[]; problem: string | null } {
  try {
    const found = readdirSync(directory, { withFileTypes: true }).filter((entry) => !entry.name.startsWith("."));
    const entries = found
      .map((entry) => ({ name: entry.name, path: join(directory, entry.name), entry }))
      .map(({ name, path, entry }) => ({
        name,
        path,
        isDirectory: entry.isDirectory() || leadsToDirectory(path, entry),
      }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, MAX_FOLDER_ENTRIES);
    const left = found.length - entries.length;
    return { entries, problem: left > 0 ? `${left} of ${found.length} entries were left out` : null };
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return { entries: [], problem: null };
    return { entries: [], problem: messageOf(error) };
  }
}

function leadsToDirectory(path: string, entry: { isSymbolicLink(): boolean }): boolean {
  if (!entry.isSymbolicLink()) return false;
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // a file, or a dangling link: reading it says what is wrong
  }
}

/** Reads at most `maxBytes` of a regular file whose real path lies in `root` (a real path). Never throws; null when there is none. */
export function readInside(path: string, root: string, maxBytes: number): ReadFile | { problem: string } | null {
  try {
    const realPath = realpathSync.native(path);
    if (!isInside(root, realPath)) return { problem: `leads outside of ${root}` };
    if (refusedByName(relative(root, realPath)))
      return { problem: `leads to ${realPath}, which usually holds secrets` };
    return readRegular(realPath, maxBytes);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return null;
    return { problem: messageOf(error) };
  }
}

function readRegular(realPath: string, maxBytes: number): ReadFile | { problem: string } {
  // A pipe of that name would hold the program without O_NONBLOCK; a link put there since is not followed.
  const file = openSync(realPath, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) return { problem: "is no regular file" };
    const buffer = Buffer.alloc(Math.min(stat.size, maxBytes));
    const length = readSync(file, buffer, 0, buffer.length, 0);
    return { realPath, text: buffer.subarray(0, length).toString("utf8"), size: stat.size };
  } finally {
    closeSync(file);
  }
}

/** Changes whenever one of the files does, or is there or gone. For noticing a change, not for trust. */
export function stampOf(paths: readonly string[]): string {
  return paths.map((path) => `${path}\0${stampOne(path)}`).join("\n");
}

function stampOne(path: string): string {
  try {
    const stat = statSync(path, { bigint: true });
    return `${stat.ino}:${stat.mtimeNs}:${stat.ctimeNs}:${stat.size}`;
  } catch {
    return ""; // missing, behind a file or a loop of links: whoever reads it says so
  }
}

/** Real path, or null for what isn't there. */
export function realOrNull(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null; // missing, or closed to us: nothing to read either way
  }
}
