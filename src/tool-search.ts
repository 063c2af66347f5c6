/** `glob` and `grep`: searching and how findings are written. Which files are looked at is tool-search-paths.ts, matching search.ts. */
import { lstat } from "node:fs/promises";
import { resolve } from "node:path";
import * as v from "valibot";
import { ToolError } from "./errors.ts";
import { type FileHits, openScan, type SearchEngine, type SearchQuery } from "./search.ts";
import { parsePattern } from "./search-pattern.ts";
import { openRg, refusal, RgRefused } from "./search-rg.ts";
import { defineTool, type Tool, type ToolContext } from "./tool.ts";
import { candidates, readable, rootedHint, shownPath } from "./tool-search-paths.ts";

const DEFAULT_PATHS = 200;
const MAX_PATHS = 2000;
const MAX_HITS = 200;
/** Lines of context count too; this keeps 200 hits with context inside a result. */
const MAX_CHARS = 28_000;
/** Sorting by age needs a system call for each path; a pattern that finds more should be narrower. */
const MAX_STATS = 50_000;

export const globTool = defineTool({
  name: "glob",
  description:
    "Find files by name, newest first: `src/**/*.ts`, `*.{json,yml}` (no slash: at any depth). Ignored files are left out unless `includeIgnored`.",
  set: "core",
  input: v.object({
    pattern: v.pipe(v.string(), v.minLength(1)),
    limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_PATHS))),
    includeIgnored: v.optional(v.boolean()),
  }),
  mutates: false,
  permission: "allow",
  subjects: (input) => [{ kind: "text", text: input.pattern }],
  concurrencySafe: () => true,
  run: async (input, context) => {
    const found = await candidates(input.pattern, { ...input, links: true }, context);
    return { text: await listPaths(found, input.limit ?? DEFAULT_PATHS, input, context) };
  },
});

async function listPaths(
  paths: string[],
  limit: number,
  input: { pattern: string; includeIgnored?: boolean | undefined },
  context: ToolContext,
): Promise<string> {
  if (paths.length === 0)
    return `No files match.${input.includeIgnored ? "" : " Ignored files were left out; includeIgnored shows them."}${rootedHint(input.pattern)}`;
  const order = paths.length > MAX_STATS ? paths : await newestFirst(paths, context);
  const shown = order.slice(0, limit).map(shownPath);
  const rest = paths.length - shown.length;
  if (rest > 0)
    shown.push(
      `(${rest} more; ${paths.length > MAX_STATS ? "in order of path" : "these are the newest"}; narrow the pattern or raise limit)`,
    );
  return shown.join("\n");
}

async function newestFirst(paths: readonly string[], context: ToolContext): Promise<string[]> {
  const dated: { path: string; mtime: number }[] = [];
  for (const path of paths) {
    const stat = await lstat(resolve(context.workspace.realRoot, path)).catch(() => null);
    dated.push({ path, mtime: stat?.mtimeMs ?? 0 });
  }
  return dated.sort((a, b) => b.mtime - a.mtime).map((entry) => entry.path);
}

/** Makes `grep` for a machine: `rg` gives its path, or null to search in-process; it is asked at the first search. */
export function grepTool(rg: () => string | null): Tool {
  let found: string | null | undefined;
  return defineTool({
    name: "grep",
    description:
      `Search file contents by regular expression (Rust syntax, line by line): \`path:line: text\`, at most ${MAX_HITS} hits. ` +
      "`include` is a glob, path or directory; `context` adds lines around each hit.",
    set: "core",
    input: v.object({
      pattern: v.pipe(v.string(), v.minLength(1)),
      include: v.optional(v.string()),
      ignoreCase: v.optional(v.boolean()),
      context: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(20))),
      includeIgnored: v.optional(v.boolean()),
    }),
    mutates: false,
    permission: "allow",
    subjects: (input) => [{ kind: "text", text: input.pattern }],
    concurrencySafe: () => true,
    run: async (input, context) => ({ text: await grep((found ??= rg()), input, context) }),
  });
}

