/** Approval answers as lines, without a program around them: late, early, doubled and missing ones. */
import { expect, test } from "bun:test";
import type { Answer, ApprovalPrompt } from "../src/approval.ts";
import { Channel } from "../src/channel.ts";
import { JsonApprovals } from "../src/headless-approvals.ts";
import type { PublicEvent } from "../src/types.ts";

const PROMPT: ApprovalPrompt = {
  tool: "bash",
  title: "bash git tag x && git push",
  subject: "git tag x && git push",
  rule: 'bash "*" (default)',
  grants: [
    { text: "git tag x", pattern: "git tag *" },
    { text: "git push", pattern: null },
  ],
  diff: null,
  worker: false,
};

function open(limitMs?: number): {
  approvals: JsonApprovals;
  lines: Channel<string>;
  events: PublicEvent[];
  over: Promise<void>;
} {
  const events: PublicEvent[] = [];
  const lines = new Channel<string>();
  const approvals = new JsonApprovals((event) => events.push(event), limitMs);
  return { approvals, lines, events, over: approvals.listen(lines) };
}

const ask = (approvals: JsonApprovals, id: string): ReturnType<JsonApprovals["ask"]> =>
  approvals.ask(PROMPT, { id, input: { command: PROMPT.subject } });

test("the event names what always would grant, and null where it would grant nothing", async () => {
  const { approvals, lines, events } = open();
  const answer = ask(approvals, "c1");
  lines.push('{"id":"c1","decision":"always"}');
  expect(await answer).toEqual({ decision: "always" });
  expect(events).toMatchObject([{ type: "approval", id: "c1", always: "git tag *", subject: PROMPT.subject }]);
});

test("questions that are open together are answered by id, in any order", async () => {
  const { approvals, lines } = open();
  const both = Promise.all([ask(approvals, "c1"), ask(approvals, "c2")]);
  lines.push('{"id":"c2","decision":"deny","message":"no"}');
  lines.push('{"id":"c1","decision":"allow","message":5}');
  expect(await both).toEqual([{ decision: "once" }, { decision: "deny", message: "no" }]);
});

test("a second answer to one question is named and changes nothing", async () => {
  const { approvals, lines, events } = open();
  const answer = ask(approvals, "c1");
  lines.push('{"id":"c1","decision":"deny"}');
  await answer;
  lines.push('{"id":"c1","decision":"allow"}');
  lines.close();
  await expect(ask(approvals, "c2")).resolves.toMatchObject({ decision: "deny" });
  expect(events.filter((event) => event.type === "notice")).toHaveLength(1);
});

test("no answer in time denies", async () => {
  const { approvals } = open(5);
  expect(await ask(approvals, "c1")).toEqual({ decision: "deny", unanswered: "No answer came in time" });
});

test("an input that ends denies what is open and what comes, as nobody's word", async () => {
  const { approvals, lines, over } = open();
  const answer = ask(approvals, "c1");
  lines.close();
  await over;
  const nobody: Answer = { decision: "deny", unanswered: "The input for approvals has ended" };
  expect([await answer, await ask(approvals, "c2")]).toEqual([nobody, nobody]);
});

test("an input that breaks denies what is open and says why", async () => {
  const { approvals, lines, events, over } = open();
  const answer = ask(approvals, "c1");
  lines.fail(new Error("EIO"));
  await over;
  expect(await answer).toMatchObject({ decision: "deny" });
  expect(events.at(-1)).toMatchObject({ type: "notice", message: expect.stringContaining("EIO") });
});

const STOPPED: ApprovalPrompt = {
  ...PROMPT,
  grants: [],
  choices: [
    { name: "network", key: "c", label: "with the network", text: "with the network on" },
    { name: "outside", key: "o", label: "outside the sandbox", text: "outside the sandbox" },
  ],
};

test.each([
  [
    { decision: "allow", choice: "network" },
    { decision: "once", choice: "network" },
  ],
  [
    { decision: "allow", choice: "outside" },
    { decision: "once", choice: "outside" },
  ],
  [
    { decision: "deny", choice: "outside", message: "no" },
    { decision: "deny", message: "no" },
  ],
] as const)("%j to a call that the sandbox stopped takes %j, and the event names the ways", async (given, taken) => {
  const { approvals, lines, events } = open();
  const answer = approvals.ask(STOPPED, { id: "c1", input: { command: "x" } });
  for (const bad of [
    { decision: "always", choice: "all" },
    { decision: "allow", choice: "write" },
  ])
    lines.push(JSON.stringify({ id: "c1", ...bad }));
  lines.push(JSON.stringify({ id: "c1", ...given }));
  expect(await answer).toEqual(taken);
  const [event, ...notices] = events;
  expect(event).toMatchObject({
    always: null,
    choices: [
      { name: "network", text: "with the network on" },
      { name: "outside", text: "outside the sandbox" },
    ],
  });
  const ignored = 'approval answer ignored: "choice" must be network or outside';
  expect(notices).toEqual([ignored, ignored].map((message) => ({ type: "notice", level: "warning", message })));
});

test.each(["allow", "always"])(
  "a bare %s, meant for the approval before it perhaps, takes no way out",
  async (decision) => {
    const { approvals, lines, events } = open();
    const answer = approvals.ask(STOPPED, { id: "c1", input: { command: "x" } });
    lines.push(JSON.stringify({ id: "c1", decision }));
    expect(await answer).toEqual({ decision: "once" });
    expect(events.at(-1)).toEqual({
      type: "notice",
      level: "warning",
      message: 'approval answer takes nothing: it names no "choice" (network or outside)',
    });
  },
);
