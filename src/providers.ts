/** Opens the provider for an endpoint: the one place that joins wires, repairs and retries. */
import type { ModelFacts } from "./models.ts";
import { CallIds } from "./provider-ids.ts";
import { RepairMemory } from "./provider-repair.ts";
import { type Learned, Turn } from "./provider-turn.ts";
import { type Endpoint, hostOf, type Provider, originOf } from "./provider.ts";
import { abortOf, type RetryPolicy, sleep, withRetry } from "./retry.ts";

export interface ProviderDeps {
  /** For proxies and certificates. */
  env: Readonly<Record<string, string | undefined>>;
  maxRetries: number;
  factsFor: (model: string, presetId: string) => ModelFacts;
  now?: () => number;
  random?: () => number;
  sleep?: RetryPolicy["sleep"];
  /** Hosts, with port, that are OpenAI's own API. Tests put themselves here. */
  openaiHosts?: readonly string[];
  /** Parameters that endpoints have refused. Default: the one of this process. */
  memory?: RepairMemory;
}

const OPENAI_HOSTS = ["api.openai.com"];
const processMemory = new RepairMemory();

/** A provider for one endpoint. Sends nothing until `stream` is iterated; what it learns about the endpoint it keeps. */
export function openProvider(endpoint: Endpoint, deps: ProviderDeps): Provider {
  const now = deps.now ?? Date.now;
  const policy: RetryPolicy = {
    limit: deps.maxRetries,
    now,
    random: deps.random ?? Math.random,
    sleep: deps.sleep ?? sleep,
  };
  const shared = {
    env: deps.env,
    now,
    endpoint,
    learned: nothingLearned(),
    isOpenAI: (deps.openaiHosts ?? OPENAI_HOSTS).includes(hostOf(endpoint.baseURL)),
    memory: deps.memory ?? processMemory,
  };
  return {
    async *stream(request, signal) {
      if (signal.aborted) throw abortOf(signal);
      const turn = new Turn(request, { ...shared, facts: deps.factsFor(request.model, endpoint.presetId) }, signal);
      yield* withRetry(() => turn.attempt(), policy, signal);
    },
    origin: (model) => originOf(endpoint, model),
  };
}

const nothingLearned = (): Learned => ({
  responsesModels: new Set(),
  keepReasoningFrom: new Map(),
  refusedImages: new Set(),
  said: new Set(),
  baseURL: null,
  ids: new CallIds(),
  histories: new Map(),
});
