/** The responses wire: answers. Sends nothing. */
import { CUT_MESSAGE, readArguments } from "./provider-arguments.ts";
import { responsesUsage } from "./provider-chat-usage.ts";
import { isObject } from "./provider-errors.ts";
import { estimatedUsage, type ReadContext, stopFor } from "./provider-wire.ts";
import type { AssistantPart, Json, JsonObject, ModelEvent, StopReason, Usage } from "./types.ts";

/** Reads one answer. Throws when the stream ends before the answer does; what was said by then comes out as parts first. */
export async function* readResponses(
  events: AsyncIterable<JsonObject>,
  context: ReadContext,
): AsyncGenerator<ModelEvent> {
  const answer = new Answer(context);
  try {
    for await (const event of events) yield* answer.take(event);
  } catch (error) {
    if (!answer.isFinished) {
      yield* answer.partial();
      throw error;
    }
  }
  if (!answer.isFinished) {
    yield* answer.partial();
    throw context.cut();
  }
  yield* answer.finish();
}

/** An output item that has been heard of. */
interface Item {
  id: string;
  /** The provider's own for the finished item. */
  givenId: string;
  callId: string;
  type: Json;
  /** Name of a call, once known and announced. */
  name: string;
  /** What its deltas have said, by kind. */
  text: string[];
  reasoning: string[];
  /** Arguments of a call in pieces. */
  json: string[];
  /** Index of the summary or content part that spoke last, to keep paragraphs apart. */
  section: string;
  done: boolean;
}

class Answer {
  readonly #context: ReadContext;
  readonly #items = new Map<string, Item>();
  readonly #said: string[] = [];
  #calls = 0;
  #refused = false;
  #end: JsonObject | null = null;

  constructor(context: ReadContext) {
    this.#context = context;
  }

  get isFinished(): boolean {
    return this.#end !== null;
  }

  *take(event: JsonObject): Generator<ModelEvent> {
    const item = isObject(event.item) ? event.item : null;
    switch (event.type) {
      case "response.created":
        // A second response in one stream numbers its items anew.
        this.#items.clear();
        break;
      case "response.output_item.added":
        if (item) yield* this.#added(keyOf(event), item);
        break;
      case "response.output_item.done":
        if (item) yield* this.#done(keyOf(event), item);
        break;
      case "response.output_text.delta":
        yield* this.#delta(event, "text");
        break;
      case "response.output_text.done":
        // With its deltas left out this is the text.
        if (this.#item(keyOf(event)).text.length === 0)
          yield* this.#delta({ ...event, delta: event.text ?? null }, "text");
        break;
      case "response.function_call_arguments.delta":
        this.#item(keyOf(event)).json.push(textOf(event.delta));
        break;
      case "response.function_call_arguments.done":
        if (textOf(event.arguments) !== "") this.#item(keyOf(event)).json = [textOf(event.arguments)];
        break;
      case "response.refusal.delta":
        this.#refused = true;
        yield* this.#delta(event, "text");
        break;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        yield* this.#delta(event, "reasoning");
        break;
      case "response.completed":
      case "response.incomplete":
        if (isObject(event.response)) yield* this.#complete(event.response);
        break;
      default:
      // Progress notes, and events of tools we don't offer. Failures were caught before the SDK saw them.
    }
  }

  /** A finished item under a used key that isn't the one known by it. */
  #isAnother(key: string, value: JsonObject): boolean {
    const known = this.#items.get(key);
    return known?.done === true && textOf(value.id) !== "" && textOf(value.id) !== known.givenId;
  }

