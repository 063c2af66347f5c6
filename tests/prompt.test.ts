import { describe, expect, test } from "bun:test";
import { VARIANTS, agentVariants, findAgent, offers } from "../src/agents.ts";
import { promptParts, systemPrompt, type PromptState } from "../src/prompt.ts";

const base: PromptState = {
  cwd: "/w",
  platform: "linux x64",
  shell: "bash",
  git: true,
  interactive: true,
  tools: [
    { name: "read_file", line: "Read a file", asks: false },
    { name: "bash", line: "Run a command", asks: true },
  ],
  variant: findAgent("default"),
  appendices: [],
  skills: [],
  memory: [],
  instructions: [],
};

test("a hundred skills cost no more than some kilobytes: what doesn't fit is named only", () => {
  const skills = Array.from({ length: 200 }, (_, index) => ({ name: `skill-${index}`, description: "x".repeat(1000) }));
  const text = promptParts({ ...base, skills }).find((part) => part.name === "skills")?.text ?? "";
  expect(text.length).toBeLessThan(8000);
  expect(text).toMatch(/\n- skill-0: x{239}…\n/);
  expect(text).toMatch(/\n- and: skill-23, skill-24, /);
});

test("the parts come in a fixed order and empty ones are left out", () => {
  const full: PromptState = {
    ...base,
    variant: findAgent("plan"),
    appendices: ["From a plugin."],
    skills: [{ name: "debug", description: "when something fails" }],
    memory: ["- (fact) tests run with make"],
    instructions: [{ path: "AGENTS.md", text: "Use tabs." }],
  };
  expect(promptParts(full).map((part) => part.name)).toEqual([
    "rules",
    "environment",
    "tools",
    "variant",
    "plugins",
    "skills",
    "memory",
    "instructions",
  ]);
  expect(promptParts(base).map((part) => part.name)).toEqual(["rules", "environment", "tools"]);
  expect(systemPrompt(full)).toEndWith("Instructions from AGENTS.md:\nUse tabs.");
});

describe("it never names a tool that isn't offered", () => {
  test.each(["ask", "todo_write", "skill", "task", "remember", "web_fetch"])("%s", (name) => {
    expect(systemPrompt(base)).not.toContain(`\`${name}\``);
  });
});

test("a run without anybody says that approvals are denied", () => {
  expect(systemPrompt({ ...base, interactive: false })).toContain("Calls that need approval are denied");
  expect(systemPrompt(base)).not.toContain("Calls that need approval are denied");
});

test("nobody is asked back who can approve and not reply", () => {
  const told = (more: Partial<PromptState>) => systemPrompt({ ...base, ...more }).match(/say so.*/)?.[0];
  expect(told({})).toBe("say so and ask.");
  expect(told({ replies: false })).toBe("say so; decide, and state the assumption.");
  expect(told({ interactive: false })).toBe("say so; decide, and state the assumption.");
});

test("a variant for small jobs is not told to keep a task list", () => {
  const tools = [{ name: "todo_write", line: "Replace the list", asks: false }];
  expect(systemPrompt({ ...base, tools })).toContain("keep a task list");
  expect(systemPrompt({ ...base, tools, variant: findAgent("quick") })).not.toContain("keep a task list");
});

describe("variants", () => {
  test("an unknown one names the valid list", () => {
    expect(() => findAgent("turbo")).toThrow('Unknown agent "turbo". Available: default, quick, deep, plan, review');
  });
  test("read-only ones withhold what mutates, whatever it is called", () => {
    for (const variant of VARIANTS.filter((one) => one.tools === "read-only")) {
      expect(offers(variant, { name: "anything", mutates: true })).toBe(false);
      expect(offers(variant, { name: "anything", mutates: false })).toBe(true);
    }
  });
  test("the user's own replace or join the builtin ones", () => {
    const variants = agentVariants({ docs: { tools: ["read_file"], steps: 3 }, quick: { thinking: "low" } });
    expect(variants.map((variant) => variant.name)).toEqual(["default", "deep", "plan", "review", "docs", "quick"]);
    expect(variants.find((variant) => variant.name === "docs")).toMatchObject({ maxSteps: 3, thinking: "medium" });
    expect(offers(findAgent("docs", { docs: { tools: ["read_file"] } }), { name: "bash", mutates: true })).toBe(false);
  });
});
