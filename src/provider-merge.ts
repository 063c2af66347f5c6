/** Joins deltas of text that arrive together, so that a burst costs as little as its bytes. Pure; what differs in anything but its text stays apart. */
import { isObject } from "./provider-errors.ts";
import type { Frame } from "./provider-sse.ts";
import type { JsonObject } from "./types.ts";

/** A frame that only adds text: the text, and how it looks with another. Frames of one `key` may be joined. */
interface Delta {
  key: string;
  text: string;
  withText(text: string): JsonObject;
}

/** Fields of a chat delta that hold running text. */
const CHAT_TEXTS = ["content", "reasoning_content", "reasoning"] as const;
/** The most that one joined frame holds, in characters: a reader should see a long burst as it comes. */
const MAX_CHARS = 16_384;

/** The same frames with neighbouring deltas of one text joined. Waits for nothing: what `frames` holds now is all it knows. */
export function* mergeDeltas(frames: Iterable<Frame>): Generator<Frame> {
  let open: { frame: Frame; delta: Delta; texts: string[]; chars: number } | null = null;
  const closed = function* (): Generator<Frame> {
    const run = open;
    open = null;
    if (run) yield run.texts.length === 1 ? run.frame : { ...run.frame, data: run.delta.withText(run.texts.join("")) };
  };
  try {
    for (const frame of frames) {
      const delta = frame.data === null ? null : deltaOf(frame.data);
      if (open && delta?.key === open.delta.key && open.chars < MAX_CHARS) {
        open.texts.push(delta.text);
        open.chars += delta.text.length;
        continue;
      }
      yield* closed();
      if (delta) open = { frame, delta, texts: [delta.text], chars: delta.text.length };
      else yield frame;
    }
  } catch (error) {
    // What came before a broken frame is good.
    yield* closed();
    throw error;
  }
  yield* closed();
}

function deltaOf(data: JsonObject): Delta | null {
  if (data.error !== undefined) return null;
  if (data.type === "response.output_text.delta") return responsesDelta(data);
  if (data.type === "content_block_delta") return anthropicDelta(data);
  return data.type === undefined ? chatDelta(data) : null;
}

function chatDelta(data: JsonObject): Delta | null {
  const [choice, another] = Array.isArray(data.choices) ? data.choices : [];
  if (!isObject(choice) || another !== undefined || !isEmpty(data.usage)) return null;
  const { index, delta, finish_reason, logprobs, ...rest } = choice;
  if (!isEmpty(finish_reason) || !isEmpty(logprobs) || !isObject(delta) || Object.keys(rest).length > 0) return null;
  const field = CHAT_TEXTS.find((name) => typeof delta[name] === "string" && delta[name] !== "");
  const text = field === undefined ? undefined : delta[field];
  if (field === undefined || typeof text !== "string") return null;
  const plain = Object.keys(delta).every((name) => name === field || name === "role" || isEmpty(delta[name]));
  if (!plain) return null;
  return {
    key: `chat ${field} ${String(data.id)} ${String(index)}`,
    text,
    withText: (whole) => ({ ...data, choices: [{ ...choice, delta: { ...delta, [field]: whole } }] }),
  };
}

function responsesDelta(data: JsonObject): Delta | null {
  const { delta, item_id, output_index, content_index, logprobs } = data;
  const plain = isEmpty(logprobs) || (Array.isArray(logprobs) && logprobs.length === 0);
  if (typeof delta !== "string" || !plain) return null;
  return {
    key: `responses ${String(item_id)} ${String(output_index)} ${String(content_index)}`,
    text: delta,
    withText: (whole) => ({ ...data, delta: whole }),
  };
}

function anthropicDelta(data: JsonObject): Delta | null {
  const { index, delta } = data;
  if (!isObject(delta)) return null;
  const field = delta.type === "text_delta" ? "text" : delta.type === "thinking_delta" ? "thinking" : null;
  const text = field === null ? undefined : delta[field];
  if (field === null || typeof text !== "string" || Object.keys(delta).length !== 2) return null;
  return {
    key: `anthropic ${field} ${String(index)}`,
    text,
    withText: (whole) => ({ ...data, delta: { ...delta, [field]: whole } }),
  };
}

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === "";
