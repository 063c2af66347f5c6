/** Judges a command line: every simple command in it, what it reads and writes; the strictest finding decides. Asks nobody and runs nothing. */
import { directoryPattern } from "./always.ts";
import { commandText, judgeCommand } from "./permission-command.ts";
import { compareStrictness, matchTable, type JudgedCommand } from "./permission.ts";
import type { ShellLine } from "./permission-line.ts";
import { refusedInput, refusedReadOf } from "./permission-reads.ts";
import { matchPath, writeProtection } from "./permission-scene.ts";
import { writesOf, type LineWrite } from "./permission-writes.ts";
import type { Finding, LineContext } from "./permission-finding.ts";
import type { Effective } from "./shell-types.ts";

export interface LineJudgement {
  /** Everything that isn't a plain `allow`, in source order. */
  findings: Finding[];
  /** The rule behind the first `allow`, for lines without findings. */
  allowedBy: { rule: string | null; byRule: boolean };
  commands: JudgedCommand[];
}

/** Judges a line by the table in force for the tool that runs it. */
export function judgeLine(line: ShellLine, context: LineContext): LineJudgement {
  if (!line.parsed.ok) return unparsable(line, context, `The command can't be taken apart (${line.parsed.reason})`);
  if (line.commands.length === 0) return unparsable(line, context, "There is no command in it");
  const judged = line.commands.map(({ effective }) => judgeAll(effective, line, context));
  const findings = [...judged.flatMap((one) => one.findings), ...lineFindings(line, context)];
  const first = judged.flatMap((one) => one.allowed)[0];
  return {
    findings,
    allowedBy: first ?? { rule: null, byRule: false },
    commands: judged.flatMap((one) => one.commands),
  };
}

interface JudgedAll {
  findings: Finding[];
  allowed: { rule: string | null; byRule: boolean }[];
  commands: JudgedCommand[];
}

function judgeAll(effective: readonly Effective[], line: ShellLine, context: LineContext): JudgedAll {
  const all: JudgedAll = { findings: [], allowed: [], commands: [] };
  for (const command of effective) {
    const { findings, rule, byRule } = judgeCommand(command, line, context);
    const read = refusedReadOf(command, line, context.scene);
    if (read)
      findings.push({ ...read, firm: false, tool: context.tool, forms: [], pattern: null, text: commandText(command) });
    const worst = strictestOf(findings);
    all.findings.push(...findings);
    if (!worst) all.allowed.push({ rule, byRule });
    if (isListed(command) && !(command.runner && !worst))
      all.commands.push({
        text: commandText(command),
        normalised: command.normalised || commandText(command),
        decision: worst?.decision ?? "allow",
        rule: worst ? worst.rule : rule,
      });
  }
  return all;
}

// A harmless wrapper is judged by what it runs, which follows it.
function isListed(command: Effective): boolean {
  return command.words.length > 0 || command.assignments.length > 0 || command.command.redirects.length > 0;
}

function lineFindings(line: ShellLine, context: LineContext): Finding[] {
  const findings = writesOf(line, context.scene).flatMap((write) => judgeWrite(write, context) ?? []);
  const input = refusedInput(line, context.scene);
  if (input)
    findings.unshift({ ...input, firm: false, tool: context.tool, forms: [], pattern: null, text: line.source });
  if (line.parsed.ok && line.parsed.runsCode)
    findings.push(
      unseen(
        context,
        line.source,
        "An expansion in it runs text as code, so what it does can't be told before it runs.",
      ),
    );
  return findings;
}

function judgeWrite(write: LineWrite, context: LineContext): Finding | null {
  const base = { tool: context.writeTool, firm: false, forms: [], pattern: null, text: write.text, rule: null };
  const { path } = write;
  if (path === null)
    return {
      ...base,
      decision: "ask",
      by: "redirect",
      reason: `Where it writes (${write.text}) isn't known before it runs.`,
    };
  const protectedBy = writeProtection(path, context.scene);
  if (protectedBy)
    return {
      ...base,
      decision: "ask",
      by: "self-protection",
      firm: true,
      reason: protectionReason(path.written, protectedBy),
    };
  if (write.kind === "entry") return null;
  const match = matchPath(context.scene.writeTable, path);
  const rule = match.row?.label ?? null;
  if (match.decision === "deny")
    return {
      ...base,
      decision: "deny",
      by: "redirect",
      rule,
      reason: `Writing ${path.written} is refused by the rule ${rule}.`,
    };
  if (!path.inside)
    return {
      ...base,
      decision: "ask",
      by: "redirect",
      rule,
      reason: `It writes ${path.written}, which is outside the workspace.`,
    };
  if (match.decision === "allow") return null;
  const forms = [path.written, path.realWritten];
  const pattern = directoryPattern(path.realWritten);
  return {
    ...base,
    decision: "ask",
    by: "redirect",
    rule,
    forms,
    pattern,
    reason: `It writes ${path.written}, which needs approval.`,
    ...(match.row === null || match.row.builtin ? { unruled: true } : {}),
  };
}

/** Why a protected path asks, as told to model and user. */
export function protectionReason(written: string, why: string): string {
  return `${written} is protected (${why}): changing it could change shiro's own rules or run code later, so it always needs the user's approval.`;
}

function unseen(context: LineContext, text: string, reason: string): Finding {
  return {
    decision: "ask",
    by: "unparsable",
    rule: null,
    reason,
    firm: false,
    tool: context.tool,
    forms: [],
    pattern: null,
    text,
  };
}

function unparsable(line: ShellLine, context: LineContext, what: string): LineJudgement {
  const asked = unseen(context, line.source, `${what}, so it needs approval. Write it as plain commands.`);
  const { decision, row } = matchTable(context.table, line.source.trim());
  const by = row?.builtin === false ? "rule" : "default";
  const finding: Finding = decision === "deny" ? { ...asked, decision, by, rule: row?.label ?? null } : asked;
  return { findings: [finding], allowedBy: { rule: null, byRule: false }, commands: [] };
}

/** The finding that decides: the strictest; of equals one that nothing but a person answers, else the first. */
export function strictestOf(findings: readonly Finding[]): Finding | null {
  let worst: Finding | null = null;
  for (const finding of findings) if (!worst || outweighs(finding, worst)) worst = finding;
  return worst;
}

function outweighs(finding: Finding, other: Finding): boolean {
  const difference = compareStrictness(finding.decision, other.decision);
  return difference > 0 || (difference === 0 && finding.decision === "ask" && finding.firm && !other.firm);
}
