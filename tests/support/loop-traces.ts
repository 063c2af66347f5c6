/** Traces of calls, labelled with what the loop guard must say to each: nothing to work that gets on, the exact signal at the exact call to circles. */
import type { CallTrace, Signal } from "../../src/loop-guard.ts";

export interface Call extends Partial<CallTrace> {
  name: string;
  readOnly?: boolean;
}

export interface Labelled {
  label: string;
  calls: Call[];
  /** Positions from 1, and what is said there; the trace ends with a stop. */
  expected: [at: number, kind: Exclude<Signal["kind"], "none">][];
}

const times = (count: number, make: (at: number) => Call): Call[] => Array.from({ length: count }, (_, at) => make(at));
const cycle = (count: number, ...calls: ((at: number) => Call)[]): Call[] =>
  times(count, (at) => (calls[at % calls.length] ?? missing)(at));
const missing = (): never => {
  throw new Error("A cycle of nothing");
};

const bash = (command: string, outcome = "same"): Call => ({ name: "bash", input: { command }, outcome });
const read = (path: string, outcome = `text of ${path}`): Call => ({
  name: "read_file",
  input: { path },
  outcome,
  readOnly: true,
});
const grep = (pattern: string, outcome = "no matches"): Call => ({
  name: "grep",
  input: { pattern },
  outcome,
  readOnly: true,
});
const edit = (at: number | string, path = "src/a.ts"): Call => ({
  name: "edit_file",
  input: { path, oldString: `old ${at}`, newString: `new ${at}` },
  outcome: `edited ${at}`,
});
const failed = (call: Call, outcome = "failed"): Call => ({ ...call, outcome, isError: true });
const invalid = (call: Call): Call => ({ ...call, outcome: "invalid", isError: true, isValidationError: true });
const refused = (call: Call): Call => ({ ...call, outcome: "refused", isError: true, refused: true });

const productive = (label: string, calls: Call[]): Labelled => ({ label, calls, expected: [] });

