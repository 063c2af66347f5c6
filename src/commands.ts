/** The list of slash commands: finding one by name, prefix or after a typo, running it, and the help made of it. Defines no command itself. */
import type { Command, CommandOutcome, CommandUi } from "./command.ts";
import { UserError } from "./errors.ts";
import { nearestName } from "./nearest.ts";

/** Longer usages stand out of the table: for a few of them, all the others would not fit a line of 80 columns. */
const USAGE_COLUMNS = 22;

export interface ParsedCommand {
  name: string;
  args: string;
}

/** `/name rest`. Null for anything else, absolute paths (`/usr/bin/x is missing`) included. */
export function parseCommand(line: string): ParsedCommand | null {
  const found = /^\/([a-z][\w:.-]*)(?:\s+([^]*))?$/i.exec(line.trim());
  return found ? { name: found[1] ?? "", args: (found[2] ?? "").trim() } : null;
}

export class CommandSet {
  readonly #list: () => readonly Command[];

  /** `list` is called each time: custom commands and skills come and go. The first of a name wins. */
  constructor(list: () => readonly Command[]) {
    this.#list = list;
  }

  all(): readonly Command[] {
    const byName = new Map<string, Command>();
    for (const command of this.#list()) if (!byName.has(command.name)) byName.set(command.name, command);
    return [...byName.values()];
  }

  names(): readonly string[] {
    return this.all().map((command) => command.name);
  }

  /** By exact name or unambiguous prefix. Throws UserError naming the candidates or the nearest. */
  find(name: string): Command {
    const commands = this.all();
    const exact = commands.find((command) => command.name === name);
    if (exact) return exact;
    const begins = commands.filter((command) => command.name.startsWith(name.toLowerCase()));
    if (begins.length === 1 && begins[0]) return begins[0];
    if (begins.length > 1) throw new UserError(`/${name} could be ${begins.map((one) => `/${one.name}`).join(", ")}`);
    throw unknownCommand(name, commands);
  }

  /** False for an unknown or ambiguous name: that is told when its turn comes. */
  isImmediate(parsed: ParsedCommand): boolean {
    const begins = this.all().filter((command) => command.name.startsWith(parsed.name));
    const found =
      begins.find((command) => command.name === parsed.name) ?? (begins.length === 1 ? begins[0] : undefined);
    return found?.immediate ?? false;
  }

  async run(parsed: ParsedCommand, ui: CommandUi): Promise<CommandOutcome> {
    const command = this.find(parsed.name);
    // Custom commands may use what they don't announce.
    if (command.args === "" && parsed.args !== "" && command.group === undefined)
      throw new UserError(`/${command.name} takes no argument. Nothing was done.`);
    return command.run(parsed.args, ui);
  }

  /** Values for the argument of a command that is being typed, in the order to show; none for an unknown one. */
  async values(name: string): Promise<readonly string[]> {
    const command = this.all().find((one) => one.name === name);
    const values = (await command?.complete?.()) ?? [];
    return command?.ordered ? values : values.toSorted();
  }

  /** The list for `/help`, grouped, one line each. */
  overview(): string {
    const width = Math.min(USAGE_COLUMNS, Math.max(0, ...this.all().map((command) => usage(command).length)));
    const groups = (["builtin", "custom", "skill"] as const).map((group) => {
      const commands = this.all().filter((command) => (command.group ?? "builtin") === group);
      return commands.map((command) => `  ${usage(command).padEnd(width)}  ${command.summary}\n`).join("");
    });
    const titles = ["commands:", "custom commands:", "skills:"];
    return groups.map((text, index) => (text === "" ? "" : `${titles[index]}\n${text}`)).join("");
  }

  /** `/help name`. Throws UserError for an unknown name. */
  helpFor(name: string): string {
    const command = this.find(name.replace(/^\//, ""));
    return [usage(command), command.summary, ...(command.help ? ["", command.help] : [])].join("\n");
  }
}

function usage(command: Command): string {
  return `/${command.name}${command.args ? ` ${command.args}` : ""}`;
}

function unknownCommand(name: string, commands: readonly Command[]): UserError {
  const near = nearestName(
    name,
    commands.map((command) => command.name),
  );
  return new UserError(`No command /${name}. ${near ? `Did you mean /${near}?` : "/help lists them."}`);
}
