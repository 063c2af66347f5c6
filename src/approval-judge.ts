/** Judges a call without asking anybody: plugins, jail, self-protection, rules, in that order of weight. Holds no state of the session. */
import { resolve } from "node:path";
import { directoryPattern, hostPattern, shownPattern } from "./always.ts";
import { JailError } from "./errors.ts";
import { factsOf, realOf, type PathFacts } from "./path-facts.ts";
import { judgeLine, protectionReason, strictestOf } from "./permission-bash.ts";
import { isAskedEveryTime, type Finding } from "./permission-finding.ts";
import { readLine, type ShellKind, type ShellLine } from "./permission-line.ts";
import { matchPath, readRefusal, writeProtection, type Scene } from "./permission-scene.ts";
import { writesOf } from "./permission-writes.ts";
import { isCatchAll, isSecretRow, matchTable, tableFor } from "./permission.ts";
import type { JudgedCommand, Judgement, Match, PermissionConfig, Table } from "./permission.ts";
import type { PluginHost } from "./plugin.ts";
import { SECRET_READ_RULES } from "./secrets.ts";
import type { RuleDefault, Subject, Tool } from "./tool.ts";
import type { Workspace } from "./workspace.ts";

export interface JudgeDeps {
  rules: PermissionConfig;
  tools(name: string): Tool | undefined;
  plugins: PluginHost;
  workspace: Workspace;
  /** SHIRO_HOME. */
  home: string;
  /** The user's home directory. */
  homeDir: string;
  yolo: boolean;
  /** What reads a command line; bash when left out. */
  shell?: ShellKind;
}

/** What is judged: a prepared call, or a subject alone for `explain`. */
export interface Candidate {
  name: string;
  tool: Tool | null;
  input: unknown;
  subjects: readonly Subject[];
}

export interface JudgedCall {
  findings: Finding[];
  allowedBy: { rule: string | null; byRule: boolean };
  commands: JudgedCommand[];
}

// The tools whose rules speak for every other way of reading and writing a file.
const READING_TOOL = "read_file";
const WRITING_TOOL = "write_file";

export class Judge {
  readonly scene: Scene;
  readonly #deps: JudgeDeps;
  readonly #tables = new Map<string, Table>();

  constructor(deps: JudgeDeps) {
    this.#deps = deps;
    const { workspace } = deps;
    this.scene = {
      roots: { root: resolve(workspace.root), realRoot: workspace.realRoot, extraDirs: workspace.extraDirs },
      homeDir: deps.homeDir,
      home: realOf(resolve(deps.home)),
      yolo: deps.yolo,
      readTable: this.table(READING_TOOL, deps.tools(READING_TOOL)?.permission ?? SECRET_READ_RULES),
      writeTable: this.table(WRITING_TOOL, deps.tools(WRITING_TOOL)?.permission ?? "ask"),
    };
  }

