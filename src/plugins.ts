/** The list of builtin plugins and which of them are on. Installed manifests are handed in as plugins made elsewhere. */
import { UserError } from "./errors.ts";
import { makeGuard } from "./guard.ts";
import { nearestName } from "./nearest.ts";
import { makePluginHost, type Plugin, type PluginHost } from "./plugin.ts";
import { makeBell } from "./plugin-bell.ts";
import { makeProtect } from "./plugin-protect.ts";
import { makeSecrets } from "./plugin-secrets.ts";
import { makeTime, type Clock } from "./plugin-time.ts";

/** What builtin plugins need from the machine. */
export interface PluginDeps {
  clock: Clock;
  isIgnored(absolute: string): boolean;
  /** Writes to stderr. */
  ring(byte: string): void;
}

interface Builtin {
  name: string;
  onByDefault: boolean;
  make(deps: PluginDeps): Plugin;
}

const BUILTINS: readonly Builtin[] = [
  { name: "guard", onByDefault: true, make: () => makeGuard() },
  { name: "protect", onByDefault: true, make: (deps) => makeProtect(deps.isIgnored) },
  { name: "secrets", onByDefault: true, make: (deps) => makeSecrets(deps.isIgnored) },
  { name: "time", onByDefault: true, make: (deps) => makeTime(deps.clock) },
  { name: "bell", onByDefault: false, make: (deps) => makeBell(deps.ring) },
];

export const PLUGIN_NAMES: readonly string[] = BUILTINS.map((plugin) => plugin.name);

/**
 * The enabled plugins: builtin ones in the order of `names` (undefined: those on by default), then the installed ones.
 * Throws UserError for a name that is neither.
 */
export function openPlugins(
  names: readonly string[] | undefined,
  deps: PluginDeps,
  installed: readonly Plugin[] = [],
): PluginHost {
  const wanted = names ?? BUILTINS.filter((plugin) => plugin.onByDefault).map((plugin) => plugin.name);
  const builtin = [...new Set(wanted)].flatMap((name) => makeBuiltin(name, deps, installed));
  return makePluginHost([...builtin, ...installed]);
}

/** The same builtin plugins with other installed ones: after an install or a removal. */
export function withInstalled(host: PluginHost, installed: readonly Plugin[]): PluginHost {
  return makePluginHost([...host.plugins.filter((plugin) => PLUGIN_NAMES.includes(plugin.name)), ...installed]);
}

function makeBuiltin(name: string, deps: PluginDeps, installed: readonly Plugin[]): Plugin[] {
  const builtin = BUILTINS.find((plugin) => plugin.name === name);
  if (builtin) return [builtin.make(deps)];
  // An installed one is on anyway; naming it is no mistake.
  if (installed.some((plugin) => plugin.name === name)) return [];
  throw new UserError(`Unknown plugin "${name}"${hint(name)}; valid: ${PLUGIN_NAMES.join(", ")}`, { kind: "config" });
}

function hint(name: string): string {
  const nearest = nearestName(name, PLUGIN_NAMES);
  return nearest ? ` (did you mean "${nearest}"?)` : "";
}
