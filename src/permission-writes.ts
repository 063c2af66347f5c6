/** Files a command line would write: by redirection, by a program that does just that (`tee`, `truncate`), or among the targets of `cp`, `mv`, `ln` … */
import { basename, join } from "node:path";
import { flagValue, hasFlag, splitArgv, splitGit } from "./argv.ts";
import { expandGlob } from "./glob-word.ts";
import type { PathFacts } from "./path-facts.ts";
import { everyEffective, redirectsOf, type ShellLine } from "./permission-line.ts";
import { absoluteDirectory, existsAt, expandTilde, locateWord, type Scene } from "./permission-scene.ts";
import type { Arg, Effective, Field, Redirect, SimpleCommand } from "./shell-types.ts";

/** A write that is certain from the text of the line. */
export interface LineWrite {
  /** As in the line. */
  text: string;
  /** Null when the target isn't known before the line runs. */
  path: PathFacts | null;
  /** `content`: judged as write_file is. `entry`: only a name is created, moved or removed, or a program writes among other work. */
  kind: "content" | "entry";
  command: SimpleCommand;
}

/** Every write of the line, redirections first. */
export function writesOf(line: ShellLine, scene: Scene): LineWrite[] {
  const redirected = [...redirectsOf(line)].flatMap(([redirect, command]) => redirectWrites(redirect, command, scene));
  const programs = [...everyEffective(line)].flatMap((command) => programWrites(command, scene));
  return [...redirected, ...programs];
}

const HARMLESS_TARGET = /^\/dev\/(null|stdout|stderr|tty|fd\/\d+)$/;

function redirectWrites(redirect: Redirect, command: SimpleCommand, scene: Scene): LineWrite[] {
  const { target, op } = redirect;
  if (!target || op === "<" || op === "<<" || op === "<<-" || op === "<<<" || op === "<&") return [];
  // `>&2`, `>&-` copy or close a descriptor; `>& file` writes one.
  if (op === ">&" && target.value !== null && /^(\d+-?|-)$/.test(target.value)) return [];
  // `> >(cmd)`: the command behind it is judged by itself.
  if (target.substitutions.length > 0 && /^>\(/.test(target.text)) return [];
  const known = target.alternatives.flat().flatMap((field) => fieldWrites(field, command, scene));
  const unknown = target.dynamic || !command.cwdKnown || target.alternatives.length === 0;
  if (!unknown || isAbsoluteKnown(target.value)) return known;
  return [
    ...known,
    { text: target.text, path: null, kind: "content", command },
    ...writesNear(target.shape, command, scene),
  ];
}

const UNKNOWN_PARTS = /\$\{[^}]*\}|\$\([^)]*\)|`[^`]*`|\$\w+|\$[@*#?$!-]/g;

/** `> .git/hooks/$name`, `> "$dir/.bashrc"`: where it goes is known well enough to protect it. */
function writesNear(shape: string, command: SimpleCommand, scene: Scene): LineWrite[] {
  const path = shape.replace(UNKNOWN_PARTS, "unknown").replace(/[*?[{`$].*$/s, "unknown");
  if (!path.includes("/")) return [];
  return command.cwds.map((cwd) => ({
    text: shape,
    path: locateWord(path, path.startsWith("~/"), cwd, scene),
    kind: "entry",
    command,
  }));
}

// A pattern that names more than this isn't where somebody writes.
const GLOB_LIMITS = { maxEntries: 2_000, dots: false };

/** `> .gi?/config`: what a wildcard in a target becomes. */
function writesByPattern(pattern: string, kind: LineWrite["kind"], command: SimpleCommand, scene: Scene): LineWrite[] {
  return command.cwds.flatMap((cwd) => {
    const { paths } = expandGlob(expandTilde(pattern, scene.homeDir), absoluteDirectory(cwd, scene), GLOB_LIMITS);
    return paths.map((text) => ({ text, path: locateWord(text, false, cwd, scene), kind, command }));
  });
}

function isAbsoluteKnown(value: string | null): boolean {
  return value !== null && /^[/~]/.test(value);
}

function fieldWrites(field: Field, command: SimpleCommand, scene: Scene): LineWrite[] {
  if (HARMLESS_TARGET.test(field.value)) return [];
  const matched =
    field.pattern === null ? [] : writesByPattern(patternBefore(field.pattern), "content", command, scene);
  const named = command.cwds.map((cwd): LineWrite => ({
    text: field.value,
    path: locateWord(field.value, field.tilde, cwd, scene),
    kind: "content",
    command,
  }));
  return [...named, ...matched.map((write) => beside(write, field.pattern ?? "", scene))];
}

