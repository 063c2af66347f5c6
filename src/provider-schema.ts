/** Tool names and schemas as each endpoint takes them. Pure: the same tools give the same bytes, whatever came before. */
import { sha256 } from "./digest.ts";
import { isObject } from "./provider-errors.ts";
import { inlineRefs } from "./provider-schema-refs.ts";
import { geminiSchema } from "./provider-schema-gemini.ts";
import type { ToolDefinition } from "./provider.ts";
import type { Json, JsonObject } from "./types.ts";

/** Whose rules a schema must meet. */
export type SchemaDialect = "plain" | "gemini";

export interface WireTools {
  tools: ToolDefinition[];
  /** The tool's own name for what the model calls it. */
  nameOf(wireName: string): string;
  /** One sentence for each tool that was left out. */
  notices: string[];
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

const known = new WeakMap<readonly ToolDefinition[], Map<SchemaDialect, WireTools>>();

/** `mendTools`, once for each list: a session hands over the same one with every request. */
export function wireTools(tools: readonly ToolDefinition[], dialect: SchemaDialect): WireTools {
  const byDialect = known.get(tools) ?? new Map<SchemaDialect, WireTools>();
  known.set(tools, byDialect);
  const mended = byDialect.get(dialect) ?? mendTools(tools, dialect);
  byDialect.set(dialect, mended);
  return mended;
}

/** Tools in the order given, first come first served where two share a name; those that can't be mended are left out alone. */
function mendTools(tools: readonly ToolDefinition[], dialect: SchemaDialect): WireTools {
  const byWireName = new Map<string, string>();
  const kept: ToolDefinition[] = [];
  const notices: string[] = [];
  for (const tool of tools) {
    const name = wireName(tool.name);
    const schema = byWireName.has(name) ? "its name is taken" : mendSchema(tool.schema, dialect);
    if (typeof schema === "string") {
      notices.push(`Tool "${tool.name}" is left out: ${schema}.`);
      continue;
    }
    byWireName.set(name, tool.name);
    const note = schema.note ? `\n${schema.note}` : "";
    kept.push({ name, description: (tool.description + note).trim() || name, schema: schema.schema });
  }
  return { tools: kept, notices, nameOf: (name) => byWireName.get(name) ?? name };
}

/** A name that every wire takes: itself where it fits, else its readable part and a hash of the whole. */
export function wireName(name: string): string {
  if (NAME.test(name)) return name;
  const digest = sha256(name.toWellFormed()).slice(0, 8);
  const readable = name.replace(/[^a-zA-Z0-9_-]+/g, "_").replace(/^_+|_+$/g, "");
  return `${readable.slice(0, 55) || "tool"}_${digest}`;
}

interface Mended {
  schema: JsonObject;
  /** A rule that the schema can no longer say. */
  note: string | null;
}

/** The schema with an object at the top, or the reason why there is none. */
function mendSchema(schema: Json, dialect: SchemaDialect): Mended | string {
  if (!isObject(schema)) return "its input schema is no object";
  const top = typeof schema.$ref === "string" ? inlineRefs(schema) : schema;
  if (!isObject(top)) return "its input schema refers to nothing";
  const { $schema: _, $id: __, ...rest } = top;
  if (rest.type !== undefined && !allowsObject(rest.type))
    return `its input schema is of type ${JSON.stringify(rest.type)}`;
  const merged = mergeTop(rest);
  const properties = isObject(merged.schema.properties) ? merged.schema.properties : {};
  const whole: JsonObject = { ...merged.schema, type: "object", properties };
  if (dialect === "plain") return { schema: whole, note: merged.note };
  return { schema: geminiSchema(whole), note: merged.note };
}

const allowsObject = (type: Json) => type === "object" || (Array.isArray(type) && type.includes("object"));

const COMBINATORS = ["anyOf", "oneOf", "allOf"] as const;

/** Combinators at the top become one object with all the properties; what they demanded goes into words. */
function mergeTop(schema: JsonObject): Mended {
  let merged: JsonObject = { ...schema };
  const notes: string[] = [];
  for (const word of COMBINATORS) {
    const branches = branchesOf(merged, word, schema);
    if (branches.length > 0) {
      notes.push(noteOf(word, branches));
      merged = mergeBranches(merged, branches, word);
    }
    delete merged[word];
  }
  // These two are refused at the top by some endpoints as well, and say nothing about an object's shape.
  delete merged.not;
  delete merged.enum;
  return { schema: merged, note: notes.filter(Boolean).join("\n") || null };
}

function branchesOf(schema: JsonObject, word: (typeof COMBINATORS)[number], root: JsonObject): JsonObject[] {
  const list = schema[word];
  if (!Array.isArray(list)) return [];
  const resolved = list.map((branch) =>
    isObject(branch) && typeof branch.$ref === "string" ? inlineRefs({ ...definitionsOf(root), ...branch }) : branch,
  );
  return resolved.filter(isObject);
}

function definitionsOf(root: JsonObject): JsonObject {
  return {
    ...(isObject(root.$defs) && { $defs: root.$defs }),
    ...(isObject(root.definitions) && { definitions: root.definitions }),
  };
}

function mergeBranches(schema: JsonObject, branches: JsonObject[], word: (typeof COMBINATORS)[number]): JsonObject {
  const flat = branches.map((branch) => mergeTop(branch).schema);
  const properties: JsonObject = {};
  for (const each of [schema, ...flat]) {
    for (const [name, value] of Object.entries(isObject(each.properties) ? each.properties : {}))
      properties[name] ??= value;
  }
  const demanded = flat.map((branch) => namesIn(branch.required));
  const required =
    word === "allOf"
      ? demanded.flat()
      : (demanded[0] ?? []).filter((name) => demanded.every((names) => names.includes(name)));
  const all = [...new Set([...namesIn(schema.required), ...required])];
  return { ...schema, properties, ...(all.length > 0 && { required: all }) };
}

const namesIn = (list: Json | undefined): string[] =>
  Array.isArray(list) ? list.filter((name): name is string => typeof name === "string") : [];

function noteOf(word: (typeof COMBINATORS)[number], branches: JsonObject[]): string {
  if (word === "allOf") return "";
  const groups = branches.map((branch) => namesIn(branch.required).join(", ")).filter(Boolean);
  if (groups.length < 2) return "";
  const how = word === "oneOf" ? "exactly one" : "at least one";
  return `Give ${how} of these groups of arguments: ${groups.map((group) => `(${group})`).join(" or ")}.`;
}

/** True when OpenAI's strict mode takes the schema: every object closed and all its properties required. */
export function isStrictSchema(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.every(isStrictSchema);
  if (!isObject(schema)) return true;
  const names = isObject(schema.properties) ? Object.keys(schema.properties) : [];
  const isClosed = schema.type !== "object" || schema.additionalProperties === false;
  const required = namesIn(schema.required);
  return isClosed && names.every((name) => required.includes(name)) && Object.values(schema).every(isStrictSchema);
}
