/** What a session's requests cost and how full its context is: tokens counted, priced and recorded. Stops nothing (budget.ts does). */
import type { TurnDeps } from "./loop-answer.ts";
import type { ModelRequest } from "./provider.ts";
import type { ModelChoice, SessionParts } from "./session-parts.ts";
import { guessUsage } from "./tokens.ts";
import type { AssistantPart, Usage } from "./types.ts";
import { ASSUMED_INPUT_LIMIT } from "./wire-history-summary.ts";
import type { WireHistory } from "./wire-history.ts";

const DEFAULT_THRESHOLD_TOKENS = 120_000;
const DEFAULT_THRESHOLD_SHARE = 0.8;

/** The default of `compactAt`. */
export const DEFAULT_COMPACT_AT = { tokens: DEFAULT_THRESHOLD_TOKENS } as const;

interface LedgerDeps {
  parts: Pick<SessionParts, "file" | "meter" | "compactAt" | "parent">;
  /** Asked each time: the model in use may change. */
  choice(): ModelChoice;
  history(): WireHistory;
}

export class Ledger {
  readonly #deps: LedgerDeps;

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
  }

  /** Tokens above which a request is compacted first; null: never. */
  threshold(): number | null {
    const { compactAt } = this.#deps.parts;
    const limit = this.inputLimit();
    if (compactAt === null) return null;
    const wanted = "tokens" in compactAt ? compactAt.tokens : limit * compactAt.share;
    return Math.floor(Math.min(wanted, limit * ("tokens" in compactAt ? DEFAULT_THRESHOLD_SHARE : 1)));
  }

  /** Share of the threshold in use, an estimate; null before the first message. */
  contextShare(): number | null {
    const history = this.#deps.history();
    const threshold = this.threshold() ?? this.inputLimit();
    return history.messages.length === 0 ? null : history.estimate() / threshold;
  }

  /** Tokens that the model takes. */
  inputLimit(): number {
    const { facts } = this.#deps.choice();
    return facts.inputLimit ?? facts.context ?? ASSUMED_INPUT_LIMIT;
  }

  /** Counts one answer; `usage` null: the provider reported none, and it is guessed. */
  account(
    usage: Usage | null,
    request: ModelRequest,
    answer: readonly AssistantPart[],
  ): ReturnType<TurnDeps["account"]> {
    const { meter } = this.#deps.parts;
    const counted = usage ?? guessUsage(meter, request, answer);
    // The view rather than the request: it is what was sent, and its sum is at hand.
    const { messages } = this.#deps.history();
    if (usage) meter.calibrate(meter.estimateRaw({ ...request, messages }), usage.inputTokens);
    const choice = this.#deps.choice();
    const costUsd = choice.price(counted);
    this.record(choice, counted, costUsd, false);
    return { usage: counted, costUsd, contextShare: this.contextShare() };
  }

  /** `subagent`: not by the model that the user talks to. */
  record(choice: ModelChoice, usage: Usage, costUsd: number | null, subagent: boolean): void {
    const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
    this.#deps.parts.file.addSpend({
      provider: choice.presetId,
      model: choice.model,
      inputTokens,
      outputTokens,
      cacheReadTokens,
      cacheWriteTokens,
      costUsd,
      subagent,
      ...(usage.estimated === true && { estimated: true }),
    });
    this.#deps.parts.parent?.spent(choice, usage, costUsd);
  }
}
