/** Programs that read or copy whole directories (`grep -r`, `tar`, `cp -r`, `find … -exec`): over one that holds a refused file they are never simply allowed. */
import { dirname } from "node:path";
import { flagValue, hasFlag, splitArgv, splitGit } from "./argv.ts";
import { matchesGlobPart } from "./glob-word.ts";
import type { PathFacts } from "./path-facts.ts";
import { everyEffective, sourcesOf, type ShellLine } from "./permission-line.ts";
import { exhausted, lookFor } from "./permission-look.ts";
import {
  absoluteDirectory,
  existsAt,
  locateWord,
  readRefusal,
  type FileRefusal,
  type Scene,
} from "./permission-scene.ts";
import type { Effective, SimpleCommand } from "./shell-types.ts";

interface RecursiveReader {
  programs: readonly string[];
  isRecursive(args: readonly string[], command: Effective, line: ShellLine): boolean;
  /** The first operand is a pattern. */
  patternFirst?: true;
  /** Leaves names that begin with a dot alone. */
  skipsDots?(args: readonly string[]): boolean;
  /** Names only what is directly in the directory. */
  shallow?: true;
  /** Short options that take a value. */
  valued?: string;
  /** Without a directory among its words it starts where it runs. */
  startsHere?(args: readonly string[]): boolean;
}

export const RECURSIVE_READERS: readonly RecursiveReader[] = [
  {
    programs: ["grep", "egrep", "fgrep", "zgrep", "ugrep"],
    patternFirst: true,
    isRecursive: (args) =>
      hasFlag(args, ["-r", "-R", "--recursive", "--dereference-recursive"], { valued: "efmABCDd" }) ||
      flagValue(args, ["-d", "--directories"], { valued: "efmABCD" }) === "recurse",
  },
  { programs: ["git"], startsHere: (args) => splitGit(args).sub !== "diff", isRecursive: leavesIndex },
  { programs: ["rgrep"], patternFirst: true, isRecursive: () => true },
  {
    programs: ["rg", "ag", "ack"],
    patternFirst: true,
    valued: "ABCEMdefgjmrtT",
    isRecursive: (args, command, line) => !hasFlag(args, ["--files"]) || namesFiles(command, line),
    skipsDots: (args) =>
      !hasFlag(args, ["--hidden", "-.", "-u", "--unrestricted"]) &&
      !args.some((arg) => /^(-g|--i?glob=)?\.[^/]/.test(arg)),
  },
  {
    programs: ["cp", "gcp"],
    isRecursive: (args) => hasFlag(args, ["-r", "-R", "-a", "--recursive", "--archive"], { valued: "tS" }),
  },
  { programs: ["scp"], isRecursive: (args) => hasFlag(args, ["-r"], { valued: "cFiJloPSDX" }) },
  {
    programs: ["rsync"],
    isRecursive: (args) => hasFlag(args, ["-r", "-a", "--recursive", "--archive"], { valued: "efTB" }),
  },
  {
    programs: ["tar", "bsdtar", "gtar"],
    isRecursive: (args) =>
      /^[a-zA-Z]*[cru]/.test(args[0] ?? "") ||
      hasFlag(args, ["-c", "-r", "-u", "--create", "--append", "--update"], { valued: "fCTXbgLNVKHI" }),
  },
  { programs: ["zip"], isRecursive: (args) => hasFlag(args, ["-r", "-R", "--recurse-paths"], { valued: "bnti" }) },
  { programs: ["7z", "7za", "7zz"], isRecursive: (args) => args[0] === "a" || args[0] === "u" },
  // Of two directories it compares the files even without -r.
  { programs: ["diff"], isRecursive: (args) => splitArgv(args, { valued: "UCIxXSFLDW" }).operands.length > 0 },
  { programs: ["pax"], isRecursive: (args) => hasFlag(args, ["-w"], { valued: "bfosxBEGTUp" }) },
  {
    programs: ["find", "gfind"],
    startsHere: () => true,
    isRecursive: (_, command, line) => command.wraps || namesFiles(command, line),
  },
  {
    programs: ["fd", "fdfind"],
    patternFirst: true,
    startsHere: () => true,
    isRecursive: (_, command, line) => command.wraps || namesFiles(command, line),
    skipsDots: (args) => !hasFlag(args, ["-H", "--hidden", "-u", "--unrestricted"], { valued: "detEScj" }),
  },
  {
    programs: ["ls", "gls", "dir"],
    shallow: true,
    isRecursive: (_, command, line) => namesFiles(command, line),
    skipsDots: (args) => !hasFlag(args, ["-a", "-A", "-f", "--all", "--almost-all"], { valued: "ITw" }),
  },
];