export const PRODUCTIVE: readonly Labelled[] = [
  productive(
    "thirty different edits of one file",
    times(30, (at) => edit(at)),
  ),
  productive(
    "thirty different files written",
    times(30, (at) => edit(1, `src/f${at}.ts`)),
  ),
  productive(
    "forty reads of different files",
    times(40, (at) => read(`src/f${at}.ts`)),
  ),
  productive(
    "forty pages of one long file",
    times(40, (at) => ({ ...read("log", `p${at}`), input: { offset: at } })),
  ),
  productive(
    "thirty searches with no matches",
    times(30, (at) => grep(`word${at}`)),
  ),
  productive(
    "polling a build whose output grows",
    times(40, (at) => bash("tail build.log", `line ${at}`)),
  ),
  productive(
    "polling a status that is read, and changes",
    times(40, (at) => read("status", `${at} %`)),
  ),
  productive(
    "polling that stalls for two looks at a time",
    times(40, (at) => bash("ps", `${Math.floor(at / 2)}`)),
  ),
  productive(
    "two logs watched in turn, both growing",
    cycle(
      40,
      (at) => read("a", `${at}`),
      (at) => read("b", `${at}`),
    ),
  ),
  productive(
    "one log that grows beside one that doesn't",
    cycle(
      40,
      (at) => read("a", `${at}`),
      () => read("b"),
    ),
  ),
  productive(
    "test, mend, test, mend; the test fails the same way",
    cycle(
      40,
      () => bash("make test"),
      (at) => edit(at),
    ),
  ),
  productive(
    "edit, look, test, look, with other edits",
    cycle(
      40,
      (at) => edit(at),
      () => read("src/a.ts"),
      () => bash("t"),
    ),
  ),
  productive(
    "the same check after each of many files",
    cycle(
      40,
      (at) => edit(1, `f${at}`),
      () => bash("tsc"),
    ),
  ),
  productive(
    "edits that fail now and then",
    times(40, (at) => (at % 4 ? edit(at) : failed(edit(at)))),
  ),
  productive(
    "five failing tries, each another, then one that works",
    cycle(36, ...times(5, edit).map((call, n) => (at: number) => failed({ ...call, input: { at, n } })), edit),
  ),
  productive(
    "retries of a flaky download that vary",
    cycle(
      24,
      (at) => failed(bash(`curl --retry ${at} x`), `timeout ${at}`),
      (at) => bash(`sleep ${at}`),
    ),
  ),
  productive(
    "twice the same, then something else",
    times(40, (at) => bash(`step ${Math.floor(at / 2)}`)),
  ),
  productive(
    "the same three calls for each module",
    times(45, (at) => [grep, read, bash][at % 3]?.(`m${Math.floor(at / 3)}`) ?? missing()),
  ),
  productive(
    "three calls in rotation",
    cycle(
      39,
      () => read("a"),
      () => read("b"),
      () => read("c"),
    ),
  ),
  productive(
    "a status looked at between commits",
    cycle(
      40,
      () => bash("git status", "clean"),
      (at) => bash(`git commit -m ${at}`),
    ),
  ),
  productive(
    "a task list kept between steps",
    cycle(
      40,
      (at) => ({ name: "todo_write", input: { at }, readOnly: true }),
      (at) => edit(at),
    ),
  ),
  productive(
    "eleven failures of one tool, spread wide",
    cycle(
      66,
      (at) => failed(bash(`try ${at}`)),
      (at) => edit(at),
      (at) => read(`f${at}`),
      (at) => grep(`${at}`),
      (at) => read(`g${at}`),
      (at) => read(`h${at}`),
    ),
  ),
  productive(
    "one invalid call mended at the second try, often",
    cycle(
      40,
      (at) => invalid(edit(at)),
      (at) => edit(`${at}b`),
    ),
  ),
  productive(
    "many different refused commands",
    times(20, (at) => refused(bash(`rm -rf d${at}`))),
  ),
  productive(
    "numbers as text aren't numbers",
    cycle(
      20,
      (at) => ({ ...read("a", `${at}`), input: { line: 1 } }),
      () => ({ ...read("a"), input: { line: "1" } }),
    ),
  ),
  productive(
    "another order in a list is another call",
    cycle(
      24,
      (at) => ({ ...bash("x", `${at}`), input: { list: [1, 2] } }),
      () => ({ ...bash("x"), input: { list: [2, 1] } }),
    ),
  ),
];

const circle = (label: string, calls: Call[], ...expected: Labelled["expected"]): Labelled => ({
  label,
  calls,
  expected,
});

