/** Command lines inside the arguments of programs that run them elsewhere or by their own syntax: git's aliases, awk's `system`, `ssh`, `docker exec`, code for interpreters. For the guard only. */
import { flagValue, splitArgv, splitGit } from "./argv.ts";

export interface Carrier {
  /** Unique; for tests that take one row away. */
  name: string;
  programs: readonly string[];
  /** Command lines found in the arguments. */
  inner(args: readonly string[]): string[];
}

const CONTAINERS = ["docker", "podman", "nerdctl", "docker-compose"];
const SANDBOXES = ["bwrap", "runcon", "toolbox", "distrobox", "lxc", "start-stop-daemon", "kubectl", "oc"];
const INTERPRETERS = [
  ..."python python2 python3 pypy pypy3 perl ruby node nodejs bun deno php lua luajit tsx ts-node Rscript".split(" "),
];

export const CARRIERS: readonly Carrier[] = [
  { name: "git-config", programs: ["git"], inner: (args) => splitGit(args).globals.flatMap(configCommand) },
  { name: "git-foreach", programs: ["git"], inner: (args) => gitRest(args, "submodule", "foreach") },
  { name: "git-bisect", programs: ["git"], inner: (args) => gitRest(args, "bisect", "run") },
  { name: "git-rebase", programs: ["git"], inner: rebaseCommand },
  { name: "awk-system", programs: ["awk", "gawk", "mawk", "nawk"], inner: (args) => args.flatMap(systemCalls) },
  { name: "sed-execute", programs: ["sed", "gsed"], inner: (args) => args.flatMap(executedBySed) },
  { name: "editor-command", programs: ["vim", "vi", "nvim", "ex"], inner: (args) => args.flatMap(editorCommand) },
  { name: "debugger-command", programs: ["gdb", "lldb"], inner: (args) => args.flatMap(debuggerCommand) },
  { name: "interpreter-code", programs: INTERPRETERS, inner: (args) => args.flatMap(commandsInCode) },
  { name: "ssh", programs: ["ssh"], inner: (args) => afterOperands(args, 1, "bcDEeFIiJLlmoOpQRSWw", " ") },
  { name: "container-exec", programs: CONTAINERS, inner: (args) => afterWord(args, "exec", 1, "uwe") },
  { name: "container-run", programs: CONTAINERS, inner: runInContainer },
  { name: "sandbox", programs: SANDBOXES, inner: (args) => suffixesOf(args) },
  {
    name: "option-command",
    programs: ["tar", "bsdtar", "gtar", "split", "rsync", "ssh", "scp", "sftp", "sort", "rg", "socat", "ncat"],
    inner: (args) => args.flatMap((arg) => COMMAND_OPTION.exec(arg)?.[1] ?? []),
  },
  {
    name: "tar-program",
    programs: ["tar", "bsdtar", "gtar"],
    inner: (args) => valueOf(args, ["-I", "-F"], "fCTXbgLNVKH"),
  },
  {
    name: "remote-shell",
    programs: ["rsync", "nc", "ncat"],
    inner: (args) => valueOf(args, ["-e", "-c", "--rsh"], "fTBwpsi"),
  },
];

/** `-c alias.x=!cmd`, `-c alias.x=push --force`, `-c core.pager=cmd`: an alias without `!` is a git command. */
function configCommand(arg: string): string[] {
  const [, key = "", value = ""] = /^(?:-c)?([\w.-]+)=([\s\S]*)$/.exec(arg) ?? [];
  if (value.startsWith("!")) return [value.slice(1)];
  if (/^alias\./i.test(key)) return [`git ${value}`];
  return /(pager|editor|command|fsmonitor|external|textconv|askpass|helper|program|cmd|driver|clean|smudge)$/i.test(key)
    ? [value]
    : [];
}

function gitRest(args: readonly string[], sub: string, verb: string): string[] {
  const git = splitGit(args);
  const at = git.rest.indexOf(verb);
  return git.sub === sub && at >= 0 ? afterOperands(git.rest.slice(at + 1), 0, "") : [];
}

function rebaseCommand(args: readonly string[]): string[] {
  const git = splitGit(args);
  const command = git.sub === "rebase" ? flagValue(git.rest, ["-x", "--exec"], { valued: "sXCO" }) : null;
  return command === null ? [] : [command];
}

