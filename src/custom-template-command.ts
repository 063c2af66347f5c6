/** Arguments put into a custom command's `` !`…` ``: as words of the shell, whatever they hold. Knows the shell's quotes and nothing else of its grammar; runs nothing. */
import { splitArguments } from "./custom-template-arguments.ts";

/** Inside of what an argument stands. `ansi`: `$'…'`. */
type Quote = "none" | "single" | "double" | "ansi";

const MARK = /\$(?:ARGUMENTS\b|([1-9])(?!\d))/y;

/**
 * `git log $1` with `a; rm x` is `git log 'a;'`: nothing in an argument is run, expanded or ends a quote. `$ARGUMENTS`
 * stands for all words, within quotes for the text as it was typed.
 */
export function fillCommand(command: string, args: string): string {
  const words = splitArguments(args);
  const open: Quote[] = ["none"];
  let filled = "";
  for (let at = 0; at < command.length;) {
    const quote = open.at(-1) ?? "none";
    MARK.lastIndex = at;
    const mark = MARK.exec(command);
    if (mark) filled += argumentText(mark[1], quote, args, words);
    const length = mark ? mark[0].length : stepOver(command, at, open);
    if (!mark) filled += command.slice(at, at + length);
    at += length;
  }
  return filled;
}

function argumentText(digit: string | undefined, quote: Quote, args: string, words: readonly string[]): string {
  if (quote !== "none") return escaped(digit === undefined ? args : (words[Number(digit) - 1] ?? ""), quote);
  const own = digit === undefined ? words : words.slice(Number(digit) - 1, Number(digit));
  return own.map(quoted).join(" ");
}

/** How much of the command comes next as it is; what it opens or closes is noted in `open`. */
function stepOver(command: string, at: number, open: Quote[]): number {
  const [char, next] = [command[at], command[at + 1]];
  const quote = open.at(-1) ?? "none";
  if (char === "\\" && quote !== "single") return 2;
  if (quote === "single" || quote === "ansi") {
    if (char === "'") open.pop();
    return 1;
  }
  if (char === "$" && next === "(") return opened("none", open, 2);
  if (char === '"') return quote === "double" ? closed(open) : opened("double", open, 1);
  if (quote === "double") return 1;
  if (char === "$" && next === "'") return opened("ansi", open, 2);
  if (char === "'") return opened("single", open, 1);
  if (char === "(") return opened("none", open, 1);
  return char === ")" && open.length > 1 ? closed(open) : 1;
}

function opened(quote: Quote, open: Quote[], length: number): number {
  open.push(quote);
  return length;
}

function closed(open: Quote[]): number {
  open.pop();
  return 1;
}

function escaped(text: string, quote: Exclude<Quote, "none">): string {
  switch (quote) {
    case "single":
      return text.replaceAll("'", "'\\''");
    case "double":
      return text.replace(/[\\"$`]/g, "\\$&");
    case "ansi":
      return text.replace(/[\\']/g, "\\$&");
    default:
      return quote satisfies never;
  }
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
