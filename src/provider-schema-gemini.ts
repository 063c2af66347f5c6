/** JSON Schema cut down to the subset that Gemini's endpoints take. Pure. */
import { isObject } from "./provider-errors.ts";
import { inlineRefs } from "./provider-schema-refs.ts";
import type { Json, JsonObject } from "./types.ts";

// ai.google.dev/api/caching#Schema: everything else is a 400 ("Unknown name").
const COPIED = [
  "title",
  "description",
  "minimum",
  "maximum",
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "pattern",
];
const FORMATS: Record<string, readonly string[]> = {
  string: ["enum", "date-time"],
  number: ["float", "double"],
  integer: ["int32", "int64"],
};

/** A schema of the subset: refs inlined, `const` and enums as strings, null unions as `nullable`, unknown words gone. */
export function geminiSchema(schema: JsonObject): JsonObject {
  const whole = inlineRefs(schema);
  const result = convert(isObject(whole) ? whole : schema);
  return { ...result, type: "object", properties: isObject(result.properties) ? result.properties : {} };
}

function convert(schema: JsonObject): JsonObject {
  const merged = mergeAll(schema);
  const branches = branchesOf(merged);
  const nullable = merged.nullable === true || branches.some(isNullType) || typesOf(merged).includes("null");
  const real = branches.filter((branch) => !isNullType(branch));
  const only = real[0];
  const base = real.length === 1 && only ? { ...merged, ...only } : merged;
  const types = typesOf(base).filter((type) => type !== "null");
  const out: JsonObject = { ...copied(base), ...(nullable && { nullable: true }) };
  if (real.length > 1) return { ...out, anyOf: real.map(convert) };
  if (types.length > 1) return { ...out, anyOf: types.map((type) => convert({ ...withoutMeta(base), type })) };
  return { ...out, ...typed(base, types[0] ?? guessType(base)) };
}

function typed(schema: JsonObject, type: string): JsonObject {
  const values = enumOf(schema);
  // Only strings can be listed; a numeric enum is offered as text.
  if (values) return { type: "string", enum: values };
  const format =
    typeof schema.format === "string" && FORMATS[type]?.includes(schema.format) ? { format: schema.format } : {};
  if (type === "object") return { type, ...objectWords(schema) };
  if (type === "array") return { type, items: isObject(schema.items) ? convert(schema.items) : { type: "string" } };
  return { type, ...format };
}

function objectWords(schema: JsonObject): JsonObject {
  const own = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  const properties = Object.fromEntries(
    own.map(([name, value]) => [name, isObject(value) ? convert(value) : { type: "string" }]),
  );
  const required = Array.isArray(schema.required)
    ? schema.required.filter((name) => typeof name === "string" && name in properties)
    : [];
  return { properties, ...(required.length > 0 && { required }) };
}

function copied(schema: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const word of COPIED) if (schema[word] !== undefined) out[word] = schema[word];
  return out;
}

function withoutMeta(schema: JsonObject): JsonObject {
  const { title: _, description: __, nullable: ___, ...rest } = schema;
  return rest;
}

function branchesOf(schema: JsonObject): JsonObject[] {
  const list = Array.isArray(schema.anyOf) ? schema.anyOf : Array.isArray(schema.oneOf) ? schema.oneOf : [];
  return list.filter(isObject);
}

function mergeAll(schema: JsonObject): JsonObject {
  if (!Array.isArray(schema.allOf)) return schema;
  const { allOf, ...rest } = schema;
  let merged: JsonObject = rest;
  for (const part of allOf.filter(isObject)) {
    const properties = { ...objectOr(part.properties), ...objectOr(merged.properties) };
    const required = [...listOr(merged.required), ...listOr(part.required)];
    merged = {
      ...part,
      ...merged,
      ...(Object.keys(properties).length > 0 && { properties }),
      ...(required.length > 0 && { required }),
    };
  }
  return merged;
}

const objectOr = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
const listOr = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

const isNullType = (schema: JsonObject) => schema.type === "null" || schema.const === null;

function typesOf(schema: JsonObject): string[] {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return types.filter((type): type is string => typeof type === "string");
}

function enumOf(schema: JsonObject): string[] | null {
  const values = schema.const !== undefined && schema.const !== null ? [schema.const] : listOr(schema.enum);
  const texts = values
    .filter((value) => value !== null && value !== "")
    .map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  return texts.length > 0 ? [...new Set(texts)] : null;
}

function guessType(schema: JsonObject): string {
  if (isObject(schema.properties)) return "object";
  return schema.items === undefined ? "string" : "array";
}
