/** Guesses how many tokens text takes, put right by what the provider last reported. Counts nothing exactly and says so. */
import type { AssistantPart, JsonObject, Message, Usage } from "./types.ts";

/** The parts of a request that cost tokens. */
export interface RequestParts {
  system: string;
  tools: readonly { name: string; description: string; schema: JsonObject }[];
  messages: readonly Message[];
}

const MESSAGE_TOKENS = 4;
const IMAGE_TOKENS = 1_500;
// Beyond these a report is about something else than our text (a proxy that adds prompts, a counter that is broken).
const LOWEST_RATIO = 0.4;
const HIGHEST_RATIO = 3;

/** Uncalibrated tokens of a text: a quarter of a token for each character, and more for what UTF-8 needs more bytes for. */
export function textTokens(text: string): number {
  // Byte length is counted natively; a loop over characters would cost more than the request it measures.
  const extraBytes = Buffer.byteLength(text, "utf8") - text.length;
  return Math.ceil(text.length / 4 + extraBytes * 0.35);
}

/** Estimates requests of one model. One meter a session; calibrate it after each answer. */
export class TokenMeter {
  #ratio = 1;
  // Messages are never changed once made, so each is measured once.
  #measured = new WeakMap<Message, number>();
  // A list that only grows at its end is added up once.
  #sums = new WeakMap<readonly Message[], { count: number; tokens: number }>();
  #fixed: { system: string; tools: RequestParts["tools"]; tokens: number } | null = null;

  /** Takes over what a provider reported for a request that `estimateRaw` had measured. Zeros are ignored. */
  calibrate(rawTokens: number, reportedInputTokens: number): void {
    if (!(rawTokens > 0) || !(reportedInputTokens > 0)) return;
    this.#ratio = Math.min(HIGHEST_RATIO, Math.max(LOWEST_RATIO, reportedInputTokens / rawTokens));
  }

  /** Calibrated tokens of a request. */
  estimate(parts: RequestParts): number {
    return Math.ceil(this.estimateRaw(parts) * this.#ratio);
  }

  /** Tokens before calibration: what `calibrate` wants to be given back. */
  estimateRaw(parts: RequestParts): number {
    return this.#fixedTokens(parts.system, parts.tools) + this.#sumOf(parts.messages);
  }

  /** Lists are extended in place and never changed otherwise: a view that was compacted is a new one. */
  #sumOf(messages: readonly Message[]): number {
    const known = this.#sums.get(messages);
    const sum = known && known.count <= messages.length ? known : { count: 0, tokens: 0 };
    for (; sum.count < messages.length; sum.count++) {
      const message = messages[sum.count];
      if (message) sum.tokens += this.#messageTokens(message);
    }
    this.#sums.set(messages, sum);
    return sum.tokens;
  }

  /** Calibrated tokens of system text and tools alone. */
  fixed(parts: Pick<RequestParts, "system" | "tools">): number {
    return Math.ceil(this.#fixedTokens(parts.system, parts.tools) * this.#ratio);
  }

  /** Calibrated tokens of a text. */
  text(text: string): number {
    return Math.ceil(textTokens(text) * this.#ratio);
  }

  /** Calibrated tokens of one message. */
  message = (message: Message): number => this.#messageTokens(message) * this.#ratio;

  #messageTokens(message: Message): number {
    const known = this.#measured.get(message);
    if (known !== undefined) return known;
    const tokens = MESSAGE_TOKENS + contentTokens(message);
    this.#measured.set(message, tokens);
    return tokens;
  }

  #fixedTokens(system: string, tools: RequestParts["tools"]): number {
    if (this.#fixed?.system === system && this.#fixed.tools === tools) return this.#fixed.tokens;
    const tokens = textTokens(system) + (tools.length > 0 ? textTokens(JSON.stringify(tools)) : 0);
    this.#fixed = { system, tools, tokens };
    return tokens;
  }
}

/** What a request cost that the provider reported nothing about. */
export function guessUsage(meter: TokenMeter, request: RequestParts, answer: readonly AssistantPart[]): Usage {
  const outputTokens = sum(answer, (part) =>
    textTokens(part.type === "tool-call" ? JSON.stringify(part.input) : part.text),
  );
  const inputTokens = meter.estimate(request);
  return { inputTokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, estimated: true };
}

function contentTokens(message: Message): number {
  switch (message.role) {
    case "user":
      return sum(message.content, partTokens);
    case "assistant":
      return sum(message.content, partTokens);
    case "tool":
      return (
        sum(message.results, (result) => MESSAGE_TOKENS + sum(result.content, partTokens)) +
        sum(message.notes ?? [], textTokens)
      );
    default:
      return message satisfies never;
  }
}

type AnyPart = Extract<Message, { content: unknown[] }>["content"][number];

function partTokens(part: AnyPart): number {
  switch (part.type) {
    case "text":
    case "reasoning":
      return textTokens(part.text);
    case "image":
      return IMAGE_TOKENS;
    case "tool-call":
      return MESSAGE_TOKENS + textTokens(part.name) + textTokens(JSON.stringify(part.input));
    default:
      return part satisfies never;
  }
}

function sum<T>(items: readonly T[], measure: (item: T) => number): number {
  return items.reduce((total, item) => total + measure(item), 0);
}
