/** What a local server says about the one model in use: the size it runs with decides when to compact. Lists nothing. */
import { readListed, type ListedModel } from "./listing-facts.ts";
import type { ListingDeps } from "./listing-fetch.ts";
import { withLmStudioFacts, withOllamaFacts } from "./listing-local.ts";
import type { ModelFacts } from "./models.ts";
import type { Endpoint } from "./provider.ts";

/**
 * The facts with what Ollama or LM Studio report in their place: a model runs there with the context it was loaded
 * with, not the one it was made for, and Ollama drops what is beyond without a word. Facts of other endpoints come back
 * as they are, as do those of a server that doesn't answer. Aborts pass.
 */
export async function withReportedFacts(
  facts: ModelFacts,
  model: string,
  endpoint: Endpoint,
  deps: ListingDeps,
): Promise<ModelFacts> {
  const plain = readListed({ id: model });
  const ask =
    endpoint.presetId === "ollama" ? withOllamaFacts : endpoint.presetId === "lmstudio" ? withLmStudioFacts : null;
  if (ask === null || plain === null) return facts;
  const [reported] = await ask([plain], endpoint, deps);
  return reported ? merge(facts, reported) : facts;
}

function merge(facts: ModelFacts, reported: ListedModel): ModelFacts {
  return {
    ...facts,
    ...(reported.context === null ? {} : { context: reported.context, inputLimit: null }),
    maxOutput: reported.maxOutput ?? facts.maxOutput,
    vision: reported.vision ?? facts.vision,
    tools: reported.tools ?? facts.tools,
    reasons: reported.reasoning ?? facts.reasons,
  };
}
