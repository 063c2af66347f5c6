/** Agent events as a person sees them: in words, in order, folded, and safe. */
import { expect, test } from "bun:test";
import { Renderer } from "../src/render.ts";
import { cost, duration, tokens } from "../src/render-lines.ts";
import { terminalTraits, type TerminalTraits } from "../src/terminal-traits.ts";
import type { AgentEvent } from "../src/types.ts";

const TTY = { stdinIsTty: true, stdoutIsTty: true, platform: "linux" };
const MONO = terminalTraits({ TERM: "xterm", LANG: "C.UTF-8", NO_COLOR: "1" }, TTY);
const COLOUR = terminalTraits({ TERM: "xterm", LANG: "C.UTF-8" }, TTY);
const PLAIN = terminalTraits({ TERM: "dumb", LANG: "C.UTF-8" }, TTY);

function play(
  events: AgentEvent[],
  traits: TerminalTraits = MONO,
  columns = 80,
  before: (renderer: Renderer) => void = () => undefined,
) {
  const out: string[] = [];
  const status: (string | null)[] = [];
  let now = 0;
  const renderer = new Renderer(
    { write: (text) => out.push(text), setStatus: (text) => status.push(typeof text === "function" ? text() : text) },
    {
      traits,
      columns: () => columns,
      now: () => now,
      todos: (todos) => todos.map((todo) => `[ ] ${todo.content}`).join("\n"),
    },
  );
  renderer.startTurn();
  before(renderer);
  now = 500;
  for (const event of events) renderer.event(event);
  renderer.endTurn();
  return { text: out.join(""), status, renderer };
}

const DONE: AgentEvent = {
  type: "done",
  exit: 0,
  reason: "completed",
  steps: 1,
  inputTokens: 12_300,
  outputTokens: 1200,
  cacheReadTokens: 6150,
  costUsd: 0.0123,
};

function bash(output: string, extra: Partial<Extract<AgentEvent, { type: "tool-end" }>> = {}): AgentEvent[] {
  return [
    { type: "tool-call", id: "1", name: "bash", input: { command: "seq 30" } },
    { type: "tool-begin", id: "1", name: "bash", title: "seq 30" },
    { type: "tool-output", id: "1", text: output },
    { type: "tool-result", id: "1", name: "bash", output },
    { type: "tool-end", id: "1", name: "bash", outcome: "ok", ms: 1234, ...extra },
  ];
}

test("text streams as it comes and ends its line before anything else", () => {
  const { text } = play([{ type: "text", text: "Hello " }, { type: "text", text: "world" }, ...bash("x\n")]);
  expect(text).toBe("Hello world\n● bash seq 30\n  x\n  ok (1.2 s)\n");
});

test("twenty lines of live output are shown, the rest is counted, and all of it can be had", () => {
  const output = Array.from({ length: 50 }, (_, index) => `line ${index + 1}\n`).join("");
  const { text, renderer } = play(bash(output));
  expect(text).toContain("  line 20\n  … 30 more lines (/last shows all)\n  ok");
  expect(text).not.toContain("line 21");
  expect(renderer.lastOutput).toBe(output);
});

test("output in pieces is the same as at once, colours and cursor tricks disarmed", () => {
  const output = "\x1b[31mred\x1b[0m\r\nprogress 1%\rprogress 2%\n漢字";
  const pieces = play([
    { type: "tool-begin", id: "1", name: "bash", title: "x" },
    ...[...output].map((text): AgentEvent => ({ type: "tool-output", id: "1", text })),
    { type: "tool-end", id: "1", name: "bash", outcome: "ok", ms: 1 },
  ]);
  expect(pieces.text).toBe("● bash x\n  red\n  progress 1%␍progress 2%\n  漢字\n  ok (1 ms)\n");
});

