/** What MCP tools are called: by the model, and by permission rules. Pure; the same servers give the same names in whatever order they connected. */
import { sha256 } from "./digest.ts";
import type { McpTool } from "./mcp-types.ts";
import { oneLine } from "./text.ts";

export interface NamedTool {
  tool: McpTool;
  /** On the wire: 1 to 64 of `A-Za-z0-9_-`, distinct. */
  name: string;
  /** For rules: `mcp__server__tool`, cleaned, however long, with a hash tail where two tools would share it. */
  subject: string;
}

const PREFIX = "mcp__";
/** Limit of the providers. */
const MAX_NAME = 64;
const SHORTEST_TAIL = 8;

/** What rules match for a tool that no server has named yet. */
export function subjectOf(server: string, tool: string): string {
  return `${PREFIX}${clean(server)}__${clean(tool)}`;
}

/**
 * Names for all tools, sorted by server and tool; of two with the same server and name the first counts. `taken` are
 * names that are never given away: those of the builtin tools.
 */
export function nameTools(tools: readonly McpTool[], taken: ReadonlySet<string> = new Set()): NamedTool[] {
  const sorted = distinct(tools);
  const subjects = unique(
    sorted.map((tool) => ({ tool, wanted: subjectOf(tool.server, tool.name), exact: isExact(tool) })),
    taken,
    Number.POSITIVE_INFINITY,
  );
  const names = unique(
    sorted.map((tool) => {
      const subject = subjects.get(tool) ?? "";
      return { tool, wanted: subject, exact: subject.length <= MAX_NAME };
    }),
    taken,
    MAX_NAME,
  );
  return sorted.map((tool) => ({ tool, subject: subjects.get(tool) ?? "", name: names.get(tool) ?? "" }));
}

/** One line for a person about tools that couldn't keep their names; null where all could. */
export function renamingNote(named: readonly NamedTool[]): string | null {
  const renamed = named.filter(({ tool, name }) => name !== `${PREFIX}${tool.server}__${tool.name}`);
  if (renamed.length === 0) return null;
  const shown = renamed.slice(0, 4).map(({ tool, name }) => `"${oneLine(tool.name, 60)}" of ${tool.server} is ${name}`);
  const more = renamed.length > shown.length ? `, and ${renamed.length - shown.length} more` : "";
  return `MCP tools whose names don't fit or collide are renamed: ${shown.join(", ")}${more}`;
}

function distinct(tools: readonly McpTool[]): McpTool[] {
  const byKey = new Map<string, McpTool>();
  for (const tool of tools) if (!byKey.has(keyOf(tool))) byKey.set(keyOf(tool), tool);
  return [...byKey.values()].sort((a, b) => compare(a.server, b.server) || compare(a.name, b.name));
}

interface Wish {
  tool: McpTool;
  wanted: string;
  /** Nothing had to be changed to get the wanted name: it is the tool's by right. */
  exact: boolean;
}

/** Each wish as it stands where it is the only one, or the only exact one, of its name; all others get a hash tail. */
function unique(wishes: readonly Wish[], taken: ReadonlySet<string>, limit: number): Map<McpTool, string> {
  const groups = Map.groupBy(wishes, (wish) => wish.wanted);
  const names = new Map<McpTool, string>();
  const used = new Set(taken);
  for (const [wanted, group] of groups) {
    const owner = ownerOf(group);
    if (!owner || used.has(wanted) || wanted.length > limit) continue;
    names.set(owner.tool, wanted);
    used.add(wanted);
  }
  for (const { tool, wanted } of wishes) {
    if (names.has(tool)) continue;
    const name = withTail(tool, wanted, used, limit);
    names.set(tool, name);
    used.add(name);
  }
  return names;
}

function ownerOf(group: readonly Wish[]): Wish | null {
  const exact = group.filter((wish) => wish.exact);
  if (exact.length > 1) return null;
  return exact[0] ?? (group.length === 1 ? (group[0] ?? null) : null);
}

// A server may name a tool after the tail of another: then the tail grows until nothing else has it.
function withTail(tool: McpTool, wanted: string, used: ReadonlySet<string>, limit: number): string {
  const digest = sha256(keyOf(tool));
  for (let length = SHORTEST_TAIL; ; length++) {
    const tail = `_${digest.slice(0, Math.min(length, digest.length))}`;
    const name = wanted.slice(0, limit - tail.length) + tail;
    if (!used.has(name) || length >= digest.length) return name;
  }
}

function isExact(tool: McpTool): boolean {
  return clean(tool.server) === tool.server && clean(tool.name) === tool.name;
}

function clean(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_");
}

const keyOf = (tool: McpTool): string => JSON.stringify([tool.server.toWellFormed(), tool.name.toWellFormed()]);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
