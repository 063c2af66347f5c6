/** The responses wire of the strict model server: what it refuses, and how it answers. */
import type { Json, JsonObject } from "../../src/types.ts";
import {
  type Fault,
  type Memory,
  type Reply,
  frames,
  isBlank,
  isObject,
  objects,
  pieces,
  textFault,
  toolsFault,
} from "./strict-body.ts";

export function responsesError(fault: Fault): JsonObject {
  return {
    error: {
      message: fault.message,
      type: "invalid_request_error",
      param: fault.param ?? null,
      code: fault.code ?? null,
    },
  };
}

/** The first rule the body breaks, or null. */
export function responsesFault(body: JsonObject, memory: Memory): Fault | null {
  const items = objects(body.input);
  const tools = objects(body.tools).map((tool) => ({ name: tool.name, schema: tool.parameters }));
  const include = Array.isArray(body.include) ? body.include : [];
  return (
    textFault(body) ??
    (isBlank(body.model) ? { message: "Missing required parameter: 'model'.", param: "model" } : null) ??
    (body.messages !== undefined
      ? {
          message: "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'.",
          param: "messages",
        }
      : null) ??
    (body.store !== false ? { message: "Store must be set to false", param: "store" } : null) ??
    (isObject(body.reasoning) && !include.includes("reasoning.encrypted_content")
      ? { message: "include must hold reasoning.encrypted_content", param: "include" }
      : null) ??
    toolsFault(body, tools) ??
    (items.length === 0 ? { message: "[] is too short - 'input'", param: "input" } : null) ??
    firstFault(items, (item, at) => itemFault(item, at)) ??
    firstFault(items, (item, at) => reasoningFault(item, at, items, body.model ?? null, memory)) ??
    pairFault(items) ??
    lastFault(items)
  );
}

function firstFault(items: JsonObject[], check: (item: JsonObject, at: number) => Fault | null): Fault | null {
  for (const [at, item] of items.entries()) {
    const fault = check(item, at);
    if (fault) return fault;
  }
  return null;
}

function itemFault(item: JsonObject, at: number): Fault | null {
  const param = `input[${at}]`;
  if (item.type === "item_reference")
    return {
      message: `Item with id '${String(item.id)}' not found. Items are not persisted when \`store\` is set to false.`,
      param,
    };
  if (item.type === "function_call") return callFault(item, param);
  if (item.type === "function_call_output") return outputFault(item, param);
  if (item.type === "reasoning") return null;
  if (item.type !== undefined && item.type !== "message")
    return { message: `Invalid value: '${String(item.type)}'.`, param };
  if (!["user", "assistant", "system", "developer"].includes(String(item.role)))
    return { message: `Invalid value: '${String(item.role)}'.`, param: `${param}.role` };
  if (typeof item.content === "string")
    return isBlank(item.content) ? { message: "content must not be empty", param } : null;
  const parts = objects(item.content);
  if (parts.length === 0) return { message: "content must not be empty", param };
  const allowed = item.role === "assistant" ? ["output_text", "refusal"] : ["input_text", "input_image"];
  for (const part of parts) {
    if (!allowed.includes(String(part.type)))
      return { message: `Invalid value: '${String(part.type)}'. Supported values are: ${allowed.join(", ")}`, param };
    if (part.type !== "input_image" && part.type !== "refusal" && isBlank(part.text))
      return { message: "text must not be empty", param };
  }
  return null;
}

function callFault(item: JsonObject, param: string): Fault | null {
  if (typeof item.call_id !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(item.call_id))
    return { message: `Invalid 'call_id': ${JSON.stringify(item.call_id)}`, param };
  if (typeof item.name !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(item.name))
    return { message: `Invalid 'name': ${JSON.stringify(item.name)}`, param };
  try {
    const value: unknown = JSON.parse(String(item.arguments));
    return isObject(value) ? textFault(value) : { message: "arguments must be a JSON object", param };
  } catch {
    return { message: "arguments must be valid JSON", param };
  }
}

function outputFault(item: JsonObject, param: string): Fault | null {
  if (typeof item.output === "string")
    return isBlank(item.output) ? { message: "output must not be empty", param } : null;
  const parts = objects(item.output);
  const fine =
    parts.length > 0 &&
    parts.every((part) => part.type === "input_image" || (part.type === "input_text" && !isBlank(part.text)));
  return fine ? null : { message: "Invalid type for 'output'", param };
}

/** Encrypted, unchanged, for the model that made it, with a summary, and followed by the item it led to. */
function reasoningFault(item: JsonObject, at: number, items: JsonObject[], model: Json, memory: Memory): Fault | null {
  if (item.type !== "reasoning") return null;
  const param = `input[${at}]`;
  if (!Array.isArray(item.summary)) return { message: `Missing required parameter: '${param}.summary'.`, param };
  if (typeof item.encrypted_content !== "string")
    return {
      message: `Item with id '${String(item.id)}' not found. Items are not persisted when \`store\` is set to false.`,
      param,
    };
  const answer = memory.items.get(item.encrypted_content);
  if (!answer || answer.model !== model)
    return {
      message: `The encrypted content for item ${String(item.id)} could not be verified.`,
      code: "invalid_encrypted_content",
      param,
    };
  const place = answer.items.findIndex((one) => one.encrypted_content === item.encrypted_content);
  if (JSON.stringify(answer.items[place]?.summary) !== JSON.stringify(item.summary))
    return { message: "The summary of a reasoning item was modified.", param };
  const led = answer.items[place + 1];
  const next = items[at + 1];
  if (!led || !next || !sameItem(led, next))
    return {
      message: `Item '${String(item.id)}' of type 'reasoning' was provided without its required following item.`,
      param,
    };
  return null;
}

