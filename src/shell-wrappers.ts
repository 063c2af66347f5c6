/** What simple commands really run: names reduced, wrappers peeled, code in arguments parsed. The programs are in shell-wrapper-table.ts; judging is for others. */
import { codeOf, innerCommands, withInput, type Run, type Work } from "./shell-code.ts";
import { readOptions, type Reading } from "./shell-options.ts";
import { move } from "./shell-state.ts";
import { wrapperTable, type Wrapper } from "./shell-wrapper-table.ts";
import type { Arg, Effective, Field, SimpleCommand, Word } from "./shell-types.ts";

export { stdinOf, upstream } from "./shell-pipes.ts";

/** Readings of one command, and wrappers inside each other, beyond which it counts as unknown. */
const MAX_READINGS = 16;
const MAX_WRAPPERS = 12;

/** Characters of code parsed for one line, each recorded command counting a hundred: far above any line that somebody wrote. */
const MAX_WORK = 2_000_000;
const RECORD_WORK = 100;

/** What is asked of the whole line. */
type LineFacts = { ok: false } | { ok: true; functions: ReadonlySet<string>; runsCode: boolean; posix?: boolean };

/** Asked more than once for the same line (by the guard, then by rules), it is worked out once. */
const worked = new WeakMap<SimpleCommand, { all: LineFacts; found: Effective[] }>();
const workOf = new WeakMap<object, Work>();

/**
 * What `command` runs: itself first, then what its wrappers run, depth first; for each reading of its words. Never empty.
 * `all` is the line it came from. `wrappers` is for tests.
 */
export function effectiveCommands(
  command: SimpleCommand,
  all: LineFacts,
  wrappers: ReadonlyMap<string, Wrapper> = wrapperTable(),
): Effective[] {
  if (wrappers !== wrapperTable()) return workOut(command, all, wrappers);
  const before = worked.get(command);
  if (before?.all === all) return before.found;
  const found = workOut(command, all, wrappers);
  worked.set(command, { all, found });
  return found;
}

function workOut(command: SimpleCommand, all: LineFacts, wrappers: ReadonlyMap<string, Wrapper>): Effective[] {
  const found: Effective[] = [];
  const functions = all.ok ? all.functions : new Set<string>();
  const work = workOf.get(command.line) ?? { left: MAX_WORK };
  workOf.set(command.line, work);
  open(command, {
    command,
    functions,
    wrappers,
    via: [],
    harmless: true,
    direct: true,
    unsure: false,
    appended: false,
    runner: false,
    posix: all.ok && all.posix === true,
    assignments: [],
    found,
    work,
    peel,
    open,
    markUnknown: () => undefined,
  });
  if (all.ok && all.runsCode) for (const entry of found) entry.unknownName ||= entry.words.length > 0;
  return found;
}

/** Every reading of a command that stands in the line or in code found in it. */
function open(command: SimpleCommand, run: Run): void {
  const own = command.assignments.map(({ name, value }) => ({ name, value: value?.value ?? null }));
  for (const args of readingsOf(command.words))
    peel(args, { ...run, command, assignments: [...run.assignments, ...own] });
}

/** Every list of arguments the words may become. */
function readingsOf(words: readonly Word[]): Arg[][] {
  let readings: Arg[][] = [[]];
  for (const word of words) {
    const choices = choicesOf(word);
    const all = readings.length * choices.length <= MAX_READINGS;
    const kept = all ? choices : choices.slice(0, 1).map((args) => args.map((arg) => ({ ...arg, dynamic: true })));
    if (kept.length === 1) for (const reading of readings) reading.push(...(kept[0] ?? []));
    else readings = readings.flatMap((reading) => kept.map((args) => [...reading, ...args]));
  }
  return readings;
}

function choicesOf(word: Word): Arg[][] {
  if (word.alternatives.length > 0)
    return word.alternatives.map((fields) => fields.map((field) => fromField(field, word)));
  return [[{ text: word.shape, value: null, pattern: null, tilde: false, dynamic: true, word }]];
}

function fromField({ value, pattern, tilde }: Field, word: Word): Arg {
  return { text: value, value, pattern, tilde, dynamic: word.dynamic, word };
}

/** Records what `args` run, then what that runs in turn. */
function peel(args: readonly Arg[], run: Run): void {
  const [name] = args;
  if (!name && !run.direct) return;
  const base = baseName(name?.value ?? name?.text ?? "");
  const wrapper = name?.value === null ? undefined : run.wrappers.get(base);
  const entry = record(args, base, run);
  run.work.left -= RECORD_WORK;
  if (run.work.left < 0) entry.unknownName = name !== undefined;
  if (!name || run.via.length >= MAX_WRAPPERS || run.work.left < 0) return;
  const before = run.found.length;
  const markUnknown = (): void => {
    entry.unknownName = true;
  };
  if (name.value === null && args.length > 1) peelUnknown(args, { ...run, direct: false, markUnknown }, entry);
  else if (wrapper) peelWrapper(args, base, wrapper, { ...run, direct: false, markUnknown });
  entry.wraps = run.found.length > before;
  entry.transparent &&= entry.wraps;
}

