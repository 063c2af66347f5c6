/** Guard rules on running what was just downloaded or decoded: piped or substituted into something that would run it. */
import { posix } from "node:path";
import { flagValue, hasFlag, splitArgv } from "./argv.ts";
import { refuse, type GuardCommand, type GuardRule } from "./guard-rule.ts";
import { everyEffective, sourcesOf, type ShellLine } from "./permission-line.ts";
import { effectiveCommands, upstream } from "./shell.ts";
import type { Effective, SimpleCommand, Word } from "./shell-types.ts";

const SHELLS = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh"];
const INTERPRETERS =
  /^(python|pypy|node|nodejs|perl|ruby|php|lua|bun|deno|pwsh|powershell|Rscript|tclsh|osascript)[\d.]*$/;

export const DOWNLOAD_RULES: readonly GuardRule[] = [
  refuse(
    "download-pipe-shell",
    SHELLS,
    "runs what was just downloaded or decoded",
    (command) => runsItsInput(command) && isFedByDownload(command),
  ),
  refuse(
    "download-pipe-interpreter",
    null,
    "runs what was just downloaded or decoded",
    (command) => INTERPRETERS.test(command.program) && runsItsInput(command) && isFedByDownload(command),
  ),
  refuse(
    "download-pipe-source",
    [".", "source"],
    "runs what was just downloaded or decoded",
    (command) => ["-", "/dev/stdin", "/dev/fd/0"].includes(command.args[0] ?? "") && isFedByDownload(command),
  ),
  refuse(
    "download-variable",
    null,
    "runs what was just downloaded or decoded",
    (command) => runsWords(command) && codeWords(command).some((word) => namesDownload(word, command.line)),
  ),
  refuse(
    "download-eval",
    ["eval"],
    "runs what was just downloaded or decoded",
    (command) => codeWords(command).some((word) => word.value === null) && isFedByDownload(command),
  ),
  refuse("download-name", null, "runs what was just downloaded or decoded", ({ effective }) =>
    effective.args.slice(0, 1).some((arg) => holdsDownload(arg.word)),
  ),
  refuse(
    "download-substituted",
    null,
    "runs what was just downloaded or decoded",
    (command) => runsWords(command) && codeWords(command).some(holdsDownload),
  ),
];

/** Shells, interpreters and the shell's own ways to run a text or a file. */
function runsWords({ program }: GuardCommand): boolean {
  return [...SHELLS, "eval", ".", "source"].includes(program) || INTERPRETERS.test(program);
}

const STDIN = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/** No script and no inline program: standard input is the program. */
function runsItsInput(command: GuardCommand): boolean {
  const { program, args, effective } = command;
  if (SHELLS.includes(program)) {
    const inline = args.some((arg) => /^-[a-zA-Z]*c/.test(arg));
    // `xargs sh -c`: the input is the code.
    if (inline && effective.appended)
      return effective.args.length < 3 || effective.args.some((arg) => arg.value === null);
    const [script] = splitArgv(args, { valued: "oO" }).operands.filter((arg) => !arg.startsWith("+"));
    return args.includes("-s") || (!inline && (script === undefined || STDIN.includes(script)));
  }
  const inline = args.some((arg) => /^-(-eval|-print|[cempr]|-version|-help|V|v|h)/.test(arg));
  const [first, second] = splitArgv(args).operands;
  const script = first === "run" ? second : first;
  return !inline && (script === undefined ? first === undefined : STDIN.includes(script));
}

function isFedByDownload({ effective, line }: GuardCommand): boolean {
  const { sources, complete } = sourcesOf(effective, line);
  return !complete || sources.some((source) => downloads(source) || printsDownload(source, line));
}

/** `echo "$x" | sh`, where the line filled `x` from the network. */
function printsDownload(source: SimpleCommand, line: ShellLine): boolean {
  if (!["echo", "printf"].includes(source.words[0]?.value ?? "")) return false;
  return source.words.slice(1).some((word) => namesDownload(word, line));
}

function codeWords({ effective }: GuardCommand): Word[] {
  const redirected = effective.command.redirects.flatMap((redirect) => redirect.target ?? []);
  return [...effective.args.slice(1).map((arg) => arg.word), ...redirected];
}

function holdsDownload(word: Word): boolean {
  return word.substitutions.some((command) => {
    let looked = 0;
    for (const source of upstream(command)) if (downloads(source) || ++looked > MAX_LOOKED) return true;
    return downloads(command);
  });
}

