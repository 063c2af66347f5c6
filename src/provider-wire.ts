/** What the three wires have in common: the shape of a wire, what it is told, and the making of a legal list of messages. Pure. */
import { OPENING } from "./message.ts";
import type { ModelFacts } from "./models.ts";
import { cleanInput } from "./provider-arguments.ts";
import type { Place, HistoryItems } from "./provider-history.ts";
import type { CallIds } from "./provider-ids.ts";
import type { Endpoint, ModelRequest } from "./provider.ts";
import type {
  AssistantMessage,
  AssistantPart,
  ImagePart,
  JsonObject,
  Message,
  ModelEvent,
  PartMeta,
  StopReason,
  TextPart,
  ToolMessage,
  ToolResult,
  Usage,
  UserMessage,
  UserPart,
} from "./types.ts";
import { textTokens } from "./tokens.ts";

/** What a wire must know beside the request. */
export interface WireContext {
  endpoint: Endpoint;
  /** `PartMeta.origin` of what this endpoint and model make. */
  origin: string;
  facts: ModelFacts;
  /** OpenAI itself, as opposed to those who speak like it. */
  isOpenAI: boolean;
  /** Opaque reasoning of messages before this index stays at home: the endpoint has refused it. */
  keepReasoningFrom: number;
  /** Base64 of images the endpoint has refused. */
  refusedImages: ReadonlySet<string>;
  /** The last message is the model's own and is to be continued (a paused turn). */
  continuing: boolean;
  /** What earlier requests of this wire and model were made of. */
  history: HistoryItems;
}

/** A request in the words of its wire. */
export interface BuiltRequest {
  body: JsonObject;
  /** Sentences for the user, each to be said once. */
  notes: string[];
  /** The tool's own name for what the model calls it. */
  nameOf: (wireName: string) => string;
}

/** What a reader needs to turn events into parts. */
export interface ReadContext {
  ids: CallIds;
  origin: string;
  nameOf: (wireName: string) => string;
  /** True once the end marker was seen or the answer came whole. */
  ended: () => boolean;
  /** Makes the error for a stream that stopped early. */
  cut: () => Error;
  /** Characters of the body, for an estimate where no usage is reported. */
  bodyChars: () => number;
}

export interface WireModule {
  build(request: ModelRequest, context: WireContext): BuiltRequest;
  /** Reads the events of one answer. Partial text and reasoning come out as parts before an error is passed on. */
  read(events: AsyncIterable<JsonObject>, context: ReadContext): AsyncGenerator<ModelEvent>;
}

const NO_OUTPUT = "(no output)";
const CONTINUE = "Continue.";
const NO_VISION = "[image left out: this model takes no images]";
const REFUSED_IMAGE = "[image left out: the provider did not accept it]";

/**
 * The messages as every wire takes them: no blank text, no message without content, neighbours of one role merged, the
 * first from the user, the last from the user or a tool. Calls become text where the request offers no tools.
 * Appending a message to the input only ever appends to the output, or to its last message. `keepLed` keeps the blank texts
 * that reasoning led to, for the wire that pairs the two.
 */
function legalMessages(
  span: readonly Message[],
  place: Place,
  context: WireContext,
  options: { tools: boolean; keepLed: boolean },
): Message[] {
  const legal: Message[] = [];
  for (const [at, message] of span.entries()) {
    const kept = place.from + at < context.keepReasoningFrom ? withoutReasoning(message) : message;
    const plain = options.tools ? kept : withoutTools(kept);
    const clean = cleanMessage(plain, context, options.keepLed);
    if (clean) appendMerged(legal, clean);
  }
  if (place.from === 0 && legal[0]?.role !== "user") legal.unshift(userText(OPENING));
  if (place.last && legal.at(-1)?.role === "assistant" && !context.continuing) legal.push(userText(CONTINUE));
  return legal;
}

/**
 * A request's messages as items of a wire, each clean JSON. `translate` makes items of legal messages; those of finished
 * steps come from the request before. `manner` stands for whatever else `translate` goes by.
 */
export function wireItems(
  request: ModelRequest,
  context: WireContext,
  options: { keepLed?: boolean; manner?: string },
  translate: (messages: Message[]) => JsonObject[],
): JsonObject[] {
  const { origin, facts, keepReasoningFrom, refusedImages } = context;
  const legal = { tools: request.tools.length > 0, keepLed: options.keepLed ?? false };
  const key = [origin, facts.vision, keepReasoningFrom, refusedImages.size, legal.tools, options.manner].join("|");
  return context.history.items(
    request.messages,
    key,
    (span, place) => translate(legalMessages(span, place, context, legal)),
    (message) => message.role === "assistant" && saysSomething(message),
  );
}