function record(args: readonly Arg[], base: string, run: Run): Effective {
  const { via, harmless, appended, runner, assignments, command, unsure, functions, wrappers } = run;
  const [name, ...rest] = args;
  const words = name ? [base, ...rest.map((arg) => arg.text)] : [];
  const unknownName =
    unsure || (name !== undefined && (name.dynamic || name.pattern !== null)) || via.length >= MAX_WRAPPERS;
  const transparent = harmless && wrappers.get(base)?.harmless === true;
  const functionCall = run.direct && functions.has(name?.value ?? "");
  const facts = { via, harmless, wraps: false, transparent, unknownName, appended, runner, functionCall, command };
  const entry = { words, args: [...args], normalised: words.join(" "), assignments, ...facts };
  run.found.push(entry);
  return entry;
}

/** The last part of a path; a name that ends in a slash is no program. */
function baseName(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1) || name;
}

/** `$SUDO rm x`: a name that may be a wrapper, or nothing at all. */
function peelUnknown(args: readonly Arg[], run: Run, { words }: Effective): void {
  const name = words[0] ?? "";
  peel(args.slice(1), { ...run, via: [...run.via, name], harmless: false, unsure: true });
}

function peelWrapper(args: readonly Arg[], base: string, wrapper: Wrapper, run: Run): void {
  const inside: Run = {
    ...run,
    via: [...run.via, base],
    harmless: run.harmless && wrapper.harmless,
    appended: run.appended || wrapper.appends,
    runner: run.runner || wrapper.runner,
  };
  if (wrapper.special && wrapper.special !== "env") return innerCommands(args, wrapper.special, wrapper, inside);
  const own = afterSubcommand(args, wrapper);
  const mark = own.findIndex((arg) => wrapper.after.includes(arg.text));
  if (mark > 0) return inside.peel(own.slice(mark + 1), inside);
  if (wrapper.after.length > 0 && !wrapper.runner) return;
  for (const reading of readOptions(own, wrapper)) peelReading(own, base, reading, wrapper, inside);
}

function peelReading(args: readonly Arg[], base: string, reading: Reading, wrapper: Wrapper, run: Run): void {
  if ([...wrapper.asks].some((letter) => reading.options.has(`-${letter}`))) return;
  const assignments = [...run.assignments, ...reading.assignments];
  const command = movedBy(reading, base, run.command);
  const inside = { ...run, command, unsure: run.unsure || reading.unsure, assignments };
  const rest = args.slice(reading.start);
  if (wrapper.special === "env") return peelEnv(rest, reading, inside);
  for (const code of reading.code) codeOf([code], inside);
  if (wrapper.code.length > 0) return peelTrailing(rest, reading, wrapper, inside);
  if (wrapper.joins) return rest.length > 0 ? codeOf(rest, inside) : undefined;
  const runs = wrapper.appends ? withInput(rest, replacement(reading), inside) : [rest];
  for (const args of runs.slice(0, MAX_READINGS)) inside.peel(args, inside);
}

/** `perf stat -e x command`: options before the subcommand, and their values, don't matter; without one nothing is run. */
function afterSubcommand(args: readonly Arg[], { subcommands }: Wrapper): readonly Arg[] {
  if (subcommands.length === 0) return args;
  const isOption = (index: number): boolean => /^[-+]/.test(args[index]?.text ?? "");
  for (let at = 1; at < args.length; at++) {
    if (subcommands.includes(args[at]?.text ?? "")) return args.slice(at);
    if (!isOption(at) && !(at > 1 && isOption(at - 1))) return [];
  }
  return [];
}

/** `env -C dir`, `sudo --chdir=dir`: the command runs there. */
function movedBy({ options }: Reading, base: string, command: SimpleCommand): SimpleCommand {
  const to =
    options.get("--chdir") ?? options.get("--wd") ?? options.get(base === "env" ? "-C" : base === "sudo" ? "-D" : "");
  if (!to) return command;
  const { paths, known } = move({ paths: command.cwds, known: command.cwdKnown }, [to.text], to.value !== null);
  return { ...command, cwds: paths, cwdKnown: known };
}

/** `env -S` splits a text as a shell would, and may begin with options again. */
function peelEnv(rest: readonly Arg[], { code }: Reading, run: Run): void {
  const [first] = code;
  if (!first) return run.peel(rest, run);
  const env = { ...first, text: "env", value: "env", dynamic: false };
  codeOf([env, ...code, ...rest], run);
}

/** `su user -c code`, `sg group -c code`, `runuser -u user command`. */
function peelTrailing(rest: readonly Arg[], reading: Reading, wrapper: Wrapper, run: Run): void {
  const at = rest.findIndex((arg) => wrapper.code.some((option) => takesCode(arg.text, option)));
  const inline = /^--[a-z-]+=/.exec(rest[at]?.text ?? "")?.[0] ?? "";
  const code = inline ? rest[at] : rest[at + 1];
  if (at >= 0 && code) return codeOf([{ ...code, text: code.text.slice(inline.length) }], run);
  if (wrapper.joins && rest.length > 0) return codeOf(rest, run);
  if (wrapper.operands > 0 || wrapper.runner || reading.options.has("-u") || reading.options.has("--user"))
    run.peel(rest, run);
}

function takesCode(text: string, option: string): boolean {
  if (option.startsWith("--")) return text === option || text.startsWith(`${option}=`);
  return /^-[A-Za-z]+$/.test(text) && text.endsWith(option.slice(1));
}

/** What `xargs` replaces by its input; null when it appends. */
function replacement({ options }: Reading): string | null {
  for (const name of ["-I", "-J", "--replace", "-i"]) if (options.has(name)) return options.get(name)?.text || "{}";
  return null;
}