/** git reading what isn't its own: `git grep --no-index`, `git diff --no-index`, `git ls-files -o | xargs cat`. */
function leavesIndex(args: readonly string[], command: Effective, line: ShellLine): boolean {
  const { sub, rest } = splitGit(args);
  if (sub === "ls-files") return hasFlag(rest, ["-o", "--others"], { valued: "xX" }) && namesFiles(command, line);
  return ["grep", "diff"].includes(sub) && rest.some((arg) => ["--no-index", "--untracked"].includes(arg));
}

/** Why this command may come upon a refused file on its way through a directory; null when it goes through none that holds one. */
export function recursiveRefusal(command: Effective, line: ShellLine, scene: Scene): FileRefusal | null {
  const [program = "", ...args] = command.words;
  const reader = RECURSIVE_READERS.find((candidate) => candidate.programs.includes(program));
  if (!reader || !reader.isRecursive(args, command, line)) return null;
  const dots = reader.skipsDots?.(args) === true;
  const look = lookFor(line, scene);
  for (const directory of directoriesOf(command, reader, scene)) {
    const files = look.refusedBelow(directory);
    if (files === null) return exhausted();
    const found = files.find(
      (path) =>
        isSelected(path, command.words) &&
        !(dots && isHidden(path)) &&
        !(reader.shallow && dirname(path.absolute) !== directory),
    );
    const refusal = found ? readRefusal(found, scene) : null;
    if (refusal)
      return {
        ...refusal,
        decision: "ask",
        reason: `It goes through a directory that holds ${found?.written}. ${refusal.reason}`,
      };
  }
  return null;
}

function directoriesOf(command: Effective, reader: RecursiveReader, scene: Scene): string[] {
  const cwd = command.command.cwds[0] ?? ".";
  const words = command.args.slice(1).filter((arg) => arg.value !== null && !arg.text.startsWith("-"));
  const pattern = reader.patternFirst && !hasFlag(command.words.slice(1), ["-e", "-f", "--regexp", "--file"]);
  const named = words.slice(pattern ? 1 : 0);
  const found = named
    .map((arg) => locateWord(arg.text, arg.tilde, cwd, scene).absolute)
    .filter((path) => existsAt(path) === "directory");
  const operands =
    splitArgv(command.words.slice(1), { valued: reader.valued ?? "" }).operands.length - (reader.patternFirst ? 1 : 0);
  return found.length > 0
    ? found
    : operands <= 0 || reader.startsHere?.(command.words.slice(1))
      ? [absoluteDirectory(cwd, scene)]
      : [];
}

/** Whether the reader's own name filters let the file through; several filters are taken as alternatives. */
function isSelected(path: PathFacts, words: readonly string[]): boolean {
  const filters = words.flatMap((word, index) => {
    const next = words[index + 1] ?? "";
    const excluded = ["!", "-not"].includes(words[index - 1] ?? "");
    if (["-name", "-iname", "--include", "-g", "--glob"].includes(word)) return excluded ? [] : [next];
    const inline = /^(?:--include|--glob)=(.*)$/.exec(word)?.[1] ?? /^-g(.+)$/.exec(word)?.[1];
    return inline === undefined ? [] : [inline];
  });
  const name = path.written.split("/").at(-1) ?? "";
  const plain = filters.filter((filter) => !filter.startsWith("!") && !filter.includes("/") && !filter.includes("{"));
  if (plain.length === 0 || plain.length < filters.length || words.some((word) => ["(", "-o", "-or"].includes(word)))
    return true;
  return plain.some((filter) => matchesGlobPart(filter.toLowerCase(), name.toLowerCase()));
}

function isHidden(path: PathFacts): boolean {
  return path.written.split("/").some((part) => part.startsWith(".") && part !== "..");
}

/** What it prints becomes names of files for another program: through a pipe, or as its arguments. */
function namesFiles(command: Effective, line: ShellLine): boolean {
  if (line.piped.has(command.command)) return feedsXargs(command, line);
  return command.command.context === "substitution";
}

const feeding = new WeakMap<ShellLine, Set<SimpleCommand>>();

function feedsXargs(command: Effective, line: ShellLine): boolean {
  const known = feeding.get(line) ?? feedersOf(line);
  feeding.set(line, known);
  return known.has(command.command);
}

/** Commands whose output becomes the file names another program works on. */
function feedersOf(line: ShellLine): Set<SimpleCommand> {
  const feeders = new Set<SimpleCommand>();
  for (const other of everyEffective(line)) {
    if (!/^(xargs|parallel|cpio|tar|rsync|zip|read)$/.test(other.words[0] ?? "")) continue;
    for (const source of sourcesOf(other, line).sources) feeders.add(source);
  }
  return feeders;
}
