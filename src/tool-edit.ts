/** `write_file`, `edit_file` and `multi_edit`: whole texts and exact replacements. Patches are tool-patch.ts. */
import * as v from "valibot";
import { ToolError } from "./errors.ts";
import { describeNear } from "./near.ts";
import { type DiffTools, loadDiff } from "./text-file-diff.ts";
import { type Edit, replaceInText } from "./text-file-edit.ts";
import { encodeText, endedLines, PLAIN_UTF8, type TextFormat, toLf, usualEnding, withEndingsOf } from "./text-file.ts";
import { defineTool, type ToolContext, type ToolOutput } from "./tool.ts";
import { commitChanges, type CurrentFile, editableText, readCurrent } from "./workspace-edit.ts";
import { isDirectory, notFound } from "./workspace-open.ts";
import type { Located } from "./workspace.ts";

const edit = {
  oldString: v.string(),
  newString: v.string(),
  replaceAll: v.optional(v.boolean()),
};

export const writeFileTool = defineTool({
  name: "write_file",
  description:
    "Create a file, parents included, or replace the whole of one that was read before. Prefer edit_file for changes.",
  set: "core",
  input: v.object({ path: v.string(), content: v.string() }),
  mutates: true,
  permission: "ask",
  subjects: (input) => [{ kind: "path", path: input.path, access: "write" }],
  concurrencySafe: () => false,
  preview: (input, context) => preview((diff) => planWrite(input, context, diff)),
  run: (input, context) => run(context, (diff) => planWrite(input, context, diff)),
});

export const editFileTool = defineTool({
  name: "edit_file",
  description:
    "Replace oldString, exactly as it stands in a file that was read before, by newString. It must occur once; replaceAll replaces every occurrence. An empty oldString creates a new file.",
  set: "core",
  input: v.object({ path: v.string(), ...edit }),
  mutates: true,
  permission: "ask",
  subjects: (input) => [{ kind: "path", path: input.path, access: "write" }],
  concurrencySafe: () => false,
  preview: (input, context) => preview((diff) => planEdit(input, context, diff)),
  run: (input, context) => run(context, (diff) => planEdit(input, context, diff)),
});

export const multiEditTool = defineTool({
  name: "multi_edit",
  description:
    "Several edit_file replacements in one file, in order, each on the result of the one before. All or none.",
  set: "edit-plus",
  input: v.object({ path: v.string(), edits: v.pipe(v.array(v.object(edit)), v.minLength(1)) }),
  mutates: true,
  permission: "ask",
  subjects: (input) => [{ kind: "path", path: input.path, access: "write" }],
  concurrencySafe: () => false,
  preview: (input, context) => preview((diff) => planEdits(input.path, input.edits, context, diff)),
  run: (input, context) => run(context, (diff) => planEdits(input.path, input.edits, context, diff)),
});

/** What would be written. */
interface Plan {
  located: Located;
  before: CurrentFile | null;
  bytes: Uint8Array;
  report: string;
}

async function preview(plan: (diff: DiffTools) => Plan): Promise<string | null> {
  const diff = await loadDiff();
  return diffOf(plan(diff), diff);
}

async function run(context: ToolContext, plan: (diff: DiffTools) => Plan): Promise<ToolOutput> {
  const diff = await loadDiff();
  context.signal.throwIfAborted();
  // No await from here on: nothing of this process comes between reading, checking and writing.
  const planned = plan(diff);
  const { located, before, bytes, report } = planned;
  if (before !== null && Buffer.from(bytes).equals(before.bytes)) return { text: `${report} The content is the same.` };
  const shown = diffOf(planned, diff);
  commitChanges(context.workspace, [{ located, before, after: { bytes } }]);
  return { text: report, diff: shown };
}

function diffOf(plan: Plan, diff: DiffTools): string {
  const { before, bytes, located } = plan;
  const path = located.realWritten;
  const old = before === null ? null : { path, bytes: before.bytes, mode: before.mode };
  return diff.unified(old, { path, bytes, mode: before?.mode ?? 0o644 });
}

function planWrite(input: { path: string; content: string }, context: ToolContext, diff: DiffTools): Plan {
  const located = locateForWrite(input.path, context);
  const before = located.exists ? readCurrent(context.workspace, located) : null;
  const lines = countLines(input.content);
  if (before === null)
    return { located, before, bytes: newFile(input.content), report: `Created ${located.written} (${lines}).` };
  const { text, format } = editableText(before);
  const content = input.content.replace(/^\ufeff/, "");
  const usual = usualEnding(text);
  const bytes = encodeText(usual === null ? content : withEndingsOf(text, content, usual, diff.lines), format);
  return { located, before, bytes, report: `Replaced ${located.written} (${lines}, before ${countLines(text)}).` };
}

