/** Subagents in the built program: the events a script sees, the screen a person sees, money, circles, and no waiting for anybody. */
import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BINARY, type Bench, closeBenches, openBench, type BenchOptions } from "./support/binary.ts";
import { eventFaults } from "./support/event-check.ts";
import type { Received, Reply } from "./support/model-server.ts";
import { openPty, type Pty } from "./support/pty.ts";

const opened: Pty[] = [];
afterAll(async () => {
  for (const pty of opened) pty.close();
  await closeBenches();
});

/** Answers by the conversation's first prompt; `step` counts the model's answers in it. */
type Route = (prompt: string, step: number, request: Received) => Reply | Promise<Reply>;

interface WireMessage {
  role: string;
  content: unknown;
}

function benchOf(route: Route, options: BenchOptions = {}) {
  return openBench((request) => {
    const messages = request.body["messages"] as unknown as WireMessage[]; // the chat wire's, checked by the server
    const first = messages.find((message) => message.role === "user")?.content;
    const prompt = typeof first === "string" ? first : JSON.stringify(first);
    return route(prompt, messages.filter((message) => message.role === "assistant").length, request);
  }, options);
}

async function terminalOf(bench: Bench): Promise<Pty> {
  const env = Object.fromEntries(
    Object.entries({ ...bench.env, SHIRO_HOME: bench.home, HOME: bench.home }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
  const pty = openPty([BINARY], { cwd: bench.dir, env, cols: 120, rows: 50 });
  opened.push(pty);
  await pty.expect("> ", 15_000);
  return pty;
}

const call = (name: string, input: Record<string, string>): Reply => ({ calls: [{ name, input }] });
const delegate = (...prompts: [prompt: string, kind: string][]): Reply => ({
  calls: [
    {
      name: "task",
      input: { tasks: prompts.map(([prompt, kind]) => ({ description: `${prompt} it`, prompt, kind })) },
    },
  ],
});

test("two searches run side by side; their events carry their labels, and the answer is the parent's", async () => {
  const both = Promise.withResolvers<void>();
  let arrived = 0;
  const bench = await benchOf(
    async (prompt, step) => {
      if (prompt === "go") return step === 0 ? delegate(["left", "explore"], ["right", "review"]) : { text: "both in" };
      if (step === 0) {
        if (++arrived === 2) both.resolve();
        await both.promise;
        return call("read_file", { path: `${prompt}.txt` });
      }
      return { text: `I read ${prompt}` };
    },
    { files: { "left.txt": "l\n", "right.txt": "r\n" } },
  );
  const { events, code } = await bench.run(["-p", "go", "--json"]);
  expect([code, await eventFaults(events)]).toEqual([0, []]);
  const reads = events.filter((event) => event.type === "tool-result" && event["name"] === "read_file");
  expect(reads.map((event) => event["agent"]).sort()).toEqual(["left-it", "right-it"]);
  const task = events.find((event) => event.type === "tool-result" && event["name"] === "task");
  expect([task?.["agent"], task?.["output"]]).toEqual([
    undefined,
    "## left-it (explore)\nI read left\n\n## right-it (review)\nI read right",
  ]);
  expect(events.filter((event) => event.type === "done")).toHaveLength(1);
  expect(bench.server.requests[0]?.text).not.toContain("worker");
  const text = await bench.run(["-p", "go"]);
  expect([text.stdout, text.stderr.includes("[left-it] > read_file left.txt")]).toEqual(["both in\n", true]);
}, 30_000);

test("two that go in circles under a ceiling stop it, exit 6, and the partial answer is printed", async () => {
  const bench = await benchOf(
    (prompt, step) => {
      if (prompt === "go") return { text: "Looking into it.", ...delegate(["left", "explore"], ["right", "explore"]) };
      return { ...call("glob", { pattern: `*${step}` }), usage: { input: 50, output: 50 } };
    },
    { config: { maxSpendUsd: 0.05, pricing: { "test-model": { input: 100, output: 100 } } } },
  );
  const { events, code } = await bench.run(["-p", "go", "--json"]);
  const done = events.at(-1);
  expect([code, done?.["reason"]]).toEqual([6, "ceiling"]);
  expect(done?.["costUsd"] as number).toBeLessThanOrEqual(0.07);
  const text = await bench.run(["-p", "go", "-q"]);
  expect([text.code, text.stdout]).toEqual([6, "Looking into it.\n"]);
  expect(text.stderr).toMatch(/^shiro: maxSpendUsd reached: \$0\.0\d+ of \$0\.0500 used/);
  const sent = bench.server.requests.length;
  expect(await bench.run(["-c", "-p", "go on", "-q"])).toMatchObject({ code: 6, stdout: "" });
  expect(bench.server.requests).toHaveLength(sent);
  const [report] = (await bench.run(["cost", "--since", "7d", "--json"])).events;
  const [subagents, total] = [report?.["subagents"], report?.["total"]] as { requests: number }[]; // as cost.test.ts has it
  expect([subagents?.requests, total?.requests]).toEqual([sent - 2, sent]);
}, 30_000);

test("a model that repeats one command is told, then stopped with its tools off; exit 6", async () => {
  const bench = await benchOf(
    (_, step) => (step < 4 ? call("bash", { command: `echo ${" ".repeat(step)}x` }) : { text: "no use" }),
    { config: { sandbox: "off" } },
  );
  const { code, stdout, stderr } = await bench.run(["-p", "go", "--yolo"]);
  expect([code, stdout]).toEqual([6, "no use\n"]);
  expect(stderr).toContain("Stopped: bash was called 4 times in a row");
  expect(bench.server.requests.map((request) => request.body["tool_choice"])).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    "none",
  ]);
}, 30_000);

