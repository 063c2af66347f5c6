/** Which git commands may run unasked in a sandbox: those that keep what isn't committed yet and reach nobody else. Aliases and programs of others are none. Pure. */
import { hasFlag, splitArgv, splitGit } from "./argv.ts";
import { optionRisk } from "./permission-options.ts";
import type { Arg } from "./shell-types.ts";

const LOSES = "git would lose work by it that is nowhere else, and the sandbox doesn't protect the workspace";
const PUBLISHES = "it publishes, which no sandbox takes back";
const UNKNOWN = "it isn't a git command that keeps work and publishes nothing, as far as is known";
const RUNS = "it runs further commands, which nobody has judged";
const SETTINGS = "git's settings steer what runs later outside";

/** True where what follows the subcommand loses nothing. */
type Keeps = (rest: readonly string[], exists: (name: string) => boolean) => boolean;

const always: Keeps = () => true;
const without =
  (...flags: string[]): Keeps =>
  (rest) =>
    !hasFlag(rest, flags);
/** The first word that is no option. */
const only =
  (...verbs: string[]): Keeps =>
  (rest) => {
    const [verb] = splitArgv(rest).operands;
    return verb === undefined || verbs.includes(verb);
  };

/** Names of git's own, which no alias can take. */
const KEEPING: Readonly<Record<string, Keeps>> = {
  ...Object.fromEntries(
    (
      "add am annotate apply archive bisect blame bundle cat-file check-attr check-ignore cherry cherry-pick clone " +
      "commit commit-graph count-objects describe diff diff-files diff-index diff-tree difftool fast-export " +
      "for-each-ref format-patch fsck grep hash-object help init log ls-files ls-remote ls-tree merge merge-base " +
      "merge-file merge-tree mktree mv name-rev range-diff rebase repack rerere rev-list rev-parse revert shortlog " +
      "show show-branch show-ref stash status stripspace var verify-commit verify-pack verify-tag version " +
      "whatchanged write-tree"
    )
      .split(" ")
      .map((name) => [name, without("--abort")]),
  ),
  "": always,
  branch: without("-D", "-M", "-C", "-f", "--force"),
  checkout: keepsOnCheckout,
  clean: (rest) => hasFlag(rest, ["-n", "--dry-run"], { valued: "e" }),
  fetch: keepsOnFetch,
  notes: only("list", "show", "add", "append"),
  pull: keepsOnFetch,
  reflog: only("show", "list", "exists", "HEAD"),
  remote: only("show", "get-url", "update"),
  reset: without("--hard", "--merge", "--keep"),
  restore: (rest) => hasFlag(rest, ["-S", "--staged"]) && !hasFlag(rest, ["-W", "--worktree"]),
  rm: (rest) => hasFlag(rest, ["--cached", "-n", "--dry-run"]) || !hasFlag(rest, ["-f", "--force"]),
  submodule: (rest) =>
    only("status", "summary", "init", "update", "sync")(rest, () => false) && !hasFlag(rest, ["-f", "--force"]),
  switch: without("-C", "--force-create", "-f", "--force", "--discard-changes"),
  tag: without("-d", "--delete", "-f", "--force"),
  worktree: (rest) =>
    only("list", "add", "lock", "unlock", "prune")(rest, () => false) && !hasFlag(rest, ["-f", "--force", "-B"]),
};

const PUBLISHING = ["push", "send-email", "send-pack", "http-push", "imap-send", "svn", "p4", "cvsexportcommit", "lfs"];

/** Why this git command asks although it is confined; null where it needn't. `args`: the program left out. `exists`: whether a path is there. `appended`: more arguments come when it runs. */
export function gitReach(args: readonly Arg[], exists: (name: string) => boolean, appended: boolean): string | null {
  const words = args.map((arg) => arg.text);
  const { globals, sub, rest } = splitGit(words);
  // A word that isn't known before it runs may be any.
  const isOpen = (arg: Arg): boolean => arg.value === null || arg.dynamic;
  const isUnknown = args.slice(0, globals.length + 1).some(isOpen) || (appended && sub === "");
  if (isUnknown || PUBLISHING.includes(sub)) return PUBLISHES;
  if (sub === "config") return optionRisk(["git", sub, ...rest]) === null ? null : SETTINGS;
  if (["rebase", "bisect"].includes(sub) && optionRisk(["git", sub, ...rest]) !== null) return RUNS;
  const keeps = Object.hasOwn(KEEPING, sub) ? KEEPING[sub] : undefined;
  if (keeps === undefined) return UNKNOWN;
  if (["init", "clone"].includes(sub) && optionRisk(["git", sub, ...rest]) !== null) return SETTINGS;
  const open = CAREFUL.has(sub) && (appended || args.slice(globals.length + 1).some(isOpen));
  const elsewhere = CAREFUL.has(sub) && globals.some((arg) => /^--(?:work-tree|git-dir)(?:=|$)/.test(arg));
  return keeps(rest, (name) => startsOf(globals).some((start) => exists(start + name))) && !open && !elsewhere
    ? null
    : LOSES;
}

/** What paths may be relative to: where the command starts, and where `-C` takes it. */
function startsOf(globals: readonly string[]): string[] {
  const steps = globals.filter((_, at) => globals[at - 1] === "-C");
  const last = steps.findLastIndex((step) => step.startsWith("/"));
  return [
    "",
    steps
      .slice(Math.max(0, last))
      .map((step) => `${step}/`)
      .join(""),
  ];
}

/** Of these, one word more loses work. */
const CAREFUL: ReadonlySet<string> = new Set(
  "branch checkout clean fetch pull reset restore rm submodule switch tag worktree".split(" "),
);

/** A branch, and nothing that could be a path of the work tree. */
function keepsOnCheckout(rest: readonly string[], exists: (name: string) => boolean): boolean {
  if (rest.includes("--") || hasFlag(rest, ["-f", "-B", "-p", "--patch", "--ours", "--theirs"], { valued: "b" }))
    return false;
  if (hasFlag(rest, ["--pathspec-from-file", "--force", "--merge", "-m"], { valued: "b" })) return false;
  const { operands } = splitArgv(rest, { valued: "b" });
  const creates = hasFlag(rest, ["-b", "--orphan", "-t", "--track", "--detach", "-d"], { valued: "b" });
  return (
    operands.length === 0 || creates || (operands.length === 1 && operands.every((name) => isBranch(name, exists)))
  );
}

function isBranch(name: string, exists: (name: string) => boolean): boolean {
  return !/^:|[*?[\]\\]|^\.\.?(?:\/|$)/.test(name) && !exists(name);
}

/** `+main:main`, `--force` and `a:b` move branches that are here. */
function keepsOnFetch(rest: readonly string[]): boolean {
  if (hasFlag(rest, ["-f", "--force", "--update-head-ok", "-u"], { valued: "jo" })) return false;
  return !splitArgv(rest, { valued: "jo" })
    .operands.slice(1)
    .some((spec) => /^\+|:/.test(spec));
}
