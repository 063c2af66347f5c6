/** Plain mode: lines from bytes, prompts of several lines from lines. */
import { expect, test } from "bun:test";
import { LineReader, PromptAssembler } from "../src/terminal-lines.ts";

test("lines come out whole whatever the cuts, CR LF included", () => {
  const bytes = new TextEncoder().encode("one\r\n漢字\nthree");
  for (let size = 1; size < bytes.length; size++) {
    const reader = new LineReader();
    const lines: string[] = [];
    for (let at = 0; at < bytes.length; at += size) lines.push(...reader.push(bytes.subarray(at, at + size)));
    expect([...lines, ...reader.end()]).toEqual(["one", "漢字", "three"]);
  }
});

test("input that ends in a line end has no empty line after it", () => {
  const reader = new LineReader();
  expect([...reader.push("a\n\nb\n"), ...reader.end()]).toEqual(["a", "", "b"]);
});

function assemble(lines: string[]): (string | null)[] {
  const assembler = new PromptAssembler();
  return [...lines.map((line) => assembler.push(line)), assembler.end()];
}

test.each([
  [
    ["one", "two"],
    ["one", "two", null],
  ],
  [
    ["one \\", "two"],
    [null, "one \ntwo", null],
  ],
  [["a\\\\"], ["a\\\\", null]],
  [
    ['"""', "one", "", "two", '"""', "next"],
    [null, null, null, null, "one\n\ntwo", "next", null],
  ],
  [
    ['"""first', 'last"""'],
    [null, "first\nlast", null],
  ],
  [['"""whole"""'], ["whole", null]],
  [
    ['"""', "never closed"],
    [null, null, "never closed"],
  ],
  [["ends in\\"], [null, "ends in"]],
])("%j become %j", (lines, prompts) => {
  expect(assemble(lines)).toEqual(prompts);
});
