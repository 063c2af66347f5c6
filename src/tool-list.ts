/** `list_dir`: a directory as an indented tree with sizes. What is walked and what is ignored decides walk.ts. */
import * as v from "valibot";
import { ToolError } from "./errors.ts";
import { sanitizeLine } from "./sanitize.ts";
import { defineTool, type ToolContext } from "./tool.ts";
import { walk, type WalkEntry } from "./walk.ts";
import { isDirectory, notFound } from "./workspace-open.ts";
import { type Located, topOf } from "./workspace.ts";

const MAX_ENTRIES = 300;
// So many are sorted; beyond, the rest is only counted. Deep trees of generated files reach it.
const MAX_COLLECTED = 20_000;

export const listDirTool = defineTool({
  name: "list_dir",
  description: "List a directory as a tree with sizes, `depth` levels (default 2). Ignored files are left out.",
  set: "edit-plus",
  input: v.object({
    path: v.optional(v.string()),
    depth: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(6))),
    includeIgnored: v.optional(v.boolean()),
  }),
  mutates: false,
  permission: "allow",
  subjects: (input) => [{ kind: "path", path: input.path ?? ".", access: "list" }],
  concurrencySafe: () => true,
  run: async (input, context) => {
    const located = context.workspace.locate(input.path ?? ".", "list");
    if (!located.exists) throw notFound(located);
    if (!isDirectory(located)) throw new ToolError(`"${located.written}" is a file. Read it with read_file.`);
    const options = { depth: input.depth ?? 2, includeIgnored: input.includeIgnored ?? false };
    return { text: await listTree(located, options, context) };
  },
});

export interface ListOptions {
  depth: number;
  includeIgnored: boolean;
}

/** The tree below a located directory, at most 300 entries, nearest levels first, then how many more there are. */
export async function listTree(located: Located, options: ListOptions, context: ToolContext): Promise<string> {
  const entries: WalkEntry[] = [];
  let total = 0;
  const { depth: maxDepth, includeIgnored } = options;
  const { signal, workspace } = context;
  const top = topOf(workspace, located.real);
  for await (const entry of walk(located.real, { includeIgnored, maxDepth, sizes: true, signal, top })) {
    total++;
    if (entries.length < MAX_COLLECTED) entries.push(entry);
  }
  const shown = nearest(entries);
  const lines = shown.sort(byTree).map(lineOf);
  if (shown.length < total) lines.push(`(${total - shown.length} more entries; list a subdirectory or use glob)`);
  if (total === 0) lines.push("(empty)");
  return [`${sanitizeLine(located.written, { ascii: true })}/`, ...lines].join("\n");
}

/** Whole levels from the top as far as they fit, then the first of the level that does not. */
function nearest(entries: WalkEntry[]): WalkEntry[] {
  if (entries.length <= MAX_ENTRIES) return entries;
  return entries.toSorted((a, b) => levelOf(a) - levelOf(b) || byTree(a, b)).slice(0, MAX_ENTRIES);
}

function levelOf(entry: WalkEntry): number {
  return entry.path.split("/").length - 1;
}

/** Component by component, so that a directory is followed by what it holds. */
function byTree(a: WalkEntry, b: WalkEntry): number {
  const [left, right] = [a.path.split("/"), b.path.split("/")];
  const at = left.findIndex((part, index) => part !== right[index]);
  if (at < 0) return left.length - right.length;
  const [mine, other] = [left[at] ?? "", right[at]];
  return other === undefined ? 1 : mine < other ? -1 : 1;
}

function lineOf(entry: WalkEntry): string {
  const level = levelOf(entry) + 1;
  const name = sanitizeLine(entry.path.slice(entry.path.lastIndexOf("/") + 1), { ascii: true });
  return "  ".repeat(level) + name + suffixOf(entry);
}

function suffixOf(entry: WalkEntry): string {
  switch (entry.kind) {
    case "dir":
      return "/";
    case "link":
      return " (link)";
    case "file":
      return entry.size === undefined ? "" : ` ${sizeOf(entry.size)}`;
    default:
      return entry.kind satisfies never;
  }
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const unit = bytes < 1024 ** 2 ? "KB" : bytes < 1024 ** 3 ? "MB" : "GB";
  const value = bytes / 1024 ** (["KB", "MB", "GB"].indexOf(unit) + 1);
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}
