/** Runs of lines in a file: the same places as by looking everywhere, and no time lost on repetition. */
import { expect, test } from "bun:test";
import { type Form, LineFinder } from "../src/patch-find.ts";
import { growth } from "./support/growth.ts";
import { seeded } from "./support/random-text.ts";

const exact: Form = (line) => line;
const trimmed: Form = (line) => line.trim();

function everywhere(lines: readonly string[], wanted: readonly string[], from: number, form: Form): number | null {
  for (let at = from; at + wanted.length <= lines.length; at++)
    if (wanted.every((line, index) => form(lines[at + index] ?? "") === form(line))) return at;
  return null;
}

test("finds the same first place as looking everywhere", () => {
  const random = seeded(20261130);
  for (let round = 0; round < 3000; round++) {
    const words = round % 2 ? ["a", "b"] : ["a", " a", "b", "c ", "c", "d", "e"];
    const some = (count: number): string[] => Array.from({ length: count }, () => words[random(words.length)] ?? "");
    const lines = some(random(30));
    const at = random(Math.max(1, lines.length));
    const piece = lines.slice(at, at + 1 + random(6));
    const wanted = piece.length > 0 && random(10) < 7 ? piece : some(1 + random(8));
    const from = random(8);
    const finder = new LineFinder(lines);
    for (const form of [exact, trimmed]) {
      const found = finder.first(wanted, from, form);
      expect({ lines, wanted, from, found }).toEqual({
        lines,
        wanted,
        from,
        found: everywhere(lines, wanted, from, form),
      });
    }
  }
});

test("a long chunk of lines that stand everywhere is looked for in one walk", async () => {
  const search = (count: number) => {
    const braces = (pairs: number) => Array.from({ length: pairs }, () => ["{", "}"]).flat();
    const lines = [...braces(count * 10), "end"];
    return () => {
      const finder = new LineFinder(lines);
      expect(finder.first([...braces(count), "end"], 0, exact)).toBe(count * 18);
      expect(finder.first([...braces(count), "}"], 0, exact)).toBe(null);
    };
  };
  expect(await growth(search, 60)).toBeLessThan(8);
});

test("thousands of chunks that differ in white space cost no walk each", async () => {
  const search = (count: number) => {
    const lines = Array.from({ length: count * 10 }, (_, index) => `line ${index} `);
    return () => {
      const finder = new LineFinder(lines);
      for (let at = 0; at < lines.length; at += 10) {
        expect(finder.first([`line ${at}`], 0, exact)).toBe(null);
        expect(finder.first([`line ${at}`], 0, trimmed)).toBe(at);
        expect(finder.first([`line ${at}`], at + 1, trimmed)).toBe(null);
      }
    };
  };
  expect(await growth(search, 80)).toBeLessThan(8);
});
