/** Styles in a text: what stays open, and that they don't count as text. */
import { expect, test } from "bun:test";
import { endsLine, openStyles } from "../src/terminal-style.ts";

test.each([
  ["plain", ""],
  ["\x1b[1mbold", "\x1b[1m"],
  ["\x1b[1mbold\x1b[m", ""],
  ["\x1b[1mbold\x1b[0m", ""],
  ["\x1b[1m\x1b[36mboth\x1b[39m", "\x1b[1m"],
  ["\x1b[2mdim\x1b[22m \x1b[31mred", "\x1b[31m"],
  ["\x1b[7mx\x1b[27m\x1b[3my", "\x1b[3m"],
  ["\x1b[2J\x1b[K", ""],
] as const)("%j leaves %j open", (text, open) => {
  expect(openStyles(text)).toBe(open);
});

test.each([
  ["x\n", false, true],
  ["x", true, false],
  ["x\n\x1b[m", false, true],
  ["x\x1b[m", true, false],
  ["\x1b[1m", true, true],
  ["\x1b[1m", false, false],
  ["", true, true],
] as const)("after %j, begun at a line's start: %p, the cursor is at one: %p", (text, before, after) => {
  expect(endsLine(text, before)).toBe(after);
});
