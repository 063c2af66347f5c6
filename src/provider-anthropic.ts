/** The messages wire: request bodies from messages. Reading answers is provider-anthropic-stream's. */
import { readAnthropic } from "./provider-anthropic-stream.ts";
import { cleanBody, cleanInput } from "./provider-arguments.ts";
import { isObject } from "./provider-errors.ts";
import { itemsOnce } from "./provider-history.ts";
import { wireId } from "./provider-ids.ts";
import { wireName, wireTools } from "./provider-schema.ts";
import { type BuiltRequest, notesOf, ownData, type WireContext, wireItems, type WireModule } from "./provider-wire.ts";
import { hostOf, type ModelRequest, type ToolDefinition } from "./provider.ts";
import { thinkingFields } from "./thinking.ts";
import type { AssistantMessage, AssistantPart, JsonObject, Message, ToolResult, UserPart } from "./types.ts";

export const anthropicWire: WireModule = { build: buildAnthropic, read: readAnthropic };

const DEFAULT_MAX_TOKENS = 32_000;
const CACHE_MARK = { type: "ephemeral" };

const toolItem = ({ name, description, schema }: ToolDefinition): JsonObject => ({
  name,
  description,
  input_schema: schema,
});

function buildAnthropic(request: ModelRequest, context: WireContext): BuiltRequest {
  const offered = wireTools(request.tools, "plain");
  const tools = itemsOnce(offered.tools, toolItem);
  const messages = wireItems(request, context, {}, (legal) => mergeRoles(legal, context));
  const maxTokens = Math.min(
    request.maxOutputTokens ?? DEFAULT_MAX_TOKENS,
    context.facts.maxOutput ?? Number.POSITIVE_INFINITY,
  );
  const thinking = thinkingOf(request, context, maxTokens, tools.length > 0);
  const body: JsonObject = {
    model: request.model,
    max_tokens: maxTokens,
    ...(request.system.trim() !== "" && { system: [{ type: "text", text: request.system }] }),
    messages,
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && request.noCalls && { tool_choice: { type: "none" } }),
    stream: true,
    ...fittingThinking(thinking.fields, messages),
    ...formatOf(request, context, thinking.fields),
  };
  const notes = [...offered.notices, ...(thinking.note ? [thinking.note] : [])];
  return { body: withCacheMarks(cleanBody(body, ["messages", "tools"])), notes, nameOf: offered.nameOf };
}

function thinkingOf(request: ModelRequest, context: WireContext, maxOutputTokens: number, hasTools: boolean) {
  const { presetId, baseURL } = context.endpoint;
  return thinkingFields({
    wire: "anthropic",
    presetId,
    host: hostOf(baseURL),
    model: request.model,
    level: request.thinking,
    maxOutputTokens,
    hasTools,
  });
}

/**
 * With a thinking budget a tool loop must carry the thinking it began with. Where that came from another model, or was
 * refused, this loop goes on without.
 */
function fittingThinking(fields: JsonObject, messages: JsonObject[]): JsonObject {
  if (!isObject(fields.thinking) || fields.thinking.type !== "enabled") return fields;
  const last = blocksOf(messages.at(-1));
  if (last[0]?.type !== "tool_result") return fields;
  const first = blocksOf(messages.findLast((message) => message.role === "assistant"))[0];
  if (first?.type === "thinking" || first?.type === "redacted_thinking") return fields;
  const { thinking: _, ...rest } = fields;
  return rest;
}

/** Structured output, joined with the effort that lives in the same field. Only Anthropic itself is known to offer it. */
function formatOf(request: ModelRequest, context: WireContext, thinking: JsonObject): JsonObject {
  if (!request.outputSchema || !hostOf(context.endpoint.baseURL).endsWith("anthropic.com")) return {};
  const config = isObject(thinking.output_config) ? thinking.output_config : {};
  return { output_config: { ...config, format: { type: "json_schema", schema: request.outputSchema } } };
}

