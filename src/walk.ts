/** Walks a tree and leaves out what ignore files leave out, with or without git. Reads names and sizes, never contents other than ignore files. */
import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { type Env, excludeSettings, findRepository, readSmall, type Repository, repositoryAt } from "./git-config.ts";
import { type IgnoreRules, parseIgnore, toBytes } from "./walk-ignore.ts";

export interface WalkOptions {
  /** List what ignore files hide too. `.git` stays out in any case. */
  includeIgnored?: boolean;
  signal?: AbortSignal;
  /** Levels below the root: 1 lists the root only. */
  maxDepth?: number;
  /** False for directories whose content isn't wanted; they are listed all the same. */
  mayEnter?(directory: string): boolean;
  /** Fill in `size` of files. Costs one system call for each. */
  sizes?: boolean;
  /** A directory above the root whose ignore files hold too where there is no repository to say how far up they reach. */
  top?: string;
  /** Where git's configuration is looked for. */
  env?: Env;
}

export interface WalkEntry {
  /** Relative to the root, with forward slashes. */
  path: string;
  kind: "file" | "dir" | "link";
  size?: number;
}

/** Entries between two chances for timers and keys: about a millisecond's work. */
const BREATH = 1000;

/** Rules with the place they hold for. */
interface Layer {
  rules: IgnoreRules;
  /** From a path below the root to one relative to the rules' directory. */
  from(path: string): string;
}

/** What holds in one directory, most important first. */
interface Rules {
  ours: readonly Layer[];
  git: readonly Layer[];
  /** Excludes of the repository, then of the user. */
  outer: readonly Layer[];
  ignoreCase: boolean;
}

interface Frame {
  /** "" or a path that ends in a slash. */
  base: string;
  entries: Dirent[];
  next: number;
  rules: Rules | null;
}

/**
 * Entries below `root`, each directory before what is in it, names in byte order. Links are listed and never followed,
 * so loops can't happen. Directories that can't be read are listed and left. Rejects with the signal's reason.
 */
export async function* walk(root: string, options: WalkOptions = {}): AsyncGenerator<WalkEntry> {
  const env = options.env ?? process.env;
  const start = options.includeIgnored ? null : rulesAbove(resolve(root), env, options.top);
  const stack = [await openFrame(root, "", start, env)];
  for (let count = 1, frame = stack.at(-1); frame; frame = stack.at(-1)) {
    options.signal?.throwIfAborted();
    const entry = frame.entries[frame.next++];
    if (!entry) stack.pop();
    else if (count++ % BREATH === 0) await breathe();
    const looked = entry && inspect(root, frame, entry, options);
    // Awaiting what is known already would cost more than all the rest of an entry.
    const found = looked instanceof Promise ? await looked : looked;
    if (!found) continue;
    yield found;
    if (found.kind !== "dir" || stack.length >= (options.maxDepth ?? Infinity)) continue;
    if (options.mayEnter?.(found.path) === false) continue;
    stack.push(await openFrame(root, `${found.path}/`, frame.rules, env));
  }
}

/** One path's fate by the same rules, for a file that is named rather than found. Sync: rules need it on a decision. */
export function isIgnoredNow(root: string, path: string, options: { isDirectory: boolean; env?: Env }): boolean {
  const env = options.env ?? process.env;
  let rules = rulesIn(resolve(root), "", rulesAbove(resolve(root), env), env);
  const parts = path.split("/");
  for (let length = 1; length <= parts.length; length++) {
    const part = parts.slice(0, length).join("/");
    const isDirectory = length < parts.length || options.isDirectory;
    if (isHidden(rules, part, isDirectory)) return true;
    if (isDirectory) rules = rulesIn(resolve(root), `${part}/`, rules, env);
  }
  return false;
}

async function openFrame(root: string, base: string, parent: Rules | null, env: Env): Promise<Frame> {
  const entries = await readDirectory(join(root, base));
  // Ignore files are looked for only where the listing shows one: most directories have none.
  const special = parent !== null && (base === "" || entries.some((entry) => SPECIAL.has(entry.name)));
  return {
    base,
    entries,
    next: 0,
    rules: special ? rulesIn(resolve(root), base, parent, env) : parent,
  };
}

const SPECIAL: ReadonlySet<string> = new Set([".gitignore", ".shiroignore", ".git"]);

async function readDirectory(path: string): Promise<Dirent[]> {
  try {
    return await sortByName(await readdir(path, { withFileTypes: true }));
  } catch {
    // Not ours to read, or gone by now: its own entry has been listed.
    return [];
  }
}

/** Sorted runs that are merged, so that a directory of hundreds of thousands doesn't hold up keys and timers. */
async function sortByName(entries: Dirent[]): Promise<Dirent[]> {
  if (entries.length <= RUN) return entries.sort(entries.some(({ name }) => SURROGATE.test(name)) ? byName : byUnits);
  let runs: Dirent[][] = [];
  for (let at = 0; at < entries.length; at += RUN) {
    runs.push(entries.slice(at, at + RUN).sort(byName));
    await breathe();
  }
  while (runs.length > 1) {
    const merged: Dirent[][] = [];
    for (let at = 0; at < runs.length; at += 2) merged.push(await merge(runs[at] ?? [], runs[at + 1] ?? []));
    runs = merged;
  }
  return runs[0] ?? [];
}

const RUN = 4096;

