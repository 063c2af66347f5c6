/** One model call with everything that may be mended on the way: parameters, base URL, wire, thinking, images, limits. Retries nothing. */
import { ProviderError } from "./errors.ts";
import type { ModelFacts } from "./models.ts";
import { type ClientDeps, openCall } from "./provider-client.ts";
import { isModelUnknown } from "./provider-errors.ts";
import type { CallIds } from "./provider-ids.ts";
import { HistoryItems } from "./provider-history.ts";
import { imagesRefused, isReasoningRefused, roomFor } from "./provider-mend.ts";
import { type Repair, repairBody } from "./provider-repair-apply.ts";
import { type RepairMemory, repairFor } from "./provider-repair.ts";
import { withV1 } from "./provider-url.ts";
import type { WireContext, WireModule } from "./provider-wire.ts";
import { type Endpoint, type ModelRequest, originOf, type Wire } from "./provider.ts";
import type { AssistantPart, JsonObject, ModelEvent, Usage } from "./types.ts";

/** What a provider has learned about its endpoint; lives as long as the provider. */
export interface Learned {
  /** Models that answer on /responses and not on chat. */
  responsesModels: Set<string>;
  /** By model: messages before this index are sent without opaque reasoning. */
  keepReasoningFrom: Map<string, number>;
  /** Base64 of images that were refused. */
  refusedImages: Set<string>;
  /** Sentences already said. */
  said: Set<string>;
  /** The base URL that works, where it isn't the configured one. */
  baseURL: string | null;
  ids: CallIds;
  /** By wire and model: what earlier requests were made of. */
  histories: Map<string, HistoryItems>;
}

export interface TurnDeps extends ClientDeps {
  endpoint: Endpoint;
  facts: ModelFacts;
  isOpenAI: boolean;
  memory: RepairMemory;
  learned: Learned;
}

const MAX_REPAIRS = 3;
const MAX_PAUSES = 5;
const FALLBACK_STATUS = [400, 404, 405, 415, 422, 501];

/** One call. `attempt` may be run again after a failure: what was mended stays mended. */
export class Turn {
  readonly #request: ModelRequest;
  readonly #deps: TurnDeps;
  readonly #signal: AbortSignal;
  #wire: Wire;
  #baseURL: string;
  /** Repairs of this call that no answer has confirmed yet. */
  readonly #repairs: Repair[] = [];
  /** Changes for this request alone. */
  readonly #once: Repair[] = [];
  readonly #done = new Set<string>();
  /** The refusal that sent us to another wire or base URL. */
  #first: ProviderError | null = null;

  constructor(request: ModelRequest, deps: TurnDeps, signal: AbortSignal) {
    this.#request = request;
    this.#deps = deps;
    this.#signal = signal;
    this.#baseURL = deps.learned.baseURL ?? deps.endpoint.baseURL;
    this.#wire = this.#firstWire();
  }

