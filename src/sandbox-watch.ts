/** Notices when a command changed files that run code later or set rules: git's config and hooks, task files, this program's own project settings. Changes nothing. */
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  opendirSync,
  readSync,
  statSync,
  type BigIntStats,
  type Dirent,
} from "node:fs";
import { join } from "node:path";
import { sha256 } from "./digest.ts";
import { errnoOf } from "./errors.ts";

export interface Watch {
  /** Paths, relative to the root, that are other than at the last look. The first look is the one `openWatch` takes. */
  changed(): string[];
}

const FILES = [
  // As a file it says where the repository is.
  ".git",
  ".git/config",
  ".git/config.worktree",
  ".git/info/attributes",
  ".gitmodules",
  ".envrc",
  ".vscode/tasks.json",
  ".vscode/settings.json",
  ".vscode/launch.json",
  ".mcp.json",
  ".shiro/config.json",
  ".cargo/config.toml",
  ".cargo/config",
  ".npmrc",
  ".yarnrc.yml",
  ".pre-commit-config.yaml",
  "lefthook.yml",
] as const;
const DIRECTORIES = [
  ".git/hooks",
  ".husky",
  ".githooks",
  ".shiro/commands",
  ".shiro/skills",
  ".claude/skills",
  ".agents/skills",
  ".devcontainer",
  ".idea/runConfigurations",
  ".cursor",
  ".zed",
] as const;
/** In all directories together: a hook directory with more files is no hook directory, and the look must stay quick. */
const MAX_FILES = 400;
/** More isn't hashed; its size and times still tell. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Takes the first look. */
export function openWatch(root: string): Watch {
  let known = look(root, new Map());
  return {
    changed() {
      const now = look(root, known);
      const names = [...new Set([...known.keys(), ...now.keys()])];
      const different = names.filter((name) => known.get(name)?.hash !== now.get(name)?.hash);
      known = now;
      return different.sort();
    },
  };
}

interface Seen {
  /** Inode, size and change time: while these stay, the content does (the change time can't be set). */
  stamp: string;
  hash: string;
}

function look(root: string, before: ReadonlyMap<string, Seen>): Map<string, Seen> {
  const seen = new Map<string, Seen>();
  for (const name of [...FILES, ...DIRECTORIES.flatMap((directory) => below(root, directory))].slice(0, MAX_FILES)) {
    const found = see(join(root, name), before.get(name));
    if (found !== null) seen.set(name, found);
  }
  return seen;
}

function see(path: string, before: Seen | undefined): Seen | null {
  try {
    const stat = statSync(path, { bigint: true });
    if (!stat.isFile()) return null;
    if (before?.stamp === stampOf(stat)) return before;
    return readSeen(path);
  } catch (error) {
    // Not there, or not to be read: both are a state that can change.
    if (errnoOf(error) !== undefined) return null;
    throw error;
  }
}

/** A command that still runs may put a pipe in its place, which would hold this process until somebody writes: so it is opened without waiting and looked at again. */
function readSeen(path: string): Seen | null {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(fd, { bigint: true });
    if (!stat.isFile()) return null;
    const stamp = stampOf(stat);
    return { stamp, hash: stat.size > BigInt(MAX_BYTES) ? stamp : `${stat.mode} ${sha256(readUpTo(fd, stat.size))}` };
  } finally {
    closeSync(fd);
  }
}

/** It may grow meanwhile. */
function readUpTo(fd: number, size: bigint): Uint8Array {
  const bytes = new Uint8Array(Number(size));
  return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0));
}

/** The mode counts: a hook runs once it may be executed. */
function stampOf(stat: BigIntStats): string {
  return `${stat.dev} ${stat.ino} ${stat.size} ${stat.ctimeNs} ${stat.mode}`;
}

/** Files of a directory and what is in it, breadth first, never more than the limit: a command may have made millions. */
function below(root: string, start: string): string[] {
  const found: string[] = [];
  const open = [start];
  let seen = 0;
  for (let at = open.shift(); at !== undefined && seen < MAX_FILES; at = open.shift())
    for (const entry of entriesOf(join(root, at), MAX_FILES - seen)) {
      seen++;
      if (entry.isDirectory()) open.push(`${at}/${entry.name}`);
      else if (!entry.name.endsWith(".sample")) found.push(`${at}/${entry.name}`);
    }
  return found;
}

function entriesOf(path: string, limit: number): Dirent[] {
  const found: Dirent[] = [];
  try {
    using directory = opendirSync(path);
    for (let entry = directory.readSync(); entry !== null && found.length < limit; entry = directory.readSync())
      found.push(entry);
  } catch (error) {
    // Not there, or not ours to read.
    if (errnoOf(error) === undefined) throw error;
  }
  return found;
}
