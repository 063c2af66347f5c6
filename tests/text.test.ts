/** Cuts and widths: never half a character, never more than asked for. */
import { expect, test } from "bun:test";
import { cutHead, cutMiddle, cutTail, cutWidth, displayWidth, graphemes, oneLine, wellFormed } from "../src/text.ts";

test.each([
  ["abc", 5, "abc", 0],
  ["abcdef", 3, "abc", 3],
  ["a🙂b", 2, "a", 3],
  ["a🙂b", 3, "a🙂", 1],
  ["abc", 0, "", 3],
  ["abc", -1, "", 3],
] as const)("cutHead(%j, %d) keeps %j", (text, limit, kept, dropped) => {
  expect(cutHead(text, limit)).toEqual({ text: kept, dropped });
});

test.each([
  ["abc", 5, "abc", 0],
  ["abcdef", 2, "ef", 4],
  ["a🙂b", 2, "b", 3],
  ["a🙂b", 3, "🙂b", 1],
  ["abc", 0, "", 3],
] as const)("cutTail(%j, %d) keeps %j", (text, limit, kept, dropped) => {
  expect(cutTail(text, limit)).toEqual({ text: kept, dropped });
});

test("cutMiddle keeps both ends and says how much is missing", () => {
  expect(cutMiddle("0123456789", 4, (dropped) => `<${dropped}>`)).toEqual({ text: "01<6>89", dropped: 6 });
  expect(cutMiddle("0123", 4)).toEqual({ text: "0123", dropped: 0 });
  expect(cutMiddle("012345", 3, () => "|").text).toBe("01|5");
});

test("no cut of an emoji text leaves half a pair, whatever the limit", () => {
  const text = "🙂x🙂🙂yz🙂";
  for (let limit = 0; limit <= text.length + 1; limit++)
    for (const cut of [cutHead(text, limit), cutTail(text, limit), cutMiddle(text, limit)]) {
      expect(cut.text.isWellFormed()).toBe(true);
      if (cut.dropped === 0) expect(cut.text).toBe(text);
    }
});

test.each([
  ["  a\n\tb  ", 80, "a b"],
  ["abcdef", 4, "abc…"],
  ["ab cdef", 4, "ab…"],
  ["a🙂🙂", 3, "a…"],
] as const)("oneLine(%j, %d) is %j", (text, limit, line) => {
  expect(oneLine(text, limit)).toBe(line);
});

test.each([
  ["漢字", 4],
  ["👨‍👩‍👧", 2],
  ["e\u0301", 1],
  ["\x1b[1mab\x1b[m", 2],
] as const)("%j is %d columns wide", (text, width) => {
  expect(displayWidth(text)).toBe(width);
});

test.each([
  ["ab", ["a", "b"]],
  ["a\nb", ["a", "\n", "b"]],
  ["e\u0301👨‍👩‍👧漢", ["e\u0301", "👨‍👩‍👧", "漢"]],
  ["🇩🇪🇯🇵", ["🇩🇪", "🇯🇵"]],
])("the graphemes of %j are %j", (text, parts) => {
  expect(graphemes(text)).toEqual(parts);
});

test.each([
  ["漢字漢字", 5, "漢字…"],
  ["漢字漢字", 4, "漢…"],
  ["漢字", 4, "漢字"],
  ["abcdef", 5, "abcd…"],
] as const)("cutWidth(%j, %d) is %j", (text, columns, kept) => {
  expect(cutWidth(text, columns)).toBe(kept);
  expect(displayWidth(cutWidth(text, columns))).toBeLessThanOrEqual(columns);
});

test("lone surrogates become the replacement character", () => {
  expect(wellFormed("a\ud83dz")).toBe("a\ufffdz");
  expect(wellFormed("a🙂")).toBe("a🙂");
});
