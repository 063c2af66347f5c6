/** Where a path really leads, for judging calls: never throws and enforces no jail (workspace.ts does). */
import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, parse, relative, resolve, sep } from "node:path";

export interface PathFacts {
  /** Relative to the root with forward slashes when inside it, else absolute. `.` is the root. */
  written: string;
  /** Absolute, `.` and `..` resolved, links not followed. */
  absolute: string;
  /** Absolute, links followed as far as the path exists; a dangling link is followed too. */
  real: string;
  /** As `written`, of `real`. */
  realWritten: string;
  /** `real` lies in the root or an extra directory. */
  inside: boolean;
}

/** The directories paths are judged against. */
export interface Roots {
  root: string;
  realRoot: string;
  extraDirs: readonly string[];
}

const MAX_LINKS = 40;

/** Facts of `path`, taken relative to `base` (absolute). */
export function factsOf(path: string, base: string, roots: Roots): PathFacts {
  const absolute = resolve(base, path);
  const real = realOf(absolute);
  return {
    absolute,
    real,
    written: writtenFrom(roots.root, absolute) ?? writtenFrom(roots.realRoot, absolute) ?? posix(absolute),
    realWritten: writtenFrom(roots.realRoot, real) ?? posix(real),
    inside: [roots.realRoot, ...roots.extraDirs].some((directory) => isWithin(directory, real)),
  };
}

/** The real path; where the file doesn't exist, that of its nearest ancestor with the rest appended. */
export function realOf(absolute: string, links = MAX_LINKS): string {
  try {
    return realpathSync.native(absolute);
  } catch {
    // Missing, dangling, looping or unreadable: what is there is followed, the rest taken as written.
    const there = deepestExisting(absolute);
    const rest = absolute.slice(there.length).replace(/^[/\\]/, "");
    const target = links > 0 ? linkTarget(there) : null;
    if (target !== null) return join(realOf(target, links - 1), rest);
    return there === absolute ? absolute : join(realOf(there, links - 1), rest);
  }
}

/** The longest beginning of the path that is there, a dangling link included. By halves: paths made to be slow have thousands of parts. */
function deepestExisting(absolute: string): string {
  const { root } = parse(absolute);
  const parts = absolute.slice(root.length).split(/[/\\]/);
  let [low, high] = [0, parts.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (exists(join(root, ...parts.slice(0, middle)))) low = middle;
    else high = middle - 1;
  }
  return join(root, ...parts.slice(0, low));
}

function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    // Below a file, too long, or in a directory that isn't ours to look into.
    return false;
  }
}

/** Whether `path` is `directory` or below it, by components. */
export function isWithin(directory: string, path: string): boolean {
  const rest = relative(directory, path);
  return rest === "" || (rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}

function linkTarget(absolute: string): string | null {
  try {
    if (!lstatSync(absolute).isSymbolicLink()) return null;
    return resolve(dirname(absolute), readlinkSync(absolute));
  } catch {
    // Not there: nothing to follow.
    return null;
  }
}

function writtenFrom(root: string, absolute: string): string | null {
  if (!isWithin(root, absolute)) return null;
  return posix(relative(root, absolute)) || ".";
}

function posix(path: string): string {
  return sep === "/" ? path : path.split(sep).join("/");
}
