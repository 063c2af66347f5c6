/** What the model is offered of the MCP servers at one moment: the tool array's part and the prompt's lines. Frozen until somebody makes another. */
import { metaTools } from "./mcp-meta.ts";
import { renamingNote } from "./mcp-names.ts";
import type { McpReach } from "./mcp-reach.ts";
import { serverLine } from "./mcp-text.ts";
import { directTool } from "./mcp-tools.ts";
import type { McpServerState } from "./mcp-types.ts";
import type { Tool } from "./tool.ts";

export interface McpOffer {
  /** In wire order: the meta tools, then the servers by name. */
  tools: readonly Tool[];
  /** Of the system prompt: one per server whose tools are searched for. */
  lines: readonly string[];
  /** Servers that are known to the model by this offer. */
  servers: ReadonlySet<string>;
  /** Each of the directly exposed servers with the tools it had, to tell a change. */
  direct: ReadonlyMap<string, McpServerState["tools"]>;
  /** For the person: tools that couldn't keep their names; null where all could. */
  note: string | null;
}

/** With so few tools a search costs more than the schemas. */
const FEW_TOOLS = 3;
const LINE_BYTES = 120;
/** More servers than this are in mcp_list. */
const MAX_LINES = 40;

/** From the servers as they are now. The same servers in the same states give the same bytes. */
export function makeOffer(reach: McpReach): McpOffer {
  const states = reach.states();
  const direct = new Map(states.filter(isDirect).map((state) => [state.name, state.tools]));
  const named = reach.named().filter(({ tool }) => direct.has(tool.server));
  const lazy = states.filter((state) => !direct.has(state.name));
  const meta = lazy.length > 0 ? metaTools(() => reach) : [];
  return {
    tools: [...meta, ...named.map((one) => directTool(one, reach))],
    lines: linesOf(lazy),
    servers: new Set(states.filter((state) => state.tools.length > 0).map((state) => state.name)),
    direct,
    note: renamingNote(named),
  };
}

/** A server that died keeps its place: the next call connects again. */
export function isDirect(state: McpServerState): boolean {
  if (state.state !== "ready" && state.tools.length === 0) return false;
  return state.expose === null ? state.tools.length <= FEW_TOOLS : state.expose === "direct";
}

function linesOf(lazy: readonly McpServerState[]): string[] {
  const lines = lazy.slice(0, MAX_LINES).map((state) => serverLine(state, LINE_BYTES));
  return lazy.length > MAX_LINES ? [...lines, `and ${lazy.length - MAX_LINES} more: mcp_list`] : lines;
}
