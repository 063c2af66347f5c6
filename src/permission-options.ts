/** Options that make a program which only reads run another one or write: a table. An `allow` by wildcard doesn't reach them. Pure. */
import { flagValue, hasFlag, splitArgv, splitGit } from "./argv.ts";
import { GIT_OPTION_ROWS, type OptionRow } from "./permission-options-git.ts";
import { runsCodeInAwk, runsCodeInSed } from "./permission-scripts.ts";

const AWK = ["awk", "gawk", "mawk", "nawk", "original-awk"];

export const OPTION_ROWS: readonly OptionRow[] = [
  ...GIT_OPTION_ROWS,
  { programs: ["find"], test: hasFindAction, why: "runs a command, deletes or writes a file" },
  {
    programs: ["fd", "fdfind"],
    flags: ["-x", "-X", "--exec", "--exec-batch"],
    style: { valued: "detEScj" },
    why: "runs a command per file",
  },
  { programs: ["rg"], flags: ["--pre"], why: "runs a program per file" },
  { programs: ["rg"], flags: ["--hostname-bin"], why: "runs a program" },
  {
    programs: ["rg"],
    flags: ["-z", "--search-zip"],
    style: { valued: "ABCEMdefgjmrtT" },
    why: "runs decompressors found on PATH",
  },
  {
    programs: ["base64", "basenc", "base32"],
    flags: ["-o", "--output"],
    style: { valued: "iobw" },
    why: "writes a file",
  },
  {
    programs: ["tar", "bsdtar", "gtar"],
    flags: [
      "--to-command",
      "--checkpoint-action",
      "--use-compress-program",
      "--rsh-command",
      "--rmt-command",
      "--info-script",
      "--new-volume-script",
    ],
    why: "runs a program",
  },
  { programs: ["tar", "bsdtar", "gtar"], flags: ["-I", "-F"], style: { valued: "fCTXbgLNVKH" }, why: "runs a program" },
  { programs: ["sort"], flags: ["-o", "--output"], style: { valued: "ktSTo" }, why: "writes a file" },
  { programs: ["sort"], flags: ["--compress-program"], why: "runs a program" },
  { programs: ["shuf", "tree"], flags: ["-o", "--output"], style: { valued: "inLIPo" }, why: "writes a file" },
  { programs: ["split"], flags: ["--filter"], why: "runs a command" },
  { programs: ["sed", "gsed"], flags: ["-i", "--in-place"], style: { valued: "efl" }, why: "writes files in place" },
  {
    programs: ["sed", "gsed"],
    flags: ["-f", "--file"],
    style: { valued: "efl" },
    why: "runs a script that isn't shown",
  },
  {
    programs: ["sed", "gsed"],
    test: (args) => sedScripts(args).some(runsCodeInSed),
    why: "writes a file or runs a command from its script",
  },
  {
    programs: AWK,
    test: (args) => awkPrograms(args).some(runsCodeInAwk),
    why: "runs a command or writes a file from its program",
  },
  {
    programs: AWK,
    flags: ["-f", "--file", "-i", "--include", "-l", "--load", "-E", "--exec"],
    style: { valued: "vFfilEe" },
    why: "runs a program that isn't shown",
  },
  {
    programs: ["less", "more", "most"],
    test: (args) => args.some((arg) => /^\+.*[!|]/.test(arg)),
    why: "runs a command",
  },
  {
    programs: ["less"],
    flags: ["-k", "-o", "-O", "--lesskey-file", "--lesskey-src", "--log-file", "--LOG-FILE"],
    style: { valued: "bhjkoOpPtTxyz" },
    why: "writes a file or reads commands",
  },
  {
    programs: ["man"],
    flags: ["-P", "--pager", "-H", "--html", "-C", "--config-file"],
    style: { valued: "CRLmMSseEpP" },
    why: "runs a program of its choice",
  },
  {
    programs: ["env"],
    flags: ["-S", "--split-string"],
    style: { valued: "uCS" },
    why: "takes its command apart itself",
  },
  { programs: ["ssh", "scp", "sftp"], test: hasSshCommand, why: "runs a local command" },
  {
    programs: ["ssh", "scp", "sftp"],
    flags: ["-F"],
    style: { valued: "bcDEeFIiJLlmOopQRSWwP" },
    why: "reads settings that may run a command",
  },
  { programs: ["scp", "sftp"], flags: ["-S"], style: { valued: "cFiJloPSDX" }, why: "runs a program" },
  {
    programs: ["wget"],
    flags: ["-e", "--execute", "--use-askpass", "--config"],
    style: { valued: "aioOUPtTwQlADRIX" },
    why: "runs a program or reads further options",
  },
  {
    programs: ["uniq", "xxd"],
    test: (args) => splitArgv(args, { valued: "fswcglos" }).operands.length > 1,
    why: "writes its second file",
  },
  {
    programs: ["yq"],
    flags: ["-i", "--inplace", "--in-place"],
    style: { valued: "opI" },
    why: "writes files in place",
  },
  { programs: ["date"], flags: ["-s", "--set"], style: { valued: "dfrI" }, why: "sets the clock" },
  {
    programs: ["bat", "batcat", "ag", "ack", "delta"],
    flags: ["--pager"],
    why: "runs a pager of its choice",
  },
  {
    programs: ["fzf"],
    flags: ["--preview", "--bind", "--listen", "--with-shell"],
    why: "runs commands",
  },
  { programs: ["rsync"], flags: ["-e", "--rsh", "--rsync-path"], style: { valued: "efTB" }, why: "runs a program" },
  {
    programs: ["curl"],
    flags: ["-K", "--config"],
    style: { valued: "AbcCdDeEFhHKmoPQrtTuUwxXyYz" },
    why: "reads further options from a file",
  },
  {
    programs: ["go"],
    test: (args) => args.some((arg) => /^--?(toolexec|exec|vettool)(=|$)/.test(arg)),
    why: "runs a program",
  },
  { programs: ["zip"], flags: ["-TT", "--unzip-command"], why: "runs a command" },
  {
    programs: ["sqlite3"],
    test: (args) => args.some((arg) => /(^|\n)\s*\.(shell|system|output|once|import|open|load|read)\b/.test(arg)),
    why: "runs a command or touches other files",
  },
  {
    programs: ["psql"],
    test: (args) => args.some((arg) => /\\!|\\o\b|\bcopy\b[\s\S]*\bprogram\b/i.test(arg)),
    why: "runs a command",
  },
  {
    programs: ["make", "gmake"],
    test: (args) =>
      args.some((arg) => /^(--eval|SHELL=|-f-$|-f\/dev\/)/.test(arg)) ||
      flagValue(args, ["-f", "--file", "--makefile"]) === "-",
    why: "takes recipes from elsewhere than the makefile",
  },
  {
    programs: ["vim", "vi", "nvim", "ex", "view", "vimdiff", "emacs", "emacsclient"],
    test: (args) =>
      args.some((arg) => /^([+]|-[cSsel]|-es|-[A-Za-z]*[es]$|--cmd|--(eval|load|script|funcall|command))/.test(arg)),
    why: "runs commands of the editor, which can run others",
  },
  { programs: ["ed"], test: () => true, why: "runs commands it reads, which can run others" },
  {
    programs: ["gdb", "lldb"],
    test: (args) => args.some((arg) => /^--?(ex|eval-command|x|command|ix|iex|o|one-line|s|source|O|S|k|K)$/.test(arg)),
    why: "runs commands of the debugger, which can run others",
  },
  {
    programs: ["socat"],
    test: (args) => args.some((arg) => /^(exec|system|shell):/i.test(arg)),
    why: "runs a command",
  },
  {
    programs: ["nc", "ncat", "netcat"],
    flags: ["-e", "-c", "--exec", "--sh-exec", "--lua-exec"],
    style: { valued: "wpsiqgGIOTVX" },
    why: "runs a command for whoever connects",
  },
  { programs: ["expect"], test: () => true, why: "runs the programs its script names" },
  { programs: ["enable"], flags: ["-f"], why: "loads code into the shell" },
  { programs: ["hash"], flags: ["-p"], why: "changes which program a name runs" },
  { programs: ["bind"], flags: ["-x"], why: "runs a command" },
  { programs: ["fc"], test: (args) => !hasFlag(args, ["-l"]), why: "runs commands from the history" },
];

