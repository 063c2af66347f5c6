/** Rules, plugins and tools of a configuration, put together into the gate. Needs no model and no key. */
import { homedir } from "node:os";
import { relative } from "node:path";
import { Gate, type ApprovalDeps } from "./approval.ts";
import type { LoadedConfig } from "./config.ts";
import { MCP_META_TOOLS } from "./mcp-types.ts";
import type { Home } from "./paths.ts";
import { parsePermission, parseRuleFlag, unknownTools, type PermissionConfig } from "./permission.ts";
import type { PluginHost } from "./plugin.ts";
import { readInstalledPlugins, type InstalledPlugins } from "./plugin-installed.ts";
import { openPlugins } from "./plugins.ts";
import { loadProjectConfig } from "./project-config.ts";
import type { Sandbox } from "./sandbox.ts";
import { programOutside } from "./sandbox-outside.ts";
import { configOf, extraDirs, type ConfigQuery } from "./setup-config.ts";
import { sandboxOf } from "./setup-sandbox.ts";
import type { Skills } from "./skills.ts";
import { findShell, type Shell } from "./tool-bash.ts";
import { allTools, enabledSets, toolsOf } from "./tools.ts";
import type { Tool } from "./tool.ts";
import { isIgnoredNow } from "./walk.ts";
import { openWorkspace, type Workspace } from "./workspace.ts";

export interface GateQuery extends ConfigQuery {
  interactive: boolean;
  headless?: true;
}

export interface OpenedGate {
  gate: Gate;
  plugins: PluginHost;
  /** Installed manifests that were skipped. */
  pluginProblems: InstalledPlugins["problems"];
  /** Of the enabled sets, and the plugins' own. */
  tools: Tool[];
  shell: Shell;
  rules: PermissionConfig;
  /** What of the rules was dropped or never counts, with its place. */
  reports: string[];
}

/** Throws UserError for an unknown tool set, plugin or rule flag. */
export function openGate(
  query: GateQuery,
  from: {
    home: Home;
    config: LoadedConfig;
    workspace: Workspace;
    hooks?: Pick<ApprovalDeps, "preTool" | "postTool">;
    /** Tools that come and go, of MCP servers: asked again at each look. */
    late?: () => readonly Tool[];
    skills?: () => Skills;
    /** What confines commands; asked nothing where rules decide. */
    sandbox?: Sandbox;
  },
): OpenedGate {
  const { options, env, interactive } = query;
  const { values } = from.config;
  const { workspace } = from;
  const isIgnored = (absolute: string): boolean =>
    isIgnoredNow(workspace.realRoot, relative(workspace.realRoot, absolute), { isDirectory: false, env });
  const deps = { clock: { now: () => new Date() }, isIgnored, ring: (byte: string) => void process.stderr.write(byte) };
  const installed = installedPlugins(options.plugins, from.home.path);
  const plugins = openPlugins(options.plugins ? values.plugins : [], deps, installed.plugins);
  const shell = findShell(env, process.platform);
  const writable = [workspace.realRoot, ...workspace.extraDirs];
  const rg = (): string | null => programOutside("rg", env["PATH"] ?? "", writable);
  const every = [...allTools({ shell, rg, env, ...(from.skills && { skills: from.skills }) }), ...plugins.tools()];
  const tools = toolsOf(
    every,
    enabledSets(values.toolSets),
    new Set([
      ...(options.memory ? [] : ["remember", "recall", "forget"]),
      ...(options.subagent ? [] : ["task"]),
      ...(options.skills ? [] : ["skill"]),
      ...(query.headless ? ["ask"] : []),
    ]),
  );
  const late = from.late ?? (() => []);
  const known = [...every, ...late(), ...Object.values(MCP_META_TOOLS).map((name) => ({ name }))];
  const parsed = parsePermission(from.config.permission, { tools: known, file: "config.json" });
  const own = loadProjectConfig(workspace.realRoot, from.home.path);
  const project = parsePermission(own?.permission ?? [], { tools: known, file: ".shiro/config.json" });
  const flags = [
    ...options.allow.map((rule) => parseRuleFlag(rule, "allow")),
    ...options.deny.map((rule) => parseRuleFlag(rule, "deny")),
  ];
  // The user's tables come last: where both name a tool, the user's own count.
  const rules = [...project.rules, ...parsed.rules, ...flags];
  const gate = new Gate({
    rules,
    tools: (name) => [...every, ...late()].find((tool) => tool.name === name),
    plugins,
    workspace,
    home: from.home.path,
    homeDir: env["HOME"] ?? homedir(),
    yolo: options.yolo,
    shell: shell.name,
    interactive,
    ...(from.sandbox && { sandbox: from.sandbox }),
    ...from.hooks,
  });
  return {
    gate,
    plugins,
    pluginProblems: installed.problems,
    tools,
    shell,
    rules,
    reports: [
      ...parsed.reports,
      ...project.reports,
      ...(own?.notices ?? []),
      ...new Set(unknownTools(flags, known)), // several rules for one mistyped tool are one mistake
    ],
  };
}

/** None with --no-plugins: the files aren't even looked at. */
export function installedPlugins(enabled: boolean, home: string): InstalledPlugins {
  return enabled ? readInstalledPlugins(home) : { plugins: [], manifests: [], problems: [] };
}

/** The gate of the current directory, for `permissions explain`. */
export function gateOf(query: ConfigQuery, late: () => readonly Tool[] = () => []): OpenedGate {
  const { home, config } = configOf(query);
  const workspace = openWorkspace({
    root: query.cwd,
    extraDirs: extraDirs(query, config, () => {}), // whoever starts a session is told; this judges one call
  });
  const unsaid = (): void => {}; // as above
  const sandbox = sandboxOf(query, { home, config, workspace, report: unsaid, onUnavailable: unsaid });
  return openGate({ ...query, interactive: true }, { home, config, workspace, late, sandbox });
}
