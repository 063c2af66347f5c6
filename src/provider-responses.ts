/** The responses wire: request bodies from messages. Reading answers is provider-responses-stream's. */
import { cleanBody, cleanInput } from "./provider-arguments.ts";
import { isObject } from "./provider-errors.ts";
import { itemsOnce } from "./provider-history.ts";
import { wireId } from "./provider-ids.ts";
import { readResponses } from "./provider-responses-stream.ts";
import { isStrictSchema, wireName, wireTools } from "./provider-schema.ts";
import {
  type BuiltRequest,
  dataUrl,
  notesOf,
  ownData,
  type WireContext,
  wireItems,
  type WireModule,
} from "./provider-wire.ts";
import { hostOf, type ModelRequest, type ToolDefinition } from "./provider.ts";
import { thinkingFields } from "./thinking.ts";
import type { AssistantMessage, AssistantPart, JsonObject, Message, ToolResult, UserPart } from "./types.ts";

export const responsesWire: WireModule = { build: buildResponses, read: readResponses };

const toolItem = ({ name, description, schema }: ToolDefinition): JsonObject => ({
  type: "function",
  name,
  description,
  parameters: schema,
  // Left out, it would be true, and schemas of others rarely meet strict mode's rules.
  strict: false,
});

function buildResponses(request: ModelRequest, context: WireContext): BuiltRequest {
  const offered = wireTools(request.tools, "plain");
  const tools = itemsOnce(offered.tools, toolItem);
  const thinking = thinkingOf(request, context, tools.length > 0);
  const body: JsonObject = {
    model: request.model,
    ...(request.system.trim() !== "" && { instructions: request.system }),
    input: wireItems(request, context, { keepLed: true }, (messages) => inputOf(messages, context)),
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && request.noCalls && { tool_choice: "none" }),
    stream: true,
    store: false,
    ...(context.facts.reasons !== false && { include: ["reasoning.encrypted_content"] }),
    ...withSummary(thinking.fields),
    ...(request.maxOutputTokens !== null && { max_output_tokens: request.maxOutputTokens }),
    prompt_cache_key: request.sessionId,
    ...formatOf(request, context),
  };
  const notes = [...offered.notices, ...(thinking.note ? [thinking.note] : [])];
  return { body: cleanBody(body, ["input", "tools"]), notes, nameOf: offered.nameOf };
}

function thinkingOf(request: ModelRequest, context: WireContext, hasTools: boolean) {
  return thinkingFields({
    wire: "responses",
    presetId: context.endpoint.presetId,
    host: hostOf(context.endpoint.baseURL),
    model: request.model,
    level: request.thinking,
    maxOutputTokens: request.maxOutputTokens ?? context.facts.maxOutput ?? 32_000,
    hasTools,
  });
}

function withSummary(fields: JsonObject): JsonObject {
  if (!isObject(fields.reasoning)) return fields;
  return { ...fields, reasoning: { ...fields.reasoning, summary: "auto" } };
}

function formatOf(request: ModelRequest, context: WireContext): JsonObject {
  if (!request.outputSchema || !context.isOpenAI) return {};
  const strict = isStrictSchema(request.outputSchema);
  return { text: { format: { type: "json_schema", name: "answer", schema: request.outputSchema, strict } } };
}

function inputOf(messages: Message[], context: WireContext): JsonObject[] {
  const items: JsonObject[] = [];
  let pending: UserPart[] = [];
  const flush = (): void => {
    if (pending.length > 0) items.push({ role: "user", content: pending.map(userPart) });
    pending = [];
  };
  for (const message of messages) {
    if (message.role === "user") pending.push(...message.content);
    else {
      flush();
      if (message.role === "assistant") items.push(...assistantItems(message, context));
      else {
        items.push(...message.results.map(resultItem));
        pending.push(...notesOf(message));
      }
    }
  }
  flush();
  return items;
}

function userPart(part: UserPart): JsonObject {
  if (part.type === "text") return { type: "input_text", text: part.text };
  return { type: "input_image", image_url: dataUrl(part), detail: "auto" };
}

function resultItem(result: ToolResult): JsonObject {
  const onlyText = result.content.every((part) => part.type === "text");
  const text = result.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  return {
    type: "function_call_output",
    call_id: wireId(result.callId, "responses"),
    output: onlyText ? text : result.content.map(userPart),
  };
}

/** Items in their first order. Nothing is stored, so they go inline and without ids. */
function assistantItems(message: AssistantMessage, context: WireContext): JsonObject[] {
  const items = message.content.flatMap((part) => {
    const item = assistantItem(part, context);
    return item ? [item] : [];
  });
  // Reasoning must lead to something: an answer that broke off after it keeps none.
  const lastSaid = items.findLastIndex((item) => item.type !== "reasoning");
  return items.slice(0, lastSaid + 1);
}

function assistantItem(part: AssistantPart, context: WireContext): JsonObject | null {
  switch (part.type) {
    case "text": {
      const data = ownData(part.meta, context);
      // A blank text is there only for the reasoning that led to it, and that goes back to its own model alone.
      return part.text.trim() === "" && data === null ? null : messageItem(part.text, data?.phase);
    }
    case "tool-call":
      return {
        type: "function_call",
        call_id: wireId(part.id, "responses"),
        name: wireName(part.name),
        arguments: JSON.stringify(cleanInput(part.input)),
      };
    case "reasoning":
      return reasoningItem(ownData(part.meta, context));
    default:
      return part satisfies never;
  }
}

function messageItem(text: string, phase: JsonObject[string] | undefined): JsonObject {
  return {
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text, annotations: [] }],
    ...(typeof phase === "string" && { phase }),
  };
}

function reasoningItem(data: JsonObject | null): JsonObject | null {
  if (data?.type !== "reasoning" || typeof data.encrypted_content !== "string" || data.encrypted_content === "")
    return null;
  const { id: _, status: __, ...item } = data;
  return { ...item, summary: Array.isArray(data.summary) ? data.summary : [] };
}
