/** The configured MCP servers as one host: states, calls, the end of everything. One server's life is mcp-connection.ts; what its tools are to the model is not decided here. */
import { ToolError, messageOf } from "./errors.ts";
import { parseMcpServer, type McpServerConfig } from "./mcp-config.ts";
import { McpConnection, type ConnectionDeps } from "./mcp-connection.ts";
import type { McpHost, McpServerState } from "./mcp-types.ts";
import { nearestName } from "./nearest.ts";
import type { Sandbox } from "./sandbox.ts";

export interface McpHostDeps {
  /** `mcpServers` as the configuration holds it; checked here. */
  servers: Readonly<Record<string, unknown>>;
  /** For proxies, certificates and `${VAR}`. */
  env: Readonly<Record<string, string | undefined>>;
  /** What stdio servers get: the whole environment without keys. */
  childEnv: Readonly<Record<string, string>>;
  workspaceRoot: string;
  /** SHIRO_HOME, where logins are kept. */
  home: string;
  /** Where servers with `sandbox` run; left out where there is none. */
  sandbox?: Pick<Sandbox, "enter">;
  version: string;
  /** One line for a person; may hold a server's words, not sanitised. */
  notice(message: string): void;
}

/** Nothing is spawned, connected or loaded before `start`, `reconnect` or `call`. */
export function makeMcpHost(deps: McpHostDeps): McpHost {
  const listeners = new Set<(server: string) => void>();
  const changed = (server: string): void => listeners.forEach((listener) => listener(server));
  const servers = openServers(deps, changed);
  const states = (): McpServerState[] => [...servers.values()].map((server) => server.state());
  const isConnecting = (): boolean => states().some((server) => server.state === "connecting");
  const onChange = (listener: (server: string) => void): (() => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  return {
    states,
    start: () => servers.forEach((server) => server.start()),
    settled: (ms, signal) => settled({ ms, signal, isConnecting, onChange }),
    startLimitMs: Math.max(0, ...[...servers.values()].map((server) => server.startTimeoutMs)),
    call: async (server, tool, args, options) => find(servers, server).call(tool, args, options),
    onChange,
    revive: async (server) => find(servers, server).revive(),
    reconnect: async (server) => find(servers, server).reconnect(),
    async close() {
      await Promise.all([...servers.values()].map((server) => server.close()));
    },
    closeNow: () => servers.forEach((server) => server.closeNow()),
  };
}

function openServers(deps: McpHostDeps, changed: (server: string) => void): Map<string, McpConnection> {
  const names = Object.keys(deps.servers).sort((a, b) => (a < b ? -1 : 1));
  return new Map(
    names.map((name) => {
      const own: ConnectionDeps = {
        ...deps,
        name,
        config: configOf(name, deps.servers[name]),
        changed: () => changed(name),
      };
      return [name, new McpConnection(own)];
    }),
  );
}

function configOf(name: string, raw: unknown): McpServerConfig | { problem: string } {
  try {
    return parseMcpServer(name, raw);
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

function find(servers: ReadonlyMap<string, McpConnection>, name: string): McpConnection {
  const server = servers.get(name);
  if (server) return server;
  const near = nearestName(name, servers.keys());
  const hint =
    near === null ? `The servers are: ${[...servers.keys()].join(", ") || "none"}.` : `Did you mean "${near}"?`;
  throw new ToolError(`There is no MCP server "${name}". ${hint}`, { category: "validation error" });
}

interface Wait {
  ms: number;
  signal: AbortSignal;
  isConnecting(): boolean;
  onChange(listener: () => void): () => void;
}

async function settled({ ms, signal, isConnecting, onChange }: Wait): Promise<void> {
  if (!isConnecting() || signal.aborted || ms <= 0) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = (): void => resolve();
  const timer = setTimeout(end, Math.min(ms, 2 ** 31 - 1));
  const forget = onChange(() => isConnecting() || end());
  signal.addEventListener("abort", end, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    forget();
    signal.removeEventListener("abort", end);
  }
}
