/** The long help texts, embedded in the binary: `shiro help <topic>` and `/help <topic>`. */
import agents from "./help/agents.md" with { type: "text" };
import commands from "./help/commands.md" with { type: "text" };
import config from "./help/config.md" with { type: "text" };
import cost from "./help/cost.md" with { type: "text" };
import headless from "./help/headless.md" with { type: "text" };
import keys from "./help/keys.md" with { type: "text" };
import mcp from "./help/mcp.md" with { type: "text" };
import memory from "./help/memory.md" with { type: "text" };
import permissions from "./help/permissions.md" with { type: "text" };
import plugins from "./help/plugins.md" with { type: "text" };
import registry from "./help/registry.md" with { type: "text" };
import sandbox from "./help/sandbox.md" with { type: "text" };
import security from "./help/security.md" with { type: "text" };
import skills from "./help/skills.md" with { type: "text" };
import sessions from "./help/sessions.md" with { type: "text" };
import tools from "./help/tools.md" with { type: "text" };
import { UserError } from "./errors.ts";
import { nearestName } from "./nearest.ts";

export const TOPICS: Readonly<Record<string, string>> = {
  permissions,
  config,
  tools,
  agents,
  skills,
  plugins,
  registry,
  mcp,
  memory,
  sessions,
  headless,
  cost,
  commands,
  keys,
  sandbox,
  security,
};

/** The text of a topic. Throws UserError with the list for an unknown one. */
export function helpTopic(name: string): string {
  const text = TOPICS[name];
  if (text !== undefined) return text;
  const near = nearestName(name, Object.keys(TOPICS));
  throw new UserError(
    `Unknown topic "${name}".${near ? ` Did you mean "${near}"?` : ""} Available: ${Object.keys(TOPICS).join(", ")}`,
  );
}
