import { describe, expect, test } from "bun:test";
import { canonicalJson } from "../src/canonical-json.ts";
import { LoopGuard } from "../src/loop-guard.ts";
import { CIRCLES, PRODUCTIVE, type Call, type Labelled } from "./support/loop-traces.ts";

/** Feeds a trace, one call a step, up to a stop, and returns what was said by position. */
function signals(calls: readonly Call[]): Labelled["expected"] {
  const guard = new LoopGuard();
  const found: Labelled["expected"] = [];
  for (const [at, call] of calls.entries()) {
    const trace = { input: {}, outcome: "same", isError: false, isValidationError: false, ...call };
    const { kind } = guard.record(trace, !call.readOnly, at + 1);
    if (kind !== "none") found.push([at + 1, kind]);
    if (kind === "stop") break;
  }
  return found;
}

describe("work that gets on is left alone", () => {
  test.each(PRODUCTIVE.map((one) => [one.label, one] as const))("%s", (_, { calls, expected }) =>
    expect(signals(calls)).toEqual(expected),
  );
});

describe("a circle is told at the call it shows at, and stopped at the call it must be", () => {
  test.each(CIRCLES.map((one) => [one.label, one] as const))("%s", (_, { calls, expected }) =>
    expect(signals(calls)).toEqual(expected),
  );
});

test("the words say what was seen", () => {
  const guard = new LoopGuard();
  const trace = { name: "bash", input: {}, outcome: "x", isError: false, isValidationError: false };
  const said = [1, 2, 3, 4].map((step) => guard.record(trace, true, step));
  expect(said[2]).toMatchObject({ kind: "nudge", text: expect.stringContaining("the same bash call three times") });
  expect(said[3]).toEqual({
    kind: "stop",
    reason: "bash was called 4 times in a row with the same arguments and the same outcome",
  });
});

test("canonical JSON is equal for equal values and different for different ones", () => {
  expect(canonicalJson({ b: [1, { d: null, c: "x" }], a: true })).toBe(
    canonicalJson({ a: true, b: [1, { c: "x", d: null }] }),
  );
  expect(canonicalJson({ a: "1" })).not.toBe(canonicalJson({ a: 1 }));
});
