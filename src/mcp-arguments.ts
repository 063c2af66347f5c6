/** A model's arguments against the schema a server gave: the few repairs that are no guess, then what is wrong. The schema is untrusted; the server checks again. */
import { schemaFaults } from "./json-schema.ts";
import { oneLine } from "./text.ts";
import type { Json, JsonObject } from "./types.ts";

/** Deeper than this nothing is repaired; no arguments are. */
const MAX_DEPTH = 24;
/** A fault quotes the schema, which may list a hundred thousand values. */
const MAX_FAULT = 500;

/** `null` for an optional property is dropped, a JSON string where structure is wanted is parsed once, a numeric string is a number. */
export function mendArguments(schema: JsonObject, given: JsonObject): JsonObject {
  return mendObject(schema, given, 0);
}

/** What doesn't satisfy the schema of a stranger, one bounded phrase each; empty when all does. Never throws. */
export function argumentFaults(schema: JsonObject, given: Json): string[] {
  return schemaFaults(checkable(schema), given).map((fault) =>
    oneLine(
      fault.replace(/^\$: /, "").replace(/^\$\.(.+?): /, (_, path: string) => `"${path}" `),
      MAX_FAULT,
    ),
  );
}

function mend(schema: Json | undefined, value: Json, depth: number): Json {
  if (!isObject(schema) || depth > MAX_DEPTH) return value;
  const whole = typeof value === "string" ? fromText(schema, value) : value;
  if (Array.isArray(whole)) return whole.map((item) => mend(schema.items, item, depth + 1));
  return isObject(whole) ? mendObject(schema, whole, depth) : whole;
}

function mendObject(schema: JsonObject, given: JsonObject, depth: number): JsonObject {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const entries = Object.entries(given).flatMap(([key, value]): [string, Json][] => {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (value === null && !required.includes(key) && !namesNull(property)) return [];
    return [[key, mend(property, value, depth + 1)]];
  });
  return Object.fromEntries(entries);
}

function fromText(schema: JsonObject, text: string): Json {
  if (schema.type === "object" || schema.type === "array") return parsedOr(text);
  const numeric = schema.type === "number" || schema.type === "integer";
  return numeric && /^\s*-?\d{1,15}(?:\.\d+)?\s*$/.test(text) ? Number(text) : text;
}

function parsedOr(text: string): Json {
  try {
    return JSON.parse(text) as Json; // JSON.parse gives nothing else
  } catch {
    return text; // the schema says what is wrong with it
  }
}

/** Where null is a value of its own, it means something. */
function namesNull(schema: Json | undefined): boolean {
  if (!isObject(schema)) return false;
  const lists = [schema.anyOf, schema.oneOf].flatMap((list) => (Array.isArray(list) ? list : []));
  return (
    schema.type === "null" ||
    (Array.isArray(schema.type) && schema.type.includes("null")) ||
    (Array.isArray(schema.enum) && schema.enum.includes(null)) ||
    lists.some((one) => isObject(one) && one.type === "null")
  );
}

const checkables = new WeakMap<JsonObject, JsonObject>();

/**
 * The schema without what can't be judged here: a stranger's pattern may take for ever or not compile, formats are not
 * checked, references may lead nowhere. Without it two alternatives may both fit and an exclusion may take in
 * everything, so `oneOf` is `anyOf`, and `not` is left out. What only that could tell apart is left to the server.
 */
function checkable(schema: JsonObject): JsonObject {
  const known = checkables.get(schema);
  if (known) return known;
  const bare = bareSchema(schema, 0);
  checkables.set(schema, bare);
  return bare;
}

/** Keywords whose values are no schemas. */
const DATA = new Set(["enum", "const", "default", "examples"]);
/** Keywords whose values are schemas by name: a property may be called as a keyword is. */
const BY_NAME = new Set(["properties", "$defs", "definitions"]);
const TYPES = new Set<Json>(["null", "boolean", "object", "array", "number", "string", "integer"]);

function bareSchema(schema: JsonObject, depth: number): JsonObject {
  if (depth > MAX_DEPTH * 4) return {};
  const kept = Object.entries(schema).filter(([key, value]) => isJudged(key, value, schema));
  const bare = Object.fromEntries(kept.map(([key, value]) => [key, bareValue(key, value, depth + 1)]));
  if (!Array.isArray(bare.oneOf)) return bare;
  const { oneOf, ...rest } = bare;
  return { ...rest, allOf: [...(Array.isArray(rest.allOf) ? rest.allOf : []), { anyOf: oneOf }] };
}

function isJudged(key: string, value: Json, schema: JsonObject): boolean {
  switch (key) {
    case "pattern":
    case "patternProperties":
    case "not":
      return false;
    case "additionalProperties":
      return !("patternProperties" in schema);
    case "type":
      return (Array.isArray(value) ? value : [value]).every((type) => TYPES.has(type));
    case "$ref":
      // One that can't be followed forbids nothing.
      return typeof value === "string" && /^#(?:\/[^%]*)?$/.test(value);
    default:
      return true;
  }
}

function bareValue(key: string, value: Json, depth: number): Json {
  if (DATA.has(key)) return value;
  if (Array.isArray(value)) return value.map((item) => bareValue("", item, depth));
  if (!isObject(value)) return value;
  if (!BY_NAME.has(key)) return bareSchema(value, depth);
  const entries = Object.entries(value).map(([name, one]): [string, Json] => [name, bareValue("", one, depth + 1)]);
  return Object.fromEntries(entries);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
