/** Random conversations through the built program: whatever the model does, events stay valid, calls get one result, and the history stays legal. */
import { afterAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../src/types.ts";
import { type Event, closeBenches, openBench } from "./support/binary.ts";
import { eventFaults } from "./support/event-check.ts";
import type { Reply } from "./support/model-server.ts";
import { seeded } from "./support/random-text.ts";
import { rounds } from "./support/rounds.ts";

afterAll(closeBenches);

const WIRES = ["chat", "responses", "anthropic"] as const;
const SEEDS = Array.from({ length: rounds(6, 12) }, (_, index) => index + 1);

type Call = { name: string; input: JsonObject };

const CALLS: readonly ((pick: number) => Call)[] = [
  (pick) => ({ name: "bash", input: { command: `echo ${pick}; echo e >&2; exit ${pick % 3}` } }),
  () => ({ name: "bash", input: { command: "rm -rf /" } }),
  (pick) => ({ name: "bash", input: { command: `touch f${pick}` } }),
  () => ({ name: "bash", input: {} }),
  () => ({ name: "bash", input: { command: 5, timeout: "soon" } }),
  () => ({ name: "nothing_like_it", input: { a: [1, { b: null }] } }),
  () => ({ name: "read_file", input: { path: "a.txt" } }),
  () => ({ name: "read_file", input: { path: "../../etc/passwd" } }),
  (pick) => ({ name: "write_file", input: { path: `w${pick}.txt`, content: "é🙂\n" } }),
  () => ({ name: "edit_file", input: { path: "a.txt", oldString: "alpha", newString: "beta" } }),
  () => ({ name: "todo_write", input: { todos: [{ content: "x", status: "blocked" }] } }),
  () => ({ name: "grep", input: { pattern: "(" } }),
];
const TEXTS = ["", "A remark.", "多 🙂", "\u001b[2J", "x".repeat(5000)];
const STOPS: readonly Reply[] = [
  { text: "cut", stop: "length" },
  { text: "" },
  { status: 500, json: { error: { message: "oops" } } },
  { status: 200, body: "<html>", headers: { "content-type": "text/html" } },
  { text: "The end." },
];

function randomScript(random: (below: number) => number): Reply[] {
  const steps = Array.from({ length: 1 + random(5) }, (_, step): Reply => {
    const calls = Array.from({ length: 1 + random(3) }, () => CALLS[random(CALLS.length)]?.(step) ?? CALLS[0]?.(step));
    return {
      text: TEXTS[random(TEXTS.length)] ?? "",
      reasoning: random(2) ? "hm 🙂" : "",
      calls: calls.filter((call) => call !== undefined),
    };
  });
  return [...steps, STOPS[random(STOPS.length)] ?? {}, { text: "Over." }];
}

/** Calls that were announced and have not exactly one outcome. */
function unanswered(events: readonly Event[]): string[] {
  const count = (id: unknown, types: string[]): number =>
    events.filter((event) => event.id === id && types.includes(event.type)).length;
  return events
    .filter((event) => event.type === "tool-call")
    .filter((event) => count(event.id, ["tool-result", "tool-error", "tool-denied"]) !== count(event.id, ["tool-call"]))
    .map((event) => JSON.stringify(event));
}

describe.concurrent("random conversations", () => {
  test.each(SEEDS)("seed %p", async (seed) => {
    const random = seeded(seed);
    const script = randomScript(random);
    const wire = WIRES[seed % WIRES.length] ?? "chat";
    const at = await openBench(script, {
      wire,
      files: { "a.txt": "alpha\n" },
      // With the sandbox and without: most of a run's time goes into it.
      config: {
        maxRetries: 0,
        ...(seed % 2 === 0 && { sandbox: "off" }),
        permission: { bash: { "*": "allow", "touch *": "ask" }, edit_file: "allow" },
      },
    });
    const { code, events, stderr } = await at.run(["-p", "go", "--json"]);
    expect(at.server.faults).toEqual([]);
    expect(await eventFaults(events)).toEqual([]);
    expect(unanswered(events)).toEqual([]);
    expect(events.at(-1)?.exit).toBe(code);
    expect([0, 4, 6]).toContain(code);
    if (code !== 0) expect(stderr).toMatch(/(^|\n)shiro: .+\n$/);
    const again = await at.run(["-c", "-p", "and now?", "--json"]);
    expect(at.server.faults).toEqual([]);
    expect(await eventFaults(again.events)).toEqual([]);
    expect([0, 4, 6]).toContain(again.code);
  });
});
