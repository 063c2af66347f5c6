/** Compaction of the wire view: what each rung takes, what stays, and that requests in between only grow. */
import { describe, expect, test } from "bun:test";
import { compactView, type CompactOptions } from "../src/prune-ladder.ts";
import { extendView, openView, stateFor, wireMessages, WHOLE_VIEW, type WireView } from "../src/prune-view.ts";
import { TokenMeter } from "../src/tokens.ts";
import type { AssistantPart, Message } from "../src/types.ts";
import { agent, call, healthyTranscript, result, results, seeded, thought, user } from "./support/transcripts.ts";
import { brokenRule } from "./support/wire-rules.ts";

const meter = new TokenMeter();
const cost = (view: WireView) => wireMessages(view).reduce((sum, message) => sum + meter.message(message), 0);

function options(targetTokens: number, more: Partial<CompactOptions> = {}): CompactOptions {
  const summarise = async (span: Message[]) => `summary of ${span.length} messages`;
  return { targetTokens, fixedTokens: 0, estimate: meter.message, summarise, bindsThinking: false, ...more };
}

/** One turn of `steps` reads whose results have the given size. */
function turn(name: string, steps: number, size: number): Message[] {
  const messages: Message[] = [user(`please ${name}`)];
  for (let step = 0; step < steps; step++) {
    const id = `${name}-${step}`;
    messages.push(agent(thought(id), call(id)), results(result(id, `${id} `.padEnd(size, "x"))));
  }
  messages.push(agent(thought(`${name}-end`), `did ${name}`));
  return messages;
}

const text = (messages: readonly Message[]) => JSON.stringify(messages);

