import { expect, test } from "bun:test";
import { Budget } from "../src/budget.ts";
import type { Usage } from "../src/types.ts";

const none = { maxSpendUsd: null, maxTokens: null, maxSeconds: null };
const fresh = () => ({ inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, costUsd: 0 });
const usage = (inputTokens: number, outputTokens: number): Usage => ({
  inputTokens,
  outputTokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
});

test("warns once at 80 % and refuses at 100 %, naming the ceiling and the flag", () => {
  const budget = new Budget({ ...none, maxTokens: 100 }, fresh());
  expect(budget.check()).toEqual({ ok: true, warning: null });
  budget.add(usage(70, 15), 0);
  expect(budget.check()).toEqual({ ok: true, warning: "85 % of maxTokens used (85 of 100 tokens)" });
  expect(budget.check()).toEqual({ ok: true, warning: null });
  budget.add(usage(20, 0), 0);
  expect(budget.check()).toMatchObject({
    ok: false,
    ceiling: "maxTokens",
    message: "maxTokens reached: 105 of 100 tokens used. Raise it with --max-tokens",
  });
});

test("what a resumed session spent counts", () => {
  const budget = new Budget({ ...none, maxSpendUsd: 1 }, { ...fresh(), costUsd: 1.2 });
  expect(budget.check()).toMatchObject({ ok: false, ceiling: "maxSpendUsd" });
});

test("one unpriced request makes the sum unknown for good", () => {
  const budget = new Budget(none, fresh());
  budget.add(usage(1, 1), null);
  budget.add(usage(1, 1), 0.5);
  expect(budget.spent.costUsd).toBeNull();
});

test("money is counted where a session, or one of its requests, has had no price", () => {
  const budget = new Budget({ ...none, maxSpendUsd: 1 }, { ...fresh(), costUsd: null });
  budget.add(usage(1, 1), 0.7);
  budget.add(usage(1, 1), null);
  budget.add(usage(1, 1), 0.7);
  expect(budget.check()).toMatchObject({ ok: false, ceiling: "maxSpendUsd" });
});

test("cents add up without stray digits", () => {
  const budget = new Budget(none, fresh());
  for (const costUsd of [0.1, 0.2, 0.00018]) budget.add(usage(1, 1), costUsd);
  expect(budget.spent.costUsd).toBe(0.30018);
});

test("raising adds the same amount again", () => {
  const budget = new Budget({ ...none, maxTokens: 10 }, fresh());
  budget.add(usage(10, 0), 0);
  budget.raise("maxTokens");
  expect(budget.check()).toMatchObject({ ok: true });
  budget.add(usage(10, 0), 0);
  expect(budget.check()).toMatchObject({ ok: false });
});

test("seconds count from the start by the clock given", () => {
  let now = 0;
  const budget = new Budget({ ...none, maxSeconds: 5 }, fresh(), () => now);
  now = 5000;
  expect(budget.check()).toMatchObject({ ok: false, ceiling: "maxSeconds" });
});
