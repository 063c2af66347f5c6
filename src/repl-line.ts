/** What a submitted text is: a prompt, a slash command, a shell line or a note. Pure; running it is repl.ts. */
import { type ParsedCommand, parseCommand } from "./commands.ts";

export type Line =
  | { kind: "prompt" }
  | { kind: "command"; command: ParsedCommand }
  /** `tell`: the model gets to see the output. */
  | { kind: "shell"; command: string; tell: boolean }
  | { kind: "note"; text: string };

/** What shells, psql and other agents take alone on a line: sent to a model it would cost, and do nothing. */
const BARE_WORDS: ReadonlyMap<string, string> = new Map([
  ...["exit", "quit", "/quit", ":q"].map((word) => [word, "exit"] as const),
  ...["help", "?"].map((word) => [word, "help"] as const),
]);

/** A text of several lines is never a shell line or a note: pasted Markdown begins with `#`. */
export function readLine(text: string): Line {
  const trimmed = text.trim();
  const name = BARE_WORDS.get(trimmed);
  if (name !== undefined) return { kind: "command", command: { name, args: "" } };
  const command = parseCommand(trimmed);
  if (command) return { kind: "command", command };
  if (trimmed.includes("\n")) return { kind: "prompt" };
  if (trimmed.startsWith("!!")) return { kind: "shell", command: trimmed.slice(2).trim(), tell: false };
  if (trimmed.startsWith("!")) return { kind: "shell", command: trimmed.slice(1).trim(), tell: true };
  if (trimmed.startsWith("#")) return { kind: "note", text: trimmed.slice(1).trim() };
  return { kind: "prompt" };
}
