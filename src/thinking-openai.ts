/** Thinking fields of vendors that take an effort word: OpenAI, xAI, Gemini, Mistral, and DeepSeek with its switch. */
import type { JsonObject } from "./types.ts";
import { chooseEffort, EFFORTS, noFields, noteFor, type ThinkingCase, type ThinkingFields } from "./thinking-effort.ts";

/** `reasoning.effort` on responses, `reasoning_effort` on chat completions. */
export function effortField(ask: Pick<ThinkingCase, "wire">, effort: string): JsonObject {
  return ask.wire === "responses" ? { reasoning: { effort } } : { reasoning_effort: effort };
}

/** The accepted word nearest the level; nothing for models that take no word. */
export function effortThinking(ask: ThinkingCase): ThinkingFields {
  const effort = chooseEffort(ask.level, acceptedBy(ask));
  if (effort !== null) return { fields: effortField(ask, effort), note: noteFor(ask.model, ask.level, effort) };
  const stuck = ask.level === "off" && ask.facts.reasons === true;
  return stuck ? { fields: {}, note: `${ask.model} cannot switch thinking off.` } : noFields();
}

/** OpenAI: as above, but its newer models refuse tools together with reasoning on chat completions. */
export function openaiThinking(ask: ThinkingCase): ThinkingFields {
  const refuses = ask.wire === "chat" && ask.hasTools && ask.facts.responsesOnly;
  if (!refuses || ask.level === "off" || !acceptedBy(ask).includes("none")) return effortThinking(ask);
  return {
    fields: { reasoning_effort: "none" },
    note: `${ask.model} takes tools on chat completions only without thinking: thinking is off.`,
  };
}

/** DeepSeek: a switch and an effort on chat and the Anthropic form, the effort alone on responses. Its medium is high. */
export function deepseekThinking(ask: ThinkingCase): ThinkingFields {
  const reasoning = ask.facts.reasoning;
  if (ask.facts.reasons === false) return noFields();
  if (reasoning !== null && reasoning.kinds.length === 0) return effortThinking(ask);
  if (ask.level === "off") return { fields: deepseekOff(ask), note: null };
  const effort = ask.level === "medium" ? "high" : ask.level;
  return { fields: deepseekOn(ask, effort), note: noteFor(ask.model, ask.level, effort) };
}

function acceptedBy(ask: ThinkingCase): readonly string[] {
  const { effort = [], chatLimit = null } = ask.facts.reasoning ?? {};
  if (chatLimit === null || ask.wire !== "chat") return effort;
  const order: readonly string[] = EFFORTS;
  return effort.filter((word) => order.indexOf(word) <= order.indexOf(chatLimit));
}

function deepseekOff(ask: ThinkingCase): JsonObject {
  return ask.wire === "responses" ? effortField(ask, "none") : { thinking: { type: "disabled" } };
}

function deepseekOn(ask: ThinkingCase, effort: string): JsonObject {
  if (ask.wire === "responses") return effortField(ask, effort);
  const thinking = { type: "enabled" };
  return ask.wire === "anthropic" ? { thinking, output_config: { effort } } : { thinking, reasoning_effort: effort };
}
