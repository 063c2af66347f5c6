/** From settings and places to what the launcher is told, or to the reason why there can't be a sandbox here. Resolves paths; starts nothing. */
import { lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { errnoOf } from "./errors.ts";
import { isWithin, realOf } from "./path-facts.ts";
import { CACHES, defaultDenied } from "./sandbox-denied.ts";
import { ledThrough } from "./sandbox-links.ts";
import type { SandboxSettings } from "./sandbox-settings.ts";
import { matchesWildcard } from "./wildcard.ts";

export interface PolicyPlaces {
  /** Real path of the workspace root. */
  workspace: string;
  /** Further directories the user gave to the tools. */
  extraDirs: readonly string[];
  /** Every directory that is somebody's home here: HOME, and the account's where that is another. */
  homes: readonly string[];
  /** The program's own state directory. */
  stateHome: string;
  /** What commands may read although it is denied: long results, the folders of loaded skills. */
  readable(): readonly string[];
}

/** What doesn't change from command to command. All paths are real. */
export interface Policy {
  write: string[];
  deny: string[];
  read: string[];
  devices: string[];
  /** What isn't protected although it usually is, one line each. */
  lost: string[];
}

export type PolicyResult = { ok: true; policy: Policy } | { ok: false; why: string };

/** Where commands may write, or why there can't be such a place. */
export type RootsResult = { ok: true; roots: string[]; lost: string[] } | { ok: false; why: string };

/**
 * The policy as the disk is now: what is denied may have been made since the last command. The roots are handed in,
 * because they are resolved once: a command could otherwise move what the next one's roots lead to.
 */
export function makePolicy(
  settings: SandboxSettings,
  places: PolicyPlaces,
  network: "off" | "on",
  found: RootsResult = writeRoots(settings, places),
): PolicyResult {
  if (!found.ok) return found;
  const lost = [...found.lost];
  const denied = deniedPaths(settings, places, network, found.roots, lost);
  if (typeof denied === "string") return { ok: false, why: denied };
  const read = readAgain(places.readable(), found.roots);
  return { ok: true, policy: { write: found.roots, deny: denied, read, devices: devicesOf(settings.devices), lost } };
}

/** Why a directory can't be a write root, or null. Also asked before another one is offered. */
export function rootProblem(real: string, places: Pick<PolicyPlaces, "homes" | "stateHome">): string | null {
  if (real === "/") return "it is the root of the file system";
  for (const home of places.homes.map(realOfDirectory)) {
    if (real === home) return "it is the home directory";
    if (isWithin(real, home)) return "the home directory is in it";
  }
  const state = realOfDirectory(places.stateHome);
  if (isWithin(real, state)) return `${state}, where shiro keeps its settings, is in it`;
  if (isWithin(state, real)) return `it is in ${state}, where shiro keeps its settings`;
  if (/^\/(?:proc|sys|dev)(?:\/|$)/.test(real)) return "it belongs to the kernel";
  return null;
}

/** Resolves every root. One that lies in another is dropped: it adds nothing, and commands could move it. */
export function writeRoots(settings: SandboxSettings, places: PolicyPlaces): RootsResult {
  const problem = rootProblem(places.workspace, places);
  if (problem !== null)
    return {
      ok: false,
      why: `the workspace ${places.workspace} can't be confined: ${problem}. Start in a project's directory`,
    };
  const lost: string[] = [];
  const roots = [places.workspace];
  const given = candidates(settings, places).map((one) => ({ ...one, path: expand(one.written, places) }));
  const all = [places.workspace, ...given.flatMap(({ path }) => existing(path) ?? [])];
  for (const { written, from, path } of given) {
    const real = existing(path);
    if (real === null) {
      if (from !== "usual") lost.push(`${written} isn't there and was left out of what may be written`);
      continue;
    }
    // Looked at first: what a command can bring about must not be a reason for having no sandbox at all.
    const moved = movedProblem(path, real, all);
    const why = moved ?? rootProblem(real, places);
    if (why === null) roots.push(real);
    else if (moved === null && from === "settings")
      return { ok: false, why: `${written} can't be made writable: ${why}` };
    else lost.push(`${written} can't be written by commands: ${why}`);
  }
  return { ok: true, roots: outermost(roots), lost };
}

/** Without what lies in another one: it adds nothing, and commands could put a link in its place. */
export function outermost(roots: readonly string[]): string[] {
  const unique = [...new Set(roots)];
  return unique.filter((root) => !unique.some((other) => other !== root && isWithin(other, root)));
}

interface Candidate {
  written: string;
  /** `given`: to the whole program, with --add-dir. */
  from: "settings" | "given" | "usual";
}

/** What is asked for beside the workspace. Caches and the shared temporary directories needn't be there. */
function candidates(settings: SandboxSettings, places: PolicyPlaces): Candidate[] {
  const caches = settings.caches.flatMap((cache) =>
    CACHES[cache].flatMap((path) => places.homes.map((home) => join(home, path))),
  );
  const shared = settings.tmp === "shared" ? ["/tmp", "/var/tmp"] : [];
  return [
    ...settings.write.map((written) => ({ written, from: "settings" as const })),
    ...places.extraDirs.map((written) => ({ written, from: "given" as const })),
    ...[...caches, ...shared].map((written) => ({ written, from: "usual" as const })),
  ];
}

/** A name inside what commands may write can be turned into a link by one, and would lead the next one elsewhere. */
function movedProblem(path: string, real: string, roots: readonly string[]): string | null {
  const root = ledThrough(path, real, roots);
  return root === undefined ? null : `it is a link in ${root} that leads to ${real}`;
}

function deniedPaths(
  settings: SandboxSettings,
  places: PolicyPlaces,
  network: "off" | "on",
  roots: readonly string[],
  lost: string[],
): string[] | string {
  const lifted = new Set(
    settings.denyRead.filter((path) => path.startsWith("!")).map((path) => expand(path.slice(1), places)),
  );
  const usual = [...defaultDenied(places.homes, network), places.stateHome].filter((path) => !lifted.has(path));
  const own = settings.denyRead.filter((path) => !path.startsWith("!")).map((path) => expand(path, places));
  const project = settings.projectDenyRead.map((path) => expand(path, places));
  const found: string[] = [];
  for (const path of [...usual, ...own, ...project]) {
    const real = existing(path);
    if (real === null && !own.includes(path)) continue;
    const root = roots.find((one) => isWithin(one, real ?? realOf(path)));
    // Whether it is there or not: else a command could make the policy impossible by making it.
    if (root !== undefined && own.includes(path))
      return `denyRead: ${path} is in ${root}, which commands may write, so it can't be kept from them`;
    // The root can't be denied: there would be no program left to run.
    if (real === null || real === "/") continue;
    if (root !== undefined) {
      lost.push(`${path} can be read: it is in ${root}, which commands may write`);
      continue;
    }
    found.push(real);
    const movable = ledThrough(path, real, roots);
    if (movable !== undefined)
      lost.push(`${path} leads through ${movable}, where commands could change what it leads to`);
  }
  // One that a write root is in stays denied around it: the root's own rule adds its rights.
  return [...new Set(found)];
}

/** What lies in a root is readable as it is; what a command could have put a link in the place of isn't followed. */
function readAgain(paths: readonly string[], roots: readonly string[]): string[] {
  return paths.flatMap((path) => {
    const real = existing(path);
    if (real === null || roots.some((root) => isWithin(root, real))) return [];
    return ledThrough(path, real, roots) === undefined ? [real] : [];
  });
}

/** Device files, by name or pattern. What is no device is left out: rules for devices allow writing. */
function devicesOf(patterns: readonly string[]): string[] {
  return patterns.flatMap((pattern) => {
    const directory = dirname(pattern);
    if (directory !== "/dev" && !directory.startsWith("/dev/")) return [];
    return namesIn(directory)
      .filter((name) => matchesWildcard(basename(pattern), name))
      .map((name) => join(directory, name))
      .filter((path) => statSync(path, { throwIfNoEntry: false })?.isCharacterDevice() === true)
      .map(realOfDirectory);
  });
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    // Not there: then there is no device to give.
    if (errnoOf(error) !== undefined) return [];
    throw error;
  }
}

function expand(path: string, places: PolicyPlaces): string {
  const home = places.homes[0] ?? "/";
  if (path === "~") return home;
  return path.startsWith("~/") ? join(home, path.slice(2)) : resolve(places.workspace, path);
}

/** Where a path really leads; null when nothing is there. */
function existing(path: string): string | null {
  try {
    // Most of the usual secrets aren't there, and an error for each would take most of the time.
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null;
    return realpathSync.native(path);
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    // Not ours to look into: as far as it can be followed, which a rule can do no better.
    if (code !== undefined) return realOf(path);
    throw error;
  }
}

function realOfDirectory(path: string): string {
  return existing(path) ?? realOf(path);
}
