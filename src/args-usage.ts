/** The usage: the whole of it, and of one subcommand. Made of the tables of args.ts and args-flags.ts; at most 80 columns. Pure. */
import { FLAGS, type Flag } from "./args-flags.ts";
import { SUBCOMMANDS, type Subcommand } from "./args.ts";

const COLUMNS = 80;
const SECOND_COLUMN = 29;

/** The text of `--help`. */
export function usage(): string {
  return [
    "shiro: a coding agent for the terminal, for SSH, servers and pipes",
    "",
    ...row("shiro", "interactive"),
    ...row('shiro "prompt"', "interactive, starting with this prompt"),
    ...row('shiro -p "prompt"', "headless: the answer on stdout, everything else on stderr"),
    ...row('git diff | shiro -p "…"', "stdin goes along as a labelled block"),
    "",
    ...SUBCOMMANDS.flatMap(commandRow),
    "",
    "Options",
    ...FLAGS.flatMap(flagRow),
    "",
    "Exit codes: 0 done, 1 internal, 2 usage or config, 3 credentials, 4 provider,",
    "5 denied (--strict), 6 ceiling or step cap, 7 --timeout, 8 schema,",
    "129 SIGHUP, 130 SIGINT, 143 SIGTERM",
    "",
  ].join("\n");
}

/** The text of `shiro NAME --help`; null for what is no subcommand. */
export function commandUsage(name: string): string | null {
  const command = SUBCOMMANDS.find((one) => one.name === name);
  if (!command) return null;
  const flags = FLAGS.filter((flag) => flag.of?.includes(name));
  return [
    ...(command.synopses ?? [command.usage]).map((synopsis) => `shiro ${synopsis}`),
    ...wrapped(command.help, 2),
    ...(flags.length > 0 ? ["", "Options", ...flags.flatMap(flagRow)] : []),
    "",
    `More: shiro help${command.topic === undefined ? "" : ` ${command.topic}`}`,
    "",
  ].join("\n");
}

function commandRow(command: Subcommand): string[] {
  return row(`shiro ${command.usage}`, command.help);
}

function flagRow(flag: Flag): string[] {
  const letter = flag.short ? `-${flag.short}, ` : "    ";
  return row(`${letter}--${flag.name}${flag.value ? ` <${flag.value}>` : ""}`, flag.help);
}

/** Two columns; a name that is too long for its own has a line of its own. */
function row(name: string, text: string): string[] {
  const first = `  ${name}`;
  const lines = wrapped(text, SECOND_COLUMN);
  if (first.length >= SECOND_COLUMN) return [first, ...lines];
  const [line = "", ...more] = lines;
  return [first + line.slice(first.length), ...more];
}

/** Our own words, one column each: no need to load what measures a stranger's. */
function wrapped(text: string, indent: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && indent + line.length + 1 + word.length > COLUMNS) {
      lines.push(" ".repeat(indent) + line);
      line = "";
    }
    line += line === "" ? word : ` ${word}`;
  }
  return [...lines, " ".repeat(indent) + line];
}
