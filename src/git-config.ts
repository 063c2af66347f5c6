/** Finds a repository and reads single values of git's configuration from its files, without starting git. */
import { lstatSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";

/** Larger files of these kinds are somebody's mistake or trap. */
const MAX_BYTES = 4 * 1024 * 1024;

export interface Repository {
  /** Directory that holds `.git`. */
  top: string;
  /** What belongs to this work tree (HEAD, index). */
  gitDir: string;
  /** What all work trees share (config, info/exclude). */
  commonDir: string;
}

export type Env = Readonly<Record<string, string | undefined>>;

/** The repository whose work tree holds `start`, found by its `.git`; null outside one. */
export function findRepository(start: string): Repository | null {
  for (let dir = resolve(start); ; dir = dirname(dir)) {
    const repository = repositoryAt(dir);
    if (repository) return repository;
    if (dirname(dir) === dir) return null;
  }
}

/** The repository whose top is exactly `dir`. */
export function repositoryAt(dir: string): Repository | null {
  const dotGit = join(dir, ".git");
  const gitDir = isDirectory(dotGit) ? dotGit : linkedGitDir(dir, dotGit);
  if (gitDir === null) return null;
  const common = readSmall(join(gitDir, "commondir"))?.trim();
  return { top: dir, gitDir, commonDir: common ? resolve(gitDir, common) : gitDir };
}

/** gitrepository-layout(5): in submodules and extra work trees, `.git` is a file that says where the directory is. */
function linkedGitDir(dir: string, file: string): string | null {
  const target = /^gitdir: (.+?)\s*$/m.exec(readSmall(file) ?? "")?.[1];
  return target ? resolve(dir, target) : null;
}

function isDirectory(path: string): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** A regular file's bytes, one character each; null when there is none, it is a link, or it is too large. */
export function readSmall(path: string, options: { followLink?: boolean } = {}): string | null {
  try {
    const stat = lstatSync(path);
    if (!stat.isFile() && !(options.followLink && stat.isSymbolicLink())) return null;
    if (stat.size > MAX_BYTES) return null;
    return readFileSync(path, "latin1");
  } catch {
    return null;
  }
}

export interface ExcludeSettings {
  /** Absolute path of `core.excludesFile`, or git's default for it. */
  excludesFile: string | null;
  ignoreCase: boolean;
}

/** What git's configuration says about ignoring, later files over earlier ones. `repository` may be null. */
export function excludeSettings(repository: Repository | null, env: Env): ExcludeSettings {
  const home = env.HOME ?? env.USERPROFILE ?? "";
  const xdg = env.XDG_CONFIG_HOME || (home && join(home, ".config"));
  const files = [
    env.GIT_CONFIG_NOSYSTEM ? null : "/etc/gitconfig",
    xdg && join(xdg, "git/config"),
    home && join(home, ".gitconfig"),
  ];
  if (repository) files.push(join(repository.commonDir, "config"));
  const core = new Map(files.flatMap((file) => (file ? coreEntries(readSmall(file, { followLink: true }) ?? "") : [])));
  const named = core.get("excludesfile");
  return {
    excludesFile: named ? expandHome(named, home) : xdg ? join(xdg, "git/ignore") : null,
    ignoreCase: core.get("ignorecase") === "true",
  };
}

function expandHome(path: string, home: string): string | null {
  if (path.startsWith("~/")) return home ? join(home, path.slice(2)) : null;
  return isAbsolute(path) ? path : null;
}

/** Entries of the `[core]` section, names in lower case. Includes are not followed. */
function coreEntries(text: string): [string, string][] {
  const entries: [string, string][] = [];
  let section = "";
  for (const line of Buffer.from(text, "latin1").toString("utf8").split("\n")) {
    section = /^\s*\[\s*([^\]]*?)\s*\]/.exec(line)?.[1]?.toLowerCase() ?? section;
    const entry = /^\s*(?:\[[^\]]*\]\s*)?([A-Za-z][\w-]*)\s*=\s*(.*)$/.exec(line);
    if (section === "core" && entry?.[1]) entries.push([entry[1].toLowerCase(), unquote(entry[2] ?? "")]);
  }
  return entries;
}

/** git-config(1): a value may be quoted, ends at an unquoted comment, and knows a few escapes. */
function unquote(value: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(value);
  const bare = quoted?.[1] ?? value.replace(/\s*[#;].*$/, "").trim();
  return bare.replace(/\\(.)/g, "$1");
}
