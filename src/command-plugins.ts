/** Slash commands about extensions: which plugins there are, and the registry they come from. */
import type { Command, CommandUi } from "./command.ts";
import { diffView } from "./diff-view.ts";
import type { Interactive } from "./interactive-host.ts";
import { PLUGIN_NAMES } from "./plugins.ts";
import { DEFAULT_REGISTRY_URL } from "./registry-fetch.ts";
import { escapeForApproval } from "./sanitize.ts";
import { oneLine } from "./text.ts";

export function pluginCommands(host: Interactive): Command[] {
  return [
    {
      name: "plugins",
      args: "",
      summary: "builtin and installed plugins, and which are on",
      run: (_, ui) => ui.print(pluginTable(host)),
    },
    {
      name: "registry",
      args: "[search q|installed|add name|remove name|update]",
      summary: "find, install and remove skills and plugins",
      help: "Without an argument it lists what the registry offers. A name may be said as skill:name or plugin:name. Nothing is written before you have seen it and said y; what is installed counts from the next turn on.",
      complete: async () => Object.keys((await import("./registry-actions.ts")).REGISTRY_ACTIONS),
      ordered: true,
      run: (args, ui) => registry(args, host, ui),
    },
  ];
}

/** Builtin ones in their order, then the installed ones, then manifests that were skipped and why. */
export function pluginTable({ setup }: Pick<Interactive, "setup">): string {
  const { plugins } = setup.plugins;
  const on = new Map(plugins.map((plugin) => [plugin.name, plugin.description]));
  const off = 'off        "plugins" in config.json names those that are on (shiro help plugins)';
  const builtin = PLUGIN_NAMES.map((name) => [name, on.has(name) ? `on         ${on.get(name)}` : off]);
  const installed = plugins
    .filter((plugin) => !PLUGIN_NAMES.includes(plugin.name))
    .map((plugin) => [plugin.name, `installed  ${oneLine(plugin.description, 200)}`]);
  const skipped = setup.pluginProblems.map(({ file, problem }) => [file, `skipped    ${problem}`]);
  const rows = [...builtin, ...installed, ...skipped];
  const width = Math.max(...rows.map(([name = ""]) => name.length));
  return rows.map(([name = "", state = ""]) => `${name.padEnd(width)}  ${state}`).join("\n");
}

async function registry(args: string, host: Interactive, ui: CommandUi): Promise<void> {
  const { setup } = host;
  const { runRegistry } = await import("./registry-actions.ts");
  const { colour, ascii } = ui.traits;
  await host.interruptible((signal) =>
    runRegistry(args, {
      home: setup.home.path,
      source: { url: setup.config.values.registryUrl ?? DEFAULT_REGISTRY_URL, env: setup.query.env, signal },
      now: () => new Date(),
      print: (text) => ui.print(text),
      showDiff: (diff) =>
        ui.printStyled(
          diffView(diff, { colour, ascii, maxLines: Infinity, escape: (line) => escapeForApproval(line) }),
        ),
      confirm: (question) => ui.dialog.yesNo(question),
      changed: (kind) => (kind === "plugin" ? setup.reloadPlugins() : setup.reloadSkills()),
    }),
  );
}
