/** The order of effort words and how a level finds its place among those a model accepts; the terms the thinking files share. Pure; knows no vendor. */
import type { JsonObject, ThinkingLevel } from "./types.ts";
import type { Wire } from "./provider.ts";
import type { ModelFacts } from "./models.ts";

/** Effort words from least to most. */
export const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** What a thinking level becomes: body fields, and a sentence for the user where it is not what was asked for. */
export interface ThinkingFields {
  fields: JsonObject;
  note: string | null;
}

export interface ThinkingQuery {
  wire: Wire;
  /** `custom` where no preset was chosen; the host then decides the vendor. */
  presetId: string;
  /** Host with port. */
  host: string;
  model: string;
  level: ThinkingLevel;
  /** The answer size that goes on the wire; thinking budgets stay below it. */
  maxOutputTokens: number;
  hasTools: boolean;
}

/** A query with what is known of its model. */
export interface ThinkingCase extends ThinkingQuery {
  facts: ModelFacts;
}

/** Nothing to send, nothing to say. */
export function noFields(): ThinkingFields {
  return { fields: {}, note: null };
}

/** The accepted word at or below the level, else the lowest one; null where the list is empty. `off` takes `none` or the lowest. */
export function chooseEffort(level: ThinkingLevel, accepted: readonly string[]): string | null {
  const ranked = accepted.filter((word) => rankOf(word) >= 0).toSorted((a, b) => rankOf(a) - rankOf(b));
  if (level === "off") return ranked[0] ?? null;
  const thinking = ranked.filter((word) => word !== "none");
  return thinking.findLast((word) => rankOf(word) <= rankOf(level)) ?? thinking[0] ?? null;
}

/** The sentence for a level that could not be kept; null where it was. `max` is kept by the most a model has. */
export function noteFor(model: string, level: ThinkingLevel, effort: string): string | null {
  if (level === "off") return effort === "none" ? null : `${model} cannot switch thinking off: using ${effort}.`;
  if (effort === level || level === "max") return null;
  return `${model} has no thinking level ${level}: using ${effort}.`;
}

/** The next value to try where `value` was refused; null: leave the field out. */
export function lowerEffort(value: string): string | null {
  // A refused `none` or `minimal` means thinking cannot be switched off: the lowest word everybody has is next.
  if (value === "none" || value === "minimal") return "low";
  const rank = rankOf(value);
  return rank <= rankOf("low") ? null : (EFFORTS[rank - 1] ?? null);
}

function rankOf(word: string): number {
  return EFFORTS.findIndex((each) => each === word);
}
