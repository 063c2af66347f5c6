/** The part of the in-process search that runs in a worker: opens files, matches lines, cuts them. Chooses no files. */

// It is sent there as text (toString), which works the same from source and from a compiled binary. So these functions
// use nothing but their arguments and globals.

/** What the worker is told once. */
export interface ScanSetup {
  /** Directory that relative paths start from. */
  root: string;
  unicode: string;
  ascii: string;
  flags: string;
  literal: string | null;
  context: number;
}

export interface ScanRequest {
  paths: string[];
  /** Matches of one file. */
  maxHits: number;
}

export interface Hit {
  line: number;
  text: string;
  /** False for a line shown around a match. */
  isMatch: boolean;
}

export interface FileHits {
  path: string;
  hits: Hit[];
}

export type ScanMessage = { type: "alive" } | { type: "done"; files: FileHits[] };

interface Scope {
  onmessage: ((event: { data: ScanSetup | ScanRequest }) => void) | null;
  postMessage(message: ScanMessage): void;
}

/** A line cut to about 400 characters around its match, with what is missing counted at both ends. */
export function clipLine(line: string, from: number, to: number): string {
  const limit = 400;
  if (line.length <= limit) return line;
  const isInside = (at: number) => /[\udc00-\udfff]/.test(line.charAt(at));
  const room = Math.max(0, limit - (to - from));
  let start = Math.max(0, Math.min(from - Math.floor(room / 2), line.length - limit));
  let end = Math.min(line.length, start + limit);
  if (isInside(start)) start++;
  if (isInside(end)) end--;
  const before = start > 0 ? `(+${start} chars)…` : "";
  const after = end < line.length ? `…(+${line.length - end} chars)` : "";
  return before + line.slice(start, end) + after;
}

