/** Texts that compare calls: equal exactly when the inputs are. */
import { expect, test } from "bun:test";
import { canonicalJson } from "../src/canonical-json.ts";

test("the order of keys makes no difference, at any depth", () => {
  const one = { b: [{ y: 1, x: null }], a: 'é"' };
  const other = { a: 'é"', b: [{ x: null, y: 1 }] };
  expect(canonicalJson(one)).toBe(canonicalJson(other));
  expect(JSON.parse(canonicalJson(one))).toEqual(one);
});

test.each([
  [
    [1, 2],
    [2, 1],
  ],
  [{ a: 1 }, { a: "1" }],
  [{ a: null }, {}],
  [["a,b"], ["a", "b"]],
])("%j and %j differ", (one, other) => {
  expect(canonicalJson(one)).not.toBe(canonicalJson(other));
});

test("nothing at all is null", () => {
  expect(canonicalJson(undefined)).toBe("null");
});
