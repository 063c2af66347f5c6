/** MCP servers and tools in words for the model: bounded, and cleaned of what a terminal would obey. Decides nothing. */
import type { NamedTool } from "./mcp-names.ts";
import { whyNot } from "./mcp-reach.ts";
import type { Found } from "./mcp-search.ts";
import type { McpServerState, McpTool } from "./mcp-types.ts";
import { sanitize, sanitizeLabel } from "./sanitize.ts";
import { cutHead } from "./text.ts";

/** Of one schema among several; mcp_inspect shows more. */
const MAX_FOUND_SCHEMA = 4_000;
const MAX_FOUND_DESCRIPTION = 600;
const MAX_SCHEMA = 20_000;
const MAX_DESCRIPTION = 4_000;
/** Of a whole answer; beyond it schemas are left out. */
const MAX_ANSWER = 24_000;
const MAX_LISTED = 200;
const LINE = 120;

/** What a search found, with schemas as far as they fit; says what is not there, and why that may be. */
export function searchResult(found: Found, states: readonly McpServerState[]): string {
  let room = MAX_ANSWER;
  const blocks = found.tools.map((named) => {
    const whole = foundText(named);
    const text = whole.length <= room ? whole : `${headOf(named)}\n(schema left out; mcp_inspect shows it)`;
    room -= text.length;
    return text;
  });
  const missing = found.missing.map((name) => `No tool is called ${JSON.stringify(sanitizeLabel(name, 80))}.`);
  const none = blocks.length === 0 && missing.length === 0 ? ["No tool matches. Try other words, or mcp_list."] : [];
  return [...blocks, ...missing, ...none, ...absent(states)].join("\n\n");
}

/** One line per server. */
export function listServers(states: readonly McpServerState[]): string {
  if (states.length === 0) return "No MCP server is configured.";
  return states.map((state) => `- ${serverLine(state)}`).join("\n");
}

/** One line per tool of a server. */
export function listTools(state: McpServerState): string {
  if (state.tools.length === 0) return `${state.name} has no tools now: ${whyNot(state)}.`;
  const shown = state.tools.slice(0, MAX_LISTED).map((tool) => `- ${toolLine(tool)}`);
  const rest = state.tools.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more: tool_search finds them`] : [])].join("\n");
}

/** Everything about one tool. */
export function schemaText(named: NamedTool): string {
  const description = cutText(sanitize(named.tool.description).trim(), MAX_DESCRIPTION);
  return [headOf(named), description, `schema: ${schemaOf(named.tool, MAX_SCHEMA)}`].filter(Boolean).join("\n");
}

/** Name, number of tools, and what it is for or why it isn't there; at most `maxBytes` long. */
export function serverLine(state: McpServerState, maxBytes = 400): string {
  const name = sanitizeLabel(state.name, 64);
  const count = `${state.tools.length} ${state.tools.length === 1 ? "tool" : "tools"}`;
  const what = state.tools.length === 0 && state.state !== "ready" ? `not available: ${whyNot(state)}` : count;
  const about = state.description ?? state.tools.map((tool) => tool.name).join(", ");
  const text = sanitizeLabel(about, LINE);
  return cutBytes(text === "" ? `${name}: ${what}` : `${name}: ${what}. ${text}`, maxBytes);
}

function foundText(named: NamedTool): string {
  const description = cutText(sanitize(named.tool.description).trim(), MAX_FOUND_DESCRIPTION);
  return [headOf(named), description, `schema: ${schemaOf(named.tool, MAX_FOUND_SCHEMA)}`].filter(Boolean).join("\n");
}

function headOf({ tool, name }: NamedTool): string {
  const label = sanitizeLabel(tool.name, 200);
  // A name that can't be shown as it is can't be called by what is shown; the one on the wire can.
  return `server: ${JSON.stringify(tool.server)}, tool: ${JSON.stringify(label === tool.name ? label : name)}`;
}

function schemaOf(tool: McpTool, maxChars: number): string {
  return cutText(sanitize(JSON.stringify(tool.inputSchema)), maxChars);
}

function toolLine(tool: McpTool): string {
  const name = sanitizeLabel(tool.name, 100);
  const about = sanitizeLabel(tool.description, LINE);
  return about === "" ? name : `${name}: ${about}`;
}

function absent(states: readonly McpServerState[]): string[] {
  const gone = states.filter((state) => state.state !== "ready" && state.tools.length === 0);
  return gone.map((state) => `The server ${state.name} is not available: ${whyNot(state)}.`);
}

function cutText(text: string, maxChars: number): string {
  const cut = cutHead(text, maxChars);
  return cut.dropped === 0 ? text : `${cut.text}… (${cut.dropped} characters more)`;
}

/** One character of CJK is three bytes, and bytes are what a request is made of. */
function cutBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  let end = Math.min(text.length, maxBytes);
  while (end > 0 && Buffer.byteLength(text.slice(0, end)) > maxBytes - 3) end--;
  return `${cutHead(text, end).text.trimEnd()}…`;
}
