/** Which files this conversation has read and in what state, so that nobody's newer text is overwritten. Reads no file itself. */
import { sha256 } from "./digest.ts";

/** A file as it was at one moment. */
export interface FileStamp {
  /** Nanoseconds. */
  mtimeNs: bigint;
  /** Bytes. */
  size: bigint;
  /** SHA-256 of all bytes in hex; null when the file was too large to read whole. */
  hash: string | null;
}

export type FreshnessVerdict = "fresh" | "unread" | "changed";

export interface Freshness {
  /** Remembers the state that was read or written. */
  note(realPath: string, stamp: FileStamp): void;
  /** How what is on disk now compares with what was noted. */
  check(realPath: string, now: FileStamp): FreshnessVerdict;
  /** After a deletion. */
  forget(realPath: string): void;
}

export function openFreshness(): Freshness {
  const stamps = new Map<string, FileStamp>();
  return {
    note: (path, stamp) => void stamps.set(path, stamp),
    check: (path, now) => compare(stamps.get(path), now),
    forget: (path) => void stamps.delete(path),
  };
}

/** Stamp of a file whose bytes are at hand. */
export function stampOf(stat: { mtimeNs: bigint; size: bigint }, bytes: Uint8Array | null): FileStamp {
  return { mtimeNs: stat.mtimeNs, size: stat.size, hash: bytes === null ? null : hashOf(bytes) };
}

export function hashOf(bytes: Uint8Array): string {
  return sha256(bytes);
}

function compare(noted: FileStamp | undefined, now: FileStamp): FreshnessVerdict {
  if (noted === undefined) return "unread";
  // The content decides where both are known: a touched file is no changed file, and two
  // writes within one tick of the file system's clock have the same time.
  if (noted.hash !== null && now.hash !== null) return noted.hash === now.hash ? "fresh" : "changed";
  return noted.mtimeNs === now.mtimeNs && noted.size === now.size ? "fresh" : "changed";
}
