/** Thinking fields of servers that run other people's models: OpenRouter, Groq, Ollama, LM Studio, and unknown ones. */
import type { JsonObject, ThinkingLevel } from "./types.ts";
import type { ReasoningFacts } from "./models.ts";
import { chooseEffort, noFields, noteFor, type ThinkingCase, type ThinkingFields } from "./thinking-effort.ts";
import { effortField, effortThinking } from "./thinking-openai.ts";
import { thinkingBudget } from "./thinking-anthropic.ts";

const TO_HIGH = ["low", "medium", "high"] as const;

/** Groq: gpt-oss takes effort words, Qwen only on and off, the rest nothing. Raw reasoning beside tools is refused there. */
export function groqThinking(ask: ThinkingCase): ThinkingFields {
  const qwen = /qwen-?3/i.test(ask.model);
  if (!qwen) return effortThinking(ask);
  const effort = ask.level === "off" ? "none" : "default";
  return { fields: { reasoning_effort: effort, ...(ask.hasTools ? { reasoning_format: "parsed" } : {}) }, note: null };
}

/** OpenRouter: one `reasoning` object, with an effort, a budget or a switch as the model offers; it maps words a model lacks. */
export function openrouterThinking(ask: ThinkingCase): ThinkingFields {
  const { reasoning, reasons } = ask.facts;
  if (reasons === false) return noFields();
  if (ask.level === "off") return openrouterOff(ask, reasoning);
  return { fields: { reasoning: openrouterOn(ask, ask.level, reasoning) }, note: null };
}

/** Ollama: every word, `none` included; gpt-oss cannot stop thinking. Models known not to think are sent nothing. */
export function ollamaThinking(ask: ThinkingCase): ThinkingFields {
  if (ask.facts.reasons === false) return noFields();
  const accepted = isGptOss(ask) ? TO_HIGH : ["none", ...TO_HIGH, "max"];
  return withEffort(ask, accepted);
}

/** LM Studio documents a field for responses only, and no way off. */
export function lmstudioThinking(ask: ThinkingCase): ThinkingFields {
  return ask.wire === "responses" && ask.level !== "off" ? withEffort(ask, TO_HIGH) : noFields();
}

/** A server nothing is known of: three words everybody understands, nothing for off or for a model known to take no word. */
export function compatibleThinking(ask: ThinkingCase): ThinkingFields {
  const { reasoning, reasons } = ask.facts;
  if (ask.level === "off" || reasons === false || reasoning?.kinds.length === 0) return noFields();
  const known = reasoning?.effort.filter((word) => TO_HIGH.some((each) => each === word)) ?? [];
  return withEffort(ask, known.length > 0 ? known : TO_HIGH);
}

function withEffort(ask: ThinkingCase, accepted: readonly string[]): ThinkingFields {
  const effort = chooseEffort(ask.level, accepted);
  if (effort === null) return noFields();
  return { fields: effortField(ask, effort), note: noteFor(ask.model, ask.level, effort) };
}

function isGptOss(ask: ThinkingCase): boolean {
  return /gpt-?oss/i.test(ask.model);
}

function openrouterOff(ask: ThinkingCase, reasoning: ReasoningFacts | null): ThinkingFields {
  if (reasoning?.off === "none") return { fields: { reasoning: { effort: "none" } }, note: null };
  if (reasoning === null || reasoning.off !== "never") return { fields: { reasoning: { enabled: false } }, note: null };
  const effort = chooseEffort("off", reasoning.effort);
  if (effort === null) return { fields: {}, note: `${ask.model} cannot switch thinking off.` };
  return { fields: { reasoning: { effort } }, note: noteFor(ask.model, "off", effort) };
}

function openrouterOn(
  ask: ThinkingCase,
  level: Exclude<ThinkingLevel, "off">,
  reasoning: ReasoningFacts | null,
): JsonObject {
  if (reasoning === null || reasoning.effort.length > 0) return { effort: openrouterEffort(level, reasoning) };
  const budget = thinkingBudget(level, ask.maxOutputTokens, reasoning.budget?.max);
  return reasoning.kinds.includes("budget") && budget !== null ? { max_tokens: budget } : { enabled: true };
}

function openrouterEffort(level: Exclude<ThinkingLevel, "off">, reasoning: ReasoningFacts | null): string {
  if (level !== "max") return level;
  return reasoning === null ? "xhigh" : (chooseEffort("max", reasoning.effort) ?? "xhigh");
}