test("endless output stays within bounds", () => {
  const events: AgentEvent[] = [{ type: "tool-begin", id: "1", name: "bash", title: "yes" }];
  for (let piece = 0; piece < 300; piece++) events.push({ type: "tool-output", id: "1", text: "y".repeat(65536) });
  events.push({ type: "tool-end", id: "1", name: "bash", outcome: "ok", ms: 1 });
  const { text, renderer } = play(events);
  expect(text.length).toBeLessThan(3000);
  expect(renderer.lastOutput?.length).toBeLessThan(2_000_000);
  expect(renderer.lastOutput).toContain("characters left out");
});

test("a call that fails says why, in few lines", () => {
  const { text } = play([
    { type: "tool-begin", id: "1", name: "edit_file", title: "a.ts" },
    { type: "tool-error", id: "1", name: "edit_file", error: "no match\nnearest:\n  1 x\n  2 y\n  3 z" },
    { type: "tool-end", id: "1", name: "edit_file", outcome: "failed", ms: 3 },
  ]);
  expect(text).toBe(
    "● edit_file a.ts\n  no match\n  nearest:\n  1 x\n  … 2 more lines (/last shows all)\n  failed (3 ms)\n",
  );
});

test.each([
  ["interrupted", "● bash x\n  failed, interrupted (3 ms)\n"],
  ["stopped", "● bash x\n  failed, stopped (3 ms)\n"],
  ["timed out after 2 s", "● bash x\n  The command timed out.\n  failed, timed out after 2 s (3 ms)\n"],
])("what the person stopped is not explained to them: %s", (note, shown) => {
  const { text, renderer } = play([
    { type: "tool-begin", id: "1", name: "bash", title: "x" },
    { type: "tool-error", id: "1", name: "bash", error: "[tool error] The command timed out." },
    { type: "tool-end", id: "1", name: "bash", outcome: "failed", ms: 3, note },
  ]);
  expect(text).toBe(shown);
  expect(renderer.lastOutput).toBe("The command timed out.");
});

test("a tool whose title is its own name shows what it was given", () => {
  const name = "mcp__files__echo";
  const begin: AgentEvent = { type: "tool-begin", id: "1", name, title: name };
  expect(play([{ type: "tool-call", id: "1", name, input: { note: "hi" } }, begin]).text).toBe(
    `● ${name} {"note":"hi"}\n`,
  );
  expect(play([{ type: "tool-call", id: "1", name, input: {} }, begin]).text).toBe(`● ${name}\n`);
});

test("a call refused before it began shows what it was", () => {
  const { text } = play([
    { type: "tool-call", id: "1", name: "bash", input: { command: "rm -rf /" } },
    { type: "tool-denied", id: "1", name: "bash", by: "guard", reason: "can't be undone" },
    { type: "tool-end", id: "1", name: "bash", outcome: "denied", ms: 0 },
    { type: "tool-call", id: "2", name: "bsh", input: {} },
    { type: "tool-error", id: "2", name: "bsh", error: "There is no such tool." },
  ]);
  expect(text).toBe("● bash rm -rf /\n  denied (guard): can't be undone\n● bsh\n  There is no such tool.\n");
});

test("calls that run together name themselves when they end out of turn", () => {
  const { text } = play([
    { type: "tool-begin", id: "1", name: "read_file", title: "a" },
    { type: "tool-begin", id: "2", name: "grep", title: "b" },
    { type: "tool-end", id: "1", name: "read_file", outcome: "ok", ms: 1 },
    { type: "tool-end", id: "2", name: "grep", outcome: "ok", ms: 2 },
  ]);
  expect(text).toBe("● read_file a\n● grep b\n  ok read_file a (1 ms)\n  ok grep b (2 ms)\n");
});

test("an edit whose diff was allowed a moment ago is not shown twice; the next one is", () => {
  const edit = (id: string, diff: string): AgentEvent[] => [
    { type: "tool-begin", id, name: "edit_file", title: "a.ts" },
    { type: "tool-end", id, name: "edit_file", outcome: "ok", ms: 3, diff },
  ];
  const [first, second] = ["@@ -1 +1 @@\n-a\n+b\n", "@@ -1 +1 @@\n-b\n+c\n"];
  const { text } = play([...edit("1", first), ...edit("2", second)], MONO, 80, (renderer) => renderer.asked(first));
  expect(text).toBe(
    "● edit_file a.ts\n  ok (3 ms) · +1 -1\n● edit_file a.ts\n  @@ -1 +1 @@\n  -b\n  +c\n  ok (3 ms) · +1 -1\n",
  );
});

