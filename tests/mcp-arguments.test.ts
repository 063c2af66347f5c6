/** A model's arguments against a stranger's schema. */
import { expect, test } from "bun:test";
import { argumentFaults, mendArguments } from "../src/mcp-arguments.ts";
import type { JsonObject } from "../src/types.ts";

const SCHEMA: JsonObject = {
  type: "object",
  properties: {
    path: { type: "string" },
    count: { type: "integer" },
    tags: { type: "array", items: { type: "string" } },
    where: { type: "object", properties: { city: { type: "string" }, zip: { type: "string" } }, required: ["city"] },
    owner: { type: ["string", "null"] },
    any: {},
  },
  required: ["path"],
};

test.each<[string, JsonObject, JsonObject]>([
  ["null for an optional property is absent", { path: "a", count: null, any: null }, { path: "a" }],
  ["null for a required one stays, to be refused", { path: null }, { path: null }],
  ["null that the schema names is a value", { path: "a", owner: null }, { path: "a", owner: null }],
  ["nested ones too", { path: "a", where: { city: "x", zip: null } }, { path: "a", where: { city: "x" } }],
  ["a list written as a string is parsed once", { path: "a", tags: '["x"]' }, { path: "a", tags: ["x"] }],
  [
    "an object written as a string too",
    { path: "a", where: '{"city":"x","zip":null}' },
    { path: "a", where: { city: "x" } },
  ],
  ["a numeric string is a number", { path: "a", count: " 3 " }, { path: "a", count: 3 }],
  ["a string stays a string", { path: "3", tags: "no list" }, { path: "3", tags: "no list" }],
  ["what the schema doesn't know stays as it is", { path: "a", more: null, x: "1" }, { path: "a", x: "1" }],
])("%s", (_, given, expected) => {
  expect(mendArguments(SCHEMA, given)).toEqual(expected);
});

test.each<[JsonObject, string[]]>([
  [{ path: "a" }, []],
  [{}, ['"path" is missing']],
  [{ path: 1 }, ['"path" must be string, is number']],
  [{ path: "a", where: {} }, ['"where" "city" is missing']],
  [{ path: "a", tags: ["x", 2] }, ['"tags[1]" must be string, is number']],
])("%j: %j", (given, faults) => {
  expect(argumentFaults(SCHEMA, given)).toEqual(faults);
});

test("patterns of a server are left to the server: one that never ends, one that doesn't compile, keys by pattern", () => {
  const hostile = { type: "string", pattern: "^(a+)+$" };
  const odd = { type: "string", pattern: "[\\-" };
  const schema = {
    type: "object",
    properties: { pattern: { type: "string" }, hostile, odd },
    patternProperties: { "^(x+)+$": { type: "number" } },
    additionalProperties: false,
  };
  expect(argumentFaults(schema, { pattern: "p", hostile: `${"a".repeat(60)}!`, odd: "x", xx: 1 })).toEqual([]);
  expect(argumentFaults(schema, { pattern: 1 })).toEqual(['"pattern" must be string, is number']);
});

test("values of enum and const are compared as they stand, whatever their keys are called", () => {
  const schema = { type: "object", properties: { a: { enum: [{ pattern: "x" }] } } };
  expect(argumentFaults(schema, { a: { pattern: "x" } })).toEqual([]);
  expect(argumentFaults(schema, { a: {} })).toHaveLength(1);
});

test("alternatives that refer to themselves twice end, and references that lead nowhere forbid nothing", () => {
  const twice: JsonObject = {
    $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] } },
    type: "object",
    properties: { x: { $ref: "#/$defs/a" } },
  };
  expect(Array.isArray(argumentFaults(twice, { x: 1 }))).toBe(true);
  const lost = { type: "object", properties: { x: { $ref: "https://example.com/%zz" }, y: { $ref: "#/%zz" } } };
  expect(argumentFaults(lost, { x: 1, y: 2 })).toEqual([]);
});

test("alternatives that only a pattern or a format tells apart both fit, and an exclusion by pattern excludes nothing", () => {
  const schema: JsonObject = {
    type: "object",
    properties: {
      who: {
        oneOf: [
          { type: "string", format: "email" },
          { type: "string", pattern: "^@" },
        ],
      },
      name: { type: "string", not: { pattern: "^_" } },
      kind: { type: "file" },
      not: { type: "string" },
      oneOf: { type: "integer" },
    },
    additionalProperties: false,
  };
  expect(argumentFaults(schema, { who: "@me", name: "me", kind: {}, not: "x", oneOf: 1 })).toEqual([]);
  expect(argumentFaults(schema, { who: 1 })).toHaveLength(1);
  expect(argumentFaults(schema, { not: 1 })).toEqual(['"not" must be string, is number']);
});

test("a fault that quotes a list of a hundred thousand values is a phrase, and many such lists end", () => {
  const enumeration = { enum: Array.from({ length: 100_000 }, (_, index) => `value ${index}`) };
  const double = (to: string): JsonObject => ({ anyOf: [{ $ref: to }, { $ref: to }] });
  const defs = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`d${at}`, double(`#/$defs/d${at + 1}`)]));
  const schema: JsonObject = {
    type: "object",
    $defs: { ...defs, d16: enumeration },
    properties: { one: enumeration, all: { $ref: "#/$defs/d0" } },
  };
  const [fault = ""] = argumentFaults(schema, { one: "other" });
  expect(fault).toStartWith('"one" must be one of ["value 0"');
  expect(fault.length).toBeLessThan(600);
  // 65,536 times the list, if all were compared.
  expect(Array.isArray(argumentFaults(schema, { all: "other" }))).toBe(true);
});