  #retire(key: string): void {
    const known = this.#items.get(key);
    this.#items.delete(key);
    if (known) this.#items.set(`${key} ${this.#items.size}`, known);
  }

  #item(key: string): Item {
    const known = this.#items.get(key);
    if (known) return known;
    const item: Item = {
      id: "",
      givenId: "",
      callId: "",
      type: null,
      name: "",
      text: [],
      reasoning: [],
      json: [],
      section: "",
      done: false,
    };
    this.#items.set(key, item);
    return item;
  }

  *#added(key: string, value: JsonObject): Generator<ModelEvent> {
    // Some servers number every item 0.
    if (this.#items.get(key)?.done) this.#retire(key);
    const item = this.#item(key);
    item.type = value.type ?? null;
    if (value.type === "function_call") yield* this.#announce(item, value);
  }

  *#announce(item: Item, value: JsonObject): Generator<ModelEvent> {
    if (item.name !== "" || textOf(value.name) === "") return;
    item.name = textOf(value.name);
    item.id = this.#context.ids.take(textOf(value.call_id) || null);
    yield { type: "tool-start", id: item.id, name: this.#context.nameOf(textOf(value.name)) };
  }

  *#delta(event: JsonObject, type: "text" | "reasoning"): Generator<ModelEvent> {
    if (typeof event.delta !== "string" || event.delta === "") return;
    const item = this.#item(keyOf(event));
    const pieces = type === "text" ? item.text : item.reasoning;
    const section = String(event.summary_index ?? event.content_index ?? "");
    // Parts of a summary are paragraphs of their own.
    if (type === "reasoning" && pieces.length > 0 && section !== item.section) yield* this.#push(pieces, type, "\n\n");
    item.section = section;
    yield* this.#push(pieces, type, event.delta);
  }

  *#push(pieces: string[], type: "text" | "reasoning", text: string): Generator<ModelEvent> {
    pieces.push(text);
    yield { type, text };
  }

  *#done(key: string, value: JsonObject): Generator<ModelEvent> {
    if (this.#isAnother(key, value)) this.#retire(key);
    const item = this.#item(key);
    if (item.done) return;
    item.done = true;
    item.type = value.type ?? null;
    item.givenId = textOf(value.id);
    item.callId = textOf(value.call_id);
    yield* this.#sayUnsaid(item, value);
    if (value.type === "function_call") yield* this.#announce(item, value);
    const part = this.#partOf(item, value);
    if (!part) return;
    if (part.type === "tool-call") this.#calls++;
    this.#said.push(part.type === "tool-call" ? JSON.stringify(part.input) : part.text);
    yield { type: "part", part };
  }

  /** A whole answer, or an item that came without deltas: it is shown when it is complete. */
  *#sayUnsaid(item: Item, value: JsonObject): Generator<ModelEvent> {
    if (value.type === "message" && item.text.length === 0) {
      const text = messageText(value);
      if (refusalIn(value)) this.#refused = true;
      if (text !== "") yield* this.#push(item.text, "text", text);
    }
    if (value.type === "reasoning" && item.reasoning.length === 0) {
      const text = reasoningText(value);
      if (text !== "") yield* this.#push(item.reasoning, "reasoning", text);
    }
  }

  #partOf(item: Item, value: JsonObject): AssistantPart | null {
    const origin = this.#context.origin;
    switch (value.type) {
      case "message": {
        const text = messageText(value) || item.text.join("");
        const phase = typeof value.phase === "string" ? { phase: value.phase } : {};
        // Nothing was said, yet reasoning may have led to just this item, and must be followed by it when it goes back.
        const blank = text.trim() === "" ? { blank: true } : {};
        const data = { ...phase, ...blank };
        return { type: "text", text, ...(Object.keys(data).length > 0 ? { meta: { origin, data } } : {}) };
      }
      case "reasoning":
        return {
          type: "reasoning",
          text: reasoningText(value) || item.reasoning.join(""),
          meta: { origin, data: value },
        };
      case "function_call":
        return this.#callOf(item, value);
      default:
        return null;
    }
  }

  #callOf(item: Item, value: JsonObject): AssistantPart {
    const name = textOf(value.name);
    const id = item.id || this.#context.ids.take(textOf(value.call_id) || null);
    if (name !== "") return { type: "tool-call", id, name: this.#context.nameOf(name), ...argumentsOf(item, value) };
    const inputError = { kind: "invalid" as const, message: "The call came without a tool name and was not run." };
    return { type: "tool-call", id, name: "unnamed_tool", input: {}, inputError };
  }

  /** The final response repeats all items: those that never came by themselves are taken from it. */
  *#complete(response: JsonObject): Generator<ModelEvent> {
    const done = [...this.#items.values()].filter((item) => item.done);
    for (const [index, value] of (Array.isArray(response.output) ? response.output : []).entries()) {
      if (!isObject(value)) continue;
      // Ids are no help: Copilot gives an item a new one each time it is named.
      const twin = done.findIndex((item) => item.type === value.type && item.callId === textOf(value.call_id));
      if (twin >= 0) done.splice(twin, 1);
      else yield* this.#done(this.#openKey(index, textOf(value.id)), value);
    }
    this.#end = response;
  }

  /** The key under which an item's deltas came, if they did and it never ended. */
  #openKey(index: number, id: string): string {
    const isOpen = (key: string) => this.#items.get(key)?.done === false;
    return [String(index), id].find(isOpen) ?? `last ${index}`;
  }

  *partial(): Generator<ModelEvent> {
    for (const item of this.#items.values()) {
      if (item.done) continue;
      if (item.reasoning.length > 0) yield { type: "part", part: { type: "reasoning", text: item.reasoning.join("") } };
      if (item.text.length > 0) yield { type: "part", part: { type: "text", text: item.text.join("") } };
    }
  }

  *finish(): Generator<ModelEvent> {
    // An incomplete answer leaves its last item open: text counts, half a call is told to the model and not run.
    yield* this.partial();
    for (const item of this.#items.values()) if (item.name !== "" && !item.done) yield* this.#cutCall(item);
    yield { type: "usage", usage: this.#usage() };
    yield { type: "stop", reason: this.#refused ? "refusal" : stopFor(stopOf(this.#end), this.#calls) };
  }

  *#cutCall(item: Item): Generator<ModelEvent> {
    this.#calls++;
    const read = this.#end?.status === "incomplete" ? CUT_ARGUMENTS : readArguments(item.json.join(""));
    yield { type: "part", part: { type: "tool-call", id: item.id, name: this.#context.nameOf(item.name), ...read } };
  }

  #usage(): Usage {
    return responsesUsage(this.#end?.usage) ?? estimatedUsage(this.#context.bodyChars(), this.#said.join(""));
  }
}

function keyOf(event: JsonObject): string {
  const ownId = isObject(event.item) ? event.item.id : undefined;
  return String(event.output_index ?? event.item_id ?? ownId ?? "0");
}

const CUT_ARGUMENTS = { input: {}, inputError: { kind: "truncated" as const, message: CUT_MESSAGE } };

/** Arguments of a finished call: its own, else what its deltas said. */
function argumentsOf(item: Item, value: JsonObject): ReturnType<typeof readArguments> {
  const own = value.arguments;
  const isBlank = own === undefined || own === null || (typeof own === "string" && own.trim() === "");
  const text = item.json.join("");
  if (isBlank && text.trim() === "" && value.status === "incomplete") return CUT_ARGUMENTS;
  return readArguments(isBlank ? text : own);
}

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "");

const partsOf = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

const messageText = (item: JsonObject): string =>
  partsOf(item.content)
    .map((part) => textOf(part.text) || textOf(part.refusal))
    .join("");

const refusalIn = (item: JsonObject): boolean => partsOf(item.content).some((part) => part.type === "refusal");

/** The summary; without one the open reasoning text that some servers give. */
function reasoningText(item: JsonObject): string {
  const texts = (value: Json | undefined) =>
    partsOf(value)
      .map((part) => textOf(part.text))
      .filter(Boolean)
      .join("\n\n");
  return texts(item.summary) || texts(item.content);
}

function stopOf(response: JsonObject | null): StopReason {
  if (response?.status !== "incomplete") return "end";
  const reason = isObject(response.incomplete_details) ? response.incomplete_details.reason : null;
  if (reason === "content_filter") return "filter";
  return reason === "max_output_tokens" || reason === "max_tokens" ? "length" : "end";
}
