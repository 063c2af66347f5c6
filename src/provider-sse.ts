/** Server-sent events as endpoints really send them, made clean for the SDKs. Pure: bytes in, frames out; no sockets. */
import type { Wire } from "./provider.ts";
import { isObject, parseJson } from "./provider-errors.ts";
import type { Json, JsonObject } from "./types.ts";

/** One event with usable data. */
export interface Frame {
  event: string;
  /** Null for `[DONE]`. */
  data: JsonObject | null;
}

/** A frame whose data began like an object and is none. */
export class BrokenFrameError extends Error {
  override name = "BrokenFrameError";
}

// A whole file written by one call comes in pieces; one line of this size is a server gone wrong, about to fill the memory.
const MAX_LINE_CHARS = 32 * 1024 * 1024;

/**
 * Splits bytes into frames. Comments, keep-alives, empty data and anything that is no JSON object are dropped; line
 * ends may be LF, CR LF or CR and may be cut anywhere. Linear in the bytes: partial lines are kept as pieces.
 */
export class FrameReader {
  readonly #decoder = new TextDecoder("utf-8");
  readonly #maxLine: number;
  #line: string[] = [];
  #held = 0;
  #afterCr = false;
  #event = "";
  #data: string[] = [];

  /** `maxLine` in characters. */
  constructor(maxLine = MAX_LINE_CHARS) {
    this.#maxLine = maxLine;
  }

  /** Frames completed by these bytes, one by one; throws BrokenFrameError in the place of a frame that is none. */
  push(bytes: Uint8Array): Iterable<Frame> {
    return this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /** What the end of the stream completes: servers leave out the last blank line. A half-written frame is dropped. */
  *end(): Iterable<Frame> {
    yield* this.#take(this.#decoder.decode());
    this.#field(this.#line.join(""));
    this.#line = [];
    const text = this.#data.join("\n").trim();
    this.#data = [];
    const value = parseJson(text);
    if (text === "[DONE]") yield { event: this.#event, data: null };
    else if (isObject(value)) yield { event: this.#event, data: value };
  }

  *#take(text: string): Iterable<Frame> {
    const breaks = /\r\n|\n|\r/g;
    let from = this.#afterCr && text.startsWith("\n") ? 1 : 0;
    if (text !== "") this.#afterCr = text.endsWith("\r");
    for (breaks.lastIndex = from; ; from = breaks.lastIndex) {
      const found = breaks.exec(text);
      if (!found) break;
      this.#hold(text.slice(from, found.index));
      const frames = this.#endLine(this.#line.join(""));
      this.#line = [];
      this.#held = 0;
      yield* frames;
    }
    if (from < text.length) this.#hold(text.slice(from));
  }

  #hold(text: string): void {
    this.#held += text.length;
    if (this.#held > this.#maxLine) throw new BrokenFrameError("a line of the stream has no end");
    this.#line.push(text);
  }

  #endLine(line: string): Frame[] {
    if (line !== "") {
      this.#field(line);
      return [];
    }
    const [event, data] = [this.#event, this.#data];
    this.#event = "";
    this.#data = [];
    return framesOf(event, data);
  }

  #field(raw: string): void {
    // Blanks sent to keep a connection alive stand before the line that follows them.
    const line = raw.replace(/^[ \t\uFEFF]+/, "");
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") this.#data.push(value);
    // llama.cpp used to send its errors as a field of their own.
    else if (name === "error") [this.#event, this.#data] = ["error", [value]];
    else if (name === "event") this.#event = value.trim();
  }
}

/** One frame, mostly. Some servers forget the blank line between two: then each line of data is a frame. */
function framesOf(event: string, lines: string[]): Frame[] {
  const whole = lines.join("\n").trim();
  const parts = lines.length > 1 && parseJson(whole) === undefined ? lines.map((line) => line.trim()) : [whole];
  return parts.flatMap((text) => frameOf(event, text) ?? []);
}

function frameOf(event: string, line: string): Frame | null {
  // Gateways that frame what is framed already.
  const text = line.replace(/^(data:\s*)+/, "");
  if (text === "[DONE]") return { event, data: null };
  if (!text.startsWith("{")) return null;
  const data = parseJson(text);
  if (!isObject(data)) throw new BrokenFrameError(`an event of the stream is no JSON: ${text.slice(0, 80)}`);
  if (data.type === "keepalive" || data.type === "ping") return null;
  // Gateways that take the type out of the data leave it in the event's name.
  const isNamed = data.type === undefined && /^(message_|content_block_|response\.)/.test(event);
  return { event, data: isNamed ? { ...data, type: event } : data };
}

/** The frame as the SDKs read it: Anthropic's wants the event's name, OpenAI's looks at `[DONE]`. */
export function writeFrame(frame: Frame): string {
  if (frame.data === null) return "data: [DONE]\n\n";
  const name = typeof frame.data.type === "string" ? frame.data.type : "";
  return `${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(frame.data)}\n\n`;
}

/** True for the frame that says an answer is complete. */
export function isEnd(frame: Frame, wire: Wire): boolean {
  const type = frame.data?.type;
  switch (wire) {
    case "chat":
      return frame.data === null;
    case "responses":
      return type === "response.completed" || type === "response.incomplete";
    case "anthropic":
      return type === "message_stop";
    default:
      return wire satisfies never;
  }
}

/** True for the frame that says why an answer ends: after it only usage and the end marker can come. */
export function isLast({ data }: Frame, wire: Wire): boolean {
  if (!data) return true;
  if (wire === "anthropic") return data.type === "message_delta" && isObject(data.delta) && !!data.delta.stop_reason;
  const choice = wire === "chat" && Array.isArray(data.choices) ? data.choices[0] : null;
  return isObject(choice) && typeof choice.finish_reason === "string" && !/^(null|none)?$/i.test(choice.finish_reason);
}

/** Lines of JSON without any framing, as some endpoints stream; null when a line is something else. */
export function framesOfLines(text: string): Frame[] | null {
  const values = text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [parseJson(line)]));
  if (values.length < 2 || !values.every(isObject)) return null;
  return values.map((data) => ({ event: "", data }));
}

