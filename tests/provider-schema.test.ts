/** Names and schemas of tools, mended for every endpoint. */
import { describe, expect, test } from "bun:test";
import { wireName, wireTools } from "../src/provider-schema.ts";
import type { Json, JsonObject } from "../src/types.ts";
import { geminiFault, toolsFault } from "./support/strict-body.ts";

const tool = (name: string, schema: unknown) => ({ name, description: "d", schema: schema as JsonObject }); // Schemas come from outside: a test hands over any value.
const mended = (schema: unknown, dialect: "plain" | "gemini" = "plain") =>
  wireTools([tool("t", schema)], dialect).tools[0];

describe("names", () => {
  const odd = [
    "my.company/very-long-server-name-for-observability__admin.users.list",
    "query worker/observability",
    "日本語",
    "é",
    "a".repeat(90),
    "",
    "a.b",
    "a_b",
    "a/b",
    "a b",
  ];

  test("all are accepted, all different, and the same in every run and order", () => {
    const names = odd.map(wireName);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(new Set(names).size).toBe(odd.length);
    expect(odd.toReversed().map(wireName).toReversed()).toEqual(names);
    expect(wireName("日本語")).toBe("tool_77710aed");
  });

  test("what fits stays as it is", () => {
    for (const name of ["bash", "read_file", "mcp__fs__read-2"]) expect(wireName(name)).toBe(name);
  });

  test("a call finds its tool by the name it was offered under", () => {
    const offered = wireTools([tool("srv.a b", { type: "object" })], "plain");
    expect(offered.nameOf(offered.tools[0]?.name ?? "")).toBe("srv.a b");
    expect(offered.nameOf("made_up")).toBe("made_up");
  });

  test("the first of two tools with one name wins, the other is left out with a notice", () => {
    const offered = wireTools(
      [
        { ...tool("bash", { type: "object" }), description: "ours" },
        { ...tool("bash", { type: "object" }), description: "theirs" },
      ],
      "plain",
    );
    expect(offered.tools.map((one) => one.description)).toEqual(["ours"]);
    expect(offered.notices).toHaveLength(1);
  });
});

describe("schemas", () => {
  const route = { type: "string", description: "r" };
  const file = { type: "string" };

  test.each<[string, JsonObject, JsonObject, string | null]>([
    [
      "required groups at the top",
      { type: "object", properties: { route, file }, anyOf: [{ required: ["route"] }, { required: ["file"] }] },
      { type: "object", properties: { route, file } },
      "at least one",
    ],
    [
      "properties only in the branches",
      {
        type: "object",
        oneOf: [
          { properties: { route }, required: ["route"] },
          { properties: { file }, required: ["file"] },
        ],
      },
      { type: "object", properties: { route, file } },
      "exactly one",
    ],
    [
      "what all branches demand stays demanded",
      {
        anyOf: [
          { properties: { route, file }, required: ["route", "file"] },
          { properties: { route }, required: ["route"] },
        ],
      },
      { type: "object", properties: { route, file }, required: ["route"] },
      "at least one",
    ],
    [
      "allOf",
      {
        allOf: [
          { properties: { route }, required: ["route"] },
          { properties: { file }, required: ["file"] },
        ],
      },
      { type: "object", properties: { route, file }, required: ["route", "file"] },
      null,
    ],
    [
      "branches behind references",
      {
        $defs: { A: { properties: { route }, required: ["route"] } },
        anyOf: [{ $ref: "#/$defs/A" }, { properties: { file } }],
      },
      { $defs: { A: { properties: { route }, required: ["route"] } }, type: "object", properties: { route, file } },
      null,
    ],
    [
      "a reference at the top",
      { $ref: "#/$defs/In", $defs: { In: { type: "object", properties: { file } } } },
      { type: "object", properties: { file } },
      null,
    ],
    ["no type and no properties", {}, { type: "object", properties: {} }, null],
    [
      "$schema",
      { $schema: "http://json-schema.org/draft-07/schema#", type: "object", properties: { file } },
      { type: "object", properties: { file } },
      null,
    ],
    [
      "combinators further down",
      { type: "object", properties: { x: { anyOf: [route, { type: "number" }] } } },
      { type: "object", properties: { x: { anyOf: [route, { type: "number" }] } } },
      null,
    ],
  ])("%s", (_, schema, wanted, note) => {
    const made = mended(schema);
    expect(made?.schema).toEqual(wanted);
    if (note) expect(made?.description).toContain(note);
    expect(toolsFault({ tools: [{}] }, [{ name: "t", schema: made?.schema }])).toBeNull();
  });

  test.each([
    [null],
    ["text"],
    [[1]],
    [{ type: "string" }],
    [{ type: "array", items: {} }],
    [{ $ref: "#/nowhere" }],
    [{ $ref: "https://elsewhere/x.json" }],
  ])("%j can't be mended: that tool is left out alone", (schema) => {
    const offered = wireTools([tool("bad", schema), tool("good", { type: "object" })], "plain");
    expect(offered.tools.map((one) => one.name)).toEqual(["good"]);
    expect(offered.notices).toEqual([expect.stringContaining('"bad"')]);
  });

  test("the given schema is not changed, and the bytes are the same each time", () => {
    const schema = {
      $schema: "x",
      type: "object",
      properties: { a: { $ref: "#/$defs/A" } },
      $defs: { A: { type: ["string", "null"], const: "k" } },
      anyOf: [{ required: ["a"] }],
    };
    const before = JSON.stringify(schema);
    for (const dialect of ["plain", "gemini"] as const)
      expect(JSON.stringify(mended(schema, dialect))).toBe(JSON.stringify(mended(schema, dialect)));
    expect(JSON.stringify(schema)).toBe(before);
  });
});