function systemCalls(program: string): string[] {
  const calls = [
    ...program.matchAll(/\bsystem\s*\(\s*"((?:[^"\\]|\\.)*)"/g),
    ...program.matchAll(/\|\s*"((?:[^"\\]|\\.)*)"/g),
    ...program.matchAll(/"((?:[^"\\]|\\.)*)"\s*\|\s*getline/g),
  ];
  return calls.map((match) => (match[1] ?? "").replace(/\\(.)/g, "$1"));
}

function executedBySed(script: string): string[] {
  return [...script.matchAll(/(?:^|[;{}$/\d\n])[ \t]*e[ \t]+([^\n]+)/g)].map((match) => match[1] ?? "");
}

function editorCommand(arg: string): string[] {
  const command = /^[+:]*!([\s\S]+)$/.exec(arg)?.[1];
  return command === undefined ? [] : [command];
}

function debuggerCommand(arg: string): string[] {
  const command = /^(?:shell\s+|!|platform shell\s+)([\s\S]+)$/.exec(arg)?.[1];
  return command === undefined ? [] : [command];
}

const RUNS_COMMANDS =
  /\b(system|popen|exec\w*|spawn\w*|subprocess|check_output|check_call|shell_exec|passthru|qx|Open3|Popen)\b|\$`|^\s*`|Bun\.\$/;
const MAX_CODE = 64 * 1024;

/** Texts in code that runs commands: each by itself, and all together, as in `run(["rm", "-rf", "x"])`. */
function commandsInCode(code: string): string[] {
  if (!RUNS_COMMANDS.test(code.slice(0, MAX_CODE))) return [];
  const found = code.slice(0, MAX_CODE).matchAll(/"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g);
  const texts = [...found].map((match) => match[1] ?? match[2] ?? match[3] ?? "").slice(0, MAX_TEXTS);
  return texts.length > 1 ? [...texts, texts.join(" ")] : texts;
}

const MAX_TEXTS = 50;

const COMMAND_OPTION =
  /^(?:--(?:to-command|use-compress-program|filter|rsh|rsync-path|compress-program|pre|exec|sh-exec|checkpoint-action)=(?:exec=)?|(?:-o)?ProxyCommand=|(?:-o)?LocalCommand=|(?:EXEC|SYSTEM|SHELL):)([\s\S]+)$/i;

function valueOf(args: readonly string[], flags: readonly string[], valued: string): string[] {
  const value = flagValue(args, flags, { valued });
  return value === null ? [] : [value];
}

function runInContainer(args: readonly string[]): string[] {
  const at = args.indexOf("run");
  return at < 0 ? [] : suffixesOf(args.slice(at + 1));
}

/** What follows the first `count` operands, as one line. */
function afterOperands(args: readonly string[], count: number, valued: string, join?: " "): string[] {
  const rest = splitArgv(args, { valued, stopAtOperand: true }).operands.slice(count);
  return rest.length === 0 ? [] : [join === undefined ? lineOf(rest) : rest.join(join)];
}

function afterWord(args: readonly string[], word: string, count: number, valued: string): string[] {
  const at = args.indexOf(word);
  return at < 0 ? [] : afterOperands(args.slice(at + 1), count, valued);
}

// Options and operands of many kinds stand in front; what is dangerous is found wherever it starts.
const MAX_SUFFIXES = 24;
const MAX_SUFFIX_WORDS = 64;
const MAX_SUFFIX_CHARS = 4_096;

function suffixesOf(args: readonly string[]): string[] {
  return args.slice(0, MAX_SUFFIXES).flatMap((arg, at) => {
    const words = args.slice(at, at + MAX_SUFFIX_WORDS).map((word) => word.slice(0, MAX_SUFFIX_CHARS));
    return /^[A-Za-z/.]/.test(arg) ? [lineOf(words)] : [];
  });
}

/** Words as a line of which each is one word again; a single one is a line by itself. */
function lineOf(words: readonly string[]): string {
  const [only] = words;
  return words.length === 1 && only !== undefined ? only : words.map(quoted).join(" ");
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
