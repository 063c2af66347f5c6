/** The body of a registry entry: fetched, its digest verified, its content checked for what it says it is. Installs nothing and asks nobody. */
import { UserError, messageOf } from "./errors.ts";
import { FrontmatterError, parseMarkdownFile, textField } from "./markdown-file.ts";
import type { Manifest } from "./plugin-manifest.ts";
import { checkManifest } from "./plugin-installed.ts";
import { BODY_BYTES, INDEX_BYTES, fetchRegistryText, isLocalHttp, registryAddress } from "./registry-fetch.ts";
import { idOf, parseIndex, type RegistryEntry, type RegistryKind } from "./registry-index.ts";
import type { NetworkEnv } from "./network.ts";
import { MAX_SKILL_CHARS } from "./skills.ts";
import { contentHash } from "./trust.ts";

export interface RegistrySource {
  /** Of the index. */
  url: string;
  env: NetworkEnv;
  signal?: AbortSignal;
  deadlineMs?: number;
}

export interface RegistryBody {
  kind: RegistryKind;
  name: string;
  text: string;
  url: string;
  sha256: string;
  /** Of a plugin; null for a skill. */
  manifest: Manifest | null;
}

/** The entries of a registry. Throws UserError. */
export async function fetchIndex(source: RegistrySource): Promise<RegistryEntry[]> {
  const text = await fetchRegistryText({ ...source, maxBytes: INDEX_BYTES, local: isLocalHttp(source.url) });
  return parseIndex(text, source.url);
}

/** Fetches and checks what an entry stands for. Throws UserError naming the entry and what is wrong with it. */
export async function fetchBody(entry: RegistryEntry, source: RegistrySource): Promise<RegistryBody> {
  // An index from the network must not make us ask services of this machine.
  const local = isLocalHttp(source.url);
  const url = registryAddress(entry.url, source.url, local);
  const text = await fetchRegistryText({ ...source, url, maxBytes: BODY_BYTES, local });
  const sha256 = contentHash(text);
  const wanted = entry.sha256?.toLowerCase();
  if (wanted !== undefined && wanted !== sha256)
    throw new UserError(`${idOf(entry)} was refused: its sha256 is ${sha256}, and the index says ${wanted}`);
  const checked = checkBody(entry.kind, entry.name, text);
  if ("problem" in checked) throw new UserError(`${idOf(entry)} was refused: ${checked.problem}`);
  return { kind: entry.kind, name: entry.name, text, url, sha256, manifest: checked.manifest };
}

/** Whether a text is the skill or plugin of that name. Never throws. */
export function checkBody(
  kind: RegistryKind,
  name: string,
  text: string,
): { manifest: Manifest | null } | { problem: string } {
  switch (kind) {
    case "plugin":
      return checkManifest(text, name);
    case "skill":
      return checkSkill(text, name);
    default:
      return kind satisfies never;
  }
}

function checkSkill(text: string, name: string): { manifest: null } | { problem: string } {
  try {
    const file = parseMarkdownFile(text);
    const own = textField(file, "name");
    if (own !== name)
      return { problem: own ? `it calls itself "${own}", not "${name}"` : "its frontmatter has no name" };
    if (!textField(file, "description")) return { problem: "its frontmatter has no description" };
    if (file.body === "") return { problem: "it has no body" };
    if (file.body.length > MAX_SKILL_CHARS) return { problem: `its body is longer than ${MAX_SKILL_CHARS} characters` };
    return { manifest: null };
  } catch (error) {
    if (error instanceof FrontmatterError) return { problem: messageOf(error) };
    throw error;
  }
}
