/** A local MCP server in the sandbox: what it is started with there. Starts nothing; where it can't be confined it isn't run. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { messageOf, ToolError, UserError } from "./errors.ts";
import type { McpSandbox } from "./mcp-config.ts";
import { realOf } from "./path-facts.ts";
import type { Sandbox } from "./sandbox.ts";

export interface ServerStart {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
}

/** Throws UserError where there is no sandbox, or not this one. */
export async function confinedStart(
  plain: ServerStart,
  config: { env: Readonly<Record<string, string>>; sandbox: McpSandbox },
  place: { sandbox?: Pick<Sandbox, "enter">; workspaceRoot: string },
): Promise<ServerStart> {
  const { network, write } = config.sandbox;
  if (!place.sandbox) throw new UserError("it may run only in the sandbox, and there is none here");
  const allowed = {
    ...(network === "on" ? { network: true as const } : {}),
    write: write.map((path) => realOf(absolute(path, plain.env, place.workspaceRoot))),
  };
  try {
    // Its transport makes its own pipes: what the launcher has to say goes to stderr, which is the server's log.
    const entered = await place.sandbox.enter({ ...plain, command: "", quiet: true, mustConfine: true, allowed });
    if (!entered.inside) throw new UserError("it may run only in the sandbox, and there is none here");
    return { argv: entered.argv, cwd: entered.cwd, env: { ...entered.env, ...ownOf(config.env) } };
  } catch (error) {
    if (error instanceof ToolError) throw new UserError(messageOf(error), { cause: error });
    throw error;
  }
}

function absolute(path: string, env: ServerStart["env"], root: string): string {
  const home = env["HOME"] || homedir();
  return path === "~" || path.startsWith("~/") ? join(home, path.slice(1)) : resolve(root, path);
}

/** What the user wrote for this server stays, though it may look like a key; BUN_* would change the launcher. */
function ownOf(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^BUN_/i.test(name)));
}
