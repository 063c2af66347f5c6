/** What a person is shown of a registry: lists, whole skills, rules of manifests. Makes text that is safe to print; asks nothing. */
import type { Manifest } from "./plugin-manifest.ts";
import type { RegistryBody } from "./registry-body.ts";
import { idOf, type RegistryEntry } from "./registry-index.ts";
import type { InstalledItem } from "./registry-store.ts";
import { escapeForApproval, sanitizeLabel } from "./sanitize.ts";

const SHOWN_DESCRIPTION = 200;

/** One line per entry. */
export function entryTable(entries: readonly RegistryEntry[], installed: readonly InstalledItem[]): string {
  const have = new Set(installed.map(idOf));
  const width = Math.max(0, ...entries.map((entry) => idOf(entry).length));
  return entries
    .map((entry) => {
      const mark = have.has(idOf(entry)) ? "installed  " : "";
      return `${idOf(entry).padEnd(width)}  ${mark}${sanitizeLabel(entry.description, SHOWN_DESCRIPTION)}`;
    })
    .join("\n");
}

/** One line per installed item: whether it still is what was installed, and from where. */
export function installedTable(items: readonly InstalledItem[]): string {
  const width = Math.max(0, ...items.map((item) => idOf(item).length));
  return items
    .map((item) => {
      const from = item.origin ? `${item.origin.at.slice(0, 10)} ${sanitizeLabel(item.origin.url, 300)}` : item.path;
      return `${idOf(item).padEnd(width)}  ${stateOf(item).padEnd(17)}  ${from}`;
    })
    .join("\n");
}

function stateOf({ origin, sha256 }: InstalledItem): string {
  if (sha256 === null) return "unreadable";
  if (origin === null) return "put there by hand";
  return origin.sha256 === sha256 ? "as installed" : "changed on disk";
}

/** All of a body: a skill as it is, a plugin as its rules. */
export function bodyView(body: RegistryBody): string {
  const head = `${idOf(body)} from ${sanitizeLabel(body.url, 300)}\nsha256 ${body.sha256}`;
  const text = body.manifest === null ? body.text : rulesText(body.manifest);
  return `${head}\n${barred(text)}`;
}

/** A text line by line as it is, nothing hidden; no line of it can pass for one of ours. */
export function barred(text: string): string {
  return text
    .replace(/\r?\n$/, "")
    .split("\n")
    .map((line) => `  | ${escapeForApproval(line)}`.trimEnd())
    .join("\n");
}

/** The rules of a manifest in words. */
export function rulesText({ description, deny }: Manifest): string {
  const rules = deny.map((rule) => `${rule.tools.join(", ")}: ${conditionOf(rule)}\n  refused: ${rule.reason}`);
  return [description, ...rules].filter((line) => line !== "").join("\n");
}

function conditionOf(rule: Manifest["deny"][number]): string {
  if (rule.commandPattern !== undefined) return `a command that matches ${rule.commandPattern}`;
  if (rule.pathPattern !== undefined) return `a path that matches ${rule.pathPattern}`;
  return `an address that matches ${rule.urlPattern ?? ""}`;
}
