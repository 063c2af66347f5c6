/** The model of a start: the only one an endpoint has, what a local server says of it, and whether its price is known. */
import type { Config } from "./config.ts";
import { UserError } from "./errors.ts";
import type { Endpoint } from "./provider.ts";
import type { ModelChoice } from "./session-parts.ts";
import type { SetupQuery } from "./setup-query.ts";

/** The choice with the facts a local server reports; others are returned as they are. */
export async function reported(choice: ModelChoice, endpoint: Endpoint, env: SetupQuery["env"]): Promise<ModelChoice> {
  // Loaded only where it is needed: most start-ups ask nobody.
  if (endpoint.presetId !== "ollama" && endpoint.presetId !== "lmstudio") return choice;
  const { withReportedFacts } = await import("./listing-report.ts");
  const deps = { env, signal: new AbortController().signal };
  return { ...choice, facts: await withReportedFacts(choice.facts, choice.model, endpoint, deps) };
}

/** The only model of an endpoint. Throws UserError listing them where there are several. */
export async function onlyModel(endpoint: Endpoint, env: SetupQuery["env"]): Promise<string> {
  const { listModels } = await import("./listing.ts");
  const models = await listModels(endpoint, { env, signal: AbortSignal.timeout(20_000) });
  const [first, ...others] = models;
  if (first && others.length === 0) return first.id;
  const names = models.slice(0, 30).map((model) => model.id);
  const more = models.length > names.length ? ` and ${models.length - names.length} more` : "";
  throw new UserError(
    `No model is configured. Set SHIRO_MODEL or --model.${names.length > 0 ? ` The endpoint has: ${names.join(", ")}${more}` : " The endpoint lists none"}`,
  );
}

/** Headless runs refuse a money ceiling that can't be kept; a person is told. */
export function requirePrice(
  choice: ModelChoice,
  values: Config,
  query: SetupQuery,
  warn: (message: string) => void,
): void {
  const message = priceProblem(choice, values);
  if (message === null) return;
  if (query.headless) throw new UserError(message, { kind: "config" });
  warn(message);
}

/** Why a money ceiling can't be kept with a model: it would count as free. Null where another ceiling holds, or none is set. */
export function priceProblem(choice: ModelChoice, values: Config): string | null {
  if (values.maxSpendUsd === undefined || values.maxTokens !== undefined) return null;
  const known =
    choice.price({ inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }) !==
    null;
  if (known) return null;
  return `maxSpendUsd can't be kept: ${choice.model} has no known price. Give --max-tokens as well, or a price in "pricing"`;
}
