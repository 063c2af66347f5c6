/** The directory the agent works in: the path jail and the hooks around writes. Decides no permission; opening and writing files is workspace-open.ts and workspace-edit.ts. */
import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { errnoOf, JailError } from "./errors.ts";
import { type Freshness, openFreshness } from "./freshness.ts";

/** A path, judged by the jail. */
export interface Located {
  /** As asked for, after resolving `.` and `..`: root-relative with forward slashes; absolute when inside an extra directory. */
  written: string;
  /** Absolute path, symlinks not followed. */
  absolute: string;
  /** Absolute real path (deepest existing ancestor resolved, the rest appended). */
  real: string;
  /** `real` relative to the real root with forward slashes; absolute when inside an extra directory. */
  realWritten: string;
  exists: boolean;
}

export type Access = "read" | "write" | "list";

export type WriteHook = (absolutePath: string) => (() => void) | void;

export interface Workspace {
  /** As given. */
  readonly root: string;
  readonly realRoot: string;
  /** Real paths of `--add-dir` directories. */
  readonly extraDirs: readonly string[];
  /** Real directories outside the root that may be read, never written (spill files, loaded skills' folders). */
  readonly readableDirs: Set<string>;
  /** What has been read, and in which state. One per conversation: a subagent works on a `fork`. */
  readonly freshness: Freshness;
  /**
   * Called with the absolute real path before a file is first changed, created or deleted; undo hooks in here.
   * What it returns is called once the change is on disk, and not at all when it failed.
   */
  onWrite: WriteHook | null;
  /** Throws JailError (what was asked, where it leads). Sync: rules need it on every decision. */
  locate(path: string, access: Access): Located;
  /** The same directory, jail and hooks, with nothing read yet. */
  fork(): Workspace;
}

export interface WorkspaceOptions {
  /** Absolute, existing directory. */
  root: string;
  /** Absolute, existing directories the user added. */
  extraDirs?: readonly string[];
}

/** Opens the jail. Throws the system's error when the root or an extra directory does not exist. */
export function openWorkspace(options: WorkspaceOptions): Workspace {
  const root = resolve(options.root);
  const extraDirs = (options.extraDirs ?? []).map((dir) => realpathSync(resolve(root, dir)));
  return new Jail({ root, realRoot: realpathSync(root), extraDirs, readableDirs: new Set(), hook: { onWrite: null } });
}

/** Whether `path` is `base` or below it. Components are compared, so `/work-evil` is not inside `/work`. */
export function isInside(base: string, path: string): boolean {
  const rest = relative(base, path);
  return rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest);
}

/** Which of the workspace's directories a real path lies in; the path itself when in none. */
export function topOf(workspace: Workspace, real: string): string {
  const { realRoot, extraDirs, readableDirs } = workspace;
  return [realRoot, ...extraDirs, ...readableDirs].find((base) => isInside(base, real)) ?? real;
}

interface Places {
  root: string;
  realRoot: string;
  extraDirs: readonly string[];
  readableDirs: Set<string>;
  /** One object for all forks. */
  hook: { onWrite: WriteHook | null };
}

class Jail implements Workspace {
  readonly freshness = openFreshness();
  readonly #places: Places;
  constructor(places: Places) {
    this.#places = places;
  }

  get root(): string {
    return this.#places.root;
  }
  get realRoot(): string {
    return this.#places.realRoot;
  }
  get extraDirs(): readonly string[] {
    return this.#places.extraDirs;
  }
  get readableDirs(): Set<string> {
    return this.#places.readableDirs;
  }
  get onWrite(): WriteHook | null {
    return this.#places.hook.onWrite;
  }
  set onWrite(hook: WriteHook | null) {
    this.#places.hook.onWrite = hook;
  }

  locate(path: string, access: Access): Located {
    if (path.includes("\0")) throw new JailError("The path holds a NUL character.");
    const { root, realRoot } = this.#places;
    const absolute = resolve(root, path);
    const { real, exists } = realPathOf(absolute, path);
    if (!this.#permits(real, access)) throw this.#refusal(path, real, access);
    const base = isInside(root, absolute) ? root : realRoot;
    return { written: shown(base, absolute), absolute, real, realWritten: shown(realRoot, real), exists };
  }

  fork(): Workspace {
    return new Jail(this.#places);
  }

  #permits(real: string, access: Access): boolean {
    const { realRoot, extraDirs, readableDirs } = this.#places;
    const bases = [realRoot, ...extraDirs];
    if (access !== "write") bases.push(...readableDirs);
    return bases.some((base) => isInside(base, real));
  }

  #refusal(path: string, real: string, access: Access): JailError {
    const leads = resolve(this.root, path) === real ? "is" : `leads to ${real}, which is`;
    const readOnly = access === "write" && this.#permits(real, "read");
    if (readOnly) return new JailError(`"${path}" ${leads} in a directory that may only be read.`);
    const work = `outside the workspace ${this.root}`;
    return new JailError(`"${path}" ${leads} ${work}. Work on paths inside it, or ask the user to add the directory.`);
  }
}

// More than the 40 links Linux follows, so that its own ELOOP comes first where it can.
const MAX_LINKS = 64;

/** Real path of something that may not exist yet. Links are followed even when what they lead to is missing. */
function realPathOf(absolute: string, asked: string): { real: string; exists: boolean } {
  let path = absolute;
  let rest: string[] = [];
  for (let links = 0; links < MAX_LINKS;) {
    const real = tryRealPath(path, asked);
    if (real !== null) return { real: join(real, ...rest), exists: rest.length === 0 };
    const target = tryReadLink(path);
    if (target === null) {
      rest = [basename(path), ...rest];
      path = dirname(path);
      continue;
    }
    links++;
    path = resolve(realPathOf(dirname(path), asked).real, target);
  }
  throw tooManyLinks(asked);
}

function tryRealPath(path: string, asked: string): string | null {
  try {
    return realpathSync.native(path);
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    if (code === "ELOOP") throw tooManyLinks(asked);
    if (code === "ENAMETOOLONG") throw new JailError(`"${asked.slice(0, 80)}…" is too long for a path.`);
    throw new JailError(`"${asked}" can't be resolved (${code ?? "unknown error"}).`);
  }
}

function tryReadLink(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw new JailError(`"${path}" can't be looked at (${code ?? "unknown error"}).`);
  }
}

function tooManyLinks(asked: string): JailError {
  return new JailError(`"${asked}" is a loop of symbolic links.`);
}

function shown(base: string, path: string): string {
  if (!isInside(base, path)) return path;
  return relative(base, path).split(sep).join("/") || ".";
}
