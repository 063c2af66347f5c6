/** Reads from a refusal what about the request itself is at fault: images, old reasoning, too long an answer asked for. Pure. */
import type { ProviderError } from "./errors.ts";
import { isObject } from "./provider-errors.ts";
import type { Wire } from "./provider.ts";
import type { Json, JsonObject, Message } from "./types.ts";

// Below this an answer is no use: better compact.
const MIN_ANSWER_TOKENS = 1024;

/**
 * The answer limit that fits: from "199759 + 8192 > 200000", or "maximum context length is 8192 tokens. However, you
 * requested 9000 tokens (8000 in the messages, 1000 in the completion)". Null when nothing useful fits.
 */
export function roomFor(message: string, body: JsonObject): { field: string; max: number } | null {
  const field = ["max_tokens", "max_completion_tokens", "max_output_tokens"].find(
    (name) => typeof body[name] === "number",
  );
  if (!field) return null;
  const sum = /(\d+) *\+ *(\d+) *> *(\d+)/.exec(message);
  const said =
    /(?:context length|context window)[^\d]*(\d+) tokens[^]*?\((\d+)[^\d]*in (?:the|your) (?:messages|prompt|input)/i.exec(
      message,
    );
  // vLLM: "(9000 > 10000 - 2000)".
  const rest = /> *(\d+) *- *(\d+)\)/.exec(message);
  const [prompt, limit] = rest
    ? [Number(rest[2]), Number(rest[1])]
    : sum
      ? [Number(sum[1]), Number(sum[3])]
      : said
        ? [Number(said[2]), Number(said[1])]
        : [0, 0];
  const max = limit - prompt;
  return max >= MIN_ANSWER_TOKENS && max < Number(body[field]) ? { field, max } : null;
}

/** True when the endpoint doesn't take back reasoning of the history: changed, unsigned, out of order, or another's. */
export function isReasoningRefused(error: ProviderError, wire: Wire): boolean {
  // Chat endpoints may miss a field of reasoning, which is a repair; only a signature can be wrong.
  if (wire === "chat" && !/signature|thinking.? blocks?/i.test(error.message)) return false;
  if (error.status !== 400 || (error.kind !== "request" && error.kind !== "shape")) return false;
  if (/^(thinking|output_config)\b/i.test(error.message)) return false;
  if (/budget|thinking\.type|thinking\.(adaptive|disabled|enabled)|output_config/i.test(error.message)) return false;
  // Then it is the field that asks for it, not the history, that must go.
  if (/encrypted content is not supported/i.test(error.message)) return false;
  const thinking =
    /thinking/i.test(error.message) &&
    /block|signature|modif|expected|must (start|be)|prefix|order|found|required/i.test(error.message);
  return (
    thinking ||
    error.code === "invalid_encrypted_content" ||
    /encrypted content|required following item|'reasoning' was provided|item with id|of type 'reasoning'/i.test(
      error.message,
    )
  );
}

const IMAGE_TROUBLE =
  /image[^]{0,160}(exceed|too (large|big|many|small)|max(imum)?|size|dimension|could not|cannot|invalid|unsupported|not support|corrupt|decode|fetch|process|format|not (a )?valid)|(invalid|unsupported|could not process|unable to process|cannot decode|too many)[^]{0,60}image|vision is not|not a multimodal model|at most 0 image|support image input|does not (support|accept) (image|vision)|image_url/i;

/**
 * Base64 of the images a refusal is about: the one its path points to, else the newest, since older ones were accepted
 * before; all of them when the model takes none at all. Empty when the refusal is about something else.
 */
export function imagesRefused(error: ProviderError, body: JsonObject, messages: readonly Message[]): string[] {
  // OpenRouter says 404 when no route takes images, llama.cpp 500.
  const named404 = error.status === 404 || error.status === 500;
  if (named404 ? !/image input/i.test(error.message) : ![400, 415, 422].includes(error.status ?? 0)) return [];
  if (error.kind === "auth" || error.kind === "quota" || error.kind === "context") return [];
  if (!IMAGE_TROUBLE.test(error.message)) return [];
  const all = messages.flatMap(imagesIn);
  const named = imageAt(error.message, body);
  if (named && all.some((images) => images.includes(named))) return [named];
  const none =
    /image input|multimodal|at most 0|does not (support|accept)|vision is not|not support[^]{0,40}image|image_url/i.test(
      error.message,
    );
  return none ? all.flat() : (all.findLast((images) => images.length > 0) ?? []);
}

/** One list for each message or result that holds images. */
function imagesIn(message: Message): string[][] {
  const parts =
    message.role === "tool"
      ? message.results.map((result) => result.content)
      : message.role === "user"
        ? [message.content]
        : [];
  return parts.map((list) => list.flatMap((part) => (part.type === "image" ? [part.data] : [])));
}

/** `messages.3.content.0.image.source.base64.data`: the image that stands there in what was sent. */
function imageAt(message: string, body: JsonObject): string | null {
  const path = /messages(?:\.\d+|\[\d+\])(?:\.[a-z_]+|\.\d+|\[\d+\])*/.exec(message)?.[0];
  if (!path) return null;
  let node: Json | undefined = body;
  for (const step of path.replace(/\[(\d+)\]/g, ".$1").split(".")) {
    const next: Json | undefined = isObject(node) ? node[step] : Array.isArray(node) ? node[Number(step)] : undefined;
    // Words of the path such as `image` or `base64` name the kind of what stands there.
    if (next !== undefined) node = next;
  }
  return dataIn(node);
}

function dataIn(node: Json | undefined): string | null {
  if (typeof node === "string") return node;
  if (!isObject(node)) return null;
  if (isObject(node.source) && typeof node.source.data === "string") return node.source.data;
  const url = isObject(node.image_url) ? node.image_url.url : node.image_url;
  return typeof url === "string" ? url.slice(url.indexOf(",") + 1) : null;
}