async function merge(left: readonly Dirent[], right: readonly Dirent[]): Promise<Dirent[]> {
  const merged: Dirent[] = [];
  let [at, other] = [0, 0];
  for (let a = left[0], b = right[0]; a && b; a = left[at], b = right[other]) {
    const takesLeft = byName(a, b) <= 0;
    merged.push(takesLeft ? a : b);
    if (takesLeft) at++;
    else other++;
    if (merged.length % RUN === 0) await breathe();
  }
  return merged.concat(left.slice(at), right.slice(other));
}

function byName(a: Dirent, b: Dirent): number {
  return compareBytes(a.name, b.name);
}

/** The same for names without halves of pairs, by the runtime's own comparison. */
function byUnits(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : a.name === b.name ? 0 : 1;
}

const SURROGATE = /[\uD800-\uDFFF]/;

function breathe(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}

/** Order of UTF-8 bytes, which is what rg and git sort by; UTF-16 differs from it beyond the basic plane only. */
export function compareBytes(a: string, b: string): number {
  if (a === b) return 0;
  let at = 0;
  while (a.charCodeAt(at) === b.charCodeAt(at)) at++;
  const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
  // Halves of a pair stand for what comes behind U+FFFF.
  if (left >= 0xd800 && right >= 0xd800) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return left < right || Number.isNaN(left) ? -1 : 1;
}

function inspect(root: string, frame: Frame, entry: Dirent, options: WalkOptions): Found | Promise<Found> {
  if (entry.name === ".git") return null;
  const path = frame.base + entry.name;
  const kind = kindOf(entry);
  if (kind === null)
    return statKind(join(root, path)).then((real) => shown(root, frame, { path, kind: real }, options));
  return shown(root, frame, { path, kind }, options);
}

type Found = WalkEntry | null;

function shown(
  root: string,
  frame: Frame,
  { path, kind }: { path: string; kind: WalkEntry["kind"] | null },
  options: WalkOptions,
): Found | Promise<Found> {
  if (kind === null || (frame.rules && isHidden(frame.rules, path, kind === "dir"))) return null;
  if (!options.sizes || kind !== "file") return { path, kind };
  return sizeOf(join(root, path)).then((size) => (size === null ? { path, kind } : { path, kind, size }));
}

/** Null for what is neither file, directory nor link: pipes, sockets, devices, or a type the file system doesn't tell. */
function kindOf(entry: Pick<Dirent, "isFile" | "isDirectory" | "isSymbolicLink">): WalkEntry["kind"] | null {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "dir";
  return entry.isSymbolicLink() ? "link" : null;
}

async function statKind(path: string): Promise<WalkEntry["kind"] | null> {
  const stat = await lstat(path).catch(() => null);
  return stat && kindOf(stat);
}

async function sizeOf(path: string): Promise<number | null> {
  const stat = await lstat(path).catch(() => null);
  return stat && stat.size;
}

/** gitignore(5): deeper files before higher ones, and these before the repository's and the user's excludes. */
function isHidden(rules: Rules, path: string, isDirectory: boolean): boolean {
  const bytes = toBytes(path);
  for (const layers of [rules.ours, rules.git, rules.outer]) {
    for (const layer of layers) {
      const verdict = layer.rules.verdict(layer.from(bytes), isDirectory);
      if (verdict !== null) return verdict;
    }
  }
  return false;
}

/** Rules of the directories above the root that belong to the same repository, else to `top`, and of git's own exclude files. */
function rulesAbove(root: string, env: Env, top = root): Rules {
  const repository = findRepository(root);
  let rules = outerRules(repository, root, env);
  const inside = relative(repository?.top ?? top, root)
    .split(sep)
    .filter(Boolean);
  for (let depth = 0; depth < inside.length; depth++) {
    const prefix = `${toBytes(inside.slice(depth).join("/"))}/`;
    const dir = inside.slice(depth).reduce((path) => dirname(path), root);
    rules = withFiles(rules, dir, (path) => prefix + path);
  }
  return rules;
}

function outerRules(repository: Repository | null, root: string, env: Env): Rules {
  const settings = excludeSettings(repository, env);
  const inside = repository ? relative(repository.top, root).split(sep).filter(Boolean).join("/") : "";
  const prefix = inside && `${toBytes(inside)}/`;
  const files = [repository && join(repository.commonDir, "info/exclude"), settings.excludesFile];
  const texts = files.map((file) => file && readSmall(file, { followLink: true }));
  const outer = texts.flatMap((text) => layerOf(text, settings.ignoreCase, (path) => prefix + path));
  return { ours: [], git: [], outer, ignoreCase: settings.ignoreCase };
}

/** Rules inside `base`. A repository in a repository is its own world: git there doesn't see the outer one's files. */
function rulesIn(root: string, base: string, parent: Rules, env: Env): Rules {
  const dir = join(root, base);
  const bytes = toBytes(base);
  const from = (path: string) => path.slice(bytes.length);
  const nested = base === "" ? null : repositoryAt(dir);
  if (!nested) return withFiles(parent, dir, from);
  const own = outerRules(nested, dir, env);
  const outer = own.outer.map((layer) => ({ ...layer, from }));
  return withFiles({ ...own, outer, ours: parent.ours }, dir, from);
}

function withFiles(rules: Rules, dir: string, from: Layer["from"]): Rules {
  const git = layerOf(readSmall(join(dir, ".gitignore")), rules.ignoreCase, from);
  const ours = layerOf(readSmall(join(dir, ".shiroignore")), rules.ignoreCase, from);
  return { ...rules, git: [...git, ...rules.git], ours: [...ours, ...rules.ours] };
}

function layerOf(text: string | null | "", ignoreCase: boolean, from: Layer["from"]): Layer[] {
  const rules = text ? parseIgnore(text, ignoreCase) : null;
  return rules ? [{ rules, from }] : [];
}
