/** Guard rules on git commands that destroy commits or work. */
import { hasFlag, splitArgv, splitGit, type FlagStyle } from "./argv.ts";
import { refuse, type GuardRule } from "./guard-rule.ts";

export const GIT_RULES: readonly GuardRule[] = [
  git("git-reset-hard", ["reset"], "throws away uncommitted work", (rest) => hasFlag(rest, ["--hard"])),
  git(
    "git-clean-force",
    ["clean"],
    "deletes untracked files for good",
    (rest, globals) =>
      !hasFlag(rest, ["-n", "--dry-run"], CLEAN) && (hasFlag(rest, ["-f", "--force"], CLEAN) || unforced(globals)),
  ),
  git("git-push-force", ["push"], "overwrites history on the server", (rest) =>
    hasFlag(rest, ["-f", "--force", "--force-with-lease"], PUSH),
  ),
  git("git-push-mirror", ["push"], "overwrites every branch on the server", (rest) =>
    hasFlag(rest, ["--mirror", "--prune"], PUSH),
  ),
  git(
    "git-push-delete",
    ["push"],
    "deletes a branch on the server",
    (rest) => hasFlag(rest, ["-d", "--delete"], PUSH) || refspecs(rest).some((spec) => /^:./.test(spec)),
  ),
  git("git-push-plus", ["push"], "overwrites history on the server", (rest) =>
    refspecs(rest).some((spec) => spec.startsWith("+")),
  ),
  git("git-branch-delete", ["branch"], "deletes a branch with commits that may be nowhere else", deletesBranch),
  git("git-checkout-all", ["checkout"], "throws away uncommitted work", (rest) => hasWholeTree(rest)),
  git("git-checkout-force", ["checkout", "switch"], "throws away uncommitted work", (rest) =>
    hasFlag(rest, ["-f", "--force", "--discard-changes"], { valued: "bBcC" }),
  ),
  git(
    "git-restore-all",
    ["restore"],
    "throws away uncommitted work",
    (rest) => hasWholeTree(rest) && !onlyStaged(rest),
  ),
  // What `reset --hard` and `checkout -- .` are made of.
  git("git-read-tree-reset", ["read-tree"], "throws away uncommitted work", (rest) => hasFlag(rest, ["--reset"])),
  git(
    "git-checkout-index-all",
    ["checkout-index"],
    "throws away uncommitted work",
    (rest) => hasFlag(rest, ["-f", "--force"]) && hasFlag(rest, ["-a", "--all"]),
  ),
  git("git-stash-drop", ["stash"], "deletes stashed work", (rest) => ["drop", "clear"].includes(rest[0] ?? "")),
  git("git-reflog-expire", ["reflog"], "deletes what lost commits could be found by", (rest) =>
    ["expire", "delete"].includes(rest[0] ?? ""),
  ),
  git("git-update-ref", ["update-ref"], "deletes a reference", (rest) => hasFlag(rest, ["-d"], { valued: "m" })),
  git("git-filter", ["filter-branch", "filter-repo"], "rewrites all of history", () => true),
  refuse("git-filter-repo", ["git-filter-repo", "git-filter-branch", "bfg"], "rewrites all of history", () => true),
];

const PUSH: FlagStyle = { valued: "o" };
const CLEAN: FlagStyle = { valued: "e" };

function git(
  name: string,
  subcommands: readonly string[],
  why: string,
  test: (rest: readonly string[], globals: readonly string[]) => boolean,
): GuardRule {
  return refuse(name, ["git"], why, ({ args }) => {
    const { sub, rest, globals } = splitGit(args);
    return subcommands.includes(sub) && test(rest, globals);
  });
}

/** Cleaning without -f works once the setting that demands it is off. */
function unforced(globals: readonly string[]): boolean {
  return globals.some((arg) => /clean\.requireforce/i.test(arg));
}

function refspecs(rest: readonly string[]): string[] {
  return splitArgv(rest, PUSH).operands;
}

function deletesBranch(rest: readonly string[]): boolean {
  const style = { valued: "u" };
  return (
    hasFlag(rest, ["-D"], style) ||
    (hasFlag(rest, ["-d", "--delete"], style) && hasFlag(rest, ["-f", "--force"], style))
  );
}

const WHOLE_TREE: ReadonlySet<string> = new Set(["", ".", "./", "*", "**", "./*", "./**", "**/*"]);

/** gitglossary(7), pathspec: `:/` and `:(top)` start at the root; a pattern's `*` crosses directories. */
function hasWholeTree(rest: readonly string[]): boolean {
  return splitArgv(rest, { valued: "bBs" }).operands.some((operand) => {
    const [, magic = "", path = ""] = /^(:\((?:top|glob|icase|literal|,)*\)|:\/)?([^]*)$/.exec(operand) ?? [];
    return operand !== "" && WHOLE_TREE.has(path) && (path !== "" || magic !== "");
  });
}

function onlyStaged(rest: readonly string[]): boolean {
  return hasFlag(rest, ["-S", "--staged"], { valued: "s" }) && !hasFlag(rest, ["-W", "--worktree"], { valued: "s" });
}
