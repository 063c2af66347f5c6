/** Reads a server's whole list of tools, page by page, and takes from it what can be used. Knows no transport. */
import type { McpTool } from "./mcp-types.ts";
import type { Json, JsonObject } from "./types.ts";

/** A hundred pages are thousands of tools; a server that goes on is broken. */
export const MAX_PAGES = 100;
/** Searching more would hold up the terminal for seconds; no model finds its way among them either. */
export const MAX_TOOLS = 10_000;
/** Shown to people and matched by rules; nobody names a tool so. */
const MAX_NAME_CHARS = 1_000;
/** Deeper schemas overflow the stack of whatever walks them; nobody writes them by hand. */
const MAX_SCHEMA_DEPTH = 64;

export interface ListingRequest {
  server: string;
  readOnlyTools: readonly string[];
  /** The `result` member of tools/list. */
  page(cursor: string | undefined): Promise<Readonly<Record<string, unknown>>>;
}

export interface Listing {
  /** By name. */
  tools: McpTool[];
  /** What was left out and why, for the server's log. */
  skipped: string[];
  /** One line for a person where the pages don't end; null else. */
  warning: string | null;
}

/** Throws what `page` throws. */
export async function listTools(request: ListingRequest): Promise<Listing> {
  const { entries, warning } = await readPages(request);
  const skipped: string[] = [];
  const tools = new Map<string, McpTool>();
  for (const entry of entries) {
    const tool = toolOf(entry, request, skipped);
    if (tool && tools.has(tool.name)) skipped.push(`tool ${JSON.stringify(tool.name)}: listed twice, the first counts`);
    else if (tool) tools.set(tool.name, tool);
  }
  return { tools: [...tools.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), skipped, warning };
}

async function readPages(request: ListingRequest): Promise<{ entries: unknown[]; warning: string | null }> {
  const entries: unknown[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let count = 0; count < MAX_PAGES; count++) {
    const page = await request.page(cursor);
    if (Array.isArray(page.tools)) for (const entry of page.tools) entries.push(entry);
    if (entries.length > MAX_TOOLS)
      return {
        entries: entries.slice(0, MAX_TOOLS),
        warning: warn(request.server, `lists more than ${MAX_TOOLS} tools`),
      };
    if (typeof page.nextCursor !== "string" || page.nextCursor === "") return { entries, warning: null };
    cursor = page.nextCursor;
    if (seen.has(cursor)) return { entries, warning: warn(request.server, "repeats a page of its list of tools") };
    seen.add(cursor);
  }
  return { entries, warning: warn(request.server, `lists its tools on more than ${MAX_PAGES} pages`) };
}

function warn(server: string, what: string): string {
  return `MCP server ${server} ${what}; what was read until then is used`;
}

function toolOf(entry: unknown, request: ListingRequest, skipped: string[]): McpTool | null {
  if (!isObject(entry) || typeof entry.name !== "string" || entry.name === "") {
    skipped.push("an entry without a name: left out");
    return null;
  }
  if (entry.name.length > MAX_NAME_CHARS) {
    skipped.push(`tool ${JSON.stringify(entry.name.slice(0, 80))}…: its name is too long, left out`);
    return null;
  }
  if (isObject(entry.execution) && entry.execution.taskSupport === "required") {
    skipped.push(`tool ${JSON.stringify(entry.name)}: can only run as a background task, left out`);
    return null;
  }
  return {
    server: request.server,
    name: entry.name,
    description: descriptionOf(entry),
    inputSchema: schemaOf(entry.inputSchema),
    readOnly: request.readOnlyTools.includes(entry.name),
  };
}

function descriptionOf(entry: JsonObject): string {
  const annotated = isObject(entry.annotations) ? entry.annotations.title : null;
  const found = [entry.description, entry.title, annotated].find((one) => typeof one === "string" && one.trim() !== "");
  return typeof found === "string" ? found : "";
}

function schemaOf(schema: Json | undefined): JsonObject {
  if (!isObject(schema) || isTooDeep(schema)) return { type: "object" };
  if (schema.type === "object") return schema;
  // Without a type it means any object; with another one it can't be the arguments of a call.
  return schema.type === undefined ? { type: "object", ...schema } : { type: "object" };
}

function isTooDeep(root: Json): boolean {
  let level: Json[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_SCHEMA_DEPTH) return true;
    level = level.flatMap((value) => (typeof value === "object" && value !== null ? Object.values(value) : []));
  }
  return false;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
