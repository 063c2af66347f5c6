/** Reading the options of somebody else's program: long ones with abbreviations, clustered short ones. Pure; knows no program. */

export interface FlagStyle {
  /** Short options that take a value, whose rest of the word or next word is then no option. */
  valued?: string;
  /** Options after the first operand don't count (POSIX order). */
  stopAtOperand?: boolean;
}

/** Operands and options of an argument list (name not included), up to `--`. */
export interface Argv {
  options: string[];
  operands: string[];
}

/** Whether one of `flags` (`--force`, `-f`) is among the options. A long flag may be abbreviated and carry `=value`. */
export function hasFlag(args: readonly string[], flags: readonly string[], style: FlagStyle = {}): boolean {
  return optionsOf(args, style).some((option) => flags.some((flag) => isFlag(option, flag, style)));
}

/** The value of an option: attached, after `=`, or the next word. Null when absent. */
export function flagValue(args: readonly string[], flags: readonly string[], style: FlagStyle = {}): string | null {
  const { valued = "" } = style;
  for (const [index, arg] of args.entries()) {
    if (arg === "--") return null;
    const flag = flags.find((candidate) => isFlag(arg, candidate, style));
    if (!flag) continue;
    if (flag.startsWith("--")) return arg.includes("=") ? arg.slice(arg.indexOf("=") + 1) : (args[index + 1] ?? null);
    const rest = arg.slice(positionIn(arg, flag.slice(1), valued) + 1);
    return rest !== "" ? rest : (args[index + 1] ?? null);
  }
  return null;
}

/** Splits an argument list; values of `valued` short options are taken out of the operands. */
export function splitArgv(args: readonly string[], style: FlagStyle = {}): Argv {
  const { valued = "", stopAtOperand = false } = style;
  const argv: Argv = { options: [], operands: [] };
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? "";
    if (arg === "--") return { ...argv, operands: [...argv.operands, ...args.slice(index + 1)] };
    if (!arg.startsWith("-") || arg === "-") {
      if (stopAtOperand) return { ...argv, operands: args.slice(index) };
      argv.operands.push(arg);
      continue;
    }
    argv.options.push(arg);
    if (takesNext(arg, valued)) index++;
  }
  return argv;
}

function optionsOf(args: readonly string[], style: FlagStyle): string[] {
  return splitArgv(args, style).options;
}

function isFlag(arg: string, flag: string, style: FlagStyle): boolean {
  if (flag.startsWith("--")) return isLong(arg, flag);
  if (flag.length > 2) return arg === flag || arg.startsWith(`${flag}=`);
  return positionIn(arg, flag.slice(1), style.valued ?? "") > 0;
}

function isLong(arg: string, flag: string): boolean {
  const name = arg.split("=", 1)[0] ?? "";
  // getopt_long takes any unambiguous beginning: `rm --r` is recursive.
  return name.length > 2 && name.startsWith("--") && flag.startsWith(name);
}

/** Where `letter` stands in a cluster such as `-rf`; 0 when it isn't an option there. */
function positionIn(arg: string, letter: string, valued: string): number {
  if (!arg.startsWith("-") || arg.startsWith("--")) return 0;
  for (let index = 1; index < arg.length; index++) {
    if (arg[index] === letter) return index;
    if (valued.includes(arg[index] ?? "")) return 0;
  }
  return 0;
}

function takesNext(arg: string, valued: string): boolean {
  if (arg.startsWith("--")) return false;
  for (let index = 1; index < arg.length; index++)
    if (valued.includes(arg[index] ?? "")) return index === arg.length - 1;
  return false;
}

// Options of git itself that take the next word as their value.
const GIT_VALUED = [
  "-C",
  "-c",
  "--git-dir",
  "--work-tree",
  "--namespace",
  "--exec-path",
  "--config-env",
  "--super-prefix",
  "--attr-source",
  "--list-cmds",
];

export interface GitArgv {
  /** Options in front of the subcommand, their values included. */
  globals: string[];
  sub: string;
  rest: string[];
}

/** `git -C dir push x` → globals `-C dir`, sub `push`, rest `x`. `args` without the program's name. */
export function splitGit(args: readonly string[]): GitArgv {
  let index = 0;
  while (index < args.length && args[index]?.startsWith("-") === true) {
    const valued = GIT_VALUED.includes(args[index] ?? "") && args[index] !== "--exec-path";
    index += valued ? 2 : 1;
  }
  return { globals: args.slice(0, index), sub: args[index] ?? "", rest: args.slice(index + 1) };
}
