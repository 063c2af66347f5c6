import { describe, expect, test } from "bun:test";
import { canonicalJson } from "../src/canonical-json.ts";
import { LoopGuard, type CallTrace } from "../src/loop-guard.ts";

interface Call extends Partial<CallTrace> {
  name: string;
  readOnly?: boolean;
}

/** Feeds a trace, one call a step, and returns the signals by position (1-based) that are not "none". */
function signals(calls: Call[]): [number, string][] {
  const guard = new LoopGuard();
  return calls.flatMap((call, at): [number, string][] => {
    const trace = { input: {}, outcome: "same", isError: false, isValidationError: false, ...call };
    const signal = guard.record(trace, !call.readOnly, at + 1);
    return signal.kind === "none" ? [] : [[at + 1, signal.kind]];
  });
}

const times = (count: number, make: (at: number) => Call): Call[] => Array.from({ length: count }, (_, at) => make(at));

describe("circles", () => {
  test.each<[string, Call[], [number, string][]]>([
    [
      "identical mutating calls",
      times(4, () => ({ name: "bash", input: { command: "echo noop" } })),
      [
        [3, "nudge"],
        [4, "stop"],
      ],
    ],
    [
      "identical read-only calls",
      times(6, () => ({ name: "read_file", readOnly: true })),
      [
        [3, "nudge"],
        [6, "stop"],
      ],
    ],
    [
      "the same invalid call",
      times(3, () => ({ name: "edit_file", isError: true, isValidationError: true })),
      [[3, "stop"]],
    ],
    [
      "two calls in turn",
      times(10, (at) => ({ name: at % 2 ? "grep" : "glob", readOnly: true })),
      [
        [6, "nudge"],
        [10, "stop"],
      ],
    ],
    [
      "one tool failing whatever the arguments",
      times(12, (at) => ({ name: "edit_file", input: { at }, isError: true, outcome: `no ${at}` })),
      [
        [6, "nudge"],
        [12, "stop"],
      ],
    ],
    [
      "key order makes no difference",
      times(4, (at) => ({ name: "bash", input: at % 2 ? { a: 1, b: 2 } : { b: 2, a: 1 } })),
      [
        [3, "nudge"],
        [4, "stop"],
      ],
    ],
  ])("%s", (_, calls, expected) => expect(signals(calls)).toEqual(expected));

  test("a third nudge within ten steps stops", () => {
    const run = (name: string): Call[] => times(3, () => ({ name, readOnly: true }));
    expect(signals([...run("a"), ...run("b"), ...run("c")])).toEqual([
      [3, "nudge"],
      [6, "nudge"],
      [9, "stop"],
    ]);
  });
});

describe("long productive traces give no signal", () => {
  test.each<[string, Call[]]>([
    ["thirty different edits", times(30, (at) => ({ name: "edit_file", input: { path: `f${at}` } }))],
    [
      "forty reads of different files",
      times(40, (at) => ({ name: "read_file", input: { path: `f${at}` }, outcome: `text ${at}`, readOnly: true })),
    ],
    [
      "polling a build whose output changes",
      times(20, (at) => ({ name: "bash", input: { command: "tail build.log" }, outcome: `line ${at}` })),
    ],
    [
      "edit, test, edit, test with other edits",
      times(30, (at) =>
        at % 2
          ? { name: "bash", input: { command: "make test" }, outcome: `run ${at}` }
          : { name: "edit_file", input: { at } },
      ),
    ],
    [
      "five failing edits among good ones",
      times(20, (at) => ({ name: "edit_file", input: { at }, isError: at % 4 === 0, outcome: `o${at}` })),
    ],
    [
      "twice the same, then something else, again and again",
      times(24, (at) => ({ name: "bash", input: { command: `step ${Math.floor(at / 2)}` } })),
    ],
  ])("%s", (_, calls) => expect(signals(calls)).toEqual([]));
});

test("canonical JSON is equal for equal values and different for different ones", () => {
  expect(canonicalJson({ b: [1, { d: null, c: "x" }], a: true })).toBe(
    canonicalJson({ a: true, b: [1, { c: "x", d: null }] }),
  );
  expect(canonicalJson({ a: "1" })).not.toBe(canonicalJson({ a: 1 }));
});
