/** Long runs, killed runs and runs at the same time: what goes over the wire stays legal, and only ever grows at its end. */
import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Json, JsonObject } from "../src/types.ts";
import { type Bench, closeBenches, openBench } from "./support/binary.ts";
import { eventFaults } from "./support/event-check.ts";
import type { Received, Reply } from "./support/model-server.ts";
import { rounds } from "./support/rounds.ts";

afterAll(closeBenches);

const WIRES = ["chat", "responses", "anthropic"] as const;
const ROOT = join(import.meta.dir, "..");
const ALLOW = { permission: { bash: "allow", edit_file: "allow", write_file: "allow", apply_patch: "allow" } };

/** What every wire has in common, the sandbox around commands, is looked at on one of them. */
const allow = (wire: (typeof WIRES)[number]): JsonObject => (wire === "chat" ? ALLOW : { ...ALLOW, sandbox: "off" });
const PIECE = [...new Bun.Glob("src/{args,headless,output,loop}*.ts").scanSync(ROOT), "scripts", "package.json"];

type Call = { name: string; input: JsonObject };
const bash = (command: string): Call => ({ name: "bash", input: { command } });

/** Everything of a request that a provider caches: instructions, tools, and the messages one by one, as bytes. */
function cacheable({ body, wire }: Received): { head: string; messages: string[] } {
  const messages = wire === "responses" ? body.input : body.messages;
  if (!Array.isArray(messages)) throw new Error("a request without messages");
  const head = JSON.stringify([plain(body.system ?? body.instructions ?? null), plain(body.tools ?? null)]);
  return { head, messages: messages.map((message) => JSON.stringify(plain(message))) };
}

/** Without the marks that say how far to cache: they move, and are no part of what is cached. */
function plain(value: Json): Json {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== "cache_control")
      .map(([key, item]) => [key, plain(item)]),
  );
}

function expectGrowing(requests: readonly Received[]): void {
  const seen = requests.map(cacheable);
  for (const [index, now] of seen.entries()) {
    const before = seen[index - 1];
    if (!before) continue;
    expect(now.head).toBe(before.head);
    expect(now.messages.slice(0, before.messages.length)).toEqual(before.messages);
    expect(now.messages.length).toBeGreaterThan(before.messages.length);
  }
}

const STEPS = 30;

/** Steps of ordinary work: looking, searching, changing, running, some of it several at once, some of it failing. */
function work(step: number): Call[] {
  const made = `made-${step}.txt`;
  const kinds: Call[][] = [
    [
      { name: "read_file", input: { path: "src/output.ts" } },
      { name: "read_file", input: { path: "src/args.ts", offset: step + 1, limit: 20 } },
    ],
    [{ name: "grep", input: { pattern: `export function \\w{${(step % 5) + 3}}`, include: "src/*.ts" } }],
    [{ name: "write_file", input: { path: made, content: `step ${step} – é 漢 🙂\n` } }],
    [
      { name: "edit_file", input: { path: `made-${step - 1}.txt`, oldString: "step", newString: "$& stage" } },
      bash(`cat made-${step - 1}.txt; wc -l src/*.ts | tail -1`),
    ],
    [
      bash(`echo out-${step}; echo err-${step} >&2; exit ${step % 3}`),
      { name: "glob", input: { pattern: "src/headless*.ts" } },
    ],
    [
      { name: "read_file", input: { path: `no-such-${step}.ts` } },
      { name: "todo_write", input: { todos: [{ content: `part ${step}`, status: "in_progress" }] } },
    ],
    [
      {
        name: "apply_patch",
        input: { patch: `*** Begin Patch\n*** Add File: patched-${step}.txt\n+new\n*** End Patch` },
      },
      { name: "no_such_tool", input: { step } },
    ],
  ];
  return kinds[step % kinds.length] ?? [];
}

