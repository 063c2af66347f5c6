/** The guard plugin: refuses commands that can't be undone, judged on parsed commands. The rules are tables in guard-*.ts; scripts it runs aren't seen inside. */
import { DATABASE_RULES } from "./guard-database.ts";
import { DISK_RULES } from "./guard-disk.ts";
import { DOWNLOAD_RULES } from "./guard-download.ts";
import { FILE_RULES } from "./guard-files.ts";
import { GIT_RULES } from "./guard-git.ts";
import { CARRIERS, type Carrier } from "./guard-inner.ts";
import { LINE_RULES, type LineRule } from "./guard-line.ts";
import { SERVICE_RULES } from "./guard-services.ts";
import type { GuardCommand, GuardRule } from "./guard-rule.ts";
import { readLine, type ShellLine } from "./permission-line.ts";
import type { Plugin, PluginVerdict } from "./plugin.ts";
import type { Effective } from "./shell-types.ts";
import { steersCommands } from "./shell-variables.ts";

export const GUARD_RULES: readonly GuardRule[] = [
  ...FILE_RULES,
  ...GIT_RULES,
  ...DATABASE_RULES,
  ...DISK_RULES,
  ...SERVICE_RULES,
  ...DOWNLOAD_RULES,
];

export interface GuardTables {
  rules: readonly GuardRule[];
  lineRules: readonly LineRule[];
  carriers: readonly Carrier[];
}

const BUILTIN: GuardTables = { rules: GUARD_RULES, lineRules: LINE_RULES, carriers: CARRIERS };

export function makeGuard(tables: GuardTables = BUILTIN): Plugin {
  return {
    name: "guard",
    description: "refuses commands that can't be undone (rm -rf, git push --force, DROP TABLE, mkfs …)",
    beforeToolCall: (call) => strictest(call.lines.map((line) => guardLine(line, tables))),
  };
}

/** The guard's word on one command line. */
export function guardLine(line: ShellLine, tables: GuardTables = BUILTIN): PluginVerdict | null {
  if (!line.parsed.ok) return guardUnparsed(line.source, tables);
  const ofLine = tables.lineRules.find((rule) => rule.refuses(line));
  if (ofLine) return verdict("deny", line.source, ofLine.why);
  return strictest(
    line.commands.flatMap(({ effective }) => effective.map((command) => guardCommand(line, command, tables))),
  );
}

function guardCommand(line: ShellLine, command: Effective, tables: GuardTables): PluginVerdict | null {
  const [program = "", ...args] = command.words;
  const seen: GuardCommand = { program, args, effective: command, line };
  const candidates = tables.rules.filter((rule) => rule.programs === null || rule.programs.includes(program));
  const inner = [...carriedLines(program, args, tables), ...assignedLines(command)];
  return strictest([...candidates.map((rule) => applyRule(rule, seen)), guardInner(inner, tables)]);
}

function carriedLines(program: string, args: readonly string[], tables: GuardTables): string[] {
  return tables.carriers
    .filter((carrier) => carrier.programs.includes(program))
    .flatMap((carrier) => carrier.inner(args));
}

/** `GIT_SSH_COMMAND='…'`, `PROMPT_COMMAND='…'`: a value that later runs. */
function assignedLines({ assignments }: Effective): string[] {
  return assignments.flatMap(({ name, value }) => (value !== null && steersCommands(name) ? [value] : []));
}

/** One level deep: carriers inside carriers aren't worth the walk. */
function guardInner(lines: readonly string[], tables: GuardTables): PluginVerdict | null {
  return strictest(lines.map((line) => guardLine(readLine(line, {}), { ...tables, carriers: [] })));
}

function applyRule(rule: GuardRule, command: GuardCommand): PluginVerdict | null {
  const outcome = rule.judge(command);
  return outcome === "pass" ? null : verdict(outcome, command.effective.normalised, rule.why);
}

function verdict(decision: "ask" | "deny", command: string, why: string): PluginVerdict {
  const shown = command.length > 200 ? `${command.slice(0, 200)}…` : command;
  const what = `guard: \`${shown}\` ${why}.`;
  if (decision === "ask") return { decision, by: "guard", reason: what };
  return {
    decision,
    by: "guard",
    reason: `${what} It can't be undone, so it is refused whatever the settings. Ask the user to run it themselves.`,
  };
}

function strictest(verdicts: readonly (PluginVerdict | null)[]): PluginVerdict | null {
  return verdicts.find((one) => one?.decision === "deny") ?? verdicts.find((one) => one !== null) ?? null;
}

// What the parser gives up on may still be something a shell runs: its pieces are looked at one by one, quotes taken as they come.
function guardUnparsed(source: string, tables: GuardTables): PluginVerdict | null {
  const pieces = source.slice(0, MAX_UNPARSED).split(/[;&|()`\n\r{}<>]|\$\(/, MAX_PIECES);
  for (const piece of pieces) {
    const line = readLine(piece.replace(/["'\\\0]/g, ""), {});
    const found = line.parsed.ok ? guardLine(line, tables) : null;
    if (found) return found;
  }
  return null;
}

// A longer line isn't parsed at all and asks; this much is enough to see what it begins with.
const MAX_UNPARSED = 100_000;
const MAX_PIECES = 2_000;
