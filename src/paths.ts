/** Where shiro keeps its own files, and how they are named. Computes paths; creates and reads nothing but links. */
import { realpathSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { join, resolve } from "node:path";
import { sha256 } from "./digest.ts";

/** The state directory. When `problem` is set nothing can be kept there; `path` then leads nowhere, so that every write fails alike. */
export interface Home {
  path: string;
  /** One line for a person, or null. */
  problem: string | null;
}

// Below a file that is no directory: root included, nobody can create anything here.
const NOWHERE = "/dev/null/shiro";

/**
 * `SHIRO_HOME`, else `.shiro-neko` in the user's directory: `HOME` (`USERPROFILE` on Windows), else the one of the
 * account database. A home directory that doesn't exist is not made up; only an explicit `SHIRO_HOME` is created with parents.
 */
export function resolveHome(query: {
  env: Record<string, string | undefined>;
  cwd: string;
  accountHome?: () => string | null;
}): Home {
  const explicit = query.env["SHIRO_HOME"];
  if (explicit) return { path: resolve(query.cwd, explicit), problem: null };
  const base = query.env["HOME"] || query.env["USERPROFILE"] || (query.accountHome ?? accountHome)();
  if (!base) return { path: NOWHERE, problem: "HOME is not set, so nothing is saved. Set HOME or SHIRO_HOME." };
  if (!isDirectory(base)) {
    const problem = `The home directory ${base} does not exist, so nothing is saved. Set SHIRO_HOME to a directory that can be written.`;
    return { path: NOWHERE, problem };
  }
  return { path: join(resolve(query.cwd, base), ".shiro-neko"), problem: null };
}

/** The absolute real path that names a project; the absolute path itself where it can't be resolved. */
export function projectPath(directory: string): string {
  const absolute = resolve(directory);
  try {
    return realpathSync.native(absolute);
  } catch {
    // A directory deleted under us still has a name, and its history is found again by it.
    return absolute;
  }
}

/** First 16 hexadecimal digits of the SHA-256 of a project's real path. */
export function projectHash(realPath: string): string {
  return sha256(realPath).slice(0, 16);
}

export const sessionsDir = (home: string) => join(home, "sessions");
export const undoDir = (home: string, sessionId: string) => join(home, "undo", sessionId);
export const spillRoot = (home: string) => join(home, "spill");
export const spillDir = (home: string, sessionId: string) => join(spillRoot(home), sessionId);
export const memoryFile = (home: string, project: string) => join(home, "memory", `${projectHash(project)}.json`);
export const historyFile = (home: string, project: string) => join(home, "history", `${projectHash(project)}.json`);
export const configFile = (home: string) => join(home, "config.json");
export const trustFile = (home: string) => join(home, "trust.json");

/** The files of one session. */
export function sessionFiles(home: string, id: string): { record: string; journal: string; lock: string } {
  const stem = join(sessionsDir(home), id);
  return { record: `${stem}.json`, journal: `${stem}.journal`, lock: `${stem}.lock` };
}

function accountHome(): string | null {
  try {
    return userInfo().homedir || null;
  } catch {
    // A container may run a user id that no account database knows.
    return null;
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // Missing, or below something that is no directory: either way nothing can be kept there.
    return false;
  }
}
