/** Texts too long for a model: both ends are kept, the whole goes to a file that it may read. Decides nothing about who may. */
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cutMiddle, wellFormed } from "./text.ts";

/** Some 8,000 tokens; larger results push the task itself out of a small context. */
export const RESULT_CHARS = 30_000;
/** Sessions untouched for so long have been read by now; their results can be had again. */
const KEEP_MS = 7 * 24 * 60 * 60 * 1000;

export interface SpillPlace {
  /** Created on first use, 0700. */
  dir: string;
  callId: string;
}

/** A fresh file name in the spill directory. It can't be guessed, so nobody can have put a link there. */
export function spillPath(place: SpillPlace): string {
  const name = place.callId.replace(/[^\w.-]/g, "_").slice(0, 64);
  return join(place.dir, `${name}-${crypto.randomUUID().slice(0, 8)}.txt`);
}

/** Text as every wire takes it: well-formed Unicode without NUL. */
export function wireText(text: string): string {
  return wellFormed(text).replaceAll("\0", "\u2400");
}

/**
 * What of a result is sent: well-formed, without NUL, at most `limit` characters and a line that says where the rest is.
 * A file that can't be written is no error: the text then says only how much is missing.
 */
export function boundResult(text: string, place: SpillPlace, limit = RESULT_CHARS): string {
  const clean = wireText(text);
  if (clean.length <= limit) return clean;
  const path = writeSpill(clean, place);
  const where = path === null ? "" : `; the whole is in ${path}`;
  // Room for the marker: a result bounded once must not be bounded again.
  return cutMiddle(clean, limit - 200 - where.length, (dropped) => `\n[… ${dropped} characters left out${where} …]\n`)
    .text;
}

/** Path of a new file with the text, or null when it can't be written. */
export function writeSpill(text: string, place: SpillPlace): string | null {
  const path = spillPath(place);
  try {
    mkdirSync(place.dir, { recursive: true, mode: 0o700 });
    writeFileSync(path, text, { flag: "wx", mode: 0o600 });
    return path;
  } catch {
    return null;
  }
}

/** Removes the spill directories of sessions that were last written to a week ago. `root` is `<home>/spill`. Never throws. */
export function sweepSpills(root: string, now: number): void {
  for (const name of namesIn(root)) {
    const dir = join(root, name);
    try {
      if (now - statSync(dir).mtimeMs > KEEP_MS) rmSync(dir, { recursive: true, force: true });
    } catch {
      // Another shiro swept it first, or it isn't ours to remove: it only takes room.
    }
  }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}
