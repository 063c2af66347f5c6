/** What local model servers tell on interfaces of their own, and which of them are running. The plain list is listing.ts. */
import { ProviderError } from "./errors.ts";
import { count, isObject, readOllamaShow, uniqueModels, type ListedModel } from "./listing-facts.ts";
import { fetchJson, type ListingDeps } from "./listing-fetch.ts";
import { networkOptions } from "./network.ts";
import { PRESETS, type Preset } from "./presets.ts";
import type { Endpoint } from "./provider.ts";
import { openaiBase } from "./provider-url.ts";
import type { Json, JsonObject } from "./types.ts";

const OWN_TIMEOUT_MS = 2_000;
const OWN_MODELS = 64;
const OWN_AT_ONCE = 8;
const PROBE_MS = 200;

/** Ids of the local presets whose server answers within 200 ms. Never throws. */
export async function runningLocalServers(
  candidates: readonly Pick<Preset, "id" | "baseURL">[] = PRESETS.filter((each) => each.keyless && each.baseURL !== ""),
): Promise<string[]> {
  const answers = await Promise.all(candidates.map(async ({ baseURL }) => answersAt(`${baseURL}/models`)));
  return candidates.filter((_, index) => answers[index]).map((each) => each.id);
}

async function answersAt(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { ...networkOptions(url, {}), signal: AbortSignal.timeout(PROBE_MS) });
    await response.body?.cancel();
    return true;
  } catch {
    return false; // Nobody there, or too slow to be called running: either way it isn't offered as such.
  }
}

/** Adds what Ollama tells only on its own interface: the size a model runs with, what it can do. */
export async function withOllamaFacts(
  models: readonly ListedModel[],
  endpoint: Endpoint,
  deps: ListingDeps,
): Promise<ListedModel[]> {
  const root = serverRoot(endpoint);
  const loaded = await loadedContexts(root, endpoint, deps);
  const described = [...models];
  const queue = [...models.entries()].slice(0, OWN_MODELS);
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [index, model] = next;
      const shown = await askOwn(`${root}/api/show`, endpoint, deps, { model: model.id });
      described[index] = readOllamaShow(model, shown, loaded.get(model.id) ?? null);
    }
  };
  await Promise.all(Array.from({ length: OWN_AT_ONCE }, work));
  return described;
}

async function loadedContexts(root: string, endpoint: Endpoint, deps: ListingDeps): Promise<Map<string, number>> {
  const body = await askOwn(`${root}/api/ps`, endpoint, deps);
  const running = isObject(body) && Array.isArray(body.models) ? body.models.filter(isObject) : [];
  return new Map(
    running.flatMap((each): [string, number][] => {
      const context = count(each.context_length);
      return typeof each.model === "string" && context !== null ? [[each.model, context]] : [];
    }),
  );
}

/** Adds LM Studio's own facts, and drops its embedding models. */
export async function withLmStudioFacts(
  models: readonly ListedModel[],
  endpoint: Endpoint,
  deps: ListingDeps,
): Promise<ListedModel[]> {
  const root = serverRoot(endpoint);
  const own =
    (await askOwn(`${root}/api/v1/models`, endpoint, deps)) ?? (await askOwn(`${root}/api/v0/models`, endpoint, deps));
  const list = isObject(own) ? (own.data ?? own.models) : null;
  const entries = Array.isArray(list) ? list.filter(isObject) : [];
  const chat = entries.filter((entry) => entry.type !== "embeddings" && entry.type !== "embedding");
  const facts = new Map(uniqueModels(chat).map((model) => [model.id, model]));
  const hidden = new Set(
    uniqueModels(entries)
      .map((model) => model.id)
      .filter((id) => !facts.has(id)),
  );
  return models.filter((model) => !hidden.has(model.id)).map((model) => facts.get(model.id) ?? model);
}

/** A local server's own interface; null when this version has none: the plain list stands. Aborts pass. */
async function askOwn(url: string, endpoint: Endpoint, deps: ListingDeps, post?: JsonObject): Promise<Json> {
  try {
    return await fetchJson(url, endpoint, deps, OWN_TIMEOUT_MS, post);
  } catch (error) {
    if (error instanceof ProviderError) return null;
    throw error;
  }
}

function serverRoot(endpoint: Endpoint): string {
  return openaiBase(endpoint.baseURL).replace(/\/v1$/, "");
}