test.each<[string, AgentEvent[], string]>([
  [
    "a command that ran and failed shows its exit code",
    [{ type: "tool-end", id: "1", name: "bash", outcome: "ok", ms: 12, note: "exit code 3" }],
    "  exit code 3 (12 ms)\n",
  ],
  [
    "a command that was stopped says so",
    [
      { type: "tool-output", id: "1", text: "x\n" },
      { type: "tool-error", id: "1", name: "bash", error: "[tool error] The command was stopped. Output so far:\nx" },
      { type: "tool-end", id: "1", name: "bash", outcome: "failed", ms: 12, note: "stopped" },
    ],
    "  x\n  failed, stopped (12 ms)\n",
  ],
  [
    "an error is told without the category that is for the model",
    [
      { type: "tool-error", id: "1", name: "bash", error: '[validation error] "command" is required' },
      { type: "tool-end", id: "1", name: "bash", outcome: "failed", ms: 1 },
    ],
    '  "command" is required\n  failed (1 ms)\n',
  ],
  [
    "a call that was refused before is refused without a question",
    [
      {
        type: "tool-denied",
        id: "1",
        name: "bash",
        by: "user",
        reason: "The user refused this call. Don't repeat it.",
      },
    ],
    "  denied (user): you refused this call before\n",
  ],
  [
    "a plugin's refusal names it once",
    [
      {
        type: "tool-denied",
        id: "1",
        name: "bash",
        by: "guard",
        rule: "plugin guard",
        reason: "guard: `rm -r x` can't be undone.",
      },
    ],
    "  denied (guard): `rm -r x` can't be undone.\n",
  ],
  [
    "a rule's refusal gives the reason, then the rule",
    [{ type: "tool-denied", id: "1", name: "bash", by: "rule", rule: 'bash "rm *"', reason: "A rule denies it." }],
    '  denied (rule): A rule denies it. [rule: bash "rm *"]\n',
  ],
])("%s", (_, events, shown) => {
  const { text } = play([{ type: "tool-begin", id: "1", name: "bash", title: "x" }, ...events]);
  expect(text).toBe(`● bash x\n${shown}`);
});

test("who has just said no is not told why", () => {
  const events: AgentEvent[] = [
    { type: "tool-denied", id: "1", name: "bash", by: "user", reason: "The user refused this call. Don't repeat it." },
  ];
  expect(play(events, MONO, 80, (renderer) => renderer.asked(null)).text).toBe("● bash\n  denied (user)\n");
});

test("our own words are broken at blanks on a narrow screen, whole in plain mode", () => {
  const events: AgentEvent[] = [
    { type: "tool-denied", id: "1", name: "bash", by: "guard", reason: "this can not be undone by anybody" },
    { type: "notice", level: "warning", message: "the home directory can't be written" },
  ];
  expect(play(events, MONO, 31).text).toBe(
    "● bash\n  denied (guard): this can not\n    be undone by anybody\nwarning: the home directory\n  can't be written\n",
  );
  expect(play(events, { ...MONO, plain: true }, 31).text).toContain("this can not be undone by anybody\n");
});

test("an edit shows its diff and its counts", () => {
  const { text } = play([
    { type: "tool-begin", id: "1", name: "edit_file", title: "a.ts" },
    { type: "tool-result", id: "1", name: "edit_file", output: "done" },
    { type: "tool-end", id: "1", name: "edit_file", outcome: "ok", ms: 3, diff: "@@ -1 +1 @@\n-a\n+b\n" },
  ]);
  expect(text).toBe("● edit_file a.ts\n  @@ -1 +1 @@\n  -a\n  +b\n  ok (3 ms) · +1 -1\n");
});

