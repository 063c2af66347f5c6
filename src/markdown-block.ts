/** What a line of Markdown begins with, read as soon as it is certain. Pure. */

export type Block =
  | { kind: "text" | "blank" | "table"; length: 0 }
  /** The marks and the blank after them, left out where the line is styled. */
  | { kind: "heading"; length: number; text: string }
  /** A list mark or quote mark, printed as it is. */
  | { kind: "prefix"; length: number; text: string }
  /** The whole opening line, its end included. */
  | { kind: "fence"; length: number; mark: string; indent: string; info: string };

// Every part has a limit: what is held back is read again with each piece that comes.
const FENCE = /([ \t]{0,40})(`{3,64}(?!`)|~{3,64}(?!~))([^\n]*)(\n|$)/y;
const HEADING = /#{1,6}[ \t]{1,40}(?![ \t])/y;
const PREFIX = /[ \t]{0,40}(?:[-*+]|\d{1,9}[.)]|>)[ \t]{1,40}/y;
const TABLE = /[ \t]{0,40}\|/y;
/** A line so far that may still become any of those. */
const OPEN = /(?:[ \t]{0,40}|#{1,6}[ \t]{0,40}|[ \t]{0,40}(?:`{1,2}|~{1,2}|[-*+]|\d{1,9}[.)]?|>)[ \t]{0,40})$/y;

/** Null to wait for more of the line. `final`: no more will come. */
export function readBlock(text: string, at: number, final: boolean): Block | null {
  if (text[at] === "\n") return { kind: "blank", length: 0 };
  if (!final && matchAt(OPEN, text, at)) return null;
  const fence = matchAt(FENCE, text, at);
  if (fence) {
    const block = readFence(fence, final);
    if (block !== "no") return block;
  }
  const heading = matchAt(HEADING, text, at);
  if (heading) return { kind: "heading", length: heading[0].length, text: heading[0] };
  const prefix = matchAt(PREFIX, text, at);
  if (prefix) return { kind: "prefix", length: prefix[0].length, text: prefix[0] };
  return { kind: matchAt(TABLE, text, at) ? "table" : "text", length: 0 };
}

function readFence(found: RegExpExecArray, final: boolean): Block | null | "no" {
  const [whole, indent = "", mark = "", info = "", end = ""] = found;
  // A fence of backticks has none in its info string; else it is code within a line.
  if (mark.startsWith("`") && info.includes("`")) return "no";
  if (info.length > 200) return "no";
  if (end === "" && !final) return null;
  return { kind: "fence", length: whole.length, mark, indent, info: info.trim() };
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
