/** Undo of the conversation: takes a prompt and what came of it out of the transcript, and brings it back. Files are undo.ts's. */
import { callsIn, isPrompt, promptText, withoutStdin } from "./message.ts";
import type { SessionFile } from "./session-file.ts";
import { parseTodos } from "./session-record.ts";
import { oneLine } from "./text.ts";
import type { Message, Todo, UserMessage } from "./types.ts";
import type { WireHistory } from "./wire-history.ts";

/** What was taken away. `todos` is the task list as it was then. */
type Undone = { todos: Todo[] } & (
  { kind: "prompt"; messages: Message[] } | { kind: "compaction"; summary: UserMessage }
);

/** A prompt as undo.ts knows it: index of its message in the transcript, and its first line. */
export interface PromptPlace {
  index: number;
  title: string;
}

export class ChatUndo {
  readonly #file: SessionFile;
  readonly #history: WireHistory;
  #undone: Undone[] = [];

  constructor(file: SessionFile, history: WireHistory) {
    this.#file = file;
    this.#history = history;
  }

  /** The newest prompt that the model knows of; null before the first, and right after `/compact`. */
  lastPrompt(): PromptPlace | null {
    const { messages } = this.#file.record;
    const index = messages.findLastIndex(isPrompt);
    const message = messages[index];
    return message && isPrompt(message) ? { index, title: promptTitle(promptText(message)) } : null;
  }

  /** Something new was said: what was undone can't be brought back any more. */
  forget(): void {
    this.#undone = [];
  }

  /** Takes back the newest prompt, or the last `/compact` where nothing was said since; null when there is neither. */
  undo(): Undone["kind"] | null {
    const undone = this.#takePrompt() ?? this.#takeCompaction();
    if (!undone) return null;
    this.#undone.push(undone);
    this.#history.reopen();
    return undone.kind;
  }

  /** Reverses the last `undo`; null when there is none. */
  redo(): Undone["kind"] | null {
    const undone = this.#undone.pop();
    if (!undone) return null;
    if (undone.kind === "compaction") this.#file.replaceTranscript(undone.summary);
    else for (const message of undone.messages) this.#file.appendMessage(message);
    if (undone.todos !== this.#file.record.notebook.todos) this.#file.setTodos(undone.todos);
    this.#history.reopen();
    return undone.kind;
  }

  #takePrompt(): Undone | null {
    const place = this.lastPrompt();
    if (!place) return null;
    const { todos } = this.#file.record.notebook;
    const messages = this.#file.truncateTo(place.index);
    // The list that the prompt left behind is part of what the model is to forget.
    if (todosIn(messages)) this.#file.setTodos(todosIn(this.#file.record.messages) ?? []);
    return { kind: "prompt", messages, todos };
  }

  #takeCompaction(): Undone | null {
    const { messages, notebook } = this.#file.record;
    const summary = messages[0];
    if (summary?.role !== "user" || !this.#file.restoreTranscript()) return null;
    return { kind: "compaction", summary, todos: notebook.todos };
  }
}

/** A prompt's one line for lists. */
export function promptTitle(text: string): string {
  return oneLine(withoutStdin(text), 80);
}

/** The list that the newest successful `todo_write` among messages left; null without one. */
function todosIn(messages: readonly Message[]): Todo[] | null {
  const index = messages.findLastIndex(
    (message) =>
      message.role === "tool" && message.results.some((result) => result.name === "todo_write" && !result.isError),
  );
  const answer = messages[index];
  if (answer?.role !== "tool") return null;
  const done = new Set(answer.results.filter((result) => !result.isError).map((result) => result.callId));
  const call = callsIn(messages[index - 1]).findLast((one) => one.name === "todo_write" && done.has(one.id));
  return call ? parseTodos(call.input["todos"]) : null;
}
