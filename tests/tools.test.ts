import { describe, expect, test } from "bun:test";
import { findAgent, offers } from "../src/agents.ts";
import { jsonSchema, validateInput } from "../src/tool-input.ts";
import { findShell } from "../src/tool-bash.ts";
import { OPTIONAL_SETS, TOOL_SETS, redeem, type Grant, type ToolContext } from "../src/tool.ts";
import { allTools, enabledSets, toolsOf } from "../src/tools.ts";

const every = allTools({ shell: findShell(process.env, process.platform), rg: () => null, env: process.env });
const names = (list: readonly { name: string }[]) => list.map((tool) => tool.name);
/** An input that fits most tools: every usual field, so that subjects can be asked for. */
const probe = {
  command: "ls",
  path: "a",
  pattern: "x",
  url: "https://example.org",
  ref: "HEAD",
  files: [{ path: "a" }],
  edits: [],
  patch: "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch",
  todos: [],
  text: "t",
  query: "q",
};

describe("every registered tool", () => {
  test.each(every.map((tool) => [tool.name, tool] as const))("%s says all that lists are derived from", (_, tool) => {
    expect(tool.description.length).toBeGreaterThan(20);
    expect([...TOOL_SETS, "session"]).toContain(tool.set);
    expect(typeof tool.mutates).toBe("boolean");
    expect(Array.isArray(tool.subjects(probe))).toBe(true);
    expect(typeof tool.concurrencySafe(probe)).toBe("boolean");
    expect(jsonSchema(tool.input)).toMatchObject({ type: "object" });
  });

  test("has a name no other has", () => expect(new Set(names(every)).size).toBe(every.length));

  test("that mutates is never allowed by default", () => {
    for (const tool of every.filter((one) => one.mutates))
      expect([tool.name, tool.permission]).not.toEqual([tool.name, "allow"]);
  });

  test("that mutates never overlaps others, read-only command lines aside", () => {
    for (const tool of every.filter((one) => one.mutates && one.name !== "bash"))
      expect([tool.name, tool.concurrencySafe(probe)]).toEqual([tool.name, false]);
    const bash = every.find((tool) => tool.name === "bash");
    expect(bash?.concurrencySafe({ command: "git status && ls -l" })).toBe(true);
    expect(bash?.concurrencySafe({ command: "ls > out" })).toBe(false);
    expect(bash?.concurrencySafe({ command: "touch x" })).toBe(false);
  });

  test.each(every.map((tool) => [tool.name, tool] as const))("%s runs nothing without a grant", (_, tool) => {
    expect("run" in tool).toBe(false);
    const forged = { brand: "grant" } as Grant;
    expect(redeem(forged, {} as ToolContext)).rejects.toThrow("without a grant");
  });

  test("refuses arguments that aren't its own with a named field", () => {
    for (const tool of every.filter((one) => JSON.stringify(jsonSchema(one.input)).includes('"required"'))) {
      const result = validateInput(tool.input, { nonsense: 1 });
      expect([tool.name, result.ok]).toEqual([tool.name, false]);
      if (!result.ok) expect(result.message).toMatch(/^\[validation error\] "\w+" is required/);
    }
  });
});

describe("sets", () => {
  test("core and session tools are always there, optional ones as named", () => {
    expect(names(toolsOf(every, []))).toEqual(
      names(every.filter((tool) => tool.set === "core" || tool.set === "session")),
    );
    for (const set of OPTIONAL_SETS)
      expect(names(toolsOf(every, [set]))).toEqual(
        expect.arrayContaining(names(every.filter((tool) => tool.set === set))),
      );
  });
  test("left out they are edit-plus and git", () => expect(enabledSets(undefined)).toEqual(["edit-plus", "git"]));
  test("an unknown one is an error that names the valid ones", () => {
    expect(() => enabledSets(["gti"])).toThrow(
      'Unknown tool set "gti" in toolSets. Did you mean "git"? Available: edit-plus, git, net',
    );
  });
  test("the documented members are the real ones", () => {
    const set = (name: string) => names(every.filter((tool) => tool.set === name)).toSorted();
    expect(set("core")).toEqual(["bash", "edit_file", "glob", "grep", "read_file", "write_file"]);
    expect(set("edit-plus")).toEqual(["apply_patch", "list_dir", "multi_edit", "read_many_files"]);
    expect(set("git")).toEqual(["git_blame", "git_diff", "git_log", "git_show", "git_status"]);
    expect(set("net")).toEqual(["web_fetch"]);
  });
});

test("read-only variants withhold exactly the tools that mutate", () => {
  const plan = findAgent("plan");
  expect(names(every.filter((tool) => !offers(plan, tool))).toSorted()).toEqual(
    names(every.filter((tool) => tool.mutates)).toSorted(),
  );
  expect(names(every.filter((tool) => tool.mutates)).toSorted()).toEqual([
    "apply_patch",
    "bash",
    "edit_file",
    "multi_edit",
    "write_file",
  ]);
});
