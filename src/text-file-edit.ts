/** Exact search and replace in a text, blind to the difference between CR LF and LF and to nothing else. Pure. */
import { type LineDiff, type LineEnding, toLf, usualEnding, withEndingsOf } from "./text-file.ts";

export interface Edit {
  oldString: string;
  newString: string;
  replaceAll?: boolean | undefined;
}

export type EditOutcome =
  | { kind: "edited"; text: string; lines: number[] }
  | { kind: "missing" }
  /** `lines` are the 1-based lines on which the occurrences begin. */
  | { kind: "many"; lines: number[] }
  | { kind: "same" };

/**
 * Replaces the one occurrence of `oldString`, or all with `replaceAll`. `newString` is taken literally and gets the
 * line endings of what it replaces. `oldString` must not be empty. Linear in the text.
 */
export function replaceInText(text: string, edit: Edit, diff: LineDiff): EditOutcome {
  const wanted = toLf(edit.oldString);
  if (wanted === toLf(edit.newString)) return { kind: "same" };
  const plain = toLf(text);
  const starts = occurrences(plain, wanted);
  if (starts.length === 0) return { kind: "missing" };
  if (!edit.replaceAll) {
    const rivals = starts.length > 1 ? starts : overlapping(plain, wanted, starts);
    if (rivals.length > 1) return { kind: "many", lines: linesOf(plain, rivals) };
  }
  const spans = spansIn(text, plain, starts, wanted.length);
  return { kind: "edited", text: splice(text, spans, edit.newString, diff), lines: linesOf(plain, starts) };
}

function occurrences(text: string, wanted: string): number[] {
  const starts: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) starts.push(at);
  return starts;
}

/** `}\n}\n` stands twice in `}\n}\n}\n`: which of them is meant can't be known either. The second is enough to say so. */
function overlapping(text: string, wanted: string, starts: readonly number[]): number[] {
  const [first = 0] = starts;
  const second = text.indexOf(wanted, first + 1);
  return second < 0 ? [first] : [first, second];
}

function linesOf(text: string, starts: readonly number[]): number[] {
  let line = 1;
  // Kept from one start to the next: a minified file has one line end and a hundred thousand hits before it.
  let end = text.indexOf("\n");
  return starts.map((start) => {
    for (; end >= 0 && end < start; end = text.indexOf("\n", end + 1)) line++;
    return line;
  });
}

interface Span {
  start: number;
  end: number;
}

/** Places in the LF text as places in the text itself, which is longer by one for every CR before them. */
function spansIn(text: string, plain: string, starts: readonly number[], length: number): Span[] {
  if (text.length === plain.length) return starts.map((start) => ({ start, end: start + length }));
  const original = positionsIn(text);
  return starts.map((start) => ({ start: original(start), end: original(start + length) }));
}

/** Maps ascending positions only: one walk over the text serves all of them. */
function positionsIn(text: string): (position: number) => number {
  let dropped = 0;
  let next = text.indexOf("\r\n");
  return (position) => {
    // A CR counts once its LF lies before the position; so a span that ends before a line end leaves its CR alone.
    while (next >= 0 && next - dropped < position) {
      dropped++;
      next = text.indexOf("\r\n", next + 2);
    }
    return position + dropped;
  };
}

function splice(text: string, spans: readonly Span[], newString: string, diff: LineDiff): string {
  const usual = usualEnding(text);
  const endingNear = endingsIn(text);
  const pieces: string[] = [];
  let at = 0;
  for (const { start, end } of spans) {
    const replaced = text.slice(start, end);
    const ending = usual === null ? null : (endingNear(end) ?? usual);
    pieces.push(text.slice(at, start));
    // A text of one line has no endings to keep: what the caller wrote stands.
    pieces.push(ending === null ? newString : withEndingsOf(replaced, newString, ending, diff));
    at = end;
  }
  return pieces.join("") + text.slice(at);
}

/** The ending of the line that holds a position, else of the last line. Positions must ascend: one walk serves all of them. */
function endingsIn(text: string): (position: number) => LineEnding | null {
  const last = text.lastIndexOf("\n");
  let next = text.indexOf("\n");
  return (position) => {
    if (next >= 0 && next < position) next = text.indexOf("\n", position);
    const at = next < 0 ? last : next;
    if (at < 0) return null;
    return text[at - 1] === "\r" ? "\r\n" : "\n";
  };
}