  async *attempt(): AsyncGenerator<ModelEvent> {
    for (;;) {
      let delivered = false;
      try {
        for await (const event of this.#withPauses()) {
          if (!delivered && event.type !== "notice") {
            delivered = true;
            yield* this.#confirm();
          }
          yield event;
        }
        return;
      } catch (error) {
        if (delivered || this.#signal.aborted || !(error instanceof ProviderError)) throw error;
        if (!this.#mend(error)) throw this.#final(error);
      }
    }
  }

  #firstWire(): Wire {
    const { endpoint, isOpenAI, facts, learned } = this.#deps;
    if (endpoint.protocol === "anthropic") return "anthropic";
    if (endpoint.forcedWire) return endpoint.forcedWire;
    const known = facts.responsesOnly || learned.responsesModels.has(this.#request.model);
    return isOpenAI && known ? "responses" : "chat";
  }

  /** The first sign of an answer proves that what was changed is right. */
  *#confirm(): Generator<ModelEvent> {
    const { memory, learned } = this.#deps;
    for (const repair of this.#repairs.splice(0)) memory.add(this.#memoryKey(), repair);
    if (this.#baseURL !== this.#deps.endpoint.baseURL) learned.baseURL = this.#baseURL;
    if (!this.#done.has("responses") || learned.responsesModels.has(this.#request.model)) return;
    learned.responsesModels.add(this.#request.model);
    yield* this.#say([`${this.#request.model} answers on /v1/responses only; using that from here on.`], "info");
  }

  *#say(sentences: readonly string[], level: "info" | "warning"): Generator<ModelEvent> {
    for (const message of sentences) {
      if (this.#deps.learned.said.has(message)) continue;
      this.#deps.learned.said.add(message);
      yield { type: "notice", level, message };
    }
  }

  #memoryKey(): string {
    return `${this.#wire}|${this.#baseURL}|${this.#request.model}`;
  }

  /** A paused turn is sent back as it is and goes on where it stopped. */
  async *#withPauses(): AsyncGenerator<ModelEvent> {
    let request = this.#request;
    let spent: Usage | null = null;
    for (let pauses = 0; ; pauses++) {
      const parts: AssistantPart[] = [];
      let paused = false;
      for await (const event of this.#send(request, pauses > 0)) {
        if (event.type === "part") parts.push(event.part);
        if (event.type === "usage") spent = sumUsage(spent, event.usage);
        paused = event.type === "stop" && event.reason === "pause" && parts.length > 0 && pauses < MAX_PAUSES;
        if (paused) break;
        if (event.type !== "usage") {
          if (event.type === "stop" && spent) yield { type: "usage", usage: spent };
          yield event;
        }
      }
      if (!paused) return;
      const origin = originOf(this.#deps.endpoint, request.model);
      request = {
        ...request,
        messages: [...request.messages, { role: "assistant", content: parts, stop: "pause", origin }],
      };
    }
  }

  async *#send(request: ModelRequest, continuing: boolean): AsyncGenerator<ModelEvent> {
    const { endpoint, memory, learned } = this.#deps;
    learned.ids.learn(request.messages);
    const wire = await loadWire(this.#wire);
    const context = this.#context(continuing);
    const built = wire.build(request, context);
    yield* this.#say(built.notes, "warning");
    const body = repairBody(built.body, [...memory.get(this.#memoryKey()), ...this.#repairs, ...this.#once]);
    this.#sent = body;
    const call = openCall(this.#wire, { ...endpoint, baseURL: this.#baseURL }, body, this.#deps, this.#signal);
    yield* wire.read(call.events, {
      ids: learned.ids,
      origin: context.origin,
      nameOf: built.nameOf,
      ended: call.ended,
      cut: call.cut,
      bodyChars: () => call.bodyChars,
    });
  }

  #sent: JsonObject = {};

  #context(continuing: boolean): WireContext {
    const { endpoint, facts, isOpenAI, learned } = this.#deps;
    return {
      endpoint,
      facts,
      isOpenAI,
      continuing,
      origin: originOf(endpoint, this.#request.model),
      keepReasoningFrom: learned.keepReasoningFrom.get(this.#request.model) ?? 0,
      refusedImages: learned.refusedImages,
      history: this.#history(),
    };
  }

  #history(): HistoryItems {
    const { histories } = this.#deps.learned;
    const key = `${this.#wire}|${this.#request.model}`;
    const history = histories.get(key) ?? new HistoryItems();
    histories.set(key, history);
    return history;
  }

  /** Changes something so that the call is worth repeating at once; false when there is nothing left to change. */
  #mend(error: ProviderError): boolean {
    return (
      this.#tryV1(error) ||
      this.#tryRoom(error) ||
      this.#tryImages(error) ||
      this.#tryReasoning(error) ||
      (error.kind === "shape" && this.#tryResponses(error)) ||
      this.#tryRepair(error) ||
      this.#tryResponses(error)
    );
  }

  /** A bare host may mean its /v1. */
  #tryV1(error: ProviderError): boolean {
    const missing = error.kind === "content" || (error.kind === "shape" && error.status !== 400);
    const base = this.#wire === "anthropic" || !missing ? null : withV1(this.#baseURL);
    if (!base || this.#deps.learned.baseURL || !this.#mark("v1")) return false;
    this.#first = error;
    this.#baseURL = base;
    return true;
  }

  /** "A + B > C": the answer asked for doesn't fit behind the prompt, a shorter one does. */
  #tryRoom(error: ProviderError): boolean {
    const max = error.kind === "context" ? roomFor(error.message, this.#sent) : null;
    if (!max || !this.#mark("room")) return false;
    this.#once.push({ kind: "limit", ...max });
    return true;
  }

  #tryImages(error: ProviderError): boolean {
    const refused = imagesRefused(error, this.#sent, this.#request.messages);
    if (refused.length === 0 || !this.#mark("images")) return false;
    for (const data of refused) this.#deps.learned.refusedImages.add(data);
    return true;
  }

  #tryReasoning(error: ProviderError): boolean {
    if (!isReasoningRefused(error, this.#wire) || !this.#mark("reasoning")) return false;
    this.#deps.learned.keepReasoningFrom.set(this.#request.model, this.#request.messages.length);
    return true;
  }

  #tryRepair(error: ProviderError): boolean {
    const repair = this.#repairs.length < MAX_REPAIRS ? repairFor(error, this.#sent, this.#wire) : null;
    if (repair) this.#repairs.push(repair);
    return repair !== null;
  }

  #tryResponses(error: ProviderError): boolean {
    const { endpoint, isOpenAI } = this.#deps;
    if (!isOpenAI || this.#wire !== "chat" || endpoint.forcedWire || isModelUnknown(error)) return false;
    if (error.status === undefined || !FALLBACK_STATUS.includes(error.status)) return false;
    if (!["request", "shape", "content", "server"].includes(error.kind) || !this.#mark("responses")) return false;
    this.#first = error;
    this.#wire = "responses";
    this.#repairs.length = 0;
    return true;
  }

  #mark(what: string): boolean {
    if (this.#done.has(what)) return false;
    this.#done.add(what);
    return true;
  }

  /** When the second way was refused as well, the first refusal is what the user should read. */
  #final(error: ProviderError): ProviderError {
    const first = this.#first;
    const refused = error.kind === "request" || error.kind === "shape" || error.kind === "content";
    if (!first || !refused) return error;
    const also = this.#done.has("responses") ? ` (on /v1/responses: ${error.message})` : "";
    return new ProviderError(first.message + also, {
      kind: first.kind,
      ...(first.status !== undefined && { status: first.status }),
      ...(first.requestId !== undefined && { requestId: first.requestId }),
      ...(first.hint !== undefined && { hint: first.hint }),
      ...(first.code !== undefined && { code: first.code }),
      cause: error,
    });
  }
}

async function loadWire(wire: Wire): Promise<WireModule> {
  switch (wire) {
    case "chat":
      return (await import("./provider-chat.ts")).chatWire;
    case "responses":
      return (await import("./provider-responses.ts")).responsesWire;
    case "anthropic":
      return (await import("./provider-anthropic.ts")).anthropicWire;
    default:
      return wire satisfies never;
  }
}

/** Two requests of one paused turn were both paid for. */
function sumUsage(before: Usage | null, usage: Usage): Usage {
  if (!before) return usage;
  return {
    inputTokens: before.inputTokens + usage.inputTokens,
    outputTokens: before.outputTokens + usage.outputTokens,
    cacheReadTokens: before.cacheReadTokens + usage.cacheReadTokens,
    cacheWriteTokens: before.cacheWriteTokens + usage.cacheWriteTokens,
    reasoningTokens: before.reasoningTokens + usage.reasoningTokens,
    ...((before.estimated || usage.estimated) && { estimated: true as const }),
  };
}
