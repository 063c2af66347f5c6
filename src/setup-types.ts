/** What a set-up gives to whoever drives the session. Types only. */
import type { CustomAgents } from "./agents.ts";
import type { Gate } from "./approval.ts";
import type { LoadedConfig } from "./config.ts";
import type { ResolvedEndpoint } from "./endpoint.ts";
import type { Hooks } from "./hooks.ts";
import type { Memory } from "./memory.ts";
import type { Home } from "./paths.ts";
import type { PermissionConfig } from "./permission.ts";
import type { PluginHost } from "./plugin.ts";
import type { InstalledPlugins } from "./plugin-installed.ts";
import type { Endpoint } from "./provider.ts";
import type { Redactor } from "./redact.ts";
import type { Sandbox } from "./sandbox.ts";
import type { SessionFile } from "./session-file.ts";
import type { ModelChoice } from "./session-parts.ts";
import type { Session } from "./session.ts";
import type { Extensions } from "./setup-extensions.ts";
import type { SessionServers } from "./setup-mcp.ts";
import type { Notice, SetupQuery } from "./setup-query.ts";
import type { Tool } from "./tool.ts";
import type { Workspace } from "./workspace.ts";

export interface Setup {
  query: SetupQuery;
  home: Home;
  /** Real path of the workspace root. */
  project: string;
  config: LoadedConfig;
  resolved: ResolvedEndpoint;
  session: Session;
  workspace: Workspace;
  gate: Gate;
  rules: PermissionConfig;
  /** Those of now; `reloadPlugins` replaces them. */
  readonly plugins: PluginHost;
  /** Installed manifests that were skipped. */
  readonly pluginProblems: InstalledPlugins["problems"];
  /** Reads the installed manifests again; they count from the next turn on. */
  reloadPlugins(): void;
  /** The user's hooks; null where none are configured. */
  hooks: Hooks | null;
  /** The MCP servers of this session. */
  mcp: SessionServers;
  memory: Memory | null;
  /** Every tool there is now, variants left aside. */
  tools(): readonly Tool[];
  /** Skills, custom commands, and what of them could not be read. */
  extensions: Extensions;
  /** Agents of the user's own, of configuration and files, as they are now. */
  agents(): CustomAgents;
  /** Before a turn: skills whose files have changed since are read again, and the prompt is made anew where that shows. */
  refreshSkills(): void;
  /** The same whatever the files' dates say: after an install or a removal. */
  reloadSkills(): void;
  redactor: Redactor;
  childEnv: Record<string, string>;
  /** What commands run in; nothing is tested before the first one. */
  sandbox: Sandbox;
  /** What should be said before anything else. */
  notices: Notice[];
  /** A model choice for /model and /provider. */
  choose(endpoint: Endpoint, model: string): ModelChoice;
  /** A session without files yet. */
  freshSession(): SessionFile;
  /** Says once that something can't be saved, and why. */
  onUnsaved(reason: string): void;
  /** Where the current session's long results go. */
  spillDir(): string;
  /** Another session in place of this one: /clear, /resume, /fork. */
  switchTo(file: SessionFile): Session;
  /** Saves, ends children, lets go of locks. */
  close(): Promise<void>;
  /** The same without waiting, for signals. */
  closeNow(): void;
}
