/** Adds up what saved sessions cost, by day, model and directory. Pure; reads no files and knows no prices. */
import { UserError } from "./errors.ts";
import { addUsd, formatUsd } from "./pricing.ts";
import type { SessionHeader, Spend } from "./session-record.ts";

export type CostSession = Pick<SessionHeader, "id" | "cwd" | "spend">;

export interface CostLine {
  /** The day (`YYYY-MM-DD`), model or directory; `total` for the sum. */
  key: string;
  sessions: number;
  requests: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** Null where nothing had a known price. */
  costUsd: number | null;
  /** Requests without a known price: `costUsd` is then too small. */
  unpriced: number;
  /** Requests whose tokens were estimated, since the endpoint reported none. */
  estimated: number;
}

export interface CostReport {
  /** First day counted, null for all. */
  since: string | null;
  total: CostLine;
  /** What of it went to subagents and summaries. */
  subagents: CostLine;
  /** Oldest first. */
  days: CostLine[];
  /** Dearest first, as are directories. */
  models: CostLine[];
  directories: CostLine[];
}

const DAY_MS = 86_400_000;
const UNIT_DAYS: Record<string, number> = { h: 1 / 24, d: 1, w: 7, m: 30, y: 365 };

/** Sums the sessions from the day `since` on. */
export function sumCosts(sessions: readonly CostSession[], since: string | null): CostReport {
  const total = new Sums();
  const subagents = new Sums();
  const days = new Sums();
  const models = new Sums();
  const directories = new Sums();
  for (const session of sessions) {
    for (const spend of session.spend) {
      if (since !== null && spend.day < since) continue;
      total.add("total", session.id, spend);
      if (spend.subagent) subagents.add("subagents", session.id, spend);
      days.add(spend.day, session.id, spend);
      models.add(spend.model, session.id, spend);
      directories.add(session.cwd, session.id, spend);
    }
  }
  return {
    since,
    total: total.lines()[0] ?? emptyLine("total"),
    subagents: subagents.lines()[0] ?? emptyLine("subagents"),
    days: days.lines().toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    models: models.lines().toSorted(byCost),
    directories: directories.lines().toSorted(byCost),
  };
}

/** First day of `7d`, `24h`, `2w`, `3m`, `1y`, `today` or a date. Throws UserError on anything else. */
export function parseSince(text: string, now: Date): string {
  const span = /^(\d{1,5})([hdwmy])$/.exec(text.trim().toLowerCase());
  const days = span ? Number(span[1]) * (UNIT_DAYS[span[2] ?? ""] ?? 0) : text.trim() === "today" ? 0 : null;
  if (days !== null) return dayOf(new Date(Math.max(0, now.getTime() - days * DAY_MS)));
  if (isDay(text.trim())) return text.trim();
  throw new UserError(`Unknown time "${text}". Use 7d, 24h, 2w, 3m, 1y, today or a date such as 2026-11-30`);
}

/** The report as a table for people; one trailing newline. */
export function renderCosts(report: CostReport): string {
  const from = report.since === null ? "" : ` since ${report.since}`;
  if (report.total.requests === 0) return `Nothing was spent${from}.\n`;
  const groups = [
    ...group("By day", report.days),
    ...group("By model", report.models),
    ...group("By directory", report.directories),
    ...(report.subagents.requests > 0 ? group("Subagents and summaries, part of the total", [report.subagents]) : []),
    ...group(`Total${from}`, [report.total]),
  ];
  return `${groups.join("\n")}\n`;
}

class Sums {
  #lines = new Map<string, { line: CostLine; sessions: Set<string> }>();

  add(key: string, session: string, spend: Spend): void {
    const entry = this.#lines.get(key) ?? { line: emptyLine(key), sessions: new Set() };
    this.#lines.set(key, entry);
    entry.sessions.add(session);
    addSpend(entry.line, spend);
    entry.line.sessions = entry.sessions.size;
  }

  lines(): CostLine[] {
    return [...this.#lines.values()].map((entry) => entry.line);
  }
}

function addSpend(line: CostLine, spend: Spend): void {
  line.requests += spend.requests;
  line.inputTokens += spend.inputTokens;
  line.outputTokens += spend.outputTokens;
  line.cacheReadTokens += spend.cacheReadTokens;
  line.cacheWriteTokens += spend.cacheWriteTokens;
  line.unpriced += spend.unpriced;
  line.estimated += spend.estimated;
  if (spend.costUsd !== null) line.costUsd = addUsd(line.costUsd ?? 0, spend.costUsd);
}

function emptyLine(key: string): CostLine {
  return {
    key,
    sessions: 0,
    requests: 0,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    costUsd: null,
    unpriced: 0,
    estimated: 0,
  };
}

function byCost(a: CostLine, b: CostLine): number {
  return (b.costUsd ?? -1) - (a.costUsd ?? -1) || b.inputTokens - a.inputTokens || (a.key < b.key ? -1 : 1);
}

function group(title: string, lines: readonly CostLine[]): string[] {
  const rows = lines.map(cells);
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const aligned = rows.map((row) =>
    row.map((cell, column) => (column < 4 ? cell.padStart(widths[column] ?? 0) : cell)).join("  "),
  );
  return [title, ...aligned.map((row) => `  ${row}`.trimEnd())];
}

// The key comes last: a directory may be long, and then nothing behind it is pushed out of line.
function cells(line: CostLine): string[] {
  const mark = line.estimated > 0 ? "~" : "";
  return [
    line.costUsd === null ? formatUsd(null) : `${mark}${formatUsd(line.costUsd)}`,
    `${mark}${line.inputTokens} in`,
    `${mark}${line.outputTokens} out`,
    `${line.sessions} ${line.sessions === 1 ? "session" : "sessions"}`,
    [keyOf(line), remarks(line)].filter((text) => text !== "").join("  "),
  ];
}

/** The heading says it of lines that stand alone. */
const keyOf = (line: CostLine): string => (line.key === "total" || line.key === "subagents" ? "" : line.key);

function remarks(line: CostLine): string {
  const counted = (sign: string, count: number, what: string): string =>
    `${sign} ${count} ${what} ${count === 1 ? "request" : "requests"}`;
  const all = [
    ...(line.costUsd !== null && line.unpriced > 0 ? [counted("+", line.unpriced, "unpriced")] : []),
    ...(line.estimated > 0 ? [counted("~", line.estimated, "estimated")] : []),
  ];
  return all.length > 0 ? `(${all.join(", ")})` : "";
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}

function isDay(text: string): boolean {
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(`${text}T00:00:00Z`) : null;
  return date !== null && !Number.isNaN(date.getTime()) && dayOf(date) === text;
}
