/** What a stdio server's bytes are: lines that hold JSON-RPC messages, lines that don't, and a log of bounded length. Pure. */
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

/** JSON-RPC's code for what is none of the caller's fault. */
const INTERNAL_ERROR = -32603;

/** A server's own words, kept for the day it fails. */
export const LOG_CHARS = 64 * 1024;
/** Screenshots of a long page are some megabytes of base64. A longer line is skipped with a note in the log. */
export const LINE_BYTES = 64 * 1024 * 1024;
/** Enough to tell which request a line answers. */
const HEAD_BYTES = 200;

/** Joins pieces to lines; each piece is looked at once, however long the line is. A character cut by a piece's end waits. */
export class LineSplitter {
  #emit: (line: string, tooLong: string | null) => void;
  #head = "";
  #parts: Uint8Array[] = [];
  #size = 0;
  #limit: number;

  /** Of a line beyond the limit `emit` gets a note, and how the line began. */
  constructor(emit: (line: string, tooLong: string | null) => void, limit = LINE_BYTES) {
    this.#emit = emit;
    this.#limit = limit;
  }

  push(bytes: Uint8Array): void {
    let from = 0;
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, from)) {
      this.#keep(bytes.subarray(from, at));
      this.#flush();
      from = at + 1;
    }
    this.#keep(bytes.subarray(from));
  }

  end(): void {
    if (this.#size > 0) this.#flush();
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    if (this.#head.length < HEAD_BYTES) this.#head += Buffer.from(bytes.subarray(0, HEAD_BYTES)).toString("latin1");
    this.#size += bytes.length;
    if (this.#size <= this.#limit) this.#parts.push(bytes);
    else this.#parts = [];
  }

  #flush(): void {
    const tooLong = this.#size > this.#limit;
    const line = tooLong
      ? `(a line of ${this.#size} bytes, longer than ${this.#limit}, was skipped)`
      : new TextDecoder().decode(Buffer.concat(this.#parts));
    const head = tooLong ? this.#head : null;
    this.#head = "";
    this.#parts = [];
    this.#size = 0;
    this.#emit(line.endsWith("\r") ? line.slice(0, -1) : line, head);
  }
}

/** The JSON-RPC messages of a line: one, several of a batch, or none where it is noise. */
export function messagesIn(line: string): JSONRPCMessage[] {
  if (!/^\s*[{[]/.test(line)) return [];
  try {
    const value: unknown = JSON.parse(line);
    return (Array.isArray(value) ? value : [value]).filter(isMessage);
  } catch {
    return []; // a log line that begins like JSON
  }
}

/** For an answer that was skipped, an answer that says so: whoever waits for it would wait in vain. Null where it was none, or its beginning doesn't tell. */
export function skippedAnswer(head: string): JSONRPCMessage | null {
  const found = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+|"[^"\\]*")\s*,\s*"(?:result|error)"/.exec(
    head,
  );
  if (!found?.[1]) return null;
  const message = `its answer was longer than ${LINE_BYTES / 2 ** 20} MB and was skipped; ask for less`;
  const id: unknown = JSON.parse(found[1]);
  if (typeof id !== "string" && typeof id !== "number") return null;
  return { jsonrpc: "2.0", id, error: { code: INTERNAL_ERROR, message } };
}

/** The rest of a message's shape is checked by the SDK, message by message. */
function isMessage(value: unknown): value is JSONRPCMessage {
  if (typeof value !== "object" || value === null || !("jsonrpc" in value) || value.jsonrpc !== "2.0") return false;
  if ("method" in value) return typeof value.method === "string";
  return "id" in value && ("result" in value || "error" in value);
}

/** The last 64 KB of a text that may go on for ever. */
export class LogTail {
  #decoder = new TextDecoder();
  #parts: string[] = [];
  #size = 0;

  push(piece: Uint8Array | string): void {
    const text = typeof piece === "string" ? piece : this.#decoder.decode(piece, { stream: true });
    this.#parts.push(text.slice(-LOG_CHARS));
    this.#size += Math.min(text.length, LOG_CHARS);
    // Joined when twice the limit is there: each character is copied a bounded number of times.
    if (this.#size > 2 * LOG_CHARS || this.#parts.length > 4096) this.#join();
  }

  text(): string {
    this.#join();
    return this.#parts[0] ?? "";
  }

  /** The last line that says something, for an error message. */
  lastLine(): string {
    return this.text().trimEnd().split("\n").at(-1)?.trim() ?? "";
  }

  #join(): void {
    const text = this.#parts.join("").slice(-LOG_CHARS);
    this.#parts = [text];
    this.#size = text.length;
  }
}