test("the end of a turn is one line of figures", () => {
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  const { text } = play([{ type: "usage", usage, costUsd: 0.01, contextShare: 0.34 }, DONE]);
  expect(text).toBe("12.3k in (50% cached) · 1.2k out · $0.01 · context 34% · 500 ms\n");
});

test("on a narrow screen it is broken between figures", () => {
  expect(play([DONE], MONO, 36).text).toBe("12.3k in (50% cached) · 1.2k out ·\n  $0.01 · 500 ms\n");
  expect(play([DONE], MONO, 30).text).toBe("12.3k in (50% cached) ·\n  1.2k out · $0.01 · 500 ms\n");
});

test("a stream that broke off says how to go on; one that never began doesn't", () => {
  const broken: AgentEvent[] = [
    { type: "error", kind: "network", message: "connection lost" },
    { ...DONE, type: "done", exit: 4, reason: "error", inputTokens: 0, outputTokens: 0 },
  ];
  expect(play([{ type: "text", text: "half an ans" }, ...broken]).text).toBe(
    "half an ans\nerror (network): connection lost\nwhat came so far is kept; type continue to go on\n",
  );
  expect(play(broken).text).toBe("error (network): connection lost\n");
});

test("guesses and unknown prices are marked as such", () => {
  const usage = {
    inputTokens: 1,
    outputTokens: 1,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    estimated: true as const,
  };
  const { text } = play([
    { type: "usage", usage, costUsd: null, contextShare: null },
    { ...DONE, inputTokens: 0, cacheReadTokens: 0, costUsd: null },
  ]);
  expect(text).toBe("~0 in · ~1.2k out · unpriced · 500 ms\n");
});

test("one guess among the steps, a subagent's too, makes sums and cost a guess", () => {
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  const guessed = { ...usage, estimated: true as const };
  const { text } = play([
    { type: "usage", usage: guessed, costUsd: 0.01, contextShare: 0.9, agent: "find" },
    { type: "usage", usage, costUsd: 0.01, contextShare: 0.34 },
    DONE,
  ]);
  expect(text).toBe("~12.3k in (50% cached) · ~1.2k out · ~$0.01 · context ~34% · 500 ms\n");
});

test.each([
  [{ type: "notice", level: "warning", message: "careful" }, "warning: careful\n"],
  [{ type: "notice", level: "info", message: "note" }, "note\n"],
  [
    { type: "error", kind: "rate", message: "slow down", status: 429, requestId: "r1" },
    "error (rate): slow down (429, r1)\n",
  ],
  [{ type: "retry", attempt: 1, limit: 3, waitMs: 2000, reason: "overloaded" }, "retry 1/3 in 2.0 s: overloaded\n"],
  [{ type: "compacted", before: 192, after: 15 }, "context compacted: 192 messages pruned to 15 on the wire\n"],
  [{ type: "todos", todos: [{ content: "a", status: "pending" }] }, "[ ] a\n"],
] as [AgentEvent, string][])("%j is said in a line", (event, line) => {
  expect(play([event]).text).toBe(line);
});

test.each([
  ["interrupted", 3],
  ["timeout", 3],
  ["partial", 3],
  // A notice before it has said so.
  ["ceiling", 2],
  ["steps", 2],
] as const)("a turn that ended as %s says so once", (reason, lines) => {
  expect(play([{ ...DONE, reason }]).text.split("\n").length).toBe(lines);
});

test("a subagent shows its calls under its label and keeps its text to itself", () => {
  const { text } = play([
    { type: "text", text: "inner thoughts", agent: "explore" },
    { type: "tool-begin", id: "1", name: "grep", title: "TODO", agent: "explore" },
    { type: "tool-output", id: "1", text: "x\n", agent: "explore" },
    { type: "tool-end", id: "1", name: "grep", outcome: "ok", ms: 2, agent: "explore" },
  ]);
  expect(text).toBe("[explore] ● grep TODO\n  [explore] ok (2 ms)\n");
});

