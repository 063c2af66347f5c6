/** What reaches a command's standard input: redirections, pipes, and the text of those that only print. Judges nothing. */
import type { Redirect, SimpleCommand } from "./shell-types.ts";

const READS = new Set(["<", "<>", "<<", "<<-", "<<<", "<&"]);

/** The redirection its standard input comes from, its own before an enclosing compound's; null when there is none. */
export function stdinOf(command: SimpleCommand): Redirect | null {
  return command.redirects.findLast(isStdin) ?? command.inherited.findLast(isStdin) ?? null;
}

function isStdin({ op, fd }: Redirect): boolean {
  return READS.has(op) && (fd === null || fd === 0);
}

/**
 * Every command whose output may reach its standard input, nearest first: through pipes, process substitutions it reads,
 * bodies of functions, and what those print by substitution.
 */
export function* upstream(command: SimpleCommand): Generator<SimpleCommand> {
  const seen = new Set<unknown>([command]);
  const queue: SimpleCommand[] = [...command.pipe.from, ...readFrom(command, seen)];
  for (let at = 0; at < queue.length; at++) {
    const next = queue[at];
    if (!next || seen.has(next)) continue;
    seen.add(next);
    yield next;
    queue.push(...printedBy(next, seen));
  }
}

function* printedBy(command: SimpleCommand, seen: Set<unknown>): Generator<SimpleCommand> {
  for (const list of [command.pipe.from, command.calls]) {
    if (seen.has(list)) continue;
    seen.add(list);
    yield* list;
  }
  for (const word of command.words) yield* word.substitutions;
  yield* readFrom(command, seen);
}

function* readFrom(command: SimpleCommand, seen: Set<unknown>): Generator<SimpleCommand> {
  for (const list of [command.redirects, command.inherited]) {
    if (seen.has(list)) continue;
    seen.add(list);
    for (const redirect of list.filter(isStdin)) {
      yield* redirect.target?.substitutions ?? [];
      yield* redirect.hereDoc?.substitutions ?? [];
    }
  }
}

/** The text on its standard input, when the line spells it out: a here-document, a here-string, or `echo text |`. */
export function stdinText(command: SimpleCommand): string | null {
  const from = stdinOf(command);
  if (from?.hereDoc) return from.hereDoc.value ?? from.hereDoc.body;
  if (from)
    return from.op === "<<<"
      ? (from.target?.value ?? from.target?.shape ?? null)
      : outputOf(from.target?.substitutions ?? []);
  return outputOf(command.pipe.from);
}

/** Stages of copying (`| cat | tee x`) that are followed back to what is printed: more than anybody writes. */
const MAX_COPIES = 8;

/** What commands print, when each is an `echo`, `printf` or `cat` of known text; those that feed another of them count through it. */
export function outputOf(commands: readonly SimpleCommand[], copies = MAX_COPIES): string | null {
  const [command, ...more] = commands;
  if (!command) return null;
  if (more.length === 0) return textOf(command, copies);
  const feeding = new Set(commands.flatMap((one) => (one.pipe.from.length <= MAX_PRINTERS ? one.pipe.from : [])));
  const last = commands.filter((one) => !feeding.has(one));
  // Of several that copy their input the first takes it all: that isn't followed, or every stage would multiply the work.
  const texts = last.length > MAX_PRINTERS ? [null] : last.map((one) => textOf(one, last.length > 1 ? 0 : copies));
  return texts.includes(null) ? null : texts.join("\n");
}

/** As many commands in a row may print what is read together. */
const MAX_PRINTERS = 16;

function textOf(command: SimpleCommand, copies: number): string | null {
  const [name, ...rest] = command.words.map((word) => word.value ?? word.shape);
  if (name === "echo") return printed(rest.slice(rest.findIndex((arg) => !/^-[neE]+$/.test(arg))));
  if (name === "printf" && rest.length > 0) return printed(/^%[bs](\\n)?$/.test(rest[0] ?? "") ? rest.slice(1) : rest);
  if (name === "tee") return copied(command, copies);
  return name === "cat" && rest.every((arg) => arg === "-") ? copied(command, copies) : null;
}

function printed(args: readonly string[]): string {
  return args.join(" ").replace(/\\n/g, "\n");
}

function copied(command: SimpleCommand, copies: number): string | null {
  const from = stdinOf(command);
  if (!from) return copies > 0 ? outputOf(command.pipe.from, copies - 1) : null;
  return from.hereDoc
    ? (from.hereDoc.value ?? from.hereDoc.body)
    : from.op === "<<<"
      ? (from.target?.value ?? null)
      : null;
}
