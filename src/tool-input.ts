/** Model arguments through the door: the few repairs that are no guess, then the tool's schema; and the schema as JSON for the wire. */
import * as v from "valibot";
import type { Json, JsonObject } from "./types.ts";

/** What this file reads of a valibot schema; the library's types keep these fields apart per kind. */
interface SchemaNode {
  type: string;
  wrapped?: SchemaNode;
  entries?: Record<string, SchemaNode>;
  item?: SchemaNode;
  options?: readonly (SchemaNode | string)[];
  literal?: Json;
  pipe?: readonly (
    | { kind: "schema" }
    | { kind: "validation" | "transformation" | "metadata"; type: string; requirement?: unknown; description?: string }
  )[];
  default?: unknown;
}

export type Validated = { ok: true; input: unknown } | { ok: false; message: string };

/** Validates arguments. The message names the field, what came and what is wanted, and begins `[validation error]`. */
export function validateInput(schema: v.GenericSchema, raw: JsonObject): Validated {
  const node = schema as unknown as SchemaNode; // see SchemaNode
  const result = v.safeParse(schema, mend(node, raw));
  if (result.success) return { ok: true, input: result.output };
  return {
    ok: false,
    message: `[validation error] ${result.issues
      .slice(0, 3)
      .map((issue) => describeIssue(issue, node))
      .join("; ")}`,
  };
}

function describeIssue(issue: v.BaseIssue<unknown>, root: SchemaNode): string {
  const path = (issue.path ?? []).map((item) => String(item.key)).join(".");
  const field = path === "" ? "the arguments" : `"${path}"`;
  if (issue.received === "undefined") return `${field} is required (${wantedAt(root, issue)})`;
  const received = issue.received.length > 80 ? `${issue.received.slice(0, 80)}…` : issue.received;
  if (issue.kind === "schema" && issue.expected) return `${field} must be ${issue.expected}, not ${received}`;
  return `${field}: ${issue.message}`;
}

/** What a missing field should have been: valibot says its name only. */
function wantedAt(root: SchemaNode, issue: v.BaseIssue<unknown>): string {
  let at: SchemaNode | undefined = root;
  for (const item of issue.path ?? []) {
    const target: SchemaNode | undefined = at && unwrap(at);
    at = target?.type === "array" ? target.item : target?.entries?.[String(item.key)];
  }
  const type = at && unwrap(at).type;
  return type === undefined ? "a value" : type.replace(/^(?:strict|loose)_/, "");
}

/** null for an optional field is absent, a JSON string where structure is wanted is parsed once, a numeric string is a number. */
function mend(node: SchemaNode, value: unknown): unknown {
  const target = unwrap(node);
  if (typeof value === "string" && (target.type === "array" || isObject(target)))
    return mendStructure(target, parsedOr(value));
  if (typeof value === "string" && target.type === "number" && /^\s*-?\d+(\.\d+)?\s*$/.test(value))
    return Number(value);
  return mendStructure(target, value);
}

function mendStructure(target: SchemaNode, value: unknown): unknown {
  if (target.type === "array" && Array.isArray(value))
    return value.map((item) => (target.item ? mend(target.item, item) : item));
  if (!isObject(target) || typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const mended: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const entry = Object.hasOwn(target.entries ?? {}, key) ? target.entries?.[key] : undefined;
    if (item === null && entry && isOptional(entry)) continue;
    mended[key] = entry ? mend(entry, item) : item;
  }
  return mended;
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // the schema says what is wrong with it
  }
}

/** JSON Schema of a tool's input: the subset of valibot that tools use; anything else is a mistake in the tool and throws. */
export function jsonSchema(schema: v.GenericSchema): JsonObject {
  return derive(schema as unknown as SchemaNode); // see SchemaNode
}

function derive(node: SchemaNode): JsonObject {
  const target = unwrap(node);
  return { ...kindOf(target), ...constraints(node) };
}

function kindOf(node: SchemaNode): JsonObject {
  switch (node.type) {
    case "string":
    case "number":
    case "boolean":
      return { type: node.type };
    case "picklist":
      return { type: "string", enum: (node.options ?? []) as string[] }; // picklists of tools hold strings
    case "array":
      return { type: "array", items: node.item ? derive(node.item) : {} };
    case "object":
    case "strict_object":
    case "loose_object":
      return objectSchema(node);
    case "union":
      return { anyOf: ((node.options ?? []) as SchemaNode[]).map(derive) }; // unions hold schemas
    case "any":
    case "unknown":
      return {};
    case "record":
      return { type: "object" };
    default:
      throw new Error(`No JSON Schema for valibot's "${node.type}"`);
  }
}

function objectSchema(node: SchemaNode): JsonObject {
  const entries = Object.entries(node.entries ?? {});
  const required = entries.filter(([, entry]) => !isOptional(entry)).map(([key]) => key);
  const properties = Object.fromEntries(entries.map(([key, entry]) => [key, derive(entry)]));
  return { type: "object", properties, ...(required.length > 0 ? { required } : {}) };
}

const LIMITS: Record<string, string> = {
  min_value: "minimum",
  max_value: "maximum",
  min_length: "minLength",
  max_length: "maxLength",
};

function constraints(node: SchemaNode): JsonObject {
  const found: JsonObject = {};
  for (let at: SchemaNode | undefined = node; at; at = at.wrapped) {
    const inner = unwrap(at);
    for (const item of at.pipe ?? []) {
      if (item.kind === "schema") continue;
      if (item.type === "integer") found.type = "integer";
      if (item.type === "description" && item.description !== undefined) found.description = item.description;
      const limit = LIMITS[item.type];
      if (!limit || typeof item.requirement !== "number") continue;
      found[inner.type === "array" ? limit.replace("Length", "Items") : limit] = item.requirement;
    }
  }
  return found;
}

function unwrap(node: SchemaNode): SchemaNode {
  let at = node;
  while (at.wrapped) at = at.wrapped;
  return at;
}

function isObject(node: SchemaNode): boolean {
  return node.type === "object" || node.type === "strict_object" || node.type === "loose_object";
}

function isOptional(node: SchemaNode): boolean {
  return node.type === "optional" || node.type === "nullish" || node.type === "exact_optional";
}
