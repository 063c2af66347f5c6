/** What a slash command is and what it may do to the screen. Knows no particular command; the list is commands.ts. */
import type { Dialog } from "./dialog.ts";
import type { TerminalTraits } from "./terminal-traits.ts";

/** What happens after a command: nothing, a prompt for the model, or the end of the program. */
export type CommandOutcome = void | { send: string } | { exit: number };

/** The screen as a command sees it. Everything printed through `print` is sanitised. */
export interface CommandUi {
  /** Untrusted text, one or more lines; a line end is added where missing. */
  print(text: string): void;
  /** Text made by render.ts or diff-view.ts, whose content is sanitised already. */
  printStyled(text: string): void;
  dialog: Dialog;
  traits: TerminalTraits;
  /** Columns of the screen now. */
  columns(): number;
  /** Puts text into the input line, as if typed. */
  setDraft(text: string): void;
  /** Sends text to the terminal's clipboard (OSC 52). False where the terminal takes no escapes. */
  copy(text: string): boolean;
  view: CommandView;
}

/** What the interactive loop itself remembers. */
export interface CommandView {
  queued(): readonly string[];
  /** Output of the last command, whole, as it was shown. Null before the first. */
  lastOutput(): string | null;
  /** The last answer of the model, as text. Null before the first. */
  lastAnswer(): string | null;
}

export interface Command {
  /** Without the slash: `think`, `skill:debug`. */
  name: string;
  /** Usage after the name: `[topic]`, `<id>`; empty when it takes nothing. */
  args: string;
  /** One line for the list. */
  summary: string;
  /** More lines for `/help name`. */
  help?: string;
  /** Heading in the list; default `builtin`. */
  group?: "builtin" | "custom" | "skill";
  /** Runs at once while a turn goes on, instead of being queued: it only looks. */
  immediate?: true;
  /** Whole values the argument may take. Called on tab; filtered by what is typed. */
  complete?(): readonly string[] | Promise<readonly string[]>;
  /** What `complete` gives has an order of its own; else it is sorted. */
  ordered?: true;
  /** `args` is the rest of the line, trimmed. Throws UserError for what a person can fix. */
  run(args: string, ui: CommandUi): Promise<CommandOutcome> | CommandOutcome;
}
