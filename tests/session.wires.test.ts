/** Whole sessions against servers that refuse what the real ones refuse: whatever happens in between, no request may break a rule. */
import { afterAll, expect, test } from "bun:test";
import { factsFor } from "../src/models.ts";
import type { Provider } from "../src/provider.ts";
import { RepairMemory } from "../src/provider-repair.ts";
import { openProvider } from "../src/providers.ts";
import type { AskUser } from "../src/session-parts.ts";
import { endpoint } from "./support/model-kit.ts";
import { type ModelServer, type Reply, startModelServer } from "./support/model-server.ts";
import { rounds } from "./support/rounds.ts";
import { clearStages, openStage, type Stage } from "./support/state-stage.ts";
import { seeded } from "./support/transcripts.ts";

afterAll(clearStages);

// Models with bound thinking, with a budget, with encrypted reasoning, with reasoning in a field, and without any.
const CHOICES = [
  { wire: "anthropic", model: "claude-opus-5-5" },
  { wire: "anthropic", model: "claude-haiku-4-5" },
  { wire: "responses", model: "gpt-5.6" },
  { wire: "chat", model: "gpt-5.6" },
  { wire: "chat", model: "deepseek-v4-pro" },
  { wire: "chat", model: "gpt-4o" },
] as const;

const CALLS = [
  { name: "read_file", input: { path: "a.txt" } },
  { name: "read_file", input: { path: "nowhere.txt" } },
  { name: "read_file", input: {} },
  { name: "no_such_tool", input: { x: "y" } },
  { name: "bash", input: { command: "printf '\\360\\237\\221'" } },
  { name: "bash", input: { command: "true" } },
  { name: "write_file", input: { path: "b.txt", content: "text" } },
  { name: "todo_write", input: { todos: [{ content: "one", status: "in_progress" }] } },
];

/** Of each seed, at the same time. */
const LIVES = Array.from({ length: rounds(1, 3) }, (_, index) => index);
const STEPS = rounds(10, 14);
/** Seeds whose first life runs its commands in the sandbox. */
const SANDBOXED = rounds(2, 6);

type Random = () => number;
const pick = <T>(random: Random, list: readonly [T, ...T[]] | readonly T[]): T => {
  const chosen = list[Math.floor(random() * list.length)];
  if (chosen === undefined) throw new Error("nothing to pick from");
  return chosen;
};

/** An answer as models and networks give them. */
function anyReply(random: Random): Reply {
  const what = random();
  if (what < 0.04) return { status: pick(random, [429, 500, 529]), json: { error: { message: "busy" } } };
  if (what < 0.08) return { text: "an answer that is cut somewhere ".repeat(5), cut: Math.floor(random() * 1200) + 1 };
  if (what < 0.1) return { text: "an answer that stops ".repeat(5), hang: "stream" };
  if (what < 0.13) return { text: pick(random, ["", "\n\n", " "]) };
  const calls = Array.from({ length: Math.floor(random() * 3) }, () => pick(random, CALLS));
  return {
    ...(random() < 0.6 && { reasoning: pick(random, ["I think", " ", "so"]) }),
    ...(random() < 0.2 && { redacted: `enc${Math.floor(random() * 1e6)}` }),
    ...((calls.length === 0 || random() < 0.5) && { text: pick(random, ["done", "\n\nok", "half"]) }),
    ...(calls.length > 0 && { calls }),
    ...(random() < 0.05 && { stop: "length" }),
    usage: { input: 50 + Math.floor(random() * 5000), output: 5 },
  };
}

function choose(stage: Stage, server: ModelServer, random: Random): void {
  const { wire, model } = pick(random, CHOICES);
  const at = endpoint(server.url, wire === "anthropic" ? "anthropic" : "openai", {
    timeoutMs: 150,
    forcedWire: wire === "anthropic" ? null : wire,
  });
  const provider: Provider = openProvider(at, {
    env: {},
    maxRetries: 1,
    factsFor,
    memory: new RepairMemory(),
    sleep: async () => undefined,
  });
  const facts = factsFor(model, "custom");
  stage.setup.session.setChoice({ provider, presetId: "custom", model, facts, price: () => null });
}

/** A turn, ended by an abort after some events now and then. */
async function turn(stage: Stage, prompt: string, random: Random): Promise<void> {
  const controller = new AbortController();
  const ask: AskUser = async () => (random() < 0.4 ? { decision: "deny", message: "no" } : { decision: "once" });
  let left = random() < 0.25 ? Math.floor(random() * 12) : Number.POSITIVE_INFINITY;
  for await (const event of stage.setup.session.send(prompt, ask, controller.signal)) {
    if (left-- <= 0) controller.abort();
    if (event.type === "done") expect(event.reason).not.toBe("schema");
  }
}

/** The sandbox around commands has no part in requests, and costs most of a life. */
async function live(seed: number, sandboxed: boolean): Promise<{ faults: string[]; requests: number }> {
  const random = seeded(seed);
  const server = await startModelServer(() => anyReply(random));
  const stage = await openStage({
    args: [],
    files: { "a.txt": "text\n" },
    config: { maxSteps: 6, compactAt: pick(random, [3000, 100_000]), sandbox: sandboxed ? "on" : "off" },
  });
  choose(stage, server, random);
  for (let step = 0; step < STEPS; step++) {
    const what = random();
    if (what < 0.15) choose(stage, server, random);
    else if (what < 0.22) await stage.setup.session.compact(null, new AbortController().signal);
    else if (what < 0.35) {
      const { choice } = stage.setup.session;
      await stage.resume({ kill: random() < 0.5, args: ["-c"] });
      stage.setup.session.setChoice(choice);
    } else await turn(stage, pick(random, ["go on", "continue", "what now? \ud83d", " "]), random);
  }
  await stage.setup.close();
  await server.close();
  return { faults: server.faults, requests: server.requests.length };
}

test.each([1, 2, 3, 4, 5, 6])(
  "sessions with interruptions, denials, switches of the model, compactions and resumes are never refused (%d)",
  async (seed) => {
    const runs = await Promise.all(LIVES.map((more) => live(seed * 10 + more, more === 0 && seed <= SANDBOXED)));
    expect(runs.flatMap((run) => run.faults)).toEqual([]);
    expect(Math.min(...runs.map((run) => run.requests))).toBeGreaterThan(3);
  },
  20_000,
);