/** Tool results and what follows them are one user message, results first. */
function mergeRoles(messages: Message[], context: WireContext): JsonObject[] {
  const merged: { role: "user" | "assistant"; content: JsonObject[] }[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = blocksFor(message, context);
    const last = merged.at(-1);
    if (last?.role === role) last.content.push(...content);
    else if (content.length > 0) merged.push({ role, content });
  }
  return merged;
}

function blocksFor(message: Message, context: WireContext): JsonObject[] {
  if (message.role === "assistant") return assistantBlocks(message, context);
  if (message.role === "user") return message.content.map(userBlock);
  return [...message.results.map(resultBlock), ...notesOf(message).map(userBlock)];
}

function userBlock(part: UserPart): JsonObject {
  if (part.type === "text") return { type: "text", text: part.text };
  return { type: "image", source: { type: "base64", media_type: part.mediaType, data: part.data } };
}

function resultBlock(result: ToolResult): JsonObject {
  return {
    type: "tool_result",
    tool_use_id: wireId(result.callId, "anthropic"),
    content: result.content.map(userBlock),
    ...(result.isError && { is_error: true }),
  };
}

function assistantBlocks(message: AssistantMessage, context: WireContext): JsonObject[] {
  return callsLast(message.content).flatMap((part) => {
    const block = assistantBlock(part, context);
    return block ? [block] : [];
  });
}

/** Text behind a call is refused; it moves before the first one unless thinking, which must not move, stands between. */
function callsLast(parts: AssistantPart[]): AssistantPart[] {
  const first = parts.findIndex((part) => part.type === "tool-call");
  const tail = parts.slice(first);
  if (first < 0 || !tail.some((part) => part.type === "text") || tail.some((part) => part.type === "reasoning"))
    return parts;
  const isText = (part: AssistantPart) => part.type === "text";
  return [...parts.slice(0, first), ...tail.filter(isText), ...tail.filter((part) => !isText(part))];
}

function assistantBlock(part: AssistantPart, context: WireContext): JsonObject | null {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "tool-call":
      return {
        type: "tool_use",
        id: wireId(part.id, "anthropic"),
        name: wireName(part.name),
        input: cleanInput(part.input),
      };
    case "reasoning":
      // The block as it came, to the byte; without one, or from another model, it stays at home.
      return blockIn(ownData(part.meta, context));
    default:
      return part satisfies never;
  }
}

const blockIn = (data: JsonObject | null): JsonObject | null =>
  data && (data.type === "thinking" || data.type === "redacted_thinking") ? data : null;

/**
 * Marks what the provider should cache: the end of the system text (tools stand before it) or else the last tool, and
 * the last two user messages. Set on the way out only, so that stored history never holds a mark.
 */
function withCacheMarks(body: JsonObject): JsonObject {
  const marked = Array.isArray(body.messages) ? body.messages.filter(isObject) : [];
  for (let at = marked.length - 1, left = 2; at >= 0 && left > 0; at--) {
    const message = marked[at];
    if (message?.role !== "user") continue;
    marked[at] = { ...message, content: markLast(blocksOf(message)) };
    left--;
  }
  const system = Array.isArray(body.system) ? body.system.filter(isObject) : null;
  const tools = Array.isArray(body.tools) ? body.tools.filter(isObject) : null;
  return {
    ...body,
    ...(system ? { system: markLast(system) } : tools ? { tools: markLast(tools) } : {}),
    messages: marked,
  };
}

const blocksOf = (message: JsonObject | undefined): JsonObject[] =>
  Array.isArray(message?.content) ? message.content.filter(isObject) : [];

function markLast(blocks: JsonObject[]): JsonObject[] {
  const at = blocks.findLastIndex((block) => block.type !== "thinking" && block.type !== "redacted_thinking");
  return blocks.map((block, place) => (place === at ? { ...block, cache_control: CACHE_MARK } : block));
}