test("reasoning is a status with its size, gone with its step; in plain mode it is a word", () => {
  const events: AgentEvent[] = [
    { type: "step-start", step: 1 },
    { type: "reasoning", text: "x".repeat(4800) },
    { type: "text", text: "so" },
  ];
  const { status, text } = play(events);
  expect(status).toContain("thinking… ~1.2k tokens");
  expect(text).toBe("so\n");
  expect(play(events, PLAIN).text).toBe("thinking...\nso\n");
});

test("a line in between leaves the answer its style and its code block", () => {
  const out: string[] = [];
  const renderer = new Renderer(
    { write: (text) => out.push(text), setStatus: () => undefined },
    { traits: COLOUR, columns: () => 80, now: () => 0, todos: () => "" },
  );
  renderer.event({ type: "text", text: "so **bold " });
  renderer.aside("queued");
  renderer.event({ type: "text", text: "text** end\n```\n# code\n" });
  renderer.aside("queued");
  renderer.event({ type: "text", text: "# still code\n```\n" });
  renderer.endTurn();
  expect(out.join("")).toBe(
    "so \x1b[1mbold \x1b[m\nqueued\n\x1b[1mtext\x1b[m end\n\x1b[2m──\x1b[m\n# code\nqueued\n# still code\n\x1b[2m──\x1b[m\n",
  );
});

test("a long title is cut to the window, in plain mode it is whole", () => {
  const events: AgentEvent[] = [{ type: "tool-begin", id: "1", name: "bash", title: "x".repeat(200) }];
  expect(play(events, MONO, 40).text.trimEnd()).toBe(`● bash ${"x".repeat(31)}…`);
  expect(play(events, PLAIN, 40).text).toBe(`tool bash ${"x".repeat(200)}\n`);
});

test("in plain mode the task list is words", () => {
  const todos = [
    { content: "read\nit", status: "done" },
    { content: "change it", status: "in_progress" },
    { content: "ship it", status: "blocked", note: "no key" },
    { content: "rest", status: "pending" },
  ] as const;
  expect(play([{ type: "todos", todos: [...todos] }], PLAIN).text).toBe(
    "tasks: 1 of 4 done\n  done: read it\n  in progress: change it\n  blocked: ship it (no key)\n  to do: rest\n",
  );
  expect(play([{ type: "todos", todos: [] }], PLAIN).text).toBe("tasks: none\n");
});

const HOSTILE = "a\x1b]52;c;eA==\x07\x1b[2J\r\u202e";

