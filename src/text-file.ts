/** Text as it is in a file: bytes to text and back without losing a byte, and line endings kept line by line. Touches no disk. */
import { ToolError } from "./errors.ts";

export type Encoding = "utf-8" | "utf-16le" | "utf-16be";

export interface TextFormat {
  encoding: Encoding;
  bom: boolean;
}

export type Decoded =
  /** `text` has no byte order mark and the line endings of the file. */
  { kind: "text"; text: string; format: TextFormat } | { kind: "binary" } | { kind: "unknown-encoding" };

export const PLAIN_UTF8: TextFormat = { encoding: "utf-8", bom: false };

/** Bytes at the start that are searched for a NUL; git looks at as many. */
export const BINARY_PROBE_BYTES = 8 * 1024;

/** Decodes a whole file. What it calls text encodes to the same bytes again. Never throws. */
export function decodeText(bytes: Uint8Array): Decoded {
  const format = formatOf(bytes);
  if (format.encoding !== "utf-8") return decodeUtf16(bytes, format);
  if (isBinary(bytes)) return { kind: "binary" };
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return { kind: "text", text: decoder.decode(format.bom ? bytes.subarray(3) : bytes), format };
  } catch {
    // `fatal` throws at the first byte that is no UTF-8: some 8-bit encoding that we would mangle.
    return { kind: "unknown-encoding" };
  }
}

/** The encoding that the byte order mark tells; UTF-8 without one. */
export function formatOf(head: Uint8Array): TextFormat {
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return { encoding: "utf-8", bom: true };
  if (head[0] === 0xff && head[1] === 0xfe) return { encoding: "utf-16le", bom: true };
  if (head[0] === 0xfe && head[1] === 0xff) return { encoding: "utf-16be", bom: true };
  return PLAIN_UTF8;
}

/** Whether a file that has no UTF-16 mark is binary, by its first bytes. */
export function isBinary(head: Uint8Array): boolean {
  return head.subarray(0, BINARY_PROBE_BYTES).includes(0);
}

function decodeUtf16(bytes: Uint8Array, format: TextFormat): Decoded {
  const body = Buffer.from(bytes.subarray(2));
  if (body.length % 2 !== 0) return { kind: "binary" };
  if (format.encoding === "utf-16be") body.swap16();
  const text = body.toString("utf16le");
  // A NUL right after the mark is UTF-32, and text has none at all.
  return text.includes("\0") ? { kind: "binary" } : { kind: "text", text, format };
}

/** Encodes text in a file's format. Throws ToolError for half a surrogate pair, which UTF-8 can't hold. */
export function encodeText(text: string, format: TextFormat): Uint8Array {
  if (format.encoding !== "utf-8") return encodeUtf16(text, format);
  if (!text.isWellFormed())
    throw new ToolError("The text holds half of a surrogate pair. Send the whole character.", {
      category: "validation error",
    });
  return Buffer.from(format.bom ? `\ufeff${text}` : text, "utf8");
}

function encodeUtf16(text: string, format: TextFormat): Uint8Array {
  const bytes = Buffer.from(format.bom ? `\ufeff${text}` : text, "utf16le");
  return format.encoding === "utf-16be" ? bytes.swap16() : bytes;
}

/** The text with every CR LF as LF. A lone CR is left alone. */
export function toLf(text: string): string {
  return text.includes("\r\n") ? text.replaceAll("\r\n", "\n") : text;
}

export type LineEnding = "\n" | "\r\n";

/** The line ending most lines have; null when there is none to go by. */
export function usualEnding(text: string): LineEnding | null {
  let all = 0;
  let crlf = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    all++;
    if (text[at - 1] === "\r") crlf++;
  }
  if (all === 0) return null;
  return crlf * 2 > all ? "\r\n" : "\n";
}

/** Finds out which lines of `before` are kept in `after`; see text-file-diff.ts. */
export type LineDiff = (before: string[], after: string[]) => LineRun[];
export interface LineRun {
  value: string[];
  added: boolean;
  removed: boolean;
}

/**
 * Gives `after` (any endings) the line endings of the text it stands for: a line that `before` has keeps its own,
 * a new one takes that of the line it replaces, else of the line before it, else `usual`.
 */
export function withEndingsOf(before: string, after: string, usual: LineEnding, diff: LineDiff): string {
  const plain = toLf(after);
  const old = endedLines(before);
  const endings = new Set(old.map((line) => line.ending).filter((ending) => ending !== ""));
  if (endings.size < 2) return withEnding(plain, [...endings][0] ?? usual);
  const lines = endedLines(plain);
  return alongRuns(old, lines, diff(old.map(comparable), lines.map(comparable)), usual);
}

export interface EndedLine {
  text: string;
  /** Empty for a last line without one. */
  ending: "" | LineEnding;
}

/** Lines with their endings; a text that ends in a line ending has no empty last line. */
export function endedLines(text: string): EndedLine[] {
  const lines: EndedLine[] = [];
  let start = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", start)) {
    const crlf = at > start && text[at - 1] === "\r";
    lines.push({ text: text.slice(start, crlf ? at - 1 : at), ending: crlf ? "\r\n" : "\n" });
    start = at + 1;
  }
  if (start < text.length) lines.push({ text: text.slice(start), ending: "" });
  return lines;
}

function withEnding(plain: string, ending: LineEnding): string {
  return ending === "\n" ? plain : plain.replaceAll("\n", ending);
}

function comparable(line: EndedLine): string {
  return line.ending === "" ? line.text : `${line.text}\n`;
}

function alongRuns(old: EndedLine[], lines: EndedLine[], runs: LineRun[], usual: LineEnding): string {
  const endings: LineEnding[] = [];
  let removed: EndedLine[] = [];
  let at = 0;
  for (const run of runs) {
    const count = run.value.length;
    if (run.removed) removed = old.slice(at, at + count);
    const source = run.added ? removed : old.slice(at, at + count);
    if (!run.removed) for (let i = 0; i < count; i++) endings.push(source[i]?.ending || endings.at(-1) || usual);
    if (!run.removed) removed = [];
    if (!run.added) at += count;
  }
  return lines.map((line, index) => line.text + (line.ending && (endings[index] ?? usual))).join("");
}
