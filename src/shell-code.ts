/** Code and commands inside arguments: `sh -c`, here-documents into shells, `eval`, `find -exec`, `parallel` and their like. Called by shell-wrappers.ts. */
import { readOptions } from "./shell-options.ts";
import { outputOf, stdinOf, stdinText } from "./shell-pipes.ts";
import type { Arg, Effective, Known, SimpleCommand } from "./shell-types.ts";
import { parseAt } from "./shell-walk.ts";
import type { Wrapper } from "./shell-wrapper-table.ts";

/** What is handed down while wrappers are peeled. */
export interface Run {
  command: SimpleCommand;
  functions: ReadonlySet<string>;
  wrappers: ReadonlyMap<string, Wrapper>;
  via: string[];
  harmless: boolean;
  /** The command stands by itself in code, so that functions of its name count. */
  direct: boolean;
  unsure: boolean;
  appended: boolean;
  /** A POSIX sh reads the line. */
  posix: boolean;
  /** Inside a wrapper that is trusted as a program of its own. */
  runner: boolean;
  assignments: Effective["assignments"];
  found: Effective[];
  /** Characters of code that may still be parsed and commands that may still be recorded for this line. */
  work: Work;
  /** Records what arguments run, and peels on. */
  peel: (args: readonly Arg[], run: Run) => void;
  /** The same for every reading of a command found in code. */
  open: (command: SimpleCommand, run: Run) => void;
  /** Code runs that nobody can see: the wrapper's own record says so. */
  markUnknown: () => void;
}

export interface Work {
  left: number;
}

/** Peels a wrapper that options, operands and a command don't describe. */
export function innerCommands(
  args: readonly Arg[],
  special: NonNullable<Wrapper["special"]>,
  wrapper: Wrapper,
  run: Run,
): void {
  switch (special) {
    case "shell":
      return runShell(args, wrapper, run);
    case "source":
      return runSource(skipDashes(args.slice(1)), run);
    case "eval":
      return args.length > 1 ? codeOf(skipDashes(args.slice(1)), run, { sharesState: true }) : undefined;
    case "trap":
      return runTrap(skipDashes(args.slice(1)), run);
    case "alias":
      return runAliases(args, run);
    case "find":
      return runFind(args, run);
    case "fd":
      return runFd(args, run);
    case "flock":
      return runFlock(args, wrapper, run);
    case "parallel":
      return runParallel(args, wrapper, run);
    case "all-code":
      for (const { start, code } of readOptions(args, wrapper))
        for (const arg of [...code, ...args.slice(start)]) codeOf([arg], run);
      return;
    case "stdin":
      return runScript(undefined, run);
    case "env":
      return;
    default:
      return special satisfies never;
  }
}

interface CodeOptions {
  /** It runs in the same shell: variables and functions of the line are its own. */
  sharesState?: boolean;
  /** Arguments that are `$0`, `$1` … in it. */
  positional?: readonly Arg[];
}

/** Records what shell code runs: the arguments joined, as `eval` does. */
export function codeOf(args: readonly Arg[], run: Run, options: CodeOptions = {}): void {
  const text = args.map((arg) => arg.text).join(" ");
  const known = args.every((arg) => arg.value !== null && !arg.dynamic);
  const [only] = args;
  if (!known && only && args.length === 1) codeFromOutput(only, run);
  codeText(text, { ...run, unsure: run.unsure || !known }, options);
}

