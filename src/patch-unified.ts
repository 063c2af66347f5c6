/** Unified diffs, plain and as git writes them, as patch data. Knows the headers; refuses what is no text change. */
import { type Chunk, type FilePatch, patchLine, type PatchLine, PatchSyntaxError } from "./patch.ts";

/** Parses a whole diff. `lines` are without line ends. Throws PatchSyntaxError. */
export function parseUnified(lines: readonly string[]): FilePatch[] {
  const reader = new UnifiedReader(lines);
  const files: FilePatch[] = [];
  while (reader.findFile()) files.push(reader.file());
  if (files.length === 0) throw new PatchSyntaxError("it changes no file.", 1);
  return files;
}

interface Headers {
  old: string | null;
  new: string | null;
  /** Paths of `rename from` and `rename to`. */
  from: string | null;
  to: string | null;
  git: [string, string] | null;
  mode: number | null;
  created: boolean;
  deleted: boolean;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

class UnifiedReader {
  #at = 0;
  readonly #lines: readonly string[];
  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  /** Moves to the next file's first header; text between files is commentary. */
  findFile(): boolean {
    while (this.#at < this.#lines.length && !this.#atFile()) {
      if (HUNK.test(this.#line)) throw this.#error("a hunk without file headers.");
      this.#at++;
    }
    return this.#at < this.#lines.length;
  }

  file(): FilePatch {
    const start = this.#at;
    const headers = this.#headers();
    const chunks: Chunk[] = [];
    while (HUNK.test(this.#line)) chunks.push(this.#hunk());
    return assemble(headers, chunks, (message) => new PatchSyntaxError(message, start + 1));
  }

  get #line(): string {
    return this.#lines[this.#at] ?? "";
  }

  #atFile(): boolean {
    return this.#line.startsWith("diff --git ") || this.#atNames();
  }

  #atNames(): boolean {
    return this.#line.startsWith("--- ") && (this.#lines[this.#at + 1] ?? "").startsWith("+++ ");
  }

  #headers(): Headers {
    const headers = noHeaders();
    if (this.#line.startsWith("diff --git ")) headers.git = gitNames(this.#take());
    while (this.#at < this.#lines.length && !this.#atFile() && !HUNK.test(this.#line)) this.#extended(headers);
    if (this.#atNames()) {
      headers.old = nameOf(this.#take().slice(4));
      headers.new = nameOf(this.#take().slice(4));
    }
    return headers;
  }

  #extended(headers: Headers): void {
    const line = this.#line;
    if (/^(?:GIT binary patch|Binary files )/.test(line)) throw this.#error("binary changes can't be applied.");
    if (line.startsWith("copy from ")) throw this.#error("copies can't be applied; add the file instead.");
    if (/^(?:old|new) mode /.test(line)) throw this.#error("changes of mode can't be applied; use chmod.");
    if (line.startsWith("rename from ")) headers.from = unquote(line.slice(12));
    if (line.startsWith("rename to ")) headers.to = unquote(line.slice(10));
    if (line.startsWith("deleted file mode ")) headers.deleted = true;
    if (line.startsWith("new file mode ")) {
      headers.created = true;
      headers.mode = this.#mode(line.slice(14));
    }
    this.#at++;
  }

  #mode(octal: string): number {
    if (!/^100[0-7]{3}$/.test(octal.trim())) throw this.#error("only regular files can be created.");
    return octal.trim() === "100755" ? 0o755 : 0o644;
  }

  #hunk(): Chunk {
    const [, start = "1", oldCount = "1", , newCount = "1"] = HUNK.exec(this.#take()) ?? [];
    const left = { old: Number(oldCount), new: Number(newCount) };
    const lines: PatchLine[] = [];
    while (this.#goesOn(left)) lines.push(this.#changed(left));
    if (lines.length === 0) throw this.#error("a hunk without lines.");
    // A hunk that removes nothing names the line it comes after.
    const oldStart = oldCount === "0" ? Number(start) + 1 : Number(start);
    return { anchors: [], lines, atEnd: false, oldStart };
  }

  /** Counts are right in diffs that programs wrote, and often wrong in those of models: then the shape of the lines decides. */
  #goesOn(left: { old: number; new: number }): boolean {
    if (this.#at >= this.#lines.length) return false;
    const line = this.#line;
    if (line === "") return left.old > 0 && left.new > 0;
    if (!/^[-+ ]/.test(line)) return false;
    if (this.#atNextFile() && !(left.old === 1 && left.new === 1)) return false;
    return (left.old > 0 && line[0] !== "+") || (left.new > 0 && line[0] !== "-") || !this.#atNames();
  }

  /** Names with a hunk behind them: in the middle of a hunk no line begins with @@. */
  #atNextFile(): boolean {
    return this.#atNames() && HUNK.test(this.#lines[this.#at + 2] ?? "");
  }

  #changed(left: { old: number; new: number }): PatchLine {
    const line = this.#take();
    const op = line[0] === "-" || line[0] === "+" ? line[0] : " ";
    if (op !== "+") left.old--;
    if (op !== "-") left.new--;
    const noNewline = this.#line.startsWith("\\ ");
    if (noNewline) this.#at++;
    return patchLine(op, line.slice(1), noNewline);
  }

  #take(): string {
    return this.#lines[this.#at++] ?? "";
  }

  #error(message: string): PatchSyntaxError {
    return new PatchSyntaxError(message, this.#at + 1);
  }
}

function noHeaders(): Headers {
  return { old: null, new: null, from: null, to: null, git: null, mode: null, created: false, deleted: false };
}

const NOTHING = "/dev/null";

function assemble(headers: Headers, chunks: Chunk[], error: (message: string) => PatchSyntaxError): FilePatch {
  const [old, new_] = pathsOf(headers);
  if (old === null && new_ === null) throw error("the file has no name.");
  if (old === null) return { kind: "add", path: new_ ?? "", text: addedText(chunks, error), ...modeOf(headers) };
  if (new_ === null) return { kind: "delete", path: old };
  if (old !== new_) return { kind: "update", path: old, moveTo: new_, chunks };
  if (chunks.length === 0) throw error(`the update of "${old}" changes nothing.`);
  return { kind: "update", path: old, chunks };
}

function modeOf(headers: Headers): { mode?: number } {
  return headers.mode === null ? {} : { mode: headers.mode };
}

/** Old and new path without git's `a/` and `b/`; null where the side does not exist. */
function pathsOf(headers: Headers): [string | null, string | null] {
  if (headers.from !== null && headers.to !== null) return [headers.from, headers.to];
  const [old, new_] = [headers.old ?? headers.git?.[0] ?? NOTHING, headers.new ?? headers.git?.[1] ?? NOTHING];
  const prefixed = [old, new_].every((name, side) => name === NOTHING || name.startsWith(side === 0 ? "a/" : "b/"));
  const strip = (name: string) => (prefixed ? name.slice(2) : name);
  return [
    old === NOTHING || headers.created ? null : strip(old),
    new_ === NOTHING || headers.deleted ? null : strip(new_),
  ];
}

function addedText(chunks: readonly Chunk[], error: (message: string) => PatchSyntaxError): string {
  const lines = chunks.flatMap((chunk) => chunk.lines);
  if (lines.some((line) => line.op !== "+")) throw error("a new file has added lines only.");
  return lines.map((line) => line.text + (line.noNewline ? "" : line.crlf ? "\r\n" : "\n")).join("");
}

/** `a/x b/x`: unquoted names with blanks are told apart by both being the same after the prefix. */
function gitNames(header: string): [string, string] | null {
  const names = header.slice("diff --git ".length);
  const quoted = /^("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)$/.exec(names);
  if (quoted) return [unquote(quoted[1] ?? ""), unquote(quoted[2] ?? "")];
  const half = (names.length - 1) / 2;
  const [old, new_] = [names.slice(0, half), names.slice(half + 1)];
  return old.slice(2) === new_.slice(2) ? [old, new_] : null;
}

/** The name of a `---` or `+++` line; a tab ends it, a time stamp may follow. */
function nameOf(rest: string): string {
  return unquote(rest.split("\t")[0]?.trimEnd() ?? "");
}

const ESCAPES: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, "\\": 92 };

/** git's C-style quoting: octal escapes are bytes of UTF-8. */
function unquote(name: string): string {
  if (!/^".*"$/.test(name)) return name;
  const bytes: Buffer[] = [];
  for (const [part, octal, letter] of name.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/g)) {
    if (octal !== undefined) bytes.push(Buffer.from([Number.parseInt(octal, 8)]));
    else if (letter !== undefined) bytes.push(Buffer.from([ESCAPES[letter] ?? letter.charCodeAt(0)]));
    else bytes.push(Buffer.from(part));
  }
  return Buffer.concat(bytes).toString("utf8");
}
