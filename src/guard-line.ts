/** Guard rules on a line as a whole: what no single command shows. */
import { isBlockDevice } from "./guard-disk.ts";
import { runsDownloadedFile } from "./guard-download.ts";
import { everyEffective, redirectsOf, type ShellLine } from "./permission-line.ts";
import type { Redirect } from "./shell-types.ts";

export interface LineRule {
  name: string;
  refuses(line: ShellLine): boolean;
  why: string;
}

export const LINE_RULES: readonly LineRule[] = [
  { name: "fork-bomb", why: "starts copies of itself without end", refuses: isForkBomb },
  {
    name: "redirect-device",
    why: "writes over a device",
    refuses: (line) => [...redirectsOf(line).keys()].some(hitsDevice),
  },
  { name: "download-run", why: "runs a file that it has just downloaded or decoded", refuses: runsDownloadedFile },
];

/** A function that pipes into itself. */
function isForkBomb(line: ShellLine): boolean {
  for (const { command, words } of everyEffective(line)) {
    const name = words[0] ?? "";
    if (command.context !== "function-body" || !command.calls.includes(command)) continue;
    if (command.pipe.from.some((source) => source.words[0]?.value === name)) return true;
  }
  return false;
}

const TRIGGERS = /^\/proc\/sysrq-trigger$/;

function hitsDevice(redirect: Redirect): boolean {
  if (!redirect.target || ["<", "<<<", "<&"].includes(redirect.op)) return false;
  return redirect.target.alternatives.flat().some(({ value }) => isBlockDevice(value) || TRIGGERS.test(value));
}
