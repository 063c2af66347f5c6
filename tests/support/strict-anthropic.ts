/** The messages wire of the strict model server: what it refuses, and how it answers. */
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

export function anthropicError(fault: Fault): JsonObject {
  return { type: "error", error: { type: "invalid_request_error", message: fault.message }, request_id: "req_strict" };
}

/** The first rule the body breaks, or null. */
export function anthropicFault(body: JsonObject, memory: Memory): Fault | null {
  const messages = objects(body.messages);
  const tools = objects(body.tools).map((tool) => ({ name: tool.name, schema: tool.input_schema }));
  return (
    textFault(body) ??
    (isBlank(body.model) ? { message: "model: Field required" } : null) ??
    (typeof body.max_tokens !== "number" || body.max_tokens < 1 ? { message: "max_tokens: Field required" } : null) ??
    toolsFault(body, tools) ??
    thinkingConfigFault(body) ??
    cacheFault(body) ??
    rolesFault(messages) ??
    blocksFault(messages) ??
    (tools.length === 0 && messages.some(holdsToolBlock)
      ? { message: "Requests which include `tool_use` or `tool_result` blocks must define tools" }
      : null) ??
    pairFault(messages) ??
    thinkingFault(body, messages, memory)
  );
}

const blocksOf = (message: JsonObject | undefined): JsonObject[] =>
  typeof message?.content === "string" ? [{ type: "text", text: message.content }] : objects(message?.content);

const isThinking = (block: JsonObject) => block.type === "thinking" || block.type === "redacted_thinking";

const holdsToolBlock = (message: JsonObject) =>
  blocksOf(message).some((block) => block.type === "tool_use" || block.type === "tool_result");

function thinkingConfigFault(body: JsonObject): Fault | null {
  if (!isObject(body.thinking) || body.thinking.type !== "enabled") return null;
  const budget = body.thinking.budget_tokens;
  if (typeof budget !== "number" || budget < 1024)
    return { message: "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024" };
  return budget >= Number(body.max_tokens)
    ? { message: "`max_tokens` must be greater than `thinking.budget_tokens`." }
    : null;
}

function cacheFault(body: JsonObject): Fault | null {
  const marked = [...objects(body.tools), ...objects(body.system), ...objects(body.messages).flatMap(blocksOf)].filter(
    (block) => block.cache_control !== undefined,
  );
  if (marked.length > 4)
    return { message: `A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.` };
  if (marked.some((block) => block.type === "text" && isBlank(block.text)))
    return { message: "cache_control cannot be set for empty text blocks" };
  if (marked.some(isThinking)) return { message: "cache_control cannot be set for thinking blocks" };
  return objects(body.system).some((block) => isBlank(block.text))
    ? { message: "system: text content blocks must be non-empty" }
    : null;
}

function rolesFault(messages: JsonObject[]): Fault | null {
  if (messages.length === 0) return { message: "messages: at least one message is required" };
  if (messages[0]?.role !== "user") return { message: 'messages: first message must use the "user" role' };
  for (const [at, message] of messages.entries()) {
    if (message.role !== "user" && message.role !== "assistant")
      return { message: `messages.${at}.role: Input should be 'user' or 'assistant'` };
    if (message.role === messages[at - 1]?.role)
      return { message: 'messages: roles must alternate between "user" and "assistant"' };
  }
  if (messages.at(-1)?.role !== "user")
    return {
      message: "This model does not support assistant message prefill. The conversation must end with a user message.",
    };
  return null;
}

function blocksFault(messages: JsonObject[]): Fault | null {
  for (const [at, message] of messages.entries()) {
    const blocks = blocksOf(message);
    if (blocks.length === 0) return { message: `messages.${at}: all messages must have non-empty content` };
    for (const [place, block] of blocks.entries()) {
      const fault = blockFault(block, message.role ?? null);
      if (fault) return { message: `messages.${at}.content.${place}: ${fault}` };
    }
  }
  return null;
}

