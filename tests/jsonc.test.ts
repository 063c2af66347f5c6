import { describe, expect, test } from "bun:test";
import { JsoncError, parseJsonc, plain, removeTopLevel, setTopLevel } from "../src/jsonc.ts";

test("comments, trailing commas and a BOM are read", () => {
  const text = '\uFEFF{ // one\n "a": 1, /* two */ "b": [true, null, "x\\n",], }';
  expect(plain(parseJsonc(text))).toEqual({ a: 1, b: [true, null, "x\n"] });
});

test("keys keep the order of the file, numbers among them, and know their lines", () => {
  const node = parseJsonc('{\n  "b": 1,\n  "1": 2,\n  "a": 3\n}');
  if (node.kind !== "object") throw new Error("not an object");
  expect(node.entries.map(({ key, line }) => [key, line])).toEqual([
    ["b", 2],
    ["1", 3],
    ["a", 4],
  ]);
});

test("a key named __proto__ is data", () => {
  const value = plain(parseJsonc('{"__proto__": {"polluted": true}}'));
  expect(Object.keys(value as object)).toEqual(["__proto__"]);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});

test.each([
  ['{\n  "a": tru\n}', 2, 8],
  ['{"a" 1}', 1, 6],
  ['{"a": 1} x', 1, 10],
  ['{"a": "x\n"}', 1, 7],
  ["{'a': 1}", 1, 2],
  ['{"a": 01}', 1, 7],
  ['{"a": [1 2]}', 1, 10],
  ['{"a": "\\q"}', 1, 7],
  ["", 1, 1],
  ['{"a": 1', 1, 8],
])("%j is refused at line %d, column %d", (text, line, column) => {
  expect(() => parseJsonc(text)).toThrow(JsoncError);
  try {
    parseJsonc(text);
  } catch (error) {
    expect((error as JsoncError).place).toMatchObject({ line, column });
  }
});

test("a document nested without end is refused, not a stack overflow", () => {
  expect(() => parseJsonc("[".repeat(100_000))).toThrow(JsoncError);
});

describe("changing one value", () => {
  const file = '{\n  // mine\n  "model": "a", // keep\n  "unknown": [1,\n 2]\n}\n';
  test("leaves comments, order and everything else as they are", () => {
    expect(setTopLevel(file, "model", "b")).toBe(file.replace('"a"', '"b"'));
  });
  test("adds a key at the end", () => {
    const changed = setTopLevel(file, "provider", "openai");
    expect(changed).toContain("// mine");
    expect(plain(parseJsonc(changed))).toEqual({ model: "a", unknown: [1, 2], provider: "openai" });
  });
  test.each(["", "{}", "{ }", '{"a": 1}', '{"a": 1,}', '{"a": 1, // c\n}', '{"a": {"b": [1]}}'])(
    "works in %j",
    (text) => {
      const before = text.trim() === "" ? {} : (plain(parseJsonc(text)) as object);
      expect(plain(parseJsonc(setTopLevel(text, "k", { deep: ["v"] })))).toEqual({ ...before, k: { deep: ["v"] } });
    },
  );
  test("removes a key with its comma", () => {
    expect(plain(parseJsonc(removeTopLevel('{"a": 1, "b": 2, "c": 3}', "b")))).toEqual({ a: 1, c: 3 });
    expect(plain(parseJsonc(removeTopLevel('{"a": 1, "b": 2}', "b")))).toEqual({ a: 1 });
    expect(removeTopLevel('{"a": 1}', "z")).toBe('{"a": 1}');
  });
});

test("what JSON.stringify writes reads back the same (random documents)", () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return seed % below;
  };
  const make = (depth: number): unknown => {
    const kind = random(depth > 3 ? 4 : 6);
    if (kind === 0) return random(1000) / 7;
    if (kind === 1) return ["é\u2028", '"\\/', "\u0001\t", "👍", ""][random(5)];
    if (kind === 2) return random(2) === 0;
    if (kind === 3) return null;
    if (kind === 4) return Array.from({ length: random(4) }, () => make(depth + 1));
    return Object.fromEntries(Array.from({ length: random(4) }, (_, at) => [`k${at}${random(9)}`, make(depth + 1)]));
  };
  for (let round = 0; round < 300; round++) {
    const value = make(0);
    expect(plain(parseJsonc(JSON.stringify(value, null, random(3))))).toEqual(value as never);
  }
});
