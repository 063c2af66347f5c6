/** `git status --porcelain=v2 --branch -z` in words. Parses only. */
import { sanitizeLine } from "./sanitize.ts";

const WORDS: Readonly<Record<string, string>> = {
  M: "modified",
  T: "type changed",
  A: "added",
  D: "deleted",
  R: "renamed",
  C: "copied",
};

// git-status(1), "Unmerged": who did what.
const CONFLICTS: Readonly<Record<string, string>> = {
  DD: "both deleted",
  AU: "added by us",
  UD: "deleted by them",
  UA: "added by them",
  DU: "deleted by us",
  AA: "both added",
  UU: "both modified",
};

/** One line about the branch, then one per file. */
export function statusText(output: string): string {
  const records = output.split("\0");
  const branch = new Map<string, string>();
  const lines: string[] = [];
  for (let index = 0; index < records.length; index++) {
    const record = records[index] ?? "";
    if (record.startsWith("# ")) {
      const [, key = "", ...value] = record.split(" ");
      branch.set(key, value.join(" "));
    } else if (record.startsWith("2 ")) lines.push(`${renamed(record)} (from ${shown(records[++index] ?? "")})`);
    else if (record !== "") lines.push(entry(record));
  }
  return [branchLine(branch), ...(lines.length > 0 ? lines : ["nothing to commit, working tree clean"])].join("\n");
}

function branchLine(branch: ReadonlyMap<string, string>): string {
  const head = branch.get("branch.head") ?? "(unknown)";
  const name =
    head === "(detached)" ? `HEAD detached at ${(branch.get("branch.oid") ?? "").slice(0, 10)}` : `on branch ${head}`;
  const fresh = branch.get("branch.oid") === "(initial)" ? ", no commits yet" : "";
  return name + fresh + upstream(branch.get("branch.upstream"), branch.get("branch.ab"));
}

function upstream(name: string | undefined, counts: string | undefined): string {
  if (!name) return "";
  const [, ahead = "0", behind = "0"] = /^\+(\d+) -(\d+)$/.exec(counts ?? "") ?? [];
  if (counts === undefined) return `, upstream ${name} is gone`;
  if (ahead === "0" && behind === "0") return `, up to date with ${name}`;
  return `, ${ahead} ahead and ${behind} behind ${name}`;
}

/** Fields before the path are separated by one space each; the path may hold more. */
function entry(record: string): string {
  const kind = record[0];
  if (kind === "?") return `untracked: ${shown(record.slice(2))}`;
  const fields = record.split(" ");
  if (kind === "u")
    return `conflict (${CONFLICTS[fields[1] ?? ""] ?? fields[1]}): ${shown(fields.slice(10).join(" "))}`;
  return `${states(fields[1] ?? "..")}: ${shown(fields.slice(8).join(" "))}`;
}

function renamed(record: string): string {
  const fields = record.split(" ");
  return `${states(fields[1] ?? "..")}: ${shown(fields.slice(9).join(" "))}`;
}

/** A name with a line end in it would read as two entries. */
function shown(path: string): string {
  return sanitizeLine(path, { ascii: true });
}

function states(pair: string): string {
  const [index = ".", tree = "."] = pair;
  const words = [index === "." ? "" : `staged ${WORDS[index] ?? index}`, tree === "." ? "" : (WORDS[tree] ?? tree)];
  return words.filter(Boolean).join(", ");
}
