/** Slash commands about who answers: provider, model, agent, thinking; and the table `shiro models` prints. */
import { agentVariants, findAgent } from "./agents.ts";
import type { Command, CommandUi } from "./command.ts";
import { UserError } from "./errors.ts";
import type { Interactive } from "./interactive-host.ts";
import type { ListedModel } from "./listing-facts.ts";
import { withKnownFacts } from "./listing.ts";
import { THINKING_LEVELS, type ThinkingLevel } from "./types.ts";

/** What an endpoint reports, filtered by a word, with what is known besides. */
export function knownModels(listed: readonly ListedModel[], presetId: string, filter: string): ListedModel[] {
  const wanted = filter.toLowerCase();
  return listed
    .filter((model) => model.id.toLowerCase().includes(wanted))
    .map((model) => withKnownFacts(model, presetId));
}

/** The same as a table: id, context and price. */
export function modelTable(listed: readonly ListedModel[], presetId: string, filter: string): string {
  const models = knownModels(listed, presetId, filter);
  if (models.length === 0) return filter === "" ? "The endpoint lists no models." : `No model contains "${filter}".`;
  const width = Math.min(60, Math.max(...models.map((model) => model.id.length)));
  return models.map((model) => `${model.id.padEnd(width)}  ${describeModel(model)}`.trimEnd()).join("\n");
}

function describeModel(model: ListedModel): string {
  const context = model.context === null ? "" : `${Math.round(model.context / 1000)}k`;
  const price = model.price === null ? "" : `$${model.price.input}/$${model.price.output} per M`;
  return `${context.padStart(6)}  ${price}`;
}

export function modelCommands(host: Interactive): Command[] {
  const list = async (): Promise<ListedModel[]> => {
    const { listModels } = await import("./listing.ts");
    const { endpoint } = host.setup.resolved;
    return host.interruptible((signal) => listModels(endpoint, { env: host.setup.query.env, signal }));
  };
  const use = (model: string, ui: CommandUi): void => {
    host.useModel(host.setup.resolved.endpoint, model);
    ui.print(`Model: ${model}`);
  };
  const pick = async (filter: string, ui: CommandUi): Promise<void> => {
    const { presetId } = host.setup.resolved.endpoint;
    const models = (await list()).filter((model) => model.id.toLowerCase().includes(filter.toLowerCase()));
    if (models.length === 0)
      throw new UserError(
        filter === "" ? "The endpoint lists no models. /model <id> takes any id" : `No model contains "${filter}"`,
      );
    const choices = models.map((model) => ({
      value: model.id,
      label: model.id,
      detail: describeModel(withKnownFacts(model, presetId)).trim(),
    }));
    const chosen = await ui.dialog.pick("Which model?", choices);
    if (chosen !== null) use(chosen, ui);
  };
  return [
    {
      name: "model",
      args: "[id]",
      summary: "show or change the model",
      async complete() {
        return (await list()).map((model) => model.id);
      },
      async run(args, ui) {
        if (args === "")
          ui.print(
            `Model: ${host.session.choice.model} (${host.session.choice.presetId}). /model <id> changes it, /models lists them.`,
          );
        else use(args, ui);
      },
    },
    {
      name: "models",
      args: "[filter]",
      summary: "pick from what the endpoint offers",
      run: (args, ui) => pick(args, ui),
    },
    {
      name: "provider",
      args: "",
      summary: "set up a provider",
      async run(_, ui) {
        const { setupDialogue } = await import("./provider-dialogue.ts");
        const chosen = await setupDialogue(
          ui.dialog,
          (text) => ui.print(text),
          host.setup.query.env,
          host.setup.config.path,
        );
        if (chosen === null) return;
        host.useModel(chosen.endpoint, chosen.model);
        ui.print(`Provider: ${chosen.endpoint.presetId}, model: ${chosen.model}. Saved to ${host.setup.config.path}.`);
      },
    },
    {
      name: "agent",
      args: "[name]",
      summary: "show or change the agent variant",
      complete: () => agentVariants(host.setup.agents()).map((variant) => variant.name),
      async run(args, ui) {
        const variants = agentVariants(host.setup.agents());
        const name =
          args !== ""
            ? args
            : await ui.dialog.pick(
                "Which agent?",
                variants.map((one) => ({ value: one.name, label: one.name, detail: one.description })),
                { initial: host.session.variant.name },
              );
        if (name === null) return;
        host.session.setVariant(findAgent(name, host.setup.agents()));
        ui.print(
          `Agent: ${host.session.variant.name} (thinking ${host.session.thinking}, ${host.session.variant.maxSteps} steps)`,
        );
      },
    },
    {
      name: "think",
      args: "[level]",
      summary: "show or change the thinking level",
      complete: () => THINKING_LEVELS,
      ordered: true,
      async run(args, ui) {
        const level =
          args !== ""
            ? args
            : await ui.dialog.pick<ThinkingLevel>(
                "How hard to think?",
                THINKING_LEVELS.map((one) => ({ value: one, label: one })),
                { initial: host.session.thinking },
              );
        if (level === null) return;
        const known = THINKING_LEVELS.find((one) => one === level);
        if (!known) throw new UserError(`Unknown thinking level "${level}". Available: ${THINKING_LEVELS.join(", ")}`);
        host.session.setThinking(known);
        ui.print(`Thinking: ${known}`);
      },
    },
  ];
}