/** Why an `allow` by wildcard isn't enough for this command; null when it is. `words` start with the program's base name. */
export function optionRisk(words: readonly string[], rows: readonly OptionRow[] = OPTION_ROWS): string | null {
  const [program = "", ...args] = words;
  const row = rows.find((candidate) => candidate.programs.includes(program) && rowApplies(candidate, program, args));
  return row ? row.why : null;
}

/** Whether the table knows options of this program. */
export function hasRiskyOptions(program: string): boolean {
  return OPTION_ROWS.some((row) => row.programs.includes(program));
}

function rowApplies(row: OptionRow, program: string, args: readonly string[]): boolean {
  const git = program === "git" ? splitGit(args) : null;
  if (row.globals)
    return git !== null && git.globals.some((arg) => row.globals?.some((flag) => isGlobal(arg, flag)) === true);
  if (row.subcommands && !(git && row.subcommands.includes(git.sub))) return false;
  const rest = git ? git.rest : args;
  if (row.test) return row.test(rest);
  return hasFlag(rest, row.flags ?? [], row.style);
}

function isGlobal(arg: string, flag: string): boolean {
  return arg === flag || arg.startsWith(`${flag}=`) || (flag.length === 2 && arg.startsWith(flag));
}

const FIND_ACTIONS = ["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"];

function hasFindAction(args: readonly string[]): boolean {
  return args.some((arg) => FIND_ACTIONS.includes(arg));
}

function hasSshCommand(args: readonly string[]): boolean {
  return args.some((arg, index) => {
    const inline = /^-[46AaCfGgKkMNnqsTtVvXxYy]*o(.*)$/s.exec(arg)?.[1];
    const option = inline === "" ? (args[index + 1] ?? "") : (inline ?? "");
    return /^\s*(proxycommand|localcommand|permitlocalcommand|knownhostscommand|proxyusefdpass|include|match)\b/i.test(
      option,
    );
  });
}

function sedScripts(args: readonly string[]): string[] {
  const scripts = args.flatMap((arg, index) => {
    if (arg === "-e" || arg === "--expression") return [args[index + 1] ?? ""];
    if (arg.startsWith("--expression=")) return [arg.slice("--expression=".length)];
    const short = flagValue([arg], ["-e"], { valued: "fl" });
    return short === null ? [] : [short];
  });
  const [first] = splitArgv(args, { valued: "efl" }).operands;
  const elsewhere = scripts.length > 0 || hasFlag(args, ["-f", "--file"], { valued: "efl" });
  return elsewhere || first === undefined ? scripts : [first];
}

function awkPrograms(args: readonly string[]): string[] {
  const source = flagValue(args, ["-e", "--source"], { valued: "vFfilE" });
  const [first] = splitArgv(args, { valued: "vFfilEe" }).operands;
  return [source, first].filter((text) => text !== null && text !== undefined);
}