describe("the rungs", () => {
  test("the first takes the reasoning of finished turns and nothing else when that is enough", async () => {
    const source = [...turn("one", 2, 100), user("two"), agent(thought("now"), call("n")), results("n")];
    const view = openView(source);
    const done = await compactView(view, options(cost(view) - 5));
    const kept = wireMessages(done.view);
    expect(done).toMatchObject({ changed: true, summary: null, before: source.length, after: source.length });
    expect(text(kept)).not.toContain('one-end"');
    expect(text(kept)).toContain('"text":"now"');
    expect(text(kept)).toContain("one-0 xxx");
  });

  test("reasoning of the turn in progress stays with its signature, unless the model binds it to all before", async () => {
    const source = [...turn("one", 3, 4_000), user("two"), agent(thought("now"), call("n")), results("n")];
    const free = await compactView(openView(source), options(2_000));
    const bound = await compactView(openView(source), options(2_000, { bindsThinking: true }));
    expect(text(wireMessages(free.view))).toContain("sig-now");
    expect(text(wireMessages(bound.view))).not.toContain("reasoning");
  });

  test("a message without its reasoning item loses the item id, so that its content goes inline", async () => {
    const origin = "openai|api.example.test|m";
    const answer: AssistantPart = {
      type: "text",
      text: "the answer",
      meta: { origin, data: { id: "msg_1", phase: "final" } },
    };
    const item: AssistantPart = {
      type: "reasoning",
      text: "",
      meta: { origin, data: { id: "rs_1", encrypted: "e".repeat(900) } },
    };
    const source = [user("q"), agent(item, answer), user("next")];
    const done = await compactView(openView(source), options(1));
    const kept = wireMessages(openView(source, { ...WHOLE_VIEW, reasoningBefore: 2 }));
    expect(kept[1]).toEqual(agent({ ...answer, meta: { origin, data: { phase: "final" } } }));
    expect(text(wireMessages(done.view))).not.toContain("rs_1");
    expect(text(wireMessages(done.view))).not.toContain("msg_1");
  });

  test("the second replaces the largest results by a line that says how to have them again", async () => {
    const source = [...turn("one", 6, 400), ...turn("big", 1, 20_000), ...turn("last", 3, 40), user("go on")];
    const view = openView(source);
    const done = await compactView(view, options(cost(view) - 4_000));
    const kept = text(wireMessages(done.view));
    expect(kept).not.toContain("big-0 xxx");
    expect(kept).toContain('result of read_file {\\"path\\":\\"big-0.ts\\"}, 20000 characters');
    expect(kept).toContain("one-0 xxx");
    expect(done.summary).toBeNull();
  });

  test("results of the newest steps are never replaced", async () => {
    const source = turn("one", 8, 6_000).slice(0, -1);
    const done = await compactView(openView(source), options(6_000));
    const kept = text(wireMessages(done.view));
    for (const step of [5, 6, 7]) expect(kept).toContain(`one-${step} xxx`);
    expect(kept).not.toContain("one-0 xxx");
  });

  test("the third summarises whole turns, oldest first", async () => {
    const source = Array.from({ length: 30 }, (_, index) => turn(`t${index}`, 2, 30)).flat();
    const spans: Message[][] = [];
    const summarise = async (span: Message[]) => {
      spans.push(span);
      return "what was done";
    };
    const done = await compactView(openView(source), options(1_600, { summarise }));
    const kept = wireMessages(done.view);
    expect(done).toMatchObject({ changed: true, summary: "model" });
    expect(spans).toEqual([source.slice(0, done.view.state.dropped)]);
    expect(source[done.view.state.dropped]?.role).toBe("user");
    expect(kept[0]).toMatchObject({ role: "user" });
    expect(text(kept.slice(0, 1))).toContain("what was done");
    expect(cost(done.view)).toBeLessThanOrEqual(1_600);
    expect(brokenRule(kept)).toBeNull();
  });

  test("a single turn that is too long is cut between steps, and its prompt stays word for word", async () => {
    const prompt = user("rename A to B in all files, do not touch C");
    const source = [prompt, ...turn("work", 60, 300).slice(1, -1)];
    const done = await compactView(openView(source), options(6_000));
    const kept = wireMessages(done.view);
    expect(text(kept.slice(0, 1))).toContain("rename A to B in all files, do not touch C");
    expect(source[done.view.state.dropped]?.role).toBe("assistant");
    expect(cost(done.view)).toBeLessThanOrEqual(6_000);
    expect(brokenRule(kept)).toBeNull();
  });

  test("a call of which nobody knows what it did is told of under the smallest summary too", async () => {
    const open = { ...result("t1", "the program ended"), isError: true, outcomeUnknown: true as const };
    const source = [
      user("a".repeat(6_000)),
      agent(call("t1", "bash", { command: "deploy --now" })),
      { role: "tool" as const, results: [open] },
      ...Array.from({ length: 6 }, (_, at) => [agent(call(`n${at}`)), results(`n${at}`)]).flat(),
      user("go on"),
    ];
    const done = await compactView(openView(source), options(300));
    const kept = text(wireMessages(done.view).slice(0, 1));
    expect(kept).toMatch(/outcome unknown[^]*deploy --now/);
  });

  test("calls that failed or were refused and files written are in what takes the span's place", async () => {
    const source = [
      user("write it"),
      agent(call("w", "write_file", { path: "src/new.ts", content: "x" })),
      results(result("w", "written", "write_file")),
      agent(call("d", "bash", { command: "npm publish" })),
      results(result("d", "[permission error] denied by the user", "bash", true)),
      ...turn("more", 40, 200),
      ...turn("last", 2, 200),
    ];
    const done = await compactView(openView(source), options(2_500));
    const first = text(wireMessages(done.view).slice(0, 1));
    expect(first).toContain("src/new.ts");
    expect(first).toContain("npm publish");
    expect(first).toContain("denied by the user");
  });

  test("a call whose result is still to come is kept whole", async () => {
    const source = [...turn("one", 20, 500), user("two"), agent(call("p1"), call("p2")), results("p1")];
    const done = await compactView(openView(source), options(1_200));
    extendView(done.view, [agent("never sent")]);
    expect(text(wireMessages(done.view))).toContain('"id":"p2"');
    expect(brokenRule(wireMessages(done.view))).toBeNull();
  });

  test("nothing to shorten is said, and the view is the same one", async () => {
    const view = openView([user("x".repeat(90_000))]);
    const done = await compactView(view, options(100));
    expect(done).toMatchObject({ changed: false, before: 1, after: 1 });
    expect(done.view).toBe(view);
  });
});

