/** The interactive loop's screen as slash commands see it, and the user's own shell commands on it. Decides nothing about turns. */
import type { CommandUi } from "./command.ts";
import type { Dialog } from "./dialog.ts";
import { UserError, messageOf } from "./errors.ts";
import type { Renderer } from "./render.ts";
import { coloursOf } from "./render-colours.ts";
import { duration } from "./render-lines.ts";
import type { ReplHost, ShellOutcome } from "./repl-host.ts";
import { SanitizeStream, sanitize } from "./sanitize.ts";
import type { Terminal } from "./terminal.ts";
import type { TerminalTraits } from "./terminal-traits.ts";

export interface UiParts {
  terminal: Terminal;
  renderer: Renderer;
  dialog: Dialog;
  queue: readonly string[];
  setDraft(text: string): void;
}

export function commandUi({ terminal, renderer, dialog, queue, setDraft }: UiParts): CommandUi {
  const { traits } = terminal;
  return {
    print: (text) => renderer.say(sanitize(text, traits)),
    printStyled: (text) => renderer.aside(text),
    dialog,
    traits,
    columns: () => terminal.size().columns,
    setDraft,
    copy: (text) => terminal.copy(text),
    view: {
      queued: () => queue,
      lastOutput: () => renderer.lastOutput,
      lastAnswer: () => renderer.lastAnswer,
    },
  };
}

export interface OwnCommand {
  command: string;
  /** The model gets to see the output. */
  tell: boolean;
}

/** Shows all of the output, unlike a tool's. Returns what to say about its end; null when it ended well. */
export async function runOwnCommand(
  { command, tell }: OwnCommand,
  host: Pick<ReplHost, "runShell">,
  renderer: Renderer,
  ascii: boolean,
): Promise<string | null> {
  if (command === "") throw new UserError("Usage: !command, or !!command to keep it from the model.");
  const safe = new SanitizeStream({ mode: "command", ascii });
  const outcome = await host.runShell(command, tell, (text) => renderer.stream(safe.push(text)));
  renderer.stream(safe.end());
  renderer.endTurn();
  if (outcome.code === 0) return null;
  return `${howItEnded(outcome)} (${duration(outcome.ms)})`;
}

/** What ctrl-r prints of the step's reasoning: on a second press only what came since `before` was shown. */
export function reasoningText(text: string, before: string, traits: TerminalTraits): string {
  const fresh = before !== "" && text.startsWith(before) ? text.slice(before.length) : text;
  const none = text === "" ? "no reasoning yet" : "no more reasoning yet";
  const shown = fresh.trim() === "" ? none : sanitize(fresh, traits).trim();
  return shown.split("\n").map(coloursOf(traits).dim).join("\n");
}

/** An error of the user's is one line. Anything else is a bug: one line here, its stack with `debug` (SHIRO_DEBUG) at 1. */
export function errorText(error: unknown, debug: string | undefined): string {
  const stack = error instanceof Error && !(error instanceof UserError) && debug === "1" ? error.stack : undefined;
  return stack ?? `error: ${messageOf(error)}`;
}

/** Neither a code nor a signal of its own: we stopped it. */
export function howItEnded({ code, signal }: Pick<ShellOutcome, "code" | "signal">): string {
  if (signal !== null) return `ended by ${signal}`;
  return code === null ? "stopped" : `exit code ${code}`;
}
