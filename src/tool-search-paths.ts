/** Which files `glob` and `grep` look at: what a pattern names below the workspace, and what rules keep out of a search. */
import { lstat } from "node:fs/promises";
import { resolve, sep } from "node:path";
import { ToolError } from "./errors.ts";
import { parseGlob, type PathGlob } from "./glob.ts";
import { sanitizeLine } from "./sanitize.ts";
import { SECRET_READ_RULES } from "./secrets.ts";
import type { ToolContext } from "./tool.ts";
import { walk } from "./walk.ts";
import { type Located, topOf } from "./workspace.ts";

export interface Scope {
  includeIgnored?: boolean | undefined;
  /** Links are names too, but what is behind them isn't searched. */
  links: boolean;
}

/** Paths in walking order that a pattern names. What is named outright is meant, whatever ignore files say. */
export async function candidates(pattern: string, scope: Scope, context: ToolContext): Promise<string[]> {
  assertInside(pattern);
  const place = placeOf(pattern, context.workspace);
  const glob = parseGlob(place.pattern);
  const named = glob.literal === null ? null : lookUp(place.prefix + glob.literal, context);
  const stat = named && (await lstat(named.real).catch(() => null));
  if (named && stat?.isDirectory()) {
    const prefix = named.realWritten === "." || named.realWritten === "" ? "" : `${named.realWritten}/`;
    return collect(named.real, prefix, EVERYTHING, scope, context);
  }
  const paths = await collect(place.root, place.prefix, glob, scope, context);
  return paths.length === 0 && named && stat?.isFile() ? [named.realWritten] : paths;
}

interface Place {
  root: string;
  /** In front of paths below `root`: empty in the workspace. */
  prefix: string;
  pattern: string;
}

/** Whole paths are common from models: what lies in the workspace, an added directory or among spilled results is taken relative to that. */
function placeOf(pattern: string, workspace: ToolContext["workspace"]): Place {
  const { root, realRoot, extraDirs, readableDirs } = workspace;
  const posix = (dir: string) => dir.split(sep).join("/");
  const rest = (dir: string) =>
    `${pattern}/`.startsWith(`${posix(dir)}/`) ? `./${pattern.slice(dir.length + 1)}` : null;
  const own = rest(realRoot) ?? rest(root);
  if (own !== null) return { root: realRoot, prefix: "", pattern: own };
  for (const dir of [...extraDirs, ...readableDirs]) {
    const inside = rest(dir);
    if (inside !== null) return { root: dir, prefix: `${posix(dir)}/`, pattern: inside };
  }
  return { root: realRoot, prefix: "", pattern };
}

/** The real place of a plain path; throws JailError where it leads out of the workspace. */
function lookUp(path: string, context: ToolContext): Located | null {
  const located = context.workspace.locate(path, "list");
  return located.exists && !located.realWritten.split("/").includes(".git") ? located : null;
}

const EVERYTHING = { matches: () => true, mayEnter: () => true };

async function collect(
  root: string,
  prefix: string,
  glob: Pick<PathGlob, "matches" | "mayEnter">,
  scope: Scope,
  context: ToolContext,
): Promise<string[]> {
  const paths: string[] = [];
  const { signal, childEnv: env } = context;
  const top = topOf(context.workspace, root);
  const options = { includeIgnored: scope.includeIgnored ?? false, signal, env, top, mayEnter: glob.mayEnter };
  for await (const entry of walk(root, options)) {
    const isName = entry.kind === "file" || (entry.kind === "link" && scope.links);
    if (isName && glob.matches(entry.path)) paths.push(prefix + entry.path);
  }
  return paths;
}

function assertInside(pattern: string): void {
  if (!/(?:^|\/)\.\.(?:\/|$)/.test(pattern)) return;
  throw new ToolError("Patterns start at the workspace root and can't leave it with ..", {
    category: "permission error",
  });
}

/** Why a pattern that looks like a whole path finds nothing; "" for others. */
export function rootedHint(pattern: string | undefined): string {
  return pattern?.startsWith("/") ? " A leading / means the workspace root." : "";
}

/** Paths that may be searched, and how many rules keep out. The count doesn't depend on what is searched for, so it tells nothing of contents. */
export async function readable(
  paths: readonly string[],
  context: ToolContext,
): Promise<{ paths: string[]; withheld: number }> {
  const known = paths.length > MAX_JUDGED ? (path: string) => SECRET_HINT.test(path) : () => true;
  const kept: string[] = [];
  let judged = 0;
  for (const path of paths) {
    if (!known(path) || context.mayRead(resolve(context.workspace.realRoot, path))) kept.push(path);
    // A system call and some forty patterns each: keys and timers get their turn.
    if (!known(path) || ++judged % 250 !== 0) continue;
    await new Promise<void>((done) => setImmediate(done));
    context.signal.throwIfAborted();
  }
  return { paths: kept, withheld: paths.length - kept.length };
}

/** Beyond this only names like those of secret files are judged beforehand, and the rest when they have hits. */
const MAX_JUDGED = 2000;

/** Literal parts of the patterns of secret files: what holds none of them is none. */
const SECRET_HINT = new RegExp(
  SECRET_READ_RULES.filter(([, decision]) => decision !== "allow")
    .map(([pattern]) =>
      pattern.split("*").reduce((longest, part) => (part.length > longest.length ? part : longest), ""),
    )
    .map((part) => RegExp.escape(part))
    .join("|"),
  "i",
);

/** A name with a line end in it would read as two. */
export function shownPath(path: string): string {
  return sanitizeLine(path, { ascii: true });
}
