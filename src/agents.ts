/** Agent variants: how hard to think, which tools, how many steps, what is added to the prompt. Lists; no behaviour. */
import { UserError } from "./errors.ts";
import type { ThinkingLevel } from "./types.ts";

export interface AgentVariant {
  name: string;
  description: string;
  thinking: ThinkingLevel;
  /** `read-only` withholds every tool that mutates; a list names exactly the tools offered. */
  tools: "all" | "read-only" | readonly string[];
  maxSteps: number;
  /** The prompt asks for a task list; small jobs are told to go without. */
  taskList: boolean;
  /** Appended to the system prompt; empty for none. */
  appendix: string;
}

const READ_ONLY_HONESTY =
  "You can't run commands or change files in this variant. Where a check would need a command, name the command instead of claiming its result.";

export const VARIANTS: readonly AgentVariant[] = [
  {
    name: "default",
    description: "balanced",
    thinking: "medium",
    tools: "all",
    maxSteps: 50,
    taskList: true,
    appendix: "",
  },
  {
    name: "quick",
    description: "small, clear changes",
    thinking: "off",
    tools: "all",
    maxSteps: 12,
    taskList: false,
    appendix: "Be quick: no deliberation, no task list, and no exploring beyond what the change needs.",
  },
  {
    name: "deep",
    description: "hard problems",
    thinking: "max",
    tools: "all",
    maxSteps: 80,
    taskList: true,
    appendix:
      "Form several hypotheses before acting and say what would tell them apart. Read more before you conclude. Record durable findings with `remember`.",
  },
  {
    name: "plan",
    description: "investigate and propose, change nothing",
    thinking: "high",
    tools: "read-only",
    maxSteps: 50,
    taskList: true,
    appendix: `Investigate and propose: end with a plan of concrete steps, the files each touches, and the risks. ${READ_ONLY_HONESTY}`,
  },
  {
    name: "review",
    description: "critique by severity",
    thinking: "high",
    tools: "read-only",
    maxSteps: 50,
    taskList: true,
    appendix: `Review: order what you find by severity, with file and line, why it matters and how to mend it. Say plainly what is fine. ${READ_ONLY_HONESTY}`,
  },
];

export type CustomAgents = Record<
  string,
  {
    description?: string | undefined;
    thinking?: ThinkingLevel | undefined;
    tools?: "all" | "read-only" | string[] | undefined;
    steps?: number | undefined;
    appendix?: string | undefined;
  }
>;

/** Builtin variants, then the user's own (which may replace a builtin by name). */
export function agentVariants(custom: CustomAgents = {}): AgentVariant[] {
  const own = Object.entries(custom).map(([name, settings]) => ({
    name,
    description: settings.description ?? "your own",
    thinking: settings.thinking ?? "medium",
    tools: settings.tools ?? "all",
    maxSteps: settings.steps ?? 50,
    taskList: true,
    appendix: settings.appendix ?? "",
  }));
  return [...VARIANTS.filter((variant) => !own.some((one) => one.name === variant.name)), ...own];
}

/** Throws UserError with the valid list for an unknown name. */
export function findAgent(name: string, custom?: CustomAgents): AgentVariant {
  const variants = agentVariants(custom);
  const found = variants.find((variant) => variant.name === name);
  if (found) return found;
  throw new UserError(`Unknown agent "${name}". Available: ${variants.map((variant) => variant.name).join(", ")}`);
}

/** Whether a variant offers a tool. */
export function offers(variant: AgentVariant, tool: { name: string; mutates: boolean }): boolean {
  if (variant.tools === "all") return true;
  if (variant.tools === "read-only") return !tool.mutates;
  return variant.tools.includes(tool.name);
}