interface GrepInput {
  pattern: string;
  include?: string | undefined;
  ignoreCase?: boolean | undefined;
  context?: number | undefined;
  includeIgnored?: boolean | undefined;
}

async function grep(rg: string | null, input: GrepInput, context: ToolContext): Promise<string> {
  const query: SearchQuery = {
    root: context.workspace.realRoot,
    pattern: parsePattern(input.pattern, input.ignoreCase ?? false),
    ignoreCase: input.ignoreCase ?? false,
    context: input.context ?? 0,
    signal: context.signal,
  };
  const scope = { includeIgnored: input.includeIgnored, links: false };
  const { paths, withheld } = await readable(await candidates(input.include ?? "**", scope, context), context);
  if (paths.length === 0 && withheld > 0)
    throw new ToolError(
      `Rules forbid reading ${shownPath(input.include ?? "what is here")}. Do without it, or ask the user.`,
      {
        category: "permission error",
      },
    );
  const text = report(await search(query, paths, rg, context), input, paths.length);
  return withheld === 0
    ? text
    : `${text}\n(left out: ${withheld} ${withheld === 1 ? "file" : "files"} that rules forbid reading)`;
}

/** rg where it is and can; else our own engine, which knows look-around and back-references too. */
async function search(
  query: SearchQuery,
  paths: readonly string[],
  rg: string | null,
  context: ToolContext,
): Promise<FileHits[]> {
  if (rg !== null) {
    try {
      return await inBatches(openRg(query, rg, context.childEnv), paths, context);
    } catch (error) {
      if (!(error instanceof RgRefused)) throw error;
      if (!query.pattern.js) throw refusal(error);
    }
  }
  return inBatches(openScan(query), paths, context);
}

async function inBatches(engine: SearchEngine, paths: readonly string[], context: ToolContext): Promise<FileHits[]> {
  const files: FileHits[] = [];
  let left = MAX_HITS + 1;
  try {
    for (let at = 0, size = 64; at < paths.length && left > 0; at += size, size = Math.min(size * 4, 4096)) {
      const found = await engine.scan(paths.slice(at, at + size), left);
      // Again: a large tree's files were judged by name only, and a file may be another one by now. What is withheld here
      // is dropped without a word, since "one file withheld" would tell that it matches.
      const shown = found.filter((file) => context.mayRead(resolve(context.workspace.realRoot, file.path)));
      files.push(...shown);
      left -= countMatches(shown);
    }
    return files;
  } finally {
    engine.close();
  }
}

function countMatches(files: readonly FileHits[]): number {
  return files.reduce((sum, file) => sum + file.hits.filter((hit) => hit.isMatch).length, 0);
}

function report(files: readonly FileHits[], input: GrepInput, searched: number): string {
  if (files.length === 0) return nothing(input, searched);
  const { lines, more } = write(files, (input.context ?? 0) > 0);
  if (more) lines.push("(more hits; narrow the pattern or use include)");
  return lines.join("\n");
}

function nothing(input: GrepInput, files: number): string {
  if (files === 0)
    return `No files ${input.include ? `match include "${input.include}"` : "to search"}${input.includeIgnored ? "." : " (ignored ones were left out; includeIgnored searches them too)."}${rootedHint(input.include)}`;
  return "No matches.";
}

/** rg's way of writing: `:` behind a hit's number, `-` behind a line of context, `--` between places. */
function write(files: readonly FileHits[], withContext: boolean): { lines: string[]; more: boolean } {
  const lines: string[] = [];
  let hits = 0;
  let chars = 0;
  for (const file of files) {
    const path = shownPath(file.path);
    let last = -1;
    for (const hit of file.hits) {
      if (hit.isMatch && hits === MAX_HITS) return { lines, more: true };
      const mark = hit.isMatch ? ":" : "-";
      const line = `${path}${mark}${hit.line}${mark} ${hit.text}`;
      chars += line.length + 1;
      if (chars > MAX_CHARS) return { lines, more: true };
      if (withContext && lines.length > 0 && hit.line !== last + 1) lines.push("--");
      lines.push(line);
      last = hit.line;
      if (hit.isMatch) hits++;
    }
  }
  return { lines, more: false };
}