/** The error a frame carries, in the form the classifier reads; null for ordinary frames. */
export function errorIn(frame: Frame): Json | null {
  const data = frame.data;
  if (!data) return null;
  if (data.type === "response.failed" && isObject(data.response)) return { error: data.response.error ?? {} };
  if (data.type === "error" || data.object === "error" || frame.event === "error") return data;
  if (isRemark(data)) return data;
  const error = data.error;
  const isError = isObject(error) || (typeof error === "string" && error !== "");
  return isError && typeof data.type !== "string" ? data : null;
}

/** An error without the word: an object that is nothing of any wire and says something. */
function isRemark(data: JsonObject): boolean {
  if (["type", "choices", "id", "object", "usage", "model", "error"].some((name) => data[name] !== undefined))
    return false;
  return typeof data.message === "string" || typeof data.detail === "string" || Array.isArray(data.detail);
}

/** A whole completion (an endpoint that doesn't stream) as the frames it would have been; null for any other JSON. */
export function framesOfWhole(value: Json, wire: Wire): Frame[] | null {
  if (!isObject(value)) return null;
  switch (wire) {
    case "chat":
      return wholeChat(value);
    case "responses":
      return wholeResponse(value);
    case "anthropic":
      return wholeMessage(value);
    default:
      return wire satisfies never;
  }
}

function wholeChat(value: JsonObject): Frame[] | null {
  if (!Array.isArray(value.choices) || value.choices.length === 0) return null;
  const choices = value.choices.map((choice) =>
    isObject(choice) && isObject(choice.message) ? { ...choice, delta: choice.message } : choice,
  );
  return [
    { event: "", data: { ...value, choices } },
    { event: "", data: null },
  ];
}

function wholeResponse(value: JsonObject): Frame[] | null {
  if (!Array.isArray(value.output)) return null;
  const status = value.status === "incomplete" || value.status === "failed" ? value.status : "completed";
  return [{ event: "", data: { type: `response.${status}`, response: value } }];
}

function wholeMessage(value: JsonObject): Frame[] | null {
  if (!Array.isArray(value.content)) return null;
  const { content, ...message } = value;
  const blocks = content.flatMap((block, index) => [
    { type: "content_block_start", index, content_block: block },
    { type: "content_block_stop", index },
  ]);
  const delta = { stop_reason: value.stop_reason ?? "end_turn" };
  const events: JsonObject[] = [
    { type: "message_start", message: { ...message, content: [] } },
    ...blocks,
    { type: "message_delta", delta, usage: value.usage ?? {} },
    { type: "message_stop" },
  ];
  return events.map((data) => ({ event: "", data }));
}
