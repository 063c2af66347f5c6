/** Slash commands that need nothing but the screen: help, queue, last, copy, exit. */
import type { Command, CommandUi } from "./command.ts";
import { helpView } from "./command-help.ts";
import type { CommandSet } from "./commands.ts";
import { EXIT, UserError } from "./errors.ts";
import { nearestName } from "./nearest.ts";
import { shownWhole } from "./render-tools.ts";

export interface HelpTopics {
  names(): readonly string[];
  /** Null for an unknown topic. */
  text(name: string): string | null;
}

/** `commands` is asked when `/help` runs, so it may hold these very commands. */
export function viewCommands(commands: () => CommandSet, topics: HelpTopics): Command[] {
  return [helpCommand(commands, topics), queueCommand(), lastCommand(), copyCommand(), exitCommand()];
}

function helpCommand(commands: () => CommandSet, topics: HelpTopics): Command {
  return {
    name: "help",
    immediate: true,
    args: "[topic]",
    summary: "commands and keys, or help on one topic or command",
    complete: () => [...topics.names(), ...commands().names()],
    run(args, ui) {
      const topic = args === "" ? null : topics.text(args);
      const columns = ui.traits.plain ? Number.POSITIVE_INFINITY : ui.columns() - 1;
      if (topic !== null) return ui.printStyled(helpView(topic, { ...ui.traits, columns }));
      if (args !== "") return ui.print(helpOn(args.replace(/^\//, ""), commands(), topics));
      const list = topics.names().join(" ");
      ui.print(`${commands().overview()}\n${KEYS}${list === "" ? "" : `\ntopics: ${list}\n`}`);
    },
  };
}

/** Throws UserError naming the nearest of both kinds. */
function helpOn(name: string, commands: CommandSet, topics: HelpTopics): string {
  if (commands.names().some((one) => one.startsWith(name.toLowerCase()))) return commands.helpFor(name);
  const near = nearestName(name, [...topics.names(), ...commands.names()]);
  throw new UserError(`No topic or command "${name}". ${near ? `Did you mean /help ${near}?` : "/help lists them."}`);
}

const KEYS = `keys:
  enter sends; alt-enter, ctrl-j or a final \\ begin a new line; tab completes / and @
  esc ends the turn; ctrl-c ends the running command, else the turn; ctrl-d on an empty line leaves
  ctrl-r searches the history, in a turn shows the reasoning; ctrl-x ctrl-e or ctrl-g opens the editor
  !command runs in the shell and tells the model, !!command doesn't; #text remembers a note
  in plain mode: """ on a line of its own begins and ends a prompt of several lines
`;

function queueCommand(): Command {
  return {
    name: "queue",
    immediate: true,
    args: "",
    summary: "prompts that wait for the turn to end",
    run(_, ui) {
      const queued = ui.view.queued();
      ui.print(
        queued.length === 0 ? "nothing is queued" : queued.map((text, index) => `${index + 1}. ${text}`).join("\n"),
      );
    },
  };
}

function lastCommand(): Command {
  return {
    name: "last",
    immediate: true,
    args: "",
    summary: "the whole output of the last tool",
    run(_, ui) {
      const output = ui.view.lastOutput();
      if (output === null) return ui.print("no output yet");
      const text = shownWhole(output, ui.traits);
      ui.printStyled(text.endsWith("\n") ? text : `${text}\n`);
    },
  };
}

function copyCommand(): Command {
  return {
    name: "copy",
    immediate: true,
    args: "[output]",
    summary: "the last answer, or the last tool's output, to the terminal's clipboard",
    complete: () => ["output"],
    run(args, ui) {
      if (args !== "" && args !== "output") throw new UserError('/copy takes "output", or nothing for the last answer');
      copy(args === "output" ? ui.view.lastOutput() : ui.view.lastAnswer(), ui);
    },
  };
}

function copy(text: string | null, ui: CommandUi): void {
  if (text === null) throw new UserError("There is nothing to copy yet.");
  if (!ui.copy(text)) throw new UserError("This terminal takes no escape sequences; /last or /export show the text.");
  ui.print(`copied ${text.length} characters`);
}

function exitCommand(): Command {
  return { name: "exit", args: "", summary: "leave; ctrl-d does too", run: () => ({ exit: EXIT.done }) };
}
