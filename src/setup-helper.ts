/** The model of subagents and summaries, where the configuration names one beside the main one. Sends nothing. */
import type { Config, LoadedConfig } from "./config.ts";
import { resolveEndpoint, type ResolvedEndpoint } from "./endpoint.ts";
import { UserError } from "./errors.ts";
import { officialKey } from "./presets.ts";
import type { Endpoint } from "./provider.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** What belongs to the main endpoint alone: its key must not reach another. */
const OF_THE_MAIN_ONE = ["provider", "model", "baseURL", "apiKey", "presetId", "headers"] as const;

/**
 * Endpoint and model by `subagentModel` and `subagentProvider`; null where neither is set. Another protocol means that
 * provider's own endpoint and key; without such a key an endpoint of one's own is asked in that protocol.
 * Throws UserError where no key or no model is known.
 */
export async function helperModel(
  config: LoadedConfig,
  main: ResolvedEndpoint,
  env: Env,
): Promise<{ endpoint: Endpoint; model: string } | null> {
  const { subagentModel: model, subagentProvider: protocol } = config.values;
  if (protocol === undefined || protocol === main.endpoint.protocol)
    return model === undefined ? null : { endpoint: main.endpoint, model };
  if (main.endpoint.presetId.startsWith("custom-") && officialKey(protocol, env) === undefined)
    return { endpoint: { ...main.endpoint, protocol, presetId: `custom-${protocol}` }, model: model ?? missing() };
  const other = await resolveEndpoint({ ...config, values: withoutMain(config.values, protocol) }, env);
  return { endpoint: other.endpoint, model: model ?? other.model ?? missing() };
}

function withoutMain(values: Config, provider: NonNullable<Config["provider"]>): Config {
  const rest = { ...values };
  for (const key of OF_THE_MAIN_ONE) delete rest[key];
  return { ...rest, provider };
}

function missing(): never {
  throw new UserError("subagentProvider needs a subagentModel", { kind: "config" });
}