export const CIRCLES: readonly Labelled[] = [
  circle(
    "one command for ever",
    times(9, () => bash("echo noop")),
    [3, "nudge"],
    [4, "stop"],
  ),
  circle(
    "one command, its keys in another order",
    times(9, (at) => ({ ...bash("x"), input: at % 2 ? { a: 1, b: { c: 2, d: 3 } } : { b: { d: 3, c: 2 }, a: 1 } })),
    [3, "nudge"],
    [4, "stop"],
  ),
  circle(
    "one edit that works each time",
    times(9, () => edit(1)),
    [3, "nudge"],
    [4, "stop"],
  ),
  circle(
    "one edit that fails each time",
    times(9, () => failed(edit(1))),
    [3, "nudge"],
    [4, "stop"],
  ),
  circle(
    "one file read for ever",
    times(9, () => read("a")),
    [3, "nudge"],
    [6, "stop"],
  ),
  circle(
    "one search for ever",
    times(9, () => grep("x")),
    [3, "nudge"],
    [6, "stop"],
  ),
  circle(
    "work, and then one command for ever",
    [...times(15, edit), ...times(9, () => bash("x"))],
    [18, "nudge"],
    [19, "stop"],
  ),
  circle(
    "a poll whose output stops changing",
    [...times(10, (at) => bash("tail", `${at}`)), ...times(9, () => bash("tail", "9"))],
    [12, "nudge"],
    [13, "stop"],
  ),
  circle(
    "a file polled that stops changing",
    [...times(10, (at) => read("log", `${at}`)), ...times(9, () => read("log", "9"))],
    [12, "nudge"],
    [15, "stop"],
  ),
  circle(
    "one refused call for ever",
    times(9, () => refused(bash("rm -rf x"))),
    [3, "nudge"],
    [6, "stop"],
  ),
  circle(
    "one command refused as a repetition from the third on",
    times(9, (at) => (at < 2 ? bash("x") : refused(bash("x")))),
    [3, "nudge"],
    [4, "stop"],
  ),
  circle(
    "a poll that gets on, and is then refused",
    [...times(10, (at) => bash("tail", `${at}`)), ...times(9, () => refused(bash("tail")))],
    [12, "nudge"],
    [13, "stop"],
  ),
  circle(
    "one invalid call",
    times(5, () => invalid(edit(1))),
    [3, "stop"],
  ),
  circle(
    "one invalid call, its keys in another order",
    times(5, (at) => ({ ...invalid(edit(1)), input: at % 2 ? { a: 1, b: 2 } : { b: 2, a: 1 } })),
    [3, "stop"],
  ),
  circle("one invalid call after good ones", [...times(6, edit), ...times(5, () => invalid(edit("x")))], [9, "stop"]),
  circle(
    "two reads in turn",
    cycle(
      14,
      () => read("a"),
      () => read("b"),
    ),
    [6, "nudge"],
    [10, "stop"],
  ),
  circle(
    "two commands in turn",
    cycle(
      14,
      () => bash("a"),
      () => bash("b"),
    ),
    [6, "nudge"],
    [10, "stop"],
  ),
  circle(
    "an edit and its reverse",
    cycle(
      14,
      () => edit("there"),
      () => edit("back"),
    ),
    [6, "nudge"],
    [10, "stop"],
  ),
  circle(
    "a read and a command in turn, after other work",
    [
      ...times(9, edit),
      ...cycle(
        14,
        () => read("a"),
        () => bash("b"),
      ),
    ],
    [15, "nudge"],
    [19, "stop"],
  ),
  circle(
    "a reading and a failing call in turn",
    cycle(
      14,
      () => read("a"),
      () => failed(edit(1)),
    ),
    [6, "nudge"],
    [10, "stop"],
  ),
  circle(
    "one tool failing whatever the arguments",
    times(14, (at) => failed(edit(at), `no ${at}`)),
    [6, "nudge"],
    [12, "stop"],
  ),
  circle(
    "one tool failing beside another's reads",
    cycle(
      24,
      (at) => failed(edit(at), `no ${at}`),
      (at) => read(`f${at}`),
    ),
    [11, "nudge"],
  ),
  circle(
    "one tool called wrongly in ever new ways",
    times(14, (at) => invalid(edit(at))),
    [6, "nudge"],
    [12, "stop"],
  ),
  circle(
    "failing again after a success",
    [...times(5, (at) => failed(edit(at))), edit(5), ...times(14, (at) => failed(edit(at + 6)))],
    [12, "nudge"],
    [18, "stop"],
  ),
  circle(
    "three warnings within ten steps",
    [...times(3, () => read("a")), ...times(3, () => read("b")), ...times(3, () => read("c"))],
    [3, "nudge"],
    [6, "nudge"],
    [9, "stop"],
  ),
  circle(
    "two warnings, far apart from the next two",
    [
      ...times(3, () => read("a")),
      ...times(3, () => read("b")),
      ...times(8, edit),
      ...times(3, () => read("c")),
      ...times(3, () => read("d")),
    ],
    [3, "nudge"],
    [6, "nudge"],
    [17, "nudge"],
    [20, "nudge"],
  ),
];
