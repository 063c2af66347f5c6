/** What goes on the wire in place of the transcript: kept and extended, changed only by compaction. Pure; decides nothing (prune-ladder.ts does). */
import type {
  AssistantMessage,
  AssistantPart,
  JsonObject,
  Message,
  PartMeta,
  TextPart,
  ToolCallPart,
  ToolMessage,
  ToolResult,
  UserMessage,
} from "./types.ts";
import { callsIn } from "./message.ts";
import { Repairer } from "./prune.ts";
import type { ViewState } from "./session-record.ts";
import { cutHead } from "./text.ts";

export interface WireView {
  readonly state: ViewState;
  readonly source: Message[];
  /** Not repaired yet: see `wireMessages`. */
  readonly messages: Message[];
  /** Holds the repaired form of the first `repaired.count` messages. */
  readonly repaired: { by: Repairer; count: number };
}

export const WHOLE_VIEW: Readonly<ViewState> = {
  dropped: 0,
  summary: null,
  facts: "",
  reasoningBefore: 0,
  elided: [],
  sourceCount: 0,
};

/** The view of a transcript under a state. */
export function openView(source: readonly Message[], state: ViewState = WHOLE_VIEW): WireView {
  const messages: Message[] = [];
  if (state.dropped > 0) messages.push(summaryMessage(state.summary ?? "", state.facts));
  const elided = new Set(state.elided);
  const none = new Set<string>();
  let calls: ToolCallPart[] = [];
  for (const [index, message] of source.entries()) {
    if (message.role === "assistant") calls = callsIn(message);
    if (index < state.dropped) continue;
    // Some servers use an id again: what came after the decision is not meant by it.
    const gone = index < state.sourceCount ? elided : none;
    messages.push(reduce(message, index < state.reasoningBefore, gone, calls));
  }
  return { state, source: [...source], messages, repaired: { by: new Repairer(), count: 0 } };
}

/** The same view with messages added at its end. Consumes `view`: go on with what is returned. */
export function extendView(view: WireView, added: readonly Message[]): WireView {
  // In place: a copy of the whole list at every step would grow with the square of the session.
  for (const message of added) {
    view.source.push(message);
    view.messages.push(message);
  }
  return view;
}

/** What to send: the view, made legal. Only what is new since the last call is looked at. */
export function wireMessages({ messages, repaired }: WireView): Message[] {
  for (; repaired.count < messages.length; repaired.count++) {
    const message = messages[repaired.count];
    if (message) repaired.by.push(message);
  }
  return repaired.by.messages();
}

/** The newest state that still holds for a transcript of `count` messages; undo and fork shorten it. */
export function stateFor(states: readonly ViewState[], count: number): ViewState {
  return states.findLast((state) => state.dropped < count) ?? WHOLE_VIEW;
}

/** The user message that takes the place of a dropped span. */
export function summaryMessage(summary: string, facts: string): UserMessage {
  const head =
    "Summary of the earlier part of this conversation, which is no longer shown. What the user asked for there still holds.";
  const text = [head, summary, facts].filter((part) => part !== "").join("\n\n");
  return { role: "user", content: [{ type: "text", text }], summary: true };
}

/** The line that takes the place of a result: what it was and how to have it again. */
export function elidedResult(result: ToolResult, call: ToolCallPart | undefined): ToolResult {
  const input = call ? ` ${cutHead(JSON.stringify(call.input), 200).text}` : "";
  const outcome = result.isError ? ", an error" : "";
  const text = `[removed to save context: result of ${result.name}${input}, ${sizeOf(result)}${outcome}. Call it again if you need it.]`;
  return { ...result, content: [{ type: "text", text }] };
}

/** A message without its reasoning. What depended on it loses its item id, so that the same content goes inline. */
export function withoutReasoning(message: AssistantMessage): AssistantMessage {
  if (!message.content.some((part) => part.type === "reasoning")) return message;
  const content = message.content.filter((part) => part.type !== "reasoning").map(withoutItemId);
  return { ...message, content };
}

function reduce(
  message: Message,
  dropReasoning: boolean,
  elided: ReadonlySet<string>,
  calls: readonly ToolCallPart[],
): Message {
  switch (message.role) {
    case "assistant":
      return dropReasoning ? withoutReasoning(message) : message;
    case "tool":
      return message.results.some((result) => elided.has(result.callId)) ? elide(message, elided, calls) : message;
    case "user":
      return message;
    default:
      return message satisfies never;
  }
}

function elide(message: ToolMessage, elided: ReadonlySet<string>, calls: readonly ToolCallPart[]): ToolMessage {
  const results = message.results.map((result) => {
    if (!elided.has(result.callId)) return result;
    const call = calls.find((candidate) => candidate.id === result.callId);
    return elidedResult(result, call);
  });
  return { ...message, results };
}

function withoutItemId(part: AssistantPart): AssistantPart {
  if (!part.meta) return part;
  const { meta, ...rest } = part;
  const kept = metaWithoutItemId(meta);
  return kept ? { ...rest, meta: kept } : rest;
}

// A Responses item that names an id needs the reasoning item it was answered with; signatures of other kinds stay.
const ITEM_ID_FIELDS = ["id", "itemId", "item_id"];

function metaWithoutItemId(meta: PartMeta): PartMeta | null {
  const kept = Object.entries(meta.data).filter(([field]) => !ITEM_ID_FIELDS.includes(field));
  const data: JsonObject = Object.fromEntries(kept);
  return kept.length > 0 ? { origin: meta.origin, data } : null;
}

function sizeOf(result: ToolResult): string {
  const texts = result.content.filter((part): part is TextPart => part.type === "text");
  const images = result.content.length - texts.length;
  const characters = texts.reduce((sum, part) => sum + part.text.length, 0);
  const size = `${characters} characters`;
  return images > 0 ? `${size} and ${images} image${images > 1 ? "s" : ""}` : size;
}
