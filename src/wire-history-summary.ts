/** Asks a helper model for text: summaries of what compaction drops, merged notes. No tools, no thinking; every request counts. */
import type { Budget } from "./budget.ts";
import { digest, spanFacts } from "./compact-digest.ts";
import { parseSummary, summaryRequest } from "./compact.ts";
import { ProviderError } from "./errors.ts";
import type { ModelFacts } from "./models.ts";
import type { ModelRequest, Provider } from "./provider.ts";
import { summaryMessage } from "./prune-view.ts";
import { guessUsage, type TokenMeter } from "./tokens.ts";
import type { Message, Usage, UserMessage } from "./types.ts";

export interface HelperModel {
  provider: Provider;
  model: string;
  facts: ModelFacts;
  price(usage: Usage): number | null;
}

export interface HelperDeps<Model extends HelperModel> {
  /** Asked each time: the model in use may change. */
  model(): Model;
  budget: Budget;
  meter: TokenMeter;
  sessionId: string;
  spent(model: Model, usage: Usage, costUsd: number | null): void;
}

/** For models nobody knows the limit of. */
export const ASSUMED_INPUT_LIMIT = 128_000;
/** Of the latest prompt, word for word, under the summary of a whole transcript. */
const PROMPT_CHARS = 8_000;

export class Helper<Model extends HelperModel> {
  readonly #deps: HelperDeps<Model>;

  constructor(deps: HelperDeps<Model>) {
    this.#deps = deps;
  }

  /** An answer to one prompt. Throws ProviderError, also when a ceiling is reached. */
  async ask(system: string, text: string, maxOutputTokens: number, signal: AbortSignal): Promise<string> {
    return this.#send(system, [{ role: "user", content: [{ type: "text", text }] }], maxOutputTokens, signal);
  }

  /** A summary of a span. Throws when the answer is unusable; the caller has the digest then. */
  async summarise(
    span: readonly Message[],
    earlier: string | null,
    focus: string | null,
    signal: AbortSignal,
  ): Promise<string> {
    const { facts } = this.#deps.model();
    const room = Math.floor((facts.inputLimit ?? facts.context ?? ASSUMED_INPUT_LIMIT) / 2);
    const request = summaryRequest(span, earlier, focus, room);
    const text = await this.#send(request.system, request.messages, request.maxOutputTokens, signal);
    const summary = parseSummary(text);
    if (summary === null) throw new ProviderError("The summary came back empty", { kind: "shape" });
    return summary;
  }

  /** The message that takes the place of a whole transcript; a digest where the model gives none. Rejects with an abort only. */
  async replacement(
    transcript: readonly Message[],
    unsummarised: { span: Message[]; earlier: string | null },
    focus: string | null,
    signal: AbortSignal,
  ): Promise<{ message: UserMessage; by: "model" | "digest" }> {
    const { span, earlier } = unsummarised;
    const facts = spanFacts(transcript, PROMPT_CHARS);
    try {
      const text = await this.summarise(span, earlier, focus, signal);
      return { message: summaryMessage(text, facts), by: "model" };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ProviderError)) throw error;
      return { message: summaryMessage(digest(span, earlier), facts), by: "digest" };
    }
  }

  async #send(system: string, messages: Message[], maxOutputTokens: number, signal: AbortSignal): Promise<string> {
    const { budget, meter, sessionId } = this.#deps;
    const helper = this.#deps.model();
    const verdict = budget.check();
    if (!verdict.ok) throw new ProviderError(verdict.message, { kind: "request" });
    const { model } = helper;
    const request: ModelRequest = { model, system, tools: [], messages, thinking: "off", maxOutputTokens, sessionId };
    let text = "";
    let usage: Usage | null = null;
    for await (const event of helper.provider.stream(request, signal)) {
      if (event.type === "text") text += event.text;
      if (event.type === "usage") usage = event.usage;
    }
    const counted = usage ?? guessUsage(meter, request, [{ type: "text", text }]);
    const costUsd = helper.price(counted);
    budget.add(counted, costUsd);
    this.#deps.spent(helper, counted, costUsd);
    return text;
  }
}
