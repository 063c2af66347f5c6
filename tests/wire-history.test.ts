/** What goes on the wire over a long session: stable prefixes, compaction in large steps, legal on every wire, nothing that binds is lost. */
import { afterAll, describe, expect, test } from "bun:test";
import { ProviderError } from "../src/errors.ts";
import type { ModelRequest, Provider } from "../src/provider.ts";
import type { AgentEvent, JsonObject, Message, ModelEvent } from "../src/types.ts";
import { endpoint } from "./support/model-kit.ts";
import { type Received, type Reply, startModelServer } from "./support/model-server.ts";
import { rounds } from "./support/rounds.ts";
import { collect, scriptedProvider } from "./support/scripted.ts";
import { clearStages, openStage } from "./support/state-stage.ts";

afterAll(clearStages);

const DECISION = "we page by cursor because offsets skip rows when rows are deleted";
const RULE = "Do not touch src/legacy, whatever happens.";
const NUMBER = "The staging database listens on 48213.";

const FILES = Object.fromEntries(
  Array.from({ length: 10 }, (_, index) => [`f${index}.txt`, `line of file ${index}\n`.repeat(150)]),
);

function promptOf(turn: number): string {
  if (turn === 0) return `Build the pagination. ${RULE}`;
  if (turn === 1) return `${NUMBER} Go on.`;
  return `Go on with part ${turn}.`;
}

type Wire = "chat" | "responses" | "anthropic";

const ENV: Record<Wire, Record<string, string>> = {
  chat: {},
  responses: { SHIRO_WIRE: "responses" },
  anthropic: { SHIRO_PROVIDER: "anthropic", SHIRO_MODEL: "claude-sonnet-5-5" },
};

/** Everything of a request but its newest part, as bytes; marks that move with the cache are none of it. */
function headAndMessages(request: Received): { head: string; messages: string[] } {
  const { messages, input, system, instructions, tools } = request.body;
  const list = (Array.isArray(messages) ? messages : Array.isArray(input) ? input : []) as JsonObject[]; // the strict server saw to it
  const bytes = (value: unknown): string =>
    JSON.stringify(value, (key, inner: unknown) => (key === "cache_control" ? undefined : inner)) ?? "";
  return { head: bytes([system, instructions, tools]), messages: list.map(bytes) };
}

const isSummary = (request: Received): boolean => !Array.isArray(request.body.tools);

// Whatever only length brings about is the same for all of them, so one goes further than the rest.
describe.each<[number, Wire]>([
  [100, "chat"],
  [rounds(60, 100), "responses"],
  [rounds(60, 100), "anthropic"],
])("%d turns of four messages on the %s wire", (turns, wire) => {
  test("compacted several times: legal throughout, the prefix stable between, nothing that binds lost", async () => {
    let step = 0;
    const answer = (request: Received): Reply => {
      const usage = { input: Math.ceil(request.text.length / 4), output: 20 };
      if (isSummary(request)) return { text: "The work goes on as planned.", usage };
      const at = step++;
      const turn = at >> 1;
      const said = turn === 3 ? `I decided: ${DECISION}.` : `Part ${turn} is done.`;
      if (at % 2 === 1) return { text: said, usage };
      return {
        usage,
        reasoning: `thinking about ${turn}`,
        calls: [{ id: `call${turn}abcdef`, name: "read_file", input: { path: `f${turn % 10}.txt` } }],
      };
    };
    const server = await startModelServer(answer);
    const stage = await openStage({
      files: FILES,
      config: { compactAt: 11_000 },
      env: { ...ENV[wire], SHIRO_BASE_URL: server.url },
    });
    const compactions: number[] = [];
    for (let turn = 0; turn < turns; turn++) {
      const events = await stage.say(promptOf(turn));
      expect(events.at(-1)).toMatchObject({ type: "done", reason: "completed" });
      if (events.some((event) => event.type === "compacted")) compactions.push(turn);
    }
    await stage.setup.close();
    await server.close();
    expect(server.faults).toEqual([]);
    expect(stage.messages()).toHaveLength(turns * 4);
    const summaries = server.requests.filter(isSummary);
    expect(summaries.length).toBeGreaterThanOrEqual(3);
    expect(summaries[0]?.text).toContain("listens on 48213");
    const last = server.requests.at(-1)?.text ?? "";
    for (const kept of [DECISION, RULE, "48213"]) expect(last).toContain(kept);
    const main = server.requests.filter((request) => !isSummary(request)).map(headAndMessages);
    const changed = main.slice(1).filter((request, index) => {
      const before = main[index];
      return before?.messages.some((message, at) => message !== request.messages[at]);
    });
    expect(new Set(main.map((request) => request.head)).size).toBe(1);
    expect(changed.length).toBe(compactions.length);
    expect(compactions.length).toBeLessThan(turns / 4);
  }, 20_000);
});

