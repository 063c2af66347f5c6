/** Cuts and measures text: by characters for a model, by columns and graphemes for a screen. Knows nothing of escapes or tools. */

/** A shortened text and how many UTF-16 units of the original are missing from it. */
export interface Cut {
  text: string;
  dropped: number;
}

/** Replaces lone surrogates, which no UTF-8 stream and no provider takes, by U+FFFD. */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

/** Splits a text that goes on later: `whole` can be shown, `rest` is the half of a character at its end that waits for the other. */
export function wholeStart(text: string): { whole: string; rest: string } {
  const last = text.charCodeAt(text.length - 1);
  const half = last >= 0xd800 && last <= 0xdbff;
  return half ? { whole: text.slice(0, -1), rest: text.slice(-1) } : { whole: text, rest: "" };
}

/** Keeps the first `maxChars` UTF-16 units, one less where that would split a pair. */
export function cutHead(text: string, maxChars: number): Cut {
  if (text.length <= maxChars) return { text, dropped: 0 };
  const end = boundaryBefore(text, Math.max(0, maxChars));
  return { text: text.slice(0, end), dropped: text.length - end };
}

/** Keeps the last `maxChars` UTF-16 units, one less where that would split a pair. */
export function cutTail(text: string, maxChars: number): Cut {
  if (text.length <= maxChars) return { text, dropped: 0 };
  const start = boundaryAfter(text, text.length - Math.max(0, maxChars));
  return { text: text.slice(start), dropped: start };
}

/**
 * Keeps both ends, the longer half in front, and puts `marker(dropped)` between them.
 * The marker is extra: the result is at most `maxChars` plus the marker's length.
 */
export function cutMiddle(
  text: string,
  maxChars: number,
  marker: (dropped: number) => string = (dropped) => `\n… ${dropped} characters left out …\n`,
): Cut {
  if (text.length <= maxChars) return { text, dropped: 0 };
  const room = Math.max(0, maxChars);
  const head = cutHead(text, Math.ceil(room / 2)).text;
  const tail = cutTail(text, Math.floor(room / 2)).text;
  const dropped = text.length - head.length - tail.length;
  return { text: head + marker(dropped) + tail, dropped };
}

/** One line of at most `maxChars` units: every run of white space is one blank; a cut ends in `mark`. */
export function oneLine(text: string, maxChars = Number.POSITIVE_INFINITY, mark = "…"): string {
  const line = text.replace(/\s+/g, " ").trim();
  if (line.length <= maxChars) return line;
  return cutHead(line, Math.max(0, maxChars - mark.length)).text.trimEnd() + mark;
}

/** Columns the text takes on a terminal. Escape sequences count nothing; ambiguous characters are narrow. */
export function displayWidth(text: string): number {
  return Bun.stringWidth(text);
}

let segmenter: Intl.Segmenter | null = null;

/** Made at the first text that needs it: most runs meet none, and making it takes as long as all the rest of a start. */
function segments(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return segmenter.segment(text);
}

/** What a person calls characters: one per step of the cursor. */
export function graphemes(text: string): string[] {
  // Plain ASCII is most of what is typed, and segmenting it costs a hundred times a split.
  if (/^[\x20-\x7e\n]*$/.test(text)) return text.split("");
  return Array.from(segments(text), (part) => part.segment);
}

/** Keeps whole graphemes up to `columns` columns; a cut ends in `mark`, which is counted. */
export function cutWidth(text: string, columns: number, mark = "…"): string {
  if (displayWidth(text) <= columns) return text;
  const room = columns - displayWidth(mark);
  let width = 0;
  let kept = "";
  for (const part of segments(text)) {
    width += displayWidth(part.segment);
    if (width > room) break;
    kept += part.segment;
  }
  return kept + mark;
}

function boundaryBefore(text: string, index: number): number {
  return splitsPair(text, index) ? index - 1 : index;
}

function boundaryAfter(text: string, index: number): number {
  return splitsPair(text, index) ? index + 1 : index;
}

function splitsPair(text: string, index: number): boolean {
  return isHigh(text.charCodeAt(index - 1)) && isLow(text.charCodeAt(index));
}

const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;
