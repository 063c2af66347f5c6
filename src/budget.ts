/** Ceilings of a session: money, tokens, time. Checked before every request; counts what resumed sessions already spent. */
import { addUsd } from "./pricing.ts";
import type { Usage } from "./types.ts";

export interface Ceilings {
  maxSpendUsd: number | null;
  maxTokens: number | null;
  maxSeconds: number | null;
}

export interface Spent {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  /** Null once any of it was unpriced. */
  costUsd: number | null;
}

export type Verdict = { ok: true; warning: string | null } | { ok: false; ceiling: string; message: string };

const WARN_SHARE = 0.8;

interface Unit {
  amount(value: number): string;
  /** Behind the amounts, with the blank before it. */
  word: string;
}

export class Budget {
  readonly spent: Spent;
  #ceilings: Ceilings;
  #raised: Ceilings;
  /** What had a price. An unpriced request must not make the rest free. */
  #pricedUsd: number;
  #startedAt: number;
  #now: () => number;
  #warned = new Set<string>();

  constructor(ceilings: Ceilings, spent: Spent, now: () => number = Date.now) {
    this.#ceilings = { ...ceilings };
    this.#raised = { ...ceilings };
    this.spent = { ...spent };
    this.#pricedUsd = spent.costUsd ?? 0;
    this.#now = now;
    this.#startedAt = now();
  }

  /** Adds a request's usage. `costUsd` null: the model is unpriced, so the sum is unknown from here on. */
  add(usage: Usage, costUsd: number | null): void {
    this.spent.inputTokens += usage.inputTokens;
    this.spent.outputTokens += usage.outputTokens;
    this.spent.cacheReadTokens += usage.cacheReadTokens;
    this.#pricedUsd = addUsd(this.#pricedUsd, costUsd ?? 0);
    this.spent.costUsd = costUsd === null || this.spent.costUsd === null ? null : addUsd(this.spent.costUsd, costUsd);
  }

  /** The ceiling that forbids another request, or null. */
  reached(): { ceiling: string; message: string } | null {
    for (const { name, used, limit, unit } of this.#gauges()) {
      if (limit === null || used < limit) continue;
      const message = `${name} reached: ${ofLimit(used, limit, unit)} used. Raise it with --${flagOf(name)}`;
      return { ceiling: name, message };
    }
    return null;
  }

  /** May another request start? Warns once per ceiling at 80 %. */
  check(): Verdict {
    const reached = this.reached();
    if (reached) return { ok: false, ...reached };
    let warning: string | null = null;
    for (const { name, used, limit, unit } of this.#gauges()) {
      if (limit === null || used < limit * WARN_SHARE || this.#warned.has(name)) continue;
      this.#warned.add(name);
      warning ??= `${Math.floor((used / limit) * 100)} % of ${name} used (${ofLimit(used, limit, unit)})`;
    }
    return { ok: true, warning };
  }

  /** Adds the same amount again to a ceiling that was reached. */
  raise(ceiling: string): void {
    const key = ceiling as keyof Ceilings; // names come from check()
    const [current, step] = [this.#ceilings[key], this.#raised[key]];
    if (current === null || step === null) return;
    this.#ceilings[key] = current + step;
    this.#warned.delete(ceiling);
  }

  #gauges(): { name: keyof Ceilings; used: number; limit: number | null; unit: Unit }[] {
    const seconds = (this.#now() - this.#startedAt) / 1000;
    return [
      {
        name: "maxSpendUsd",
        used: this.#pricedUsd,
        limit: this.#ceilings.maxSpendUsd,
        unit: { amount: (value) => `$${value.toFixed(4)}`, word: "" },
      },
      {
        name: "maxTokens",
        used: this.spent.inputTokens + this.spent.outputTokens,
        limit: this.#ceilings.maxTokens,
        unit: { amount: String, word: " tokens" },
      },
      {
        name: "maxSeconds",
        used: seconds,
        limit: this.#ceilings.maxSeconds,
        unit: { amount: (value) => String(Math.floor(value)), word: " s" },
      },
    ];
  }
}

/** `2500 of 2100 tokens`: the unit's word is said once. */
function ofLimit(used: number, limit: number, { amount, word }: Unit): string {
  return `${amount(used)} of ${amount(limit)}${word}`;
}

function flagOf(name: keyof Ceilings): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
