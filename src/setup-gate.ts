/** Rules, plugins and tools of a configuration, put together into the gate. Needs no model and no key. */
import { homedir } from "node:os";
import { relative } from "node:path";
import { Gate } from "./approval.ts";
import type { LoadedConfig } from "./config.ts";
import type { Home } from "./paths.ts";
import { parsePermission, parseRuleFlag, unknownTools, type PermissionConfig } from "./permission.ts";
import type { PluginHost } from "./plugin.ts";
import { openPlugins } from "./plugins.ts";
import { loadProjectConfig } from "./project-config.ts";
import { configOf, extraDirs, type ConfigQuery } from "./setup-config.ts";
import { findShell, type Shell } from "./tool-bash.ts";
import { allTools, enabledSets, toolsOf } from "./tools.ts";
import type { Tool } from "./tool.ts";
import { isIgnoredNow } from "./walk.ts";
import { openWorkspace, type Workspace } from "./workspace.ts";

export interface GateQuery extends ConfigQuery {
  interactive: boolean;
}

export interface OpenedGate {
  gate: Gate;
  plugins: PluginHost;
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
  from: { home: Home; config: LoadedConfig; workspace: Workspace },
): OpenedGate {
  const { options, env, interactive } = query;
  const { values } = from.config;
  const { workspace } = from;
  const isIgnored = (absolute: string): boolean =>
    isIgnoredNow(workspace.realRoot, relative(workspace.realRoot, absolute), { isDirectory: false, env });
  const deps = { clock: { now: () => new Date() }, isIgnored, ring: (byte: string) => void process.stderr.write(byte) };
  const plugins = openPlugins(options.plugins ? values.plugins : [], deps);
  const shell = findShell(env, process.platform);
  const every = [...allTools({ shell, rg: Bun.which("rg", { PATH: env["PATH"] ?? "" }), env }), ...plugins.tools()];
  const tools = toolsOf(
    every,
    enabledSets(values.toolSets),
    new Set(options.memory ? [] : ["remember", "recall", "forget"]),
  );
  const parsed = parsePermission(from.config.permission, { tools: every, file: "config.json" });
  const own = loadProjectConfig(workspace.realRoot, from.home.path);
  const project = parsePermission(own?.permission ?? [], { tools: every, file: ".shiro/config.json" });
  const flags = [
    ...options.allow.map((rule) => parseRuleFlag(rule, "allow")),
    ...options.deny.map((rule) => parseRuleFlag(rule, "deny")),
  ];
  // The user's tables come last: where both name a tool, the user's own count.
  const rules = [...project.rules, ...parsed.rules, ...flags];
  const gate = new Gate({
    rules,
    tools: (name) => every.find((tool) => tool.name === name),
    plugins,
    workspace,
    home: from.home.path,
    homeDir: env["HOME"] ?? homedir(),
    yolo: options.yolo,
    shell: shell.name,
    interactive,
  });
  return {
    gate,
    plugins,
    tools,
    shell,
    rules,
    reports: [
      ...parsed.reports,
      ...project.reports,
      ...(own?.notices ?? []),
      ...new Set(unknownTools(flags, every)), // several rules for one mistyped tool are one mistake
    ],
  };
}

/** The gate of the current directory, for `permissions explain`. */
export function gateOf(query: ConfigQuery): OpenedGate {
  const { home, config } = configOf(query);
  const workspace = openWorkspace({
    root: query.cwd,
    extraDirs: extraDirs(query, config, () => {}), // whoever starts a session is told; this judges one call
  });
  return openGate({ ...query, interactive: true }, { home, config, workspace });
}
