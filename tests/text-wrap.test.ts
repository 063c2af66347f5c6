/** Our own lines are broken at blanks, lists under their last column, and nothing of a text gets lost. */
import { expect, test } from "bun:test";
import { displayWidth } from "../src/text.ts";
import { wrapWords } from "../src/text-wrap.ts";
import { growth } from "./support/growth.ts";
import { seeded } from "./support/random-text.ts";

test.each([
  ["what fits stays as it is", "one two three", 13, "one two three"],
  ["a sentence goes on under its first word", "  one two three four", 12, "  one two\n    three\n    four"],
  ["a list goes on under its last column", "  /a   first word and more", 22, "  /a   first word and\n       more"],
  [
    "a table goes on under its last column",
    "guard    on   refuses what can't be undone",
    30,
    "guard    on   refuses what\n              can't be undone",
  ],
  ["columns past the middle are text", "guard    installed  refuses it", 22, "guard    installed\n         refuses it"],
  [
    "a wide first column stands alone",
    "  /undo [files] [--force]  take it back",
    28,
    "  /undo [files] [--force]\n    take it back",
  ],
  [
    "a word that is too long stays whole",
    "see /a/very/long/path/indeed now",
    12,
    "see /a/very/long/path/indeed\n  now",
  ],
  ["each line is for itself", "short\nthis one is long", 10, "short\nthis one\n  is long"],
  ["wide characters count two columns", "漢字 漢字 漢字", 9, "漢字 漢字\n  漢字"],
  ["styles count no columns", "\x1b[1mone\x1b[22m two", 7, "\x1b[1mone\x1b[22m two"],
  ["an empty line stays empty", "a b c d e f\n\nx", 5, "a b c\n  d e\n  f\n\nx"],
])("%s", (_, text, columns, wrapped) => {
  expect(wrapWords(text, columns)).toBe(wrapped);
});

test("no line is wider than the screen unless a single word is, and every word is still there in its order", () => {
  const pick = seeded(20);
  for (let round = 0; round < 400; round++) {
    const words = Array.from({ length: 1 + pick(30) }, () => "x漢ä".charAt(pick(3)).repeat(1 + pick(9)));
    const line =
      " ".repeat(pick(4)) +
      words
        .map((word) => word + " ".repeat(1 + pick(3)))
        .join("")
        .trimEnd();
    const columns = 4 + pick(60);
    const rows = wrapWords(line, columns).split("\n");
    expect(rows.join(" ").split(/ +/).filter(Boolean)).toEqual(words);
    const longest = Math.max(...words.map(displayWidth));
    if (longest + Math.floor(columns / 2) <= columns)
      for (const row of rows) expect(displayWidth(row)).toBeLessThanOrEqual(columns);
  }
});

test("one long line is wrapped in time by its length, not by its square", async () => {
  const wrap = (words: number) => {
    const line = "word ".repeat(words);
    return () => expect(wrapWords(line, 80).split("\n").length).toBeGreaterThan(words / 17);
  };
  expect(await growth(wrap, 1250)).toBeLessThan(8);
});
