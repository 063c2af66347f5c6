/** The agent's own notes: the task list of a session and the memory of a project. What is kept and how is in todo.ts and memory.ts. */
import * as v from "valibot";
import { ToolError } from "./errors.ts";
import { MAX_NOTE_CHARS, NOTE_KINDS, supersededIds, type AddOutcome, type Memory, type Note } from "./memory.ts";
import { renderTodos, todoWarnings } from "./todo.ts";
import { defineTool, type Tool, type ToolContext, type ToolOutput } from "./tool.ts";
import { TODO_STATES, type Todo } from "./types.ts";

const SHOWN_NOTES = 50;
const own = { set: "session", mutates: false, permission: "allow", mainOnly: true } as const;

export const todoWrite: Tool = defineTool({
  ...own,
  repeatable: true,
  unlimited: true,
  name: "todo_write",
  description:
    "Replace the whole task list. Use it for work of three steps or more: exactly one task in_progress, done as soon as it is; a blocked task needs a note saying what blocks it.",
  input: v.object({
    todos: v.array(
      v.object({
        content: v.pipe(v.string(), v.trim(), v.minLength(1)),
        status: v.picklist(TODO_STATES),
        note: v.optional(v.string()),
      }),
    ),
  }),
  subjects: () => [],
  concurrencySafe: () => false,
  async run({ todos }, context) {
    const list = todos.map(({ content, status, note }): Todo =>
      note ? { content, status, note } : { content, status },
    );
    context.todos.set(list);
    const warnings = todoWarnings(list).map((warning) => `warning: ${warning}`);
    return { text: [renderTodos(list), ...warnings].join("\n") };
  },
});

export const remember: Tool = defineTool({
  ...own,
  name: "remember",
  description: `Keep a note about this project for later sessions: one self-contained line of at most ${MAX_NOTE_CHARS} characters. Only what the code doesn't show at a glance. No secrets.`,
  input: v.object({ kind: v.picklist(NOTE_KINDS), text: v.string() }),
  subjects: ({ text }) => [{ kind: "text", text }],
  concurrencySafe: () => false,
  async run(note, context) {
    const memory = memoryOf(context);
    return saved(memory, addedText(await memory.add(note)));
  },
});

export const recall: Tool = defineTool({
  ...own,
  name: "recall",
  description: "Search the project's notes; every word of the query must appear in a note.",
  input: v.object({ query: v.string() }),
  subjects: ({ query }) => [{ kind: "text", text: query }],
  concurrencySafe: () => true,
  async run({ query }, context) {
    const memory = memoryOf(context);
    const found = await memory.recall(query);
    if (found.length === 0) return { text: `No note contains all of: ${query}` };
    const old = supersededIds(memory.list());
    const more = found.length > SHOWN_NOTES ? [`… ${found.length - SHOWN_NOTES} more; add a word to the query.`] : [];
    return { text: [...found.slice(0, SHOWN_NOTES).map((note) => noteLine(note, old)), ...more].join("\n") };
  },
});

export const forget: Tool = defineTool({
  ...own,
  name: "forget",
  description:
    "Remove a wrong note, found by a part of its text. Several matches are listed and kept unless all is true.",
  input: v.object({ text: v.string(), all: v.optional(v.boolean()) }),
  subjects: ({ text }) => [{ kind: "text", text }],
  concurrencySafe: () => false,
  async run({ text, all }, context) {
    const memory = memoryOf(context);
    const outcome = await memory.forget(text, all ?? false);
    switch (outcome.state) {
      case "removed":
        return saved(memory, `Removed:\n${lines(outcome.notes)}`);
      case "several":
        throw new ToolError(
          `${outcome.notes.length} notes match, none was removed. Give more of the text, or all: true.\n${lines(outcome.notes)}`,
        );
      case "none":
        throw new ToolError(`No note contains "${text}".`);
      default:
        return outcome satisfies never;
    }
  },
});

function memoryOf(context: ToolContext): Memory {
  if (!context.memory) throw new ToolError("Project memory is switched off in this session.");
  return context.memory;
}

function addedText(outcome: AddOutcome): string {
  switch (outcome.state) {
    case "added":
      return outcome.superseded ? conflictText(outcome.note, outcome.superseded) : `Noted: ${noteLine(outcome.note)}`;
    case "duplicate":
      throw new ToolError(`Already noted: ${noteLine(outcome.note)}`);
    case "full":
      throw new ToolError(`Memory is full. Forget something first; least used:\n${lines(outcome.leastUsed)}`);
    case "refused":
      throw new ToolError(outcome.reason, { category: "validation error" });
    default:
      return outcome satisfies never;
  }
}

function conflictText(newer: Note, older: Note): string {
  return `Noted, and it takes precedence over an older note on the same subject. If both hold, say so in one note and forget the others.\nolder: ${noteLine(older)}\nnewer: ${noteLine(newer)}`;
}

/** A note that could not be saved is still a note, but the model must not count on it. */
function saved(memory: Memory, text: string): ToolOutput {
  return { text: memory.problem ? `${text}\nNot saved to disk for now: ${memory.problem}` : text };
}

function noteLine(note: Note, superseded: ReadonlySet<string> = new Set()): string {
  return `- (${note.kind}) ${note.text}${superseded.has(note.id) ? " [a newer note says otherwise]" : ""}`;
}

function lines(notes: readonly Note[]): string {
  return notes.map((note) => noteLine(note)).join("\n");
}
