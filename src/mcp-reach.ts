/** All tools of all servers as they are now, under their names: finding one, searching them, calling one. What the model is offered is decided elsewhere. */
import { ToolError } from "./errors.ts";
import { argumentFaults, mendArguments } from "./mcp-arguments.ts";
import { nameTools, subjectOf, type NamedTool } from "./mcp-names.ts";
import { ToolIndex } from "./mcp-search.ts";
import type { McpHost, McpServerState, McpTool } from "./mcp-types.ts";
import { nearestName } from "./nearest.ts";
import { sanitizeLabel } from "./sanitize.ts";
import type { ToolContext, ToolOutput } from "./tool.ts";
import type { JsonObject } from "./types.ts";

/** A server that is still starting gets this long when a call needs it, ms. */
const PATIENCE_MS = 15_000;
/** Longer arguments are shown a line each. */
const ONE_LINE = 100;

export class McpReach {
  readonly host: McpHost;
  readonly #yolo: boolean;
  #lists: readonly (readonly McpTool[])[] = [];
  #named: readonly NamedTool[] = [];
  #index: { without: ReadonlySet<string>; named: readonly NamedTool[]; index: ToolIndex } | null = null;
  /** Names in the tool array: what is there needs no search. */
  offered: ReadonlySet<string> = new Set();

  constructor(host: McpHost, yolo: boolean) {
    this.host = host;
    this.#yolo = yolo;
  }

  /** Sorted by name, in whatever order the host has them. */
  states(): McpServerState[] {
    return this.host.states().toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  state(server: string): McpServerState | null {
    return this.host.states().find((one) => one.name === server) ?? null;
  }

  named(): readonly NamedTool[] {
    const lists = this.states().map((state) => state.tools);
    const same = lists.length === this.#lists.length && lists.every((list, at) => list === this.#lists[at]);
    if (same) return this.#named;
    this.#lists = lists;
    this.#named = nameTools(lists.flat());
    return this.#named;
  }

  /** By the server's own name for it, or by the full one. */
  find(server: string, tool: string): NamedTool | null {
    const own = this.named().filter((one) => one.tool.server === server);
    return (
      own.find((one) => one.tool.name === tool) ?? own.find((one) => [one.name, one.subject].includes(tool)) ?? null
    );
  }

  /** What rules match for a call, whether or not there is such a tool. */
  subject(server: string, tool: string): string {
    return this.find(server, tool)?.subject ?? subjectOf(server, tool);
  }

  /** Over everything that isn't in the tool array. */
  index(): ToolIndex {
    const named = this.named();
    if (this.#index?.named === named && this.#index.without === this.offered) return this.#index.index;
    const index = new ToolIndex(named.filter((one) => !this.offered.has(one.name)));
    this.#index = { without: this.offered, named, index };
    return index;
  }

  /** Why there can be no such server or tool; null where there is one, or may be once its server answers. */
  problem(server: string, tool: string | null): string | null {
    const state = this.state(server);
    if (!state) return noServer(server, this.states());
    if (tool === null || this.find(server, tool) || state.state !== "ready") return null;
    const near = nearestName(
      tool,
      state.tools.map((one) => one.name),
    );
    const hint = near === null ? "mcp_list shows its tools." : `Did you mean "${near}"?`;
    return `The server "${server}" has no tool "${tool}". ${hint}`;
  }

  /** Waits for servers that are starting: one, or all. */
  async settle(server: string | null, signal: AbortSignal): Promise<void> {
    const isStarting = server === null || this.state(server)?.state === "connecting";
    if (isStarting) await this.host.settled(PATIENCE_MS, signal);
  }

  /** The tool, its server connected anew where it isn't. Throws ToolError where there is none. */
  async reachable(server: string, tool: string, signal: AbortSignal): Promise<NamedTool> {
    await this.settle(server, signal);
    const known = this.find(server, tool);
    if (known) return known;
    const state = this.state(server);
    if (state && state.state !== "ready" && state.state !== "login") await this.host.revive(server);
    const found = this.find(server, tool);
    if (found) return found;
    const problem =
      this.problem(server, tool) ?? `The server "${server}" is not available: ${whyNot(this.state(server))}`;
    throw new ToolError(problem);
  }

  async call({ tool }: NamedTool, args: JsonObject, context: ToolContext): Promise<ToolOutput> {
    const { signal, ask } = context;
    const output = await this.host.call(tool.server, tool.name, args, {
      signal,
      output: (text) => context.output(text),
      ask,
      yolo: this.#yolo,
    });
    return context.vision ? output : withoutImages(output);
  }
}

/** For a model that takes none: its provider would refuse the whole request, and every one after it. */
function withoutImages({ images, ...output }: ToolOutput): ToolOutput {
  if (!images) return output;
  return { ...output, text: `${output.text}\n\n[images left out: the model takes none]` };
}

/** Arguments ready to be sent, or what is wrong with them in one line. */
export function checkArguments(tool: McpTool, given: JsonObject): { args: JsonObject } | { fault: string } {
  const args = mendArguments(tool.inputSchema, given);
  const faults = argumentFaults(tool.inputSchema, args);
  return faults.length === 0 ? { args } : { fault: faults.slice(0, 3).join("; ") };
}

/** As they will be sent, for the person who is asked. */
export function argumentsText(args: JsonObject): string {
  const line = JSON.stringify(args);
  return line.length <= ONE_LINE ? line : JSON.stringify(args, null, 2);
}

/** Why a server's tools can't be had now, in a few words. */
export function whyNot(state: McpServerState | null): string {
  if (!state) return "it is not configured";
  if (state.state === "login") return `it wants a login (shiro mcp login ${state.name})`;
  return state.problem === null ? state.state : sanitizeLabel(state.problem, 300);
}

function noServer(name: string, states: readonly McpServerState[]): string {
  const names = states.map((state) => state.name);
  const near = nearestName(name, names);
  return `There is no MCP server "${name}". ${near === null ? `Servers: ${names.join(", ")}.` : `Did you mean "${near}"?`}`;
}
