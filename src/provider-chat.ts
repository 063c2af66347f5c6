/** The chat-completions wire: request bodies from messages. Reading answers is provider-chat-stream's. */
import { cleanBody, cleanInput, cleanText } from "./provider-arguments.ts";
import { readChat } from "./provider-chat-stream.ts";
import { itemsOnce } from "./provider-history.ts";
import { type IdRule, wireId } from "./provider-ids.ts";
import { isStrictSchema, wireName, wireTools } from "./provider-schema.ts";
import { isGemini, isLocalHost } from "./provider-url.ts";
import {
  type BuiltRequest,
  dataUrl,
  joinTexts,
  notesOf,
  ownData,
  type WireContext,
  wireItems,
  type WireModule,
} from "./provider-wire.ts";
import { hostOf, type ModelRequest, type ToolDefinition } from "./provider.ts";
import { thinkingFields } from "./thinking.ts";
import type { AssistantMessage, Json, JsonObject, Message, ToolCallPart, ToolMessage, UserPart } from "./types.ts";

export const chatWire: WireModule = { build: buildChat, read: readChat };

const toolItem = ({ name, description, schema }: ToolDefinition): JsonObject => ({
  type: "function",
  function: { name, description, parameters: schema },
});

/** How this endpoint differs from others on the same wire. */
interface Manner {
  ids: IdRule;
  /** What an assistant message with nothing but calls holds as content. */
  bareContent: "" | null;
  /** Takes several text parts only as one string (DeepSeek). */
  joinsText: boolean;
  /** Refuses a user message directly after a tool's (Mistral). */
  answersTools: boolean;
  context: WireContext;
}

function buildChat(request: ModelRequest, context: WireContext): BuiltRequest {
  const manner = mannerOf(request, context);
  const offered = wireTools(request.tools, isGemini(context.endpoint, request.model) ? "gemini" : "plain");
  const system = request.system.trim() === "" ? [] : [{ role: "system", content: cleanText(request.system) }];
  const tools = itemsOnce(offered.tools, toolItem);
  const thinking = thinkingOf(request, context, tools.length > 0);
  const body: JsonObject = {
    model: request.model,
    messages: [...system, ...itemsOf(request, manner)],
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && request.noCalls && { tool_choice: "none" }),
    stream: true,
    stream_options: { include_usage: true },
    ...limitOf(request, context),
    ...thinking.fields,
    ...(context.isOpenAI && { prompt_cache_key: request.sessionId }),
    ...formatOf(request, context),
  };
  const notes = [...offered.notices, ...(thinking.note ? [thinking.note] : [])];
  return { body: cleanBody(body, ["messages", "tools"]), notes, nameOf: offered.nameOf };
}

function mannerOf(request: ModelRequest, context: WireContext): Manner {
  const { presetId, baseURL } = context.endpoint;
  const host = hostOf(baseURL);
  const isMistral = host.endsWith("mistral.ai") || presetId === "mistral";
  return {
    ids: isMistral ? "mistral" : context.isOpenAI ? "openai-chat" : isKimi(request.model) ? "kimi" : "chat",
    // Ollama and LM Studio refuse null, hosted ones (Claude behind a proxy) an empty text.
    bareContent: isLocalHost(host) || presetId === "ollama" || presetId === "lmstudio" ? "" : null,
    joinsText: host.endsWith("deepseek.com") || presetId === "deepseek" || request.model.startsWith("deepseek"),
    answersTools: isMistral,
    context,
  };
}

const isKimi = (model: string) => /(^|\/)(kimi|moonshot)/i.test(model);

function thinkingOf(request: ModelRequest, context: WireContext, hasTools: boolean) {
  return thinkingFields({
    wire: "chat",
    presetId: context.endpoint.presetId,
    host: hostOf(context.endpoint.baseURL),
    model: request.model,
    level: request.thinking,
    maxOutputTokens: request.maxOutputTokens ?? context.facts.maxOutput ?? 32_000,
    hasTools,
  });
}

function limitOf(request: ModelRequest, context: WireContext): JsonObject {
  if (request.maxOutputTokens === null) return {};
  const limit = Math.min(request.maxOutputTokens, context.facts.maxOutput ?? request.maxOutputTokens);
  return context.isOpenAI ? { max_completion_tokens: limit } : { max_tokens: limit };
}

