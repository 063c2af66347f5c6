/** Request bodies with remembered repairs applied. Pure; what to repair is found by provider-repair.ts. */
import { isObject } from "./provider-errors.ts";
import type { Json, JsonObject } from "./types.ts";

/** One change to a request body, small enough to remember. */
export type Repair =
  | { kind: "rename"; from: string; to: string }
  | { kind: "drop"; field: string }
  | { kind: "set"; field: string; value: Json }
  | { kind: "put"; field: string; value: Json }
  | { kind: "effort"; field: EffortField; refused: string; value: string | null }
  | { kind: "limit"; field: string; max: number }
  | { kind: "strict" }
  | { kind: "role"; from: string; to: string }
  | { kind: "content"; to: "" | null }
  /** The instructions go to the head of the user's first message. */
  | { kind: "fold" }
  /** Lists of parts become one text. */
  | { kind: "plain" }
  /** The answer in one piece. */
  | { kind: "whole" }
  /** No marks for the cache. */
  | { kind: "uncached" }
  | { kind: "reasoning"; field: string; how: "fill" | "strip" };

export type EffortField = "reasoning_effort" | "reasoning" | "output_config";

/** The body with the repairs applied, in order. The given body is not changed. */
export function repairBody(body: JsonObject, repairs: readonly Repair[]): JsonObject {
  return repairs.reduce(applyRepair, body);
}

export function applyRepair(body: JsonObject, repair: Repair): JsonObject {
  switch (repair.kind) {
    case "rename":
      return rename(body, repair.from, repair.to);
    case "drop":
      return without(body, repair.field);
    case "set":
      return body[repair.field] === undefined ? body : { ...body, [repair.field]: repair.value };
    case "put":
      return { ...body, [repair.field]: repair.value };
    case "effort":
      return setEffort(body, repair);
    case "limit":
      return Number(body[repair.field]) > repair.max ? { ...body, [repair.field]: repair.max } : body;
    case "strict":
      return { ...body, ...(body.tools !== undefined && { tools: withoutStrict(body.tools) }) };
    case "role":
      return mapMessages(body, (message) => (message.role === repair.from ? { ...message, role: repair.to } : message));
    case "content":
      return mapMessages(body, (message) => (isBareCall(message) ? { ...message, content: repair.to } : message));
    case "fold":
      return foldSystem(body);
    case "plain":
      return mapMessages(body, (message) => ({ ...message, content: plainContent(message.content ?? null) }));
    case "whole":
      return { ...without(body, "stream_options"), stream: false };
    case "uncached":
      return withoutMarks(body);
    case "reasoning":
      return mapMessages(body, (message) => repairReasoning(message, repair));
    default:
      return repair satisfies never;
  }
}

function rename(body: JsonObject, from: string, to: string): JsonObject {
  const value = body[from];
  return value === undefined ? body : { ...without(body, from), [to]: value };
}

function without(body: JsonObject, field: string): JsonObject {
  const { [field]: _, ...rest } = body;
  return rest;
}

function setEffort(body: JsonObject, { field, refused, value }: Extract<Repair, { kind: "effort" }>): JsonObject {
  if (effortIn(body, field) !== refused) return body;
  if (field === "reasoning_effort") return value === null ? without(body, field) : { ...body, [field]: value };
  const inner = isObject(body[field]) ? body[field] : {};
  const changed = value === null ? without(inner, "effort") : { ...inner, effort: value };
  return Object.keys(changed).length === 0 ? without(body, field) : { ...body, [field]: changed };
}

function withoutStrict(tools: Json): Json {
  if (!Array.isArray(tools)) return tools;
  return tools.map((tool) => {
    if (!isObject(tool)) return tool;
    const bare = without(tool, "strict");
    return isObject(bare.function) ? { ...bare, function: without(bare.function, "strict") } : bare;
  });
}

function mapMessages(body: JsonObject, change: (message: JsonObject) => JsonObject): JsonObject {
  if (!Array.isArray(body.messages)) return body;
  return { ...body, messages: body.messages.map((message) => (isObject(message) ? change(message) : message)) };
}

function foldSystem(body: JsonObject): JsonObject {
  const [first, second, ...rest] = Array.isArray(body.messages) ? body.messages : [];
  if (!isObject(first) || !isObject(second) || second.role !== "user") return body;
  if (first.role !== "system" && first.role !== "developer") return body;
  const text = { type: "text", text: plainContent(first.content ?? null) };
  const content = Array.isArray(second.content)
    ? [text, ...second.content]
    : `${String(text.text)}\n\n${String(second.content)}`;
  return { ...body, messages: [{ ...second, content }, ...rest] };
}

function plainContent(content: Json): Json {
  if (!Array.isArray(content)) return content;
  return content
    .filter(isObject)
    .map((part) => (typeof part.text === "string" ? part.text : "[image left out: the provider takes text only]"))
    .join("\n\n");
}

function withoutMarks(body: JsonObject): JsonObject {
  const bare = (blocks: Json | undefined): Json =>
    Array.isArray(blocks)
      ? blocks.map((block) => (isObject(block) ? without(block, "cache_control") : block))
      : (blocks ?? null);
  const unmarked = mapMessages(body, (message) => ({ ...message, content: bare(message.content) }));
  return {
    ...unmarked,
    ...(body.system !== undefined && { system: bare(body.system) }),
    ...(body.tools !== undefined && { tools: bare(body.tools) }),
  };
}

function repairReasoning(message: JsonObject, { field, how }: Extract<Repair, { kind: "reasoning" }>): JsonObject {
  if (message.role !== "assistant") return message;
  if (how === "strip") return without(message, field);
  return message[field] === undefined ? { ...message, [field]: "" } : message;
}

/** The effort word in one of its three places, null where there is none. */
export function effortIn(body: JsonObject, field: EffortField): string | null {
  const value = field === "reasoning_effort" ? body[field] : isObject(body[field]) ? body[field].effort : null;
  return typeof value === "string" ? value : null;
}

/** An assistant message of nothing but calls. */
export const isBareCall = (message: JsonObject) =>
  message.role === "assistant" &&
  Array.isArray(message.tool_calls) &&
  (message.content === null || message.content === "");
