/** Thinking fields of the Anthropic wire: adaptive with an effort, or a token budget for older models. */
import type { JsonObject } from "./types.ts";
import type { ReasoningFacts } from "./models.ts";
import { chooseEffort, noFields, noteFor, type ThinkingCase, type ThinkingFields } from "./thinking-effort.ts";

// The API's smallest budget, and what a level is worth in tokens where only a budget can be given.
const MIN_BUDGET = 1024;
const BUDGETS = { low: 2048, medium: 8192, high: 16384 } as const;

// Of the answer, thinking included, this much stays for text and tool calls.
const ANSWER_ROOM = 8192;

/** Fields for Claude, by family; a foreign model behind an Anthropic-compatible server gets the classic budget form. */
export function anthropicThinking(ask: ThinkingCase): ThinkingFields {
  const { reasoning, reasons } = ask.facts;
  if (reasons === false) return noFields();
  const isClaude = reasoning?.form != null || ask.model.toLowerCase().includes("claude");
  return reasoning !== null && isClaude && reasoning.form !== "budget" ? adaptive(ask, reasoning) : budgeted(ask);
}

/** Tokens for a level, at least the minimum and below the answer size; null where the answer is too small to think in. */
export function thinkingBudget(level: ThinkingCase["level"], maxOutputTokens: number, limit?: number): number | null {
  if (level === "off") return null;
  const room = Math.min(ANSWER_ROOM, Math.floor(maxOutputTokens / 2));
  const largest = Math.min(maxOutputTokens - room, limit ?? Number.POSITIVE_INFINITY);
  const budget = level === "max" ? largest : Math.min(BUDGETS[level], largest);
  return budget >= MIN_BUDGET && budget < maxOutputTokens ? budget : null;
}

function adaptive(ask: ThinkingCase, reasoning: ReasoningFacts): ThinkingFields {
  if (ask.level === "off" && reasoning.off !== "never") return { fields: offFields(reasoning), note: null };
  const level = ask.level === "off" ? "low" : ask.level;
  const effort = chooseEffort(level, reasoning.effort);
  // Only `adaptive` and `enabled` take a display.
  const display = ask.facts.interleavedDisplay ? { display: "summarized" } : {};
  const fields = { thinking: { type: "adaptive", ...display }, ...outputConfig(effort) };
  return { fields, note: effort === null ? null : noteFor(ask.model, ask.level, effort) };
}

function offFields(reasoning: ReasoningFacts): JsonObject {
  if (reasoning.off === "omit") return {};
  const type = reasoning.off === "between-tools" ? "between_tools" : "disabled";
  return { thinking: { type }, ...outputConfig(reasoning.offEffort) };
}

function outputConfig(effort: string | null): JsonObject {
  return effort === null ? {} : { output_config: { effort } };
}

function budgeted(ask: ThinkingCase): ThinkingFields {
  if (ask.level === "off") return noFields();
  const budget = thinkingBudget(ask.level, ask.maxOutputTokens);
  const effort = chooseEffort(ask.level, ask.facts.reasoning?.form === "budget" ? ask.facts.reasoning.effort : []);
  if (budget === null) return { fields: outputConfig(effort), note: tooSmall(ask) };
  return { fields: { thinking: { type: "enabled", budget_tokens: budget }, ...outputConfig(effort) }, note: null };
}

function tooSmall(ask: ThinkingCase): string {
  return `An answer of ${ask.maxOutputTokens} tokens leaves ${ask.model} no room to think: thinking is off.`;
}
