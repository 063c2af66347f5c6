/** The chat-completions wire of the strict model server: what it refuses, and how it answers. */
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
  geminiFault,
} from "./strict-body.ts";

export function chatError(fault: Fault): JsonObject {
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
export function chatFault(body: JsonObject, memory: Memory): Fault | null {
  const tools = objects(body.tools).map((tool) => (isObject(tool.function) ? tool.function : {}));
  const gemini = typeof body.model === "string" && body.model.startsWith("gemini");
  return (
    textFault(body) ??
    (isBlank(body.model) ? { message: "you must provide a model parameter", param: "model" } : null) ??
    toolsFault(
      body,
      tools.map((tool) => ({ name: tool.name, schema: tool.parameters })),
    ) ??
    (gemini ? geminiFault(body) : null) ??
    (body.max_tokens !== undefined && body.max_completion_tokens !== undefined
      ? { message: "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported." }
      : null) ??
    rolesFault(objects(body.messages)) ??
    pairFault(objects(body.messages)) ??
    reasoningFault(objects(body.messages), memory)
  );
}

function rolesFault(messages: JsonObject[]): Fault | null {
  if (messages.length === 0) return { message: "[] is too short - 'messages'", param: "messages" };
  for (const [at, message] of messages.entries()) {
    const role = String(message.role);
    if (!["system", "developer", "user", "assistant", "tool"].includes(role))
      return { message: `Invalid value: '${role}'`, param: `messages[${at}].role` };
    if ((role === "system" || role === "developer") && at > 0)
      return { message: "System message must be at the beginning.", param: "messages" };
    const fault = contentFault(message, at);
    if (fault) return fault;
    const before = messages[at - 1];
    if (before && role === "user" && before.role === "user")
      return { message: "Conversation roles must alternate user/assistant", param: "messages" };
    if (before && role === "assistant" && before.role === "assistant")
      return { message: "Conversation roles must alternate user/assistant", param: "messages" };
  }
  const last = messages.at(-1);
  return last?.role === "user" || last?.role === "tool"
    ? null
    : { message: "Expected last role User or Tool", param: "messages" };
}

function contentFault(message: JsonObject, at: number): Fault | null {
  const where = `messages[${at}].content`;
  const calls = objects(message.tool_calls);
  if (Array.isArray(message.tool_calls) && calls.length === 0)
    return { message: `[] is too short - 'messages.${at}.tool_calls'`, param: `messages[${at}].tool_calls` };
  if (Array.isArray(message.content)) {
    if (message.content.length === 0) return { message: "content parts must not be empty", param: where };
    const blank = objects(message.content).some((part) => part.type === "text" && isBlank(part.text));
    return blank ? { message: "text content blocks must be non-empty", param: where } : null;
  }
  if (
    message.role === "assistant" &&
    calls.length > 0 &&
    (message.content === null || message.content === "" || message.content === undefined)
  )
    return null;
  return isBlank(message.content) ? { message: "text content blocks must be non-empty", param: where } : null;
}

/** Each call is answered once, in the messages directly after it. */
function pairFault(messages: JsonObject[]): Fault | null {
  let open = new Set<Json>();
  const used = new Set<Json>();
  for (const [at, message] of messages.entries()) {
    if (message.role === "tool") {
      const id = message.tool_call_id ?? null;
      if (!open.delete(id))
        return {
          message: "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
          param: `messages[${at}].role`,
        };
      continue;
    }
    if (open.size > 0) return unanswered(open, at);
    open = new Set();
    for (const call of objects(message.tool_calls)) {
      const fault =
        callFault(call, at) ??
        (used.has(call.id ?? null) ? { message: `Duplicate tool call id ${String(call.id)}` } : null);
      if (fault) return fault;
      open.add(call.id ?? null);
      used.add(call.id ?? null);
    }
  }
  return open.size > 0 ? unanswered(open, messages.length) : null;
}

const unanswered = (open: Set<Json>, at: number): Fault => ({
  message: `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
  param: `messages[${at}].role`,
});

function callFault(call: JsonObject, at: number): Fault | null {
  const param = `messages[${at}].tool_calls`;
  const fn = isObject(call.function) ? call.function : {};
  if (typeof call.id !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(call.id))
    return { message: `Invalid tool call id: ${JSON.stringify(call.id)}`, param };
  if (typeof fn.name !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(fn.name))
    return { message: `Invalid function name: ${JSON.stringify(fn.name)}`, param };
  if (typeof fn.arguments !== "string") return { message: "function.arguments must be a string", param };
  try {
    const value: unknown = JSON.parse(fn.arguments);
    return isObject(value) ? textFault(value) : { message: "function.arguments must be a JSON object", param };
  } catch {
    return { message: "function.arguments must be valid JSON", param };
  }
}

function reasoningFault(messages: JsonObject[], memory: Memory): Fault | null {
  const field = memory.options.requireReasoning;
  if (!field) return null;
  for (const message of messages) {
    for (const call of objects(message.tool_calls)) {
      const said = memory.chatReasoning.get(String(call.id));
      if (said !== undefined && message[field] !== said)
        return { message: `The ${field} in the thinking mode must be passed back to the API.` };
    }
  }
  return null;
}

/** The reply as a stream of chunks, `[DONE]` last. */
export function chatStream(reply: Reply, body: JsonObject, memory: Memory): string {
  const id = `chatcmpl-${++memory.count}`;
  const base = { id, object: "chat.completion.chunk", created: 1, model: body.model ?? "" };
  const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const calls = (reply.calls ?? []).map((call, index) => ({
    index,
    id: call.id ?? `call_${memory.count}_${index}`,
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.input) },
  }));
  for (const call of calls) memory.chatReasoning.set(call.id, reply.reasoning ?? "");
  const events: JsonObject[] = [
    chunk({ role: "assistant", content: "" }),
    ...pieces(reply.reasoning ?? "").map((text) => chunk({ reasoning_content: text })),
    ...pieces(reply.text ?? "").map((text) => chunk({ content: text })),
    ...calls.flatMap((call) => callChunks(call).map((part) => chunk({ tool_calls: [part] }))),
    chunk({}, reply.stop ?? (calls.length > 0 ? "tool_calls" : "stop")),
  ];
  if (isObject(body.stream_options) && body.stream_options.include_usage === true)
    events.push({ ...base, choices: [], usage: chatUsage(reply) });
  return `${frames(events, false)}data: [DONE]\n\n`;
}

function callChunks(call: {
  index: number;
  id: string;
  type: string;
  function: { name: string; arguments: string };
}): JsonObject[] {
  const [first, ...rest] = pieces(call.function.arguments);
  return [
    { ...call, function: { name: call.function.name, arguments: first ?? "" } },
    ...rest.map((text) => ({ index: call.index, function: { arguments: text } })),
  ];
}

export function chatUsage({ usage }: Reply): JsonObject {
  const input = usage?.input ?? 10;
  const output = usage?.output ?? 5;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: usage?.cached ?? 0 },
  };
}
