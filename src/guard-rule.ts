/** What one row of the guard's tables is, and what rows may look at. */
import { sourcesOf, type ShellLine } from "./permission-line.ts";
import type { Effective, SimpleCommand } from "./shell-types.ts";
import { stdinOf } from "./shell.ts";

export interface GuardCommand {
  /** Base name of the program. */
  program: string;
  args: readonly string[];
  effective: Effective;
  line: ShellLine;
}

export interface GuardRule {
  /** Unique; for tests that take one row away. */
  name: string;
  /** Base names it is about; null: any program. */
  programs: readonly string[] | null;
  judge(command: GuardCommand): "pass" | "ask" | "deny";
  /** Goes after the command: "… `rm -rf x` deletes files for good". */
  why: string;
}

/** A row that refuses where `test` holds. */
export function refuse(
  name: string,
  programs: readonly string[] | null,
  why: string,
  test: (command: GuardCommand) => boolean,
): GuardRule {
  return { name, programs, why, judge: (command) => (test(command) ? "deny" : "pass") };
}

/** Text that the line itself hands to the command's standard input: a here-document, or what `echo` and its like print. */
export function inputOf({ effective, line }: GuardCommand): string {
  const redirect = stdinOf(effective.command);
  if (redirect?.op === "<<<") return redirect.target?.shape ?? "";
  const own = hereDocOf(effective.command);
  if (own !== "") return own;
  const printers = sourcesOf(effective, line).sources.filter((source) =>
    ["echo", "printf", "cat"].includes(source.words[0]?.value ?? ""),
  );
  return printers
    .flatMap((source) => [...source.words.slice(1).map((word) => word.shape), hereDocOf(source)])
    .join(" ");
}

function hereDocOf(command: SimpleCommand): string {
  const hereDoc = stdinOf(command)?.hereDoc;
  return hereDoc ? (hereDoc.value ?? hereDoc.body) : "";
}