/** The worker's whole program. `fs` is node:fs. */
export function scanWorker(scope: Scope, fs: typeof import("node:fs"), clip: typeof clipLine): void {
  // Whole files up to here; larger ones go through in pieces that end at a line end.
  const WHOLE = 32 * 1024 * 1024;
  const PIECE = 4 * 1024 * 1024;
  let setup: ScanSetup;
  let unicode: RegExp;
  let ascii: RegExp;
  let needle: Uint8Array | null = null;
  let lastSign = 0;

  scope.onmessage = ({ data }) => {
    if ("root" in data) start(data);
    else scope.postMessage({ type: "done", files: scan(data) });
  };

  function start(data: ScanSetup): void {
    setup = data;
    unicode = new RegExp(data.unicode, data.flags);
    ascii = new RegExp(data.ascii, data.flags);
    needle = data.literal === null ? null : Buffer.from(data.literal);
  }

  function scan(request: ScanRequest): FileHits[] {
    const files: FileHits[] = [];
    // More than is wanted, since files that rules withhold are taken out afterwards.
    let left = request.maxHits * 16;
    for (const path of request.paths) {
      if (left <= 0) break;
      giveSign();
      const hits = scanFile(path, Math.min(left, request.maxHits));
      if (hits.length === 0) continue;
      files.push({ path, hits });
      left -= hits.filter((hit) => hit.isMatch).length;
    }
    return files;
  }

  /** The watchdog counts from the last sign of life: a slow disk isn't a slow pattern. */
  function giveSign(): void {
    const now = Date.now();
    if (now - lastSign < 200) return;
    lastSign = now;
    scope.postMessage({ type: "alive" });
  }

  function scanFile(path: string, maxHits: number): Hit[] {
    let fd = -1;
    try {
      const whole = /^(?:\/|[A-Za-z]:)/.test(path) ? path : `${setup.root}/${path}`;
      fd = fs.openSync(whole, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
      const stat = fs.fstatSync(fd);
      if (!stat.isFile()) return [];
      return stat.size > WHOLE ? scanPieces(fd, maxHits) : (scanBytes(fs.readFileSync(fd), 1, maxHits)?.hits ?? []);
    } catch {
      // Gone, or not ours to read: rg with --no-messages passes over it as well.
      return [];
    } finally {
      if (fd >= 0) fs.closeSync(fd);
    }
  }

  function scanPieces(fd: number, maxHits: number): Hit[] {
    const hits: Hit[] = [];
    let carry = Buffer.alloc(0);
    let line = 1;
    for (;;) {
      giveSign();
      const piece = Buffer.allocUnsafe(PIECE);
      const count = fs.readSync(fd, piece, 0, PIECE, null);
      const bytes = Buffer.concat([carry, piece.subarray(0, count)]);
      const end = count === 0 || bytes.length > WHOLE ? bytes.length : bytes.lastIndexOf(10) + 1;
      const found = scanBytes(bytes.subarray(0, end), line, maxHits - hits.length);
      if (found === null) return [];
      hits.push(...found.hits);
      if (count === 0 || hits.length >= maxHits) return hits;
      line += countLines(bytes.subarray(0, end));
      carry = Buffer.from(bytes.subarray(end));
    }
  }

  function countLines(bytes: Buffer): number {
    let lines = 0;
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lines++;
    return lines;
  }

  /** Null for binary data. */
  function scanBytes(bytes: Buffer, firstLine: number, maxHits: number): { hits: Hit[] } | null {
    const wide =
      bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : null;
    if (wide && firstLine === 1) return { hits: scanText(new TextDecoder(wide).decode(bytes), unicode, 1, maxHits) };
    if (needle && bytes.indexOf(needle) < 0) return bytes.includes(0) ? null : { hits: [] };
    if (bytes.includes(0)) return null;
    const text = new TextDecoder().decode(bytes);
    return { hits: scanText(text, text.length === bytes.length ? ascii : unicode, firstLine, maxHits) };
  }

  function scanText(text: string, pattern: RegExp, firstLine: number, maxHits: number): Hit[] {
    const hits: Hit[] = [];
    let shownTo = 0;
    let matches = 0;
    let line = firstLine;
    for (let at = 0; at < text.length && matches < maxHits;) {
      const next = setup.literal === null ? at : text.indexOf(setup.literal, at);
      if (next < 0) break;
      const lineStart = startOf(text, next);
      for (let seen = text.indexOf("\n", at); seen >= 0 && seen < lineStart; seen = text.indexOf("\n", seen + 1))
        line++;
      const lineEnd = endOf(text, lineStart);
      const shown = trimEnd(text.slice(lineStart, lineEnd));
      const match = pattern.exec(shown);
      if (match) {
        matches++;
        shownTo = before(text, lineStart, line, shownTo, hits);
        hits.push({ line, text: clip(shown, match.index, match.index + match[0].length), isMatch: true });
        shownTo = after(text, lineEnd + 1, line + 1, pattern, hits);
      }
      at = lineEnd + 1;
      line++;
    }
    return hits;
  }

  /** Where the line begins that ends at or holds `at`. */
  function startOf(text: string, at: number): number {
    return at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
  }

  function endOf(text: string, start: number): number {
    const end = text.indexOf("\n", start);
    return end < 0 ? text.length : end;
  }

  function trimEnd(line: string): string {
    return line.endsWith("\r") ? line.slice(0, -1) : line;
  }

  /** Adds the lines in front of a match that have not been shown; returns where showing has come to. */
  function before(text: string, lineStart: number, line: number, shownTo: number, hits: Hit[]): number {
    const lines: Hit[] = [];
    let end = lineStart - 1;
    for (let back = 1; back <= setup.context && end >= 0; back++) {
      const start = startOf(text, end);
      if (start < shownTo) break;
      lines.push({ line: line - back, text: clip(trimEnd(text.slice(start, end)), 0, 0), isMatch: false });
      if (start === 0) break;
      end = start - 1;
    }
    hits.push(...lines.reverse());
    return lineStart;
  }

  /** Adds the lines behind a match up to the next one. */
  function after(text: string, start: number, line: number, pattern: RegExp, hits: Hit[]): number {
    let at = start;
    for (let count = 0; count < setup.context && at < text.length; count++) {
      const end = endOf(text, at);
      const shown = trimEnd(text.slice(at, end));
      if (pattern.test(shown)) break;
      hits.push({ line: line + count, text: clip(shown, 0, 0), isMatch: false });
      at = end + 1;
    }
    return at;
  }
}
