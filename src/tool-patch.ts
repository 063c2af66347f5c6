/** `apply_patch`: several files changed by one patch, all or none. The formats are patch-parse.ts, the writing is workspace-edit.ts. */
import * as v from "valibot";
import { JailError, ToolError } from "./errors.ts";
import { applyChunks } from "./patch-apply.ts";
import { parsePatch } from "./patch-parse.ts";
import { type FilePatch, PatchSyntaxError } from "./patch.ts";
import { type DiffTools, type FileSide, loadDiff } from "./text-file-diff.ts";
import { statIfAny } from "./text-file-write.ts";
import { encodeText, PLAIN_UTF8 } from "./text-file.ts";
import { defineTool, type Subject, type ToolContext } from "./tool.ts";
import { commitChanges, type CurrentFile, editableText, readCurrent } from "./workspace-edit.ts";
import { isDirectory, notFound } from "./workspace-open.ts";
import type { Located } from "./workspace.ts";

export const applyPatchTool = defineTool({
  name: "apply_patch",
  description:
    "Change several files, all or none. `*** Begin Patch`, then per file `*** Add File: path` with + lines, `*** Delete File: path`, or `*** Update File: path` (and `*** Move to: path`) with chunks: `@@` and optionally a line above, then lines that begin with a space (kept), - or +; `*** End Patch`. A unified diff works too. Files must have been read before.",
  set: "edit-plus",
  input: v.object({ patch: v.string() }),
  mutates: true,
  permission: "ask",
  subjects: (input) => subjectsOf(input.patch),
  concurrencySafe: () => false,
  preview: async (input, context) => {
    const diff = await loadDiff();
    return diffOf(planPatch(input.patch, context), diff);
  },
  run: async (input, context) => {
    const diff = await loadDiff();
    context.signal.throwIfAborted();
    // No await from here on: nothing of this process comes between reading, checking and writing.
    const slots = planPatch(input.patch, context);
    const shown = diffOf(slots, diff);
    const changed = slots.filter(isChanged);
    if (changed.length === 0) return { text: "The files already hold what the patch asks for." };
    commitChanges(
      context.workspace,
      changed.map(({ located, before, now }) => ({ located, before, after: now })),
    );
    return { text: `Applied the patch:\n${changed.flatMap(reportOf).join("\n")}`, diff: shown };
  },
});

/** Every path the patch touches. A patch that can't be read touches none, and its run fails before it opens a file. */
function subjectsOf(patch: string): Subject[] {
  try {
    const paths = parsePatch(patch).flatMap((file) =>
      file.kind === "update" && file.moveTo !== undefined ? [file.path, file.moveTo] : [file.path],
    );
    return [...new Set(paths)].map((path) => ({ kind: "path", path, access: "write" }));
  } catch (error) {
    if (!(error instanceof PatchSyntaxError)) throw error;
    return [{ kind: "text", text: "unreadable patch" }];
  }
}

/** One file while the patch is worked through in memory: later parts of a patch see what earlier ones did. */
interface Slot {
  located: Located;
  before: CurrentFile | null;
  now: { bytes: Uint8Array; mode?: number } | null;
  /** Set on the new name of a moved file. */
  movedFrom: Slot | null;
  movedTo: Slot | null;
}

function planPatch(patch: string, context: ToolContext): Slot[] {
  const slots = new Map<string, Slot>();
  for (const file of parsePatch(patch)) unchanged(() => planFile(file, slots, context));
  return [...slots.values()];
}

/** Tells the model, whatever is wrong with the patch, that no part of it was applied. */
function unchanged(plan: () => void): void {
  try {
    plan();
  } catch (error) {
    if (!(error instanceof ToolError) || error instanceof JailError) throw error;
    throw new ToolError(`${error.message}\nNothing was changed.`, { category: error.category, cause: error });
  }
}

function planFile(file: FilePatch, slots: Map<string, Slot>, context: ToolContext): void {
  const slot = slotOf(file.path, slots, context);
  switch (file.kind) {
    case "add":
      assertFree(slot);
      slot.now = { bytes: encodeText(file.text, PLAIN_UTF8), ...(file.mode === undefined ? {} : { mode: file.mode }) };
      return;
    case "delete":
      assertThere(slot);
      assertNoLink(file.path, context);
      slot.now = null;
      return;
    case "update":
      return planUpdate(file, slot, slots, context);
    default:
      file satisfies never;
  }
}