function blockFault(block: JsonObject, role: Json): string | null {
  switch (block.type) {
    case "text":
      if (typeof block.text !== "string" || block.text === "") return "text content blocks must be non-empty";
      return isBlank(block.text) ? "text content blocks must contain non-whitespace text" : null;
    case "image":
      return isObject(block.source) && typeof block.source.data === "string" && block.source.data !== ""
        ? null
        : "image.source: Field required";
    case "thinking":
      if (role !== "assistant") return "thinking blocks belong to assistant messages";
      return typeof block.thinking === "string" && typeof block.signature === "string"
        ? null
        : "thinking.signature: Field required";
    case "redacted_thinking":
      return typeof block.data === "string" ? null : "redacted_thinking.data: Field required";
    case "tool_use":
      if (typeof block.id !== "string" || !/^[a-zA-Z0-9_-]+$/.test(block.id))
        return "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'";
      if (typeof block.name !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(block.name))
        return "tool_use.name: String should match pattern";
      return isObject(block.input) ? null : "tool_use.input: Input should be a valid dictionary";
    case "tool_result":
      return typeof block.tool_use_id === "string"
        ? contentFault(block.content)
        : "tool_result.tool_use_id: Field required";
    default:
      return `Input tag '${String(block.type)}' found using 'type' does not match any of the expected tags`;
  }
}

function contentFault(content: Json | undefined): string | null {
  const blank = objects(content).some((part) => part.type === "text" && isBlank(part.text));
  return blank ? "tool_result.content: text content blocks must be non-empty" : null;
}

/** All results of a message's calls stand first in the next message, once each. */
function pairFault(messages: JsonObject[]): Fault | null {
  const used = new Set<Json>();
  for (const [at, message] of messages.entries()) {
    const blocks = blocksOf(message);
    const results = blocks.filter((block) => block.type === "tool_result").map((block) => block.tool_use_id ?? null);
    const called = blocksOf(messages[at - 1])
      .filter((block) => block.type === "tool_use")
      .map((block) => block.id ?? null);
    const stray = results.find((id, place) => !called.includes(id) || results.indexOf(id) !== place);
    if (stray !== undefined)
      return {
        message: `messages.${at}.content: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(stray)}.`,
      };
    const open = called.find((id) => !results.includes(id));
    if (open !== undefined)
      return {
        message: `messages.${at - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${String(open)}.`,
      };
    const firstOther = blocks.findIndex((block) => block.type !== "tool_result");
    if (firstOther >= 0 && blocks.slice(firstOther).some((block) => block.type === "tool_result"))
      return { message: `messages.${at}: tool_result blocks must come first` };
    const firstCall = blocks.findIndex((block) => block.type === "tool_use");
    if (firstCall >= 0 && blocks.slice(firstCall).some((block) => block.type === "text"))
      return { message: `messages.${at}: text after tool_use` };
    for (const block of blocks) {
      if (block.type !== "tool_use") continue;
      if (used.has(block.id ?? null)) return { message: `messages.${at}: \`tool_use\` ids must be unique` };
      used.add(block.id ?? null);
    }
  }
  return blocksOf(messages.at(-1)).some((block) => block.type === "tool_use")
    ? { message: "`tool_use` ids were found without `tool_result` blocks" }
    : null;
}

/** Signed blocks come back whole, unchanged, in order, to their own model and, where it is bound, after the same history. */
function thinkingFault(body: JsonObject, messages: JsonObject[], memory: Memory): Fault | null {
  for (const [at, message] of messages.entries()) {
    const thinking = blocksOf(message).filter(isThinking);
    for (const [place, block] of thinking.entries()) {
      const known = memory.blocks.get(String(block.signature ?? block.data));
      if (!known || known.model !== body.model)
        return { message: `messages.${at}.content.${place}: Invalid \`signature\` in \`thinking\` block` };
      if (!known.blocks.some((one) => bare(one) === bare(block)))
        return {
          message: `messages.${at}.content.${place}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified.`,
        };
      if (binds(body, memory) && known.prefix !== prefixOf(body, messages.slice(0, at)))
        return {
          message: `messages.${at}.content.${place}: thinking block does not match the conversation before it (prefix mismatch)`,
        };
    }
  }
  return latestFault(body, messages, memory);
}

