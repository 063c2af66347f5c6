/** What a request costs. Rates come from models.ts or the user's own table; never guesses a price that nobody named. */
import type { Usage } from "./types.ts";
import { factsFor, type Price, type Rates } from "./models.ts";
import { bareId, canonicalId, coversId } from "./models-match.ts";

/** A price from the user's config: USD per million tokens. */
export interface PriceOverride {
  input: number;
  output: number;
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
}

const PER_TOKEN = 1e-6;

// Every published Anthropic price has 5-minute cache writes at this multiple of the input rate.
const ANTHROPIC_CACHE_WRITE = 1.25;

/** USD of one request; null: unpriced. Reasoning is part of the output; `at` lets off-peak rates apply, else peak ones do. */
export function priceOf(
  usage: Usage,
  model: string,
  presetId: string,
  overrides: Readonly<Record<string, PriceOverride>>,
  at?: Date,
): number | null {
  const own = findOverride(model, overrides);
  if (own !== null) return total(usage, completeRates(own, null));
  const facts = factsFor(model, presetId);
  if (facts.price === null) return null;
  const rates = ratesFor(facts.price, usage.inputTokens, at);
  return total(usage, completeRates(rates, facts.id.includes("claude") ? ANTHROPIC_CACHE_WRITE : null));
}

const PARTS_PER_USD = 1e9;

/** A sum of USD, to a billionth: without the digits that binary fractions add, which would show in JSON. */
export function addUsd(...amounts: readonly number[]): number {
  return Math.round(amounts.reduce((sum, amount) => sum + amount, 0) * PARTS_PER_USD) / PARTS_PER_USD;
}

/** `$1.24`, `$0.0031`, `<$0.0001`; null is `unpriced`. */
export function formatUsd(usd: number | null): string {
  if (usd === null) return "unpriced";
  if (usd > 0 && usd < 0.0001) return "<$0.0001";
  return usd === 0 || usd >= 0.1 ? `$${usd.toFixed(2)}` : `$${usd.toFixed(4)}`;
}

function findOverride(model: string, overrides: Readonly<Record<string, PriceOverride>>): PriceOverride | null {
  const exact = Object.hasOwn(overrides, model) ? overrides[model] : undefined;
  if (exact !== undefined) return exact;
  const id = canonicalId(model);
  let best: { length: number; price: PriceOverride } | null = null;
  for (const [name, price] of Object.entries(overrides)) {
    const known = canonicalId(name);
    const covered = known.includes("/") ? coversId(known, id) : coversId(known, bareId(id));
    if (covered && known.length > (best?.length ?? 0)) best = { length: known.length, price };
  }
  return best?.price ?? null;
}

function ratesFor(price: Price, inputTokens: number, at: Date | undefined): Rates {
  const tier = price.tiers.findLast((each) => inputTokens > each.above);
  if (tier !== undefined) return scaleMissing(tier, price);
  return price.offPeak !== null && at !== undefined && !isPeak(at) ? price.offPeak : price;
}

/** A long-context rate the vendor did not list moves with its input rate. */
function scaleMissing(tier: Rates, base: Rates): Rates {
  const factor = base.input === 0 ? 1 : tier.input / base.input;
  const cacheRead = tier.cacheRead ?? scaled(base.cacheRead, factor);
  const cacheWrite = tier.cacheWrite ?? scaled(base.cacheWrite, factor);
  return {
    input: tier.input,
    output: tier.output,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
  };
}

function scaled(rate: number | undefined, factor: number): number | undefined {
  return rate === undefined ? undefined : rate * factor;
}

// DeepSeek: 01:00–04:00 and 06:00–10:00 UTC, Monday to Friday. Its Chinese holidays are left out: then we say too much, not too little.
function isPeak(at: Date): boolean {
  const hour = at.getUTCHours();
  const weekday = at.getUTCDay() % 6 !== 0;
  return weekday && ((hour >= 1 && hour < 4) || (hour >= 6 && hour < 10));
}

function completeRates(rates: PriceOverride, writeFactor: number | null): Required<Rates> {
  return {
    input: rates.input,
    output: rates.output,
    cacheRead: rates.cacheRead ?? rates.input,
    cacheWrite: rates.cacheWrite ?? rates.input * (writeFactor ?? 1),
  };
}

function total(usage: Usage, rates: Required<Rates>): number {
  const fresh = Math.max(0, usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens);
  return (
    (fresh * rates.input +
      usage.cacheReadTokens * rates.cacheRead +
      usage.cacheWriteTokens * rates.cacheWrite +
      usage.outputTokens * rates.output) *
    PER_TOKEN
  );
}
