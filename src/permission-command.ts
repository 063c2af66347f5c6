/** Judges one simple command by the rules: as written and as it really runs, with what lifts an `allow` to a question. */
import { alwaysFor, grantForm, SUBCOMMAND_PROGRAMS } from "./always.ts";
import { splitGit } from "./argv.ts";
import { besidesRules } from "./permission-besides.ts";
import type { Finding, LineContext } from "./permission-finding.ts";
import type { ShellLine } from "./permission-line.ts";
import { hasRiskyOptions, optionRisk } from "./permission-options.ts";
import { locateWord, type Scene } from "./permission-scene.ts";
import { compareStrictness, isCatchAll, matchTable, type Match, type Table, type TableRow } from "./permission.ts";
import type { Arg, Assignment, Effective } from "./shell-types.ts";
import { matchesWildcard } from "./wildcard.ts";

export interface JudgedOne {
  findings: Finding[];
  /** The rule that decided, where none of the findings did. */
  rule: string | null;
  byRule: boolean;
}

/** The command as written, assignments included, redirections left out (they are judged by themselves). */
export function commandText(command: Effective): string {
  return command.command.text;
}

/** Runners in runners beyond this hide something. */
const MAX_TRUSTED = 4;

/** What the rules say about one command that runs, and what besides the rules makes it ask. */
export function judgeCommand(command: Effective, line: ShellLine, context: LineContext): JudgedOne {
  const besides = besidesRules(command, line).map((reason) =>
    findingOf(command, context, { ...reason, decision: "ask", rule: null }),
  );
  // That the program itself is unknown says more than any rule does.
  const unknown =
    command.unknownName && !(command.runner && command.via.length < MAX_TRUSTED)
      ? [findingOf(command, context, unknownProgram(command))]
      : [];
  if (command.words.length === 0) return { findings: [...unknown, ...besides], rule: null, byRule: false };
  const match = ruleFor(command, context);
  const ruled = match.decision === "allow" ? liftOf(command, match.row, context) : ruledBy(command, match);
  const pattern = match.decision === "ask" && besides.length === 0 ? alwaysIfPlain(command) : null;
  const own = ruled ? [findingOf(command, context, ruled, pattern)] : [];
  return { findings: [...unknown, ...own, ...besides], rule: match.row?.label ?? null, byRule: isWritten(match) };
}

type Cause = Pick<Finding, "decision" | "by" | "rule" | "reason" | "unruled">;

function findingOf(command: Effective, context: LineContext, cause: Cause, pattern: string | null = null): Finding {
  const forms = pattern === null ? [] : [grantForm(command)];
  return { ...cause, firm: false, tool: context.tool, text: commandText(command), forms, pattern };
}

const unknownProgram = (command: Effective): Cause => ({
  decision: "ask",
  by: "unparsable",
  rule: null,
  reason: `Which program \`${commandText(command)}\` runs can't be told before it runs.`,
});

function ruledBy(command: Effective, match: Match): Cause {
  const decision = match.decision === "deny" ? "deny" : "ask";
  return {
    decision,
    by: isWritten(match) ? "rule" : "default",
    rule: match.row?.label ?? null,
    reason: ruleReason(command, match),
    ...(decision === "ask" && !isWritten(match) ? { unruled: true } : {}),
  };
}

/** Decided by something the user wrote. */
function isWritten(match: Match): boolean {
  return match.row?.builtin === false;
}

function alwaysIfPlain(command: Effective): string | null {
  return optionRisk(command.words) === null ? alwaysFor(command) : null;
}

function ruleReason(command: Effective, match: Match): string {
  const label = match.row?.label;
  if (match.decision === "deny") return `\`${command.normalised}\` is refused by the rule ${label}.`;
  return label
    ? `\`${command.normalised}\` needs approval by the rule ${label}.`
    : `No rule allows \`${command.normalised}\`, so it needs approval.`;
}

/** The strictest of what the table says about every form of the command. */
function ruleFor(command: Effective, context: LineContext): Match {
  if (command.runner) return tightened(command, context.table);
  if (isQuiet(command, context)) return lenient(command, context.table);
  const matches = [writtenForm(command), command.normalised].map((form) => matchTable(context.table, form));
  matches.push(...textRules(command, context.table), ...subcommandRules(command, context.table));
  return matches.reduce((worst, match) => (compareStrictness(match.decision, worst.decision) > 0 ? match : worst));
}

/** Rules on a subcommand see it behind options (`git -C dir push`, `npm -w a publish`) too; only to tighten. */
function subcommandRules(command: Effective, table: Table): Match[] {
  const [program = ""] = command.words;
  if (!SUBCOMMAND_PROGRAMS.has(program) || !/^[-+]/.test(command.words[1] ?? "")) return [];
  return afterOptions(command.words)
    .map((words) => matchTable(table, [program, ...words].join(" ")))
    .filter(isTighter);
}

// As many options, with their values, as anybody puts in front of a subcommand.
const MAX_OPTIONS = 12;