function planUpdate(
  file: Extract<FilePatch, { kind: "update" }>,
  slot: Slot,
  slots: Map<string, Slot>,
  context: ToolContext,
): void {
  const current = assertThere(slot);
  const bytes = file.chunks.length === 0 ? current.bytes : updated(file, slot, current.bytes);
  const target = file.moveTo === undefined ? slot : slotOf(file.moveTo, slots, context);
  if (target === slot) {
    slot.now = { ...current, bytes };
    return;
  }
  assertNoLink(file.path, context);
  assertFree(target);
  const mode = current.mode ?? slot.before?.mode;
  target.now = { bytes, ...(mode === undefined ? {} : { mode }) };
  target.movedFrom = slot;
  slot.movedTo = target;
  slot.now = null;
}

function updated(file: { path: string; chunks: FilePatchChunks }, slot: Slot, bytes: Uint8Array): Uint8Array {
  const { text, format } = editableText({ located: slot.located, bytes, mode: 0 });
  try {
    return encodeText(applyChunks(text, file.chunks), format);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    throw new ToolError(`"${slot.located.written}": ${error.message}`, { category: error.category, cause: error });
  }
}

type FilePatchChunks = Extract<FilePatch, { kind: "update" }>["chunks"];

function slotOf(path: string, slots: Map<string, Slot>, context: ToolContext): Slot {
  const located = context.workspace.locate(path, "write");
  const known = slots.get(located.real);
  if (known) return known;
  if (located.exists && isDirectory(located)) throw new ToolError(`"${located.written}" is a directory.`);
  // Errors show lines of the file: what may not be read may not be patched either.
  if (located.exists && !context.mayRead(located.real))
    throw new ToolError(`The rules forbid reading "${located.written}".`, { category: "permission error" });
  const before = located.exists ? readCurrent(context.workspace, located) : null;
  const slot: Slot = { located, before, now: before && { bytes: before.bytes }, movedFrom: null, movedTo: null };
  slots.set(located.real, slot);
  return slot;
}

function assertFree(slot: Slot): void {
  if (slot.now !== null) throw new ToolError(`"${slot.located.written}" exists already.`);
}

function assertThere(slot: Slot): NonNullable<Slot["now"]> {
  if (slot.now === null) throw notFound(slot.located);
  return slot.now;
}

/** A slot is the file behind the name; moving or deleting that by another name would leave a broken link. */
function assertNoLink(path: string, context: ToolContext): void {
  const { absolute, written } = context.workspace.locate(path, "write");
  if (statIfAny(absolute)?.isSymbolicLink())
    throw new ToolError(`"${written}" is a symbolic link. Move or delete it with bash.`);
}

function isChanged({ before, now }: Slot): boolean {
  if (before === null || now === null) return before !== null || now !== null;
  return !Buffer.from(now.bytes).equals(before.bytes);
}

function reportOf(slot: Slot): string[] {
  const { written } = slot.located;
  if (slot.movedTo !== null && slot.now === null) return [];
  if (slot.movedFrom !== null) return [`R ${slot.movedFrom.located.written} -> ${written}`];
  if (slot.now === null) return [`D ${written}`];
  return [`${slot.before === null ? "A" : "M"} ${written}`];
}

function diffOf(slots: readonly Slot[], diff: DiffTools): string {
  return slots
    .filter((slot) => isChanged(slot) && (slot.movedTo === null || slot.now !== null))
    .map((slot) => diff.unified(oldSide(slot.movedFrom ?? slot), newSide(slot)))
    .join("");
}

function oldSide({ located, before }: Slot): FileSide | null {
  return before && { path: located.realWritten, bytes: before.bytes, mode: before.mode };
}

function newSide({ located, before, now, movedFrom }: Slot): FileSide | null {
  const mode = now?.mode ?? before?.mode ?? movedFrom?.before?.mode ?? 0o644;
  return now && { path: located.realWritten, bytes: now.bytes, mode };
}
