/** Unified diffs of whole files, as `git apply` takes them. The diff package is loaded when the first one is asked for. */
import { decodeText, endedLines, type LineDiff, type LineRun } from "./text-file.ts";

/** One side of a change. */
export interface FileSide {
  /** Workspace-relative with forward slashes. */
  path: string;
  bytes: Uint8Array;
  mode: number;
}

export interface DiffTools {
  /** For `withEndingsOf`. */
  lines: LineDiff;
  /** Diff of one file. A null side does not exist. Ends in a newline; empty when nothing differs. */
  unified(before: FileSide | null, after: FileSide | null): string;
}

// Myers' algorithm costs the square of the number of differing lines. Two texts that share next to nothing
// get one hunk instead: with 1,000 this binds only where a diff is unreadable anyway.
const MAX_EDITS = 1_000;

export async function loadDiff(): Promise<DiffTools> {
  const { diffArrays, formatPatch, structuredPatch } = await import("diff");

  function hunksOf(before: string, after: string): Hunk[] {
    const patch = structuredPatch("", "", before, after, undefined, undefined, {
      context: 3,
      maxEditLength: MAX_EDITS,
    });
    return patch?.hunks ?? [oneHunk(before, after)];
  }

  function unified(before: FileSide | null, after: FileSide | null): string {
    const [old, new_] = [textOf(before), textOf(after)];
    if (old === null || new_ === null) return binaryDiff(before, after);
    const hunks = hunksOf(old, new_);
    if (hunks.length === 0 && before?.path === after?.path) return "";
    return formatPatch({ ...headersOf(before, after), hunks });
  }

  const lines: LineDiff = (before, after) =>
    diffArrays(before, after, { maxEditLength: MAX_EDITS }) ?? endsAndMiddle(before, after);
  return { lines, unified };
}

interface Hunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  lines: string[];
}

function headersOf(before: FileSide | null, after: FileSide | null) {
  const renamed = before !== null && after !== null && before.path !== after.path;
  return {
    isGit: true,
    oldFileName: before === null ? "/dev/null" : `a/${relativeName(before.path)}`,
    newFileName: after === null ? "/dev/null" : `b/${relativeName(after.path)}`,
    oldHeader: undefined,
    newHeader: undefined,
    ...(before === null && after !== null ? { isCreate: true, newMode: gitMode(after.mode) } : {}),
    ...(after === null && before !== null ? { isDelete: true, oldMode: gitMode(before.mode) } : {}),
    ...(renamed ? { isRename: true } : {}),
  };
}

/** Paths in extra directories are absolute; git knows none such. */
function relativeName(path: string): string {
  return path.replace(/^\/+/, "");
}

/** git knows two modes of regular files only. */
function gitMode(mode: number): string {
  return mode & 0o100 ? "100755" : "100644";
}

/** With the byte order mark, which is a character to git; null for what is no UTF-8 or UTF-16 text. */
function textOf(side: FileSide | null): string | null {
  if (side === null) return "";
  const decoded = decodeText(side.bytes);
  if (decoded.kind !== "text") return null;
  return decoded.format.bom ? `\ufeff${decoded.text}` : decoded.text;
}

function binaryDiff(before: FileSide | null, after: FileSide | null): string {
  const name = (side: FileSide | null) => (side === null ? "/dev/null" : side.path);
  return `Binary files ${name(before)} and ${name(after)} differ\n`;
}

/** How many lines two texts share at their ends. */
function commonEnds(before: readonly string[], after: readonly string[]): { head: number; tail: number } {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  return { head, tail };
}

function endsAndMiddle(before: readonly string[], after: readonly string[]): LineRun[] {
  const { head, tail } = commonEnds(before, after);
  return [
    { value: before.slice(0, head), added: false, removed: false },
    { value: before.slice(head, before.length - tail), added: false, removed: true },
    { value: after.slice(head, after.length - tail), added: true, removed: false },
    { value: before.slice(before.length - tail), added: false, removed: false },
  ];
}

/** All lines but the common ones at both ends as removed, then as added. */
function oneHunk(before: string, after: string): Hunk {
  const [lead, removed, added, trail] = endsAndMiddle(rawLines(before), rawLines(after)).map((run) => run.value);
  const [first, last] = [lead?.slice(-3) ?? [], trail?.slice(0, 3) ?? []];
  const start = (lead?.length ?? 0) - first.length + 1;
  const kept = first.length + last.length;
  return {
    oldStart: start,
    newStart: start,
    oldLines: kept + (removed?.length ?? 0),
    newLines: kept + (added?.length ?? 0),
    lines: [...marked(" ", first), ...marked("-", removed ?? []), ...marked("+", added ?? []), ...marked(" ", last)],
  };
}

function rawLines(text: string): string[] {
  return endedLines(text).map((line) => line.text + line.ending);
}

function marked(mark: string, lines: readonly string[]): string[] {
  return lines.flatMap((line) =>
    line.endsWith("\n") ? [mark + line.slice(0, -1)] : [mark + line, "\\ No newline at end of file"],
  );
}