// Longer pipelines than any real one are taken for the worst.
const MAX_LOOKED = 200;

/** `x=$(curl …); eval "$x"`: the word names a variable of the line that holds a download. */
function namesDownload(word: Word, line: ShellLine): boolean {
  const names = [...word.text.matchAll(/\$\{?([A-Za-z_]\w*)/g)].map((match) => match[1] ?? "");
  if (names.length === 0) return false;
  const downloaded = downloadedNames(line);
  return names.some((name) => downloaded.has(name));
}

const namesByLine = new WeakMap<ShellLine, Set<string>>();

function downloadedNames(line: ShellLine): Set<string> {
  const known = namesByLine.get(line);
  if (known) return known;
  const assignments = line.commands.flatMap(({ simple }) => simple.assignments);
  const holding = assignments.filter((one) => one.value !== null && holdsDownload(one.value));
  const names = new Set(holding.map((one) => one.name));
  namesByLine.set(line, names);
  return names;
}

/** Whether the command's output comes from the network or out of an encoding. */
function downloads(command: SimpleCommand): boolean {
  const known = judged.get(command);
  if (known !== undefined) return known;
  const found = effectiveCommands(command, NOTHING_ELSE).some(({ words: [program = "", ...args] }) =>
    isDownload(program, args),
  );
  judged.set(command, found);
  return found;
}

/** Asked about a pipeline's first commands by each of the others. */
const judged = new WeakMap<SimpleCommand, boolean>();

// Only functions of the same line would be looked up in it, and those don't matter here.
const NOTHING_ELSE = { ok: true as const, commands: [], functions: new Set<string>(), runsCode: false };

function isDownload(program: string, args: readonly string[]): boolean {
  if (
    [
      "curl",
      "wget",
      "wget2",
      "fetch",
      "aria2c",
      "http",
      "https",
      "xh",
      "lwp-request",
      "lynx",
      "nc",
      "ncat",
      "netcat",
    ].includes(program)
  )
    return true;
  if (program === "base64" || program === "base32" || program === "basenc")
    return args.some((arg) => /^-[a-z]*[dD]/.test(arg) || /^--dec/.test(arg));
  if (program === "xxd") return args.some((arg) => /^-[a-z]*r/.test(arg));
  if (program === "openssl") return args.some((arg) => /^-(d|base64|a)$/.test(arg)) && args.includes("-d");
  return program === "uudecode" || program === "gpg";
}

/** `curl -o i.sh … && sh i.sh`: a file that the line itself fetches, then runs. */
export function runsDownloadedFile(line: ShellLine): boolean {
  const fetched = new Set<string>();
  for (const command of everyEffective(line)) {
    if (runFiles(command).some((file) => fetched.has(plainPath(file)))) return true;
    for (const file of fetchedFiles(command, line)) fetched.add(plainPath(file));
  }
  return false;
}

/** Files it runs: a script for a shell or an interpreter, or the program itself, by its path. */
function runFiles({ words: [program = "", ...args], args: [name] }: Effective): string[] {
  if (program === "." || program === "source") return args.slice(0, 1);
  if (SHELLS.includes(program) || INTERPRETERS.test(program))
    return splitArgv(args, { valued: "oO" }).operands.slice(0, 1);
  return name !== undefined && name.text.includes("/") ? [name.text] : [];
}

function fetchedFiles(command: Effective, line: ShellLine): string[] {
  const [program = "", ...args] = command.words;
  if (program === "tee" && sourcesOf(command, line).sources.some(downloads)) return splitArgv(args).operands;
  if (!isDownload(program, args)) return [];
  const redirected = command.command.redirects.flatMap(({ op, target }) =>
    target?.value != null && (op === ">" || op === ">|") ? [target.value] : [],
  );
  return [...redirected, ...namedOutputs(program, args)];
}

function namedOutputs(program: string, args: readonly string[]): string[] {
  const valued = program === "curl" ? "AbcCdDeEFhHKmoPQrtTuUwxXyYz" : "OPoaeUitTQwA";
  const output = flagValue(args, program === "curl" ? ["-o", "--output"] : ["-O", "--output-document"], { valued });
  if (output !== null) return [output];
  const keepsName = program !== "curl" || hasFlag(args, ["-O", "--remote-name", "--remote-name-all"], { valued });
  return keepsName
    ? splitArgv(args, { valued }).operands.map((url) => posix.basename(url.split(/[?#]/, 1)[0] ?? ""))
    : [];
}

function plainPath(file: string): string {
  return posix.normalize(file);
}
