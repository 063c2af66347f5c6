/** The configuration as this command line sees it, for commands that need no model. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { Options } from "./args-options.ts";
import { loadConfig, type ConfigKey, type LoadedConfig } from "./config.ts";
import { UserError } from "./errors.ts";
import { configFile, resolveHome, type Home } from "./paths.ts";

export interface ConfigQuery {
  options: Options;
  env: Record<string, string | undefined>;
  cwd: string;
}

/** Throws UserError where the file can't be read. */
export function configOf(query: ConfigQuery): { home: Home; config: LoadedConfig } {
  const home = resolveHome({ env: query.env, cwd: query.cwd });
  const config = loadConfig({ path: configFile(home.path), env: query.env, flags: flagsOf(query.options) });
  return { home, config };
}

/**
 * Directories beside the workspace that the tools may use. One given on the command line must exist (UserError); a
 * configured one that doesn't is reported and left out, since the same configuration serves many machines.
 */
export function extraDirs(query: ConfigQuery, config: LoadedConfig, report: (message: string) => void): string[] {
  const exists = (directory: string): boolean => isDirectory(resolve(query.cwd, directory));
  const missing = query.options.addDirs.find((directory) => !exists(directory));
  if (missing !== undefined) throw new UserError(`--add-dir ${missing} is no directory`);
  const configured = config.values.extraDirs ?? [];
  for (const directory of configured)
    if (!exists(directory)) report(`extraDirs: ${directory} is no directory; it was left out`);
  return [...configured.filter(exists), ...query.options.addDirs];
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // missing, behind a file, or not ours to enter
  }
}

function flagsOf(options: Options): Parameters<typeof loadConfig>[0]["flags"] {
  const given: [ConfigKey, unknown, string][] = [
    ["provider", options.provider, "--provider"],
    ["model", options.model, "--model"],
    ["baseURL", options.baseUrl, "--base-url"],
    ["agent", options.agent, "--agent"],
    ["thinking", options.think, "--think"],
    ["maxSpendUsd", options.maxSpendUsd, "--max-spend-usd"],
    ["maxTokens", options.maxTokens, "--max-tokens"],
    ["maxSeconds", options.maxSeconds, "--max-seconds"],
  ];
  return Object.fromEntries(
    given.filter(([, value]) => value !== null).map(([key, value, flag]) => [key, { value, flag }]),
  );
}