test("a command that ran out of time is not run again unseen", async () => {
  const slow = { calls: [{ name: "bash", input: { command: "echo x >> log; sleep 60", timeout: 1500 } }] };
  const bench = await benchOf((_, step) => [slow, slow][step] ?? { text: "looked" });
  const { events, code } = await bench.run(["-p", "go", "--yolo", "--json"]);
  expect([code, events.find((event) => event.type === "tool-denied")?.["by"]]).toEqual([0, "latch"]);
  expect(readFileSync(bench.path("log"), "utf8")).toBe("x\n");
}, 30_000);

test("at a terminal a worker's write is asked for as a worker's, and /cost shows its spend apart", async () => {
  const bench = await benchOf((prompt, step) => {
    if (prompt === "go") return step === 0 ? delegate(["make", "worker"]) : { text: "all done" };
    return step === 0 ? call("write_file", { path: "made.txt", content: "hi\n" }) : { text: "made it" };
  });
  const pty = await terminalOf(bench);
  pty.write("go\r");
  await pty.expect("a worker subagent (make-it) wants to use write_file", 10_000);
  await pty.expect("n deny", 10_000);
  expect(existsSync(join(bench.dir, "made.txt"))).toBe(false);
  pty.write("y");
  await pty.expect("all done", 10_000);
  expect(readFileSync(join(bench.dir, "made.txt"), "utf8")).toBe("hi\n");
  expect(pty.screen.text()).toContain("[make-it]");
  pty.write("/cost\r");
  await pty.expect("test-model (subagents and summaries): 2 requests", 10_000);
}, 60_000);

test("esc at the question of one ends the turn, and what the others wait to ask is asked no more", async () => {
  const bench = await benchOf(
    (prompt, _, request) => {
      if (request.text.includes("still there?")) return { text: "still here" };
      if (prompt === "go") return delegate(["make", "worker"], ["mend", "worker"], ["look", "explore"]);
      return prompt === "look" ? call("glob", { pattern: "*" }) : call("write_file", { path: prompt, content: "" });
    },
    { config: { permission: { glob: "ask" } } },
  );
  const pty = await terminalOf(bench);
  pty.write("go\r");
  await pty.expect("n deny", 10_000);
  pty.write("\u001b");
  await pty.expect(/interrupted[^]*> /, 10_000);
  pty.write("still there?\r");
  await pty.expect("still here", 10_000);
  expect(pty.raw().match(/subagent \([a-z-]+\) wants/g)).toHaveLength(1);
}, 60_000);