describe.concurrent("many steps in a piece of this project", () => {
  test.each(WIRES)("%s: every request begins with the one before", async (wire) => {
    const at = await openBench(
      (_, index): Reply =>
        index < STEPS - 1
          ? {
              text: index % 2 ? `Step ${index}.` : "",
              reasoning: index % 3 ? `thinking about ${index}` : "",
              calls: work(index),
            }
          : { text: "All done." },
      // The sandbox is made anew for each command, so the many look at it only where everything is asked for.
      { wire, config: rounds(1, 2) === 1 ? { ...ALLOW, sandbox: "off" } : allow(wire) },
    );
    for (const name of PIECE) cpSync(join(ROOT, name), at.path(name), { recursive: true });
    const { code, events } = await at.run(["-p", "tidy up", "--json"]);
    expect(at.server.faults).toEqual([]);
    expect(code).toBe(0);
    expect(await eventFaults(events)).toEqual([]);
    expect(at.server.requests).toHaveLength(STEPS);
    expectGrowing(at.server.requests);
    expect(events.at(-1)).toMatchObject({ steps: STEPS, reason: "completed" });
    expect(readFileSync(at.path("made-2.txt"), "utf8")).toBe("$& stage 2 – é 漢 🙂\n");
    expect(existsSync(at.path("patched-6.txt"))).toBe(true);
    const more = await at.run(["-c", "-p", "and more"]);
    expect([more.code, more.stdout]).toEqual([0, "All done.\n"]);
    expectGrowing(at.server.requests);
    expect(at.server.faults).toEqual([]);
  });
});

describe.concurrent("kill -9", () => {
  test.each(WIRES)("%s: in the middle of a command; -c names it and refuses to repeat it unseen", async (wire) => {
    const command = "echo begun >> log; echo begun; sleep 2";
    const steps: Call[][] = [
      [bash("echo one")],
      [{ name: "read_file", input: { path: "a" } }, bash(command), bash("echo never >> never")],
      [bash(command)],
      [bash("cat log")],
    ];
    const at = await openBench(
      (_, index): Reply => ({ text: `Step ${index}`, reasoning: "hm", calls: steps[index] ?? [] }),
      {
        wire,
        config: allow(wire),
        files: { a: "alpha\n" },
      },
    );
    const run = at.start(["-p", "go", "--json"]);
    await run.seen("stdout", /"tool-output","id":"[^"]*","text":"begun/);
    run.kill("SIGKILL");
    expect((await run.ended).signal).toBe("SIGKILL");
    const { code, events } = await at.run(["-c", "-p", "go on", "--json"]);
    expect(at.server.faults).toEqual([]);
    expect(code).toBe(0);
    expect(await eventFaults(events)).toEqual([]);
    const resumed = at.server.requests[2]?.text ?? "";
    expect(resumed).toContain("outcome unknown");
    expect(resumed).toContain("not run");
    expect(resumed).toContain("alpha");
    expect(events.filter((event) => event.type === "tool-denied")).toMatchObject([{ by: "latch" }]);
    expect(readFileSync(at.path("log"), "utf8")).toBe("begun\n");
    expect(existsSync(at.path("never"))).toBe(false);
    expectGrowing(at.server.requests);
  });

  test.each(WIRES)("%s: in the middle of an answer", async (wire) => {
    const at = await openBench(
      [{ calls: [bash("echo one")] }, { text: "half of an answer", hang: "stream" }, { text: "again" }],
      { wire, config: allow(wire) },
    );
    const run = at.start(["-p", "go", "--json"]);
    await run.seen("stdout", '"type":"text"');
    run.kill("SIGKILL");
    await run.ended;
    expect(await at.run(["-c", "-p", "go on"])).toMatchObject({ code: 0, stdout: "again\n" });
    expect(at.server.requests[2]?.text).toContain("echo one");
    expect(at.server.faults).toEqual([]);
  });

  test("a record cut in half is set aside in words, and the older session goes on", async () => {
    const at = await openBench([{ text: "first" }, { text: "second" }, { text: "third" }]);
    await at.run(["-p", "one"]);
    const [older] = sessionFiles(at);
    await at.run(["-p", "two"]);
    const newer = sessionFiles(at).find((name) => name !== older) ?? "";
    const path = join(at.home, "sessions", newer);
    const whole = readFileSync(path, "utf8");
    await Bun.write(path, whole.slice(0, whole.length / 2));
    const { code, stdout, stderr } = await at.run(["-c", "-p", "three"]);
    expect([code, stdout]).toEqual([0, "third\n"]);
    expect(stderr).toContain(newer);
    expect(at.server.requests[2]?.text).toContain('"one"');
    expect(readFileSync(path, "utf8")).toBe(whole.slice(0, whole.length / 2));
    expect((await at.run(["sessions"])).code).toBe(0);
    expect(at.server.faults).toEqual([]);
  });
});

