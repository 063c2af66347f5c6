/** The state of one path for undo: taking it, comparing it, putting it back. Bytes, modes and links; nothing of directories. */
import { mkdirSync, readFileSync, readlinkSync, realpathSync, rmdirSync, symlinkSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import * as v from "valibot";
import { errnoOf } from "./errors.ts";
import { hashOf } from "./freshness.ts";
import { createFile, replaceFile, statIfAny } from "./text-file-write.ts";

export const pathState = v.variant("kind", [
  v.object({ kind: v.literal("absent") }),
  v.object({ kind: v.literal("file"), hash: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)), mode: v.number() }),
  v.object({ kind: v.literal("link"), target: v.string() }),
  /** A directory, a device …: never touched. */
  v.object({ kind: v.literal("other") }),
  /** There was content and it could not be saved. */
  v.object({ kind: v.literal("lost") }),
]);
export type PathState = v.InferOutput<typeof pathState>;

/** Saves content under its hash. */
export type Save = (hash: string, bytes: Uint8Array) => void;

/** The state of a path now. Throws the system's error, and what `save` throws. */
export function takeState(path: string, save?: Save): PathState {
  const stat = statIfAny(path);
  if (stat === null) return { kind: "absent" };
  if (stat.isSymbolicLink()) return { kind: "link", target: readlinkSync(path) };
  if (!stat.isFile()) return { kind: "other" };
  const bytes = readFileSync(path);
  const hash = hashOf(bytes);
  save?.(hash, bytes);
  return { kind: "file", hash, mode: stat.mode & 0o7777 };
}

/** Whether two states have the same content. Modes are left out: `chmod` is no change that undo would lose. */
export function sameState(a: PathState, b: PathState): boolean {
  if (a.kind === "file" && b.kind === "file") return a.hash === b.hash;
  if (a.kind === "link" && b.kind === "link") return a.target === b.target;
  return a.kind === b.kind && a.kind !== "other" && a.kind !== "lost";
}

/** Makes a path what `state` says. `load` gives content by its hash. Throws the system's error. */
export function putState(path: string, state: PathState, load: (hash: string) => Uint8Array): void {
  const now = takeState(path);
  if (now.kind === "other" || state.kind === "other") throw new Error("it is no file any more");
  if (state.kind === "lost") throw new Error("its content is not known");
  assertNoDetour(path);
  if (state.kind === "file" && now.kind === "file") {
    replaceFile(path, load(state.hash), { mode: state.mode });
    return;
  }
  const bytes = state.kind === "file" ? load(state.hash) : null;
  if (now.kind !== "absent") unlinkSync(path);
  if (state.kind === "absent") return;
  mkdirSync(dirname(path), { recursive: true });
  if (state.kind === "link") symlinkSync(state.target, path);
  else if (bytes !== null) createFile(path, bytes, { mode: state.mode });
}

/** Directories that would have to be made for a path, outermost first. */
export function missingParents(path: string): string[] {
  const missing: string[] = [];
  for (let dir = dirname(path); statIfAny(dir) === null; dir = dirname(dir)) missing.unshift(dir);
  return missing;
}

/** Removes directories that are empty, innermost first, and stops at one that is not. */
export function removeEmpty(dirs: readonly string[]): void {
  for (const dir of dirs.toReversed()) {
    try {
      rmdirSync(dir);
    } catch (error) {
      // Somebody else's files are in it, or it is gone: both are fine.
      if (errnoOf(error) === undefined) throw error;
      return;
    }
  }
}

/** A link that was laid into the path since must not lead us out of the workspace. */
function assertNoDetour(path: string): void {
  const parent = dirname(missingParents(path)[0] ?? path);
  if (realpathSync.native(parent) !== parent) throw new Error("its directory is a link now");
}
