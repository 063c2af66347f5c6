/** The note tools as the model sees them. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { ToolError } from "../src/errors.ts";
import { openMemory } from "../src/memory.ts";
import { forget, recall, remember, todoWrite } from "../src/tool-notes.ts";
import type { Todo } from "../src/types.ts";
import { bench, type Bench } from "./support/exec-context.ts";

const root = mkdtempSync(join(tmpdir(), "shiro-notes-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;

function withMemory(): Bench {
  const memory = openMemory({ home: join(root, `${count++}`), project: "/p", now: () => new Date(0) });
  return bench({}, { memory });
}

/** The error a call ends with. */
async function failure(call: Promise<unknown>): Promise<ToolError> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ToolError)) throw new Error(`no ToolError: ${String(error)}`);
  return error;
}

describe("todo_write", () => {
  test("replaces the list and answers with its rendering, so that the next step sees it", async () => {
    let kept: readonly Todo[] = [{ content: "old", status: "pending" }];
    const { run } = bench({}, { todos: { get: () => kept, set: (todos) => void (kept = todos) } });
    const todos = [
      { content: "look", status: "done" },
      { content: "fix", status: "in_progress" },
    ];
    const output = await run(todoWrite, { todos });
    expect(kept).toEqual([
      { content: "look", status: "done" },
      { content: "fix", status: "in_progress" },
    ]);
    expect(output.text).toBe("tasks ####################.... 1/2\n[x] look\n[~] fix");
  });

  test("tells what is wrong with a list and keeps it all the same", async () => {
    let kept: readonly Todo[] = [];
    const { run } = bench({}, { todos: { get: () => kept, set: (todos) => void (kept = todos) } });
    const output = await run(todoWrite, {
      todos: [
        { content: "x", status: "blocked" },
        { content: "y", status: "pending" },
      ],
    });
    expect(output.text).toContain("warning: Work remains");
    expect(output.text).toContain('warning: "x" is blocked without a note');
    expect(kept).toHaveLength(2);
  });

  test.each([[{ todos: [{ content: " ", status: "done" }] }], [{ todos: [{ content: "x", status: "maybe" }] }], [{}]])(
    "%j is no valid input",
    (input) => {
      expect(v.safeParse(todoWrite.input, input).success).toBe(false);
    },
  );
});

describe("memory tools", () => {
  test("a note is kept, found again and removed", async () => {
    const { run } = withMemory();
    expect((await run(remember, { kind: "fact", text: "Logs go to stderr" })).text).toBe(
      "Noted: - (fact) Logs go to stderr",
    );
    expect((await run(recall, { query: "stderr LOGS" })).text).toBe("- (fact) Logs go to stderr");
    expect((await run(forget, { text: "stderr" })).text).toContain("Removed:\n- (fact) Logs go to stderr");
    expect((await run(recall, { query: "stderr" })).text).toContain("No note contains");
  });

  test("a contradiction shows the model both notes, and recalling the older one says so", async () => {
    const { run } = withMemory();
    await run(remember, { kind: "command", text: "tests run with npm test" });
    const { text } = await run(remember, { kind: "command", text: "tests run with bun test" });
    expect(text).toContain("older: - (command) tests run with npm test");
    expect(text).toContain("newer: - (command) tests run with bun test");
    expect((await run(recall, { query: "tests npm" })).text).toEndWith("[a newer note says otherwise]");
  });

  test.each([
    ["a duplicate", { kind: "fact", text: "LOGS go to stderr." }, "tool error", "Already noted"],
    ["a long note", { kind: "fact", text: "x".repeat(401) }, "validation error", "401 characters"],
  ])("%s is refused", async (_, input, category, words) => {
    const { run } = withMemory();
    await run(remember, { kind: "fact", text: "Logs go to stderr" });
    const error = await failure(run(remember, input));
    expect(error.category).toBe(category as ToolError["category"]); // The table holds two of the categories.
    expect(error.message).toContain(words);
  });

  test("forgetting several needs all, forgetting nothing is an error", async () => {
    const { run } = withMemory();
    for (const text of ["Uploads land in S3", "Backups are in S3"]) await run(remember, { kind: "fact", text });
    expect((await failure(run(forget, { text: "S3" }))).message).toContain("2 notes match, none was removed");
    expect((await failure(run(forget, { text: "nowhere" }))).message).toContain("No note contains");
    expect((await run(forget, { text: "S3", all: true })).text.split("\n")).toHaveLength(3);
  });

  test("with memory off each tool says so", async () => {
    const { run } = bench();
    for (const [tool, input] of [
      [remember, { kind: "fact", text: "x" }],
      [recall, { query: "x" }],
      [forget, { text: "x" }],
    ] as const)
      expect((await failure(run(tool, input))).message).toContain("switched off");
  });

  test("a note that could not be saved is not passed off as saved", async () => {
    const home = join(root, "blocked");
    writeFileSync(home, "");
    const { run } = bench({}, { memory: openMemory({ home, project: "/p", now: () => new Date(0) }) });
    expect((await run(remember, { kind: "fact", text: "Logs go to stderr" })).text).toContain(
      "Not saved to disk for now",
    );
  });
});

test("they change nothing outside shiro's own state, belong to no set and need no approval", () => {
  for (const tool of [todoWrite, remember, recall, forget])
    expect({ set: tool.set, mutates: tool.mutates, permission: tool.permission }).toEqual({
      set: "session",
      mutates: false,
      permission: "allow",
    });
});
