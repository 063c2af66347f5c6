import { describe, expect, test } from "bun:test";
import { Budget } from "../src/budget.ts";
import { ProviderError, ToolError, TurnAbort, UnknownOutcomeError } from "../src/errors.ts";
import { runTurn } from "../src/loop.ts";
import { Grant, redeem, type PreparedCall, type ToolContext } from "../src/tool.ts";
import type { AgentEvent, Message } from "../src/types.ts";
import { collect, scriptedProvider, scriptedTurn, testTool, user } from "./support/scripted.ts";

const never = new AbortController().signal;
const done = (events: AgentEvent[]) => events.filter((event) => event.type === "done");
const results = (messages: Message[]) =>
  messages.flatMap((message) => (message.role === "tool" ? message.results : []));
const text = (messages: Message[]) =>
  results(messages).map((result) => (result.content[0]?.type === "text" ? result.content[0].text : "?"));

const echo = testTool("echo", (input) => ({ text: `echo ${JSON.stringify(input)}` }));

describe("a turn", () => {
  test("runs tools until an answer without calls, and ends with one done", async () => {
    const provider = scriptedProvider([
      { text: "Looking.", calls: [{ name: "echo", input: { a: 1 } }] },
      { text: "Found it." },
    ]);
    const deps = scriptedTurn(provider, [echo]);
    const events = await collect(runTurn(user("go"), deps, never));
    expect(done(events)).toEqual([
      {
        type: "done",
        exit: 0,
        reason: "completed",
        steps: 2,
        inputTokens: 20,
        outputTokens: 10,
        cacheReadTokens: 0,
        costUsd: 0.002,
      },
    ]);
    expect(deps.transcript.map((message) => message.role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(text(deps.transcript)).toEqual(['echo {"a":1}']);
  });

  test("journals every message before its event", async () => {
    const provider = scriptedProvider([{ calls: [{ name: "echo" }] }, { text: "ok" }]);
    const deps = scriptedTurn(provider, [echo]);
    for await (const event of runTurn(user("go"), deps, never))
      if (event.type === "message") expect(deps.transcript).toContain(event.message);
    expect(deps.transcript).toHaveLength(4);
  });

  test("each request begins with the messages of the one before", async () => {
    const provider = scriptedProvider(
      Array.from({ length: 30 }, (_, at) => ({ calls: [{ name: "echo", input: { at } }] })),
    );
    await collect(runTurn(user("go"), scriptedTurn(provider, [echo], { maxSteps: 30 }), never));
    expect(provider.requests).toHaveLength(30);
    provider.requests.slice(1).forEach((request, at) => {
      const before = provider.requests[at]?.messages ?? [];
      expect(JSON.stringify(request.messages.slice(0, before.length))).toBe(JSON.stringify(before));
    });
  });

  test("stops at the step cap with a valid transcript", async () => {
    const provider = scriptedProvider(
      Array.from({ length: 9 }, (_, at) => ({ calls: [{ name: "echo", input: { at } }] })),
    );
    const deps = scriptedTurn(provider, [echo], { maxSteps: 3 });
    const events = await collect(runTurn(user("go"), deps, never));
    expect(done(events)).toMatchObject([{ exit: 6, reason: "steps", steps: 3 }]);
    expect(deps.transcript.at(-1)?.role).toBe("tool");
  });

  test("refuses a request once a ceiling is reached, and names it", async () => {
    const budget = new Budget(
      { maxSpendUsd: null, maxTokens: 20, maxSeconds: null },
      { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, costUsd: 0 },
    );
    const provider = scriptedProvider(
      Array.from({ length: 9 }, (_, at) => ({ calls: [{ name: "echo", input: { at } }] })),
    );
    const events = await collect(runTurn(user("go"), scriptedTurn(provider, [echo], { budget }), never));
    expect(done(events)).toMatchObject([{ exit: 6, reason: "ceiling", steps: 2 }]);
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "notice",
        level: "error",
        message: expect.stringContaining("maxTokens reached"),
      }),
    );
  });

  test("a cut answer is continued up to three times", async () => {
    const cut = { text: "part ", stop: "length" as const };
    const provider = scriptedProvider([cut, cut, { text: "end" }]);
    const events = await collect(runTurn(user("go"), scriptedTurn(provider, []), never));
    expect(done(events)).toMatchObject([{ reason: "completed", steps: 3 }]);
    const endless = scriptedProvider(Array.from({ length: 9 }, () => cut));
    expect(done(await collect(runTurn(user("go"), scriptedTurn(endless, []), never)))).toMatchObject([
      { reason: "completed", steps: 4 },
    ]);
  });

  test("an empty answer is asked for once more, then an error", async () => {
    expect(
      done(await collect(runTurn(user("go"), scriptedTurn(scriptedProvider([{}, { text: "here" }]), []), never))),
    ).toMatchObject([{ reason: "completed", steps: 2 }]);
    const events = await collect(runTurn(user("go"), scriptedTurn(scriptedProvider([{}, {}]), []), never));
    expect(done(events)).toMatchObject([{ reason: "error", exit: 4 }]);
  });

  test.each(["refusal", "filter"] as const)("a %s is shown as such and exits 4", async (stop) => {
    const events = await collect(
      runTurn(user("go"), scriptedTurn(scriptedProvider([{ text: "No.", stop }]), []), never),
    );
    expect(done(events)).toMatchObject([{ reason: "error", exit: 4 }]);
    expect(events.some((event) => event.type === "error")).toBe(true);
  });
});

