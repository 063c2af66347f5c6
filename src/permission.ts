/** The rules of the configuration: which entry of which table decides a subject. Pure; knows no tool, no path on disk and no shell syntax. */
import type { OrderedEntry } from "./config.ts";
import { UserError } from "./errors.ts";
import type { RuleDefault } from "./tool.ts";
import { DECISIONS, type Decision, type Denier } from "./types.ts";
import { matchesUrlRule } from "./permission-url.ts";
import { matchesWildcard } from "./wildcard.ts";

export interface RuleEntry {
  pattern: string;
  decision: Decision;
  /** Where it stands, when that differs from its table's place: `config.json:13`. */
  place?: string;
}

/** What a place says about the tools its key names. */
export interface ToolRules {
  /** A tool's name; `*` in it covers a family. */
  tool: string;
  rules: Decision | RuleEntry[];
  /** `config.json:12`, `--allow`. */
  place: string;
  /** From a flag: added after whatever table is in force, where config tables replace the default. */
  added?: true;
}

/** In the order of the file, flags last. */
export type PermissionConfig = readonly ToolRules[];

/** A call as judged, before anybody is asked. */
export interface Judgement {
  decision: Decision;
  /** `sandboxed`: allowed because the sandbox confines it. */
  by: Denier | "sandboxed";
  /** `bash "git *" (config.json:4)`; null where no rule was involved. */
  rule: string | null;
  reason: string;
  /** What `always` would grant; null when only "once" is offered or nothing is asked. */
  always: string | null;
  /** Shell lines only: their simple commands in source order. */
  commands?: JudgedCommand[];
}

export interface JudgedCommand {
  text: string;
  normalised: string;
  decision: Decision;
  rule: string | null;
}

const RANK: Record<Decision, number> = { allow: 0, ask: 1, deny: 2 };

/** Above 0 when `a` is stricter than `b`. */
export function compareStrictness(a: Decision, b: Decision): number {
  return RANK[a] - RANK[b];
}

export function isDecision(text: unknown): text is Decision {
  return DECISIONS.some((decision) => decision === text);
}

export interface ParseContext {
  /** Every tool there is, enabled or not: a key that names none is reported. */
  tools: readonly { name: string }[];
  /** Name of the file, for places. */
  file?: string;
}

/** Reads `permission`. Nothing bad is widened: an unreadable decision is dropped and reported with its place. */
export function parsePermission(
  raw: readonly OrderedEntry[],
  context: ParseContext,
): { rules: ToolRules[]; reports: string[] } {
  const reports: string[] = [];
  const rules = raw.flatMap((entry) => parseTool(entry, context, reports) ?? []);
  return { rules, reports };
}

function parseTool(entry: OrderedEntry, context: ParseContext, reports: string[]): ToolRules | null {
  const place = placeOf(entry, context);
  reports.push(...unknownTools([{ tool: entry.key, place }], context.tools));
  if (!Array.isArray(entry.value)) {
    if (isDecision(entry.value)) return { tool: entry.key, rules: entry.value, place };
    reports.push(badDecision(place, entry.key, entry.value));
    return null;
  }
  const table = entry.value.flatMap((row) => parseRow(row, entry.key, context, reports) ?? []);
  reportDeadRows(table, entry.key, reports);
  // A table of which every entry was unreadable says nothing: the tool keeps its default.
  return table.length === 0 && entry.value.length > 0 ? null : { tool: entry.key, rules: table, place };
}

/** A report for each key that names no tool. Families and MCP tools come and go: nothing is said of them. */
export function unknownTools(
  rules: readonly Pick<ToolRules, "tool" | "place">[],
  tools: ParseContext["tools"],
): string[] {
  return rules
    .filter(({ tool }) => !isFamily(tool) && !tool.startsWith("mcp__") && !tools.some((known) => known.name === tool))
    .map(({ tool, place }) => `${place}: permission "${tool}" names no tool that exists now`);
}

function parseRow(row: OrderedEntry, tool: string, context: ParseContext, reports: string[]): RuleEntry | null {
  const place = placeOf(row, context);
  if (!Array.isArray(row.value) && isDecision(row.value)) return { pattern: row.key, decision: row.value, place };
  reports.push(badDecision(place, `${tool} "${row.key}"`, Array.isArray(row.value) ? "a table" : row.value));
  return null;
}

function placeOf(entry: OrderedEntry, context: ParseContext): string {
  return `${context.file ?? "config.json"}:${entry.line}`;
}

function badDecision(place: string, what: string, got: string): string {
  return `${place}: permission ${what}: "${got}" is not ${DECISIONS.join(", ")}; ignored`;
}

