/** Token counts of the OpenAI wires, wherever a provider puts them. Pure. */
import { isObject } from "./provider-errors.ts";
import type { Json, JsonObject, Usage } from "./types.ts";

/**
 * Usage after another chunk: in the chunk, in its choice (Moonshot), or in `x_groq`. The last non-null value of each
 * field wins; nothing is added up. Null until something was reported.
 */
export function chatUsage(places: readonly (JsonObject | null)[], before: Usage | null): Usage | null {
  let usage = before;
  for (const place of places) {
    for (const report of [place?.usage, isObject(place?.x_groq) ? place.x_groq.usage : undefined]) {
      if (isObject(report)) usage = merge(report, usage);
    }
  }
  return usage;
}

/** The same for the responses wire, whose fields have other names. */
export function responsesUsage(report: Json | undefined): Usage | null {
  return isObject(report) ? merge(report, null) : null;
}

function merge(report: JsonObject, before: Usage | null): Usage | null {
  const read = detailsOf(report.prompt_tokens_details) ?? detailsOf(report.input_tokens_details);
  const written = detailsOf(report.completion_tokens_details) ?? detailsOf(report.output_tokens_details);
  const input = count(report.prompt_tokens) ?? count(report.input_tokens);
  const output = count(report.completion_tokens) ?? count(report.output_tokens);
  if (input === null && output === null && !before) return null;
  const inputTokens = input ?? before?.inputTokens ?? 0;
  return {
    inputTokens,
    outputTokens: outputOf(report, input, output) ?? before?.outputTokens ?? 0,
    cacheReadTokens:
      count(read?.cached_tokens) ??
      count(report.prompt_cache_hit_tokens) ??
      count(report.cached_tokens) ??
      before?.cacheReadTokens ??
      0,
    cacheWriteTokens:
      count(read?.cache_write_tokens) ?? count(report.cache_creation_input_tokens) ?? before?.cacheWriteTokens ?? 0,
    reasoningTokens: count(written?.reasoning_tokens) ?? before?.reasoningTokens ?? 0,
  };
}

// Some (xAI, Gemini) count reasoning beside the completion: only the total tells.
function outputOf(report: JsonObject, input: number | null, output: number | null): number | null {
  const total = count(report.total_tokens);
  if (output === null || total === null || input === null) return output;
  return Math.max(output, total - input);
}

const detailsOf = (value: Json | undefined): JsonObject | null => (isObject(value) ? value : null);

const count = (value: Json | undefined): number | null =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
