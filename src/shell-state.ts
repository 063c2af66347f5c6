/** What is known of variables and of the directory while a shell line runs, branch by branch. Reads no environment and no disk. */
import { posix } from "node:path";
import type { Known } from "./shell-types.ts";

/** More values than this of one variable or word are as good as unknown. */
export const MAX_VALUES = 16;

/** Longer values are texts, not names or paths. */
const MAX_LENGTH = 4096;

const UNKNOWN: Known = { values: [], exact: false };

/** Names whose value isn't what was last assigned. */
const SHIFTING = new Set(
  "BASHOPTS BASHPID BASH_COMMAND BASH_SUBSHELL DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS LINENO OLDPWD OPTARG OPTIND PIPESTATUS PPID PWD RANDOM REPLY SECONDS SHELLOPTS SRANDOM UID _".split(
    " ",
  ),
);

interface Entry {
  known: Known;
  /** Entries older than the state's are from before something that may have changed any variable. */
  epoch: number;
}

export interface Variables {
  entries: Map<string, Entry>;
  epoch: number;
  epochs: number;
  /** Attributes (`-i`, `-u`, `readonly` …) make assignments do something else. */
  odd: Set<string>;
  /** For each branch that is being walked, what the variables assigned in it were before. */
  logs: Map<string, Entry | undefined>[];
}

export function newVariables(known: ReadonlyMap<string, Known>): Variables {
  const entries = new Map([...known].map(([name, value]) => [name, { known: value, epoch: 0 }]));
  return { entries, epoch: 0, epochs: 0, odd: new Set(), logs: [] };
}

export function lookUp(variables: Variables, name: string): Known {
  const entry = variables.entries.get(name);
  if (!entry) return UNKNOWN;
  const exact = entry.known.exact && entry.epoch === variables.epoch && !SHIFTING.has(name) && !variables.odd.has(name);
  return exact === entry.known.exact ? entry.known : { ...entry.known, exact };
}

export function assign(variables: Variables, name: string, known: Known): void {
  const value = variables.odd.has(name) ? join(lookUp(variables, name), known) : known;
  put(variables, name, { known: value, epoch: variables.epoch });
}

/** The variable may hold anything from now on; what it held is still worth a look. */
export function forget(variables: Variables, name: string, candidates: readonly string[] = []): void {
  const known = join(lookUp(variables, name), { values: candidates, exact: false });
  put(variables, name, { known: { ...known, exact: false }, epoch: variables.epoch });
}

export function forgetAll(variables: Variables): void {
  variables.epoch = ++variables.epochs;
}

/** Runs `walk` on what may or may not run: afterwards a variable is what it was or what it became. */
export function maybe<T>(variables: Variables, walk: () => T): T {
  const { result, log } = logged(variables, walk);
  for (const [name, before] of log) {
    const now = lookUp(variables, name);
    const known = join(before ? before.known : UNKNOWN, now);
    const exact = known.exact && before?.epoch === variables.epoch;
    variables.logs.at(-1)?.has(name) || variables.logs.at(-1)?.set(name, before);
    variables.entries.set(name, { known: { ...known, exact }, epoch: variables.epoch });
  }
  return result;
}

/** Runs `walk` on what runs in a subshell: afterwards all is as before. */
export function isolated<T>(variables: Variables, walk: () => T): T {
  const { epoch } = variables;
  const { result, log } = logged(variables, walk);
  for (const [name, before] of log) {
    if (before) variables.entries.set(name, before);
    else variables.entries.delete(name);
  }
  variables.epoch = epoch;
  return result;
}

function logged<T>(variables: Variables, walk: () => T): { result: T; log: Map<string, Entry | undefined> } {
  const log = new Map<string, Entry | undefined>();
  variables.logs.push(log);
  const result = walk();
  variables.logs.pop();
  return { result, log };
}

function put(variables: Variables, name: string, { known, epoch }: Entry): void {
  const log = variables.logs.at(-1);
  if (log && !log.has(name)) log.set(name, variables.entries.get(name));
  const short = known.values.every((value) => value.length <= MAX_LENGTH);
  variables.entries.set(name, { known: short ? known : UNKNOWN, epoch });
}

function join(one: Known, other: Known): Known {
  const values = [...new Set([...one.values, ...other.values])];
  const exact = one.exact && other.exact && values.length <= MAX_VALUES;
  return { values: values.slice(0, MAX_VALUES), exact, globs: one.globs === true || other.globs === true };
}

/** Real lines change the directory once or twice, to names that fit a screen. */
const MAX_DIRS = 8;
const MAX_PATH = 1024;

/** Directories a command may run in. No paths at all: it can't be reached. */
export interface Dirs {
  paths: readonly string[];
  known: boolean;
}

/** Where a command leaves the shell when it succeeds and when it fails. */
export interface Flow {
  ok: Dirs;
  fail: Dirs;
}

export const NOWHERE: Dirs = { paths: [], known: true };

export function same(dirs: Dirs): Flow {
  return { ok: dirs, fail: dirs };
}

export function either(flow: Flow): Dirs {
  return unite(flow.ok, flow.fail);
}

export function unite(one: Dirs, other: Dirs): Dirs {
  if (one === other || other.paths.length === 0) return one;
  if (one.paths.length === 0) return other;
  const paths = [...new Set([...one.paths, ...other.paths])];
  return { paths: paths.slice(0, MAX_DIRS), known: one.known && other.known && paths.length <= MAX_DIRS };
}

/** Where `cd target` leads, for each of the targets. */
export function move(dirs: Dirs, targets: readonly string[], known: boolean): Dirs {
  const paths = new Set(dirs.paths.flatMap((from) => targets.map((to) => resolve(from, to))));
  const kept = [...paths].filter((path) => path.length <= MAX_PATH);
  // Without a target the old ones are all there is to name.
  if (kept.length === 0) return { paths: dirs.paths, known: false };
  return {
    paths: kept.slice(0, MAX_DIRS),
    known: dirs.known && known && paths.size <= MAX_DIRS && kept.length === paths.size,
  };
}

function resolve(from: string, to: string): string {
  if (to.startsWith("/") || to.startsWith("~")) return posix.normalize(to);
  return posix.join(from, to).replace(/(?<=.)\/$/, "") || ".";
}