  /** Every reason against simply running it; none: it is allowed. */
  judge(candidate: Candidate): JudgedCall {
    const lines = this.#linesOf(candidate.subjects);
    const plugin = this.#pluginFinding(candidate, lines);
    const subjects = candidate.subjects.length > 0 ? candidate.subjects : [{ kind: "text" as const, text: "" }];
    const parts = subjects.map((subject) => this.#judgeSubject(candidate, subject, lines));
    return {
      findings: [...(plugin ? [plugin] : []), ...parts.flatMap((part) => part.findings)],
      allowedBy: parts.find((part) => part.findings.length === 0)?.allowedBy ?? { rule: null, byRule: false },
      commands: parts.flatMap((part) => part.commands),
    };
  }

  /** False when rules forbid showing this file's contents. `realPath` is absolute. */
  mayRead(realPath: string): boolean {
    return readRefusal(factsOf(realPath, this.scene.roots.root, this.scene.roots), this.scene) === null;
  }

  /** The table in force for a tool; cached, since rules don't change within a session. */
  table(name: string, fallback: RuleDefault): Table {
    const known = this.#tables.get(name);
    if (known) return known;
    const table = tableFor(name, this.#deps.rules, fallback);
    this.#tables.set(name, table);
    return table;
  }

  /** True unless the last word of the tool's table on everything is `allow`. */
  asksSometimes(candidate: Pick<Candidate, "name" | "tool">): boolean {
    const { rows } = this.#tableOf(candidate);
    const from = rows.findLastIndex((row) => isCatchAll(row.pattern));
    return (
      from < 0 ||
      rows.slice(from).some((row) => row.decision !== "allow" && !row.builtin) ||
      rows[from]?.decision !== "allow"
    );
  }

  /** True when the last word of the tool's table on everything is `deny`, with nothing after it that says otherwise. */
  refusesAlways(candidate: Pick<Candidate, "name" | "tool">): boolean {
    const { rows } = this.#tableOf(candidate);
    const from = rows.findLastIndex((row) => isCatchAll(row.pattern));
    return from >= 0 && rows.slice(from).every((row) => row.decision === "deny");
  }

  #tableOf(candidate: Pick<Candidate, "name" | "tool">): Table {
    const { name, tool } = candidate;
    return this.table(name, this.#deps.plugins.isAutoApproved(name) ? "allow" : (tool?.permission ?? "ask"));
  }

  #linesOf(subjects: readonly Subject[]): Map<Subject, ShellLine> {
    const variables = { HOME: this.scene.homeDir, PWD: this.scene.roots.root };
    const lines = new Map<Subject, ShellLine>();
    for (const subject of subjects)
      if (subject.kind === "command") lines.set(subject, readLine(subject.command, variables, this.#deps.shell));
    return lines;
  }

  #pluginFinding(candidate: Candidate, lines: ReadonlyMap<Subject, ShellLine>): Finding | null {
    const { tool, input, subjects } = candidate;
    const verdict = this.#deps.plugins.judge({
      tool,
      input,
      subjects,
      lines: [...lines.values()],
      writes: this.#writes(subjects, lines),
      facts: (path) => this.#facts(path),
    });
    if (!verdict) return null;
    const text = subjects.map(subjectText).join("\n");
    return {
      ...verdict,
      rule: `plugin ${verdict.plugin}`,
      firm: true,
      text,
      tool: candidate.name,
      forms: [],
      pattern: null,
    };
  }

  #writes(subjects: readonly Subject[], lines: ReadonlyMap<Subject, ShellLine>): PathFacts[] {
    const named = subjects.flatMap((subject) =>
      subject.kind === "path" && subject.access === "write" ? [this.#facts(subject.path)] : [],
    );
    const written = [...lines.values()].flatMap((line) => writesOf(line, this.scene));
    return [...named, ...written.flatMap(({ kind, path }) => (kind === "content" && path ? [path] : []))];
  }

  #facts(path: string): PathFacts {
    return factsOf(path, this.scene.roots.root, this.scene.roots);
  }

  #judgeSubject(candidate: Candidate, subject: Subject, lines: ReadonlyMap<Subject, ShellLine>): JudgedCall {
    switch (subject.kind) {
      case "command": {
        const line = lines.get(subject);
        if (!line) throw new Error("A command subject was not parsed.");
        return judgeLine(line, {
          tool: candidate.name,
          table: this.#tableOf(candidate),
          scene: this.scene,
          writeTool: WRITING_TOOL,
        });
      }
      case "path":
        return this.#judgePath(candidate, subject);
      case "text":
        return this.#judgeText(candidate, subject.text);
      default:
        return subject satisfies never;
    }
  }

  #judgePath(candidate: Candidate, subject: Subject & { kind: "path" }): JudgedCall {
    const jail = this.#jailReason(subject);
    if (jail !== null)
      return withFinding({ ...findingOn(candidate, subject.path), decision: "deny", by: "jail", reason: jail });
    const path = this.#facts(subject.path);
    const shielded = subject.access === "write" ? writeProtection(path, this.scene) : null;
    const findings: Finding[] =
      shielded === null
        ? []
        : [
            {
              ...findingOn(candidate, path.written),
              decision: "ask",
              by: "self-protection",
              firm: true,
              reason: protectionReason(path.written, shielded),
            },
          ];
    const match = matchPath(this.#tableOf(candidate), path);
    const own =
      subject.access === "read" ? readRefusal(path, { ...this.scene, readTable: this.#tableOf(candidate) }) : null;
    if (own) findings.push({ ...findingOn(candidate, path.written), ...own });
    else if (match.decision !== "allow") findings.push(pathFinding(candidate, path, match));
    return { findings, allowedBy: allowedBy(match), commands: [] };
  }

  #jailReason(subject: Subject & { kind: "path" }): string | null {
    try {
      this.#deps.workspace.locate(subject.path, subject.access);
      return null;
    } catch (error) {
      if (error instanceof JailError) return error.message;
      throw error;
    }
  }

  #judgeText(candidate: Candidate, text: string): JudgedCall {
    const match = this.#matchText(candidate, text);
    if (match.decision === "allow") return { findings: [], allowedBy: allowedBy(match), commands: [] };
    const grant = hostPattern(text) ?? (text.startsWith("mcp__") ? text : "*");
    const granted = isSecretRow(match.row) ? {} : { forms: [text], pattern: grant };
    const what = text === "" ? candidate.name : `${candidate.name} ${text}`;
    return withFinding({ ...findingOn(candidate, text), ...ruledBy(match, what), ...granted });
  }

  /** MCP tools go by `mcp__server__tool`, whichever tool calls them. */
  #matchText(candidate: Candidate, text: string): Match {
    const own = matchTable(this.#tableOf(candidate), text);
    if (!text.startsWith("mcp__") || text === candidate.name) return own;
    const named = matchTable(this.table(text, "ask"), text);
    const isRuled = (match: Match) => match.row !== null && !match.row.builtin;
    if (!isRuled(named)) return own;
    return isRuled(own) && own.decision !== "allow" && named.decision === "allow" ? own : named;
  }
}

