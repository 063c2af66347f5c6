/** How the stretches of a shell line differ: where each ends and which characters mean something in it. Tables for shell-lex.ts only. */
import { peek, type Cursor } from "./shell-tree.ts";

/** How one stretch of text is read. */
export interface Mode {
  /** Named in the error when its end is missing. */
  name: string;
  /** What is read counts as quoted: neither split nor matched against files. */
  quoted: boolean;
  ends: (cursor: Cursor) => boolean;
  /** Characters that need no look at all. */
  plain: RegExp;
  /** `quote`: as usual. `balance`: they must pair up, yet what is between them expands. `none`: just a character. */
  single: "quote" | "balance" | "none";
  double: boolean;
  /** Characters a backslash quotes; null for all. */
  escapes: string | null;
  /** `<(…)` and `>(…)` are process substitutions. */
  process: boolean;
  /** `@(…)` and its kind are patterns. */
  pattern: boolean;
}

const PLAIN_WORD = /[^ \t\n|&;()<>\\'"$`]+/y;
const META = /[ \t\n|&;()<>]/;

export const WORD: Mode = {
  name: "word",
  quoted: false,
  ends: (cursor) => isWordEnd(cursor),
  plain: PLAIN_WORD,
  single: "quote",
  double: true,
  escapes: null,
  process: true,
  pattern: false,
};
export const DOUBLE: Mode = {
  ...WORD,
  name: "double quote",
  quoted: true,
  ends: (cursor) => peek(cursor) === '"',
  plain: /[^\\"$`]+/y,
  single: "none",
  double: false,
  escapes: '$`"\\',
  process: false,
};
export const BODY: Mode = { ...DOUBLE, name: "here-document", ends: isAtEnd, plain: /[^\\$`]+/y, escapes: "$`\\" };
export const OPERAND: Mode = {
  ...WORD,
  name: "${",
  ends: (cursor) => peek(cursor) === "}",
  plain: /[^\\'"$`}<>]+/y,
};
// Inside double quotes bash pairs single quotes up to find the brace, and yet expands what is between them.
export const QUOTED_OPERAND: Mode = { ...OPERAND, quoted: true, single: "balance", escapes: '$`"\\}', process: false };
export const QUOTED_PATTERN: Mode = { ...QUOTED_OPERAND, single: "quote" };

export function isAtEnd(cursor: Cursor): boolean {
  return cursor.at >= cursor.source.length;
}

function isWordEnd(cursor: Cursor): boolean {
  const char = peek(cursor);
  if (char === "") return true;
  return META.test(char) && !((char === "<" || char === ">") && peek(cursor, 1) === "(");
}
