/** Files a command line would show or copy that the read rules refuse: named outright, by wildcard, in a larger word, or found by a recursive reader. */
import { posix, resolve } from "node:path";
import { hasFlag, splitGit } from "./argv.ts";
import { redirectsOf, type ShellLine } from "./permission-line.ts";
import { exhausted, lookFor, type Look } from "./permission-look.ts";
import { recursiveRefusal } from "./permission-recursive.ts";
import type { FileRefusal, Scene } from "./permission-scene.ts";
import type { Arg, Effective } from "./shell-types.ts";
import { stdinOf } from "./shell.ts";

const MAX_WORD = 4_096;

/** The strictest refusal this command meets; null when it reads nothing that is refused. */
export function refusedReadOf(command: Effective, line: ShellLine, scene: Scene): FileRefusal | null {
  const skipped = wordsThatNameNoFile(command, line);
  const look = lookFor(line, scene);
  let question: FileRefusal | null = null;
  for (const [index, arg] of command.args.entries()) {
    const refusal = index === 0 || skipped.has(index) ? null : refusalOfArg(arg, command, look);
    if (refusal?.decision === "deny") return refusal;
    question ??= refusal;
  }
  const quoted = refusalOfLiterals(command, look);
  if (quoted?.decision === "deny") return quoted;
  return question ?? quoted ?? recursiveRefusal(command, line, scene);
}

const SCRIPTED =
  /^(python|pypy|node|nodejs|perl|ruby|php|lua|luajit|bun|deno|tsx|ts-node|pwsh|Rscript|tclsh|awk|gawk|mawk|sqlite3|duckdb|psql|mysql|mariadb|vim|nvim|emacs)[\d.]*$/;
const MAX_LITERALS = 200;

/** Files that a program given on the line names in quotes (`python3 -c "open('.env')"`), and those sed reads (`r .env`). */
function refusalOfLiterals(command: Effective, look: Look): FileRefusal | null {
  const [program = "", ...args] = command.words;
  const isSed = program === "sed" || program === "gsed";
  if (!isSed && !SCRIPTED.test(program)) return null;
  const input = stdinOf(command.command);
  const texts = [...args, input?.hereDoc?.body ?? (input?.op === "<<<" ? (input.target?.shape ?? "") : "")];
  const form = isSed ? SED_READ : LITERAL;
  const names = texts.flatMap((text) => [...text.slice(0, MAX_CODE).matchAll(form)].map((match) => match[1] ?? ""));
  for (const name of new Set(names.slice(0, MAX_LITERALS))) {
    const refusal = refusalOfField(
      { text: name, pattern: null, tilde: name.startsWith("~/") },
      command.command.cwds,
      look,
    );
    if (refusal) return refusal;
  }
  return null;
}

