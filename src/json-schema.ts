/** Checks a value against a JSON Schema: the keywords people write by hand. Formats are not checked; unknown keywords are ignored, as the standard says. */
import type { Json, JsonObject } from "./types.ts";

/** The first few faults, each with its place (`$.items[2].name`); empty when the value satisfies the schema. */
export function schemaFaults(schema: Json, value: Json): string[] {
  const faults: string[] = [];
  check(schema, value, "$", { root: schema, faults, depth: 0, left: { steps: MAX_STEPS } });
  return faults.slice(0, MAX_FAULTS);
}

/** Why a document is no usable schema, or null. */
export function schemaProblem(schema: Json): string | null {
  return problemIn(schema, "$", { root: schema, faults: [], depth: 0, left: { steps: MAX_STEPS } });
}

interface Walk {
  root: Json;
  faults: string[];
  depth: number;
  /** Shared by all branches. */
  left: { steps: number };
}

/** Alternatives that refer back to themselves double at every level: what isn't checked within this counts as right. */
const MAX_STEPS = 200_000;
const MAX_FAULTS = 8;
/** References may lead in circles on recursive data; no answer nests deeper. */
const MAX_DEPTH = 200;

const TYPES = ["null", "boolean", "object", "array", "number", "string", "integer"];

function check(schema: Json | undefined, value: Json, path: string, walk: Walk): void {
  if (schema === true || schema === undefined || walk.faults.length >= MAX_FAULTS || walk.left.steps-- <= 0) return;
  if (schema === false) return void walk.faults.push(`${path}: nothing is allowed here`);
  if (!isObject(schema)) return;
  if (walk.depth >= MAX_DEPTH) return void walk.faults.push(`${path}: nested too deeply`);
  const inner = { ...walk, depth: walk.depth + 1 };
  if (typeof schema.$ref === "string") check(resolveRef(schema.$ref, walk.root), value, path, inner);
  checkType(schema, value, path, walk);
  checkScalar(schema, value, path, walk);
  if (isObject(value)) checkObject(schema, value, path, inner);
  if (Array.isArray(value)) checkArray(schema, value, path, inner);
  checkCombined(schema, value, path, inner);
}

function checkType(schema: JsonObject, value: Json, path: string, walk: Walk): void {
  const types = typeof schema.type === "string" ? [schema.type] : Array.isArray(schema.type) ? schema.type : [];
  if (types.length > 0 && !types.some((type) => hasType(value, type)))
    walk.faults.push(`${path}: must be ${types.join(" or ")}, is ${typeOf(value)}`);
  // A list of values is as much work as it is long.
  if (Array.isArray(schema.enum)) walk.left.steps -= schema.enum.length;
  if (Array.isArray(schema.enum) && !schema.enum.some((one) => same(one, value)))
    walk.faults.push(`${path}: must be one of ${JSON.stringify(schema.enum)}`);
  if ("const" in schema && !same(schema.const ?? null, value))
    walk.faults.push(`${path}: must be ${JSON.stringify(schema.const)}`);
}

function checkScalar(schema: JsonObject, value: Json, path: string, walk: Walk): void {
  const fault = (text: string): void => void walk.faults.push(`${path}: ${text}`);
  const limit = (key: string): number | null => (typeof schema[key] === "number" ? schema[key] : null);
  const compare = (
    key: string,
    actual: number,
    fits: (actual: number, bound: number) => boolean,
    what: string,
  ): void => {
    const bound = limit(key);
    if (bound !== null && !fits(actual, bound)) fault(`${what} ${bound}`);
  };
  if (typeof value === "number") {
    compare("minimum", value, (a, b) => a >= b, "must be at least");
    compare("maximum", value, (a, b) => a <= b, "must be at most");
    compare("exclusiveMinimum", value, (a, b) => a > b, "must be above");
    compare("exclusiveMaximum", value, (a, b) => a < b, "must be below");
    compare("multipleOf", value, (a, b) => Math.abs(a / b - Math.round(a / b)) < 1e-9, "must be a multiple of");
  }
  if (typeof value === "string") {
    compare("minLength", [...value].length, (a, b) => a >= b, "must have a length of at least");
    compare("maxLength", [...value].length, (a, b) => a <= b, "must have a length of at most");
    if (typeof schema.pattern === "string" && !new RegExp(schema.pattern, "u").test(value))
      fault(`must match ${schema.pattern}`);
  }
}

function checkObject(schema: JsonObject, value: JsonObject, path: string, walk: Walk): void {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const patterns = isObject(schema.patternProperties) ? Object.entries(schema.patternProperties) : [];
  for (const key of Array.isArray(schema.required) ? schema.required : [])
    if (typeof key === "string" && !Object.hasOwn(value, key)) walk.faults.push(`${path}: "${key}" is missing`);
  const keys = Object.keys(value);
  if (typeof schema.minProperties === "number" && keys.length < schema.minProperties)
    walk.faults.push(`${path}: needs ${schema.minProperties} properties`);
  if (typeof schema.maxProperties === "number" && keys.length > schema.maxProperties)
    walk.faults.push(`${path}: has more than ${schema.maxProperties} properties`);
  for (const key of keys) {
    const at = `${path}.${key}`;
    const own = Object.hasOwn(properties, key);
    if (own) check(properties[key], value[key] ?? null, at, walk);
    const matching = patterns.filter(([pattern]) => new RegExp(pattern, "u").test(key));
    for (const [, inner] of matching) check(inner, value[key] ?? null, at, walk);
    if (own || matching.length > 0) continue;
    if (schema.additionalProperties === false) walk.faults.push(`${path}: "${key}" is not allowed`);
    else check(schema.additionalProperties, value[key] ?? null, at, walk);
  }
}

