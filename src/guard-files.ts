/** Guard rules on deleting files and on permissions of whole trees. */
import { hasFlag, splitArgv } from "./argv.ts";
import { refuse, type GuardCommand, type GuardRule } from "./guard-rule.ts";

const RM = ["rm", "grm", "srm"];

export const FILE_RULES: readonly GuardRule[] = [
  {
    name: "rm-recursive",
    programs: RM,
    why: "deletes directories for good",
    judge: (command) => judgeRm(command, ["-r", "-R", "--recursive"]),
  },
  {
    name: "rm-force",
    programs: RM,
    why: "deletes without asking",
    judge: (command) => judgeRm(command, ["-f", "--force"]),
  },
  refuse("find-delete", ["find", "gfind"], "deletes every file it finds", ({ args }) => args.includes("-delete")),
  refuse(
    "shred",
    ["shred", "wipe"],
    "destroys files beyond recovery",
    ({ args }) => splitArgv(args, { valued: "ns" }).operands.length > 0,
  ),
  refuse("chmod-everyone", ["chmod"], "lets everybody write", ({ args }) => args.some(opensToAll)),
  refuse("chmod-tree", ["chmod"], "changes the modes of a whole system or home", (command) =>
    changesWholeTree(command, false),
  ),
  refuse("chown-tree", ["chown", "chgrp"], "changes the owner of a whole system or home", (command) =>
    changesWholeTree(command, true),
  ),
];

function judgeRm({ args }: GuardCommand, flags: readonly string[]): "pass" | "ask" | "deny" {
  if (!hasFlag(args, flags)) return "pass";
  return hasFlag(args, ["-i", "-I", "--interactive"]) && !args.includes("--interactive=never") && lastOf(args) === "i"
    ? "ask"
    : "deny";
}

/** The one of -f and -i that counts: rm takes the last. */
function lastOf(args: readonly string[]): string {
  const letters = args
    .flatMap((arg) =>
      /^-[A-Za-z]+$/.test(arg)
        ? [...arg.slice(1)]
        : arg.startsWith("--f")
          ? ["f"]
          : arg.startsWith("--int")
            ? ["i"]
            : [],
    )
    .filter((letter) => "fiI".includes(letter));
  return letters.at(-1)?.toLowerCase() ?? "";
}

function opensToAll(mode: string): boolean {
  return (
    /^0*[0-7]?777$/.test(mode) ||
    /(^|,)u?g?o[+=]rwx?X?(,|$)/.test(mode) ||
    (/(^|,)(a|ugo|ogu|guo|uog|gou|oug)?[+=]rwx?X?(,|$)/.test(mode) && /w/.test(mode) && !/^[ug]+[+=]/.test(mode))
  );
}

// Longer words are paths; the pattern is for the few short ones that aren't.
const MAX_PLACE = 256;
const WHOLE = /^(\/+|~|(\.\.\/?)+|\$HOME|\$\{HOME\})\/*\.?\/?\*?$/;

function changesWholeTree({ args, effective }: GuardCommand, modeFirst: boolean): boolean {
  if (!hasFlag(args, ["-R", "--recursive"])) return false;
  const places = effective.args.slice(1).filter((arg) => !arg.text.startsWith("-"));
  return places
    .slice(modeFirst ? 1 : 0)
    .some(
      (arg) =>
        WHOLE.test(arg.text.slice(0, MAX_PLACE)) ||
        WHOLE.test(arg.word.text.slice(0, MAX_PLACE).replace(/["']/g, "")) ||
        /^\/(usr|etc|bin|sbin|lib|var|home|root|boot)\/?\*?$/.test(arg.text),
    );
}
