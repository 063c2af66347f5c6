/** What a user has consented to run from a repository: path and content hash, in SHIRO_HOME/trust.json. Asks nobody; callers show what they want consent for. */
import { createHash } from "node:crypto";
import * as v from "valibot";
import { trustFile } from "./paths.ts";
import { readStore, writeStore, type StoreProblem } from "./store.ts";
import { withLock } from "./store-lock.ts";

/** `changed`: consented once, and the content is another now; it must be asked about again. */
export type TrustState = "trusted" | "changed" | "unknown";

const entry = v.looseObject({ sha256: v.string(), at: v.string() });
const trustRecord = v.looseObject({ entries: v.record(v.string(), entry) });
type TrustRecord = v.InferOutput<typeof trustRecord>;

/** SHA-256 of the content, hex. */
export function contentHash(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Whether `content` of the file at `realPath` has the user's consent. A file that can't be read counts as no consent. */
export function trustState(home: string, realPath: string, content: string | Uint8Array): TrustState {
  const known = loadRecord(home).entries[realPath];
  if (!known) return "unknown";
  return known.sha256 === contentHash(content) ? "trusted" : "changed";
}

/** Records consent to exactly this content. */
export function recordTrust(
  home: string,
  item: { realPath: string; content: string | Uint8Array },
  now: Date,
): Promise<StoreProblem | null> {
  const value = { sha256: contentHash(item.content), at: now.toISOString() };
  return changeRecord(home, (entries) => ({ ...entries, [item.realPath]: value }));
}

/** Takes consent back. */
export function removeTrust(home: string, realPath: string): Promise<StoreProblem | null> {
  return changeRecord(home, (entries) =>
    Object.fromEntries(Object.entries(entries).filter(([path]) => path !== realPath)),
  );
}

/** Everything consented to, by path. */
export function listTrust(home: string): { realPath: string; sha256: string; at: string }[] {
  const { entries } = loadRecord(home);
  return Object.keys(entries)
    .sort()
    .flatMap((realPath) => {
      const known = entries[realPath];
      return known ? [{ realPath, sha256: known.sha256, at: known.at }] : [];
    });
}

async function changeRecord(
  home: string,
  change: (entries: TrustRecord["entries"]) => TrustRecord["entries"],
): Promise<StoreProblem | null> {
  const path = trustFile(home);
  const outcome = await withLock(`${path}.lock`, () => {
    const record = loadRecord(home);
    return writeStore(path, `${JSON.stringify({ ...record, entries: change(record.entries) }, null, 2)}\n`);
  });
  return "problem" in outcome ? outcome.problem : outcome.value;
}

function loadRecord(home: string): TrustRecord {
  const read = readStore(trustFile(home));
  const parsed = read.state === "ok" ? v.safeParse(trustRecord, read.value) : null;
  return parsed?.success ? parsed.output : { entries: {} };
}
