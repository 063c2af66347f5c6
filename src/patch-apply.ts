/** Applies a patch's chunks to one text in memory. Lines are found exactly, or, where only white space differs, in one place only. */
import { ToolError } from "./errors.ts";
import { describeNear } from "./near.ts";
import { type Form, LineFinder } from "./patch-find.ts";
import type { Chunk, PatchLine } from "./patch.ts";
import { type EndedLine, endedLines, type LineEnding, toLf, usualEnding } from "./text-file.ts";

/**
 * The text with all chunks applied. Lines that stay keep their bytes, line endings included; new ones get the ending of
 * the line they replace. A missing final newline stays missing unless the patch says otherwise. Throws ToolError.
 */
export function applyChunks(text: string, chunks: readonly Chunk[]): string {
  const lines = endedLines(text);
  const usual = usualEnding(text) ?? endingOf(chunks);
  const target: Target = { count: lines.length, finder: new LineFinder(lines.map((line) => line.text)), text };
  const found: Replacement[] = [];
  let from = 0;
  chunks.forEach((chunk, index) => {
    const replacement = place(target, chunk, from, `Chunk ${index + 1} of ${chunks.length}`);
    found.push(replacement);
    if (replacement.advances) from = replacement.start + replacement.length;
  });
  const result = rebuild(
    lines,
    found.sort((a, b) => a.start - b.start),
    usual,
  );
  return joined(result, finalNewline(lines, chunks), usual);
}

function endingOf(chunks: readonly Chunk[]): LineEnding {
  return chunks.some((chunk) => chunk.lines.some((line) => line.crlf)) ? "\r\n" : "\n";
}

interface Replacement {
  /** Index into the old lines. */
  start: number;
  length: number;
  lines: readonly PatchLine[];
  /** Whether later chunks stand behind it. */
  advances: boolean;
}

/** The file as chunks are looked for in it. */
interface Target {
  count: number;
  finder: LineFinder;
  text: string;
}

function place(target: Target, chunk: Chunk, from: number, label: string): Replacement {
  const start = afterAnchors(target, chunk.anchors, from, label);
  const old = chunk.lines.filter((line) => line.op !== "+").map((line) => line.text);
  if (old.length === 0) return insertion(target, chunk, start);
  const at = find(target, old, start, chunk, label);
  if (at !== null) return { start: at, length: old.length, lines: chunk.lines, advances: true };
  // A blank line before the next header is often only spacing.
  const last = chunk.lines.at(-1);
  if (last?.op === " " && last.text === "")
    return place(target, { ...chunk, anchors: [], lines: chunk.lines.slice(0, -1) }, start, label);
  throw notFound(target, old, label);
}

function insertion(target: Target, chunk: Chunk, start: number): Replacement {
  const anchored = chunk.anchors.length > 0 && !chunk.atEnd;
  const at = chunk.oldStart !== undefined ? Math.min(chunk.oldStart - 1, target.count) : target.count;
  return { start: anchored ? start : at, length: 0, lines: chunk.lines, advances: anchored };
}

/** Index behind the last anchor. */
function afterAnchors(target: Target, anchors: readonly string[], from: number, label: string): number {
  let at = from;
  for (const anchor of anchors) {
    const places = FORMS.map((form) => target.finder.first([anchor], at, form));
    const place = places.find((one) => one !== null) ?? null;
    if (place === null) throw notFound(target, [anchor], label);
    at = place + 1;
  }
  return at;
}

/** What the format's reference program allows, strictest first: as it is, then without trailing, then without outer white space. */
const FORMS: readonly Form[] = [(line) => line, (line) => line.trimEnd(), (line) => line.trim()];

function find(target: Target, old: string[], from: number, chunk: Chunk, label: string): number | null {
  if (chunk.atEnd) return findAtEnd(target, old);
  const { finder } = target;
  for (const form of FORMS) {
    const stated = chunk.oldStart === undefined ? null : chunk.oldStart - 1;
    if (stated !== null && stated >= from && finder.standsAt(old, stated, form)) return stated;
    const first = finder.first(old, from, form);
    if (first === null) continue;
    // The first exact place is what the envelope means. Any looser match, or one away from the stated line, must be the only one.
    const exact = form === FORMS[0] && stated === null;
    if (exact || finder.first(old, first + 1, form) === null) return first;
    throw new ToolError(`${label} fits in several places. Add surrounding lines. It begins with:\n${head(old)}`);
  }
  return null;
}

function findAtEnd({ count, finder }: Target, old: string[]): number | null {
  const start = count - old.length;
  if (start < 0) return null;
  return FORMS.some((form) => finder.standsAt(old, start, form)) ? start : null;
}

function notFound(target: Target, old: readonly string[], label: string): ToolError {
  const hint = describeNear(toLf(target.text), old.join("\n")) ?? "Read the file again and copy the lines exactly.";
  return new ToolError(`${label}: these lines were not found:\n${head(old)}\n${hint}`);
}

function head(lines: readonly string[]): string {
  return lines.slice(0, 8).join("\n") + (lines.length > 8 ? "\n…" : "");
}

function rebuild(lines: readonly EndedLine[], replacements: readonly Replacement[], usual: LineEnding): EndedLine[] {
  const result: EndedLine[] = [];
  let at = 0;
  for (const { start, length, lines: changed } of replacements) {
    for (; at < start; at++) result.push(lines[at] ?? { text: "", ending: usual });
    replaceLines(lines.slice(start, start + length), changed, result, usual);
    at = start + length;
  }
  // Not spread into push(): a long file has more lines than a call may have arguments.
  return result.concat(lines.slice(at));
}

function replaceLines(old: EndedLine[], changed: readonly PatchLine[], result: EndedLine[], usual: LineEnding): void {
  let at = 0;
  let removed: EndedLine[] = [];
  for (const line of changed) {
    const current = line.op === "+" ? undefined : old[at++];
    if (line.op === "-" && current) removed.push(current);
    if (line.op === " " && current) {
      result.push(current);
      removed = [];
    }
    if (line.op === "+")
      result.push({ text: line.text, ending: removed.shift()?.ending || result.at(-1)?.ending || usual });
  }
}

/** Whether the result ends in a newline. */
function finalNewline(lines: readonly EndedLine[], chunks: readonly Chunk[]): boolean {
  const said = chunks.flatMap((chunk) => chunk.lines).filter((line) => line.noNewline);
  if (said.length > 0) return said.every((line) => line.op === "-");
  return lines.at(-1)?.ending !== "";
}

function joined(lines: readonly EndedLine[], endsInNewline: boolean, usual: LineEnding): string {
  const last = lines.length - 1;
  const ending = (line: EndedLine, index: number) => (index < last || endsInNewline ? line.ending || usual : "");
  return lines.map((line, index) => line.text + ending(line, index)).join("");
}