function formatOf(request: ModelRequest, context: WireContext): JsonObject {
  if (!request.outputSchema || !context.isOpenAI) return {};
  const strict = isStrictSchema(request.outputSchema);
  return {
    response_format: { type: "json_schema", json_schema: { name: "answer", schema: request.outputSchema, strict } },
  };
}

function itemsOf(request: ModelRequest, manner: Manner): JsonObject[] {
  const { ids, bareContent, joinsText, answersTools, context } = manner;
  const key = [ids, bareContent, joinsText, answersTools, context.facts.reasoning?.field].join(" ");
  return wireItems(request, context, { manner: key }, (messages) => messagesOf(messages, manner));
}

function messagesOf(legal: readonly Message[], manner: Manner): JsonObject[] {
  const messages: JsonObject[] = [];
  let pending: UserPart[] = [];
  const flush = (): void => {
    if (pending.length === 0) return;
    if (manner.answersTools && messages.at(-1)?.role === "tool") messages.push({ role: "assistant", content: "Done." });
    messages.push({ role: "user", content: userContent(pending, manner) });
    pending = [];
  };
  for (const message of legal) {
    if (message.role === "user") pending.push(...message.content);
    else if (message.role === "assistant") {
      flush();
      messages.push(assistantOf(message, manner));
    } else {
      messages.push(...resultsOf(message, manner));
      pending.push(...imagesOf(message), ...notesOf(message));
    }
  }
  flush();
  return messages;
}

function userContent(parts: UserPart[], manner: Manner): Json {
  const onlyText = parts.every((part) => part.type === "text");
  if (onlyText && (parts.length === 1 || manner.joinsText)) return joinTexts(parts);
  return parts.map((part) =>
    part.type === "text" ? { type: "text", text: part.text } : { type: "image_url", image_url: { url: dataUrl(part) } },
  );
}

function assistantOf(message: AssistantMessage, manner: Manner): JsonObject {
  const text = joinTexts(message.content);
  const calls = message.content.filter((part) => part.type === "tool-call");
  return {
    role: "assistant",
    content: text || manner.bareContent,
    ...reasoningOf(message, manner.context),
    ...extraOf(message, manner.context),
    ...(calls.length > 0 && { tool_calls: calls.map((call) => callOf(call, manner)) }),
  };
}

function callOf(call: ToolCallPart, { ids, context }: Manner): JsonObject {
  const extra = ownData(call.meta, context)?.extra_content;
  return {
    id: wireId(call.id, ids),
    type: "function",
    function: { name: wireName(call.name), arguments: JSON.stringify(cleanInput(call.input)) },
    ...(extra !== undefined && { extra_content: extra }),
  };
}

/** Reasoning under the name it came by, where the endpoint that sent it wants it back. */
function reasoningOf(message: AssistantMessage, context: WireContext): JsonObject {
  const own = message.content.flatMap((part) => {
    const data = part.type === "reasoning" ? ownData(part.meta, context) : null;
    return data && part.type === "reasoning" ? [{ text: part.text, data }] : [];
  });
  const details = own.flatMap(({ data }) => (Array.isArray(data.details) ? data.details : []));
  if (details.length > 0) return { reasoning_details: details };
  const field = own.map(({ data }) => data.field).find((name) => typeof name === "string");
  if (typeof field !== "string" || !wantsBack(field, context)) return {};
  return { [field]: own.map(({ text }) => text).join("") };
}

// Who sends `reasoning_content` (DeepSeek, Kimi, GLM) refuses a tool round without it; `reasoning` is for show.
const wantsBack = (field: string, { facts, endpoint }: WireContext) =>
  field === "reasoning_content" || facts.reasoning?.field === field || endpoint.presetId === "openrouter";

function extraOf(message: AssistantMessage, context: WireContext): JsonObject {
  for (const part of message.content) {
    const extra = part.type === "text" ? ownData(part.meta, context)?.extra_content : undefined;
    if (extra !== undefined) return { extra_content: extra };
  }
  return {};
}

function resultsOf(message: ToolMessage, manner: Manner): JsonObject[] {
  return message.results.map((result) => ({
    role: "tool",
    tool_call_id: wireId(result.callId, manner.ids),
    content: joinTexts(result.content, "\n") || "(an image, see below)",
  }));
}

/** Tool messages hold text only: their images follow in a user message. */
function imagesOf(message: ToolMessage): UserPart[] {
  return message.results.flatMap((result) => {
    const images = result.content.filter((part) => part.type === "image");
    return images.length === 0 ? [] : [{ type: "text" as const, text: `[Image from ${result.name}]` }, ...images];
  });
}
