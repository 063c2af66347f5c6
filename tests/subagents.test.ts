/** Subagents in whole sessions: what they hold, whom they ask, what they cost, and how they end. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { ProviderError, TurnAbort } from "../src/errors.ts";
import type { ModelRequest, Provider } from "../src/provider.ts";
import type { AskUser } from "../src/session-parts.ts";
import type { AgentEvent } from "../src/types.ts";
import { scriptedProvider, type ScriptedAnswer } from "./support/scripted.ts";
import { clearStages, openStage, type StageOptions } from "./support/state-stage.ts";

afterAll(clearStages);

/** Answers by what was asked. `step` counts the requests of that conversation from 0; `prompt` is its first message. */
type Route = (prompt: string, step: number, request: ModelRequest) => ScriptedAnswer | Promise<ScriptedAnswer>;

interface Routed extends Provider {
  /** By the prompt that began the conversation. */
  requests(prompt: string): ModelRequest[];
}

function routed(route: Route): Routed {
  const seen = new Map<string, ModelRequest[]>();
  return {
    requests: (prompt) => seen.get(prompt) ?? [],
    origin: (model) => `test|local|${model}`,
    async *stream(request, signal) {
      const prompt = firstText(request);
      const own = [...(seen.get(prompt) ?? []), { ...request, messages: structuredClone([...request.messages]) }];
      seen.set(prompt, own);
      const answer = await route(prompt, own.length - 1, request);
      yield* scriptedProvider([answer]).stream(request, signal);
    },
  };
}