function planEdit(input: Edit & { path: string }, context: ToolContext, diff: DiffTools): Plan {
  if (input.oldString === "" && input.newString !== "") return planCreate(input, context);
  const { located, before, text, format } = openForEdit(input.path, context);
  const edited = applyEdit(located, text, input, format, diff);
  const count = edited.lines.length;
  const where = count === 1 ? `line ${edited.lines[0]}` : `${count} occurrences`;
  return { located, before, bytes: encodeText(edited.text, format), report: `Edited ${located.written} (${where}).` };
}

function planCreate(input: Edit & { path: string }, context: ToolContext): Plan {
  const located = locateForWrite(input.path, context);
  if (located.exists)
    throw new ToolError(
      `"${located.written}" exists; an empty oldString only creates a new file. Give the text to replace.`,
    );
  const report = `Created ${located.written} (${countLines(input.newString)}).`;
  return { located, before: null, bytes: newFile(input.newString), report };
}

function planEdits(path: string, edits: readonly Edit[], context: ToolContext, diff: DiffTools): Plan {
  const { located, before, text, format } = openForEdit(path, context);
  let edited = text;
  let count = 0;
  edits.forEach((one, index) => {
    const outcome = inEdit(index, edits.length, () => applyEdit(located, edited, one, format, diff));
    edited = outcome.text;
    count += outcome.lines.length;
  });
  const report = `Edited ${located.written} (${edits.length} edits, ${count} replacements).`;
  return { located, before, bytes: encodeText(edited, format), report };
}

function inEdit<Value>(index: number, total: number, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const text = `Edit ${index + 1} of ${total} failed, and none was applied. ${error.message}`;
    throw new ToolError(text, { category: error.category, cause: error });
  }
}

function openForEdit(path: string, context: ToolContext) {
  const located = locateForWrite(path, context);
  if (!located.exists) throw notFound(located, "write_file creates files.");
  const before = readCurrent(context.workspace, located);
  return { located, before, ...editableText(before) };
}

function locateForWrite(path: string, context: ToolContext): Located {
  const located = context.workspace.locate(path, "write");
  if (/[/\\]$/.test(path) && !located.exists)
    throw new ToolError(`"${path}" names a directory. Give the path of a file.`, { category: "validation error" });
  if (located.exists && isDirectory(located))
    throw new ToolError(`"${located.written}" is a directory. Give the path of a file.`);
  // Errors and reports show content: what may not be read may not be edited either.
  if (located.exists && !context.mayRead(located.real))
    throw new ToolError(`The rules forbid reading "${located.written}".`, { category: "permission error" });
  return located;
}

function applyEdit(located: Located, text: string, one: Edit, format: TextFormat, diff: DiffTools) {
  const { oldString, newString } = format.bom ? withoutMark(one) : one;
  if (oldString === "" && newString !== "")
    throw new ToolError("oldString is empty. Give the text to replace.", { category: "validation error" });
  const outcome = replaceInText(text, { oldString, newString, replaceAll: one.replaceAll }, diff.lines);
  switch (outcome.kind) {
    case "edited":
      return outcome;
    case "same":
      throw new ToolError(sameText(one), { category: "validation error" });
    case "many":
      throw new ToolError(manyText(located, outcome.lines));
    case "missing":
      throw new ToolError(missingText(located, text, oldString));
    default:
      return outcome satisfies never;
  }
}

/** The mark is not shown when a file is read, and stays where it is. */
function withoutMark(one: Edit): Edit {
  return { oldString: one.oldString.replace(/^\ufeff/, ""), newString: one.newString.replace(/^\ufeff/, "") };
}

function sameText(one: Edit): string {
  if (one.oldString === one.newString) return "oldString and newString are identical: there is nothing to change.";
  return "oldString and newString differ in line endings only, and those stay as the file has them.";
}

function manyText(located: Located, lines: readonly number[]): string {
  const distinct = [...new Set(lines)];
  const where = `${distinct.length > 1 ? "lines" : "line"} ${distinct.slice(0, 10).join(", ")}`;
  const more = distinct.length > 10 ? ", …" : "";
  return `oldString appears ${lines.length} times in "${located.written}" (${where}${more}). Add surrounding context or set replaceAll.`;
}

function missingText(located: Located, text: string, oldString: string): string {
  const missing = `oldString was not found in "${located.written}".`;
  if (oldString.split("\n").every((line) => /^\d+\t/.test(line)))
    return `${missing} Leave out the line numbers that read_file puts before each line.`;
  const hint = describeNear(toLf(text), toLf(oldString)) ?? "Read the file again and copy the text exactly.";
  return `${missing} ${hint}`;
}

function newFile(content: string): Uint8Array {
  return encodeText(content, PLAIN_UTF8);
}

function countLines(text: string): string {
  const count = endedLines(text).length;
  return count === 1 ? "1 line" : `${count} lines`;
}
