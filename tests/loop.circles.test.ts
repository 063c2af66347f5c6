/** A model that goes in circles, through the whole loop: what counts as the same call, and how the turn ends. */
import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { runTurn } from "../src/loop.ts";
import type { TurnDeps } from "../src/loop-answer.ts";
import { defineTool } from "../src/tool.ts";
import type { AgentEvent, JsonObject } from "../src/types.ts";
import { collect, scriptedProvider, scriptedTurn, user, type ScriptedAnswer } from "./support/scripted.ts";

const shell = defineTool({
  name: "bash",
  description: "Runs a command.",
  set: "core",
  input: v.looseObject({ command: v.string() }),
  mutates: true,
  permission: "allow",
  subjects: ({ command }) => [{ kind: "command", command }],
  concurrencySafe: () => false,
  run: async () => ({ text: "noop" }),
});

async function turn(make: (at: number) => ScriptedAnswer, count: number, overrides: Partial<TurnDeps> = {}) {
  const provider = scriptedProvider(Array.from({ length: count }, (_, at) => make(at)));
  const deps = scriptedTurn(provider, [shell], overrides);
  const events = await collect(runTurn(user("go"), deps, new AbortController().signal));
  const done = events.find((event): event is Extract<AgentEvent, { type: "done" }> => event.type === "done");
  return { requests: provider.requests, transcript: deps.transcript, reason: done?.reason, exit: done?.exit };
}

const bash = (...inputs: JsonObject[]): ScriptedAnswer => ({ calls: inputs.map((input) => ({ name: "bash", input })) });

describe("the same call", () => {
  test.each<[string, (at: number) => JsonObject]>([
    ["as it was", () => ({ command: "echo noop" })],
    ["with other blanks", (at) => ({ command: ` ${"echo noop".replace(" ", " ".repeat(at + 1))}` })],
    ["with its keys in another order", (at) => (at % 2 ? { command: "x", timeout: 5 } : { timeout: 5, command: "x" })],
  ])("%s, is stopped at the fourth; the last request may call nothing, and its answer stays", async (_, input) => {
    const { requests, transcript, reason, exit } = await turn(
      (at) => (at < 4 ? bash(input(at)) : { text: "so far" }),
      5,
    );
    expect([requests.length, reason, exit]).toEqual([5, "partial", 6]);
    expect(requests.map((request) => request.noCalls === true)).toEqual([false, false, false, false, true]);
    expect(JSON.stringify(transcript.at(-1))).toContain("so far");
  });

  test("a model that calls all the same at the end gets its answer and no run", async () => {
    const { requests, transcript, reason } = await turn(() => bash({ command: "x" }), 9);
    expect([requests.length, reason]).toEqual([5, "partial"]);
    expect(JSON.stringify(transcript.at(-1))).toContain("Not executed: the turn is being stopped");
  });

  test("several times in one answer counts once", async () => {
    const twice = (at: number) => (at < 2 ? bash({ command: "x" }, { command: "x" }) : { text: "enough" });
    const { transcript, reason } = await turn(twice, 3);
    expect(reason).toBe("completed");
    expect(JSON.stringify(transcript)).not.toContain("three times");
  });
});

test("refused calls are no failures of their tool, however many there are", async () => {
  const refuse: Partial<TurnDeps> = { admit: async () => ({ denied: { by: "ask", reason: "nobody is there" } }) };
  const tried = (at: number) => (at < 15 ? bash({ command: `try ${at}` }) : { text: "not allowed" });
  expect((await turn(tried, 16, refuse)).reason).toBe("completed");
  expect(await turn(() => bash({ command: "x" }), 9, refuse)).toMatchObject({ reason: "partial", exit: 6 });
});
