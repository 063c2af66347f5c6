/** `$ref` in JSON Schemas, replaced by what it points to. Pure. */
import { isObject } from "./provider-errors.ts";
import type { Json, JsonObject } from "./types.ts";

// A schema that unfolds into more than this is no use to a model: deeper parts become "anything".
const MAX_NODES = 5_000;

/**
 * The schema with local references (`#/…`) inlined and `$defs`/`definitions` gone. A reference to itself, to nothing,
 * or outside the document becomes `{}`. Returns null when the top itself refers to nothing.
 */
export function inlineRefs(root: JsonObject): Json | null {
  const budget = { nodes: MAX_NODES };
  const whole = inline(root, root, [], budget);
  if (!isObject(whole)) return null;
  if (typeof root.$ref === "string" && Object.keys(whole).length === 0) return null;
  const { $defs: _, definitions: __, ...rest } = whole;
  return rest;
}

function inline(node: Json, root: JsonObject, open: readonly string[], budget: { nodes: number }): Json {
  if (budget.nodes-- <= 0) return {};
  if (Array.isArray(node)) return node.map((item) => inline(item, root, open, budget));
  if (!isObject(node)) return node;
  if (typeof node.$ref === "string") return inlineTarget(node, node.$ref, root, open, budget);
  const copy: JsonObject = {};
  for (const [key, value] of Object.entries(node)) {
    if (node === root && (key === "$defs" || key === "definitions")) continue;
    copy[key] = inline(value, root, open, budget);
  }
  return copy;
}

function inlineTarget(
  node: JsonObject,
  ref: string,
  root: JsonObject,
  open: readonly string[],
  budget: { nodes: number },
): Json {
  const { $ref: _, $defs: __, definitions: ___, ...beside } = node;
  const target = open.includes(ref) ? undefined : lookUp(ref, root);
  const found = target === undefined || target === node ? {} : inline(target, root, [...open, ref], budget);
  // Words beside a reference (a description, mostly) win over the target's own.
  return isObject(found) ? { ...found, ...beside } : { ...beside };
}

function lookUp(ref: string, root: JsonObject): Json | undefined {
  if (!ref.startsWith("#")) return undefined;
  let node: Json | undefined = root;
  for (const step of ref.slice(1).split("/").slice(1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    node = isObject(node) || Array.isArray(node) ? Object.entries(node).find(([name]) => name === key)?.[1] : undefined;
  }
  return node;
}