/** The judgement as `explain` prints it and denials quote it. */
export function judgementOf(judged: JudgedCall, tool: string): Judgement {
  const worst = strictestOf(judged.findings);
  const commands = judged.commands;
  if (!worst) {
    const { rule, byRule } = judged.allowedBy;
    const reason = rule === null ? "Nothing in it needs approval." : `Allowed by the rule ${rule}.`;
    return { decision: "allow", by: byRule ? "rule" : "default", rule, reason, always: null, commands };
  }
  return {
    decision: worst.decision,
    by: worst.by,
    rule: worst.rule,
    reason: worst.reason,
    always: alwaysOf(judged.findings, tool),
    commands,
  };
}

/** Patterns `always` would grant, in one line; null when it can't be granted or nothing is asked. */
function alwaysOf(findings: readonly Finding[], asking: string): string | null {
  if (findings.some((finding) => finding.decision === "deny" || isAskedEveryTime(finding))) return null;
  const patterns = new Set(
    findings.flatMap(({ tool, pattern }) => (pattern === null ? [] : [shownPattern(tool, pattern, asking)])),
  );
  return patterns.size > 0 ? [...patterns].join(", ") : null;
}

export function subjectText(subject: Subject): string {
  return subject.kind === "command" ? subject.command : subject.kind === "path" ? subject.path : subject.text;
}

type Blank = Pick<Finding, "rule" | "firm" | "text" | "tool" | "forms" | "pattern">;

function findingOn(candidate: Candidate, text: string): Blank {
  return { rule: null, firm: false, text, tool: candidate.name, forms: [], pattern: null };
}

function withFinding(finding: Finding): JudgedCall {
  return { findings: [finding], allowedBy: { rule: null, byRule: false }, commands: [] };
}

function allowedBy(match: Match): JudgedCall["allowedBy"] {
  return { rule: match.row?.label ?? null, byRule: match.row?.builtin === false };
}

function pathFinding(candidate: Candidate, path: PathFacts, match: Match): Finding {
  const granted = isSecretRow(match.row)
    ? {}
    : { forms: [path.written, path.realWritten], pattern: directoryPattern(path.realWritten) };
  return { ...findingOn(candidate, path.written), ...ruledBy(match, `${candidate.name} ${path.written}`), ...granted };
}

function ruledBy(match: Match, what: string): Pick<Finding, "decision" | "by" | "rule" | "reason"> {
  const decision = match.decision === "deny" ? "deny" : "ask";
  const rule = match.row?.label ?? null;
  const by = isSecretRow(match.row) ? "secret" : match.row?.builtin === false ? "rule" : "default";
  if (decision === "deny") return { decision, by, rule, reason: `\`${what}\` is refused by the rule ${rule}.` };
  return {
    decision,
    by,
    rule,
    reason: rule
      ? `\`${what}\` needs approval by the rule ${rule}.`
      : `No rule allows \`${what}\`, so it needs approval.`,
  };
}
