/** Asks an endpoint which models it has. Knows the lists of both protocols and of local servers; chooses and prints nothing. */
import { ProviderError, UserError } from "./errors.ts";
import { answersPrompts, isObject, uniqueModels, type ListedModel } from "./listing-facts.ts";
import { fetchJson, type ListingDeps } from "./listing-fetch.ts";
import { withLmStudioFacts, withOllamaFacts } from "./listing-local.ts";
import { factsFor } from "./models.ts";
import { presetForHost } from "./presets.ts";
import type { Endpoint } from "./provider.ts";
import { classifyResponse } from "./provider-errors.ts";
import { anthropicBase, openaiBase, withQueryOf, withV1 } from "./provider-url.ts";
import type { Json } from "./types.ts";

export type { ListedModel } from "./listing-facts.ts";
export { runningLocalServers } from "./listing-local.ts";

const PAGE_SIZE = 1000;
const TIMEOUT_MS = 20_000;
// Anthropic says how many pages there are only by `has_more`: a server that never ends would be read for ever.
const MAX_PAGES = 50;

/**
 * The models an endpoint reports, in its order, each id once. Throws UserError for an unusable base URL, ProviderError
 * otherwise: kind `shape` where the endpoint has no list, `auth`, `content` for a web page, `network`, `timeout` …
 */
export async function listModels(endpoint: Endpoint, deps: ListingDeps): Promise<ListedModel[]> {
  const models = uniqueModels((await fetchAnywhere(endpoint, deps)).filter(answersPrompts));
  const local = presetForHost(endpoint.baseURL)?.id ?? endpoint.presetId;
  if (local === "ollama") return withOllamaFacts(models, endpoint, deps);
  return local === "lmstudio" ? withLmStudioFacts(models, endpoint, deps) : models;
}

/** Fills what the endpoint left out from what is known of the model. Reported values win. */
export function withKnownFacts(model: ListedModel, presetId: string): ListedModel {
  const facts = factsFor(model.id, presetId);
  return {
    ...model,
    name: model.name ?? facts.name,
    context: model.context ?? facts.context,
    maxOutput: model.maxOutput ?? facts.maxOutput,
    vision: model.vision ?? facts.vision,
    tools: model.tools ?? facts.tools,
    reasoning: model.reasoning ?? facts.reasons,
    effort: model.effort ?? (facts.reasoning === null ? null : [...facts.reasoning.effort]),
    price: model.price ?? facts.price,
  };
}

/** A bare host that has no list is asked again below `/v1`, as its chat endpoint will be. */
async function fetchAnywhere(endpoint: Endpoint, deps: ListingDeps): Promise<Json[]> {
  try {
    return await fetchEntries(endpoint, deps);
  } catch (error) {
    const deeper = endpoint.protocol === "openai" ? withV1(endpoint.baseURL) : null;
    const elsewhere = error instanceof ProviderError && (error.kind === "shape" || error.kind === "content");
    if (deeper === null || !elsewhere) throw error;
    return fetchEntries({ ...endpoint, baseURL: deeper }, deps).catch(() => Promise.reject(error));
  }
}

async function fetchEntries(endpoint: Endpoint, deps: ListingDeps): Promise<Json[]> {
  const first = modelsUrl(endpoint);
  const entries: Json[] = [];
  const seen = new Set<string>();
  let after: Cursor | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const url: URL = new URL(first);
    if (after !== null) url.searchParams.set(after.parameter, after.value);
    const body = await fetchJson(url.href, endpoint, deps, endpoint.timeoutMs ?? TIMEOUT_MS);
    entries.push(...entriesOf(body, url.href));
    after = nextPage(body, endpoint);
    if (after === null || seen.has(after.value)) break;
    seen.add(after.value);
  }
  return entries;
}

function modelsUrl(endpoint: Endpoint): string {
  const anthropic = endpoint.protocol === "anthropic";
  const base = anthropic ? anthropicBase(endpoint.baseURL) : openaiBase(endpoint.baseURL);
  if (!/^https?:/.test(base) || !URL.canParse(base)) {
    throw new UserError(`"${endpoint.baseURL}" is no URL: check baseURL`, { kind: "config" });
  }
  const url = anthropic ? `${base}/v1/models?limit=${PAGE_SIZE}` : `${base}/models`;
  return withQueryOf(endpoint.baseURL, url);
}

/** What to ask the next page with. */
interface Cursor {
  parameter: string;
  value: string;
}

function nextPage(body: Json, { protocol }: Endpoint): Cursor | null {
  if (!isObject(body)) return null;
  if (typeof body.nextPageToken === "string" && body.nextPageToken !== "")
    return { parameter: "pageToken", value: body.nextPageToken };
  if (body.has_more !== true || typeof body.last_id !== "string") return null;
  return { parameter: protocol === "anthropic" ? "after_id" : "after", value: body.last_id };
}

// Most send `{ data: [] }`, LM Studio's own list and Gemini's `{ models: [] }`, Together the bare array.
function entriesOf(body: Json, url: string): Json[] {
  const list = isObject(body) ? (body.data === undefined ? body.models : body.data) : body;
  if (Array.isArray(list)) return list;
  if (isObject(body) && "error" in body) throw classifyResponse(JSON.stringify(body), { url, now: Date.now() });
  // Ollama and some gateways say `data: null` for none.
  if (list === null) return [];
  throw new ProviderError(`${url} answered with no list of models`, {
    kind: "shape",
    hint: "Name one with --model.",
  });
}
