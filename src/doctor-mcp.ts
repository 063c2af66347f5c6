/** What `shiro doctor` says of the MCP servers: entries that can't be used, and with --online whether they answer. */
import type { LoadedConfig } from "./config.ts";
import { messageOf } from "./errors.ts";
import { parseMcpServer } from "./mcp-config.ts";
import { whyNot } from "./mcp-reach.ts";
import type { McpServerState } from "./mcp-types.ts";
import type { Home } from "./paths.ts";
import { withHost } from "./setup-host.ts";

export interface ServerCheck {
  /** Null: nobody has tried. */
  ok: boolean | null;
  text: string;
}

interface Query {
  env: Record<string, string | undefined>;
  cwd: string;
  online: boolean;
}

/** One line per server. Connects only with `online`, and ends what it started. */
export async function serverChecks(
  servers: Readonly<Record<string, unknown>>,
  from: { home: Home; config: LoadedConfig },
  query: Query,
): Promise<ServerCheck[]> {
  const names = Object.keys(servers).sort();
  const states = query.online ? await connected(servers, from, query) : [];
  return names.map((name) => {
    const problem = problemOf(name, servers[name]);
    if (problem !== null) return { ok: false, text: problem };
    const state = states.find((one) => one.name === name);
    if (!state) return { ok: null, text: `${name}: configured (--online connects to it)` };
    if (state.state === "ready") return { ok: true, text: `${name}: ${state.tools.length} tools` };
    return { ok: false, text: `${name}: ${whyNot(state)}` };
  });
}

function problemOf(name: string, entry: unknown): string | null {
  try {
    parseMcpServer(name, entry);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

function connected(
  servers: Readonly<Record<string, unknown>>,
  from: { home: Home; config: LoadedConfig },
  { env, cwd }: Query,
): Promise<readonly McpServerState[]> {
  // The states say the same as the notices, a line each.
  return withHost({ servers, ...from, env, cwd, notice: () => {} }, async (host) => {
    host.start();
    await host.settled(host.startLimitMs, new AbortController().signal);
    return host.states();
  });
}
