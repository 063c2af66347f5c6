/** Links and runs of marks within a line of Markdown, read as soon as they are certain. Pure. */

export interface Link {
  text: string;
  url: string;
  length: number;
}

const LINK = /!?\[([^[\]\n]{1,300})\]\(<?([^\s()<>]{1,500}(?:\([^\s()]{0,100}\))?)>?(?: "[^"\n]{0,200}")?\)/y;
const OPEN_LINK =
  /!?(?:\[(?:[^[\]\n]{1,300}(?:\](?:\(<?[^\s()<>]{0,500}(?:\([^\s()]{0,100}\)?)?>?(?: "?[^"\n]{0,200}"?)?)?)?)?)?$/y;

/** `[text](url)` or an image at `at`; `wait` while it may become one, null when it won't. */
export function readLink(text: string, at: number, final: boolean): Link | "wait" | null {
  LINK.lastIndex = at;
  const found = LINK.exec(text);
  if (found) return { text: (found[1] ?? "").replace(/[`*]/g, ""), url: found[2] ?? "", length: found[0].length };
  OPEN_LINK.lastIndex = at;
  return !final && OPEN_LINK.test(text) ? "wait" : null;
}

/** Longer runs mean nothing; waiting for their end would be work that grows with the square of their length. */
const MAX_RUN = 64;

/**
 * All repetitions of the character at `at`; null while more of them may come. Of a run of more than 64 the first 64,
 * wherever the stream was cut.
 */
export function readRun(text: string, at: number, final: boolean): string | null {
  const mark = text[at];
  let end = at;
  while (end - at <= MAX_RUN && text[end] === mark) end++;
  if (end - at > MAX_RUN) return text.slice(at, at + MAX_RUN);
  return end === text.length && !final ? null : text.slice(at, end);
}