describe("calls", () => {
  test("every call of a response gets exactly one result, in call order", async () => {
    const fails = testTool("fails", () => {
      throw new ToolError("no such thing");
    });
    const calls = [
      { id: "1", name: "nope" },
      { id: "2", name: "echo", input: { x: 1 } },
      { id: "3", name: "echo", input: { x: 1 } },
      { id: "4", name: "echo", inputError: { kind: "truncated" as const, message: "cut" } },
      { id: "5", name: "echo", inputError: { kind: "invalid" as const, message: "not JSON" } },
      { id: "6", name: "echo", input: { required: 5 } },
      { id: "7", name: "fails" },
      { id: "8", name: "ehco" },
    ];
    const deps = scriptedTurn(scriptedProvider([{ calls }, { text: "ok" }]), [echo, fails]);
    await collect(runTurn(user("go"), deps, never));
    expect(results(deps.transcript).map((result) => [result.callId, result.isError])).toEqual([
      ["1", true],
      ["2", false],
      ["3", true],
      ["4", true],
      ["5", true],
      ["6", true],
      ["7", true],
      ["8", true],
    ]);
    const said = text(deps.transcript);
    expect(said[0]).toBe('[tool error] There is no tool "nope". Available: echo, fails');
    expect(said[2]).toContain("Duplicate");
    expect(said[3]).toContain("Split the work");
    expect(said[4]).toBe("[validation error] Not executed: not JSON");
    expect(said[5]).toMatch(/^\[validation error\] "required" must be string/);
    expect(said[6]).toBe("[tool error] no such thing");
    expect(said[7]).toContain('Did you mean "echo"?');
  });

  test("neighbours that allow it overlap; a write overlaps nothing; results keep their order", async () => {
    let running = 0;
    const peaks: Record<string, number> = {};
    const enter = (name: string) => (peaks[name] = Math.max(peaks[name] ?? 0, ++running));
    const gate = Promise.withResolvers<void>();
    const reads = testTool(
      "reads",
      async (input) => {
        if (enter("reads") >= 2) gate.resolve();
        await gate.promise;
        running--;
        return { text: String(input["n"]) };
      },
      { safe: true },
    );
    const writes = testTool(
      "writes",
      async () => {
        enter("writes");
        await Promise.resolve();
        running--;
        return { text: "written" };
      },
      { mutates: true },
    );
    const calls = [
      { name: "reads", input: { n: 1 } },
      { name: "reads", input: { n: 2 } },
      { name: "writes" },
      { name: "reads", input: { n: 3 } },
    ];
    const deps = scriptedTurn(scriptedProvider([{ calls }, { text: "ok" }]), [reads, writes]);
    await collect(runTurn(user("go"), deps, never));
    expect(peaks).toEqual({ reads: 2, writes: 1 });
    expect(text(deps.transcript)).toEqual(["1", "2", "written", "3"]);
  });

  test("a denied call never runs and says who denied it", async () => {
    let ran = 0;
    const danger = testTool("danger", () => ({ text: String(++ran) }), { mutates: true });
    const deps = scriptedTurn(scriptedProvider([{ calls: [{ name: "danger" }] }, { text: "ok" }]), [danger], {
      admit: async () => ({ denied: { by: "rule", rule: "danger", reason: "not here" } }),
    });
    const events = await collect(runTurn(user("go"), deps, never));
    expect(ran).toBe(0);
    expect(events).toContainEqual({
      type: "tool-denied",
      id: "c1.0",
      name: "danger",
      by: "rule",
      rule: "danger",
      reason: "not here",
    });
    expect(text(deps.transcript)).toEqual(["[permission error] not here"]);
  });

  test("a call that can't be judged is not run, and the turn goes on", async () => {
    let ran = 0;
    const counted = testTool("counted", () => ({ text: String(++ran) }));
    const deps = scriptedTurn(scriptedProvider([{ calls: [{ name: "counted" }] }, { text: "ok" }]), [counted], {
      admit: async () => {
        throw new TypeError("a bug in judging");
      },
    });
    const events = await collect(runTurn(user("go"), deps, never));
    expect(ran).toBe(0);
    expect(text(deps.transcript)[0]).toMatch(
      /^\[tool error\] internal error: TypeError: a bug in judging[^]*The call was not run\.$/,
    );
    expect(done(events)).toMatchObject([{ reason: "completed" }]);
  });

  test("a mutating call without an answer is not repeated unseen", async () => {
    let ran = 0;
    const command = testTool(
      "command",
      () => {
        ran++;
        throw new UnknownOutcomeError("did not finish; its effects are unknown");
      },
      { mutates: true },
    );
    const call = { calls: [{ name: "command", input: { do: "migrate" } }] };
    const deps = scriptedTurn(scriptedProvider([call, call, { text: "ok" }]), [command]);
    const events = await collect(runTurn(user("go"), deps, never));
    expect(ran).toBe(1);
    expect(events).toContainEqual(expect.objectContaining({ type: "tool-denied", by: "latch" }));
  });

  test("a mutating call is recorded as started before it runs", async () => {
    const order: string[] = [];
    const writes = testTool("writes", () => ({ text: String(order.push("run")) }), { mutates: true });
    const deps = scriptedTurn(scriptedProvider([{ calls: [{ name: "writes" }] }, { text: "ok" }]), [writes], {
      started: () => void order.push("started"),
    });
    await collect(runTurn(user("go"), deps, never));
    expect(order).toEqual(["started", "run"]);
  });

  test("a bug in a tool is told to the model with its stack, and the turn goes on", async () => {
    const broken = testTool("broken", () => (undefined as unknown as { text: string }).text.length as never);
    const deps = scriptedTurn(scriptedProvider([{ calls: [{ name: "broken" }] }, { text: "ok" }]), [broken]);
    const events = await collect(runTurn(user("go"), deps, never));
    expect(text(deps.transcript)[0]).toMatch(/^\[tool error\] internal error: TypeError/);
    expect(done(events)).toMatchObject([{ reason: "completed" }]);
  });
});

