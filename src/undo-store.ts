/** The undo files of one session: contents by hash, and one append-only log per prompt. Knows how to keep them, not what to restore. */
import {
  accessSync,
  appendFileSync,
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { errnoOf } from "./errors.ts";
import { createFile, statIfAny } from "./text-file-write.ts";
import { pathState } from "./undo-state.ts";

const files = v.record(v.string(), pathState);

const logLine = v.variant("type", [
  v.object({ type: v.literal("prompt"), index: v.number(), title: v.string() }),
  v.object({ type: v.literal("before"), path: v.string(), state: pathState, madeDirs: v.array(v.string()) }),
  v.object({ type: v.literal("after"), path: v.string(), state: pathState }),
  v.object({ type: v.literal("command"), text: v.string() }),
  /** States that were there when they were taken back, for redo. */
  v.object({ type: v.literal("undone"), files }),
  v.object({ type: v.literal("redone"), files }),
]);
export type LogLine = v.InferOutput<typeof logLine>;

export interface StoredPrompt {
  sequence: number;
  lines: LogLine[];
}

/** All methods but `load` and `problem` throw the system's error. */
export interface UndoStore {
  /** Why nothing can be kept here, or null. Creates nothing. */
  problem(): string | null;
  /** Readable logs, oldest first. Torn or foreign lines are left out. */
  load(): StoredPrompt[];
  append(sequence: number, line: LogLine): void;
  drop(sequence: number): void;
  save(hash: string, bytes: Uint8Array): void;
  read(hash: string): Uint8Array;
  /** Bytes of all contents. */
  size(): number;
  /** Deletes contents that are not in `hashes`. */
  keepOnly(hashes: ReadonlySet<string>): void;
}

export function openUndoStore(dir: string): UndoStore {
  const blobs = join(dir, "blobs");
  const sizes = sizesIn(blobs);
  let total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  const logPath = (sequence: number) => join(dir, `${String(sequence).padStart(6, "0")}.jsonl`);

  function save(hash: string, bytes: Uint8Array): void {
    if (sizes.has(hash)) return;
    mkdirSync(blobs, { recursive: true, mode: 0o700 });
    createFile(join(blobs, hash), bytes, { mode: 0o600 });
    sizes.set(hash, bytes.length);
    total += bytes.length;
  }

  function append(sequence: number, line: LogLine): void {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    appendFileSync(logPath(sequence), `${JSON.stringify(line)}\n`, { mode: 0o600 });
  }

  function keepOnly(hashes: ReadonlySet<string>): void {
    for (const [hash, size] of sizes) {
      if (hashes.has(hash)) continue;
      removeFile(join(blobs, hash));
      sizes.delete(hash);
      total -= size;
    }
  }

  return {
    problem: () => problemOf(dir),
    load: () => loadLogs(dir),
    append,
    drop: (sequence) => removeFile(logPath(sequence)),
    save,
    read: (hash) => readFileSync(join(blobs, hash)),
    size: () => total,
    keepOnly,
  };
}

function sizesIn(blobs: string): Map<string, number> {
  const names = namesIn(blobs).filter((name) => /^[0-9a-f]{64}$/.test(name));
  return new Map(names.map((name) => [name, lstatSync(join(blobs, name)).size]));
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return [];
  }
}

function problemOf(dir: string): string | null {
  let existing = dir;
  while (statIfAny(existing) === null) existing = dirname(existing);
  try {
    if (!statSync(existing).isDirectory()) return `${existing} is no directory`;
    accessSync(existing, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return `${existing} can't be written (${errnoOf(error) ?? "unknown error"})`;
  }
}

function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

function loadLogs(dir: string): StoredPrompt[] {
  return namesIn(dir)
    .filter((name) => /^\d{6,}\.jsonl$/.test(name))
    .sort()
    .map((name) => ({ sequence: Number.parseInt(name, 10), lines: parseLog(join(dir, name)) }))
    .filter((prompt) => prompt.lines[0]?.type === "prompt");
}

function parseLog(path: string): LogLine[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .flatMap((line) => {
      const parsed = v.safeParse(logLine, parseJson(line));
      return parsed.success ? [parsed.output] : [];
    });
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // The last line of a run that was killed while writing.
    return null;
  }
}
