/** Sessions as the surfaces drive them: turns, resuming, open calls, undo of the conversation, /compact. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ProviderError, TurnAbort } from "../src/errors.ts";
import type { AskUser } from "../src/session-parts.ts";
import type { AgentEvent, Message } from "../src/types.ts";
import { type ScriptedAnswer, scriptedProvider } from "./support/scripted.ts";
import { clearStages, openStage, type Stage } from "./support/state-stage.ts";

afterAll(clearStages);

const TODOS = [
  { content: "read the code", status: "done" },
  { content: "fix the boundary", status: "in_progress" },
];

async function stageWith(script: ScriptedAnswer[], options: Parameters<typeof openStage>[0] = {}) {
  const provider = scriptedProvider(script);
  return { stage: await openStage({ ...options, provider }), requests: provider.requests };
}

const text = (messages: readonly Message[]): string => JSON.stringify(messages);
const resultsOf = (messages: readonly Message[]) =>
  messages.flatMap((message) => (message.role === "tool" ? message.results : []));
const done = (events: readonly AgentEvent[]) => events.filter((event) => event.type === "done");
const bash = (command: string) => ({ name: "bash", input: { command } });
const write = (path: string, content: string) => ({ name: "write_file", input: { path, content } });

const allow: AskUser = async () => ({ decision: "once" });

/** Runs a turn until an event comes, then leaves it hanging as a kill would. */
async function until(stage: Stage, prompt: string, ask: AskUser, type: AgentEvent["type"] | "answer"): Promise<void> {
  for await (const event of stage.setup.session.send(prompt, ask, new AbortController().signal))
    if (event.type === type || (type === "answer" && event.type === "message" && event.message.role === "assistant"))
      return;
}

/** Runs a turn until it asks, and leaves the question open as a person does who closes the laptop. */
async function untilAsked(stage: Stage, prompt: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const silent: AskUser = () => {
    resolve();
    return new Promise(() => {});
  };
  void until(stage, prompt, silent, "done");
  await promise;
}

