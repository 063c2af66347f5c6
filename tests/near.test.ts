/** Hints after a miss. */
import { expect, test } from "bun:test";
import { closeNames, nearestLines } from "../src/near.ts";
import { growth } from "./support/growth.ts";

test.each([
  ["idnex.ts", ["index.ts", "main.ts"], ["index.ts"]],
  ["README", ["readme.md", "src"], ["readme.md"]],
  ["config", ["tsconfig.json", "zzz"], ["tsconfig.json"]],
  ["qqqq", ["index.ts"], []],
  ["x", [], []],
])("%p among %p: %p", (wanted, names, expected) => {
  expect(closeNames(wanted, names)).toEqual(expected);
});

test.each([
  ["a\n  b\n", "b", { first: 2, last: 2, sameButForm: true }],
  ["a\nx  y\nb\n", "\nx y\n", { first: 2, last: 2, sameButForm: true }],
  ["call(a,\n     b);\n", "call(a,\n  b);", { first: 1, last: 2, sameButForm: true }],
  ["let it = ‘x’ – 1;\n", "it = 'x' - 1", { first: 1, last: 1, sameButForm: true }],
  ["one\ntwo\nthree\n", "one\ntoo\nthree", { first: 1, last: 3, sameButForm: false }],
  ["return total + tax;\n", "return total - tax;", { first: 1, last: 1, sameButForm: false }],
  [" b\nb\n", "b ", null],
  ["abc\n", "zzz", null],
  ["abc\n", "\n\n", null],
  ["", "x", null],
] as const)("in %j the nearest to %j is %p", (text, wanted, expected) => {
  expect(nearestLines(text, wanted)).toEqual(expected);
});

test("a miss in a repetitive file is answered in time by its length, not by that of the block as well", async () => {
  const search = (count: number) => {
    const text = "same line here\n".repeat(count * 20);
    const wanted = `${"same line here\n".repeat(count)}other`;
    return () => nearestLines(text, wanted);
  };
  expect(await growth(search, 50)).toBeLessThan(8);
});