/** What may be the subcommand and its arguments: for git it is known, elsewhere an option may or may not have taken the next word. */
function afterOptions([program, ...args]: readonly string[]): string[][] {
  if (program === "git") {
    const { sub, rest } = splitGit(args);
    return sub === "" ? [] : [[sub, ...rest]];
  }
  const isOption = (at: number): boolean => /^[-+]/.test(args[at] ?? "");
  const starts: string[][] = [];
  for (let at = 1; at < Math.min(args.length, MAX_OPTIONS); at++) {
    if (isOption(at)) continue;
    if (!isOption(at - 1) && !isOption(at - 2)) break;
    starts.push(args.slice(at));
  }
  return starts;
}

/** A rule that speaks of this very command and doesn't allow it. */
function isTighter({ row, decision }: Match): boolean {
  return row !== null && !isCatchAll(row.pattern) && decision !== "allow";
}

/** Of a command inside a trusted runner: what a rule on it forbids, else nothing. */
function tightened(command: Effective, table: Table): Match {
  const matches = [writtenForm(command), command.normalised].map((form) => matchTable(table, form)).filter(isTighter);
  const allowed: Match = { decision: "allow", row: null };
  return matches.reduce(
    (worst, match) => (compareStrictness(match.decision, worst.decision) > 0 ? match : worst),
    allowed,
  );
}

// Words as the line has them; of an inner command the wrapper's words aren't part.
function writtenForm(command: Effective): string {
  const words = command.args.map((arg) => arg.word.text);
  const own = command.args[0]?.word === command.command.words[0] ? countedAssignments(command) : [];
  const assignments = own.map((one) => `${one.name}${one.append ? "+" : ""}=${one.value?.text ?? "(…)"}`);
  const text = [...assignments, ...words].join(" ");
  // Quoted arguments say the same with and without their quotes; a quoted or assigned name doesn't.
  return command.args[0]?.word.quoted === true || assignments.length > 0
    ? text
    : [...words.slice(0, 1), ...command.words.slice(1)].join(" ");
}

/** All but the `IFS=` of `IFS= read -r line`, which only says how that one line is split. */
function countedAssignments({ words, command }: Effective): readonly Assignment[] {
  const reads = ["read", "mapfile", "readarray"].includes(words[0] ?? "");
  return command.assignments.filter(({ name }) => !(reads && name === "IFS"));
}

/** Rules written against redirections (`* > /tmp/*`) see the whole text; only to tighten. */
function textRules(command: Effective, table: Table): Match[] {
  if (command.via.length > 0 || command.command.redirects.length === 0) return [];
  const row = table.rows.findLast(
    (candidate) => /[<>]/.test(candidate.pattern) && matchesWildcard(candidate.pattern, command.command.text),
  );
  return row && row.decision !== "allow" ? [{ decision: row.decision, row }] : [];
}

/** A harmless wrapper (its inner command is judged instead), a look-up of a name, and `cd` inside the workspace. */
function isQuiet(command: Effective, context: LineContext): boolean {
  if (command.functionCall) return true;
  if (command.wraps) return command.transparent && command.assignments.length === 0;
  if (command.words[0] === "command") return ["-v", "-V"].includes(command.words[1] ?? "");
  if (isControl(command)) return true;
  return ["cd", "pushd"].includes(command.words[0] ?? "") && staysInside(command, context);
}

const GLOBBING = new Set(["nullglob", "failglob", "globstar", "dotglob", "nocaseglob"]);
const CONTROL = new Set(["break", "continue", "exit", "return", "wait", "shift", ":", "local"]);

/** What only steers the line itself: `break`, `exit 1`, `set -euo pipefail`. */
function isControl({ words, args, assignments }: Effective): boolean {
  if (assignments.length > 0 || args[0]?.word.quoted === true) return false;
  if (CONTROL.has(words[0] ?? "")) return true;
  // Without a command it only redirects, which is judged by itself.
  if (words[0] === "exec") return words.length === 1;
  if (words[0] === "shopt") return /^-[su]$/.test(words[1] ?? "") && words.slice(2).every((name) => GLOBBING.has(name));
  return (
    words[0] === "set" && words.length > 1 && words.slice(1).every((word) => /^[-+][a-zA-Z]+$|^[a-z]+$/.test(word))
  );
}

function staysInside(command: Effective, context: LineContext): boolean {
  const [, target, ...more] = command.args.filter((arg) => arg.text !== "--");
  if (command.assignments.length > 0 || more.length > 0 || command.args[0]?.word.quoted === true) return false;
  if (!target || target.value === null || target.value === "-") return false;
  // A directory by wildcard is one of those here; any other text may lead anywhere.
  if (target.dynamic && target.pattern === null) return false;
  // A directory that an earlier `cd` may have left is as good as the one it went to: what runs there is judged for both.
  return command.command.cwds.some((cwd) => locateWord(target.text, target.tilde, cwd, context.scene).inside);
}

/** Allowed unless a rule speaks of this very command. */
function lenient(command: Effective, table: Table): Match {
  const match = matchTable(table, command.normalised);
  const specific = match.row !== null && !match.row.builtin && !isCatchAll(match.row.pattern);
  return specific ? match : { decision: "allow", row: match.decision === "allow" ? match.row : null };
}

