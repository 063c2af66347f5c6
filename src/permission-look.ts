/** Looks at the disk on behalf of one command line: each path, pattern and directory once, within a budget. Reads names and links, never contents. */
import { resolve } from "node:path";
import { expandGlob, matchesGlobPart } from "./glob-word.ts";
import { factsOf, type PathFacts } from "./path-facts.ts";
import type { ShellLine } from "./permission-line.ts";
import {
  absoluteDirectory,
  existsAt,
  expandTilde,
  readRefusal,
  refusedBelow,
  type FileRefusal,
  type Scene,
} from "./permission-scene.ts";

// A line of a hundred commands stays far below these; one made to keep shiro busy is asked about instead.
const MAX_PATHS = 20_000;
const MAX_GLOB_ENTRIES = 50_000;
const MAX_WALKS = 16;
const MAX_MOVES = 32;
const GLOB_ENTRIES = 4_000;

const EXHAUSTED: FileRefusal = {
  decision: "ask",
  by: "secret",
  rule: null,
  reason: "The line names more files than can be checked, so it needs approval.",
};

export class Look {
  readonly #scene: Scene;
  readonly #dots: boolean;
  readonly #directories = new Map<string, string>();
  readonly #paths = new Map<string, FileRefusal | null>();
  readonly #patterns = new Map<string, FileRefusal | null>();
  readonly #walks = new Map<string, PathFacts[]>();
  readonly #moves = new Map<string, readonly string[]>();
  #globEntries = MAX_GLOB_ENTRIES;

  constructor(line: ShellLine, scene: Scene) {
    this.#scene = scene;
    this.#dots = /\bdotglob\b/.test(line.source);
  }

  /** A directory as the parser gives it, made absolute. */
  directory(cwd: string): string {
    const known = this.#directories.get(cwd) ?? absoluteDirectory(cwd, this.#scene);
    this.#directories.set(cwd, known);
    return known;
  }

  /** The same where a wildcard may be in it (`cd con*`): every directory it may be, itself among them; null when that is too much to tell. */
  directories(cwd: string): readonly string[] | null {
    const own = this.directory(cwd);
    if (!/[*?[]/.test(cwd)) return [own];
    const known = this.#moves.get(cwd);
    if (known) return known;
    if (this.#moves.size >= MAX_MOVES || cwd.split("/").length > MAX_MOVES) return null;
    const limits = { maxEntries: GLOB_ENTRIES, dots: this.#dots };
    const { paths } = expandGlob(this.homed(cwd), this.#scene.roots.root, limits);
    const found = [own, ...paths.slice(0, MAX_MOVES).map((path) => this.directory(path))];
    this.#moves.set(cwd, found);
    return found;
  }

  /** A word that starts with `~`, as the shell reads it. */
  homed(text: string): string {
    return expandTilde(text, this.#scene.homeDir);
  }

  /** Why the file at this path may not be shown; null when there is none or it may. */
  refusalAt(path: string, directory: string): FileRefusal | null {
    const absolute = resolve(directory, path);
    const known = this.#paths.get(absolute);
    if (known !== undefined) return known;
    if (this.#paths.size >= MAX_PATHS) return EXHAUSTED;
    const refusal = !absolute.startsWith("/proc/") && existsAt(absolute) === null ? null : this.refusalOf(absolute);
    this.#paths.set(absolute, refusal);
    return refusal;
  }

  /** The same without asking whether the file is there. */
  refusalOf(absolute: string): FileRefusal | null {
    return readRefusal(factsOf(absolute, this.#scene.roots.root, this.#scene.roots), this.#scene);
  }

  /** The first refusal among the files that a wildcard word becomes. */
  refusalOfPattern(pattern: string, directory: string): FileRefusal | null {
    const key = `${directory}\0${pattern}`;
    const known = this.#patterns.get(key);
    if (known !== undefined) return known;
    const refusal = this.#expand(pattern, directory);
    this.#patterns.set(key, refusal);
    return refusal;
  }

  /** Refused files below a directory; null when the line has gone through too many. */
  refusedBelow(directory: string): PathFacts[] | null {
    const known = this.#walks.get(directory);
    if (known) return known;
    if (this.#walks.size >= MAX_WALKS) return null;
    const files = refusedBelow(directory, this.#scene);
    this.#walks.set(directory, files);
    return files;
  }

  #expand(pattern: string, directory: string): FileRefusal | null {
    // A process's files come and go; the pattern itself is judged.
    if (pattern.startsWith("/proc/") && isProcessFile(pattern)) return this.refusalOf("/proc/self/environ");
    if (this.#globEntries <= 0) return EXHAUSTED;
    const limits = { maxEntries: Math.min(GLOB_ENTRIES, this.#globEntries), dots: this.#dots };
    const { paths, looked } = expandGlob(this.homed(pattern), directory, limits);
    this.#globEntries -= looked;
    for (const path of paths) {
      const refusal = this.refusalAt(path, directory);
      if (refusal) return refusal;
    }
    return null;
  }
}

const looks = new WeakMap<ShellLine, Look>();

/** The look of this line: what one command found out, the next needn't. */
export function lookFor(line: ShellLine, scene: Scene): Look {
  const known = looks.get(line) ?? new Look(line, scene);
  looks.set(line, known);
  return known;
}

/** What is asked when a line names more than can be looked at. */
export function exhausted(): FileRefusal {
  return EXHAUSTED;
}

function isProcessFile(pattern: string): boolean {
  const name = pattern.split("/").at(-1) ?? "";
  return ["environ", "mem"].some((file) => matchesGlobPart(name, file));
}
