/** Small pieces of screen text: durations, token counts, the usage line, marks. Pure; every word is ours, nothing untrusted goes in. */
import type { PublicEvent } from "./types.ts";

/** Decoration, in ASCII where the locale or the mode asks for it. */
export interface Marks {
  tool: string;
  dots: string;
  dot: string;
  gutter: string;
}

export function marksOf(traits: { ascii: boolean }): Marks {
  if (traits.ascii) return { tool: "*", dots: "...", dot: ",", gutter: "|" };
  return { tool: "●", dots: "…", dot: " ·", gutter: "│" };
}

/** `12 ms`, `3.4 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** `812`, `1.2k`, `3.4M`. */
export function tokens(count: number): string {
  if (count < 1000) return String(count);
  return count < 999_950 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** Small amounts keep two meaningful digits; null is a model without a known price. */
export function cost(usd: number | null): string {
  if (usd === null) return "unpriced";
  return `$${usd > 0 && usd < 0.01 ? usd.toPrecision(2) : usd.toFixed(2)}`;
}

export interface UsageLine {
  done: Extract<PublicEvent, { type: "done" }>;
  /** Share of the compaction threshold, 0–1. */
  contextShare: number | null;
  estimated: boolean;
  ms: number;
}

/** `12.3k in (80% cached) · 1.2k out · $0.01 · context 34% · 12.0 s`; `~` marks a guess. */
export function usageLine(line: UsageLine, marks: Marks): string {
  const { inputTokens, outputTokens, cacheReadTokens, costUsd } = line.done;
  const guess = line.estimated ? "~" : "";
  const cached = inputTokens > 0 ? ` (${Math.round((100 * cacheReadTokens) / inputTokens)}% cached)` : "";
  const context = line.contextShare === null ? [] : [`context ${guess}${percent(line.contextShare)}`];
  return [
    `${guess}${tokens(inputTokens)} in${cached}`,
    `${guess}${tokens(outputTokens)} out`,
    costUsd === null ? cost(null) : `${guess}${cost(costUsd)}`,
    ...context,
    duration(line.ms),
  ].join(`${marks.dot} `);
}

export function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}