const MAX_CODE = 64 * 1024;
const LITERAL = /(?<=["'`])([^"'`\n]{1,300})(?=["'`])/g;
const SED_READ = /[rR]\s*([^\s;}]{1,300})/g;

/** The same for what the line's redirections read (`< file`). */
export function refusedInput(line: ShellLine, scene: Scene): FileRefusal | null {
  const look = lookFor(line, scene);
  const refusals = [...redirectsOf(line)].flatMap(([redirect, command]) => {
    if (!redirect.target || (redirect.op !== "<" && redirect.op !== "<>")) return [];
    const { alternatives, dynamic, shape } = redirect.target;
    const known = alternatives
      .flat()
      .map((field) => refusalOfField({ ...field, text: field.value }, command.cwds, look));
    return dynamic ? [...known, unknownRefusal(shape, command.cwds, look)] : known;
  });
  return refusals.find((one) => one?.decision === "deny") ?? refusals.find((one) => one !== null) ?? null;
}

type Named = Pick<Arg, "text" | "pattern" | "tilde">;

function refusalOfArg(arg: Arg, command: Effective, look: Look): FileRefusal | null {
  if (arg.text.length > MAX_WORD || arg.text.includes("\n")) return null;
  const cwds = directoriesOf(command);
  if (arg.value === null) return unknownRefusal(arg.text, cwds, look);
  const whole = refusalOfField(arg, cwds, look);
  if (whole) return whole;
  for (const piece of piecesOf(arg.text, command)) {
    const refusal = refusalOfPiece(piece, cwds, look);
    if (refusal) return refusal;
  }
  return arg.dynamic ? unknownRefusal(arg.word.shape, cwds, look) : null;
}

function refusalOfField(named: Named, cwds: readonly string[], look: Look): FileRefusal | null {
  for (const cwd of cwds) {
    const directories = look.directories(cwd);
    if (directories === null) return exhausted();
    for (const directory of directories) {
      const refusal =
        (named.pattern === null ? null : look.refusalOfPattern(named.pattern, directory)) ??
        look.refusalAt(named.tilde ? look.homed(named.text) : named.text, directory);
      if (refusal) return refusal;
    }
  }
  return null;
}

const MOVERS = ["git", "tar", "bsdtar", "gtar", "make", "gmake", "ninja"];

/** Where its words are looked for: where it runs, and where `-C dir` takes it. */
function directoriesOf({ words, command }: Effective): readonly string[] {
  if (!MOVERS.includes(words[0] ?? "")) return command.cwds;
  const targets = words.flatMap((word, at) => {
    if (word === "-C" || word === "--directory") return [words[at + 1] ?? "."];
    const inline = /^(?:-C|--directory=)(.+)$/.exec(word)?.[1];
    return inline === undefined ? [] : [inline];
  });
  return [...command.cwds, ...targets.flatMap((target) => command.cwds.map((cwd) => posix.join(cwd, target)))];
}

interface Piece {
  text: string;
  /** Counts though no such file is there: git reads it from a commit. */
  evenIfMissing: boolean;
}

// `--file=.env`, `if=.env`, `HEAD:.env`, `@.env`, `-f.env`, `-v .env:/x`: the parts of a word that can name a file.
function piecesOf(text: string, command: Effective): Piece[] {
  const fromCommit = command.words[0] === "git" && !text.includes("://");
  if (/^(:[!^]|:\(exclude\))/.test(text)) return [];
  const parts = /[=:@,;()|]/.test(text) ? text.split(/[=:@,;()|]/) : [];
  const attached = /^-[A-Za-z]./.test(text) ? [text.slice(2)] : [];
  return [...new Set([...parts, ...attached])]
    .filter((part) => part !== "" && part !== text)
    .map((part) => ({ text: part, evenIfMissing: fromCommit && text.endsWith(`:${part}`) }));
}

function refusalOfPiece(piece: Piece, cwds: readonly string[], look: Look): FileRefusal | null {
  const named = { text: piece.text, pattern: null, tilde: piece.text.startsWith("~/") };
  const found = refusalOfField(named, cwds, look);
  if (found || !piece.evenIfMissing) return found;
  return look.refusalOf(resolve(look.directory(cwds[0] ?? "."), piece.text));
}

const UNKNOWN = /\$\{[^}]*\}|\$\([^)]*\)|`[^`]*`|\$[A-Za-z_]\w*|\$[@*#?$!0-9-]/g;

/** A word with an unknown part can't be said to name a file, but may: that asks. */
function unknownRefusal(text: string, cwds: readonly string[], look: Look): FileRefusal | null {
  const pattern = text.replace(UNKNOWN, "*");
  if (pattern.replace(/[*?[\]]/g, "").length < 3) return null;
  const name = pattern.split("/").at(-1) ?? "";
  const directory = look.directory(cwds[0] ?? ".");
  const named = name.includes("*") ? null : look.refusalOf(resolve(directory, name));
  const refusal = named ?? look.refusalOfPattern(pattern, directory);
  // Whichever process it is, its environment isn't shown.
  if (!refusal || /^\/proc\/[^/]*\/(environ|mem)$/.test(pattern)) return refusal;
  return {
    ...refusal,
    decision: "ask",
    reason: `${text} may name a file whose contents are refused. ${refusal.reason}`,
  };
}

const NAME_ONLY = ["echo", "printf", "ls", "test", "[", "[[", "basename", "dirname", "which", "type", "cd", "pushd"];
const NAME_ONLY_GIT = ["check-ignore", "ls-files", "check-attr"];
const SEARCHERS = [
  "grep",
  "egrep",
  "fgrep",
  "zgrep",
  "rg",
  "ag",
  "ack",
  "ugrep",
  "sed",
  "gsed",
  "awk",
  "gawk",
  "mawk",
  "jq",
  "yq",
];
const PATTERN_OPTIONS = [
  "-e",
  "--regexp",
  "--include",
  "--exclude",
  "--exclude-dir",
  "-g",
  "--glob",
  "--iglob",
  "--expression",
  "--ignore",
  "-x",
  "-m",
  "--message",
  "--grep",
];
const FIND_TESTS = ["-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-lname"];

/** Indexes of arguments that are text, not files: patterns, messages, names for a program that only prints them. */
function wordsThatNameNoFile(command: Effective, line: ShellLine): Set<number> {
  const [program = "", ...args] = command.words;
  const feeds = line.piped.has(command.command) || command.command.context !== "plain" || command.appended;
  const git = program === "git" ? splitGit(args) : null;
  if ((NAME_ONLY.includes(program) || (git && NAME_ONLY_GIT.includes(git.sub))) && !feeds)
    return new Set(command.words.keys());
  if (program === "find") return feeds || command.wraps ? new Set() : valuesOf(command.words, FIND_TESTS);
  const skipped = valuesOf(command.words, PATTERN_OPTIONS);
  if (
    git &&
    git.sub !== "commit" &&
    git.sub !== "tag" &&
    git.sub !== "grep" &&
    git.sub !== "log" &&
    git.sub !== "merge"
  )
    return new Set();
  if (!SEARCHERS.includes(program) && !git)
    return program === "tar" || program === "rsync" || program === "zip" ? skipped : new Set();
  if (SEARCHERS.includes(program) && !hasFlag(args, ["-e", "--regexp", "-f", "--file"]))
    addFirstOperand(command.words, skipped);
  return skipped;
}

function valuesOf(words: readonly string[], options: readonly string[]): Set<number> {
  const found = new Set<number>();
  for (const [index, word] of words.entries()) {
    if (options.includes(word)) found.add(index + 1);
    else if (options.some((option) => option.startsWith("--") && word.startsWith(`${option}=`))) found.add(index);
  }
  return found;
}

function addFirstOperand(words: readonly string[], skipped: Set<number>): void {
  const first = words.findIndex((word, index) => index > 0 && !word.startsWith("-") && !skipped.has(index));
  if (first > 0) skipped.add(first);
}