/** Something that no cleaning takes away, whatever the endpoint. */
function saysSomething({ content }: AssistantMessage): boolean {
  return content.some((part) => part.type === "tool-call" || (part.type === "text" && !isBlankText(part)));
}

const userText = (text: string): UserMessage => ({ role: "user", content: [{ type: "text", text }] });

function withoutReasoning(message: Message): Message {
  if (message.role !== "assistant") return message;
  return { ...message, content: message.content.filter((part) => part.type !== "reasoning") };
}

/** A history with calls as a plain conversation: some endpoints refuse calls where no tools are offered. */
function withoutTools(message: Message): Message {
  if (message.role === "assistant") return { ...message, content: message.content.map(callAsText) };
  if (message.role === "user") return message;
  const results = message.results.flatMap((result): UserPart[] => [
    { type: "text", text: `[Result of ${result.name}${result.isError ? ", an error" : ""}]` },
    ...result.content,
  ]);
  return { role: "user", content: [...results, ...notesOf(message)] };
}

function callAsText(part: AssistantPart): AssistantPart {
  if (part.type !== "tool-call") return part;
  return { type: "text", text: `[Called ${part.name} with ${JSON.stringify(cleanInput(part.input))}]` };
}

/** The injected notes of a tool message as text parts. */
export function notesOf(message: ToolMessage): TextPart[] {
  return (message.notes ?? [])
    .filter((note) => note.trim() !== "")
    .map((text) => ({ type: "text", text, injected: true }));
}

function cleanMessage(message: Message, context: WireContext, keepLed: boolean): Message | null {
  if (message.role === "user") {
    const content = message.content.map((part) => allowedImage(part, context)).filter((part) => !isBlankText(part));
    return content.length > 0 ? { role: "user", content } : null;
  }
  if (message.role === "assistant") return cleanAssistant(message, keepLed);
  const results = message.results.map((result) => cleanResult(result, context));
  return { ...message, results };
}

/** Reasoning alone is no answer, and no endpoint takes it as one. */
function cleanAssistant(message: AssistantMessage, keepLed: boolean): AssistantMessage | null {
  const content = message.content.filter((part) => !isBlankText(part) || (keepLed && part.meta?.data.blank === true));
  return content.some((part) => part.type !== "reasoning" && !isBlankText(part)) ? { ...message, content } : null;
}

function cleanResult(result: ToolResult, context: WireContext): ToolResult {
  const content = result.content.map((part) => allowedImage(part, context)).filter((part) => !isBlankText(part));
  return { ...result, content: content.length > 0 ? content : [{ type: "text", text: NO_OUTPUT }] };
}

const isBlankText = (part: AssistantPart | UserPart) => part.type === "text" && part.text.trim() === "";

function allowedImage<Part extends TextPart | ImagePart>(part: Part, context: WireContext): Part | TextPart {
  if (part.type !== "image") return part;
  if (context.facts.vision === false) return { type: "text", text: NO_VISION };
  return context.refusedImages.has(part.data) ? { type: "text", text: REFUSED_IMAGE } : part;
}

function appendMerged(list: Message[], message: Message): void {
  const last = list.at(-1);
  if (last?.role === "user" && message.role === "user") {
    list[list.length - 1] = { role: "user", content: [...last.content, ...message.content] };
  } else if (last?.role === "assistant" && message.role === "assistant") {
    list[list.length - 1] = { ...last, content: [...last.content, ...message.content] };
  } else list.push(message);
}

/** Opaque data of a part where it may go back, else null. */
export function ownData(meta: PartMeta | undefined, context: Pick<WireContext, "origin">): JsonObject | null {
  return meta && meta.origin === context.origin ? meta.data : null;
}

/** The text of a result or a message, one paragraph a part. */
export function joinTexts(parts: readonly (AssistantPart | UserPart)[], between = "\n\n"): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(between);
}

/** `data:` URL of an image. */
export const dataUrl = (image: ImagePart): string => `data:${image.mediaType};base64,${image.data}`;

/** Usage for an answer whose provider reported none. */
export function estimatedUsage(bodyChars: number, answer: string): Usage {
  return {
    inputTokens: Math.ceil(bodyChars / 4),
    outputTokens: textTokens(answer),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    estimated: true,
  };
}

/** Calls decide: with some the turn goes on, without any it can't wait for them. */
export function stopFor(reason: StopReason, calls: number): StopReason {
  if (calls > 0 && reason === "end") return "tool";
  return calls === 0 && reason === "tool" ? "end" : reason;
}