describe("Gemini's subset", () => {
  const property = (schema: Json) => {
    const made = mended({ type: "object", properties: { p: schema } }, "gemini");
    const properties = made?.schema.properties;
    return properties && typeof properties === "object" && !Array.isArray(properties) ? properties.p : undefined;
  };

  test.each<[Json, Json]>([
    [{ type: ["string", "null"] }, { nullable: true, type: "string" }],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, { nullable: true, type: "string" }],
    [{ const: "k" }, { type: "string", enum: ["k"] }],
    [{ const: 3 }, { type: "string", enum: ["3"] }],
    [
      { type: "integer", enum: [1, 2] },
      { type: "string", enum: ["1", "2"] },
    ],
    [
      { type: "number", exclusiveMinimum: 0, maximum: 5 },
      { maximum: 5, type: "number" },
    ],
    [
      { type: "string", format: "uri", minLength: 1 },
      { minLength: 1, type: "string" },
    ],
    [
      { type: "string", format: "date-time" },
      { type: "string", format: "date-time" },
    ],
    [{ type: "string", properties: { x: {} } }, { type: "string" }],
    [{ type: "array" }, { type: "array", items: { type: "string" } }],
    [
      { type: "array", items: { type: "object", additionalProperties: false } },
      { type: "array", items: { type: "object", properties: {} } },
    ],
    [{ type: ["string", "number"] }, { anyOf: [{ type: "string" }, { type: "number" }] }],
    [
      { oneOf: [{ type: "string" }, { type: "object", properties: { a: { const: 1 } }, required: ["a", "zz"] }] },
      {
        anyOf: [
          { type: "string" },
          { type: "object", properties: { a: { type: "string", enum: ["1"] } }, required: ["a"] },
        ],
      },
    ],
    [
      { allOf: [{ type: "object", properties: { a: { type: "string" } } }, { properties: { b: { type: "string" } } }] },
      { type: "object", properties: { b: { type: "string" }, a: { type: "string" } } },
    ],
    [true, { type: "string" }],
  ])("%j becomes %j", (schema, wanted) => {
    expect(property(schema)).toEqual(wanted);
  });

  test("references are inlined and one to itself ends", () => {
    const made = mended(
      {
        type: "object",
        properties: { tree: { $ref: "#/$defs/Node", description: "the root" } },
        $defs: {
          Node: {
            type: "object",
            description: "a node",
            properties: { next: { $ref: "#/$defs/Node" }, name: { type: "string" } },
          },
        },
      },
      "gemini",
    );
    expect(made?.schema).toEqual({
      type: "object",
      properties: {
        tree: {
          description: "the root",
          type: "object",
          properties: { next: { type: "string" }, name: { type: "string" } },
        },
      },
    });
  });

  test("a schema that would unfold without end is cut", () => {
    const $defs: JsonObject = {};
    for (let level = 0; level < 30; level++)
      $defs[`D${level}`] = {
        type: "object",
        properties: { a: { $ref: `#/$defs/D${level + 1}` }, b: { $ref: `#/$defs/D${level + 1}` } },
      };
    const made = mended({ type: "object", properties: { d: { $ref: "#/$defs/D0" } }, $defs }, "gemini");
    expect(JSON.stringify(made?.schema).length).toBeLessThan(1_000_000);
  });

  test("random schemas come out inside the subset", () => {
    let state = 7;
    const pick = (count: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return (state >>> 8) % count;
    };
    const make = (depth: number): JsonObject => {
      const words: JsonObject[] = [
        { type: "string", format: "email" },
        { type: ["integer", "null"] },
        { enum: [1, "a", null] },
        { const: false },
        { $ref: "#/$defs/R" },
        { exclusiveMaximum: 3, type: "number" },
      ];
      if (depth === 0) return words[pick(words.length)] ?? {};
      const deep: JsonObject[] = [
        {
          type: "object",
          properties: { x: make(depth - 1), y: make(depth - 1) },
          required: ["x"],
          additionalProperties: make(0),
          patternProperties: {},
        },
        { anyOf: [make(depth - 1), { type: "null" }] },
        { type: "array", items: make(depth - 1), uniqueItems: true },
        { allOf: [make(depth - 1), { description: "and" }] },
        { type: "array", prefixItems: [make(0)], items: [make(0)] },
      ];
      return deep[pick(deep.length)] ?? {};
    };
    for (let round = 0; round < 300; round++) {
      const schema = { type: "object", properties: { a: make(3), b: make(2) }, $defs: { R: make(1) } };
      const made = wireTools([tool("t", schema)], "gemini").tools[0];
      expect(geminiFault({ tools: [{ function: { parameters: made?.schema ?? null } }] })).toBeNull();
    }
  });
});
