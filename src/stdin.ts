/** What stdin is and what it says: the contract of pipes. Knows no prompt format but the labelled block. */
import { fstatSync } from "node:fs";
import { orAborted } from "./abort.ts";
import { UserError, errnoOf } from "./errors.ts";
import { STDIN_BLOCK } from "./message.ts";
import { isTerminal } from "./output-fd.ts";
import { readAt } from "./read-lines.ts";

export type StdinKind = "terminal" | "nothing" | "file" | "pipe" | "socket" | "directory";

/** Looks at file descriptor 0 without reading it. `/dev/null` and a closed stdin are `nothing`. */
export function stdinKind(): StdinKind {
  try {
    const stat = fstatSync(0);
    if (stat.isDirectory()) return "directory";
    if (stat.isFile()) return "file";
    if (stat.isFIFO()) return "pipe";
    if (stat.isSocket()) return "socket";
    // A character device that is no terminal is /dev/null or as good as it: /dev/zero would never end.
    return isTerminal(0) ? "terminal" : "nothing";
  } catch (error) {
    if (errnoOf(error) === "EBADF") return "nothing";
    throw error;
  }
}

export interface StdinQuery {
  mode: "auto" | "wait" | "never";
  /** Whether a prompt was given as an argument: without one stdin is the prompt and is waited for. */
  hasPrompt: boolean;
  note(message: string): void;
  signal: AbortSignal;
}

/** Null: not read. `gaveUp`: it was open and silent, and the model should know. */
export interface StdinContent {
  text: string;
  cut: boolean;
  gaveUp: boolean;
}

/** Larger input is cut with a note: nobody's model takes more, and a runaway pipe must not fill the memory. */
export const MAX_STDIN_BYTES = 10 * 1024 * 1024;

const NOTICE_AFTER_MS = 3000;
const GIVE_UP_MS = { socket: 2000, pipe: 10_000 } as const;

/** Reads stdin as the contract says. Throws UserError for a directory. */
export async function readStdin(query: StdinQuery): Promise<StdinContent | null> {
  if (query.mode === "never") return null;
  const kind = stdinKind();
  if (kind === "directory") throw new UserError("stdin is a directory. Redirect a file, or give --no-stdin");
  if (kind === "nothing" || kind === "terminal") return null;
  const mayGiveUp = query.mode === "auto" && query.hasPrompt && (kind === "pipe" || kind === "socket");
  const limit = mayGiveUp ? GIVE_UP_MS[kind === "socket" ? "socket" : "pipe"] : null;
  return readAll(query, limit);
}

/** Stdin as bytes; empty where there is nothing to read. */
export function stdinBytes(): AsyncIterable<Uint8Array> {
  const kind = stdinKind();
  if (kind === "nothing" || kind === "directory") return nothing();
  if (kind === "file") return fromHere();
  return Bun.stdin.stream() as ReadableStream<Uint8Array>; // Bun types its stdin looser than it is: it yields bytes
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** A redirected file from where the program before us stopped reading it; Bun's stream would begin at its start. */
async function* fromHere(): AsyncGenerator<Uint8Array> {
  for (;;) {
    const buffer = Buffer.alloc(64 * 1024);
    const bytesRead = await readAt(0, buffer, null);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

async function readAll(query: StdinQuery, giveUpMs: number | null): Promise<StdinContent> {
  const reader = stdinBytes()[Symbol.asyncIterator]();
  const pieces: Uint8Array[] = [];
  let size = 0;
  const first = await firstPiece(reader, query, giveUpMs);
  if (first === "gave up") {
    query.note(
      `stdin stayed open and silent for ${(giveUpMs ?? 0) / 1000} s: going on without it (--no-stdin skips the wait, --stdin waits)`,
    );
    void reader.return?.().catch(() => {}); // the other end still holds it; nothing more to learn from it
    return { text: "", cut: false, gaveUp: true };
  }
  for (let piece = first; !piece.done; piece = await orAborted(reader.next(), query.signal)) {
    pieces.push(piece.value);
    size += piece.value.byteLength;
    if (size > MAX_STDIN_BYTES) break;
  }
  const cut = size > MAX_STDIN_BYTES;
  if (cut) void reader.return?.().catch(() => {}); // what follows is not wanted
  const bytes = Buffer.concat(pieces).subarray(0, MAX_STDIN_BYTES);
  return { text: decode(bytes, cut), cut, gaveUp: false };
}

type Piece = IteratorResult<Uint8Array, unknown>;

async function firstPiece(
  reader: AsyncIterator<Uint8Array, unknown>,
  query: StdinQuery,
  giveUpMs: number | null,
): Promise<Piece | "gave up"> {
  const notice = setTimeout(() => query.note("waiting for stdin (use --no-stdin)"), NOTICE_AFTER_MS);
  const { promise, resolve } = Promise.withResolvers<"gave up">();
  const giveUp = giveUpMs === null ? null : setTimeout(() => resolve("gave up"), giveUpMs);
  try {
    return await orAborted(Promise.race([reader.next(), promise]), query.signal);
  } finally {
    clearTimeout(notice);
    if (giveUp) clearTimeout(giveUp);
  }
}

/** Well-formed text; a character that the cut went through is left out. */
function decode(bytes: Uint8Array, cut: boolean): string {
  return new TextDecoder().decode(bytes, { stream: cut }).replaceAll("\0", "\uFFFD");
}

/** The prompt with stdin's content as a labelled block behind it. */
export function withStdin(prompt: string, content: StdinContent | null): string {
  if (!content) return prompt;
  if (content.gaveUp) return `${prompt}\n\n[stdin was open but nothing came; it was not read]`;
  if (content.text === "") return prompt;
  const note = content.cut ? `\n[cut: only the first ${MAX_STDIN_BYTES} bytes of stdin are here]` : "";
  const end = content.text.endsWith("\n") ? "" : "\n";
  return `${prompt}${STDIN_BLOCK.begin}${content.text}${end}${STDIN_BLOCK.end}${note}`;
}

/** Lines of a byte stream, without their ends; a last one without an end counts. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  // Joined only at a line's end: a long line in many pieces must not be copied again for each of them.
  let rest: string[] = [];
  for await (const piece of stream) {
    const [first = "", ...others] = decoder.decode(piece, { stream: true }).split("\n");
    rest.push(first);
    for (const next of others) {
      yield rest.join("").replace(/\r$/, "");
      rest = [next];
    }
  }
  const last = rest.join("");
  if (last !== "") yield last;
}
