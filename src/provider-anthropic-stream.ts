/** The messages wire: answers. Sends nothing. */
import { CUT_MESSAGE, readArguments } from "./provider-arguments.ts";
import { isObject } from "./provider-errors.ts";
import { estimatedUsage, type ReadContext, stopFor } from "./provider-wire.ts";
import type { AssistantPart, Json, JsonObject, ModelEvent, StopReason, Usage } from "./types.ts";

/** Reads one answer. Throws when the stream ends before the answer does; what was said by then comes out as parts first. */
export async function* readAnthropic(
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
  if (!answer.isFinished && !context.ended()) {
    yield* answer.partial();
    throw context.cut();
  }
  yield* answer.finish();
}

/** What a delta belongs to. */
const TYPES: Record<string, string> = { text_delta: "text", thinking_delta: "thinking" };

/** A block that has begun and not ended. */
interface OpenBlock {
  start: JsonObject;
  /** Id given to the call, for `tool_use`. */
  id: string;
  /** Text, thinking or JSON in pieces. */
  pieces: string[];
  signature: string[];
}

class Answer {
  readonly #context: ReadContext;
  readonly #open = new Map<number, OpenBlock>();
  /** The latest call, when it came without input. */
  #unwritten: OpenBlock | null = null;
  readonly #said: string[] = [];
  #calls = 0;
  #stop: string | null = null;
  #usage: JsonObject | null = null;

  constructor(context: ReadContext) {
    this.#context = context;
  }

  get isFinished(): boolean {
    return this.#stop !== null;
  }

  *take(event: JsonObject): Generator<ModelEvent> {
    switch (event.type) {
      case "message_start":
        if (isObject(event.message)) this.#report(event.message.usage);
        break;
      case "content_block_start":
        if (isObject(event.content_block)) yield* this.#start(Number(event.index), event.content_block);
        break;
      case "content_block_delta":
        if (isObject(event.delta)) yield* this.#delta(Number(event.index), event.delta);
        break;
      case "content_block_stop":
        yield* this.#end(Number(event.index));
        break;
      case "message_delta":
        this.#report(event.usage);
        if (isObject(event.delta) && typeof event.delta.stop_reason === "string") this.#stop = event.delta.stop_reason;
        break;
      default:
      // Unknown events are for newer clients.
    }
  }

  *#start(index: number, start: JsonObject): Generator<ModelEvent> {
    // Some servers give every block the same index and no end of its own.
    yield* this.#end(index);
    yield* this.#release(false);
    const block: OpenBlock = { start, id: "", pieces: [], signature: [] };
    this.#open.set(index, block);
    if (start.type === "tool_use") {
      block.id = this.#context.ids.take(textOf(start.id) || null);
      if (textOf(start.name) !== "")
        yield { type: "tool-start", id: block.id, name: this.#context.nameOf(textOf(start.name)) };
    }
    if (start.type === "text") yield* this.#say(block, "text", textOf(start.text));
    if (start.type === "thinking") {
      yield* this.#say(block, "reasoning", textOf(start.thinking));
      block.signature.push(textOf(start.signature));
    }
  }