function liftOf(command: Effective, row: TableRow | null, { table, scene }: LineContext): Cause | null {
  if (command.runner) return null;
  const risk = row === null || row.pattern.endsWith("*") ? optionRisk(command.words) : null;
  if (risk !== null)
    return {
      decision: "ask",
      by: "option",
      rule: row?.label ?? null,
      reason: `\`${command.normalised}\` ${risk}, so a rule by wildcard doesn't cover it.`,
    };
  if (command.args.some((arg) => isUnknownOption(arg, command)))
    return {
      decision: "ask",
      by: "option",
      rule: row?.label ?? null,
      reason: `An option of \`${command.normalised}\` isn't known before it runs, and some of ${command.words[0]}'s options run other programs.`,
    };
  if (leavesBySwitch(command, scene))
    return {
      decision: "ask",
      by: "option",
      rule: row?.label ?? null,
      reason: `\`${command.normalised}\` works in a directory outside the workspace, whose settings can run programs.`,
    };
  if (runsUnknownScript(command))
    return {
      decision: "ask",
      by: "option",
      rule: row?.label ?? null,
      reason: `Which script \`${command.normalised}\` runs isn't known before it runs.`,
    };
  const narrower = narrowerRule(command, row, table);
  if (!narrower) return null;
  const reason = `Part of \`${command.normalised}\` isn't known before it runs, and the rule ${narrower.label} could cover it.`;
  return { decision: "ask", by: "rule", rule: narrower.label, reason };
}

/** `-x"$Y"`: short options in one word may be any. What follows `--name=` is a value. */
function isUnknownOption(arg: Arg, command: Effective): boolean {
  const literal = literalStart(arg);
  const [program = ""] = command.words;
  // `make -j$(nproc)` is how everybody builds; elsewhere an option in quotes may be any.
  if (/^g?make$/.test(program) && /^-[jl]$/.test(literal)) return false;
  return isUncertain(arg) && /^-[^=-]*$/.test(literal) && hasRiskyOptions(program);
}

/** `git -C elsewhere`: as `cd elsewhere` would. */
function leavesBySwitch(command: Effective, scene: Scene): boolean {
  if (command.words[0] !== "git") return false;
  const { globals } = splitGit(command.words.slice(1));
  const cwd = command.command.cwds[0] ?? ".";
  return globals.some((arg, at) => {
    const target = globals[at - 1] === "-C" ? arg : null;
    return target !== null && !locateWord(target, target.startsWith("~"), cwd, scene).inside;
  });
}

// `"$script"`, not `"${n}p"`: numbers and names within a script are everywhere.
const WHOLLY_UNKNOWN = /^(\$\w+|\$\{[^}]*\}|\$\((?!\()[^)]*\)|`[^`]*`|\$[@*])$/;
const SCRIPT_FIRST = /^(sed|gsed|awk|gawk|mawk|nawk|sh|bash|dash|zsh|ksh|\.|source)$/;

/** `sed "$X" f`, `bash $X`: the program itself, or the options it starts with, come from a value nobody knows. */
function runsUnknownScript(command: Effective): boolean {
  if (!SCRIPT_FIRST.test(command.words[0] ?? "")) return false;
  const script = command.args.slice(1).find((arg) => !arg.text.startsWith("-"));
  // What comes from a loop over files is a file.
  return script !== undefined && script.value === null && WHOLLY_UNKNOWN.test(script.text);
}

/** A stricter rule that an unknown argument could turn this command into. */
function narrowerRule(command: Effective, row: TableRow | null, table: Table): TableRow | null {
  const unknown = command.args.findIndex((arg, index) => index > 0 && isUnknown(arg, index, command));
  if (unknown < 0 && !command.appended) return null;
  const known = unknown < 0 ? command.words : command.words.slice(0, unknown);
  const prefix = `${known.join(" ")} ${unknown < 0 ? "" : literalStart(command.args[unknown])}`;
  return (
    table.rows.find(
      (other) =>
        other !== row && other.decision !== "allow" && !isCatchAll(other.pattern) && couldMatch(other.pattern, prefix),
    ) ?? null
  );
}

// A wildcard in the place of a subcommand becomes whatever file is there.
function isUnknown(arg: Arg, index: number, command: Effective): boolean {
  return isUncertain(arg) || (arg.pattern !== null && index === 1 && SUBCOMMAND_PROGRAMS.has(command.words[0] ?? ""));
}

/** It may become something else than its text: what the line tells of its value is only a candidate. */
function isUncertain(arg: Arg): boolean {
  return arg.value === null || arg.dynamic;
}

function literalStart(arg: Arg | undefined): string {
  const text = arg?.dynamic === true ? arg.word.shape : (arg?.text ?? "");
  return text.split(/[$`*?[]/, 1)[0] ?? "";
}

function couldMatch(pattern: string, prefix: string): boolean {
  const literal = pattern.split(/[*?]/, 1)[0] ?? "";
  return literal.startsWith(prefix) || prefix.startsWith(literal);
}
