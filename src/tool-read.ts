/** `read_file` and `read_many_files`: numbered lines of text files. Searching is tool-search.ts, trees are tool-list.ts. */
import { closeSync } from "node:fs";
import * as v from "valibot";
import { messageOf, ToolError } from "./errors.ts";
import { describeBytes, imageType } from "./file-type.ts";
import { stampOf } from "./freshness.ts";
import { lineCost, type LinesRead, readLines } from "./read-lines.ts";
import { SECRET_READ_RULES } from "./secrets.ts";
import { BINARY_PROBE_BYTES, decodeText, endedLines, formatOf, isBinary } from "./text-file.ts";
import { cutHead } from "./text.ts";
import { defineTool, type ToolContext, type ToolOutput } from "./tool.ts";
import { listTree } from "./tool-list.ts";
import type { ImagePart } from "./types.ts";
import {
  isDirectory,
  MAX_WHOLE_BYTES,
  notFound,
  openLocated,
  readHead,
  readOpened,
  systemError,
} from "./workspace-open.ts";
import type { OpenedFile } from "./workspace-open.ts";
import type { Located } from "./workspace.ts";

const DEFAULT_LIMIT = 2_000;
const MAX_LINE_CHARS = 2_000;
const MAX_FILE_BYTES = 60 * 1024;
// Twenty files of any size would fill a small context; what is left out is named, and can be read on its own.
const MAX_BATCH_BYTES = 100 * 1024;
// What is larger is scaled down on its way to the model, see image-fit.ts.
const MAX_SCALED_BYTES = 3_700_000;
// Some providers refuse requests of more than 32 MB, and images stay in the history.
const MAX_BATCH_IMAGE_BYTES = 8_000_000;

const lineNumber = v.pipe(v.number(), v.integer(), v.minValue(1));
const fileRange = { path: v.string(), offset: v.optional(lineNumber), limit: v.optional(lineNumber) };

export const readFileTool = defineTool({
  name: "read_file",
  bounded: true,
  description:
    "Read a file: numbered lines, up to 2,000 from line `offset` on. Long lines are cut; what follows is named. A file must be read before it can be edited. The number and the tab after it are not part of the file.",
  set: "core",
  input: v.object(fileRange),
  mutates: false,
  permission: SECRET_READ_RULES,
  subjects: (input) => [{ kind: "path", path: input.path, access: "read" }],
  concurrencySafe: () => true,
  run: (input, context) => readPath(input, context),
});

export const readManyFilesTool = defineTool({
  name: "read_many_files",
  bounded: true,
  description: "Read up to 20 files at once, each as read_file does.",
  set: "edit-plus",
  input: v.object({ files: v.pipe(v.array(v.object(fileRange)), v.minLength(1), v.maxLength(20)) }),
  mutates: false,
  permission: SECRET_READ_RULES,
  subjects: (input) => input.files.map((file) => ({ kind: "path", path: file.path, access: "read" })),
  concurrencySafe: () => true,
  run: (input, context) => readMany(input.files, context),
});

interface FileRange {
  path: string;
  offset?: number | undefined;
  limit?: number | undefined;
}

async function readMany(files: readonly FileRange[], context: ToolContext): Promise<ToolOutput> {
  const blocks = await Promise.all(files.map((file) => readBlock(file, context)));
  const shown: string[] = [];
  const left: string[] = [];
  const images: ImagePart[] = [];
  let bytes = 0;
  let imageBytes = 0;
  for (const block of blocks) {
    const size = Buffer.byteLength(block.text);
    const weight = weightOf(block.images ?? []);
    const isFull = bytes + size > MAX_BATCH_BYTES || (weight > 0 && imageBytes + weight > MAX_BATCH_IMAGE_BYTES);
    if (isFull && shown.length > 0) {
      left.push(block.path);
      continue;
    }
    bytes += size;
    imageBytes += weight;
    shown.push(`==> ${block.path}\n${block.text}`);
    images.push(...(block.images ?? []));
  }
  if (left.length > 0) shown.push(`(left out, the result is full; read them on their own: ${left.join(", ")})`);
  return { text: shown.join("\n\n"), ...(images.length > 0 ? { images } : {}) };
}

/** Bytes that images will take, base64 undone. */
function weightOf(images: readonly ImagePart[]): number {
  return images.reduce((sum, image) => sum + Math.min(MAX_SCALED_BYTES, (image.data.length / 4) * 3), 0);
}

async function readBlock(file: FileRange, context: ToolContext): Promise<ToolOutput & { path: string }> {
  try {
    return { path: file.path, ...(await readPath(file, context)) };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { path: file.path, text: `[${error.category}] ${messageOf(error)}` };
  }
}

