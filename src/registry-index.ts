/** The index of a registry: what it offers, by kind and name. Reads text into entries and finds one; fetches nothing. */
import * as v from "valibot";
import { UserError, messageOf } from "./errors.ts";
import { nearestName } from "./nearest.ts";

export const REGISTRY_KINDS = ["skill", "plugin"] as const;
export type RegistryKind = (typeof REGISTRY_KINDS)[number];

/** Names of skills and plugins: they become file names, so nothing else is let in. */
export const REGISTRY_NAME = /^[a-z0-9][a-z0-9-]*$/;

const entry = v.strictObject({
  kind: v.picklist(REGISTRY_KINDS),
  name: v.pipe(v.string(), v.regex(REGISTRY_NAME, "must be lower-case letters, digits and hyphens"), v.maxLength(64)),
  description: v.pipe(v.string(), v.nonEmpty(), v.maxLength(500)),
  /** Of the body; relative to the index. */
  url: v.pipe(v.string(), v.nonEmpty(), v.maxLength(2000)),
  /** Of the body, hexadecimal. */
  sha256: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/i, "must be 64 hexadecimal digits"))),
});

const index = v.strictObject({ version: v.literal(1), entries: v.array(entry) });

export type RegistryEntry = v.InferOutput<typeof entry>;

/** Reads an index. Throws UserError naming the first place that doesn't fit: an index is taken whole or not at all. */
export function parseIndex(text: string, url: string): RegistryEntry[] {
  const checked = v.safeParse(index, parseJson(text, url));
  if (!checked.success) {
    const [issue] = checked.issues;
    throw new UserError(`The registry index ${url} was refused: ${v.getDotPath(issue) ?? "index"}: ${issue.message}`);
  }
  const { entries } = checked.output;
  const ids = new Set<string>();
  for (const one of entries) {
    if (ids.has(idOf(one))) throw new UserError(`The registry index ${url} was refused: it holds ${idOf(one)} twice`);
    ids.add(idOf(one));
  }
  return entries;
}

/** `plugin:no-prod`: what tells entries apart. */
export function idOf(item: { kind: RegistryKind; name: string }): string {
  return `${item.kind}:${item.name}`;
}

/** Entries whose name or description holds every word, in the order of the index. */
export function searchEntries(entries: readonly RegistryEntry[], query: string): RegistryEntry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return entries.filter((one) => {
    const text = `${idOf(one)} ${one.description}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** The item a person named: `name`, `skill:name` or `plugin:name`. Throws UserError for a bad, unknown or ambiguous name. */
export function findItem<T extends { kind: RegistryKind; name: string }>(
  items: readonly T[],
  wanted: string,
  where: string,
): T {
  const [kind, name] = splitName(wanted);
  const found = items.filter((one) => one.name === name && (kind === null || one.kind === kind));
  const [first, second] = found;
  if (first && second) throw new UserError(`"${name}" is ambiguous: say ${found.map(idOf).join(" or ")}`);
  if (first) return first;
  const near = nearestName(
    name,
    items.map((one) => one.name),
  );
  throw new UserError(`No "${wanted}" ${where}.${near ? ` Did you mean "${near}"?` : ""}`);
}

function splitName(wanted: string): [RegistryKind | null, string] {
  const kind = REGISTRY_KINDS.find((one) => wanted.startsWith(`${one}:`)) ?? null;
  const name = kind === null ? wanted : wanted.slice(kind.length + 1);
  if (!REGISTRY_NAME.test(name))
    throw new UserError(`"${wanted}" is no name of a skill or plugin: lower-case letters, digits and hyphens`);
  return [kind, name];
}

function parseJson(text: string, url: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UserError(`The registry index ${url} is not valid JSON (${messageOf(error)})`, { cause: error });
  }
}