describe("grants", () => {
  const call: PreparedCall = { id: "1", tool: echo, input: {}, rawInput: {} };
  const context = {} as ToolContext;
  test("one grant runs one call once", async () => {
    const grant = Grant.mint(call);
    expect(await redeem(grant, context)).toEqual({ text: "echo {}" });
    expect(redeem(grant, context)).rejects.toThrow("without a grant");
  });
  test("a hand-made grant runs nothing", () => {
    const forged = Object.create(Grant.prototype) as Grant;
    expect(redeem(forged, context)).rejects.toThrow("without a grant");
    expect(redeem({ ...Grant.mint(call) } as Grant, context)).rejects.toThrow("without a grant");
  });
  test("a tool has no run of its own to reach", () => expect("run" in echo).toBe(false));
});

describe("circles end", () => {
  test("a model that repeats one call is told, then stopped with a last word", async () => {
    const again = { calls: [{ name: "echo", input: { same: true } }] };
    const provider = scriptedProvider([again, again, again, again, again, again, { text: "Nothing new." }]);
    const deps = scriptedTurn(provider, [echo]);
    const events = await collect(runTurn(user("go"), deps, never));
    expect(done(events)).toMatchObject([{ reason: "partial", exit: 6, steps: 7 }]);
    const noted = deps.transcript.filter((message) => message.role === "tool" && message.notes);
    expect(noted).toHaveLength(1);
  });
  test("calls in the last word are answered but not run", async () => {
    let ran = 0;
    const counted = testTool("counted", () => ({ text: "same", ran: ++ran }));
    const again = { calls: [{ name: "counted" }] };
    const deps = scriptedTurn(scriptedProvider(Array.from({ length: 9 }, () => again)), [counted]);
    await collect(runTurn(user("go"), deps, never));
    expect(ran).toBe(6);
    expect(deps.transcript.at(-1)).toMatchObject({ role: "tool", results: [{ isError: true }] });
  });
});

