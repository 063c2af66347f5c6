/** Installed plugins as they lie on disk: every manifest under SHIRO_HOME/registry/plugins, read or reported. Installs nothing and never throws. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { errnoOf, messageOf } from "./errors.ts";
import type { Plugin } from "./plugin.ts";
import { readManifest, type Manifest } from "./plugin-manifest.ts";
import { PLUGIN_NAMES } from "./plugins.ts";
import { BODY_BYTES } from "./registry-fetch.ts";
import { registryDir } from "./registry-store.ts";

export interface InstalledPlugins {
  plugins: Plugin[];
  manifests: Manifest[];
  /** Files that were skipped, and why; by file name. */
  problems: { file: string; problem: string }[];
}

/** Reads the manifests of a home, in the order of their file names. */
export function readInstalledPlugins(home: string): InstalledPlugins {
  const found: InstalledPlugins = { plugins: [], manifests: [], problems: [] };
  for (const path of manifestFiles(registryDir(home, "plugin"), found)) {
    const read = readOne(path);
    if ("problem" in read) found.problems.push({ file: basename(path), problem: read.problem });
    else {
      found.plugins.push(read.plugin);
      found.manifests.push(read.manifest);
    }
  }
  return found;
}

/** Checks the text of a manifest for the name it is to have. Never throws. */
export function checkManifest(text: string, name: string): ReturnType<typeof readManifest> {
  const read = readManifest(text);
  if ("problem" in read) return read;
  if (read.manifest.name !== name) return { problem: `it calls itself "${read.manifest.name}", not "${name}"` };
  if (PLUGIN_NAMES.includes(name)) return { problem: `"${name}" is the name of a builtin plugin` };
  return read;
}

function readOne(path: string): ReturnType<typeof readManifest> {
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return { problem: "it is no regular file" };
    if (stat.size > BODY_BYTES) return { problem: `it is larger than ${BODY_BYTES / 1024} KB` };
    return checkManifest(readFileSync(path, "utf8"), basename(path, ".json"));
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

function manifestFiles(directory: string, found: InstalledPlugins): string[] {
  try {
    const files = readdirSync(directory).filter((file) => file.endsWith(".json") && !file.startsWith("."));
    return files.sort().map((file) => join(directory, file));
  } catch (error) {
    const missing = errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR";
    if (!missing) found.problems.push({ file: directory, problem: messageOf(error) });
    return [];
  }
}
