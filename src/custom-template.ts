/** The text of a custom command, taken apart: arguments, commands to run, files to include. Pure; nothing is run or read here. */
import { splitArguments } from "./custom-template-arguments.ts";
import { fillCommand } from "./custom-template-command.ts";

export type Piece =
  | { kind: "text"; text: string }
  /** `` !`line` `` */
  | { kind: "command"; command: string }
  /** `@path` */
  | { kind: "file"; path: string };

// A command, a file (a word that begins at a blank or the line's start) or an argument.
const MARKS = /!`([^`\n]+)`|(?<=^|[\s("'])@([^\s`"'()<>]+)/gm;

/** Pieces in order, arguments put in. What an argument holds is never taken for a command or a file. */
export function expandTemplate(template: string, args: string): Piece[] {
  const words = splitArguments(args);
  const used = /\$(?:ARGUMENTS\b|[1-9](?!\d))/.test(template);
  const fill = (text: string): string => withArguments(text, args, words);
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of template.matchAll(MARKS)) {
    pieces.push({ kind: "text", text: fill(template.slice(from, match.index)) });
    const [whole, command, path] = match;
    from = match.index + whole.length;
    if (command !== undefined) pieces.push({ kind: "command", command: fillCommand(command, args) });
    if (path === undefined) continue;
    const end = /[.,;:!?]+$/.exec(path)?.[0] ?? "";
    pieces.push({ kind: "file", path: fill(path.slice(0, path.length - end.length)) }, { kind: "text", text: end });
  }
  pieces.push({ kind: "text", text: fill(template.slice(from)) });
  // Words typed after a command that has no place for them are meant for the model all the same.
  if (!used && args !== "") pieces.push({ kind: "text", text: `\n\n${args}` });
  return pieces.filter((piece) => piece.kind !== "text" || piece.text !== "");
}

/** Whether a template runs commands. */
export function runsCommands(template: string): boolean {
  return /!`[^`\n]+`/.test(template);
}

function withArguments(text: string, args: string, words: readonly string[]): string {
  return text.replace(/\$(?:ARGUMENTS\b|([1-9])(?!\d))/g, (_, digit?: string) =>
    digit === undefined ? args : (words[Number(digit) - 1] ?? ""),
  );
}