/** The directories of a pattern: the file itself needn't exist yet. */
function patternBefore(pattern: string): string {
  const slash = pattern.lastIndexOf("/");
  return slash > 0 && /[*?[]/.test(pattern.slice(0, slash)) ? pattern.slice(0, slash) : pattern;
}

function beside(write: LineWrite, pattern: string, scene: Scene): LineWrite {
  if (patternBefore(pattern) === pattern) return write;
  const text = join(write.text, basename(pattern));
  return { ...write, text, path: locateWord(text, false, write.command.cwds[0] ?? ".", scene) };
}

export interface WritingProgram {
  programs: readonly string[];
  kind: LineWrite["kind"];
  /** Which words are written to. */
  targets(args: readonly string[]): string[];
  /** Names that appear in a destination, if that is a directory. */
  entries?(args: readonly string[]): { into: string; name: string }[];
}

const operandsOf =
  (valued = "") =>
  (args: readonly string[]): string[] =>
    splitArgv(args, { valued }).operands;

const COPY_VALUED = "tSmogefTB";

function copyTargets(args: readonly string[]): { into: string | undefined; sources: string[] } {
  const directory = flagValue(args, ["-t", "--target-directory"], { valued: COPY_VALUED });
  const { operands } = splitArgv(args, { valued: COPY_VALUED });
  if (directory !== null) return { into: directory, sources: operands };
  return { into: operands.at(-1), sources: operands.slice(0, -1) };
}

function destinationOf(args: readonly string[]): string[] {
  const { into } = copyTargets(args);
  return into === undefined ? [] : [into];
}

function entriesOf(args: readonly string[]): { into: string; name: string }[] {
  const { into, sources } = copyTargets(args);
  return into === undefined
    ? []
    : sources.map((source) => ({ into, name: basename(source.slice(source.indexOf(":") + 1)) }));
}

const valueOf =
  (flags: readonly string[], valued: string) =>
  (args: readonly string[]): string[] => {
    const value = flagValue(args, flags, { valued });
    return value === null ? [] : [value];
  };

export const WRITING_PROGRAMS: readonly WritingProgram[] = [
  { programs: ["tee", "sponge"], kind: "content", targets: operandsOf() },
  { programs: ["truncate"], kind: "content", targets: operandsOf("sro") },
  {
    programs: ["dd"],
    kind: "content",
    targets: (args) => args.filter((arg) => arg.startsWith("of=")).map((arg) => arg.slice(3)),
  },
  {
    programs: ["cp", "gcp", "install", "rsync", "scp"],
    kind: "entry",
    targets: destinationOf,
    entries: entriesOf,
  },
  {
    programs: ["mv", "gmv", "ln", "gln"],
    kind: "entry",
    targets: (args) => [...operandsOf("tS")(args), ...destinationOf(args)],
    entries: entriesOf,
  },
  {
    programs: ["rm", "rmdir", "unlink", "mkfifo", "ed", "ex", "vi", "vim", "nvim", "nano", "emacs", "micro"],
    kind: "entry",
    targets: operandsOf(),
  },
  { programs: ["touch"], kind: "entry", targets: operandsOf("dtr") },
  { programs: ["mkdir"], kind: "entry", targets: operandsOf("m") },
  { programs: ["patch"], kind: "entry", targets: operandsOf("iodrBDFgVYz") },
  { programs: ["chmod", "chown", "chgrp", "setfacl", "chattr"], kind: "entry", targets: operandsOf() },
  {
    programs: ["sed", "gsed", "perl"],
    kind: "entry",
    targets: (args) => (hasFlag(args, ["-i", "--in-place"], { valued: "efl" }) ? operandsOf("efl")(args) : []),
  },
  {
    programs: ["sort", "shuf", "tree", "base64", "iconv", "gpg", "zstd", "strip", "xz"],
    kind: "entry",
    targets: valueOf(["-o", "--output"], "ktSTo"),
  },
  {
    programs: ["gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "rustc", "tcc"],
    kind: "entry",
    targets: valueOf(["-o", "--output"], "oDILxlW"),
  },
  { programs: ["go"], kind: "entry", targets: valueOf(["-o"], "o") },
  { programs: ["openssl"], kind: "entry", targets: (args) => afterWord(args, "-out") },
  { programs: ["ssh-keygen"], kind: "entry", targets: valueOf(["-f"], "fbtCNPOs") },
  { programs: ["split", "xxd", "objcopy"], kind: "entry", targets: (args) => operandsOf("ablnCsco")(args).slice(1) },
  { programs: ["csplit"], kind: "entry", targets: valueOf(["-f", "--prefix"], "bfn") },
  {
    programs: ["curl"],
    kind: "entry",
    targets: valueOf(["-o", "--output", "--output-dir"], "AbcCdDeEFhHKmoPQrtTuUwxXyYz"),
  },
  {
    programs: ["wget"],
    kind: "entry",
    targets: valueOf(["-O", "-P", "--output-document", "--directory-prefix"], "OPoaeUitTQwA"),
  },
  { programs: ["tar", "bsdtar", "gtar"], kind: "entry", targets: valueOf(["-C", "--directory"], "fCTXbgLNVKHI") },
  { programs: ["unzip"], kind: "entry", targets: valueOf(["-d"], "dPx") },
  { programs: ["git"], kind: "entry", targets: gitTargets },
];

const GIT_WRITERS = ["checkout", "restore", "mv", "clone", "init", "worktree", "submodule"];

/** Paths that git itself fills or moves, and files it is told to write. */
function gitTargets(args: readonly string[]): string[] {
  const { sub, rest } = splitGit(args);
  const named = [...valueOf(["--output", "-o"], "obc")(rest), ...valueOf(["--directory"], "")(rest)];
  if (sub === "config") return [...named, ...valueOf(["-f", "--file"], "f")(rest)];
  return GIT_WRITERS.includes(sub) ? [...named, ...operandsOf("bBsc")(rest)] : named;
}

function afterWord(args: readonly string[], word: string): string[] {
  const at = args.indexOf(word);
  return at < 0 ? [] : args.slice(at + 1, at + 2);
}

/** Programs whose change isn't a file of theirs to name. */
const CRONTAB_LISTING = ["-l", "-V"];

/** Of our own subcommands, those that record consent, install rules or name servers. Null: whatever follows. */
const CHANGING: ReadonlyMap<string, readonly string[] | null> = new Map([
  ["trust", null],
  ["registry", ["add", "remove", "update"]],
  ["mcp", ["add", "remove", "login"]],
]);

/** The words before may be options with their values. */
function changesOurs(args: readonly string[]): boolean {
  const words = args.filter((arg) => !arg.startsWith("-"));
  return words.some((word, index) => {
    const actions = CHANGING.get(word);
    return actions === null || actions?.includes(words[index + 1] ?? "") === true;
  });
}

function programWrites(command: Effective, scene: Scene): LineWrite[] {
  const [program = "", ...args] = command.words;
  if (program === "shiro" && changesOurs(args))
    return [
      {
        text: command.words.join(" "),
        path: locateWord(join(scene.home, "config.json"), false, ".", scene),
        kind: "entry",
        command: command.command,
      },
    ];
  if (program === "crontab" && !hasFlag(args, CRONTAB_LISTING, { valued: "u" }))
    return [
      {
        text: "crontab",
        path: locateWord("/var/spool/cron/crontabs", false, ".", scene),
        kind: "entry",
        command: command.command,
      },
    ];
  const rows = WRITING_PROGRAMS.filter((row) => row.programs.includes(program));
  if (rows.length === 0) return [];
  const byText = new Map(command.args.map((arg) => [arg.text, arg] as const));
  return rows.flatMap((row) => {
    const context = { kind: row.kind, command, scene };
    const named = row.targets(args).flatMap((target) => targetWrites(target, byText.get(target), context));
    return [...named, ...(row.entries?.(args) ?? []).flatMap((entry) => entryWrites(entry, context))];
  });
}

interface TargetContext {
  kind: LineWrite["kind"];
  command: Effective;
  scene: Scene;
}

/** `arg` is the word itself, where the target is one as it stands. */
function targetWrites(target: string, arg: Arg | undefined, { kind, command, scene }: TargetContext): LineWrite[] {
  // What a process substitution takes in runs by itself.
  if (HARMLESS_TARGET.test(target) || target === "-" || /^>\(/.test(arg?.word.text ?? "")) return [];
  const unknown = arg ? arg.value === null || arg.dynamic : /[$`]/.test(target);
  const near = unknown ? writesNear(arg?.dynamic === true ? arg.word.shape : target, command.command, scene) : [];
  const asked: LineWrite[] =
    unknown && kind === "content" ? [{ text: target, path: null, kind, command: command.command }] : [];
  if (unknown && arg?.value == null) return [...asked, ...near];
  const pattern = arg?.pattern ?? null;
  const matched =
    pattern === null
      ? []
      : writesByPattern(patternBefore(pattern), kind, command.command, scene).map((write) =>
          beside(write, pattern, scene),
        );
  const tilde = arg ? arg.tilde : target.startsWith("~/");
  const named = command.command.cwds.map((cwd): LineWrite => ({
    text: target,
    path: locateWord(target, tilde, cwd, scene),
    kind,
    command: command.command,
  }));
  return [...asked, ...near, ...named, ...matched];
}

/** Only a directory takes what is copied into it under its own name. */
function entryWrites({ into, name }: { into: string; name: string }, context: TargetContext): LineWrite[] {
  const isDirectory = (path: PathFacts) => into.endsWith("/") || existsAt(join(path.absolute, "..")) === "directory";
  return targetWrites(join(into, name), undefined, context).filter(({ path }) => path === null || isDirectory(path));
}
