/** One request of a turn: sent, streamed, put together, counted and journaled. Runs no tools and decides nothing about what follows. */
import type { Budget, Spent } from "./budget.ts";
import { ProviderError } from "./errors.ts";
import type { CallDeps } from "./loop-calls.ts";
import { addUsd } from "./pricing.ts";
import type { ModelRequest, Provider } from "./provider.ts";
import { wellFormed, wholeStart } from "./text.ts";
import type { AgentEvent, AssistantMessage, AssistantPart, Message, ModelEvent, StopReason, Usage } from "./types.ts";

export interface TurnDeps extends CallDeps {
  provider: Provider;
  /** Everything of a request but its messages; byte-stable within a session. */
  request(): Omit<ModelRequest, "messages">;
  history: {
    /** Journals a message and puts it at the end of the wire view. */
    append(message: Message): void;
    /** The legal messages of the next request, compacted when they grew too large (`force`: whatever their size). */
    prepare(force: boolean, signal: AbortSignal): AsyncGenerator<AgentEvent, Message[]>;
    /** What the model must be told in passing with the next message: the task list when it lost sight of it … */
    injections(): string[];
  };
  budget: Budget;
  /** Counts a request's usage (or the guess for it) and says what it cost; null is unpriced. */
  account(
    usage: Usage | null,
    request: ModelRequest,
    answer: readonly AssistantPart[],
  ): { usage: Usage; costUsd: number | null; contextShare: number | null };
  /** Current task list when it changed since the last call, else null. */
  changedTodos(): Extract<AgentEvent, { type: "todos" }>["todos"] | null;
  maxSteps: number;
  /** The last step is for a report: without one, all work was for nothing. */
  reports?: boolean;
}

/** Sums over the steps of a turn. */
export interface Totals {
  steps: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  costUsd: number | null;
}

/** A summary took the last of what the session may spend: the request it was for is not sent. */
export class CeilingReached extends Error {
  override name = "CeilingReached";
}

/** Journals a message, then announces it. */
export async function* append(message: Message, deps: TurnDeps): AsyncGenerator<AgentEvent> {
  deps.history.append(message);
  yield { type: "message", message };
}

/**
 * One request: streams, assembles, journals the assistant message. A context overflow is compacted and sent once more.
 * `noCalls`: the tools stay on the wire, byte for byte, but the model may not call them.
 */
export async function* respond(
  deps: TurnDeps,
  signal: AbortSignal,
  totals: Totals,
  noCalls = false,
): AsyncGenerator<AgentEvent, AssistantMessage> {
  for (let attempt = 0; ; attempt++) {
    const before = { ...deps.budget.spent };
    const messages = yield* deps.history.prepare(attempt > 0, signal);
    addDifference(totals, before, deps.budget.spent);
    const reached = deps.budget.reached();
    if (reached) throw new CeilingReached(reached.message);
    const request = { ...deps.request(), messages, ...(noCalls ? { noCalls } : {}) };
    const collector = new Collector();
    let failure: { error: unknown } | null = null;
    try {
      for await (const event of deps.provider.stream(request, signal)) yield* collector.take(event);
    } catch (error) {
      failure = { error };
    }
    const overflow = failure
      ? failure.error instanceof ProviderError && failure.error.kind === "context"
      : collector.stop === "context";
    if (overflow && !collector.delivered && attempt === 0) continue;
    const counted = !failure || collector.delivered || collector.usage !== null;
    if (counted) yield* account(collector, request, deps, totals);
    const content = failure ? collector.partial() : collector.parts;
    const message: AssistantMessage = {
      role: "assistant",
      content,
      stop: failure ? null : collector.stop,
      origin: deps.provider.origin(request.model),
      ...(collector.usage ? { usage: collector.usage } : {}),
    };
    if (content.length > 0 || !failure) yield* append(message, deps);
    if (failure) throw failure.error;
    if (overflow)
      throw new ProviderError("The conversation is too long for the model even after compaction", {
        kind: "context",
        hint: "use /clear, or a model with a larger context",
      });
    return message;
  }
}

/** What a summary or a subagent cost is a part of what the turn did. */
export function addDifference(totals: Totals, before: Readonly<Spent>, now: Readonly<Spent>): void {
  const inputTokens = now.inputTokens - before.inputTokens;
  if (inputTokens === 0) return;
  totals.inputTokens += inputTokens;
  totals.outputTokens += now.outputTokens - before.outputTokens;
  totals.cacheReadTokens += now.cacheReadTokens - before.cacheReadTokens;
  const unknown = totals.costUsd === null || before.costUsd === null || now.costUsd === null;
  totals.costUsd = unknown ? null : addUsd(totals.costUsd ?? 0, now.costUsd ?? 0, -(before.costUsd ?? 0));
}

async function* account(
  collector: Collector,
  request: ModelRequest,
  deps: TurnDeps,
  totals: Totals,
): AsyncGenerator<AgentEvent> {
  const { usage, costUsd, contextShare } = deps.account(collector.usage, request, collector.partial());
  deps.budget.add(usage, costUsd);
  totals.inputTokens += usage.inputTokens;
  totals.outputTokens += usage.outputTokens;
  totals.cacheReadTokens += usage.cacheReadTokens;
  totals.costUsd = totals.costUsd === null || costUsd === null ? null : addUsd(totals.costUsd, costUsd);
  yield { type: "usage", usage, costUsd, contextShare };
}

/** Turns model events into agent events and keeps what they add up to. */
class Collector {
  parts: AssistantPart[] = [];
  usage: Usage | null = null;
  stop: StopReason = "end";
  #open = "";
  /** Halves of characters whose other half is still to come. */
  #held = { text: "", reasoning: "" };

  /** Something of the answer has been shown. */
  get delivered(): boolean {
    return this.parts.length > 0 || this.#open !== "";
  }

  *take(event: ModelEvent): Generator<AgentEvent> {
    switch (event.type) {
      case "text":
        this.#open += event.text;
        yield* this.#whole("text", event.text);
        break;
      case "reasoning":
        yield* this.#whole("reasoning", event.text);
        break;
      case "tool-start":
      case "notice":
      case "retry":
        yield event;
        break;
      case "part":
        yield* this.#endHeld();
        this.parts.push(event.part);
        if (event.part.type === "text") this.#open = "";
        if (event.part.type === "tool-call")
          yield { type: "tool-call", id: event.part.id, name: event.part.name, input: event.part.input };
        break;
      case "usage":
        this.usage = event.usage;
        break;
      case "stop":
        this.stop = event.reason;
        break;
      default:
        event satisfies never;
    }
  }

  /** Deltas may end within a character: its half must not reach a screen or a JSON line. */
  *#whole(type: "text" | "reasoning", text: string): Generator<AgentEvent> {
    const { whole, rest } = wholeStart(this.#held[type] + text);
    this.#held[type] = rest;
    if (whole !== "") yield { type, text: wellFormed(whole) };
  }

  *#endHeld(): Generator<AgentEvent> {
    for (const type of ["text", "reasoning"] as const) {
      if (this.#held[type] !== "") yield { type, text: wellFormed(this.#held[type]) };
      this.#held[type] = "";
    }
  }

  /** What may be kept of an answer that was cut: finished parts without calls, and the text so far. */
  partial(): AssistantPart[] {
    const kept = this.parts.filter((part) => part.type !== "tool-call");
    if (this.#open.trim() !== "") kept.push({ type: "text", text: wellFormed(this.#open) });
    return kept.some((part) => part.type === "text") ? kept : [];
  }
}
