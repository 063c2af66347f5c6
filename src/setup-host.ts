/** MCP servers for one command that has no session: opened, used, and ended whatever happens. */
import { childEnv } from "./child-env.ts";
import type { LoadedConfig } from "./config.ts";
import { keyVariables } from "./endpoint.ts";
import type { McpHost } from "./mcp-types.ts";
import type { Home } from "./paths.ts";
import { hiddenVariables } from "./redact.ts";
import type { Sandbox } from "./sandbox.ts";
import { sandboxOf } from "./setup-sandbox.ts";
import { VERSION } from "./version.ts";
import { openWorkspace } from "./workspace.ts";

export interface HostQuery {
  servers: Readonly<Record<string, unknown>>;
  home: Home;
  config: LoadedConfig;
  env: Record<string, string | undefined>;
  cwd: string;
  /** One line for the person, not sanitised. */
  notice(message: string): void;
}

const ENDINGS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Nothing is connected before `work` asks for it. A signal ends the servers before it ends the program. */
export async function withHost<T>(query: HostQuery, work: (host: McpHost) => Promise<T>): Promise<T> {
  const { servers, home, config, env, cwd, notice } = query;
  const { makeMcpHost } = await import("./mcp.ts");
  const hidden = hiddenVariables(keyVariables(), config.values.passEnv ?? []);
  let sandbox: Sandbox | null = null;
  // Few servers ask for it, so it is made for the first that does.
  const opened = (): Sandbox => (sandbox ??= openFor(query));
  const host = makeMcpHost({
    sandbox: { enter: (request) => opened().enter(request) },
    servers,
    env,
    childEnv: childEnv(env, { remove: hidden, secretValues: [] }),
    workspaceRoot: cwd,
    home: home.path,
    version: VERSION,
    notice,
  });
  const release = onEndings(host);
  try {
    return await work(host);
  } finally {
    await host.close();
    // A variable that only a closure sets.
    (sandbox as Sandbox | null)?.close();
    release();
  }
}

function openFor({ home, config, env, cwd, notice }: HostQuery): Sandbox {
  const workspace = openWorkspace({ root: cwd, extraDirs: [] });
  return sandboxOf({ env }, { home, config, workspace, report: notice, onUnavailable: notice });
}

/** The servers have process groups of their own, which the terminal's ctrl-c doesn't reach. */
function onEndings(host: McpHost): () => void {
  const handlers = ENDINGS.map((name) => {
    const handler = (): void => {
      host.closeNow();
      process.off(name, handler);
      process.kill(process.pid, name);
    };
    process.on(name, handler);
    return [name, handler] as const;
  });
  return () => handlers.forEach(([name, handler]) => void process.off(name, handler));
}
