/** The sandbox of a session, from the user's settings, a trusted project's and the places in use. Looks at files only when asked; starts nothing. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import type { LoadedConfig } from "./config.ts";
import { errnoOf } from "./errors.ts";
import { JsoncError, parseJsonc, plain } from "./jsonc.ts";
import type { Home } from "./paths.ts";
import { loadProjectConfig } from "./project-config.ts";
import { launcherArgv, openSandbox, type Sandbox } from "./sandbox.ts";
import { sandboxSchema, settingsOf, tighten, type SandboxConfig, type SandboxSettings } from "./sandbox-settings.ts";
import { configOf, extraDirs, type ConfigQuery } from "./setup-config.ts";
import { isExcludedLine } from "./tool-bash-sandbox.ts";
import { openWorkspace, type Workspace } from "./workspace.ts";

export interface SandboxPlaces {
  home: Home;
  config: LoadedConfig;
  workspace: Workspace;
  /** What of a project's settings had no effect. */
  report(message: string): void;
  /** Said when the first command finds that there is no sandbox. */
  onUnavailable(message: string): void;
}

export function sandboxOf(query: Pick<ConfigQuery, "env">, places: SandboxPlaces): Sandbox {
  const { home, config, workspace } = places;
  const { env } = query;
  return openSandbox({
    settings: settingsWith(places),
    places: {
      workspace: workspace.realRoot,
      extraDirs: workspace.extraDirs,
      homes: homesOf(env),
      stateHome: home.path,
      // This session's long results are among them; those of others may be about anything.
      readable: () => [...workspace.readableDirs],
    },
    env,
    platform: process.platform,
    self: launcherArgv(join(import.meta.dir, "main.ts"), process.execPath),
    passed: config.values.passEnv ?? [],
    isExcluded: isExcludedLine,
    onUnavailable: (why) =>
      places.onUnavailable(
        `Commands run without a sandbox: ${why}. "sandbox": "off" in config.json says that this is meant.`,
      ),
  });
}

/** The sandbox of the current directory, for commands that need no session. */
export function sandboxHere(query: ConfigQuery, report: (message: string) => void): Sandbox {
  const { home, config } = configOf(query);
  const workspace = openWorkspace({ root: query.cwd, extraDirs: extraDirs(query, config, () => {}) });
  return sandboxOf(query, { home, config, workspace, report, onUnavailable: report });
}

function settingsWith({ home, config, workspace, report }: SandboxPlaces): SandboxSettings {
  const user = settingsOf(config.values.sandbox);
  const own = loadProjectConfig(workspace.realRoot, home.path);
  const project = own?.state === "trusted" ? projectSetting(own.content, report) : null;
  if (project === null) return user;
  return tighten(user, project, (field) =>
    report(`.shiro/config.json: sandbox.${field} has no effect: a project can only tighten the sandbox`),
  );
}

/** Null where the file says nothing usable about it; what is wrong is reported. */
function projectSetting(content: string, report: (message: string) => void): SandboxConfig | null {
  try {
    const root = parseJsonc(content);
    const entry = root.kind === "object" ? root.entries.findLast((one) => one.key === "sandbox") : undefined;
    if (entry === undefined) return null;
    const checked = v.safeParse(sandboxSchema, plain(entry.value));
    if (checked.success) return checked.output;
    report(`.shiro/config.json:${entry.line}: bad value for "sandbox" ignored: ${checked.issues[0].message}`);
    return null;
  } catch (error) {
    // What the syntax error is has been reported with the file's rules.
    if (error instanceof JsoncError) return null;
    throw error;
  }
}

/** HOME may be set to anything; the account's own directory holds keys all the same. */
function homesOf(env: Readonly<Record<string, string | undefined>>): string[] {
  const found = [env["HOME"] || homedir(), accountHome()];
  return [...new Set(found.filter((path): path is string => path !== null && path.startsWith("/")))];
}

/** passwd(5), by number: the runtime's own answer is HOME where that is set. */
function accountHome(): string | null {
  const id = process.getuid?.();
  try {
    const rows = readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .map((row) => row.split(":"));
    return rows.find((row) => row[2] === String(id))?.[5] ?? null;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return null; // accounts are kept elsewhere: HOME has to do
  }
}