function firstText(request: ModelRequest): string {
  const first = request.messages[0];
  if (first?.role !== "user") return "";
  return first.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

const job = (prompt: string, kind?: string) => ({ description: `${prompt} it`, prompt, ...(kind ? { kind } : {}) });
const delegate = (...tasks: ReturnType<typeof job>[]): ScriptedAnswer => ({
  calls: [{ name: "task", input: { tasks } }],
});
const call = (name: string, input: Record<string, string>): ScriptedAnswer => ({ calls: [{ name, input }] });
const write = (path: string): ScriptedAnswer => call("write_file", { path, content: "made\n" });
const say = (text: string): ScriptedAnswer => ({ text });

async function stageOf(route: Route, options: StageOptions = {}) {
  const provider = routed(route);
  return { provider, stage: await openStage({ ...options, provider }) };
}

const toolNames = (request: ModelRequest | undefined): string[] => request?.tools.map((tool) => tool.name) ?? [];
const resultOf = (events: readonly AgentEvent[]): string =>
  events.flatMap((event) => (event.type === "tool-result" && !event.agent ? [event.output] : []))[0] ?? "";
const doneOf = (events: readonly AgentEvent[]) => events.flatMap((event) => (event.type === "done" ? [event] : []));
const labelsOf = (events: readonly AgentEvent[]) => [...new Set(events.flatMap((event) => event.agent ?? []))].sort();

describe("delegating", () => {
  /** Each answer waits until both requests are there. */
  function barrier(): () => Promise<void> {
    const both = Promise.withResolvers<void>();
    let waiting = 0;
    return () => {
      if (++waiting === 2) both.resolve();
      return both.promise;
    };
  }

  test.each([
    ["in one call", delegate(job("left"), job("right"))],
    ["in two calls", { calls: [job("left"), job("right")].map((input) => ({ name: "task", input })) }],
  ])("two jobs %s run side by side and report in order under their labels", async (_, first) => {
    const arrived = barrier();
    const { stage } = await stageOf(async (prompt, step) => {
      if (prompt === "go") return step === 0 ? first : say("both are in");
      await arrived();
      return say(`report on ${prompt}`);
    });
    const events = await stage.say("go");
    const results = events.flatMap((event) => (event.type === "tool-result" ? [event.output] : []));
    expect(results.join("\n\n").split("\n").filter(Boolean).sort()).toEqual([
      "## left-it (explore)",
      "## right-it (explore)",
      "report on left",
      "report on right",
    ]);
    expect(labelsOf(events)).toEqual(["left-it", "right-it"]);
    expect(doneOf(events)).toMatchObject([{ reason: "completed", steps: 2 }]);
  });

  test("the same description again gets another label, and ids of two conversations never meet", async () => {
    const { stage } = await stageOf((prompt, step) => {
      if (prompt === "go") return step === 0 ? delegate(job("look"), job("look")) : say("fine");
      return step < 2 ? { calls: [{ id: "same", name: "glob", input: { pattern: `*${step}` } }] } : say("seen");
    });
    const events = await stage.say("go");
    expect(labelsOf(events)).toEqual(["look-it", "look-it#2"]);
    const ids = new Set(events.flatMap((event) => (event.type === "tool-begin" && event.agent ? [event.id] : [])));
    expect([...ids].sort()).toEqual(["look-it#2/same", "look-it/same"]);
  });

  test("one that fails loses the others nothing", async () => {
    const { stage } = await stageOf((prompt, step) => {
      if (prompt === "go") return step === 0 ? delegate(job("one"), job("two"), job("three")) : say("fine");
      if (prompt === "two") return { error: new ProviderError("the model is gone", { kind: "request" }) };
      return say(`${prompt} is done`);
    });
    const events = await stage.say("go");
    expect(resultOf(events)).toBe(
      "## one-it (explore)\none is done\n\n## two-it (explore): failed\nNo report: the model is gone\n\n## three-it (explore)\nthree is done",
    );
    expect(events.some((event) => event.type === "error")).toBe(false);
    expect(doneOf(events)).toMatchObject([{ reason: "completed", exit: 0 }]);
  });

  test("an abort ends all of them, and the call is answered", async () => {
    const controller = new AbortController();
    let open = 0;
    const { stage } = await stageOf((prompt) => {
      if (prompt === "go") return delegate(job("left"), job("right"));
      if (++open === 2) queueMicrotask(() => controller.abort(new TurnAbort()));
      return { hang: true };
    });
    const events = await stage.say("go", null, controller.signal);
    expect([open, doneOf(events).map((done) => done.reason)]).toEqual([2, ["interrupted"]]);
    expect(JSON.stringify(stage.messages().at(-1))).toContain("interrupted by the user");
  });

  test("an abort while one asks and another waits to ask leaves nothing open", async () => {
    const controller = new AbortController();
    const { stage } = await stageOf(
      (prompt) => (prompt === "go" ? delegate(job("left", "worker"), job("right", "worker")) : write(`${prompt}.txt`)),
      { args: [] },
    );
    const silent: AskUser = () => {
      queueMicrotask(() => controller.abort(new TurnAbort()));
      return new Promise(() => {});
    };
    const events = await stage.say("go", silent, controller.signal);
    expect(doneOf(events).map((done) => done.reason)).toEqual(["interrupted"]);
  });

  test("ctrl-c ends a worker's command and leaves its turn alone", async () => {
    const { stage } = await stageOf((prompt, step) => {
      if (prompt === "go") return step === 0 ? delegate(job("run", "worker")) : say("fine");
      return step === 0 ? call("bash", { command: "echo begun; exec sleep 60" }) : say("it was ended");
    });
    const events: AgentEvent[] = [];
    for await (const event of stage.setup.session.send("go", null, new AbortController().signal)) {
      events.push(event);
      if (event.type === "tool-output") stage.setup.session.killCommands();
    }
    expect(events.find((event) => event.type === "tool-error")).toMatchObject({
      agent: "run-it",
      error: expect.stringContaining("effects are unknown"),
    });
    expect(resultOf(events)).toBe("## run-it (worker)\nit was ended");
  });

  test("the last of twenty steps is for the report, with the tools switched off", async () => {
    const { stage, provider } = await stageOf((prompt, step, request) => {
      if (prompt === "go") return step === 0 ? delegate(job("dig")) : say("fine");
      return request.noCalls ? say("as far as I got") : call("glob", { pattern: `*${step}` });
    });
    const events = await stage.say("go");
    const requests = provider.requests("dig");
    expect(requests).toHaveLength(20);
    expect(requests.at(-1)?.tools).toEqual(requests[0]?.tools ?? []);
    expect(resultOf(events)).toContain("as far as I got\n(incomplete: ");
  });
});

describe("what a subagent holds", () => {
  const asked: Route = (prompt, step) => {
    if (prompt !== "go") return say("nothing");
    return step === 0 ? delegate(job("see", "review"), job("do", "worker")) : say("fine");
  };

  test("a reader holds what reads, a worker what works; neither what is the user's own", async () => {
    const { stage, provider } = await stageOf(asked, { config: { toolSets: ["edit-plus", "git", "net"] } });
    await stage.say("go");
    const [main, reader, worker] = ["go", "see", "do"].map((prompt) => toolNames(provider.requests(prompt)[0]));
    expect(main).toEqual(expect.arrayContaining(["task", "web_fetch", "todo_write", "bash"]));
    expect(reader).toEqual(expect.arrayContaining(["read_file", "grep", "git_diff"]));
    expect(worker).toEqual(expect.arrayContaining(["read_file", "bash", "write_file", "apply_patch"]));
    for (const name of ["task", "web_fetch", "todo_write", "remember", "ask"])
      expect([name, reader?.includes(name), worker?.includes(name)]).toEqual([name, false, false]);
    for (const name of ["bash", "write_file", "edit_file", "apply_patch"])
      expect([name, reader?.includes(name)]).toEqual([name, false]);
  });

  test("a tool that rules refuse altogether is absent", async () => {
    const { stage, provider } = await stageOf(asked, {
      config: { permission: { grep: "deny", write_file: { "*": "deny" }, edit_file: { "*": "deny", "a/*": "allow" } } },
    });
    await stage.say("go");
    expect(toolNames(provider.requests("see")[0])).not.toContain("grep");
    const worker = toolNames(provider.requests("do")[0]);
    expect([worker.includes("write_file"), worker.includes("edit_file")]).toEqual([false, true]);
  });

  test("it can't delegate further, whatever it calls", async () => {
    const { stage, provider } = await stageOf((prompt, step) => {
      if (prompt === "go") return step === 0 ? delegate(job("nest", "worker")) : say("fine");
      return step === 0 ? delegate(job("deeper")) : say("did it myself");
    });
    const events = await stage.say("go");
    expect(events.find((event) => event.type === "tool-error")).toMatchObject({ agent: "nest-it", name: "task" });
    expect([provider.requests("deeper").length, resultOf(events)]).toEqual([0, "## nest-it (worker)\ndid it myself"]);
  });

  test("its prompt says what it is, and holds no notes of the user's", async () => {
    const { stage, provider } = await stageOf(asked);
    await stage.setup.memory?.add({ kind: "fact", text: "the canary lives in the mine" });
    await stage.say("go");
    const system = provider.requests("see")[0]?.system ?? "";
    expect(system).toContain("You are a subagent");
    expect(system).not.toContain("canary lives");
    expect(system).not.toContain("- task:");
  });

  const kindsOf = (request: ModelRequest | undefined): string =>
    JSON.stringify(request?.tools.find((tool) => tool.name === "task")?.schema ?? null);

  test.each<[string, StageOptions, boolean | null]>([
    ["a session where somebody can be asked offers workers", { args: [] }, true],
    ["--yolo offers them too", { args: ["--yolo"], interactive: false }, true],
    ["nobody there to ask: no workers", { args: [], interactive: false }, false],
    ["a variant that only reads: no workers", { config: { agent: "plan" } }, false],
    ["--no-subagent: no task at all", { args: ["--no-subagent"] }, null],
  ])("%s", async (_, options, workers) => {
    const { stage, provider } = await stageOf(() => say("hello"), options);
    await stage.say("go");
    const kinds = kindsOf(provider.requests("go")[0]);
    if (workers === null) expect(kinds).toBe("null");
    else expect([kinds.includes("explore"), kinds.includes("worker")]).toEqual([true, workers]);
  });
});

describe("a worker by its parent's gate", () => {
  const working: Route = (prompt, step) => {
    if (prompt === "go") return step === 0 ? delegate(job("make", "worker")) : say("fine");
    return step === 0 ? write("made.txt") : say("made it");
  };

  test("its write is asked for as a worker's and undone as the prompt's", async () => {
    const { stage } = await stageOf(working, { args: [] });
    const prompts: unknown[] = [];
    const events = await stage.say("go", async (prompt, about) => {
      prompts.push([prompt.tool, prompt.worker, prompt.agent, about.id.split("/")[0], about.agent]);
      return { decision: "once" };
    });
    expect(prompts).toEqual([["write_file", true, "make-it", "make-it", "make-it"]]);
    expect(stage.read("made.txt")).toBe("made\n");
    expect(resultOf(events)).toBe("## make-it (worker)\nmade it");
    await stage.setup.session.parts.undo?.undo();
    expect(existsSync(stage.path("made.txt"))).toBe(false);
  });

  test("each must have read a file itself before it changes it, and as it is now", async () => {
    const edit = (to: string): ScriptedAnswer => call("edit_file", { path: "a.txt", oldString: "one", newString: to });
    const read = call("read_file", { path: "a.txt" });
    const { stage, provider } = await stageOf(
      (prompt, step) => {
        if (prompt === "go") return [read, delegate(job("mend", "worker")), edit("parent")][step] ?? say("fine");
        return [edit("blind"), read, edit("child")][step] ?? say("mended");
      },
      { files: { "a.txt": "one\n" } },
    );
    const events = await stage.say("go");
    expect(stage.read("a.txt")).toBe("child\n");
    expect(events.flatMap((event) => (event.type === "tool-error" ? [event.agent] : []))).toEqual([
      "mend-it",
      undefined,
    ]);
    expect(JSON.stringify(provider.requests("go").at(-1)?.messages.at(-1))).toContain("changed");
  });

  test("what is granted to one is not asked for the next, and what is refused isn't asked twice", async () => {
    const route: Route = (prompt, step) => {
      if (prompt === "go") return step === 0 ? delegate(job("one", "worker"), job("two", "worker")) : say("fine");
      return step === 0 ? write(`out/${prompt}.txt`) : say("ok");
    };
    const count = async (decision: "always" | "deny", again: Route): Promise<number> => {
      const { stage } = await stageOf(again, { args: [] });
      let asked = 0;
      const ask: AskUser = async () => (asked++, { decision });
      await stage.say("go", ask);
      return asked;
    };
    expect(await count("always", route)).toBe(1);
    const same: Route = (prompt, step, request) =>
      prompt === "go" || step > 0 ? route(prompt, step, request) : write("same.txt");
    expect(await count("deny", same)).toBe(1);
  });

  test("with nobody to ask it is refused at once and reports", async () => {
    const { stage } = await stageOf(
      (prompt, step) => {
        if (prompt === "go") return step === 0 ? delegate(job("peek")) : say("fine");
        return step === 0 ? call("read_file", { path: ".npmrc" }) : say("was not let in");
      },
      { args: [], files: { ".npmrc": "x=1\n" } },
    );
    const events = await stage.say("go");
    expect(events.find((event) => event.type === "tool-denied")).toMatchObject({ agent: "peek-it", by: "secret" });
    expect(resultOf(events)).toContain("was not let in");
  });

  test("a reader's question is no worker's, and a subagent is told to ask nobody", async () => {
    const { stage, provider } = await stageOf(
      (prompt, step) => {
        if (prompt === "go") return step === 0 ? delegate(job("look")) : say("fine");
        return step === 0 ? call("glob", { pattern: "*" }) : say("looked");
      },
      { args: [], config: { permission: { glob: "ask" } } },
    );
    const prompts: unknown[] = [];
    await stage.say("go", async ({ worker, agent }) => {
      prompts.push([worker, agent]);
      return { decision: "once" };
    });
    expect(prompts).toEqual([[false, "look-it"]]);
    expect(provider.requests("look")[0]?.system).toContain("say so; decide, and state the assumption.");
  });

  test("a skill that it loads lifts nothing of what holds for its parent", async () => {
    const skill = (name: string, limit = ""): string => `---\nname: ${name}\ndescription: use it\n${limit}---\nbody`;
    const { stage } = await stageOf(
      (prompt, step) => {
        if (prompt === "go")
          return [call("skill", { name: "tight" }), delegate(job("work", "worker"))][step] ?? say("fine");
        const steps = [call("skill", { name: "free" }), call("bash", { command: "touch made" })];
        return steps[step] ?? say("done");
      },
      {
        config: { sandbox: "off" },
        files: {
          ".shiro/skills/tight.md": skill("tight", "allowed-tools: Task, Bash(echo *)\n"),
          ".shiro/skills/free.md": skill("free"),
        },
      },
    );
    const events = await stage.say("go");
    expect(events.find((event) => event.type === "tool-denied")).toMatchObject({ agent: "work-it", by: "skill" });
    expect(existsSync(stage.path("made"))).toBe(false);
  });

  test("three readers of one file are no repetition", async () => {
    const { stage } = await stageOf(
      (prompt, step) => {
        if (prompt === "go") return step === 0 ? delegate(job("a"), job("b"), job("c"), job("d")) : say("fine");
        return step === 0 ? call("read_file", { path: "x.txt" }) : say("read");
      },
      { args: [], files: { "x.txt": "x\n" } },
    );
    const events = await stage.say("go");
    expect(events.some((event) => event.type === "tool-denied")).toBe(false);
  });

  test("a command of a worker's with an unknown outcome is refused to the parent as well", async () => {
    const lost = { calls: [{ name: "bash", input: { command: "echo x >> log; sleep 60", timeout: 30 } }] };
    const { stage } = await stageOf((prompt, step) => {
      if (prompt !== "go") return step === 0 ? lost : say("it hung");
      return [delegate(job("run", "worker")), lost][step] ?? say("I looked");
    });
    const events = await stage.say("go");
    expect(events.flatMap((event) => (event.type === "tool-denied" ? [[event.by, event.agent]] : []))).toEqual([
      ["latch", undefined],
    ]);
  });

  test("a program that ends under a worker's command leaves the delegation in doubt, not to be run again", async () => {
    const { stage, provider } = await stageOf((prompt, step) => {
      if (prompt === "go") return step === 0 ? delegate(job("run", "worker")) : say("I looked");
      return call("bash", { command: "sleep 60" });
    });
    const stop = new AbortController();
    for await (const event of stage.setup.session.send("go", null, stop.signal))
      if (event.type === "tool-begin" && event.agent) break;
    await stage.resume({ kill: true });
    await stage.say("continue");
    expect(JSON.stringify(provider.requests("go")[1]?.messages)).toContain("outcome unknown");
    expect(provider.requests("run")).toHaveLength(1);
    stop.abort(new TurnAbort());
  });

  test("one that goes in circles is told, stopped, and reports", async () => {
    const { stage, provider } = await stageOf((prompt, step, request) => {
      if (prompt === "go") return step === 0 ? delegate(job("spin", "worker")) : say("fine");
      return request.noCalls ? say("nothing came of it") : call("bash", { command: "echo noop" });
    });
    const events = await stage.say("go");
    expect(provider.requests("spin")).toHaveLength(5);
    expect(JSON.stringify(provider.requests("spin")[3]?.messages)).toContain("three times with the same outcome");
    expect(resultOf(events)).toContain("nothing came of it\n(incomplete: Stopped: bash was called 4 times in a row");
  });
});

describe("what subagents cost", () => {
  const priced = { "test-model": { input: 100, output: 100 } };
  const looping: Route = (prompt, step) => {
    if (prompt === "go") return step === 0 ? delegate(job("left"), job("right")) : say("fine");
    return { ...call("glob", { pattern: `*${step}` }), usage: { inputTokens: 50, outputTokens: 50 } };
  };

  test("is booked apart and counted in the turn", async () => {
    const { stage } = await stageOf(
      (prompt, step) => {
        if (prompt === "go") return step === 0 ? delegate(job("left"), job("right")) : say("fine");
        return say(prompt);
      },
      { config: { pricing: priced } },
    );
    const events = await stage.say("go");
    const { spend, inputTokens } = stage.setup.session.parts.file.record;
    expect(spend.map((row) => [row.subagent, row.requests, row.inputTokens])).toEqual([
      [false, 2, 20],
      [true, 2, 20],
    ]);
    expect([inputTokens, doneOf(events)[0]?.inputTokens, doneOf(events)[0]?.costUsd]).toEqual([40, 40, 0.006]);
  });

  test("is held by the session's ceiling, with no more than the requests in flight above it", async () => {
    // A request of theirs costs one cent.
    const { stage, provider } = await stageOf(looping, { config: { pricing: priced, maxSpendUsd: 0.05 } });
    const events = await stage.say("go");
    expect(stage.setup.session.parts.budget.spent.costUsd).toBeLessThanOrEqual(0.05 + 2 * 0.01);
    expect(doneOf(events)).toMatchObject([{ reason: "ceiling", exit: 6 }]);
    expect(provider.requests("go")).toHaveLength(1);
  });
});
