/** The task list as text, for the model and the screen alike, and what is wrong with it. Pure; keeps no list. */
import { oneLine } from "./text.ts";
import type { Todo } from "./types.ts";

const BAR_COLUMNS = 24;
const MARKS: Record<Todo["status"], string> = { pending: "[ ]", in_progress: "[~]", done: "[x]", blocked: "[!]" };
// A task begun is counted as mostly done: the bar moves when work starts, and is full only when all is done.
const BEGUN = 2 / 3;

/** The rendering: a bar with counts, then one line a task. One line that says so for an empty list. */
export function renderTodos(todos: readonly Todo[]): string {
  if (todos.length === 0) return "tasks (none)";
  return [barLine(todos), ...todos.map(todoLine)].join("\n");
}

/** What the model should put right, one sentence each. */
export function todoWarnings(todos: readonly Todo[]): string[] {
  const warnings: string[] = [];
  const running = count(todos, "in_progress");
  if (running > 1) warnings.push(`${running} tasks are in_progress; keep exactly one.`);
  if (running === 0 && count(todos, "pending") > 0)
    warnings.push("Work remains but no task is in_progress; mark the one you do next.");
  for (const todo of todos) {
    if (todo.status === "blocked" && !todo.note?.trim())
      warnings.push(`"${todo.content}" is blocked without a note; say what blocks it.`);
  }
  return warnings;
}

function barLine(todos: readonly Todo[]): string {
  const done = count(todos, "done");
  const blocked = count(todos, "blocked");
  const share = (done + count(todos, "in_progress") * BEGUN) / todos.length;
  const filled = Math.min(Math.round(share * BAR_COLUMNS), done === todos.length ? BAR_COLUMNS : BAR_COLUMNS - 1);
  const bar = "#".repeat(filled) + ".".repeat(BAR_COLUMNS - filled);
  return `tasks ${bar} ${done}/${todos.length}${blocked > 0 ? ` ${blocked} blocked` : ""}`;
}

function todoLine(todo: Todo): string {
  const note = oneLine(todo.note ?? "");
  return `${MARKS[todo.status]} ${oneLine(todo.content)}${note ? ` (${note})` : ""}`;
}

function count(todos: readonly Todo[], status: Todo["status"]): number {
  return todos.filter((todo) => todo.status === status).length;
}