function sameItem(said: JsonObject, sent: JsonObject): boolean {
  if (said.type === "function_call")
    return sent.type === "function_call" && sent.call_id === said.call_id && sent.name === said.name;
  if (said.type === "reasoning") return sent.encrypted_content === said.encrypted_content;
  const text = (item: JsonObject) =>
    objects(item.content)
      .map((part) => part.text)
      .join("");
  return sent.role === "assistant" && text(sent) === text(said);
}

function pairFault(items: JsonObject[]): Fault | null {
  const calls = new Set<Json>();
  const answered = new Set<Json>();
  for (const [at, item] of items.entries()) {
    const id = item.call_id ?? null;
    if (item.type === "function_call") {
      if (calls.has(id)) return { message: `Duplicate function call id ${String(id)}`, param: `input[${at}]` };
      calls.add(id);
    } else if (item.type === "function_call_output") {
      if (!calls.has(id) || answered.has(id))
        return { message: `No tool call found for function call output with call_id ${String(id)}.`, param: "input" };
      answered.add(id);
    } else if (item.role === "user" && calls.size > answered.size) return missing(calls, answered);
  }
  return calls.size > answered.size ? missing(calls, answered) : null;
}

const missing = (calls: Set<Json>, answered: Set<Json>): Fault => ({
  message: `No tool output found for function call ${[...calls].filter((id) => !answered.has(id)).join(", ")}.`,
  param: "input",
});

function lastFault(items: JsonObject[]): Fault | null {
  const last = items.at(-1);
  return last?.type === "function_call_output" || last?.role === "user"
    ? null
    : { message: "The last item must be from the user or a tool.", param: "input" };
}

/** The reply as a stream of events, `response.completed` or `response.incomplete` last. */
export function responsesStream(reply: Reply, body: JsonObject, memory: Memory): string {
  const number = ++memory.count;
  const items = outputItems(reply, number);
  for (const item of items)
    if (item.type === "reasoning")
      memory.items.set(String(item.encrypted_content), { items, model: String(body.model) });
  const response = { id: `resp_${number}`, object: "response", created_at: 1, model: body.model ?? "" };
  const incomplete = reply.stop !== undefined;
  const end = {
    ...response,
    status: incomplete ? "incomplete" : "completed",
    incomplete_details: incomplete ? { reason: reply.stop ?? null } : null,
    output: items,
    usage: responsesUsage(reply),
  };
  const events: JsonObject[] = [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    ...items.flatMap(itemEvents),
    { type: `response.${end.status}`, response: end },
  ];
  return frames(
    events.map((event, sequence_number) => ({ ...event, sequence_number })),
    true,
  );
}

function outputItems(reply: Reply, number: number): JsonObject[] {
  const items: JsonObject[] = [];
  if (reply.reasoning !== undefined) {
    const summary = reply.reasoning === "" ? [] : [{ type: "summary_text", text: reply.reasoning }];
    items.push({ type: "reasoning", id: `rs_${number}`, summary, encrypted_content: `enc_${number}` });
  }
  if (reply.text)
    items.push({
      type: "message",
      id: `msg_${number}`,
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: reply.text, annotations: [] }],
    });
  for (const [index, call] of (reply.calls ?? []).entries()) {
    items.push({
      type: "function_call",
      id: `fc_${number}_${index}`,
      call_id: call.id ?? `call_${number}_${index}`,
      name: call.name,
      arguments: JSON.stringify(call.input),
      status: "completed",
    });
  }
  return items;
}

function itemEvents(item: JsonObject, output_index: number): JsonObject[] {
  const at = { item_id: item.id ?? null, output_index };
  const added = {
    type: "response.output_item.added",
    output_index,
    item: {
      ...item,
      ...(item.type === "function_call"
        ? { arguments: "" }
        : item.type === "message"
          ? { content: [] }
          : { summary: [], encrypted_content: "" }),
    },
  };
  const done = { type: "response.output_item.done", output_index, item };
  if (item.type === "function_call") {
    return [
      added,
      ...pieces(String(item.arguments)).map((delta) => ({
        type: "response.function_call_arguments.delta",
        ...at,
        delta,
      })),
      { type: "response.function_call_arguments.done", ...at, arguments: item.arguments ?? "" },
      done,
    ];
  }
  const [field, type] =
    item.type === "message"
      ? ["content", "response.output_text.delta"]
      : ["summary", "response.reasoning_summary_text.delta"];
  const text = objects(item[field ?? ""])
    .map((part) => part.text)
    .join("");
  return [
    added,
    ...pieces(text).map((delta) => ({ type: type ?? "", ...at, content_index: 0, summary_index: 0, delta })),
    done,
  ];
}

function responsesUsage({ usage }: Reply): JsonObject {
  const input = usage?.input ?? 10;
  const output = usage?.output ?? 5;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage?.cached ?? 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}