/** `sh -c "$(echo …)"`, `bash <(echo …)`: what is printed is what runs. */
function codeFromOutput(arg: Arg, run: Run): boolean {
  const text = /^(\$\(|`|<\()/.test(arg.text) ? outputOf(arg.word.substitutions) : null;
  if (text !== null) codeText(text, { ...run, unsure: true });
  return text !== null;
}

function codeText(text: string, run: Run, { sharesState = false, positional = [] }: CodeOptions = {}): void {
  const { command, via } = run;
  run.work.left -= text.length;
  if (run.work.left < 0) return run.markUnknown();
  const parsed = parseAt(text, {
    variables: new Map([...scopeOf(run, sharesState), ...positionals(positional)]),
    from: command.pipe.from,
    inherited: [...command.inherited, ...command.redirects],
    context: "wrapper",
    depth: command.depth + 1,
    dirs: { paths: command.cwds, known: command.cwdKnown },
  });
  const reader = via.findLast((name) => run.wrappers.get(name)?.special === "shell");
  const misread = parsed.ok && parsed.bashOnly && (reader === undefined ? run.posix : POSIX_SHELLS.has(reader));
  if (!parsed.ok || parsed.runsCode || misread || via.length > MAX_NESTED) run.markUnknown();
  if (!parsed.ok || via.length > MAX_NESTED) return;
  const functions = sharesState ? new Set([...run.functions, ...parsed.functions]) : parsed.functions;
  for (const inner of parsed.commands) run.open(inner, { ...run, functions, direct: true });
}

/** They read `$'…'`, `[[` and `((` as something else than bash does. */
const POSIX_SHELLS = new Set(["sh", "dash", "ash", "hush", "yash", "posh"]);

/** Code inside code inside code: real lines stay below three. */
const MAX_NESTED = 8;

/** A child shell sees only what was exported, which the line needn't show. */
function scopeOf({ command, assignments }: Run, sharesState: boolean): Map<string, Known> {
  const entries = [...command.scope].map(
    ([name, known]) => [name, { ...known, exact: known.exact && sharesState }] as const,
  );
  const set = assignments.flatMap(({ name, value }) =>
    value === null ? [] : [[name, { values: [value], exact: true }] as const],
  );
  return new Map([...entries, ...set]);
}

function positionals(args: readonly Arg[]): Map<string, Known> {
  return new Map(
    args.map(({ text, value, dynamic }, index) => [
      String(index),
      { values: [text], exact: value !== null && !dynamic },
    ]),
  );
}

function skipDashes(args: readonly Arg[]): readonly Arg[] {
  return args[0]?.text === "--" ? args.slice(1) : args;
}

function runShell(args: readonly Arg[], wrapper: Wrapper, run: Run): void {
  // Shells also take `+o option`.
  const signed = args.map((arg) => (/^\+[A-Za-z]/.test(arg.text) ? { ...arg, text: `-${arg.text.slice(1)}` } : arg));
  for (const { start, unsure, code, options } of readOptions(signed, wrapper)) {
    const inside = { ...run, unsure: run.unsure || unsure };
    for (const arg of code) codeOf([arg], inside);
    for (const value of options.values()) if (value) runFile(value, inside);
    const [first, ...rest] = args.slice(start);
    if (options.has("-c")) runCode(first, rest, inside);
    else if (code.length === 0) runScript(options.has("-s") ? undefined : first, inside);
  }
}

function runCode(code: Arg | undefined, positional: readonly Arg[], run: Run): void {
  // `xargs sh -c`: what comes through the pipe is the code.
  if (!code) return run.appended ? run.markUnknown() : undefined;
  codeOf([code], run, { positional });
  if (/\$\{?[@*]/.test(code.text)) run.peel(positional.slice(1), { ...run, unsure: true });
}

const STDIN = new Set(["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"]);

/** A shell that reads its commands from a file, or from standard input when there is none. */
function runScript(file: Arg | undefined, run: Run): void {
  if (file && !STDIN.has(file.text)) return runFile(file, run);
  const text = stdinText(run.command);
  if (text !== null) return codeText(text, run);
  if (run.command.pipe.from.length > 0 || stdinOf(run.command)) run.markUnknown();
}

function runSource([file, ...rest]: readonly Arg[], run: Run): void {
  runFile(file, run, rest);
}

/** A file of commands isn't looked into; one that is really another command's output is. */
function runFile(file: Arg | undefined, run: Run, rest: readonly Arg[] = []): void {
  if (!file) return;
  if (STDIN.has(file.text)) return runScript(undefined, run);
  // An unknown file may be standard input.
  if (file.value === null && (run.command.pipe.from.length > 0 || stdinOf(run.command))) run.markUnknown();
  // A name without a slash may be a script on PATH, which is that program.
  if (file.value !== null && !file.text.includes("/")) run.peel([file, ...rest], { ...run, runner: true });
  if (file.word.substitutions.length > 0 && !codeFromOutput(file, run)) run.markUnknown();
}

function runTrap([action, signal]: readonly Arg[], run: Run): void {
  if (!action || !signal || action.text === "-" || action.text === "" || /^-[lp]$/.test(action.text)) return;
  codeOf([action], run, { sharesState: true });
}

/** Aliases aren't expanded here: what one stands for is judged where it is made. */
function runAliases(args: readonly Arg[], run: Run): void {
  for (const arg of args.slice(1)) {
    const from = arg.text.indexOf("=") + 1;
    if (from > 0)
      codeOf([{ ...arg, text: arg.text.slice(from), value: arg.value?.slice(from) ?? null }], run, {
        sharesState: true,
      });
  }
}

function runFind(args: readonly Arg[], run: Run): void {
  for (let at = 1; at < args.length; at++) {
    if (!/^-(exec|execdir|ok|okdir)$/.test(args[at]?.text ?? "")) continue;
    const rest = args.slice(at + 1);
    const stop = rest.findIndex(
      (arg, index) => arg.text === ";" || (arg.text === "+" && rest[index - 1]?.text === "{}"),
    );
    const inner = stop < 0 ? rest : rest.slice(0, stop);
    run.peel(filled(inner, ["{}"]), { ...run, appended: true });
    at += inner.length;
  }
}

/** Arguments in which text that is only known at run time takes the place of `marks`. */
export function filled(args: readonly Arg[], marks: readonly string[]): Arg[] {
  return args.map((arg) =>
    marks.some((mark) => arg.text.includes(mark)) ? { ...arg, value: null, dynamic: true } : arg,
  );
}

const FD_MARKS = ["{}", "{/}", "{//}", "{.}", "{/.}"];

function runFd(args: readonly Arg[], run: Run): void {
  const at = args.findIndex((arg) => /^(-[A-Za-z]*[xX]|--exec|--exec-batch)$/.test(arg.text));
  if (at < 0) return;
  const rest = args.slice(at + 1);
  const stop = rest.findIndex((arg) => arg.text === ";");
  run.peel(filled(stop < 0 ? rest : rest.slice(0, stop), FD_MARKS), { ...run, appended: true });
}

function runFlock(args: readonly Arg[], wrapper: Wrapper, run: Run): void {
  for (const { start, unsure } of readOptions(args, wrapper)) {
    const inside = { ...run, unsure: run.unsure || unsure };
    const [first, code] = args.slice(start);
    if (/^(-c|--command)$/.test(first?.text ?? "") && code) codeOf([code], inside);
    else if (first) run.peel(args.slice(start), inside);
  }
}

function runParallel(args: readonly Arg[], wrapper: Wrapper, run: Run): void {
  for (const { start, unsure } of readOptions(args, wrapper)) {
    const inside = { ...run, unsure: run.unsure || unsure };
    const rest = args.slice(start);
    const cut = rest.findIndex((arg) => /^:::/.test(arg.text));
    const inner = cut < 0 ? rest : rest.slice(0, cut);
    if (inner.length > 0) codeOf(inner, inside);
    else if (cut >= 0) for (const arg of rest.slice(cut + 1)) codeOf([arg], inside);
    else runScript(undefined, inside);
  }
}

/** The arguments of each run of `xargs`, as far as the line spells its input out; what it doesn't stays unknown. */
export function withInput(args: readonly Arg[], mark: string | null, run: Run): Arg[][] {
  const [name] = args;
  const text = name ? stdinText(run.command) : null;
  const facts = name && { pattern: null, tilde: false, dynamic: false, word: name.word };
  const inputs = text?.split(mark === null ? /\s+/ : "\n").filter(Boolean) ?? [];
  if (!facts || inputs.length === 0 || inputs.length > MAX_INPUT)
    return [mark === null ? [...args] : filled(args, [mark])];
  if (mark === null) return [[...args, ...inputs.map((input) => ({ text: input, value: input, ...facts }))]];
  return inputs.map((input) => args.map((arg) => replaced(arg, mark, input.trim())));
}

function replaced(arg: Arg, mark: string, input: string): Arg {
  const text = arg.text.replaceAll(mark, () => input);
  return text === arg.text ? arg : { ...arg, text, value: arg.value === null ? null : text };
}

const MAX_INPUT = 64;
