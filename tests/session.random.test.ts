/** Random lives of a session: prompts, aborts, kills, undo, compaction, failing models. Every request must be legal on every wire, and only ever grow. */
import { afterAll, expect, test } from "bun:test";
import { ProviderError, TurnAbort } from "../src/errors.ts";
import type { ModelRequest, Provider } from "../src/provider.ts";
import type { AgentEvent, Message, ModelEvent } from "../src/types.ts";
import { rounds } from "./support/rounds.ts";
import { clearStages, openStage, type Stage } from "./support/state-stage.ts";
import { seeded } from "./support/transcripts.ts";
import { brokenRule } from "./support/wire-rules.ts";

afterAll(clearStages);

const SESSIONS = Number(process.env.SHIRO_TEST_SESSIONS ?? rounds(3, 5));
const ACTIONS = 30;

const summarises = (request: ModelRequest): boolean => request.tools.length === 0;

/** A model that does anything a real one has been seen to do. */
class Whimsical {
  /** Each with what compaction had decided by then. */
  readonly requests: { request: ModelRequest; decided: string }[] = [];
  decided = (): string => "";
  #random: () => number;
  #count = 0;
  #refused = false;

  constructor(random: () => number) {
    this.#random = random;
  }

  get provider(): Provider {
    return { origin: (model) => `test|local|${model}`, stream: (request) => this.#stream(request) };
  }

  async *#stream(request: ModelRequest): AsyncGenerator<ModelEvent> {
    const kept = { ...request, messages: structuredClone([...request.messages]) };
    this.requests.push({ request: kept, decided: this.decided() });
    const luck = this.#random();
    if (summarises(request)) {
      if (luck < 0.3) throw new ProviderError("no summary today", { kind: "server" });
      yield { type: "text", text: luck < 0.4 ? "  " : "What happened so far." };
      return;
    }
    // Twice in a row it would be the end of the turn for another reason than the one of interest.
    if (luck < 0.05 && !this.#refused) {
      this.#refused = true;
      throw new ProviderError("prompt is too long", { kind: "context", status: 400 });
    }
    this.#refused = false;
    if (luck < 0.1) throw new ProviderError("overloaded", { kind: "server", status: 503 });
    yield* this.#answer();
  }

  *#answer(): Generator<ModelEvent> {
    const luck = this.#random();
    if (this.#random() < 0.4) yield this.#part({ type: "reasoning", text: "hm" });
    if (luck < 0.06) return yield { type: "stop", reason: "end" };
    if (luck < 0.4) {
      const text = luck < 0.09 ? " \n" : `said ${this.#count++} ${"word ".repeat(Math.floor(this.#random() * 400))}`;
      yield { type: "text", text };
      if (luck < 0.14) throw new ProviderError("connection lost", { kind: "network" });
      yield this.#part({ type: "text", text });
      return yield { type: "stop", reason: luck < 0.18 ? "length" : "end" };
    }
    for (let calls = 1 + Math.floor(this.#random() * 3); calls > 0; calls--) yield this.#call();
    yield { type: "stop", reason: "tool" };
  }

  #call(): ModelEvent {
    const number = this.#count++;
    const id = this.#random() < 0.1 ? "call_0" : `call_${number}`;
    const inputs: [string, Record<string, unknown>][] = [
      ["read_file", { path: `f${number % 3}.txt` }],
      ["write_file", { path: `w${number}.txt`, content: "x" }],
      ["todo_write", { todos: [{ content: `task ${number}`, status: "in_progress" }] }],
      ["read_file", { path: "missing.txt" }],
      ["no_such_tool", {}],
      ["read_file", {}],
    ];
    const [name, input] = inputs[Math.floor(this.#random() * inputs.length)] ?? ["read_file", {}];
    return this.#part({ type: "tool-call", id, name, input: JSON.parse(JSON.stringify(input)) });
  }

  #part(part: Extract<ModelEvent, { type: "part" }>["part"]): ModelEvent {
    return { type: "part", part };
  }
}

/** One turn, ended after some events by an abort, a kill, or by itself. */
async function turn(stage: Stage, random: () => number): Promise<void> {
  const controller = new AbortController();
  const fate = random();
  const end = Math.floor(random() * 25);
  const prompt = random() < 0.25 ? "continue" : `prompt ${Math.floor(random() * 1e6)}`;
  const events: AgentEvent[] = [];
  for await (const event of stage.setup.session.send(prompt, null, controller.signal)) {
    events.push(event);
    if (events.length < end) continue;
    if (fate < 0.2) controller.abort(new TurnAbort());
    if (fate > 0.85) return stage.resume({ kill: true });
  }
  expect(events.filter((event) => event.type === "done")).toHaveLength(1);
}

async function act(stage: Stage, random: () => number): Promise<"said" | "changed"> {
  const luck = random();
  const { session } = stage.setup;
  if (luck < 0.7) return await turn(stage, random).then(() => "said");
  if (luck < 0.78) return await stage.resume().then(() => "said");
  if (luck < 0.88) session.chatUndo.undo();
  else if (luck < 0.94) session.chatUndo.redo();
  else if (stage.messages().length > 0) await session.compact(null, new AbortController().signal);
  return "changed";
}

/** Messages up to the last answer: what must come again at the head of the next request. */
function settled(messages: readonly Message[]): string[] {
  const last = messages.findLastIndex((message) => message.role === "assistant");
  return messages.slice(0, last + 1).map((message) => JSON.stringify(message));
}

test.each(Array.from({ length: SESSIONS }, (_, index) => 1_000 + index))("seed %d", async (seed) => {
  const random = seeded(seed);
  const model = new Whimsical(random);
  const files = { "f0.txt": "zero\n".repeat(300), "f1.txt": "one\n".repeat(300), "f2.txt": "two\n" };
  const stage = await openStage({ provider: model.provider, files, config: { compactAt: 8_000 } });
  model.decided = () => JSON.stringify(stage.setup.session.parts.file.record.views);
  const last: { sent: { messages: string[]; decided: string } | null } = { sent: null };
  let seen = 0;
  for (let action = 0; action < ACTIONS; action++) {
    if ((await act(stage, random)) === "changed") last.sent = null;
    for (const { request, decided } of model.requests.slice(seen)) {
      expect(brokenRule(request.messages)).toBeNull();
      if (summarises(request)) continue;
      const now = request.messages.map((message) => JSON.stringify(message));
      const { sent } = last;
      if (sent?.decided === decided) expect(now.slice(0, sent.messages.length)).toEqual(sent.messages);
      last.sent = { messages: settled(request.messages), decided };
    }
    seen = model.requests.length;
  }
  await stage.setup.close();
  expect(stage.notices.filter((notice) => notice.message.includes("damaged"))).toEqual([]);
});
