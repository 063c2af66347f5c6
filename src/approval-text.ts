/** What a model is told when a call needs an answer and nobody can give one. */
import type { Finding } from "./permission-finding.ts";

/** Why it was not run and how the user could allow it next time. `missing`: why there was no answer. */
export function denialText(open: readonly Finding[], missing = "Nobody can be asked here"): string {
  const why = open.map((finding) => finding.reason);
  return `${[...new Set(why)].join(" ")} ${missing}, so it was not run. ${howToAllow(open)}`;
}

function howToAllow(open: readonly Finding[]): string {
  if (open.some((finding) => finding.firm))
    return "No rule or flag allows this; the user can do it in an interactive session or by themselves.";
  if (open.some((finding) => finding.by === "sandbox"))
    return "The user can allow it with --yolo, which answers every such question.";
  if (open.every((finding) => finding.by === "repeat")) return "Go on with what the earlier results said.";
  const flags = new Set(open.flatMap(flagFor));
  if (flags.size === 0) return "The user can allow it with --yolo, which answers every such question.";
  return `The user can allow it with ${[...flags].join(" ")}, by the same rule under "permission" in config.json, or with --yolo.`;
}

const MAX_SHOWN = 120;

function flagFor(finding: Finding): string[] {
  // An exact rule reaches what a wildcard doesn't; an over-long or many-line one helps nobody.
  const exact = finding.by === "option" || finding.by === "rule" || finding.by === "default" ? finding.text : null;
  // What is shown for files at the top of the workspace isn't a pattern a rule can hold either.
  const wide = finding.pattern?.startsWith("./*") ? (finding.forms[0] ?? null) : finding.pattern;
  const pattern = wide ?? exact;
  if (pattern === null || pattern.length > MAX_SHOWN || /[\n\r]/.test(pattern)) return [];
  // The shared grant of git's reading subcommands isn't a pattern a rule can hold.
  const single = pattern.replace(
    /^(git )(\S+)\|\S* \*$/,
    (_, git: string) => `${git}${finding.text.split(/\s+/)[1] ?? "*"} *`,
  );
  const rule = single === "" || single === "*" ? finding.tool : `${finding.tool}(${single})`;
  return [`--allow '${rule.replaceAll("'", "'\\''")}'`];
}
