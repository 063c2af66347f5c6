/** The slash commands of the interactive program, put together from their families. */
import type { Command } from "./command.ts";
import { costCommands } from "./command-cost.ts";
import { extensionCommands } from "./command-extensions.ts";
import { mcpCommands } from "./command-mcp.ts";
import { modelCommands } from "./command-model.ts";
import { permissionCommands } from "./command-permissions.ts";
import { pluginCommands } from "./command-plugins.ts";
import { sandboxCommands } from "./command-sandbox.ts";
import { sessionCommands } from "./command-session.ts";
import { stateCommands } from "./command-state.ts";
import { viewCommands } from "./command-view.ts";
import { TOPICS } from "./help.ts";
import type { Interactive } from "./interactive-host.ts";

export function slashCommands(host: Interactive): Command[] {
  const topics = { names: () => Object.keys(TOPICS), text: (name: string) => TOPICS[name] ?? null };
  return [
    ...viewCommands(() => host.commands, topics),
    ...modelCommands(host),
    ...sessionCommands(host),
    ...stateCommands(host),
    ...permissionCommands(host),
    ...sandboxCommands(host),
    ...pluginCommands(host),
    ...mcpCommands(host),
    ...costCommands(host),
    ...extensionCommands(host),
  ];
}