describe("a session that was cut off", () => {
  test("asks again on continue for a call that waited for approval, and runs it", async () => {
    const { stage, requests } = await stageWith([{ calls: [bash("echo yes > made.txt")] }, { text: "made" }], {
      args: [],
    });
    let asked = 0;
    await untilAsked(stage, "make it");
    await stage.resume({ kill: true, args: ["-c"] });
    const events = await stage.say("continue", async (prompt) => {
      asked++;
      expect(prompt.subject).toContain("made.txt");
      return { decision: "once" };
    });
    expect([asked, done(events).length, stage.read("made.txt")]).toEqual([1, 1, "yes\n"]);
    expect(stage.messages().map((message) => message.role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(requests).toHaveLength(2);
  });

  test("answers the waiting call with not run when another prompt comes", async () => {
    const { stage, requests } = await stageWith([{ calls: [bash("echo yes > made.txt")] }, { text: "fine" }], {
      args: [],
    });
    await untilAsked(stage, "make it");
    await stage.resume({ kill: true, args: ["-c"] });
    await stage.say("something else", allow);
    expect(existsSync(stage.path("made.txt"))).toBe(false);
    expect(resultsOf(requests[1]?.messages ?? [])[0]?.content).toEqual([
      { type: "text", text: "[tool error] not run: the user went on with another prompt" },
    ]);
  });

  test("names a call that had begun as unknown, and refuses the same call in that turn only", async () => {
    const { stage, requests } = await stageWith([
      { calls: [bash("echo x >> log; sleep 60")] },
      { calls: [bash("echo x >> log; sleep 60")] },
      { text: "I looked" },
      { calls: [bash("echo again")] },
      { text: "done" },
    ]);
    await until(stage, "go", allow, "tool-begin");
    await stage.resume({ kill: true });
    const events = await stage.say("continue");
    expect(text(requests[1]?.messages ?? [])).toContain("interrupted, outcome unknown");
    expect(events.find((event) => event.type === "tool-denied")).toMatchObject({ by: "latch" });
    const later = await stage.say("go on");
    expect(later.some((event) => event.type === "tool-denied")).toBe(false);
  });

  test("refuses it also when the turn that was told of it was cut off again", async () => {
    const { stage, requests } = await stageWith(
      [{ calls: [bash("echo x >> log")] }, { calls: [bash("echo x >> log")] }, { text: "I looked" }],
      { args: [] },
    );
    await until(stage, "go", allow, "tool-begin");
    await stage.resume({ kill: true, args: ["-c"] });
    await until(stage, "continue", allow, "answer");
    await stage.resume({ kill: true, args: ["-c"] });
    const events = await stage.say("continue", allow);
    expect(events.find((event) => event.type === "tool-denied")).toMatchObject({ by: "latch" });
    expect(requests).toHaveLength(3);
    await stage.resume({ args: ["-c"] });
    expect((await stage.say("thanks", allow)).at(-1)).toMatchObject({ reason: "completed" });
  });

  test("keeps the results of calls that had ended while others of the same answer still ran", async () => {
    const { stage, requests } = await stageWith([
      { calls: [write("a.txt", "a"), bash("sleep 60"), write("c.txt", "c")] },
      { text: "ok" },
    ]);
    let begun = 0;
    for await (const event of stage.setup.session.send("go", null, new AbortController().signal))
      if (event.type === "tool-begin" && ++begun === 2) break;
    await stage.resume({ kill: true });
    await stage.say("next");
    const [first, second, third] = resultsOf(requests[1]?.messages ?? []);
    expect(first?.isError).toBe(false);
    expect(text([{ role: "tool", results: second ? [second] : [] }])).toContain("outcome unknown");
    expect(text([{ role: "tool", results: third ? [third] : [] }])).toContain("not run");
    expect(existsSync(stage.path("c.txt"))).toBe(false);
  });

  test("heals lone surrogates of an old file and goes on", async () => {
    const { stage, requests } = await stageWith([{ text: "one" }, { text: "two" }]);
    await stage.say("hello there");
    await stage.setup.close();
    const path = join(stage.home, "sessions", `${stage.setup.session.id}.json`);
    const broken = (await Bun.file(path).text()).replaceAll("hello there", "hello \\ud83d there");
    writeFileSync(path, broken);
    await stage.resume({ kill: true });
    await stage.say("more");
    expect(text(requests[1]?.messages ?? [])).toContain("hello \ufffd there");
  });
});

describe("an aborted turn", () => {
  test("answers every call, ends with one done, and the next request is legal", async () => {
    const { stage, requests } = await stageWith([
      { calls: [bash("sleep 60"), write("never.txt", "x")] },
      { text: "fine" },
    ]);
    const controller = new AbortController();
    const events: AgentEvent[] = [];
    for await (const event of stage.setup.session.send("go", null, controller.signal)) {
      events.push(event);
      if (event.type === "tool-begin") controller.abort(new TurnAbort());
    }
    expect(done(events)).toHaveLength(1);
    expect(resultsOf(stage.messages()).map((result) => result.isError)).toEqual([true, true]);
    expect(existsSync(stage.path("never.txt"))).toBe(false);
    await stage.say("and now?");
    expect(requests[1]?.messages.map((message) => message.role)).toEqual(["user", "assistant", "tool", "user"]);
  });
});

describe("the task list", () => {
  const todoWrite = { name: "todo_write", input: { todos: TODOS } };

  test("is before the model at the next step through its own result, and never injected in the normal run", async () => {
    const { stage, requests } = await stageWith([
      { calls: [todoWrite] },
      { calls: [bash("true")] },
      { text: "ok" },
      { text: "more" },
    ]);
    await stage.say("plan it");
    await stage.say("go on");
    expect(text(requests[1]?.messages ?? [])).toContain("[~] fix the boundary");
    const last = text(requests.at(-1)?.messages ?? []);
    expect(last.split("[~] fix the boundary")).toHaveLength(2);
    expect(last).not.toContain("Your task list");
  });

  test("is injected once after /compact, and again after a resume only where it is out of sight", async () => {
    const { stage, requests } = await stageWith([
      { calls: [todoWrite] },
      { text: "planned" },
      { text: "SUMMARY" },
      { text: "one" },
      { text: "two" },
      { text: "three" },
    ]);
    await stage.say("plan it");
    await stage.setup.session.compact(null, new AbortController().signal);
    await stage.say("first");
    await stage.say("second");
    await stage.resume();
    await stage.say("third");
    const last = text(requests.at(-1)?.messages ?? []);
    expect(last.split("Your task list")).toHaveLength(2);
    expect(last).toContain("SUMMARY");
  });

  test("goes back with the prompt that wrote it", async () => {
    const { stage } = await stageWith([{ calls: [todoWrite] }, { text: "planned" }]);
    const { session } = stage.setup;
    await stage.say("plan it");
    expect(session.chatUndo.undo()).toBe("prompt");
    expect(session.parts.file.record.notebook.todos).toEqual([]);
    expect(session.chatUndo.redo()).toBe("prompt");
    expect(session.parts.file.record.notebook.todos).toHaveLength(2);
  });
});

describe("undo of the conversation", () => {
  test("takes the prompt out of the next request, and redo brings it back", async () => {
    const { stage, requests } = await stageWith([
      { text: "one" },
      { text: "two" },
      { text: "three" },
      { text: "four" },
    ]);
    const { session } = stage.setup;
    await stage.say("first words");
    await stage.say("second words");
    expect(session.chatUndo.undo()).toBe("prompt");
    expect(session.chatUndo.redo()).toBe("prompt");
    expect(session.chatUndo.undo()).toBe("prompt");
    await stage.say("third words");
    const sent = text(requests.at(-1)?.messages ?? []);
    expect([sent.includes("first words"), sent.includes("second words")]).toEqual([true, false]);
    expect(session.chatUndo.redo()).toBe(null);
  });

  test("restores the transcript that /compact replaced, and redo compacts again without the model", async () => {
    const { stage, requests } = await stageWith([{ text: "one" }, { text: "SUMMARY" }, { text: "two" }]);
    const { session } = stage.setup;
    await stage.say("first words");
    const before = [...stage.messages()];
    await session.compact("the tests", new AbortController().signal);
    expect(text(requests[1]?.messages ?? [])).toContain("the tests");
    expect(stage.messages()).toHaveLength(1);
    expect(session.chatUndo.undo()).toBe("compaction");
    expect(stage.messages()).toEqual(before);
    expect(session.chatUndo.redo()).toBe("compaction");
    expect(text(stage.messages())).toContain("SUMMARY");
    expect(session.chatUndo.undo()).toBe("compaction");
    await stage.resume();
    expect(stage.messages()).toEqual(before);
  });
});

describe("/compact", () => {
  test("keeps the user's words, files, failures and instructions before the model", async () => {
    const words = "rename A to B in all files, do not touch C";
    const { stage, requests } = await stageWith(
      [
        { calls: [write("src/a.ts", "B\n"), { name: "read_file", input: { path: "missing.ts" } }] },
        { text: "renamed" },
        { text: "SUMMARY" },
        { text: "on it" },
      ],
      { files: { "AGENTS.md": "Always say please.\n" } },
    );
    await stage.say(words);
    await stage.setup.session.compact(null, new AbortController().signal);
    await stage.say("continue");
    const { messages, system } = requests.at(-1) ?? { messages: [], system: "" };
    const sent = text(messages);
    for (const kept of [words, "SUMMARY", "src/a.ts", "missing.ts"]) expect(sent).toContain(kept);
    expect(system).toContain("Always say please.");
  });

  test("falls back to a digest when the summary fails", async () => {
    const { stage } = await stageWith([
      { text: "one" },
      { error: new ProviderError("overloaded", { kind: "server" }) },
    ]);
    await stage.say("the port is 48213, always use it");
    const outcome = await stage.setup.session.compact(null, new AbortController().signal);
    expect(outcome).toEqual({ before: 3, by: "digest" });
    expect(text(stage.messages())).toContain("48213");
  });

  test("counts as spent, and gives way to the digest where a ceiling is reached", async () => {
    const { stage, requests } = await stageWith([{ text: "one" }, { text: "SUMMARY" }, { text: "two" }], {
      config: { maxTokens: 40 },
    });
    const { session } = stage.setup;
    await stage.say("hello");
    expect((await session.compact(null, new AbortController().signal)).by).toBe("model");
    expect(session.parts.budget.spent).toMatchObject({ inputTokens: 20, outputTokens: 10 });
    expect(session.parts.file.record.spend.map((row) => [row.subagent, row.requests])).toEqual([
      [false, 1],
      [true, 1],
    ]);
    await stage.say("again");
    expect((await session.compact(null, new AbortController().signal)).by).toBe("digest");
    expect(requests).toHaveLength(3);
  });

  test("is asked of the model in use, not of the one before a switch", async () => {
    const { stage } = await stageWith([{ text: "one" }]);
    await stage.say("hello");
    const other = scriptedProvider([{ text: "FROM THE OTHER" }]);
    stage.setup.session.setChoice({ ...stage.setup.session.choice, provider: other, model: "other-model" });
    await stage.setup.session.compact(null, new AbortController().signal);
    expect(other.requests.map((request) => request.model)).toEqual(["other-model"]);
    expect(stage.setup.session.parts.file.record.model).toBe("other-model");
  });
});

test("a resumed session records the model that now answers", async () => {
  const { stage } = await stageWith([{ text: "one" }, { text: "two" }]);
  await stage.say("hello");
  await stage.resume({ args: ["-c", "--yolo", "--model", "newer-model"] });
  await stage.say("more");
  expect(stage.setup.session.parts.file.record.model).toBe("newer-model");
});
