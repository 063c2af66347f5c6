/** Reads a patch in either format: the `*** Begin Patch` envelope or a unified diff. Only tells them apart. */
import { BEGIN_PATCH, parseEnvelope } from "./patch-envelope.ts";
import { parseUnified } from "./patch-unified.ts";
import { type FilePatch, PatchSyntaxError } from "./patch.ts";

/** Throws PatchSyntaxError. The result has at least one file. */
export function parsePatch(text: string): FilePatch[] {
  const lines = linesOf(text);
  const body = withoutHeredoc(linesOf(text.trim()));
  if (body[0]?.trim() === BEGIN_PATCH) return parseEnvelope(body);
  if (looksUnified(lines)) return parseUnified(lines);
  throw new PatchSyntaxError(`expected "${BEGIN_PATCH}" or a unified diff.`, 1);
}

/** When the first line ends in CR LF the patch was sent that way; else a CR belongs to the line it stands in. */
function linesOf(text: string): string[] {
  const sent = /^[^\n]*\r\n/.test(text);
  return (sent ? text.replaceAll("\r\n", "\n") : text).split("\n");
}

/** Models that call the tool as if it were a shell wrap the patch in a here-document. */
function withoutHeredoc(lines: string[]): string[] {
  const opening = /^(?:[\w.-]+\s+)?<<-?\s*(['"]?)(\w+)\1$/.exec(lines[0]?.trim() ?? "");
  if (opening === null || lines.at(-1)?.trim() !== opening[2]) return lines;
  return lines.slice(1, -1);
}

function looksUnified(lines: readonly string[]): boolean {
  return (
    lines.some((line, index) => /^--- /.test(line) && /^\+\+\+ /.test(lines[index + 1] ?? "")) ||
    lines.some(isGitHeader)
  );
}

function isGitHeader(line: string): boolean {
  return line.startsWith("diff --git ");
}
