/** Which MCP servers a session has: the user's own, and those of a project's settings that the user has consented to. Starts none. */
import type { LoadedConfig } from "./config.ts";
import type { Home } from "./paths.ts";
import { loadProjectConfig } from "./project-config.ts";
import { configOf, type ConfigQuery } from "./setup-config.ts";

/** Entries as they are written, checked by whoever opens them. Where both name a server, the user's own counts. Empty with --no-mcp. */
export function serversOf(
  query: ConfigQuery,
  from: { home: Home; config: LoadedConfig } = configOf(query),
): Record<string, unknown> {
  if (!query.options.mcp) return {};
  const project = loadProjectConfig(query.cwd, from.home.path);
  return { ...project?.mcpServers, ...from.config.values.mcpServers };
}
