/** The chat-completions wire: answers, in all the dialects that call themselves compatible. Sends nothing. */
import { ProviderError } from "./errors.ts";
import { CallAssembly } from "./provider-assembly.ts";
import { chatUsage } from "./provider-chat-usage.ts";
import { isObject } from "./provider-errors.ts";
import { appendDetails, textOfDetails } from "./provider-reasoning-details.ts";
import { ThinkTag } from "./provider-think-tag.ts";
import { estimatedUsage, type ReadContext, stopFor } from "./provider-wire.ts";
import type { AssistantPart, Json, JsonObject, ModelEvent, PartMeta, StopReason, Usage } from "./types.ts";

/** Reads one answer. Throws when the stream ends before the answer does; what was said by then comes out as parts first. */
export async function* readChat(events: AsyncIterable<JsonObject>, context: ReadContext): AsyncGenerator<ModelEvent> {
  const answer = new ChatAnswer(context);
  try {
    for await (const event of events) yield* answer.take(event);
  } catch (error) {
    // Once the finish reason is here, nothing but usage can be missing.
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

class ChatAnswer {
  readonly #context: ReadContext;
  readonly #calls: CallAssembly;
  readonly #tag = new ThinkTag();
  readonly #text: string[] = [];
  readonly #reasoning: string[] = [];
  readonly #details: JsonObject[] = [];
  #field: string | null = null;
  #extra: Json | null = null;
  #finish: string | null = null;
  #refused = false;
  #usage: Usage | null = null;

  constructor(context: ReadContext) {
    this.#context = context;
    this.#calls = new CallAssembly(context.ids);
  }

  get isFinished(): boolean {
    return this.#finish !== null;
  }

  *take(event: JsonObject): Generator<ModelEvent> {
    const choice = firstChoice(event);
    this.#usage = chatUsage([event, choice], this.#usage);
    if (!choice) return;
    const delta = isObject(choice.delta) ? choice.delta : this.#unsaid(choice.message);
    if (delta) yield* this.#takeDelta(delta);
    if (!isFinish(choice.finish_reason)) return;
    this.#finish = choice.finish_reason;
    const failure = failureOf(choice.finish_reason);
    if (failure === null) return;
    this.#finish = null;
    throw failure;
  }

  /** A whole message in a stream: all of it, or what the deltas before it left out. */
  #unsaid(message: Json | undefined): JsonObject | null {
    if (!isObject(message) || this.#text.length > 0 || this.#calls.count > 0) return null;
    if (this.#reasoning.length === 0) return message;
    const { content, tool_calls, function_call, refusal } = message;
    return Object.fromEntries(
      Object.entries({ content, tool_calls, function_call, refusal }).filter(
        (entry): entry is [string, Json] => entry[1] !== undefined,
      ),
    );
  }

  *#takeDelta(delta: JsonObject): Generator<ModelEvent> {
    yield* this.#takeReasoning(delta);
    yield* this.#takeContent(delta.content);
    if (typeof delta.refusal === "string" && delta.refusal !== "") {
      this.#refused = true;
      yield* this.#say("text", delta.refusal);
    }
    if (delta.extra_content !== undefined && delta.extra_content !== null) this.#extra = delta.extra_content;
    for (const call of callsOf(delta)) {
      const started = this.#calls.add(call);
      if (started) yield { type: "tool-start", id: started.id, name: this.#context.nameOf(started.name) };
    }
  }

  /** One of several fields; two of them in one delta say the same thing. */
  *#takeReasoning(delta: JsonObject): Generator<ModelEvent> {
    const details = Array.isArray(delta.reasoning_details) ? delta.reasoning_details.filter(isObject) : [];
    appendDetails(this.#details, details);
    const named = ["reasoning_content", "reasoning", "reasoning_text", "thinking"].filter(
      (name) => typeof delta[name] === "string",
    );
    const field = named.find((name) => delta[name] !== "") ?? named[0];
    if (field && (this.#field === null || delta[field] !== "")) this.#field ??= field;
    const text = field ? String(delta[field]) : "";
    yield* this.#say("reasoning", text || textOfDetails(details));
  }

  *#takeContent(content: Json | undefined): Generator<ModelEvent> {
    if (typeof content === "string") return yield* this.#sayContent(content);
    for (const part of (Array.isArray(content) ? content : [content ?? null]).filter(isObject)) {
      if (part.type === "thinking") yield* this.#say("reasoning", textOf(part.thinking));
      else if (typeof part.text === "string") yield* this.#sayContent(part.text);
    }
  }

  *#sayContent(piece: string): Generator<ModelEvent> {
    if (piece === "") return;
    const { reasoning, text } = this.#tag.push(piece);
    yield* this.#say("reasoning", reasoning);
    yield* this.#say("text", text);
  }

  *#say(type: "text" | "reasoning", text: string): Generator<ModelEvent> {
    if (text === "") return;
    (type === "text" ? this.#text : this.#reasoning).push(text);
    yield { type, text };
  }

  /** What may be kept of an answer that broke off: no calls, they may be half of themselves. */
  *partial(): Generator<ModelEvent> {
    yield* this.#flush();
    for (const part of this.#saidParts()) yield { type: "part", part };
  }

  *finish(): Generator<ModelEvent> {
    yield* this.#flush();
    const calls = this.#calls
      .finish(this.#meta, stopOf(this.#finish) === "length")
      .map((call) => ({ ...call, name: this.#context.nameOf(call.name) }));
    for (const part of [...this.#saidParts(), ...calls]) yield { type: "part", part };
    const said = this.#text.join("") + this.#reasoning.join("") + JSON.stringify(calls.map((call) => call.input));
    yield { type: "usage", usage: this.#usage ?? estimatedUsage(this.#context.bodyChars(), said) };
    yield { type: "stop", reason: this.#refused ? "refusal" : stopFor(stopOf(this.#finish), calls.length) };
  }

  *#flush(): Generator<ModelEvent> {
    const held = this.#tag.end();
    yield* this.#say("reasoning", held.reasoning);
    yield* this.#say("text", held.text);
  }

  #saidParts(): AssistantPart[] {
    const parts: AssistantPart[] = [];
    const data: JsonObject = {
      ...(this.#field !== null && { field: this.#field }),
      ...(this.#details.length > 0 && { details: this.#details }),
    };
    const hasData = Object.keys(data).length > 0;
    const reasoning = this.#reasoning.join("");
    // An empty field is kept too: who sends it wants it back.
    if (reasoning !== "" || hasData)
      parts.push({ type: "reasoning", text: reasoning, ...(hasData && { meta: this.#meta(data) }) });
    const text = this.#text.join("");
    const extra = this.#extra === null ? {} : { meta: this.#meta({ extra_content: this.#extra }) };
    if (text !== "") parts.push({ type: "text", text, ...extra });
    return parts;
  }

  readonly #meta = (data: JsonObject): PartMeta => ({ origin: this.#context.origin, data });
}

/** Choice 0: others (`n` > 1, Azure's filters) are not ours. */
function firstChoice(event: JsonObject): JsonObject | null {
  const choices = Array.isArray(event.choices) ? event.choices.filter(isObject) : [];
  return choices.find((choice) => Number(choice.index ?? 0) === 0) ?? null;
}

function callsOf(delta: JsonObject): JsonObject[] {
  if (Array.isArray(delta.tool_calls)) return delta.tool_calls.filter(isObject);
  // The form before `tool_calls`, still spoken by some servers.
  return isObject(delta.function_call) ? [{ index: 0, function: delta.function_call }] : [];
}

/** Mistral's thinking: a text, or a list of `{ type: "text", text }`. */
function textOf(value: Json | undefined): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return value.map((part) => (isObject(part) && typeof part.text === "string" ? part.text : "")).join("");
}

/** Some servers write "none yet" as a word. */
const isFinish = (reason: Json | undefined): reason is string =>
  typeof reason === "string" && !/^(null|none)?$/i.test(reason);

/** Finish reasons that say the answer failed. A call that Gemini's model got wrong may go well the next time. */
function failureOf(finish: string): ProviderError | null {
  const code = /malformed_function_call/i.test(finish) ? "tool_use_failed" : finish;
  if (!/^(error|insufficient_system_resource|tool_use_failed)$/.test(code)) return null;
  return new ProviderError(`the provider broke off the answer (${finish})`, { kind: "server", code });
}

function stopOf(finish: string | null): StopReason {
  // Gemini's own words shine through in capitals, some behind a prefix: `content_filter: SAFETY`.
  if (/^(content_filter|.*\b(safety|recitation|blocklist|prohibited_content|spii))\b/i.test(finish ?? ""))
    return "filter";
  switch (finish?.toLowerCase()) {
    case "length":
    case "max_tokens":
      return "length";
    case "tool_calls":
    case "function_call":
    case "tool_use":
      return "tool";
    case "sensitive":
      return "filter";
    case "refusal":
      return "refusal";
    case "model_length":
    case "model_context_window_exceeded":
      return "context";
    default:
      return "end";
  }
}