  *#delta(index: number, delta: JsonObject): Generator<ModelEvent> {
    const block = this.#open.get(index) ?? this.#openFor(index, delta);
    if (!block) return;
    // A start that doesn't say what it starts: the first delta does.
    if (typeof block.start.type !== "string") block.start = { ...block.start, type: TYPES[textOf(delta.type)] ?? null };
    switch (delta.type) {
      case "text_delta":
        yield* this.#say(block, "text", textOf(delta.text));
        break;
      case "thinking_delta":
        yield* this.#say(block, "reasoning", textOf(delta.thinking));
        break;
      case "signature_delta":
        block.signature.push(textOf(delta.signature));
        break;
      case "input_json_delta":
        block.pieces.push(textOf(delta.partial_json));
        break;
      default:
      // Citations and the like add nothing we show or send.
    }
  }

  /** A block whose start was left out: its deltas tell what it is. A call can't begin like this, it needs a name. */
  #openFor(index: number, delta: JsonObject): OpenBlock | undefined {
    const type = TYPES[textOf(delta.type)];
    if (type === undefined) return undefined;
    const block: OpenBlock = { start: { type, [type]: "" }, id: "", pieces: [], signature: [] };
    this.#open.set(index, block);
    return block;
  }

  *#say(block: OpenBlock, type: "text" | "reasoning", text: string): Generator<ModelEvent> {
    if (text === "") return;
    block.pieces.push(text);
    yield { type, text };
  }

  *#end(index: number): Generator<ModelEvent> {
    const block = this.#open.get(index);
    this.#open.delete(index);
    if (!block) return;
    if (hasNoInput(block)) this.#unwritten = block;
    else yield* this.#finishBlock(block);
  }

  *#finishBlock(block: OpenBlock): Generator<ModelEvent> {
    const part = this.#partOf(block);
    if (part) yield* this.#deliver(part);
  }

  /** A call without input is complete once something follows it; at the token limit it never got to its input. */
  *#release(cut: boolean): Generator<ModelEvent> {
    const block = this.#unwritten;
    this.#unwritten = null;
    if (!block) return;
    if (!cut) return yield* this.#finishBlock(block);
    const part = this.#partOf(block);
    if (part?.type !== "tool-call") return;
    yield* this.#deliver({ ...part, inputError: { kind: "truncated", message: CUT_MESSAGE } });
  }

  *#deliver(part: AssistantPart): Generator<ModelEvent> {
    if (part.type === "tool-call") this.#calls++;
    this.#said.push(part.type === "tool-call" ? JSON.stringify(part.input) : part.text);
    yield { type: "part", part };
  }

  #partOf(block: OpenBlock): AssistantPart | null {
    const text = block.pieces.join("");
    const origin = this.#context.origin;
    switch (block.start.type) {
      case "text":
        return text === "" ? null : { type: "text", text };
      case "thinking": {
        const data = { ...block.start, thinking: text, signature: block.signature.join("") };
        return { type: "reasoning", text, meta: { origin, data } };
      }
      case "redacted_thinking":
        return { type: "reasoning", text: "", meta: { origin, data: block.start } };
      case "tool_use":
        return this.#callOf(block, text);
      default:
        return null;
    }
  }

  #callOf(block: OpenBlock, json: string): AssistantPart {
    const name = textOf(block.start.name);
    // Without deltas the input stands in the start event, if anywhere.
    const read = readArguments(json.trim() === "" ? block.start.input : json);
    if (name !== "") return { type: "tool-call", id: block.id, name: this.#context.nameOf(name), ...read };
    const inputError = { kind: "invalid" as const, message: "The call came without a tool name and was not run." };
    return { type: "tool-call", id: block.id, name: "unnamed_tool", input: {}, inputError };
  }

  /** What may be kept of blocks that broke off: their text. Half a call is none, and unsigned thinking can't go back. */
  *partial(): Generator<ModelEvent> {
    for (const block of this.#open.values()) {
      const text = block.pieces.join("");
      if (text === "" || block.start.type === "tool_use") continue;
      yield { type: "part", part: { type: block.start.type === "thinking" ? "reasoning" : "text", text } };
    }
    this.#open.clear();
  }

  *finish(): Generator<ModelEvent> {
    // Some servers leave out the end of the last block.
    for (const index of [...this.#open.keys()]) yield* this.#end(index);
    yield* this.#release(stopOf(this.#stop) === "length");
    yield {
      type: "usage",
      usage: usageOf(this.#usage) ?? estimatedUsage(this.#context.bodyChars(), this.#said.join("")),
    };
    yield { type: "stop", reason: stopFor(stopOf(this.#stop), this.#calls) };
  }

  /** Start and end of a message both report; the last value of each field that isn't null holds. */
  #report(usage: Json | undefined): void {
    if (!isObject(usage)) return;
    const known = Object.entries(usage).filter(([, value]) => value !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(known) };
  }
}

function hasNoInput({ start, pieces }: OpenBlock): boolean {
  if (start.type !== "tool_use" || pieces.join("").trim() !== "") return false;
  return !isObject(start.input) || Object.keys(start.input).length === 0;
}

function usageOf(usage: JsonObject | null): Usage | null {
  const input = usage?.input_tokens;
  const output = usage?.output_tokens;
  if (!usage || (typeof input !== "number" && typeof output !== "number")) return null;
  const cacheReadTokens = numberOf(usage.cache_read_input_tokens);
  const cacheWriteTokens = numberOf(usage.cache_creation_input_tokens);
  const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {};
  return {
    inputTokens: numberOf(input) + cacheReadTokens + cacheWriteTokens,
    outputTokens: numberOf(output),
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens: numberOf(details.thinking_tokens ?? details.reasoning_tokens),
  };
}

const numberOf = (value: Json | undefined): number => (typeof value === "number" && value >= 0 ? value : 0);

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "");

function stopOf(reason: string | null): StopReason {
  switch (reason) {
    case "max_tokens":
      return "length";
    case "tool_use":
      return "tool";
    case "pause_turn":
      return "pause";
    case "refusal":
      return "refusal";
    case "model_context_window_exceeded":
      return "context";
    default:
      return "end";
  }
}
