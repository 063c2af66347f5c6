import { describe, expect, test } from "bun:test";
import { documentIn } from "../src/headless-schema.ts";
import { schemaFaults, schemaProblem } from "../src/json-schema.ts";
import type { Json, JsonObject } from "../src/types.ts";

const person: JsonObject = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1 },
    age: { type: "integer", minimum: 0 },
    tags: { type: "array", items: { $ref: "#/$defs/tag" }, uniqueItems: true },
  },
  required: ["name"],
  additionalProperties: false,
  $defs: { tag: { enum: ["a", "b"] } },
};

test.each<[Json, string[]]>([
  [{ name: "x" }, []],
  [{ name: "x", age: 3, tags: ["a", "b"] }, []],
  [{}, ['$: "name" is missing']],
  [{ name: "" }, ["$.name: must have a length of at least 1"]],
  [{ name: 5 }, ["$.name: must be string, is number"]],
  [{ name: "x", age: 1.5 }, ["$.age: must be integer, is number"]],
  [{ name: "x", age: -1 }, ["$.age: must be at least 0"]],
  [{ name: "x", tags: ["a", "c"] }, ['$.tags[1]: must be one of ["a","b"]']],
  [{ name: "x", tags: ["a", "a"] }, ["$.tags: items must be unique"]],
  [{ name: "x", other: 1 }, ['$: "other" is not allowed']],
  [[], ["$: must be object, is array"]],
])("%j", (value, faults) => expect(schemaFaults(person, value)).toEqual(faults));

describe("combinators", () => {
  test.each<[JsonObject, Json, boolean]>([
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, null, true],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, 1, false],
    [{ oneOf: [{ minimum: 1 }, { maximum: 5 }] }, 3, false],
    [{ oneOf: [{ minimum: 4 }, { maximum: 2 }] }, 5, true],
    [{ allOf: [{ type: "number" }, { multipleOf: 0.1 }] }, 0.3, true],
    [{ not: { const: "x" } }, "x", false],
    [{ type: ["string", "null"] }, null, true],
    [{ const: { a: 1, b: 2 } }, { b: 2, a: 1 }, true],
    [{ patternProperties: { "^x": { type: "number" } }, additionalProperties: false }, { x1: 1 }, true],
    [{ patternProperties: { "^x": { type: "number" } }, additionalProperties: false }, { y: 1 }, false],
    [{ prefixItems: [{ type: "string" }], items: { type: "number" } }, ["a", 1], true],
    [{ prefixItems: [{ type: "string" }], items: { type: "number" } }, ["a", "b"], false],
    [{ pattern: "^\\p{L}+$" }, "é", true],
    [{ $ref: "#", type: "object" }, { any: { thing: 1 } }, false],
  ])("%j on %j: %p", (schema, value, fits) => expect(schemaFaults(schema, value).length === 0).toBe(fits));
});

test("a recursive schema checks recursive data", () => {
  const tree: JsonObject = { type: "object", properties: { child: { $ref: "#" } }, additionalProperties: false };
  expect(schemaFaults(tree, { child: { child: {} } })).toEqual([]);
  expect(schemaFaults(tree, { child: { child: { x: 1 } } })).toEqual(['$.child.child: "x" is not allowed']);
});

test.each<[Json, RegExp | null]>([
  [person, null],
  ["text", /must be an object/],
  [{ type: "text" }, /unknown type "text"/],
  [{ properties: { a: { pattern: "(" } } }, /\$\.properties\.a: "\(" is no regular expression/],
  [{ $ref: "#/nowhere" }, /leads nowhere/],
  [{ $ref: "https://example.org/s.json" }, /only references within/],
  [{ required: "name" }, /required must be a list/],
  [{ items: 5 }, /\$\.items must be an object or a boolean/],
])("the schema %j has the problem %p", (schema, problem) => {
  const found = schemaProblem(schema);
  if (problem === null) expect(found).toBeNull();
  else expect(found).toMatch(problem);
});

test("a document in a fence counts; words around it don't", () => {
  expect(documentIn('```json\n{"name":"x"}\n```', person)).toEqual({ ok: true, text: '{"name":"x"}' });
  expect(documentIn('Here: {"name":"x"}', person)).toMatchObject({ ok: false });
  expect(documentIn('{"name":""}', person)).toMatchObject({
    ok: false,
    fault: "$.name: must have a length of at least 1",
  });
});
