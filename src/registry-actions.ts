/** `/registry` and `shiro registry`: search, list, add, remove, update. Shows before it asks, and asks before it writes; how is the caller's. */
import { UserError, messageOf } from "./errors.ts";
import { nearestName } from "./nearest.ts";
import { fetchBody, fetchIndex, type RegistryBody, type RegistrySource } from "./registry-body.ts";
import { findItem, idOf, searchEntries, type RegistryEntry, type RegistryKind } from "./registry-index.ts";
import { listInstalled, readText, removeItem, saveItem, type InstalledItem } from "./registry-store.ts";
import { bodyView, entryTable, installedTable } from "./registry-view.ts";
import { BUILTIN_SKILLS } from "./skills-builtin.ts";
import { loadDiff } from "./text-file-diff.ts";

export interface RegistryScene {
  /** SHIRO_HOME. */
  home: string;
  source: RegistrySource;
  now(): Date;
  /** Text that is safe already. */
  print(text: string): void;
  /** A unified diff, raw. */
  showDiff(diff: string): void;
  confirm(question: string): Promise<boolean>;
  /** Something of this kind was installed or removed. */
  changed(kind: RegistryKind): void;
}

type Action = (argument: string, scene: RegistryScene) => Promise<void> | void;

/** By name; `argument`: what has to follow, null for what may. `writes`: it may change what is installed. */
export const REGISTRY_ACTIONS: Readonly<
  Record<string, { usage: string; argument: boolean | null; writes: boolean; run: Action }>
> = {
  search: { usage: "search <words>", argument: null, writes: false, run: search },
  installed: { usage: "installed", argument: false, writes: false, run: installed },
  add: { usage: "add <name>", argument: true, writes: true, run: add },
  remove: { usage: "remove <name>", argument: true, writes: true, run: remove },
  update: { usage: "update [name]", argument: null, writes: true, run: update },
};

/** Splits `add no-prod` and finds the action; no words at all search for everything. Throws UserError with the usage. */
export function registryAction(words: string): { name: string; argument: string; writes: boolean } {
  const [name = "", ...rest] = words.trim().split(/\s+/);
  if (name === "") return { name: "search", argument: "", writes: false };
  const action = Object.hasOwn(REGISTRY_ACTIONS, name) ? REGISTRY_ACTIONS[name] : undefined;
  const near = nearestName(name, Object.keys(REGISTRY_ACTIONS));
  if (!action) throw new UserError(`No registry action "${name}".${near ? ` Did you mean "${near}"?` : ""} ${usage()}`);
  const argument = rest.join(" ");
  if (action.argument !== null && action.argument !== (argument !== ""))
    throw new UserError(`Usage: registry ${action.usage}`);
  return { name, argument, writes: action.writes };
}

function usage(): string {
  return `Actions: ${Object.values(REGISTRY_ACTIONS)
    .map((action) => action.usage)
    .join(", ")}`;
}

/** Throws UserError for what is refused or fails; nothing is written then. */
export async function runRegistry(words: string, scene: RegistryScene): Promise<void> {
  const { name, argument } = registryAction(words);
  await REGISTRY_ACTIONS[name]?.run(argument, scene);
}

async function search(query: string, scene: RegistryScene): Promise<void> {
  const found = searchEntries(await fetchIndex(scene.source), query);
  const nothing = query === "" ? "The registry is empty." : `Nothing matches "${query}".`;
  scene.print(found.length === 0 ? nothing : entryTable(found, listInstalled(scene.home)));
}

function installed(_: string, scene: RegistryScene): void {
  const items = listInstalled(scene.home);
  scene.print(items.length === 0 ? "Nothing is installed." : installedTable(items));
}

async function add(wanted: string, scene: RegistryScene): Promise<void> {
  const entry = findItem(await fetchIndex(scene.source), wanted, "in the registry");
  const body = await fetchBody(entry, scene.source);
  const present = listInstalled(scene.home).find((item) => idOf(item) === idOf(entry));
  if (present) return replace(present, body, scene);
  scene.print(bodyView(body));
  if (body.kind === "skill" && Object.hasOwn(BUILTIN_SKILLS, body.name))
    scene.print(`It takes the place of the builtin skill "${body.name}".`);
  if (!(await scene.confirm(`Install ${idOf(body)}?`))) return scene.print("Not installed.");
  await install(body, scene);
}

async function remove(wanted: string, scene: RegistryScene): Promise<void> {
  const item = findItem(listInstalled(scene.home), wanted, "installed");
  const loses = item.kind === "plugin" ? " Its rules no longer count then." : "";
  if (!(await scene.confirm(`Remove ${idOf(item)}?${loses}`))) return scene.print("Kept.");
  await removeItem(scene.home, item);
  scene.changed(item.kind);
  scene.print(`Removed ${idOf(item)}; it is gone from the next turn on.`);
}

async function update(wanted: string, scene: RegistryScene): Promise<void> {
  const items = listInstalled(scene.home);
  const chosen = wanted === "" ? items : [findItem(items, wanted, "installed")];
  if (chosen.length === 0) return scene.print("Nothing is installed.");
  const entries = await fetchIndex(scene.source);
  const failures: string[] = [];
  for (const item of chosen) {
    try {
      await updateOne(item, entries, scene);
    } catch (error) {
      // One that can't be had must not keep the others old.
      if (!(error instanceof UserError)) throw error;
      failures.push(messageOf(error));
    }
  }
  if (failures.length > 0) throw new UserError(failures.join("; "));
}

async function updateOne(item: InstalledItem, entries: readonly RegistryEntry[], scene: RegistryScene): Promise<void> {
  const entry = entries.find((one) => idOf(one) === idOf(item));
  if (!entry) return scene.print(`${idOf(item)} is not in the registry (any more); kept as it is.`);
  await replace(item, await fetchBody(entry, scene.source), scene);
}

/** What is there already is replaced only by what was seen as a difference to it. */
async function replace(item: InstalledItem, body: RegistryBody, scene: RegistryScene): Promise<void> {
  if (item.sha256 === body.sha256) return scene.print(`${idOf(item)} is up to date.`);
  if (item.origin !== null && item.origin.sha256 !== item.sha256)
    scene.print(`${idOf(item)} was changed on disk since it was installed; an update takes that back.`);
  scene.print(`${idOf(item)} has changed at ${body.url}:`);
  scene.showDiff(await difference(item, body));
  if (!(await scene.confirm(`Replace ${idOf(item)}?`))) return scene.print("Kept as it is.");
  await install(body, scene);
}

async function difference(item: InstalledItem, body: RegistryBody): Promise<string> {
  const { unified } = await loadDiff();
  const side = (text: string) => ({ path: item.name, bytes: new TextEncoder().encode(text), mode: 0o600 });
  return unified(side(readText(item.path) ?? ""), side(body.text));
}

async function install(body: RegistryBody, scene: RegistryScene): Promise<void> {
  await saveItem(scene.home, body, scene.now());
  scene.changed(body.kind);
  scene.print(`Installed ${idOf(body)}; it counts from the next turn on.`);
}
