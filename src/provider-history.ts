/** A request's messages in the words of a wire, kept from one request to the next: finished steps are translated and serialised once. */
import { cleanJson } from "./provider-arguments.ts";
import { isObject } from "./provider-errors.ts";
import type { JsonObject, Message } from "./types.ts";

/** Where a span of the history stands. */
export interface Place {
  /** Index of its first message in the whole history. */
  from: number;
  /** Nothing follows it. */
  last: boolean;
}

/** JSON of items that were made here. An item that was changed since is another object and is serialised anew. */
const texts = new WeakMap<object, string>();

/** Items that follow each other, with their JSON, by the first of them: a long list is put together from few pieces. */
const blocks = new WeakMap<object, { items: readonly JsonObject[]; text: string }>();
const BLOCK_ITEMS = 64;

const lists = new WeakMap<object, Map<unknown, JsonObject[]>>();

/** Items made of a list that stays the same from request to request, such as the tools: translated and serialised once. `shape` is a function of the module, not one made anew. */
export function itemsOnce<T>(list: readonly T[], shape: (one: T) => JsonObject): JsonObject[] {
  const known = lists.get(list) ?? new Map<unknown, JsonObject[]>();
  lists.set(list, known);
  const items = known.get(shape) ?? list.map((one) => prepared(shape(one)));
  known.set(shape, items);
  return items;
}

/** One for each wire and model of a provider. */
export class HistoryItems {
  #key = "";
  /** Whole steps, none of which an appended message can change … */
  #done: Message[] = [];
  /** … and what they are on the wire. */
  #items: JsonObject[] = [];

  /**
   * Items of a history. `key` stands for everything else that decides about them. `render` translates a span; `opens`
   * says whether an assistant message certainly comes out as one, so that what stands before it is finished.
   */
  items(
    messages: readonly Message[],
    key: string,
    render: (span: readonly Message[], place: Place) => JsonObject[],
    opens: (message: Message) => boolean,
  ): JsonObject[] {
    if (key !== this.#key || !beginsWith(messages, this.#done)) this.#forget(key);
    const end = messages.findLastIndex((message, at) => at > this.#done.length && opens(message));
    if (end > 0) this.#finish(messages.slice(this.#done.length, end), render);
    const from = this.#done.length;
    return [...this.#items, ...render(messages.slice(from), { from, last: true }).map(prepared)];
  }

  #forget(key: string): void {
    this.#key = key;
    this.#done = [];
    this.#items = [];
  }

  #finish(span: readonly Message[], render: (span: readonly Message[], place: Place) => JsonObject[]): void {
    const items = render(span, { from: this.#done.length, last: false }).map(prepared);
    // Neighbours of one role would be merged with what follows, and an empty span with what came before.
    if (items.length === 0 || items.at(-1)?.role === "assistant") return;
    for (const item of items) {
      if (!texts.has(item)) texts.set(item, JSON.stringify(item));
      this.#items.push(item);
      if (this.#items.length % BLOCK_ITEMS === 0) this.#close(this.#items.slice(-BLOCK_ITEMS));
    }
    for (const message of span) this.#done.push(message);
  }

  #close(items: readonly JsonObject[]): void {
    const [first] = items;
    if (first) blocks.set(first, { items, text: items.map((item) => texts.get(item)).join(",") });
  }
}

function beginsWith(messages: readonly Message[], beginning: readonly Message[]): boolean {
  return messages.length > beginning.length && beginning.every((message, at) => message === messages[at]);
}

/** How JSON.stringify writes half a character and NUL, which strict servers refuse. */
const UNCLEAN = /\\u(?:d[89a-f]|0000)/;

/** The item made clean, and serialised. Looked through only where its JSON hints at something: nearly all are clean. */
function prepared(item: JsonObject): JsonObject {
  const text = JSON.stringify(item);
  if (!UNCLEAN.test(text)) {
    texts.set(item, text);
    return item;
  }
  const clean = cleanJson(item);
  return isObject(clean) ? clean : item;
}

/** JSON of a request body, as `JSON.stringify` would write it; what is known of its lists is put together. */
export function bodyText(body: JsonObject): string {
  const pieces: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined) continue;
    pieces.push(pieces.length === 0 ? "{" : ",", JSON.stringify(name), ":");
    if (Array.isArray(value)) pushList(pieces, value);
    else pieces.push(JSON.stringify(value));
  }
  return pieces.length === 0 ? "{}" : `${pieces.join("")}}`;
}

function pushList(pieces: string[], items: readonly JsonObject[string][]): void {
  pieces.push("[");
  for (let at = 0; at < items.length;) {
    if (at > 0) pieces.push(",");
    const item = items[at] ?? null;
    const block = isObject(item) ? blocks.get(item) : undefined;
    const whole = block?.items.every((one, place) => one === items[at + place]) ? block : undefined;
    pieces.push(whole?.text ?? (isObject(item) ? texts.get(item) : undefined) ?? JSON.stringify(item));
    at += whole?.items.length ?? 1;
  }
  pieces.push("]");
}