/** A provider that answers each request by what it holds; requests are kept. */
function thinking(answer: (request: ModelRequest, index: number) => ModelEvent[] | Error) {
  const requests: ModelRequest[] = [];
  const provider: Provider = {
    origin: (model) => `test|local|${model}`,
    async *stream(request) {
      requests.push({ ...request, messages: [...request.messages] });
      const given = answer(request, requests.length - 1);
      if (given instanceof Error) throw given;
      yield* given;
    },
  };
  return { provider, requests };
}

const says = (text: string): ModelEvent[] => [
  { type: "text", text },
  { type: "part", part: { type: "text", text } },
  { type: "stop", reason: "end" },
];
const callsFor = (...calls: { id: string; name: string; input: JsonObject }[]): ModelEvent[] => [
  ...calls.map((call): ModelEvent => ({ type: "part", part: { type: "tool-call", ...call } })),
  { type: "stop", reason: "tool" },
];
const summarises = (request: ModelRequest): boolean => request.tools.length === 0;
const textOf = (messages: readonly Message[]): string => JSON.stringify(messages);
const compacted = (events: readonly AgentEvent[]) => events.filter((event) => event.type === "compacted");

describe("compaction", () => {
  test("inside one long turn keeps pairs whole, reports true counts once, and shows the task list at once", async () => {
    const words = "rename A to B in all files, do not touch C";
    let step = 0;
    const { provider, requests } = thinking((request) => {
      if (summarises(request)) return says("Going well.");
      const at = step++;
      if (at === 0)
        return callsFor({
          id: "todo",
          name: "todo_write",
          input: { todos: [{ content: "rename everything", status: "in_progress" }] },
        });
      if (at === 1) return callsFor({ id: "bad", name: "read_file", input: { path: "secret-plan.txt" } });
      if (at === 2) return callsFor({ id: "w", name: "write_file", input: { path: "renamed.ts", content: "B" } });
      if (at > 24) return says("done");
      return callsFor(
        { id: `c${at}`, name: "read_file", input: { path: `f${at % 10}.txt` } },
        { id: `d${at}`, name: "bash", input: { command: `echo ${at}` } },
      );
    });
    const stage = await openStage({ provider, files: FILES, config: { compactAt: 9_000 } });
    const events = await stage.say(words);
    expect(events.at(-1)).toMatchObject({ type: "done", reason: "completed" });
    expect(compacted(events)).toHaveLength(1);
    const main = requests.filter((request) => !summarises(request));
    for (const request of main.slice(3)) {
      const sent = textOf(request.messages);
      for (const kept of [words, "rename everything", "secret-plan.txt", "renamed.ts"]) expect(sent).toContain(kept);
    }
    expect(requests.some(summarises)).toBe(true);
    for (const request of main) {
      const open = new Set<string>();
      for (const message of request.messages) {
        if (message.role === "tool")
          for (const result of message.results) expect(open.delete(result.callId)).toBe(true);
        else expect(open.size).toBe(0);
        if (message.role === "assistant")
          for (const part of message.content) if (part.type === "tool-call") open.add(part.id);
      }
      expect(open.size).toBe(0);
    }
  });

  test("reports as many messages as were and are sent", async () => {
    const script = Array.from({ length: 40 }, (_, index) => ({
      text: `answer ${index} ${"x".repeat(2_000)}`,
      usage: { inputTokens: 1_000_000 },
    }));
    const provider = scriptedProvider(script);
    const stage = await openStage({ provider, config: { compactAt: 9_000 } });
    for (let turn = 0; turn < 30; turn++) {
      const before = provider.requests.findLast((request) => request.tools.length > 0);
      const events = await stage.say(`prompt ${turn}`);
      const [event] = compacted(events);
      if (!event) continue;
      const now = provider.requests.at(-1);
      // Since the last request came its answer and the new prompt.
      expect(event).toEqual({
        type: "compacted",
        before: (before?.messages.length ?? 0) + 2,
        after: now?.messages.length ?? 0,
      });
      // The summary's tokens are in what the turn says it took.
      expect(events.at(-1)).toMatchObject({ type: "done", steps: 1, outputTokens: 10 });
      return;
    }
    throw new Error("nothing was compacted");
  });

  test("follows a refusal for length once, and the same request is not sent a third time", async () => {
    const tooLong = new ProviderError("prompt is too long: 300000 tokens > 200000", { kind: "context", status: 400 });
    let refusing = false;
    const { provider, requests } = thinking((request) => {
      if (summarises(request)) return says("Short now.");
      if (refusing && requests.filter((one) => !summarises(one)).length < 9) return ((refusing = false), tooLong);
      return says(`fine ${"y".repeat(4_000)}`);
    });
    const stage = await openStage({ provider, config: { compactAt: "off" } });
    for (let turn = 0; turn < 6; turn++) await stage.say(`prompt ${turn}`);
    refusing = true;
    const events = await stage.say("one more");
    expect([compacted(events).length, events.at(-1)]).toMatchObject([1, { type: "done", reason: "completed" }]);
    const always = thinking((request) => (summarises(request) ? says("Short.") : tooLong));
    stage.setup.session.setChoice({ ...stage.setup.session.choice, provider: always.provider });
    const failed = await stage.say("and again");
    expect(failed.at(-1)).toMatchObject({ type: "done", reason: "error" });
    expect(always.requests.filter((request) => !summarises(request))).toHaveLength(2);
  });

  test("puts a digest in place of a summary that fails, and keeps what was decided", async () => {
    const { provider, requests } = thinking((request) =>
      summarises(request) ? new ProviderError("down", { kind: "server" }) : says(`ok ${"z".repeat(3_000)}`),
    );
    const stage = await openStage({ provider, config: { compactAt: 9_000 } });
    await stage.say(`${NUMBER} ${RULE}`);
    for (let turn = 1; turn < 40; turn++) await stage.say(`prompt ${turn}`);
    expect(requests.filter(summarises).length).toBeGreaterThanOrEqual(3);
    const last = textOf(requests.at(-1)?.messages ?? []);
    for (const kept of ["48213", "src/legacy", "prompt 39"]) expect(last).toContain(kept);
  });

  test("is resumed as it was: the next request begins with the bytes of the last", async () => {
    const { provider, requests } = thinking((request) =>
      summarises(request) ? says("So far so good.") : says(`ok ${"z".repeat(3_000)}`),
    );
    const stage = await openStage({ provider, config: { compactAt: 9_000 } });
    for (let turn = 0; turn < 12; turn++) await stage.say(`prompt ${turn}`);
    const before = requests.findLast((request) => !summarises(request))?.messages ?? [];
    await stage.resume({ kill: true });
    await stage.say("go on");
    const after = requests.at(-1)?.messages ?? [];
    expect(textOf(after.slice(0, before.length))).toBe(textOf(before));
  });
});

