/** What this session's file tools changed, as one unified diff: from the states undo keeps to the files as they are. Runs no git and changes nothing. */
import { readFileSync } from "node:fs";
import { relative, sep } from "node:path";
import { UserError, errnoOf, messageOf } from "./errors.ts";
import { sanitizeLine } from "./sanitize.ts";
import { loadDiff, type FileSide } from "./text-file-diff.ts";
import { statIfAny } from "./text-file-write.ts";
import type { Undo } from "./undo.ts";

/** Changed files compared; a session that touched more is better looked at with git. */
const MAX_FILES = 500;
/** A larger file is named only: its diff would be no reading, and making it would hold up the prompt. */
const MAX_FILE_BYTES = 2 * 1024 * 1024;

type Origin = ReturnType<Undo["origins"]>[number];
/** A regular file, nothing there (null), or why it can't be compared. */
type Present = { side: FileSide | null } | { problem: string };

/** The diff; contents are not sanitised, names are. Paths relative to `root`. Empty when nothing differs. Throws UserError when the states can't be read. */
export async function sessionDiff(undo: Pick<Undo, "origins">, root: string): Promise<string> {
  const changed = originsOf(undo);
  const { unified } = await loadDiff();
  const parts = changed.slice(0, MAX_FILES).map((origin) => fileDiff(origin, root, unified));
  const left = changed.length - MAX_FILES;
  return parts.join("") + (left > 0 ? `${left} more files changed\n` : "");
}

function originsOf(undo: Pick<Undo, "origins">): Origin[] {
  try {
    return undo.origins().sort((a, b) => (a.path < b.path ? -1 : 1));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    throw new UserError(`The earlier states can't be read: ${messageOf(error)}`, { cause: error });
  }
}

function fileDiff(
  origin: Origin,
  root: string,
  unified: (before: FileSide | null, after: FileSide | null) => string,
): string {
  const path = shownPath(origin.path, root);
  if ((origin.before?.byteLength ?? 0) > MAX_FILE_BYTES) return `${path}: too large to compare\n`;
  const now = presentSide(origin.path, path);
  if ("problem" in now) return `${path}: ${now.problem}\n`;
  // Modes aren't kept with the states; the same one on both sides leaves them out of the diff.
  const mode = now.side?.mode ?? 0o644;
  return unified(origin.before === null ? null : { path, bytes: origin.before, mode }, now.side);
}

function presentSide(absolute: string, path: string): Present {
  try {
    const stat = statIfAny(absolute);
    if (stat === null) return { side: null };
    if (!stat.isFile()) return { problem: "no regular file any more" };
    if (stat.size > MAX_FILE_BYTES) return { problem: "too large to compare" };
    return { side: { path, bytes: readFileSync(absolute), mode: stat.mode } };
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return { problem: messageOf(error) };
  }
}

/** A name is one line: with a line end in it, it would pass for lines of the diff. */
function shownPath(absolute: string, root: string): string {
  const path = relative(root, absolute);
  const outside = path === ".." || path.startsWith(`..${sep}`);
  return sanitizeLine(outside ? absolute : path.split(sep).join("/"));
}
