/** What a user has consented to run from a repository: path and content hash, in SHIRO_HOME/trust.json. Asks nobody; callers show what they want consent for. */
import * as v from "valibot";
import { sha256 } from "./digest.ts";
import { trustFile } from "./paths.ts";
import { readStore, writeStore, type StoreProblem } from "./store.ts";
import { withLock } from "./store-lock.ts";

/** `changed`: consented once, and the content is another now; it must be asked about again. `refused`: asked about, and no. */
export type TrustState = "trusted" | "changed" | "refused" | "unknown";

const entry = v.looseObject({ sha256: v.string(), at: v.string() });
const entries = v.record(v.string(), entry);
const trustRecord = v.looseObject({ entries, refused: v.optional(entries) });
type TrustRecord = v.InferOutput<typeof trustRecord>;

/** SHA-256 of the content, hex. */
export function contentHash(content: string | Uint8Array): string {
  return sha256(content);
}

/** Whether `content` of the file at `realPath` has the user's consent. A file that can't be read counts as no consent. */
export function trustState(home: string, realPath: string, content: string | Uint8Array): TrustState {
  const { entries: trusted, refused } = loadRecord(home);
  const sha256 = contentHash(content);
  if (trusted[realPath]?.sha256 === sha256) return "trusted";
  if (refused?.[realPath]?.sha256 === sha256) return "refused";
  return trusted[realPath] ? "changed" : "unknown";
}

/** Records consent to exactly this content. */
export function recordTrust(
  home: string,
  item: { realPath: string; content: string | Uint8Array },
  now: Date,
): Promise<StoreProblem | null> {
  const value = { sha256: contentHash(item.content), at: now.toISOString() };
  return changeRecord(home, (record) => ({ ...record, entries: { ...record.entries, [item.realPath]: value } }));
}

/** Records that the user was asked about exactly this content and said no: nobody asks again. */
export function recordRefusal(
  home: string,
  item: { realPath: string; content: string | Uint8Array },
  now: Date,
): Promise<StoreProblem | null> {
  const value = { sha256: contentHash(item.content), at: now.toISOString() };
  return changeRecord(home, (record) => ({ ...record, refused: { ...record.refused, [item.realPath]: value } }));
}

/** Takes consent back. */
export function removeTrust(home: string, realPath: string): Promise<StoreProblem | null> {
  return changeRecord(home, (record) => ({
    ...record,
    entries: Object.fromEntries(Object.entries(record.entries).filter(([path]) => path !== realPath)),
  }));
}

/** Everything consented to, by path. */
export function listTrust(home: string): { realPath: string; sha256: string; at: string }[] {
  const trusted = loadRecord(home).entries;
  return Object.keys(trusted)
    .sort()
    .flatMap((realPath) => {
      const known = trusted[realPath];
      return known ? [{ realPath, sha256: known.sha256, at: known.at }] : [];
    });
}

async function changeRecord(home: string, change: (record: TrustRecord) => TrustRecord): Promise<StoreProblem | null> {
  const path = trustFile(home);
  const outcome = await withLock(`${path}.lock`, () => {
    return writeStore(path, `${JSON.stringify(change(loadRecord(home)), null, 2)}\n`);
  });
  return "problem" in outcome ? outcome.problem : outcome.value;
}

function loadRecord(home: string): TrustRecord {
  const read = readStore(trustFile(home));
  const parsed = read.state === "ok" ? v.safeParse(trustRecord, read.value) : null;
  return parsed?.success ? parsed.output : { entries: {} };
}
