/** The task list as text and its warnings. */
import { expect, test } from "bun:test";
import { renderTodos, todoWarnings } from "../src/todo.ts";
import type { Todo } from "../src/types.ts";

const todo = (status: Todo["status"], content: string = status, note?: string): Todo => {
  return note === undefined ? { content, status } : { content, status, note };
};

test("a list with all four states", () => {
  const list = [
    todo("done", "read the pagination code"),
    todo("in_progress", "fix the boundary"),
    todo("pending", "add a test"),
    todo("blocked", "update the docs", "no write access to the wiki"),
  ];
  expect(renderTodos(list)).toBe(
    [
      "tasks ##########.............. 1/4 1 blocked",
      "[x] read the pagination code",
      "[~] fix the boundary",
      "[ ] add a test",
      "[!] update the docs (no write access to the wiki)",
    ].join("\n"),
  );
});

test.each([
  [0, 2, "tasks ........................ 0/2"],
  [1, 2, "tasks ############............ 1/2"],
  [2, 2, "tasks ######################## 2/2"],
  [99, 100, "tasks #######################. 99/100"],
])("the bar of %p done of %p", (done, all, line) => {
  const list = Array.from({ length: all }, (_, index) => todo(index < done ? "done" : "pending"));
  expect(renderTodos(list).split("\n")[0]).toBe(line);
});

test("an empty list says so, and a task stays on one line", () => {
  expect(renderTodos([])).toBe("tasks (none)");
  expect(renderTodos([todo("pending", "two\nlines")])).toEndWith("[ ] two lines");
});

test.each([
  [[todo("in_progress"), todo("pending")], 0],
  [[todo("done"), todo("done")], 0],
  [[todo("blocked", "x", "waiting for a key")], 0],
  [[todo("in_progress"), todo("in_progress")], 1],
  [[todo("pending"), todo("done")], 1],
  [[todo("blocked", "x")], 1],
  [[todo("blocked", "x", " "), todo("pending")], 2],
])("%j gives %p warnings", (list, warnings) => {
  expect(todoWarnings(list)).toHaveLength(warnings);
});
