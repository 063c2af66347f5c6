/** What besides the rules makes a command ask: code in a subscript, variables that steer other commands, a program read from input. Pure. */
import type { Finding } from "./permission-finding.ts";
import type { ShellLine } from "./permission-line.ts";
import { stdinOf } from "./shell.ts";
import type { Effective } from "./shell-types.ts";
import { steersCommands } from "./shell-variables.ts";

type Reason = Pick<Finding, "by" | "reason">;

/** Every such reason, in the order they are told. */
export function besidesRules(command: Effective, line: ShellLine): Reason[] {
  const reasons: Reason[] = [];
  if (expandsSubscript(command))
    reasons.push({ by: "unparsable", reason: `\`${command.normalised}\` may run what stands in an array subscript.` });
  const variable = riskyVariable(command);
  if (variable) reasons.push({ by: "option", reason: `It sets ${variable}, which changes what later commands do.` });
  if (readsProgram(command, line))
    reasons.push({
      by: "unparsable",
      reason: `\`${command.normalised}\` runs what it reads from its input, which can't be judged before it runs.`,
    });
  return reasons;
}

const DECLARERS = ["export", "declare", "typeset", "readonly", "local", "let"];

function riskyVariable(command: Effective): string | null {
  const declared = DECLARERS.includes(command.words[0] ?? "")
    ? command.words.slice(1).flatMap((word) => (word.includes("=") ? [word.split("=", 1)[0] ?? ""] : []))
    : [];
  const read = ["read", "mapfile", "readarray", "getopts", "unset"].includes(command.words[0] ?? "")
    ? command.words.slice(1)
    : [];
  const printed = command.words[0] === "printf" && command.words[1] === "-v" ? command.words.slice(2, 3) : [];
  const assigned = command.assignments.filter(
    ({ name }) => !(name === "IFS" && ["read", "mapfile", "readarray"].includes(command.words[0] ?? "")),
  );
  const names = [...assigned.map((one) => one.name), ...declared, ...read, ...printed];
  return names.find((name) => steersCommands(name.replace(/\+$/, ""))) ?? null;
}

const SUBSCRIPT_BUILTINS =
  /^(test|\[|declare|typeset|local|export|readonly|read|let|unset|printf|mapfile|readarray|wait|getopts)$/;

/** `test -v 'a[$(cmd)]'`: these expand a subscript that stands quoted in their argument. */
function expandsSubscript(command: Effective): boolean {
  if (!SUBSCRIPT_BUILTINS.test(command.words[0] ?? "")) return false;
  return command.args.some((arg) => arg.value !== null && /\[[^\]]*(\$\(|`|\$\{)/.test(arg.value));
}

const SHELLS = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh"];
const INTERPRETERS =
  /^(python|pypy|node|nodejs|perl|ruby|php|lua|luajit|bun|deno|pwsh|Rscript|tclsh|osascript|guile)[\d.]*$/;

/** A shell or interpreter whose program comes through a pipe, or an interpreter's here-document. */
function readsProgram(command: Effective, line: ShellLine): boolean {
  const [program = "", ...args] = command.words;
  const isShell = SHELLS.includes(program);
  if (!isShell && !INTERPRETERS.test(program)) return false;
  const input = stdinOf(command.command);
  const hereDoc = input !== null && (input.hereDoc !== null || input.op === "<<<");
  // A shell's here-document is parsed, and its commands are judged.
  if (hereDoc) return !isShell && takesProgramFromInput(args, false);
  const outer = line.outer.get(command);
  const piped = command.command.pipe.from.length > 0 || (outer?.pipe.from.length ?? 0) > 0;
  return (piped || input !== null) && takesProgramFromInput(args, isShell);
}

function takesProgramFromInput(args: readonly string[], isShell: boolean): boolean {
  if (isShell && args.includes("-s")) return true;
  if (args.includes("-")) return true;
  if (
    args.some(
      (arg) =>
        /^-[A-Za-z]*[cemr]/.test(arg) || /^--(eval|print|help|version)/.test(arg) || arg === "-V" || arg === "-p",
    )
  )
    return false;
  return args.every((arg) => /^[-+]/.test(arg) || arg === "/dev/stdin");
}
