/** A command line prepared for judging: parsed once, with what each command really runs and who reads its output. Judges nothing. */
import { effectiveCommands, parseShell, upstream } from "./shell.ts";
import type { Effective, Known, Parsed, Redirect, SimpleCommand } from "./shell-types.ts";

export interface LineCommand {
  simple: SimpleCommand;
  /** The command and everything inside its wrappers, depth first. */
  effective: readonly Effective[];
}

export interface ShellLine {
  source: string;
  parsed: Parsed;
  commands: readonly LineCommand[];
  /** Commands whose output another command reads. */
  piped: ReadonlySet<SimpleCommand>;
  /** The command of `commands` that an effective one was found in. */
  outer: ReadonlyMap<Effective, SimpleCommand>;
}

// A pipeline longer than this is looked at no further up; whoever asks takes the rest for the worst.
const MAX_UPSTREAM = 200;

/** Commands whose output may reach this one, through its own pipe or that of the command it is wrapped in. */
export function sourcesOf(command: Effective, line: ShellLine): { sources: SimpleCommand[]; complete: boolean } {
  const sources: SimpleCommand[] = [];
  for (const reader of new Set([command.command, line.outer.get(command) ?? command.command]))
    for (const source of upstream(reader)) {
      if (sources.length >= MAX_UPSTREAM) return { sources, complete: false };
      sources.push(source);
    }
  return { sources, complete: true };
}

/** Who reads the line when it runs. */
export type ShellKind = "bash" | "sh" | "cmd";

/** Takes a line apart. `variables` are known from the environment (`HOME`, `PWD`). Never throws. */
export function readLine(
  source: string,
  variables: Readonly<Record<string, string>>,
  shell: ShellKind = "bash",
): ShellLine {
  const known = new Map(
    Object.entries(variables).map(([name, value]): [string, Known] => [name, { values: [value], exact: true }]),
  );
  const parsed = asReadBy(shell, source, parseShell(source, known));
  if (!parsed.ok) return { source, parsed, commands: [], piped: new Set(), outer: new Map() };
  const commands = parsed.commands.map((simple) => ({ simple, effective: effectiveCommands(simple, parsed) }));
  const outer = new Map(commands.flatMap(({ simple, effective }) => effective.map((one) => [one, simple] as const)));
  return { source, parsed, commands, piped: pipedOf(commands), outer };
}

/** A line that the shell here would read otherwise than the parser did counts as unreadable. */
function asReadBy(shell: ShellKind, source: string, parsed: Parsed): Parsed {
  if (!parsed.ok || shell === "bash") return parsed;
  if (shell === "sh" && parsed.bashOnly)
    return { ok: false, reason: "sh, the shell here, reads it otherwise than bash" };
  if (shell === "cmd" && /[%^!'\n`]/.test(source)) return { ok: false, reason: "cmd.exe reads it otherwise than bash" };
  return shell === "sh" ? { ...parsed, posix: true } : parsed;
}

/** Every command that runs, wrappers and their inner commands each by themselves. */
export function* everyEffective(line: ShellLine): Generator<Effective> {
  for (const command of line.commands) yield* command.effective;
}

/** Every redirection of the line once, with the command that it belongs to (for its directory). */
export function redirectsOf(line: ShellLine): Map<Redirect, SimpleCommand> {
  const found = new Map<Redirect, SimpleCommand>();
  const seen = new Set<readonly Redirect[]>();
  for (const command of everySimple(line)) {
    for (const list of [command.inherited, command.redirects]) {
      // Commands of one compound share the list of its redirections.
      if (seen.has(list)) continue;
      seen.add(list);
      for (const redirect of list) if (!found.has(redirect)) found.set(redirect, command);
    }
  }
  return found;
}

function everySimple(line: ShellLine): Set<SimpleCommand> {
  const all = new Set<SimpleCommand>();
  for (const { simple, effective } of line.commands) {
    all.add(simple);
    for (const inner of effective) all.add(inner.command);
  }
  return all;
}

function pipedOf(commands: readonly LineCommand[]): Set<SimpleCommand> {
  const piped = new Set<SimpleCommand>();
  const seen = new Set<readonly SimpleCommand[]>();
  const add = (from: readonly SimpleCommand[]) => {
    if (seen.has(from)) return;
    seen.add(from);
    for (const source of from) piped.add(source);
  };
  for (const { simple, effective } of commands)
    for (const command of [simple, ...effective.map((inner) => inner.command)]) add(command.pipe.from);
  return piped;
}
