import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { jsonSchema, validateInput } from "../src/tool-input.ts";

const schema = v.object({
  path: v.pipe(v.string(), v.minLength(1), v.description("a path")),
  limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  kind: v.optional(v.picklist(["a", "b"])),
  edits: v.optional(v.array(v.object({ old: v.string(), all: v.optional(v.boolean()) }))),
});

describe("mends what is no guess", () => {
  test.each([
    [{ path: "x", limit: null }, { path: "x" }],
    [
      { path: "x", limit: "12" },
      { path: "x", limit: 12 },
    ],
    [
      { path: "x", edits: '[{"old":"a","all":null}]' },
      { path: "x", edits: [{ old: "a" }] },
    ],
    [
      { path: "x", edits: ['{"old":"a"}'] },
      { path: "x", edits: [{ old: "a" }] },
    ],
    [{ path: "5" }, { path: "5" }],
  ])("%j", (raw, input) => expect(validateInput(schema, raw)).toEqual({ ok: true, input }));
});

describe("names the field, what came and what is wanted", () => {
  test.each([
    [{}, /^\[validation error\] "path" is required \(string\)$/],
    [{ path: 5 }, /"path" must be string, not 5/],
    [{ path: "x", limit: "many" }, /"limit" must be number, not "many"/],
    [{ path: "x", limit: 0 }, /"limit": /],
    [{ path: "x", kind: "c" }, /"kind" must be \("a" \| "b"\), not "c"/],
    [{ path: "x", edits: "not json" }, /"edits" must be Array, not "not json"/],
    [{ path: "x", edits: [{ all: true }] }, /"edits\.0\.old" is required \(string\)/],
    [{ path: null }, /"path" must be string, not null/],
  ])("%j", (raw, message) => {
    const result = validateInput(schema, raw);
    expect(result).toMatchObject({ ok: false });
    if (!result.ok) expect(result.message).toMatch(message);
  });
});

test("the schema for the wire is plain JSON Schema", () => {
  expect(jsonSchema(schema)).toEqual({
    type: "object",
    properties: {
      path: { type: "string", minLength: 1, description: "a path" },
      limit: { type: "integer", minimum: 1 },
      kind: { type: "string", enum: ["a", "b"] },
      edits: {
        type: "array",
        items: { type: "object", properties: { old: { type: "string" }, all: { type: "boolean" } }, required: ["old"] },
      },
    },
    required: ["path"],
  });
});
