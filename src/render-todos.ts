/** The task list in words, for a screen reader: `[~]` and a bar of `#` would be read out sign by sign. Pure; the list for other screens and for the model is todo.ts. */
import { oneLine } from "./text.ts";
import type { Todo } from "./types.ts";

const STATES: Record<Todo["status"], string> = {
  pending: "to do",
  in_progress: "in progress",
  done: "done",
  blocked: "blocked",
};

/** `tasks: 1 of 3 done`, then one line a task. */
export function todosInWords(todos: readonly Todo[]): string {
  if (todos.length === 0) return "tasks: none";
  const done = todos.filter((todo) => todo.status === "done").length;
  return [`tasks: ${done} of ${todos.length} done`, ...todos.map(todoInWords)].join("\n");
}

function todoInWords(todo: Todo): string {
  const note = oneLine(todo.note ?? "");
  return `  ${STATES[todo.status]}: ${oneLine(todo.content)}${note ? ` (${note})` : ""}`;
}
