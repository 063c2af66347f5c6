/** Where a call is judged: directories, tables in force, and what they say about files. Reads the disk, changes nothing. */
import { lstatSync, readdirSync, type Dirent } from "node:fs";
import { dirname, join, relative } from "node:path";
import { factsOf, isWithin, type PathFacts, type Roots } from "./path-facts.ts";
import { compareStrictness, isSecretRow, matchTable, type Match, type Table } from "./permission.ts";
import { isPrivateHomePath } from "./secrets.ts";
import { selfProtection } from "./protect.ts";

export interface Scene {
  roots: Roots;
  /** The user's home directory. */
  homeDir: string;
  /** Real path of SHIRO_HOME. */
  home: string;
  yolo: boolean;
  /** Rules on showing a file's contents, and on writing one. */
  readTable: Table;
  writeTable: Table;
}

export interface FileRefusal {
  decision: "ask" | "deny";
  by: "secret" | "rule";
  rule: string | null;
  reason: string;
}

const PROCESS_SECRETS = /^\/proc\/[^/]+\/(?:task\/[^/]+\/)?(?:environ|mem)$/;

/** The stricter of what a table says about a path as written and as it really is. */
export function matchPath(table: Table, path: PathFacts): Match {
  const written = matchTable(table, path.written);
  const real = path.realWritten === path.written ? written : matchTable(table, path.realWritten);
  return compareStrictness(real.decision, written.decision) > 0 ? real : written;
}

/** Why the contents of this file may not simply be shown; null when they may. Rules that only say `ask` in general don't count. */
export function readRefusal(path: PathFacts, scene: Scene): FileRefusal | null {
  if (PROCESS_SECRETS.test(path.absolute) || PROCESS_SECRETS.test(path.real))
    return secret(`${path.written} holds a process's memory or environment, where keys are.`);
  if (isPrivate(path.real, scene.home) || isPrivate(path.absolute, scene.home))
    return secret(`${path.written} belongs to shiro itself and may hold API keys or transcripts.`);
  const match = matchPath(scene.readTable, path);
  if (match.decision === "deny") return refusalOf(path, match, "deny");
  return match.decision === "ask" && isSecretRow(match.row) ? refusalOf(path, match, "ask") : null;
}

/** Why a write to this path asks whatever the rules say. */
export function writeProtection(path: PathFacts, scene: Scene): string | null {
  return selfProtection(path, { home: scene.home, yolo: scene.yolo });
}

/** Facts of a path as a word of a command gives it. */
export function locateWord(text: string, tilde: boolean, cwd: string, scene: Scene): PathFacts {
  return factsOf(tilde ? expandTilde(text, scene.homeDir) : text, absoluteDirectory(cwd, scene), scene.roots);
}

/** A command's directory as the parser gives it (relative to the root, absolute, or with `~`), made absolute. */
export function absoluteDirectory(cwd: string, scene: Scene): string {
  const plain = cwd.startsWith("~") ? expandTilde(cwd, scene.homeDir) : cwd;
  return factsOf(plain, scene.roots.root, scene.roots).absolute;
}

/** Without following a last link. */
export function existsAt(absolute: string): "file" | "directory" | null {
  const stats = statOrNull(absolute);
  return stats === null ? null : stats.isDirectory() ? "directory" : "file";
}

// What a search of the workspace may cost: about 50 ms. Breadth first, so that what lies near the top is always seen.
const MAX_WALK_ENTRIES = 20_000;
const MAX_FOUND = 64;
const SKIPPED = new Set([".git", "node_modules"]);

/** Files below `directory` whose contents are refused, nearest first; bounded, so a very large tree is only searched near its top. */
export function refusedBelow(directory: string, scene: Scene): PathFacts[] {
  const found: PathFacts[] = [];
  const queue = [directory];
  let seen = 0;
  for (const current of queue) {
    for (const entry of entriesOf(current)) {
      if (++seen > MAX_WALK_ENTRIES || found.length >= MAX_FOUND) return found;
      const path = join(current, entry.name);
      if (entry.isDirectory()) {
        if (!SKIPPED.has(entry.name)) queue.push(path);
      } else if (isRefusedFile(path, scene)) found.push(factsOf(path, directory, scene.roots));
    }
  }
  return found;
}

function isRefusedFile(absolute: string, scene: Scene): boolean {
  const inRoot = isWithin(scene.roots.realRoot, absolute) || isWithin(scene.roots.root, absolute);
  const base = isWithin(scene.roots.realRoot, absolute) ? scene.roots.realRoot : scene.roots.root;
  const match = matchTable(scene.readTable, inRoot ? relative(base, absolute) : absolute);
  return match.decision === "deny" || (match.decision === "ask" && isSecretRow(match.row));
}

function isPrivate(path: string, home: string): boolean {
  return isWithin(home, path) && isPrivateHomePath(relative(home, path).replaceAll("\\", "/"));
}

function secret(reason: string): FileRefusal {
  return { decision: "deny", by: "secret", rule: null, reason: `${reason} Reading it is refused.` };
}

function refusalOf(path: PathFacts, match: Match, decision: "ask" | "deny"): FileRefusal {
  const where = path.realWritten === path.written ? path.written : `${path.written} (really ${path.realWritten})`;
  const rule = match.row?.label ?? null;
  if (!isSecretRow(match.row))
    return { decision, by: "rule", rule, reason: `Reading ${where} is refused by the rule ${rule}.` };
  const verb = decision === "deny" ? "is refused" : "needs the user's approval";
  return { decision, by: "secret", rule, reason: `${where} usually holds secrets, so reading it ${verb}.` };
}

/** What the shell makes of a leading `~`, `~/`, `~+/` (relative to the directory at hand) or `~name/`. */
export function expandTilde(text: string, homeDir: string): string {
  const [, name = "", rest = ""] = /^~([^/]*)([\s\S]*)$/.exec(text) ?? [];
  if (!text.startsWith("~") || name === "-") return text;
  if (name === "") return homeDir + rest;
  if (name === "+") return `.${rest}`;
  // Other people's homes stand beside one's own, nearly everywhere.
  return name === "root" ? `/root${rest}` : join(dirname(homeDir), name) + rest;
}

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    // Gone or not ours to read: a command finds nothing there either.
    return [];
  }
}

function statOrNull(absolute: string) {
  try {
    return lstatSync(absolute, { throwIfNoEntry: false }) ?? null;
  } catch {
    // A path that can't exist (a file used as a directory, too long, a NUL in it).
    return null;
  }
}
