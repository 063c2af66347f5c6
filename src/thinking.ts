/** Turns a thinking level into the body fields of one wire, vendor and model. Sends nothing; refused values are provider-repair's. */
import type { ThinkingCase, ThinkingFields, ThinkingQuery } from "./thinking-effort.ts";
import { factsFor } from "./models.ts";
import { presetForHost } from "./presets.ts";
import { anthropicThinking } from "./thinking-anthropic.ts";
import { deepseekThinking, effortThinking, openaiThinking } from "./thinking-openai.ts";
import {
  compatibleThinking,
  groqThinking,
  lmstudioThinking,
  ollamaThinking,
  openrouterThinking,
} from "./thinking-compatible.ts";

export { lowerEffort, type ThinkingFields, type ThinkingQuery } from "./thinking-effort.ts";

// Endpoints without a preset whose rules are known.
const HOSTS: readonly (readonly [RegExp, string])[] = [
  [/(?:^|\.)generativelanguage\.googleapis\.com$/, "google"],
  [/(?:^|\.)mistral\.ai$/, "mistral"],
  [/(?:^|\.)api\.openai\.com$/, "openai"],
  [/(?:^|\.)deepseek\.com$/, "deepseek"],
  [/(?:^|\.)openrouter\.ai$/, "openrouter"],
  [/(?:^|\.)groq\.com$/, "groq"],
  [/(?:^|\.)x\.ai$/, "xai"],
];

/** The thinking fields at the top level of the request body. Never throws; an unknown model gets its family's or server's rule. */
export function thinkingFields(query: ThinkingQuery): ThinkingFields {
  const vendor = vendorFor(query.presetId, query.host);
  const ask: ThinkingCase = { ...query, facts: factsFor(query.model, vendor) };
  if (vendor === "deepseek") return deepseekThinking(ask);
  return query.wire === "anthropic" ? anthropicThinking(ask) : openaiWireThinking(ask, vendor);
}

function openaiWireThinking(ask: ThinkingCase, vendor: string): ThinkingFields {
  switch (vendor) {
    case "openai":
      return openaiThinking(ask);
    case "xai":
    case "google":
    case "mistral":
      return effortThinking(ask);
    case "groq":
      return groqThinking(ask);
    case "openrouter":
      return openrouterThinking(ask);
    case "ollama":
      return ollamaThinking(ask);
    case "lmstudio":
      return lmstudioThinking(ask);
    default:
      return compatibleThinking(ask);
  }
}

// A known host is what answers, whatever preset the user began with; an unknown one is taken at the preset's word.
function vendorFor(presetId: string, host: string): string {
  const bare = host.toLowerCase().replace(/:\d+$/, "");
  return presetForHost(host)?.id ?? HOSTS.find(([pattern]) => pattern.test(bare))?.[1] ?? presetId;
}