test("a summary that takes the last of the budget is followed by no request", async () => {
  const usage = {
    inputTokens: 1_000_000,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  };
  const { provider, requests } = thinking((request) =>
    summarises(request) ? [{ type: "usage", usage }, ...says("dear")] : says(`ok ${"z".repeat(6_000)}`),
  );
  const stage = await openStage({ provider, config: { compactAt: 9_000, maxTokens: 500_000 } });
  let events: AgentEvent[] = [];
  for (let turn = 0; turn < 12 && !requests.some(summarises); turn++) events = await stage.say(`prompt ${turn}`);
  expect(events.at(-1)).toMatchObject({ type: "done", reason: "ceiling", exit: 6, inputTokens: 1_000_000 });
  expect(requests.findIndex(summarises)).toBe(requests.length - 1);
});

test("an abort during the summary ends the turn and leaves the history as it was", async () => {
  const controller = new AbortController();
  const { provider } = thinking((request) => {
    if (!summarises(request)) return says(`ok ${"z".repeat(6_000)}`);
    controller.abort(new DOMException("stop", "AbortError"));
    return controller.signal.reason instanceof Error ? controller.signal.reason : says("never");
  });
  const stage = await openStage({ provider, config: { compactAt: 9_000 } });
  let events: AgentEvent[] = [];
  for (let turn = 0; turn < 12 && !controller.signal.aborted; turn++) {
    events = await collect(stage.setup.session.send(`prompt ${turn}`, null, controller.signal));
  }
  expect(events.at(-1)).toMatchObject({ type: "done", reason: "interrupted" });
  expect(stage.setup.session.parts.file.record.views).toEqual([]);
});

test("a session that changes its model every turn is legal on each wire, through compactions", async () => {
  const wires: Wire[] = ["chat", "responses", "anthropic"];
  let turn = 0;
  const answers = (request: Received): Reply => {
    const usage = { input: Math.ceil(request.text.length / 4), output: 20 };
    if (isSummary(request)) return { text: "All is well so far.", usage };
    const input = { path: `f${turn % 10}.txt` };
    const last = headAndMessages(request).messages.at(-1) ?? "";
    const answered = last.includes(`line of file ${turn % 10}`) || last.includes("removed to save");
    if (answered) return { reasoning: `done ${turn}`, text: `part ${turn} is done`, usage };
    return { reasoning: `thought ${turn}`, calls: [{ id: `call_turn${turn}`, name: "read_file", input }], usage };
  };
  const servers = await Promise.all(wires.map(() => startModelServer(answers)));
  const stage = await openStage({ files: FILES, config: { compactAt: 11_000 } });
  const { session } = stage.setup;
  let compactions = 0;
  for (; turn < 24; turn++) {
    const wire = wires[turn % 3] ?? "chat";
    const at = endpoint(servers[turn % 3]?.url ?? "", wire === "anthropic" ? "anthropic" : "openai", {
      forcedWire: wire === "anthropic" ? null : wire,
    });
    session.setChoice(stage.setup.choose(at, wire === "anthropic" ? "claude-sonnet-5-5" : "test-model"));
    const events = await stage.say(`part ${turn}, please`);
    expect(events.at(-1)).toMatchObject({ type: "done", reason: "completed" });
    compactions += compacted(events).length;
  }
  for (const server of servers) await server.close();
  expect(servers.flatMap((server) => server.faults)).toEqual([]);
  expect(servers.every((server) => server.requests.length >= 16)).toBe(true);
  expect(compactions).toBeGreaterThan(0);
});
