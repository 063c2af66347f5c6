/** The secrets plugin: keeps live credentials out of files that git could track, and asks before a secret file is written. Reading is ruled by permission.ts. */
import type { PathFacts } from "./path-facts.ts";
import { everyEffective, type ShellLine } from "./permission-line.ts";
import { matchTable, tableFor } from "./permission.ts";
import type { Plugin, PluginCall, PluginVerdict } from "./plugin.ts";
import { findCredential } from "./redact.ts";
import { SECRET_READ_RULES } from "./secrets.ts";

export function makeSecrets(isIgnored: (absolute: string) => boolean): Plugin {
  return {
    name: "secrets",
    description: "refuses writing live credentials into files git could track; asks before secret files are written",
    beforeToolCall: (call) => credentialVerdict(call, isIgnored) ?? secretFileVerdict(call.writes),
  };
}

function credentialVerdict(call: PluginCall, isIgnored: (absolute: string) => boolean): PluginVerdict | null {
  const trackable = call.writes.filter((path) => path.inside);
  if (trackable.length === 0) return null;
  const what = findCredential(textOf(call));
  const path = what === null ? undefined : trackable.find((candidate) => !isIgnored(candidate.absolute));
  if (!path) return null;
  const reason = `secrets: the text for ${path.written} holds what looks like ${what}, and git could track that file. Read it from the environment or from an ignored file instead.`;
  return { decision: "deny", by: "plugin", reason };
}

const SECRET_TABLE = tableFor("", [], SECRET_READ_RULES);

function secretFileVerdict(writes: readonly PathFacts[]): PluginVerdict | null {
  const path = writes.find((candidate) => [candidate.written, candidate.realWritten].some(isSecretFile));
  if (!path) return null;
  return {
    decision: "ask",
    by: "secret",
    reason: `${path.written} is a file of a kind that holds secrets, so every change to it needs the user's approval.`,
  };
}

function isSecretFile(written: string): boolean {
  return matchTable(SECRET_TABLE, written).decision === "deny";
}

function textOf(call: PluginCall): string {
  return [...newStrings(call.input, ""), ...call.lines.map(lineText)].join("\n");
}

function lineText(line: ShellLine): string {
  const words = [...everyEffective(line)].flatMap((command) => command.words);
  const bodies = line.commands.flatMap(({ simple }) =>
    [...simple.inherited, ...simple.redirects].map((one) => one.hereDoc?.body ?? ""),
  );
  return [...words, ...bodies].join("\n");
}

/** Strings of an input, what an edit takes away left out. */
function newStrings(value: unknown, key: string): string[] {
  if (/^old/i.test(key)) return [];
  if (typeof value === "string") return [addedLines(value)];
  if (Array.isArray(value)) return value.flatMap((item) => newStrings(item, key));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => newStrings(item, name));
}

function addedLines(text: string): string {
  if (!/^\*\*\* Begin Patch|^--- |^diff --git /m.test(text)) return text;
  return text
    .split("\n")
    .filter((line) => !line.startsWith("-"))
    .map((line) => line.replace(/^[+ ]/, ""))
    .join("\n");
}