function sessionFiles({ home }: Bench): string[] {
  return readdirSync(join(home, "sessions")).filter((name) => name.endsWith(".json"));
}

describe.concurrent("sessions", () => {
  test("two `-c` at once: one goes on, the other works on a copy and says so; nothing is lost", async () => {
    const both = Promise.withResolvers<void>();
    const at = await openBench((_, index): Reply => {
      if (index === 2) both.resolve();
      return index === 0 ? { text: "begun" } : { text: `answer-${index}`, delay: both.promise };
    });
    await at.run(["-p", "the start"]);
    const runs = await Promise.all(["left", "right"].map((word) => at.run(["-c", "-p", word])));
    expect(runs.map((run) => run.code)).toEqual([0, 0]);
    expect(runs.filter((run) => run.stderr.includes("open in another process"))).toHaveLength(1);
    const texts = sessionFiles(at).map((name) => readFileSync(join(at.home, "sessions", name), "utf8"));
    expect(texts).toHaveLength(2);
    for (const text of texts) expect(text).toContain("the start");
    // The copy may hold the other's prompt: it is taken of what is on the disk.
    for (const word of ['"left"', '"right"'])
      expect(texts.filter((text) => text.includes(word)).length).toBeGreaterThan(0);
    for (const { stdout } of runs) expect(texts.filter((text) => text.includes(stdout.trim()))).toHaveLength(1);
    expect(at.server.faults).toEqual([]);
  });

  test("-r takes a unique prefix, -c the newest of this directory, --ephemeral leaves nothing", async () => {
    const at = await openBench((_, index) => ({ text: `answer ${index}` }), { files: { "sub/x": "" } });
    const { events } = await at.run(["-p", "first", "--json"]);
    await at.run(["-p", "elsewhere", "-C", "sub"]);
    await at.run(["-p", "unsaved", "--ephemeral"]);
    expect(sessionFiles(at)).toHaveLength(2);
    await at.run(["-c", "-p", "second"]);
    expect(at.server.requests[3]?.text).toContain('"first"');
    expect(at.server.requests[3]?.text).not.toContain("elsewhere");
    const resumed = await at.run(["-r", String(events[0]?.id), "-p", "third", "--json"]);
    expect(resumed.events[0]?.id).toBe(events[0]?.id);
    expect(at.server.requests[4]?.text).toContain('"second"');
    const listed: unknown = JSON.parse((await at.run(["sessions", "--json"])).stdout);
    expect(listed).toMatchObject([{ id: events[0]?.id, title: "first", turns: 3, inputTokens: 30, costUsd: null }]);
    expect((await at.run(["-r", "0", "-p", "x"])).stderr).toMatch(/shiro: Several sessions begin with "0": /);
    expect(at.server.faults).toEqual([]);
  });

  test("the task list of a resumed session reaches the model once", async () => {
    const todos = [{ content: "ship it", status: "in_progress" }];
    const at = await openBench([{ calls: [{ name: "todo_write", input: { todos } }] }, { text: "ok" }, { text: "ok" }]);
    await at.run(["-p", "plan"]);
    await at.run(["-c", "-p", "go on"]);
    expect(at.server.requests[2]?.text.split("[~] ship it")).toHaveLength(2);
    expect(at.server.faults).toEqual([]);
  });
});
