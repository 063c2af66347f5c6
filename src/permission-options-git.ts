/** What a row of the option table is, and git's own rows: options and subcommands that run programs or write files. Pure. */
import { hasFlag, splitArgv, type FlagStyle } from "./argv.ts";

export interface OptionRow {
  programs: readonly string[];
  /** git only: subcommands it holds for; all when left out. */
  subcommands?: readonly string[];
  flags?: readonly string[];
  style?: FlagStyle;
  /** Instead of flags. For git: of what follows the subcommand. */
  test?(args: readonly string[]): boolean;
  /** git only: options in front of the subcommand. */
  globals?: readonly string[];
  /** What it does, to finish "… because it". */
  why: string;
}

export const GIT_OPTION_ROWS: readonly OptionRow[] = [
  { programs: ["git"], globals: ["-c", "--config-env"], why: "sets git options, some of which name programs to run" },
  { programs: ["git"], globals: ["--exec-path"], why: "says where git takes its programs from" },
  { programs: ["git"], globals: ["--git-dir", "--work-tree"], why: "lets another repository's settings run programs" },
  { programs: ["git"], flags: ["--upload-pack", "--receive-pack"], why: "names a program to run" },
  {
    programs: ["git"],
    subcommands: ["clone", "fetch", "pull", "ls-remote"],
    flags: ["-u"],
    style: { valued: "bcojr" },
    why: "may name a program to run",
  },
  {
    programs: ["git"],
    subcommands: ["clone", "init"],
    flags: ["--config", "--template", "-c"],
    style: { valued: "bjoru" },
    why: "brings settings or hooks that run",
  },
  {
    programs: ["git"],
    test: (args) => args.some((arg) => /^ext::/.test(arg)),
    why: "uses a transport that runs a command",
  },
  {
    programs: ["git"],
    test: (args) =>
      hasFlag(
        args.filter((arg) => arg !== "--text"),
        ["--ext-diff", "--textconv"],
      ),
    why: "runs the configured converters",
  },
  { programs: ["git"], flags: ["--output"], why: "writes a file" },
  {
    programs: ["git"],
    subcommands: ["archive"],
    flags: ["-o", "--exec"],
    style: { valued: "o" },
    why: "writes a file or names a program",
  },
  {
    programs: ["git"],
    subcommands: ["rebase"],
    flags: ["-x", "--exec"],
    style: { valued: "xsXCO" },
    why: "runs a command per commit",
  },
  { programs: ["git"], subcommands: ["bisect"], test: (args) => args[0] === "run", why: "runs a command per commit" },
  {
    programs: ["git"],
    subcommands: ["submodule"],
    test: (args) => args.includes("foreach"),
    why: "runs a command per submodule",
  },
  {
    programs: ["git"],
    subcommands: ["grep"],
    flags: ["-O", "--open-files-in-pager"],
    style: { valued: "eABCmf" },
    why: "runs a pager",
  },
  {
    programs: ["git"],
    subcommands: ["config"],
    test: writesGitConfig,
    why: "changes git's settings, some of which name programs to run",
  },
  {
    programs: ["git"],
    subcommands: [
      "difftool",
      "mergetool",
      "hook",
      "send-email",
      "credential",
      "filter-branch",
      "instaweb",
      "daemon",
      "web--browse",
    ],
    test: () => true,
    why: "runs other programs",
  },
];

const GIT_CONFIG_READS = [
  "get",
  "list",
  "--get",
  "--get-all",
  "--get-regexp",
  "--get-urlmatch",
  "--get-color",
  "--get-colorbool",
  "-l",
  "--list",
];
const GIT_CONFIG_WRITES = ["set", "unset", "rename-section", "remove-section", "edit"];

function writesGitConfig(args: readonly string[]): boolean {
  if (args.some((arg) => GIT_CONFIG_READS.includes(arg))) return false;
  if (
    hasFlag(
      args,
      ["--unset", "--unset-all", "--add", "--replace-all", "--rename-section", "--remove-section", "--edit", "-e"],
      { valued: "ft" },
    )
  )
    return true;
  const { operands } = splitArgv(args, { valued: "ft" });
  return operands.length > 1 || GIT_CONFIG_WRITES.includes(operands[0] ?? "");
}
