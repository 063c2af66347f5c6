/** The `*** Begin Patch` envelope as patch data: files, chunks and lines. Looks at no file. */
import { type Chunk, type FilePatch, patchLine, type PatchLine, PatchSyntaxError } from "./patch.ts";

export const BEGIN_PATCH = "*** Begin Patch";
const END = "*** End Patch";
const ADD = "*** Add File: ";
const DELETE = "*** Delete File: ";
const UPDATE = "*** Update File: ";
const MOVE = "*** Move to: ";
const END_OF_FILE = "*** End of File";

/** Parses lines without line ends, the first of which is `*** Begin Patch`. Throws PatchSyntaxError. */
export function parseEnvelope(lines: readonly string[]): FilePatch[] {
  if (lines.at(-1)?.trim() !== END) throw new PatchSyntaxError(`the last line must be "${END}".`, lines.length);
  const reader = new EnvelopeReader(lines.slice(0, -1));
  const files: FilePatch[] = [];
  while (!reader.done) files.push(reader.file());
  if (files.length === 0) throw new PatchSyntaxError("it changes no file.", 1);
  return files;
}

class EnvelopeReader {
  #at = 1;
  readonly #lines: readonly string[];
  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  get done(): boolean {
    while (this.#at < this.#lines.length && this.#line.trim() === "") this.#at++;
    return this.#at >= this.#lines.length;
  }

  file(): FilePatch {
    const header = this.#line.trim();
    const path = (prefix: string) => this.#named(header.slice(prefix.length).trim());
    if (header.startsWith(ADD)) return { kind: "add", path: path(ADD), text: this.#added() };
    if (header.startsWith(DELETE)) return { kind: "delete", path: path(DELETE) };
    if (header.startsWith(UPDATE)) return this.#update(path(UPDATE));
    throw this.#error(`"${header}" is no file header. Use "${ADD}path", "${DELETE}path" or "${UPDATE}path".`);
  }

  get #line(): string {
    return this.#lines[this.#at] ?? "";
  }

  #named(path: string): string {
    if (path === "") throw this.#error("a path is missing.");
    this.#at++;
    return path;
  }

  #added(): string {
    const lines: string[] = [];
    while (this.#inBody() && this.#line.startsWith("+")) lines.push(this.#take().slice(1));
    return lines.map((line) => `${line}\n`).join("");
  }

  #update(path: string): FilePatch {
    const move = this.#line.trim().startsWith(MOVE) ? this.#named(this.#line.trim().slice(MOVE.length).trim()) : null;
    const chunks: Chunk[] = [];
    while (this.#atChunk()) chunks.push(this.#chunk());
    if (chunks.length === 0 && move === null) throw this.#error(`the update of "${path}" changes nothing.`);
    return { kind: "update", path, chunks, ...(move === null ? {} : { moveTo: move }) };
  }

  /** Blank lines between chunks belong to none. */
  #atChunk(): boolean {
    while (this.#inBody() && this.#line === "") this.#at++;
    return this.#inBody();
  }

  #chunk(): Chunk {
    const anchors: string[] = [];
    while (this.#inBody() && this.#line.startsWith("@@")) anchors.push(...anchorsOf(this.#take()));
    const lines: PatchLine[] = [];
    while (this.#inBody() && !this.#line.startsWith("@@") && !this.#atEndMark) lines.push(this.#changed());
    if (lines.length === 0) throw this.#error("a chunk without lines.");
    const atEnd = this.#inBody() && this.#atEndMark;
    if (atEnd) this.#at++;
    return { anchors, lines, atEnd };
  }

  get #atEndMark(): boolean {
    return this.#line.trimEnd() === END_OF_FILE;
  }

  #changed(): PatchLine {
    const line = this.#line;
    const op = line === "" || line === "\r" ? " " : line[0];
    if (op !== " " && op !== "-" && op !== "+")
      throw this.#error(`"${line.slice(0, 60)}" must begin with a space (kept), - (removed) or + (added).`);
    this.#at++;
    return patchLine(op, line.slice(1));
  }

  /** Whether the current file goes on. Only an unindented header ends it: an indented one is a kept line. */
  #inBody(): boolean {
    return this.#at < this.#lines.length && ![ADD, DELETE, UPDATE].some((header) => this.#line.startsWith(header));
  }

  #take(): string {
    return this.#lines[this.#at++] ?? "";
  }

  #error(message: string): PatchSyntaxError {
    return new PatchSyntaxError(message, this.#at + 1);
  }
}

/** `@@ text` names a line before the chunk; line numbers in the style of a unified diff are models' inventions here. */
function anchorsOf(header: string): string[] {
  const text = header
    .replace(/^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@.*$/, "@@")
    .slice(2)
    .replace(/^ /, "");
  return text.trim() === "" ? [] : [text];
}
