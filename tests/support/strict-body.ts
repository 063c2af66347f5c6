/** What the strict model server's three wires share: shapes of requests, replies and faults, and the rules every vendor has. Knows nothing of sockets. */
import type { Json, JsonObject } from "../../src/types.ts";

/** One answer, told in words of no particular wire. */
export interface Reply {
  text?: string;
  reasoning?: string;
  /** Anthropic only: a redacted block after the thinking. */
  redacted?: string;
  calls?: { id?: string; name: string; input: JsonObject }[];
  usage?: { input?: number; output?: number; cached?: number; written?: number };
  /** The wire's own word: finish_reason, stop_reason or incomplete reason. */
  stop?: string;
  status?: number;
  json?: Json;
  body?: string;
  headers?: Record<string, string>;
  /** Sent as they are with a 200, each piece in a write of its own. */
  raw?: string | Uint8Array | (string | Uint8Array)[];
  /** Milliseconds between the pieces of `raw`. */
  gapMs?: number;
  /** `true`: no byte ever. `"stream"`: the rendered answer without its end, then silence. */
  hang?: true | "stream";
  /** Awaited before the first byte. */
  delay?: Promise<unknown>;
  /** The socket is destroyed after so many bytes of the body. */
  cut?: number;
}

/** A refusal in the words of an API. */
export interface Fault {
  message: string;
  status?: number;
  code?: string;
  param?: string;
}

export interface StrictOptions {
  /** Chat: assistant messages with calls must carry the reasoning they came with in this field. */
  requireReasoning?: "reasoning_content";
  /** Anthropic: thinking is bound to the history before it. Default: as the model's family does it. */
  bindThinking?: boolean;
}

/** What one server has said so far; validators reason from this and the request alone. */
export interface Memory {
  options: StrictOptions;
  /** Reasoning of a chat answer by the ids of its calls. */
  chatReasoning: Map<string, string>;
  /** Anthropic blocks of the answer that holds a signature or redacted data, by that string. */
  blocks: Map<string, { blocks: JsonObject[]; prefix: string; model: string }>;
  /** Responses items of the answer that holds an encrypted reasoning item, by that content. */
  items: Map<string, { items: JsonObject[]; model: string }>;
  count: number;
}

export function newMemory(options: StrictOptions): Memory {
  return { options, chatReasoning: new Map(), blocks: new Map(), items: new Map(), count: 0 };
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

export const isBlank = (value: Json | undefined): boolean => typeof value !== "string" || value.trim() === "";

/** Strings that no strict JSON reader takes. */
export function textFault(body: JsonObject): Fault | null {
  for (const text of stringsIn(body)) {
    if (!text.isWellFormed()) return { message: "The request body is not valid JSON: no low surrogate in string" };
    if (text.includes("\0")) return { message: "The request body holds a NUL character" };
  }
  return null;
}

function* stringsIn(node: Json): Generator<string> {
  if (typeof node === "string") yield node;
  else if (Array.isArray(node)) for (const item of node) yield* stringsIn(item);
  else if (isObject(node)) {
    for (const [key, value] of Object.entries(node)) {
      yield key;
      yield* stringsIn(value);
    }
  }
}

/** Names, uniqueness and schemas of tools, given as `{ name, schema }`. */
export function toolsFault(
  body: JsonObject,
  tools: { name: Json | undefined; schema: Json | undefined }[],
): Fault | null {
  if (Array.isArray(body.tools) && body.tools.length === 0)
    return { message: "[] is too short - 'tools'", param: "tools" };
  if (body.tool_choice !== undefined && tools.length === 0) {
    return { message: "'tool_choice' is only allowed when 'tools' are specified.", param: "tool_choice" };
  }
  const names = new Set<Json | undefined>();
  for (const { name, schema } of tools) {
    if (typeof name !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
      return {
        message: `tools: name ${JSON.stringify(name)} does not match pattern '^[a-zA-Z0-9_-]{1,64}$'`,
        param: "tools",
      };
    }
    if (names.has(name)) return { message: `tools: Tool names must be unique: ${name}`, param: "tools" };
    names.add(name);
    const fault = schemaFault(name, schema);
    if (fault) return fault;
  }
  return null;
}

function schemaFault(tool: string, schema: Json | undefined): Fault | null {
  const refuse = (why: string): Fault => ({
    message: `Invalid schema for function '${tool}': ${why}`,
    param: "tools",
    code: "invalid_function_parameters",
  });
  if (!isObject(schema) || schema.type !== "object") return refuse("schema must have type 'object'");
  if (!isObject(schema.properties)) return refuse("object schema missing properties");
  for (const word of ["oneOf", "anyOf", "allOf", "enum", "not"]) {
    if (schema[word] !== undefined) return refuse(`does not support ${word} at the top level`);
  }
  if (schema.$schema !== undefined) return refuse("$schema is not permitted");
  return null;
}

/** Words of JSON Schema outside the subset that Gemini's endpoints take. */
export function geminiFault(body: JsonObject): Fault | null {
  for (const tool of objects(body.tools)) {
    const schema = isObject(tool.function) ? tool.function.parameters : undefined;
    const word = schema === undefined ? null : unknownWord(schema);
    if (word) return { message: `Invalid JSON payload received. Unknown name "${word}"` };
  }
  return null;
}

const GEMINI_WORDS = new Set(
  "type format title description nullable enum maxItems minItems properties required minProperties maxProperties minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum".split(
    " ",
  ),
);

function unknownWord(schema: Json): string | null {
  if (!isObject(schema)) return "schema";
  for (const [word, value] of Object.entries(schema)) {
    if (!GEMINI_WORDS.has(word)) return word;
    if (word === "type" && typeof value !== "string") return "type";
    if (word === "enum" && Array.isArray(value) && value.some((item) => typeof item !== "string")) return "enum";
    const below =
      word === "properties" && isObject(value)
        ? Object.values(value)
        : word === "items"
          ? [value]
          : word === "anyOf" && Array.isArray(value)
            ? value
            : [];
    if (word === "properties" && schema.type !== "object") return "properties";
    for (const child of below) {
      const found = unknownWord(child);
      if (found) return found;
    }
  }
  return null;
}

/** Server-sent events of `data` objects; named after their type where the wire does that. */
export function frames(events: JsonObject[], named: boolean): string {
  return events
    .map((event) => `${named ? `event: ${String(event.type)}\n` : ""}data: ${JSON.stringify(event)}\n\n`)
    .join("");
}

/** Splits a text in a few pieces, so that readers meet deltas. */
export function pieces(text: string): string[] {
  const size = Math.max(1, Math.ceil(text.length / 3));
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += size) parts.push(text.slice(at, at + size));
  return parts;
}