describe("the summary", () => {
  const long = () => Array.from({ length: 12 }, (_, index) => turn(`t${index}`, 3, 300)).flat();

  test.each([
    ["fails", async () => Promise.reject(new Error("503"))],
    ["is blank", async () => "  \n"],
  ])("a call that %s leads to the digest, never to nothing", async (_, summarise) => {
    const done = await compactView(openView(long()), options(3_000, { summarise }));
    expect(done.summary).toBe("digest");
    expect(text(wireMessages(done.view).slice(0, 1))).toContain("please t0");
  });

  test("an abort while summarising ends the compaction", async () => {
    const summarise = async () => Promise.reject(new DOMException("stopped", "AbortError"));
    await expect(compactView(openView(long()), options(3_000, { summarise }))).rejects.toThrow("stopped");
  });

  test("the earlier summary is handed over to be merged, and only the new span with it", async () => {
    const asked: { span: number; earlier: string | null }[] = [];
    const summarise = async (span: Message[], earlier: string | null) => {
      asked.push({ span: span.length, earlier });
      return `summary ${asked.length}`;
    };
    let view = (await compactView(openView(long()), options(3_000, { summarise }))).view;
    const firstCut = view.state.dropped;
    view = extendView(view, long());
    view = (await compactView(view, options(3_000, { summarise }))).view;
    expect(asked).toEqual([
      { span: firstCut, earlier: null },
      { span: view.state.dropped - firstCut, earlier: "summary 1" },
    ]);
    const first = text(wireMessages(view).slice(0, 1));
    expect(first).toContain("summary 2");
    expect(first).not.toContain("summary 1");
  });

  test("ten compactions don't let it grow", async () => {
    const summarise = async (_: Message[], earlier: string | null) => `${earlier ?? ""}\n${"more words ".repeat(400)}`;
    let view = openView([]);
    const sizes: number[] = [];
    for (let round = 0; round < 10; round++) {
      view = (await compactView(extendView(view, long()), options(3_000, { summarise }))).view;
      sizes.push(meter.message(view.messages[0] ?? user("")));
    }
    expect(Math.max(...sizes)).toBeLessThan(3_500);
  });
});

describe("the view", () => {
  test("between compactions each request begins with the one before, byte for byte", async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const source = healthyTranscript(seeded(seed), 40);
      let view = openView([]);
      let sent = "";
      let compactions = 0;
      for (const [index, message] of source.entries()) {
        view = extendView(view, [message]);
        if (source[index + 1]?.role !== "assistant") continue;
        if (cost(view) > 12_000) {
          view = (await compactView(view, options(6_000))).view;
          compactions++;
          sent = "";
        }
        const request = wireMessages(view)
          .map((item) => JSON.stringify(item))
          .join("\n");
        expect(request.startsWith(sent)).toBe(true);
        expect(brokenRule(wireMessages(view))).toBeNull();
        sent = request;
      }
      expect(compactions).toBeGreaterThan(0);
      expect(compactions).toBeLessThan(12);
    }
  });

  test("the same transcript and state give the same bytes again after a resume", async () => {
    const source = healthyTranscript(seeded(11), 30);
    const { view } = await compactView(openView(source), options(4_000));
    const later = extendView(view, [user("one more"), agent("yes")]);
    const resumed = openView(later.source, JSON.parse(JSON.stringify(view.state)));
    expect(text(wireMessages(resumed))).toBe(text(wireMessages(later)));
  });

  test("random transcripts stay legal after any compaction and after the next", async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const random = seeded(seed);
      const summarise = random() < 0.5 ? async () => "s" : async () => Promise.reject(new Error("down"));
      const more = { summarise, bindsThinking: random() < 0.5 };
      let view = openView(healthyTranscript(random, 12));
      for (let round = 0; round < 2; round++) {
        view = (await compactView(view, options(200 + random() * 6_000, more))).view;
        expect({ seed, broken: brokenRule(wireMessages(view)) }).toEqual({ seed, broken: null });
        view = extendView(view, [user("on"), ...turn(`r${seed}-${round}`, 2, 900)]);
      }
    }
  });

  test("a result that came after the decision is whole, also where its call's id was used before", () => {
    const source = [user("go"), agent(call("c")), results(result("c", "old")), agent("ok"), user("again")];
    const state = { ...WHOLE_VIEW, elided: ["c"], sourceCount: source.length };
    const later = [agent(call("c")), results(result("c", "new"))];
    const extended = wireMessages(extendView(openView(source, state), later));
    const reopened = wireMessages(openView([...source, ...later], state));
    expect(reopened).toEqual(extended);
    expect([text(reopened).includes("old"), text(reopened).includes("new")]).toEqual([false, true]);
  });

  test("a shortened transcript goes back to the newest state that still fits", () => {
    const states = [
      { ...WHOLE_VIEW, dropped: 4, sourceCount: 10 },
      { ...WHOLE_VIEW, dropped: 12, sourceCount: 20 },
    ];
    expect(stateFor(states, 13)).toBe(states[1] ?? WHOLE_VIEW);
    expect(stateFor(states, 12)).toBe(states[0] ?? WHOLE_VIEW);
    expect(stateFor(states, 4)).toBe(WHOLE_VIEW);
  });

  test("the summary of a span never follows a change in the transcript that it stands for", async () => {
    const source = healthyTranscript(seeded(3), 20);
    const copy = structuredClone(source);
    await compactView(openView(source), options(500));
    expect(source).toEqual(copy);
  });
});
