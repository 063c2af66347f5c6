/** What holds for one turn only: another agent or model for a custom command, the tools a skill allows. */
import { findAgent } from "./agents.ts";
import { UserError } from "./errors.ts";
import type { Setup } from "./setup.ts";
import { priceProblem } from "./setup-model.ts";
import type { ToolLimit } from "./tool.ts";

export interface TurnOptions {
  agent: string | null;
  model: string | null;
  limit: ToolLimit | null;
}

/** Puts the options in force and returns what takes them back. Throws UserError for an unknown agent, or a model that a ceiling can't be kept with. */
export function beginTurn(setup: Setup, options: TurnOptions): () => void {
  const { session } = setup;
  const { variant, choice } = session;
  const wanted = options.agent === null ? null : findAgent(options.agent, setup.agents());
  const model = options.model === null ? null : setup.choose(setup.resolved.endpoint, options.model);
  const problem = model === null ? null : priceProblem(model, setup.config.values);
  if (problem !== null) throw new UserError(problem, { kind: "config" });
  if (wanted !== null) session.setVariant(wanted);
  if (model !== null) session.setChoice(model);
  session.limitNextTurn(options.limit);
  return () => {
    if (wanted !== null) session.setVariant(variant);
    if (model !== null) session.setChoice(choice);
  };
}
