/** The `task` tool by itself: its two forms, what it refuses, and how reports are put together. Running subagents is tests/subagents.test.ts. */
import { describe, expect, test } from "bun:test";
import { agentLabel } from "../src/subagent-report.ts";
import { validateInput } from "../src/tool-input.ts";
import { readingTaskTool, taskTool } from "../src/tool-task.ts";
import type { AgentJob, AgentReport } from "../src/tool.ts";
import type { JsonObject } from "../src/types.ts";
import { bench } from "./support/exec-context.ts";

const job = { description: "find it", prompt: "where is it?" };

async function given(input: JsonObject, answer: (job: AgentJob, at: number) => Partial<AgentReport> = () => ({})) {
  const checked = validateInput(taskTool.input, input);
  if (!checked.ok) return { refused: checked.message, jobs: [], text: "", isError: true };
  const jobs: AgentJob[] = [];
  const { run } = bench(
    {},
    {
      agents: async (asked) => {
        jobs.push(...asked);
        return asked.map((one, at) => ({ label: `l${at}`, text: "a report", isError: false, ...answer(one, at) }));
      },
    },
  );
  return { refused: null, jobs, ...(await run(taskTool, checked.input)) };
}

describe("the input", () => {
  test.each<[string, JsonObject, AgentJob[]]>([
    ["one job", job, [{ ...job, kind: "explore" }]],
    ["one job with its kind", { ...job, kind: "review" }, [{ ...job, kind: "review" }]],
    [
      "several",
      { tasks: [job, { ...job, kind: "worker" }] },
      [
        { ...job, kind: "explore" },
        { ...job, kind: "worker" },
      ],
    ],
    ["a list that came as text", { tasks: JSON.stringify([job]) }, [{ ...job, kind: "explore" }]],
    ["null where nothing is meant", { ...job, kind: null, tasks: null }, [{ ...job, kind: "explore" }]],
  ])("%s", async (_, input, jobs) => expect((await given(input)).jobs).toEqual(jobs));

  test.each<[string, JsonObject, string]>([
    ["nothing", {}, '"tasks" is required (array)'],
    ["half a job", { description: "x" }, '"tasks" is required (array)'],
    ["a job without its prompt", { tasks: [{ description: "x" }] }, '"tasks.0.prompt" is required (string)'],
    ["seven jobs", { tasks: Array.from({ length: 7 }, () => job) }, '"tasks"'],
    ["no job at all", { tasks: [] }, '"tasks"'],
    ["a kind there isn't", { ...job, kind: "boss" }, '"kind"'],
    ["a blank prompt", { description: "x", prompt: "  " }, '"prompt": must not be empty'],
  ])("%s is refused with a word on what is wrong", async (_, input, message) =>
    expect((await given(input)).refused).toStartWith(`[validation error] ${message}`),
  );

  test("without workers the kind isn't one", () => {
    expect(validateInput(readingTaskTool.input, { ...job, kind: "worker" }).ok).toBe(false);
    expect(readingTaskTool.description).not.toContain("worker");
  });
});

test("readers may overlap other calls, workers may not; rules see the descriptions", () => {
  const input = (kind: AgentJob["kind"]) => ({
    tasks: [
      { ...job, kind: "explore" as const },
      { ...job, kind },
    ],
  });
  expect([taskTool.concurrencySafe(input("review")), taskTool.concurrencySafe(input("worker"))]).toEqual([true, false]);
  expect(taskTool.subjects(input("worker"))).toEqual([
    { kind: "text", text: "find it" },
    { kind: "text", text: "find it" },
  ]);
});

describe("the reports", () => {
  test("each has its heading; the call fails only when all did", async () => {
    const half = await given({ tasks: [job, job] }, (_, at) => ({ isError: at === 0 }));
    expect([half.text, half.isError]).toEqual([
      "## l0 (explore): failed\na report\n\n## l1 (explore)\na report",
      false,
    ]);
    expect((await given({ tasks: [job, job] }, () => ({ isError: true }))).isError).toBe(true);
  });

  test("long ones keep both their ends, each in its share of the room", async () => {
    const tasks = Array.from({ length: 6 }, () => job);
    const { text } = await given({ tasks }, (_, at) => ({ text: `begin ${at} ${"x".repeat(20_000)} end ${at}` }));
    expect(text.length).toBeLessThanOrEqual(30_000);
    for (const at of tasks.keys())
      expect([text.includes(`begin ${at} `), text.includes(` end ${at}`)]).toEqual([true, true]);
  });
});

test.each<[string, string]>([
  ["Find the callers of parse()", "find-the-callers-of-parse"],
  ["Überprüfe die Prüfung", "überprüfe-die-prüfung"],
  ["\u001b[31m!!", "31m"],
  ["???", "explore"],
  ["a".repeat(80), "a".repeat(32)],
])("the label of %j is %s, and the next of that name gets a number", (description, label) => {
  const used = new Set<string>();
  const labels = [1, 2, 3].map(() => agentLabel({ description, kind: "explore" }, used));
  expect(labels).toEqual([label, `${label}#2`, `${label}#3`]);
});