function reportDeadRows(table: readonly RuleEntry[], tool: string, reports: string[]): void {
  const last = table.findLastIndex((row) => isCatchAll(row.pattern));
  const dead = table.slice(0, Math.max(last, 0));
  if (dead.length === 0) return;
  const names = dead.map((row) => `"${row.pattern}"`).join(", ");
  reports.push(
    `${table[last]?.place}: permission ${tool}: "${table[last]?.pattern}" comes last, so ${names} before it never count`,
  );
}

/** `bash(git *)`, `web_fetch` → one entry for this run. */
export function parseRuleFlag(text: string, decision: Decision, flag = `--${decision}`): ToolRules {
  const match = /^\s*([A-Za-z0-9_*?-]+)\s*(?:\(([\s\S]*)\))?\s*$/.exec(text);
  if (!match?.[1] || match[2] === "")
    throw new UserError(`${flag} "${text}" can't be read; write a tool or tool(pattern), as in ${flag} 'bash(git *)'`);
  return { tool: match[1], rules: [{ pattern: match[2] ?? "*", decision, place: flag }], place: flag, added: true };
}

/** One row of the table in force for a tool. */
export interface TableRow {
  pattern: string;
  decision: Decision;
  /** `bash "git *" (config.json:4)`. */
  label: string;
  /** A built-in default: matched without regard to case (file systems may ignore it). */
  builtin: boolean;
}

export interface Table {
  rows: readonly TableRow[];
  /** Rows of the tool's own default that a wildcard key may not lift. */
  floor: readonly TableRow[];
}

/** The table in force for `tool`: its exact key, else the last family key that covers it, else its default; then what flags add. */
export function tableFor(tool: string, config: PermissionConfig, fallback: RuleDefault): Table {
  const written = config.filter((rules) => !rules.added);
  const exact = written.findLast((rules) => rules.tool === tool);
  const family = exact
    ? undefined
    : written.findLast((rules) => isFamily(rules.tool) && matchesWildcard(rules.tool, tool));
  const defaults = defaultRows(tool, fallback);
  const base = exact ?? family;
  const added = config.filter((rules) => rules.added && matchesWildcard(rules.tool, tool));
  const liftsFloor = exact !== undefined || added.some((rules) => rules.tool === tool);
  return {
    rows: [...(base ? rowsOf(base) : defaults), ...added.flatMap(rowsOf)],
    floor: liftsFloor ? [] : typeof fallback === "string" ? [] : defaults,
  };
}

function rowsOf(rules: ToolRules): TableRow[] {
  const rows: RuleEntry[] = typeof rules.rules === "string" ? [{ pattern: "*", decision: rules.rules }] : rules.rules;
  return rows.map((row) => ({
    pattern: row.pattern,
    decision: row.decision,
    label: `${rules.tool} "${row.pattern}" (${row.place ?? rules.place})`,
    builtin: false,
  }));
}

function defaultRows(tool: string, fallback: RuleDefault): TableRow[] {
  const rows = typeof fallback === "string" ? [["*", fallback] as const] : fallback;
  return rows.map(([pattern, decision]) => ({
    pattern,
    decision,
    label: `${tool} "${pattern}" (default)`,
    builtin: true,
  }));
}

export interface Match {
  decision: Decision;
  /** Null: nothing matched, which asks. */
  row: TableRow | null;
}

/** What a table says about a subject: the last matching row, `ask` where none matches; never below the floor. */
export function matchTable(table: Table, subject: string): Match {
  const ruled = lastMatch(table.rows, subject);
  const floor = lastMatch(table.floor, subject);
  return floor.row && compareStrictness(floor.decision, ruled.decision) > 0 ? floor : ruled;
}

/** Whether a decision of this row comes from the built-in list of secret files. */
export function isSecretRow(row: TableRow | null): boolean {
  return row !== null && row.builtin && !isCatchAll(row.pattern);
}

export function isCatchAll(pattern: string): boolean {
  return /^\*+$/.test(pattern);
}

function lastMatch(rows: readonly TableRow[], subject: string): Match {
  const row = rows.findLast((candidate) => rowMatches(candidate, subject)) ?? null;
  return { decision: row?.decision ?? "ask", row };
}

function rowMatches(row: TableRow, subject: string): boolean {
  if (row.builtin && !mayEndLike(row.pattern, subject)) return false;
  if (row.builtin) return matchesWildcard(row.pattern, subject.toLowerCase());
  return matchesUrlRule(row, subject) ?? matchesWildcard(row.pattern, subject);
}

// Most built-in patterns end in a letter of their own, and most subjects don't: this saves the walk.
function mayEndLike(pattern: string, subject: string): boolean {
  const last = pattern.at(-1) ?? "";
  return last === "*" || subject.at(-1)?.toLowerCase() === last;
}

function isFamily(key: string): boolean {
  return /[*?]/.test(key);
}