test.each([MONO, COLOUR, PLAIN])("no event carries anything raw to the terminal", (traits) => {
  const events: AgentEvent[] = [
    { type: "text", text: HOSTILE },
    { type: "tool-call", id: "1", name: HOSTILE, input: { command: HOSTILE } },
    { type: "tool-begin", id: "1", name: HOSTILE, title: HOSTILE },
    { type: "tool-output", id: "1", text: HOSTILE },
    { type: "tool-error", id: "1", name: HOSTILE, error: HOSTILE },
    { type: "tool-end", id: "1", name: HOSTILE, outcome: "failed", ms: 1, diff: `+${HOSTILE}\n--- ${HOSTILE}` },
    { type: "tool-denied", id: "2", name: HOSTILE, by: "rule", rule: HOSTILE, reason: HOSTILE },
    { type: "todos", todos: [{ content: HOSTILE, status: "pending" }] },
    { type: "notice", level: "error", message: HOSTILE, agent: HOSTILE },
    { type: "retry", attempt: 1, limit: 2, waitMs: 3, reason: HOSTILE },
    { type: "error", kind: HOSTILE, message: HOSTILE, requestId: HOSTILE },
    { type: "tool-begin", id: "3", name: HOSTILE, title: HOSTILE, agent: HOSTILE },
  ];
  const { text, status } = play(events, traits);
  // In two pieces at every place, in streams that may hold the first back.
  const cuts = Array.from({ length: HOSTILE.length }, (_, at) => [HOSTILE.slice(0, at), HOSTILE.slice(at)]);
  const streamed = cuts.flatMap((pieces) => [
    play(
      pieces.map((piece) => ({ type: "text", text: piece })),
      traits,
    ).text,
    play(
      [
        { type: "tool-begin", id: "1", name: "bash", title: "x" },
        ...pieces.map((piece): AgentEvent => ({ type: "tool-output", id: "1", text: piece })),
        { type: "tool-end", id: "1", name: "bash", outcome: "ok", ms: 1 },
      ],
      traits,
    ).text,
  ]);
  for (const shown of [text, ...streamed, ...status.map(String)]) {
    const rest = traits.colour ? shown.replace(/\x1b\[\d*m/g, "") : shown;
    expect(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/.test(rest)).toBe(false);
  }
});

test("in plain mode decoration is ASCII, that of cuts too", () => {
  const output = Array.from({ length: 50 }, (_, index) => `${index}\n`).join("");
  const long = "x".repeat(5000);
  const cut: AgentEvent[] = [
    { type: "notice", level: "info", message: long, agent: long },
    { type: "tool-begin", id: "9", name: "edit_file", title: long },
    { type: "tool-error", id: "9", name: "edit_file", error: long },
  ];
  const answer: AgentEvent = { type: "text", text: "# a **b**\n```\nx\n```\n" };
  const { text } = play([...cut, answer, ...bash(output, { diff: "+a\n-b\n" }), DONE], PLAIN);
  expect(/[^\x20-\x7e\n]/.test(text)).toBe(false);
});

test("the last answer is the text since the last interruption", () => {
  const { renderer } = play([
    { type: "text", text: "first" },
    ...bash("x\n"),
    { type: "text", text: "sec" },
    { type: "text", text: "ond" },
    DONE,
  ]);
  expect(renderer.lastAnswer).toBe("second");
});

test.each([
  [12, "12 ms"],
  [1234, "1.2 s"],
  [125_000, "2 min 5 s"],
] as const)("%d ms is %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test.each([
  [812, "812"],
  [1234, "1.2k"],
  [999_960, "1.0M"],
] as const)("%d tokens are %s", (count, text) => {
  expect(tokens(count)).toBe(text);
});

test.each([
  [null, "unpriced"],
  [0, "$0.00"],
  [0.00123, "$0.0012"],
  [1.239, "$1.24"],
] as const)("%p dollars are %s", (usd, text) => {
  expect(cost(usd)).toBe(text);
});

test("a long wait says how long it has been and how to end it", () => {
  let now = 0;
  let label = (): string | null => null;
  const renderer = new Renderer(
    { write: () => undefined, setStatus: (text) => (label = () => (typeof text === "function" ? text() : text)) },
    { traits: MONO, columns: () => 80, now: () => now, todos: () => "" },
  );
  renderer.startTurn();
  renderer.event({ type: "tool-begin", id: "1", name: "mcp__a_server__with_a_long_tool_name", title: "x" });
  expect(label()).toBe("mcp__a_server__with_a_l…");
  now = 12_300;
  expect(label()).toBe("mcp__a_server__with_a_l… 12 s, esc ends it");
});

test("the wait before a retry is counted down beside the indicator, then it waits for the answer", () => {
  let now = 0;
  let label = (): string | null => null;
  const renderer = new Renderer(
    { write: () => undefined, setStatus: (text) => (label = () => (typeof text === "function" ? text() : text)) },
    { traits: MONO, columns: () => 80, now: () => now, todos: () => "" },
  );
  renderer.startTurn();
  renderer.event({ type: "retry", attempt: 1, limit: 3, waitMs: 4000, reason: "overloaded" });
  const said = [0, 1500, 3900, 4000].map((ms) => {
    now = ms;
    return label();
  });
  expect(said).toEqual([
    "retrying in 4 s, esc ends it",
    "retrying in 3 s, esc ends it",
    "retrying in 1 s, esc ends it",
    "waiting",
  ]);
});