function latestFault(body: JsonObject, messages: JsonObject[], memory: Memory): Fault | null {
  const at = messages.findLastIndex((message) => message.role === "assistant");
  const blocks = blocksOf(messages[at]);
  const first = blocks.find(isThinking);
  const openTurn = blocksOf(messages.at(-1)).some((block) => block.type === "tool_result");
  if (!first) {
    const demanded = isObject(body.thinking) && body.thinking.type === "enabled" && openTurn;
    return demanded
      ? {
          message: `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${String(blocks[0]?.type)}\`.`,
        }
      : null;
  }
  const known = memory.blocks.get(String(first.signature ?? first.data));
  const shape = (list: JsonObject[]) =>
    list
      .filter((block) => block.type !== "text")
      .map(bare)
      .join();
  return known && shape(known.blocks) !== shape(blocks)
    ? {
        message: `messages.${at}.content.0: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified.`,
      }
    : null;
}

const binds = (body: JsonObject, memory: Memory) =>
  memory.options.bindThinking ?? /(fable|mythos)-5-|-5-5/.test(String(body.model));

const prefixOf = (body: JsonObject, messages: JsonObject[]) => bare([body.system ?? null, ...messages]);

const bare = (value: Json): string =>
  JSON.stringify(value, (key: string, inner: Json) => (key === "cache_control" ? undefined : inner));

/** The reply as a stream of events, `message_stop` last. */
export function anthropicStream(reply: Reply, body: JsonObject, memory: Memory): string {
  const number = ++memory.count;
  const blocks = replyBlocks(reply, number);
  const answer = { blocks, prefix: prefixOf(body, objects(body.messages)), model: String(body.model) };
  for (const block of blocks.filter(isThinking)) memory.blocks.set(String(block.signature ?? block.data), answer);
  const usage = {
    input_tokens: reply.usage?.input ?? 10,
    cache_read_input_tokens: reply.usage?.cached ?? 0,
    cache_creation_input_tokens: reply.usage?.written ?? 0,
  };
  const events: JsonObject[] = [
    {
      type: "message_start",
      message: {
        id: `msg_${number}`,
        type: "message",
        role: "assistant",
        model: body.model ?? "",
        content: [],
        stop_reason: null,
        usage: { ...usage, output_tokens: 1 },
      },
    },
    ...blocks.flatMap(blockEvents),
    {
      type: "message_delta",
      delta: { stop_reason: reply.stop ?? (reply.calls?.length ? "tool_use" : "end_turn"), stop_sequence: null },
      usage: { output_tokens: reply.usage?.output ?? 5 },
    },
    { type: "message_stop" },
  ];
  return frames(events, true);
}

function replyBlocks(reply: Reply, number: number): JsonObject[] {
  const blocks: JsonObject[] = [];
  if (reply.reasoning !== undefined)
    blocks.push({ type: "thinking", thinking: reply.reasoning, signature: `sig_${number}` });
  if (reply.redacted !== undefined) blocks.push({ type: "redacted_thinking", data: reply.redacted });
  if (reply.text) blocks.push({ type: "text", text: reply.text });
  for (const [index, call] of (reply.calls ?? []).entries())
    blocks.push({ type: "tool_use", id: call.id ?? `toolu_${number}_${index}`, name: call.name, input: call.input });
  return blocks;
}

function blockEvents(block: JsonObject, index: number): JsonObject[] {
  const delta = (value: JsonObject): JsonObject => ({ type: "content_block_delta", index, delta: value });
  const [start, deltas] = blockParts(block);
  return [
    { type: "content_block_start", index, content_block: start },
    ...deltas.map(delta),
    { type: "content_block_stop", index },
  ];
}

function blockParts(block: JsonObject): [JsonObject, JsonObject[]] {
  if (block.type === "text")
    return [{ type: "text", text: "" }, pieces(String(block.text)).map((text) => ({ type: "text_delta", text }))];
  if (block.type === "tool_use")
    return [
      { ...block, input: {} },
      pieces(JSON.stringify(block.input)).map((partial_json) => ({ type: "input_json_delta", partial_json })),
    ];
  if (block.type === "redacted_thinking") return [block, []];
  const texts = pieces(String(block.thinking)).map((thinking): JsonObject => ({ type: "thinking_delta", thinking }));
  return [
    { type: "thinking", thinking: "", signature: "" },
    [...texts, { type: "signature_delta", signature: block.signature ?? "" }],
  ];
}