function checkArray(schema: JsonObject, value: Json[], path: string, walk: Walk): void {
  const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  value.forEach((item, index) =>
    check(index < first.length ? first[index] : schema.items, item, `${path}[${index}]`, walk),
  );
  if (typeof schema.minItems === "number" && value.length < schema.minItems)
    walk.faults.push(`${path}: needs at least ${schema.minItems} items`);
  if (typeof schema.maxItems === "number" && value.length > schema.maxItems)
    walk.faults.push(`${path}: has more than ${schema.maxItems} items`);
  if (schema.uniqueItems === true && new Set(value.map(sorted)).size < value.length)
    walk.faults.push(`${path}: items must be unique`);
}

function checkCombined(schema: JsonObject, value: Json, path: string, walk: Walk): void {
  const faultsOf = (one: Json): string[] => {
    const faults: string[] = [];
    check(one, value, path, { ...walk, faults });
    return faults;
  };
  for (const one of listOf(schema.allOf)) walk.faults.push(...faultsOf(one));
  const any = listOf(schema.anyOf);
  if (any.length > 0 && !any.some((one) => faultsOf(one).length === 0))
    walk.faults.push(`${path}: fits none of the alternatives (${faultsOf(any[0] ?? true)[0] ?? ""})`);
  const exactly = listOf(schema.oneOf);
  if (exactly.length > 0 && exactly.filter((one) => faultsOf(one).length === 0).length !== 1)
    walk.faults.push(`${path}: must fit exactly one of the alternatives`);
  if (schema.not !== undefined && faultsOf(schema.not).length === 0) walk.faults.push(`${path}: fits what is excluded`);
}

function problemIn(schema: Json | undefined, path: string, walk: Walk): string | null {
  if (typeof schema === "boolean" || schema === undefined) return null;
  if (!isObject(schema)) return `${path} must be an object or a boolean`;
  if (walk.depth >= MAX_DEPTH) return `${path} is nested too deeply`;
  const types = Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type];
  const unknown = types.find((type) => !TYPES.includes(String(type)));
  if (unknown !== undefined) return `${path}.type: unknown type ${JSON.stringify(unknown)}`;
  for (const pattern of [
    schema.pattern,
    ...Object.keys(isObject(schema.patternProperties) ? schema.patternProperties : {}),
  ])
    if (pattern !== undefined && !compiles(pattern))
      return `${path}: ${JSON.stringify(pattern)} is no regular expression`;
  if (typeof schema.$ref === "string" && resolveRef(schema.$ref, walk.root) === undefined)
    return `${path}.$ref: ${schema.$ref} leads nowhere (only references within the document are followed)`;
  if (
    schema.required !== undefined &&
    !(Array.isArray(schema.required) && schema.required.every((key) => typeof key === "string"))
  )
    return `${path}.required must be a list of names`;
  const inner = { ...walk, depth: walk.depth + 1 };
  return subschemas(schema, path).reduce<string | null>((found, [at, one]) => found ?? problemIn(one, at, inner), null);
}

function subschemas(schema: JsonObject, path: string): [string, Json][] {
  const maps = ["properties", "patternProperties", "$defs", "definitions"].flatMap((key) => {
    const map = schema[key];
    return isObject(map)
      ? Object.entries(map).map(([name, one]): [string, Json] => [`${path}.${key}.${name}`, one])
      : [];
  });
  const lists = ["allOf", "anyOf", "oneOf", "prefixItems"].flatMap((key) =>
    listOf(schema[key]).map((one, index): [string, Json] => [`${path}.${key}[${index}]`, one]),
  );
  const single = ["items", "additionalProperties", "not"].flatMap((key): [string, Json][] =>
    schema[key] === undefined ? [] : [[`${path}.${key}`, schema[key]]],
  );
  return [...maps, ...lists, ...single];
}

function resolveRef(ref: string, root: Json): Json | undefined {
  if (!ref.startsWith("#")) return undefined;
  const steps = ref
    .slice(1)
    .split("/")
    .slice(1)
    .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
  let at: Json | undefined = root;
  for (const step of steps)
    at = Array.isArray(at) ? at[Number(step)] : isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
  return at;
}

function hasType(value: Json, type: Json): boolean {
  if (type === "integer") return typeof value === "number" && Number.isInteger(value);
  return typeOf(value) === type;
}

function typeOf(value: Json): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

function compiles(pattern: Json): boolean {
  try {
    return typeof pattern === "string" && new RegExp(pattern, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

function same(a: Json, b: Json): boolean {
  return sorted(a) === sorted(b);
}

/** JSON with sorted keys. */
function sorted(value: Json): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}