describe("interruption", () => {
  test("an interrupted turn answers every open call", async () => {
    const controller = new AbortController();
    const slow = testTool("slow", (_, context) => {
      controller.abort(new TurnAbort());
      context.signal.throwIfAborted();
      return { text: "never" };
    });
    const calls = [{ name: "echo", input: { n: 1 } }, { name: "slow" }, { name: "echo", input: { n: 2 } }];
    const deps = scriptedTurn(scriptedProvider([{ calls }]), [echo, slow]);
    const events = await collect(runTurn(user("go"), deps, controller.signal));
    expect(text(deps.transcript)).toEqual(['echo {"n":1}', "interrupted by the user", "interrupted by the user"]);
    expect(done(events)).toMatchObject([{ reason: "interrupted", exit: 130 }]);
  });

  test("what was said before an interruption is kept; a call that was not run is not", async () => {
    const controller = new AbortController();
    const deps = scriptedTurn(scriptedProvider([{ text: "Half an ans", hang: true }]), [echo]);
    const events: AgentEvent[] = [];
    for await (const event of runTurn(user("go"), deps, controller.signal)) {
      events.push(event);
      if (event.type === "text") queueMicrotask(() => controller.abort(new TurnAbort("timeout", 7)));
    }
    expect(deps.transcript.at(-1)).toMatchObject({
      role: "assistant",
      stop: null,
      content: [{ type: "text", text: "Half an ans" }],
    });
    expect(done(events)).toMatchObject([{ reason: "timeout", exit: 7 }]);
  });

  test("an open question does not hold an aborted turn", async () => {
    const controller = new AbortController();
    const deps = scriptedTurn(scriptedProvider([{ calls: [{ name: "echo" }] }]), [echo], {
      admit: () => {
        queueMicrotask(() => controller.abort(new TurnAbort()));
        return new Promise(() => {});
      },
    });
    const events = await collect(runTurn(user("go"), deps, controller.signal));
    expect(done(events)).toMatchObject([{ reason: "interrupted" }]);
    expect(text(deps.transcript)).toEqual(["interrupted by the user"]);
  });
});

describe("provider errors", () => {
  test.each([
    ["auth", {}, 3],
    ["quota", {}, 3],
    ["rate", {}, 4],
    ["network", {}, 4],
    ["request", { code: "model_not_found", status: 404 }, 2],
  ] as const)("%s %j exits %d", async (kind, details, exit) => {
    const provider = scriptedProvider([{ error: new ProviderError("no", { kind, ...details }) }]);
    const deps = scriptedTurn(provider, []);
    const events = await collect(runTurn(user("go"), deps, never));
    expect(events.at(-1)).toMatchObject({ type: "done", exit, reason: "error" });
    expect(events.at(-2)).toMatchObject({ type: "error", kind, message: "no" });
    expect(deps.transcript).toHaveLength(1);
  });

  test("a stream cut after output keeps the text once and ends with the error", async () => {
    const provider = scriptedProvider([
      { text: "Half", error: new ProviderError("connection lost", { kind: "network" }) },
    ]);
    const deps = scriptedTurn(provider, []);
    const events = await collect(runTurn(user("go"), deps, never));
    expect(events.filter((event) => event.type === "text")).toEqual([{ type: "text", text: "Half" }]);
    expect(deps.transcript.at(-1)).toMatchObject({ stop: null, content: [{ text: "Half" }] });
    expect(events.at(-1)).toMatchObject({ exit: 4 });
  });

  test("an overflow compacts and sends once more, then stops", async () => {
    const overflow = { error: new ProviderError("too long", { kind: "context" }) };
    const forced: boolean[] = [];
    const make = (script: Parameters<typeof scriptedProvider>[0]) => {
      const deps = scriptedTurn(scriptedProvider(script), []);
      const { transcript } = deps;
      deps.history.prepare = async function* (force) {
        forced.push(force);
        return [...transcript];
      };
      return deps;
    };
    expect((await collect(runTurn(user("go"), make([overflow, { text: "ok" }]), never))).at(-1)).toMatchObject({
      exit: 0,
    });
    expect(forced).toEqual([false, true]);
    expect((await collect(runTurn(user("go"), make([overflow, overflow]), never))).at(-1)).toMatchObject({
      exit: 4,
      reason: "error",
    });
  });
});
