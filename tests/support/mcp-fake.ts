/** An MCP host by hand: servers that connect when a test says so, and calls that are written down. */
import type { McpCallOptions, McpHost, McpServerState, McpTool } from "../../src/mcp-types.ts";
import type { ToolOutput } from "../../src/tool.ts";
import type { JsonObject } from "../../src/types.ts";

export interface FakeHost extends McpHost {
  /** Changes a server's state and tells the listeners. */
  set(name: string, change: Partial<McpServerState>): void;
  calls: { server: string; tool: string; args: JsonObject; options: McpCallOptions }[];
  started: number;
  closed: number;
  /** What `settled` was given, ms. */
  waits: number[];
}

export function tool(server: string, name: string, more: Partial<McpTool> = {}): McpTool {
  const inputSchema = { type: "object", properties: { text: { type: "string" } } };
  return { server, name, description: `${name} it.`, inputSchema, readOnly: false, ...more };
}

/** Tools `t0`, `t1` … */
export function toolsOf(server: string, count: number): McpTool[] {
  return Array.from({ length: count }, (_, index) => tool(server, `t${index}`));
}

export function ready(name: string, tools: McpTool[], more: Partial<McpServerState> = {}): McpServerState {
  return { name, state: "ready", problem: null, tools, expose: null, description: null, log: "", ...more };
}

export const connecting = (name: string, more: Partial<McpServerState> = {}): McpServerState =>
  ready(name, [], { state: "connecting", ...more });

export function fakeHost(
  servers: readonly McpServerState[],
  answer: (tool: string, args: JsonObject) => ToolOutput = () => ({ text: "done" }),
): FakeHost {
  const states = new Map(servers.map((state) => [state.name, state]));
  const listeners = new Set<(server: string) => void>();
  const host: FakeHost = {
    calls: [],
    started: 0,
    closed: 0,
    waits: [],
    startLimitMs: 60_000,
    set(name, change) {
      const before = states.get(name);
      if (!before) throw new Error(`no server ${name}`);
      states.set(name, { ...before, ...change });
      for (const listener of listeners) listener(name);
    },
    states: () => [...states.values()],
    start: () => void host.started++,
    settled: async (ms) => void host.waits.push(ms),
    async call(server, name, args, options) {
      host.calls.push({ server, tool: name, args, options });
      return answer(name, args);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    revive: (server) => host.reconnect(server),
    async reconnect(server) {
      const state = states.get(server);
      if (!state) throw new Error(`no server ${server}`);
      return state;
    },
    close: async () => void host.closed++,
    closeNow: () => void host.closed++,
  };
  return host;
}
