/** Reads what servers say about a model in their lists: each vendor's own fields, one shape out. Pure; everything may be missing. */
import type { Json, JsonObject } from "./types.ts";
import type { Rates } from "./models.ts";

/** A model an endpoint reports. Null is "not reported". */
export interface ListedModel {
  id: string;
  name: string | null;
  /** Tokens. */
  context: number | null;
  maxOutput: number | null;
  vision: boolean | null;
  tools: boolean | null;
  reasoning: boolean | null;
  /** Accepted effort words. */
  effort: string[] | null;
  price: Rates | null;
}

/** One entry of a list, null when it names no model. */
export function readListed(entry: Json): ListedModel | null {
  if (!isObject(entry)) return null;
  const id = textIn(entry, "id", "key", "model", "name");
  if (id === null || !isSaneId(id)) return null;
  return {
    id: id.replace(/^models\//, ""), // Gemini
    name: textIn(entry, "display_name", "name"),
    context: contextOf(entry),
    maxOutput: outputOf(entry),
    ...abilitiesOf(entry),
    price: priceIn(entry.pricing),
  };
}

/** False for what a list says is no chat model, or is switched off: Groq's, Mistral's and Together's words. */
export function answersPrompts(entry: Json): boolean {
  if (!isObject(entry)) return true;
  const can = isObject(entry.capabilities) ? entry.capabilities : {};
  if (entry.active === false || can.completion_chat === false) return false;
  return typeof entry.type !== "string" || !/^(embeddings?|rerank|image|audio|moderation|transcribe)$/.test(entry.type);
}

/** The models of a list, each id once, the first entry wins. */
export function uniqueModels(entries: readonly Json[]): ListedModel[] {
  const byId = new Map<string, ListedModel>();
  for (const entry of entries) {
    const model = readListed(entry);
    if (model !== null && !byId.has(model.id)) byId.set(model.id, model);
  }
  return [...byId.values()];
}

/** What Ollama's `/api/show` adds. `loadedContext` is the size the model runs with now. */
export function readOllamaShow(model: ListedModel, shown: Json, loadedContext: number | null): ListedModel {
  if (!isObject(shown)) return model;
  const info = isObject(shown.model_info) ? shown.model_info : {};
  const trained = Object.entries(info).find(([key]) => key.endsWith(".context_length"))?.[1];
  const set = /^num_ctx\s+(\d+)/m.exec(typeof shown.parameters === "string" ? shown.parameters : "")?.[1];
  const can = listIn(shown.capabilities);
  return {
    ...model,
    context: count(set) ?? loadedContext ?? count(trained) ?? model.context,
    ...(can === null
      ? {}
      : { vision: can.includes("vision"), tools: can.includes("tools"), reasoning: can.includes("thinking") }),
  };
}

/** A positive whole number, also when it comes as text. */
export function count(value: Json | undefined): number | null {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number > 0 ? number : null;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// An id is shown, typed and sent back: control characters or a page of text are none.
function isSaneId(id: string): boolean {
  return id.length > 0 && id.length <= 256 && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(id);
}

function contextOf(entry: JsonObject): number | null {
  const loaded = Array.isArray(entry.loaded_instances) ? entry.loaded_instances[0] : undefined;
  const config = isObject(loaded) && isObject(loaded.config) ? loaded.config : {};
  const meta = isObject(entry.meta) ? entry.meta : {}; // llama.cpp
  return firstCount(
    config.context_length,
    entry.loaded_context_length,
    within(entry.top_provider, "context_length"),
    entry.context_length,
    entry.context_window,
    entry.max_input_tokens,
    entry.max_model_len,
    entry.max_context_length,
    meta.n_ctx,
    entry.inputTokenLimit,
    within(limitsOf(entry), "max_context_window_tokens"),
  );
}

function outputOf(entry: JsonObject): number | null {
  return firstCount(
    within(entry.top_provider, "max_completion_tokens"),
    entry.max_completion_tokens,
    entry.max_output_tokens,
    entry.max_tokens,
    entry.outputTokenLimit,
    within(limitsOf(entry), "max_output_tokens"),
  );
}

/** Copilot's place for them. */
function limitsOf(entry: JsonObject): Json | undefined {
  return within(entry.capabilities, "limits");
}

function abilitiesOf(entry: JsonObject): Pick<ListedModel, "vision" | "tools" | "reasoning" | "effort"> {
  const can = isObject(entry.capabilities) ? entry.capabilities : {};
  const listed = listIn(entry.capabilities);
  const supports = isObject(can.supports) ? can.supports : {};
  const parameters = listIn(entry.supported_parameters);
  const inputs = listIn(within(entry.architecture, "input_modalities"));
  return {
    vision: firstFlag(
      supported(can.image_input),
      can.vision,
      supports.vision,
      inputs?.includes("image"),
      visionByType(entry.type),
    ),
    tools: firstFlag(
      can.function_calling,
      can.trained_for_tool_use,
      supports.tool_calls,
      parameters?.includes("tools"),
      listed?.includes("tool_use"),
    ),
    reasoning: firstFlag(
      supported(can.thinking),
      typeof can.reasoning === "boolean" ? can.reasoning : undefined,
      isObject(can.reasoning) ? true : undefined,
      parameters?.includes("reasoning"),
    ),
    effort: effortIn(can.effort) ?? listIn(within(entry.reasoning, "supported_efforts")),
  };
}

// LM Studio: `vlm` sees, `llm` does not.
function visionByType(type: Json | undefined): boolean | undefined {
  return type === "vlm" ? true : type === "llm" ? false : undefined;
}

/** Anthropic: `{ supported, low: { supported }, … }`. */
function effortIn(value: Json | undefined): string[] | null {
  if (!isObject(value)) return null;
  const words = Object.keys(value).filter((word) => word !== "supported" && supported(value[word]) === true);
  return value.supported === false ? [] : words;
}

function supported(value: Json | undefined): boolean | undefined {
  return isObject(value) && typeof value.supported === "boolean" ? value.supported : undefined;
}

/** OpenRouter and kin: USD per token, as text, negative for "depends". Together: USD per million, as numbers. */
function priceIn(value: Json | undefined): Rates | null {
  if (!isObject(value)) return null;
  if (isRate(value.input) && isRate(value.output)) return { input: value.input, output: value.output };
  const input = perMillion(value.prompt);
  const output = perMillion(value.completion);
  if (input === null || output === null) return null;
  const cacheRead = perMillion(value.input_cache_read);
  const cacheWrite = perMillion(value.input_cache_write);
  return {
    input,
    output,
    ...(cacheRead === null ? {} : { cacheRead }),
    ...(cacheWrite === null ? {} : { cacheWrite }),
  };
}

const isRate = (value: Json | undefined): value is number =>
  typeof value === "number" && Number.isFinite(value) && value >= 0;

function perMillion(value: Json | undefined): number | null {
  const rate = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof rate !== "number" || !Number.isFinite(rate) || rate < 0) return null;
  return Number((rate * 1e6).toPrecision(12)); // 0.0000003 × 10⁶ is 0.3, not 0.30000000000000004
}

function firstCount(...values: (Json | undefined)[]): number | null {
  return values.map(count).find((each) => each !== null) ?? null;
}

function firstFlag(...values: (Json | undefined)[]): boolean | null {
  return values.find((each): each is boolean => typeof each === "boolean") ?? null;
}

function within(value: Json | undefined, key: string): Json | undefined {
  return isObject(value) ? value[key] : undefined;
}

function listIn(value: Json | undefined): string[] | null {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : null;
}

function textIn(entry: JsonObject, ...keys: string[]): string | null {
  for (const key of keys) {
    const value = entry[key];
    if (typeof value === "string" && value.trim() !== "") return value.trim();
  }
  return null;
}
