/** The head of every request: system text and tools, made once and kept until something the user did changes them. Sends nothing. */
import { offers, type AgentVariant } from "./agents.ts";
import { promptParts, type PromptPart, type PromptState } from "./prompt.ts";
import type { ToolDefinition } from "./provider.ts";
import type { SessionParts } from "./session-parts.ts";
import { withFittingTask } from "./subagent.ts";
import { oneLine } from "./text.ts";
import { jsonSchema } from "./tool-input.ts";
import type { Tool } from "./tool.ts";

type OfferParts = Pick<SessionParts, "tools" | "agents" | "gate" | "promptState">;

interface Head {
  system: string;
  tools: ToolDefinition[];
  offered: Tool[];
  callable: ReadonlyMap<string, Tool>;
}

export class Offer {
  readonly #parts: OfferParts;
  readonly #variant: () => AgentVariant;
  #head: Head | null = null;

  constructor(parts: OfferParts, variant: () => AgentVariant) {
    this.#parts = parts;
    this.#variant = variant;
  }

  /** The next request is to have a new one: variant, tools, skills, memory or instructions changed. */
  renew(): void {
    this.#head = null;
  }

  /** These bytes head every request, and a provider's cache lives on them. */
  get head(): Head {
    this.#head ??= this.#make();
    return this.#head;
  }

  /** The prompt's parts, for /context and `shiro prompt`. */
  promptParts(): PromptPart[] {
    return promptParts(this.#promptState(this.head.offered));
  }

  #make(): Head {
    const every = this.#parts.tools().filter((tool) => offers(this.#variant(), tool));
    const offered = withFittingTask(every, this.#parts.agents);
    return {
      offered,
      callable: new Map(offered.map((tool) => [tool.name, tool])),
      system: promptParts(this.#promptState(offered))
        .map((part) => part.text)
        .join("\n\n"),
      tools: offered.map((tool) => ({
        name: tool.name,
        description: tool.description,
        schema: tool.wireSchema ?? jsonSchema(tool.input),
      })),
    };
  }

  #promptState(offered: readonly Tool[]): PromptState {
    const tools = offered.map((tool) => ({
      name: tool.name,
      line: firstSentence(tool.description),
      asks: this.#parts.gate.mayAsk(tool.name),
    }));
    return this.#parts.promptState(tools, this.#variant());
  }
}

function firstSentence(text: string): string {
  const end = /[.:](?:\s|$)/.exec(text);
  return oneLine(end ? text.slice(0, end.index) : text, 90);
}
