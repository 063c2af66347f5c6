/** What was installed from a registry: the files under SHIRO_HOME/registry and where each came from. Checks no content. */
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { UserError, errnoOf, messageOf } from "./errors.ts";
import { REGISTRY_KINDS, REGISTRY_NAME, idOf, type RegistryKind } from "./registry-index.ts";
import { readStore, writeStore } from "./store.ts";
import { withLock } from "./store-lock.ts";
import { contentHash } from "./trust.ts";

export interface InstalledItem {
  kind: RegistryKind;
  name: string;
  path: string;
  /** Of the file as it is now; null where it can't be read. */
  sha256: string | null;
  /** What was recorded at the install; null for a file put there by hand. */
  origin: { sha256: string; url: string; at: string } | null;
}

const origin = v.looseObject({ sha256: v.string(), url: v.string(), at: v.string() });
const record = v.looseObject({ entries: v.record(v.string(), origin) });
type InstallRecord = v.InferOutput<typeof record>;

const FOLDERS: Readonly<Record<RegistryKind, { folder: string; extension: string }>> = {
  skill: { folder: "skills", extension: ".md" },
  plugin: { folder: "plugins", extension: ".json" },
};

/** SHIRO_HOME/registry/skills or …/plugins. */
export function registryDir(home: string, kind: RegistryKind): string {
  return join(home, "registry", FOLDERS[kind].folder);
}

/** Where an item's text is kept. */
export function registryFile(home: string, item: { kind: RegistryKind; name: string }): string {
  return join(registryDir(home, item.kind), `${item.name}${FOLDERS[item.kind].extension}`);
}

/** What is installed, sorted by kind and name. A missing folder is an empty one. Throws UserError for one that can't be read. */
export function listInstalled(home: string): InstalledItem[] {
  const { entries } = loadRecord(home);
  return REGISTRY_KINDS.flatMap((kind) =>
    namesIn(home, kind).map((name): InstalledItem => {
      const path = registryFile(home, { kind, name });
      const known = entries[idOf({ kind, name })] ?? null;
      const text = readText(path);
      return { kind, name, path, sha256: text === null ? null : contentHash(text), origin: known };
    }),
  );
}

/** The text of an installed file; null where there is none that can be read. */
export function readText(path: string): string | null {
  try {
    // A pipe would hold us for ever, and nothing we install is this long.
    return statSync(path).isFile() ? readFileSync(path, "utf8") : null;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return null;
  }
}

/** Writes an item's text (0600, whole or not at all) and where it came from. Throws UserError when either can't be saved. */
export async function saveItem(
  home: string,
  item: { kind: RegistryKind; name: string; text: string; url: string },
  now: Date,
): Promise<void> {
  await changeRecord(home, async (entries) => {
    const problem = await writeStore(registryFile(home, item), item.text);
    if (problem) throw new UserError(`Not installed: ${problem.reason}`);
    const value = { sha256: contentHash(item.text), url: item.url, at: now.toISOString() };
    return { ...entries, [idOf(item)]: value };
  });
}

/** Deletes an item's file and its record. Throws UserError when the file can't be deleted. */
export async function removeItem(home: string, item: { kind: RegistryKind; name: string }): Promise<void> {
  await changeRecord(home, (entries) => {
    const path = registryFile(home, item);
    try {
      rmSync(path, { force: true });
    } catch (error) {
      throw new UserError(`${path} could not be deleted: ${messageOf(error)}`, { cause: error });
    }
    return Object.fromEntries(Object.entries(entries).filter(([id]) => id !== idOf(item)));
  });
}

type Entries = InstallRecord["entries"];

async function changeRecord(home: string, change: (entries: Entries) => Promise<Entries> | Entries): Promise<void> {
  const path = recordFile(home);
  const outcome = await withLock(`${path}.lock`, async () => {
    const before = loadRecord(home);
    const entries = await change(before.entries);
    return writeStore(path, `${JSON.stringify({ ...before, entries }, null, 2)}\n`);
  });
  const problem = "problem" in outcome ? outcome.problem : outcome.value;
  if (problem) throw new UserError(`The registry's record could not be saved: ${problem.reason}`);
}

function loadRecord(home: string): InstallRecord {
  const read = readStore(recordFile(home));
  const parsed = read.state === "ok" ? v.safeParse(record, read.value) : null;
  return parsed?.success ? parsed.output : { entries: {} };
}

function recordFile(home: string): string {
  return join(home, "registry", "installed.json");
}

function namesIn(home: string, kind: RegistryKind): string[] {
  const { extension } = FOLDERS[kind];
  try {
    return readdirSync(registryDir(home, kind))
      .filter((file) => file.endsWith(extension))
      .map((file) => file.slice(0, -extension.length))
      .filter((name) => REGISTRY_NAME.test(name))
      .sort();
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return [];
    throw new UserError(`${registryDir(home, kind)} can't be read: ${messageOf(error)}`, { cause: error });
  }
}
