/** The same search through rg, where it is installed. rg gets the files by name: what is ignored has been decided before. */
import { messageOf } from "./errors.ts";
import { invalid } from "./search-pattern.ts";
import { type FileHits, type Hit, type SearchEngine, type SearchQuery } from "./search.ts";
import { clipLine } from "./search-worker.ts";

/** A line of JSON beyond this is a line of a file nobody reads; it is passed over. */
const MAX_JSON = 16 * 1024 * 1024;

/** rg can't do this search: no such feature, no such program. The other engine is asked instead. */
export class RgRefused extends Error {
  override name = "RgRefused";
}

/** An engine that runs rg on each batch. Throws RgRefused from `scan` when rg can't read the pattern. */
export function openRg(query: SearchQuery, program: string, env: Readonly<Record<string, string>>): SearchEngine {
  const rust = query.pattern.rust;
  if (rust === null) throw new RgRefused("look-around or back-references");
  const args = [
    "--no-config",
    "--json",
    "--crlf",
    "--no-messages",
    "--no-mmap",
    "--no-ignore",
    "--no-require-git",
    "--no-pre",
    "--no-search-zip",
    "--color=never",
  ];
  if (query.ignoreCase) args.push("--ignore-case");
  if (query.context > 0) args.push(`--context=${query.context}`);
  return {
    scan: (paths, maxHits) =>
      run([program, ...args, `--max-count=${maxHits}`, "-e", rust, "--", ...paths], paths, query, env),
    close: () => {},
  };
}

async function run(
  argv: string[],
  paths: readonly string[],
  query: SearchQuery,
  env: Readonly<Record<string, string>>,
): Promise<FileHits[]> {
  query.signal.throwIfAborted();
  const child = startRg(argv, query.root, env);
  const stop = () => child.kill("SIGKILL");
  query.signal.addEventListener("abort", stop, { once: true });
  try {
    const reader = new JsonReader();
    const [, problem] = await Promise.all([
      readLines(child.stdout, (line) => reader.take(line)),
      new Response(child.stderr).text(),
    ]);
    query.signal.throwIfAborted();
    // 2 without a word: a file couldn't be read. Whatever says no last word isn't an rg that we know.
    const code = await child.exited;
    if (!reader.isWhole || (code === 2 && problem.trim() !== "")) throw new RgRefused(reasonIn(problem));
    // Threads finish in any order; the tool's order is that of the paths.
    return paths.flatMap((path) => reader.files.get(path) ?? []);
  } finally {
    // Still running only when its output made no sense.
    stop();
    query.signal.removeEventListener("abort", stop);
  }
}

function startRg(argv: string[], cwd: string, env: Readonly<Record<string, string>>) {
  try {
    return Bun.spawn(argv, { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe", windowsHide: true });
  } catch (cause) {
    // Uninstalled since it was found, or too many names for one command line: the other engine needs neither.
    throw new RgRefused(messageOf(cause));
  }
}

function reasonIn(problem: string): string {
  return (/^error: (.+)$/m.exec(problem)?.[1] ?? problem.split("\n")[0] ?? "").trim();
}

/** The error for a pattern that neither engine takes. */
export function refusal(error: RgRefused): Error {
  return invalid(error.message);
}

async function readLines(stream: ReadableStream<Uint8Array>, take: (line: string) => void): Promise<void> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, end));
      if (length <= MAX_JSON) take(Buffer.concat(parts).toString());
      parts.length = 0;
      length = 0;
      from = end + 1;
    }
    length += chunk.length - from;
    if (length > MAX_JSON) parts.length = 0;
    else parts.push(chunk.slice(from));
  }
}

/** rg's own field names; text that isn't UTF-8 comes as base64. */
type RgText = { text: string } | { bytes: string };
type RgMessage =
  | { type: "begin"; data: { path: RgText } }
  | {
      type: "match" | "context";
      data: { path: RgText; lines: RgText; line_number: number; submatches: { start: number; end: number }[] };
    }
  | { type: "end"; data: { path: RgText; binary_offset: number | null } }
  | { type: "summary" };

class JsonReader {
  readonly files = new Map<string, FileHits>();
  /** The summary has come, which rg writes at its end whatever it found. */
  isWhole = false;

  take(line: string): void {
    const message = parseMessage(line);
    if (message.type === "summary") this.isWhole = true;
    if (message.type === "summary" || message.type === "begin") return;
    const path = bytesOf(message.data.path).toString();
    if (message.type === "end") {
      // Found out at the first NUL, which may come behind the first matches.
      if (message.data.binary_offset !== null) this.files.delete(path);
      return;
    }
    const file = this.files.get(path) ?? { path, hits: [] };
    this.files.set(path, file);
    file.hits.push(hitOf(message));
  }
}

function parseMessage(line: string): RgMessage {
  try {
    // The format is promised in rg's manual.
    return JSON.parse(line) as RgMessage;
  } catch (cause) {
    throw new RgRefused(messageOf(cause));
  }
}

function hitOf(message: RgMessage & { type: "match" | "context" }): Hit {
  const bytes = bytesOf(message.data.lines);
  const [first] = message.type === "match" ? message.data.submatches : [];
  const text = bytes.toString().replace(/\r?\n$/, "");
  const from = first ? bytes.subarray(0, first.start).toString().length : 0;
  const to = first ? from + bytes.subarray(first.start, first.end).toString().length : 0;
  return { line: message.data.line_number, text: clipLine(text, from, to), isMatch: message.type === "match" };
}

function bytesOf(text: RgText): Buffer {
  return "text" in text ? Buffer.from(text.text) : Buffer.from(text.bytes, "base64");
}
