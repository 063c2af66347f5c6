/** What a patch is, whichever format it came in. patch-parse.ts reads one, patch-apply.ts applies it to a text. */
import { ToolError } from "./errors.ts";

export interface PatchLine {
  op: " " | "-" | "+";
  /** Without line ending. */
  text: string;
  /** It ended in CR LF: what a new line gets in a file that has no line ending to go by. */
  crlf?: true;
  /** "\ No newline at end of file" stands behind it. */
  noNewline?: true;
}

export interface Chunk {
  /** Lines that stand before the chunk, outermost first (`@@ class A`). */
  anchors: string[];
  lines: PatchLine[];
  /** The chunk ends where the file ends. */
  atEnd: boolean;
  /** 1-based line the chunk begins at, from a unified diff. */
  oldStart?: number;
}

export type FilePatch =
  | { kind: "add"; path: string; text: string; mode?: number }
  | { kind: "delete"; path: string }
  | { kind: "update"; path: string; moveTo?: string; chunks: Chunk[] };

/** A patch that can't be read. `line` is 1-based. */
export class PatchSyntaxError extends ToolError {
  override name = "PatchSyntaxError";
  readonly line: number;
  constructor(message: string, line: number) {
    super(`Line ${line} of the patch: ${message}`, { category: "validation error" });
    this.line = line;
  }
}

/** A line of a patch body, the mark already taken off. */
export function patchLine(op: PatchLine["op"], text: string, noNewline = false): PatchLine {
  const crlf = text.endsWith("\r");
  return {
    op,
    text: crlf ? text.slice(0, -1) : text,
    ...(crlf ? { crlf } : {}),
    ...(noNewline ? { noNewline } : {}),
  };
}
