/** The one question about MCP servers that a repository's own settings name: asked once, with everything that would run. Starts nothing itself. */
import type { CommandUi } from "./command.ts";
import { orderedPermission, type OrderedEntry } from "./config.ts";
import { loadProjectConfig, type ProjectConfig } from "./project-config.ts";
import { escapeForApproval } from "./sanitize.ts";
import { serversOf } from "./setup-servers.ts";
import type { Setup } from "./setup.ts";
import { recordRefusal, recordTrust } from "./trust.ts";

/** Null where there is nothing to ask: no servers named, asked before, or --no-mcp. */
export function serversQuestion(setup: Setup): ((ui: CommandUi) => Promise<void>) | null {
  if (!setup.query.options.mcp) return null;
  const found = loadProjectConfig(setup.query.cwd, setup.home.path);
  if (!found || found.state === "trusted" || found.state === "refused") return null;
  return Object.keys(found.wantedServers).length === 0 ? null : (ui) => askFor(found, setup, ui);
}

async function askFor(found: ProjectConfig, setup: Setup, ui: CommandUi): Promise<void> {
  const { wholeEntry } = await import("./mcp-status.ts");
  const { wantedServers, realPath, content } = found;
  const lines = Object.entries(wantedServers).map(
    ([name, entry]) => `  ${JSON.stringify(name)} ${wholeEntry(name, entry)}`,
  );
  const rules = rulesIn(content);
  const also = rules.length === 0 ? [] : ["and sets rules, which count from the next start:", ...rules];
  // Escaped as an approval is: what stands here is what would run.
  ui.print(escapeLines([`${realPath} names MCP servers:`, ...lines, ...also]));
  const answer = await ui.dialog.line("Trust this file as it is and start them? [y/N]");
  // Dismissed, or the terminal went away: that is no answer to remember.
  if (answer === null) return ui.print("They are not started.");
  const yes = /^y(?:es)?$/i.test(answer.trim());
  const record = yes ? recordTrust : recordRefusal;
  const problem = await record(setup.home.path, { realPath, content }, new Date());
  if (problem) ui.print(`Your answer was not recorded: ${problem.reason}`);
  if (!yes) return ui.print("They are not started. shiro trust changes that.");
  await setup.mcp.open({ ...wantedServers, ...serversOf(setup.query) });
}

/** Consent is to the whole file: what else it would bring is shown as well. */
function rulesIn(content: string): string[] {
  const shown = ({ key, value }: OrderedEntry): string =>
    `${JSON.stringify(key)}: ${Array.isArray(value) ? `{ ${value.map(shown).join(", ")} }` : JSON.stringify(value)}`;
  return orderedPermission(content, "", []).map((entry) => `  ${shown(entry)}`);
}

const escapeLines = (lines: readonly string[]): string => lines.map((line) => escapeForApproval(line)).join("\n");
