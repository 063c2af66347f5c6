/** Sums of what saved sessions cost. */
import { describe, expect, test } from "bun:test";
import { parseSince, renderCosts, sumCosts, type CostSession } from "../src/cost.ts";
import { UserError } from "../src/errors.ts";

type Spend = CostSession["spend"][number];

const spend = (day: string, model: string, costUsd: number | null, over: Partial<Spend> = {}): Spend => ({
  day,
  provider: "anthropic",
  model,
  requests: 2,
  inputTokens: 1000,
  outputTokens: 100,
  cacheReadTokens: 500,
  cacheWriteTokens: 10,
  costUsd,
  unpriced: costUsd === null ? 2 : 0,
  estimated: 0,
  subagent: false,
  ...over,
});

const sessions: CostSession[] = [
  { id: "a", cwd: "/home/me/app", spend: [spend("2026-11-28", "big", 1.5), spend("2026-11-30", "small", 0.25)] },
  { id: "b", cwd: "/home/me/lib", spend: [spend("2026-11-30", "big", 2), spend("2026-11-30", "odd", null)] },
  { id: "c", cwd: "/home/me/app", spend: [spend("2026-11-30", "small", 0.5, { subagent: true })] },
  { id: "d", cwd: "/home/me/empty", spend: [] },
];

describe("sums", () => {
  test("of everything", () => {
    expect(sumCosts(sessions, null).total).toEqual({
      key: "total",
      sessions: 3,
      requests: 10,
      inputTokens: 5000,
      outputTokens: 500,
      cacheReadTokens: 2500,
      cacheWriteTokens: 50,
      costUsd: 4.25,
      unpriced: 2,
      estimated: 0,
    });
  });

  test("what went to subagents stands apart, and is part of the total", () => {
    const { subagents } = sumCosts(sessions, null);
    expect(subagents).toMatchObject({ sessions: 1, requests: 2, inputTokens: 1000, costUsd: 0.5 });
    expect(sumCosts(sessions.slice(0, 2), null).subagents).toMatchObject({ requests: 0, costUsd: null });
  });

  test("by day, oldest first; by model and directory, dearest first", () => {
    const report = sumCosts(sessions, null);
    const short = (lines: typeof report.days) => lines.map(({ key, sessions: n, costUsd }) => [key, n, costUsd]);
    expect(short(report.days)).toEqual([
      ["2026-11-28", 1, 1.5],
      ["2026-11-30", 3, 2.75],
    ]);
    expect(short(report.models)).toEqual([
      ["big", 2, 3.5],
      ["small", 2, 0.75],
      ["odd", 1, null],
    ]);
    expect(short(report.directories)).toEqual([
      ["/home/me/app", 2, 2.25],
      ["/home/me/lib", 1, 2],
    ]);
  });

  test("from a day on", () => {
    const report = sumCosts(sessions, "2026-11-29");
    expect(report.days.map((line) => line.key)).toEqual(["2026-11-30"]);
    expect(report.total.costUsd).toBe(2.75);
  });

  test("a model named like a property of objects is counted like any other", () => {
    const report = sumCosts([{ id: "a", cwd: "/", spend: [spend("2026-11-30", "__proto__", 1)] }], null);
    expect(report.models.map((line) => line.key)).toEqual(["__proto__"]);
  });
});

describe("the table", () => {
  test("lines up, and says where prices are missing", () => {
    expect(renderCosts(sumCosts(sessions, "2026-11-29"))).toBe(
      [
        "By day",
        "  $2.75  4000 in  400 out  3 sessions  2026-11-30  (+ 2 unpriced requests)",
        "By model",
        "     $2.00  1000 in  100 out   1 session  big",
        "     $0.75  2000 in  200 out  2 sessions  small",
        "  unpriced  1000 in  100 out   1 session  odd",
        "By directory",
        "  $2.00  2000 in  200 out   1 session  /home/me/lib  (+ 2 unpriced requests)",
        "  $0.75  2000 in  200 out  2 sessions  /home/me/app",
        "Subagents and summaries, part of the total",
        "  $0.50  1000 in  100 out  1 session",
        "Total since 2026-11-29",
        "  $2.75  4000 in  400 out  3 sessions  (+ 2 unpriced requests)",
        "",
      ].join("\n"),
    );
  });

  test("marks what was estimated, and says of how many requests", () => {
    const guessed = spend("2026-11-30", "big", 1, { requests: 3, estimated: 1 });
    const text = renderCosts(sumCosts([{ id: "a", cwd: "/", spend: [guessed] }], null));
    expect(text.split("\n")[1]).toBe("  ~$1.00  ~1000 in  ~100 out  1 session  2026-11-30  (~ 1 estimated request)");
  });

  test("of nothing says so", () => {
    expect(renderCosts(sumCosts([], "2026-11-30"))).toBe("Nothing was spent since 2026-11-30.\n");
    expect(renderCosts(sumCosts([], null))).toBe("Nothing was spent.\n");
  });
});

describe("a time", () => {
  const now = new Date("2026-11-30T15:00:00Z");
  test.each([
    ["7d", "2026-11-23"],
    ["24h", "2026-11-29"],
    ["2w", "2026-11-16"],
    ["1m", "2026-10-31"],
    ["1y", "2025-11-30"],
    ["today", "2026-11-30"],
    ["2026-02-28", "2026-02-28"],
    ["99999y", "1970-01-01"],
  ])("%s begins on %s", (text, day) => {
    expect(parseSince(text, now)).toBe(day);
  });

  test.each(["", "7", "d", "-7d", "7 days", "2026-02-30", "2026-2-3", "yesterday"])("%p is refused", (text) => {
    expect(() => parseSince(text, now)).toThrow(UserError);
  });
});
