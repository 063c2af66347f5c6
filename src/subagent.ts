/** What a subagent is: its role, its tools, its steps, by kind. Runs none. */
import type { AgentVariant } from "./agents.ts";
import { namesTool } from "./skills-tools.ts";
import { readingTaskTool, taskTool } from "./tool-task.ts";
import type { AgentJob, Tool, ToolLimit } from "./tool.ts";
import type { ThinkingLevel } from "./types.ts";

export type AgentKind = AgentJob["kind"];

/** The last of them is for the report. */
const MAX_STEPS = 20;

const COMMON = [
  "You are a subagent: another agent gave you the task, and of all you do it sees your last message alone. Nobody answers questions: decide, and state the assumption.",
  "Your last message is the report. What was asked for comes first, with `path:line` as evidence; then what you could not do or did not look at. No greeting, no plan, at most 3,000 characters.",
].join("\n");

const ROLES: Record<AgentKind, string> = {
  explore: "Search and read until you can answer; change nothing.",
  review:
    "Judge what the task points at and change nothing. Order what you find by severity, say why each matters, and say plainly what is fine.",
  worker:
    "Make the change the task asks for and no other, and check it where you can. Report each file you changed, what you ran and what you saw.",
};

/** The variant a subagent works by. `thinking`: the level of the session that started it. */
export function agentVariant(kind: AgentKind, thinking: ThinkingLevel): AgentVariant {
  return {
    name: kind,
    description: "a subagent",
    thinking,
    tools: "all",
    maxSteps: MAX_STEPS,
    taskList: false,
    appendix: `${COMMON}\n${ROLES[kind]}`,
  };
}

/**
 * Of the tools that the session offers now, those a subagent holds: none that belong to the conversation with the user,
 * none that rules refuse altogether, and only what a loaded skill leaves.
 */
export function agentTools(
  kind: AgentKind,
  offered: readonly Tool[],
  from: { limit: ToolLimit | null; neverAllowed(name: string): boolean },
): Tool[] {
  return offered.filter(
    (tool) =>
      tool.mainOnly !== true &&
      (kind === "worker" || !tool.mutates) &&
      (from.limit === null || tool.unlimited === true || namesTool(from.limit, tool.name)) &&
      !from.neverAllowed(tool.name),
  );
}

/** The tools of a session with `task` as it fits: without workers where nothing could be changed or approved. */
export function withFittingTask(offered: readonly Tool[], agents: { workers: boolean } | null): Tool[] {
  const changes = offered.some((tool) => tool.mutates && tool.mainOnly !== true);
  const workers = agents?.workers === true && changes;
  return offered.flatMap((tool) => {
    if (tool !== taskTool) return [tool];
    if (agents === null) return [];
    return [workers ? taskTool : readingTaskTool];
  });
}