async function readPath(input: FileRange, context: ToolContext): Promise<ToolOutput> {
  const located = context.workspace.locate(input.path, "read");
  if (!located.exists) throw notFound(located);
  if (!context.mayRead(located.real))
    throw new ToolError(`The rules forbid reading "${located.written}".`, { category: "permission error" });
  if (isDirectory(located)) return { text: await listTree(located, { depth: 1, includeIgnored: false }, context) };
  const file = openLocated(located);
  try {
    return await readOpen(located, file, input, context);
  } catch (error) {
    // A disk that fails, a kernel file that can't be read now.
    throw systemError(located, error);
  } finally {
    closeSync(file.fd);
  }
}

async function readOpen(
  located: Located,
  file: OpenedFile,
  input: FileRange,
  context: ToolContext,
): Promise<ToolOutput> {
  const head = readHead(file, BINARY_PROBE_BYTES);
  if (formatOf(head).encoding !== "utf-8") return readUtf16(located, file, input, context);
  if (isBinary(head)) return readBinary(located, file, head, context);
  const read = await readLines(file.fd, { ...rangeOf(input), wholeBytes: MAX_WHOLE_BYTES, signal: context.signal });
  const { mtimeNs, size } = file.stat;
  context.workspace.freshness.note(located.real, { mtimeNs, size, hash: read.hash });
  return { text: render(located, read, input.offset ?? 1) };
}

function rangeOf(input: FileRange) {
  const { offset = 1, limit = DEFAULT_LIMIT } = input;
  return { offset, limit, maxLineChars: MAX_LINE_CHARS, maxBytes: MAX_FILE_BYTES };
}

/** Numbers the lines and says what is missing. Throws ToolError for an offset behind the end. */
function render(located: Located, read: LinesRead, offset: number): string {
  if (read.lines.length === 0) {
    if (read.total === 0) return "(empty file)";
    const lines = read.total === 1 ? "1 line" : `${read.total} lines`;
    throw new ToolError(`"${located.written}" has ${lines}; offset ${offset} is behind the end.`);
  }
  const numbered = read.lines.map(({ text, dropped }, index) => {
    const mark = dropped > 0 ? `… (+${dropped} characters)` : "";
    return `${offset + index}\t${text}${mark}`;
  });
  return [...numbered, ...notes(read, offset)].join("\n");
}

function notes(read: LinesRead, offset: number): string[] {
  const found: string[] = [];
  if (read.next !== null) {
    const total = read.total === null ? "more follow" : `of ${read.total}`;
    found.push(`(lines ${offset}-${read.next - 1}, ${total}; go on with offset=${read.next})`);
  } else if (read.endsInNewline === false) found.push("(no newline at the end of the file)");
  if (!read.validUtf8)
    found.push("(not valid UTF-8: such bytes are shown as \ufffd, and the edit tools refuse the file)");
  return found;
}

function readUtf16(located: Located, file: OpenedFile, input: FileRange, context: ToolContext): ToolOutput {
  const bytes = readOpened(file, MAX_WHOLE_BYTES);
  if (bytes === null) throw new ToolError(`"${located.written}" is UTF-16 and too large. Convert a copy with iconv.`);
  const decoded = decodeText(bytes);
  if (decoded.kind !== "text") return readBinary(located, file, bytes, context);
  noteRead(context, located, file, bytes);
  return { text: render(located, linesOf(decoded.text, input), input.offset ?? 1) };
}

function linesOf(text: string, input: FileRange): LinesRead {
  const { offset, limit, maxLineChars, maxBytes } = rangeOf(input);
  const all = endedLines(text);
  const lines: LinesRead["lines"] = [];
  let bytes = 0;
  for (const line of all.slice(offset - 1, offset - 1 + limit)) {
    const cut = cutHead(line.text, maxLineChars);
    bytes += lineCost(cut.text);
    if (bytes > maxBytes && lines.length > 0) break;
    lines.push(cut);
  }
  const next = offset + lines.length;
  return {
    lines,
    next: next <= all.length && lines.length > 0 ? next : null,
    total: all.length,
    hash: null,
    endsInNewline: all.at(-1)?.ending !== "",
    validUtf8: true,
  };
}

function readBinary(located: Located, file: OpenedFile, head: Uint8Array, context: ToolContext): ToolOutput {
  const bytes = readOpened(file, MAX_WHOLE_BYTES);
  noteRead(context, located, file, bytes);
  const text = `binary file (${file.stat.size} bytes, ${describeBytes(head)})`;
  const mediaType = imageType(head);
  if (mediaType === null || !context.vision || bytes === null) return { text };
  const data = Buffer.from(bytes).toString("base64");
  return { text: `${mediaType}, ${bytes.length} bytes`, images: [{ type: "image", mediaType, data }] };
}

function noteRead(context: ToolContext, located: Located, file: OpenedFile, bytes: Uint8Array | null): void {
  context.workspace.freshness.note(located.real, stampOf(file.stat, bytes));
}
