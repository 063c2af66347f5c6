/** The `task` tool: hands jobs to subagents and puts their reports together. How a subagent runs is the agent layer's. */
import * as v from "valibot";
import { ToolError } from "./errors.ts";
import { RESULT_CHARS } from "./spill.ts";
import { cutMiddle } from "./text.ts";
import { AGENT_KINDS, defineTool, type AgentJob, type AgentReport, type Tool } from "./tool.ts";

/** More at once would take turns at the provider's rate limit and leave each report too little room. Raise it here. */
const MAX_JOBS = 6;
/** Of each report's share: its heading and the words around a cut. */
const HEADING_CHARS = 400;

/** With every kind. */
export const taskTool: Tool = task(AGENT_KINDS);

/** Where nothing may be changed, or nobody could approve a change. */
export const readingTaskTool: Tool = task(AGENT_KINDS.filter((kind) => kind !== "worker"));

function task(kinds: readonly AgentJob["kind"][]): Tool {
  const words = v.pipe(v.string(), v.trim(), v.nonEmpty("must not be empty"));
  const kind = v.optional(v.picklist(kinds));
  const job = v.object({ description: words, prompt: words, kind });
  const input = v.pipe(
    v.object({
      tasks: v.optional(v.pipe(v.array(job), v.minLength(1), v.maxLength(MAX_JOBS))),
      description: v.optional(words),
      prompt: v.optional(words),
      kind,
    }),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed || jobsOf(dataset.value).length > 0) return;
      const { tasks: value } = dataset.value;
      addIssue({
        message: "is required",
        received: "undefined",
        path: [{ type: "object", origin: "value", input: { ...dataset.value }, key: "tasks", value }],
      });
    }),
  );
  return defineTool({
    name: "task",
    description: describe(kinds),
    set: "session",
    input,
    mutates: false,
    permission: "allow",
    mainOnly: true,
    bounded: true,
    subjects: (given) => jobsOf(given).map(({ description }) => ({ kind: "text", text: description })),
    concurrencySafe: (given) => jobsOf(given).every((one) => one.kind !== "worker"),
    async run(given, context) {
      if (!context.agents) throw new ToolError("There are no subagents here. Do the work yourself.");
      const jobs = jobsOf(given);
      const reports = await context.agents(jobs);
      return { text: together(jobs, reports), isError: reports.every((report) => report.isError) };
    },
  });
}

function describe(kinds: readonly AgentJob["kind"][]): string {
  const worker = kinds.includes("worker") ? ", `worker` changes files and runs commands" : "";
  return `Give self-contained jobs to subagents that run side by side, each with an empty context of its own; only their reports come back. For broad searches and independent pieces of work, one job or several in \`tasks\`. \`explore\` (default) and \`review\` only read${worker}. A prompt says all there is to know and what to report.`;
}

interface Given {
  tasks?: readonly GivenJob[] | undefined;
  description?: string | undefined;
  prompt?: string | undefined;
  kind?: AgentJob["kind"] | undefined;
}

interface GivenJob {
  description: string;
  prompt: string;
  kind?: AgentJob["kind"] | undefined;
}

/** Both forms of the input as one list; empty where neither is whole. */
function jobsOf({ tasks = [], description, prompt, kind }: Given): AgentJob[] {
  const single = description !== undefined && prompt !== undefined ? [{ description, prompt, kind }] : [];
  return (tasks.length > 0 ? tasks : single).map((job) => ({ ...job, kind: job.kind ?? "explore" }));
}

function together(jobs: readonly AgentJob[], reports: readonly AgentReport[]): string {
  const room = Math.floor(RESULT_CHARS / reports.length) - HEADING_CHARS;
  const parts = reports.map(({ label, text, isError }, index) => {
    const cut = cutMiddle(text.trim(), room, (count) => `\n[… ${count} characters of this report left out …]\n`);
    return `## ${label} (${jobs[index]?.kind ?? "explore"})${isError ? ": failed" : ""}\n${cut.text}`;
  });
  return parts.join("\n\n");
}
