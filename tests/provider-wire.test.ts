/** Bodies built from random histories: legal on every wire, and each one the beginning of the next. */
import { HistoryItems, bodyText } from "../src/provider-history.ts";
import { describe, expect, test } from "bun:test";
import { factsFor } from "../src/models.ts";
import { anthropicWire } from "../src/provider-anthropic.ts";
import { chatWire } from "../src/provider-chat.ts";
import { limitsFor } from "../src/provider-client.ts";
import { isObject } from "../src/provider-errors.ts";
import { responsesWire } from "../src/provider-responses.ts";
import { anthropicBase, isLocalHost, openaiBase, withV1 } from "../src/provider-url.ts";
import type { WireContext } from "../src/provider-wire.ts";
import type { AssistantPart, Json, JsonObject, Message, UserPart } from "../src/types.ts";
import { growth } from "./support/growth.ts";
import { endpoint, request } from "./support/model-kit.ts";
import { anthropicFault } from "./support/strict-anthropic.ts";
import { newMemory } from "./support/strict-body.ts";
import { chatFault } from "./support/strict-chat.ts";
import { responsesFault } from "./support/strict-responses.ts";

const WIRES = {
  chat: { wire: chatWire, fault: chatFault },
  responses: { wire: responsesWire, fault: responsesFault },
  anthropic: { wire: anthropicWire, fault: anthropicFault },
} as const;
const names: (keyof typeof WIRES)[] = ["chat", "responses", "anthropic"];

/** Seeded choices: a number below `count`. */
function chooser(seed: number): (count: number) => number {
  let state = seed * 7919 + 1;
  return (count) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % count;
  };
}

const TEXTS = ["hello", " ", "\n\n", "", "a\ud83d", "x\0y", "ünï 👍", "  padded  "];

/** A history as a loop leaves it: calls answered, but blank, foreign, interrupted and doubled in places. */
function randomHistory(seed: number, length: number): Message[] {
  const pick = chooser(seed);
  const text = (): UserPart => ({ type: "text", text: TEXTS[pick(TEXTS.length)] ?? "" });
  const history: Message[] = [];
  let calls = 0;
  while (history.length < length) {
    const kind = pick(5);
    if (kind === 0)
      history.push({
        role: "user",
        content: [text(), ...(pick(3) === 0 ? [{ type: "image" as const, mediaType: "image/png", data: "QUJD" }] : [])],
      });
    else if (kind <= 2)
      history.push({
        role: "assistant",
        content: [reasoning(), text()].filter(isAssistantPart),
        stop: "end",
        origin: "o",
      });
    else history.push(...toolRound());
  }
  return history;

  function toolRound(): Message[] {
    const ids = Array.from({ length: 1 + pick(3) }, () => `${pick(2) ? "call_" : "odd|id/"}${calls++}`);
    const content: AssistantPart[] = [
      reasoning(),
      ...ids.map((id): AssistantPart => ({
        type: "tool-call",
        id,
        name: pick(2) ? "ls" : "not a name!",
        input: { s: TEXTS[pick(TEXTS.length)] ?? "" },
      })),
    ];
    if (pick(4) === 0) content.push({ type: "text", text: "behind" });
    const results = ids.map((callId) => ({ callId, name: "ls", content: [text()], isError: pick(4) === 0 }));
    return [
      { role: "assistant", content, stop: "tool", origin: "o" },
      { role: "tool", results, ...(pick(3) === 0 && { notes: ["note", " "] }) },
    ];
  }
  function reasoning(): AssistantPart {
    const origin = pick(2) ? "o" : "another";
    return { type: "reasoning", text: "r", meta: { origin, data: { field: "reasoning_content" } } };
  }
}

const isAssistantPart = (part: AssistantPart | UserPart): part is AssistantPart => part.type !== "image";

const context = (more: Partial<WireContext> = {}): WireContext => ({
  endpoint: endpoint("https://api.example.com/v1"),
  origin: "o",
  facts: factsFor("test-model", "custom"),
  isOpenAI: false,
  keepReasoningFrom: 0,
  refusedImages: new Set(),
  continuing: false,
  history: new HistoryItems(),
  ...more,
});

const bare = (value: Json): string =>
  JSON.stringify(value, (key, inner) => (key === "cache_control" ? undefined : inner));
const listOf = (body: JsonObject): JsonObject[] => {
  const list = Array.isArray(body.messages) ? body.messages : Array.isArray(body.input) ? body.input : [];
  return list.filter(isObject);
};
const blocksOf = (message: JsonObject | undefined): Json[] =>
  typeof message?.content === "string"
    ? [{ type: "text", text: message.content }]
    : Array.isArray(message?.content)
      ? message.content
      : [];

describe.each(names)("%s", (name) => {
  const { wire, fault } = WIRES[name];

  test("random histories give bodies that the strict server takes", () => {
    for (let seed = 1; seed <= 150; seed++) {
      const built = wire.build(request(randomHistory(seed, 12)), context());
      expect([seed, fault(built.body, newMemory({}))]).toEqual([seed, null]);
      const flat = wire.build(request(randomHistory(seed, 12), { tools: [] }), context());
      expect([seed, fault(flat.body, newMemory({}))]).toEqual([seed, null]);
    }
  });

  test("a longer history begins with the bytes of the shorter one; only its last message may have grown", () => {
    for (let seed = 1; seed <= 60; seed++) {
      const history = randomHistory(seed, 14);
      let before: JsonObject[] = [];
      for (let length = 1; length <= history.length; length++) {
        // A request is sent when it is the model's turn.
        if (history[length - 1]?.role === "assistant" || history[length]?.role === "tool") continue;
        const now = listOf(wire.build(request(history.slice(0, length)), context()).body);
        for (const [at, message] of before.entries()) {
          if (bare(message) === bare(now[at] ?? null)) continue;
          // Where a request had to end in words of our own, the next one has no need of them.
          const filler = /Continue\.|Continue from where/.test(
            JSON.stringify([before.at(-1) ?? null, before[0] ?? null]),
          );
          const grown =
            at === before.length - 1 &&
            blocksOf(message).every((block, place) => bare(block) === bare(blocksOf(now[at])[place] ?? null));
          expect([seed, length, at, grown || filler]).toEqual([seed, length, at, true]);
        }
        before = now;
      }
    }
  });

  test("a history that is kept between requests gives the bytes of one made anew, serialised as JSON.stringify does", () => {
    for (let seed = 1; seed <= 60; seed++) {
      const [history, kept] = [randomHistory(seed, seed % 20 === 0 ? 160 : 14), new HistoryItems()];
      for (let length = 1; length <= history.length; length += 1 + (seed % 3)) {
        const now = request(history.slice(0, length), seed % 10 === 0 ? { tools: [] } : {});
        const [grown, fresh] = [context({ history: kept }), context()].map((one) => wire.build(now, one).body);
        expect([seed, length, bodyText(grown ?? {})]).toEqual([seed, length, JSON.stringify(fresh)]);
      }
      // Undo and compaction put another history in its place.
      const other = request(history.slice(1, 6));
      const body = wire.build(other, context({ history: kept })).body;
      expect([seed, bodyText(body)]).toEqual([seed, JSON.stringify(wire.build(other, context()).body)]);
    }
  });

  test("a step more costs no more the longer the history is", async () => {
    const build = (messages: number) => {
      const [history, kept] = [randomHistory(3, messages * 2), new HistoryItems()];
      const grown = [...history, ...randomHistory(4, 4)];
      wire.build(request(history), context({ history: kept }));
      return () => wire.build(request(grown), context({ history: kept }));
    };
    expect(await growth(build, 250)).toBeLessThan(8);
  });

  test("the same request gives the same bytes, and the history given is left alone", () => {
    const history = randomHistory(5, 20);
    const before = JSON.stringify(history);
    const build = () => JSON.stringify(wire.build(request(history), context()).body);
    expect(build()).toBe(build());
    expect(JSON.stringify(history)).toBe(before);
  });

  test("reasoning that was refused stays at home, later reasoning doesn't", () => {
    const data = {
      type: name === "responses" ? "reasoning" : "thinking",
      thinking: "t",
      signature: "SIG",
      encrypted_content: "SIG",
      summary: [],
      field: "reasoning_content",
    };
    const said: Message = {
      role: "assistant",
      content: [
        { type: "reasoning", text: "SIG", meta: { origin: "o", data } },
        { type: "text", text: "x" },
      ],
      stop: "end",
      origin: "o",
    };
    const asked: Message = { role: "user", content: [{ type: "text", text: "q" }] };
    const count = (from: number) =>
      JSON.stringify(
        wire.build(request([asked, said, asked, said, asked]), context({ keepReasoningFrom: from })).body,
      ).split("SIG").length - 1;
    const each = count(3);
    expect([count(0), count(5)]).toEqual([each * 2, 0]);
    expect(each).toBeGreaterThan(0);
  });

  test("a body is built in time by the length of its history, not by its square", async () => {
    const build = (messages: number) => {
      const history = randomHistory(3, messages);
      return () => wire.build(request(history), context());
    };
    expect(await growth(build, 500)).toBeLessThan(8);
  });
});

describe("base URLs", () => {
  test.each([
    ["https://api.openai.com/v1", "https://api.openai.com/v1", "https://api.openai.com"],
    ["https://api.openai.com/v1/", "https://api.openai.com/v1", "https://api.openai.com"],
    ["http://h:1", "http://h:1", "http://h:1"],
    ["http://h:1//", "http://h:1", "http://h:1"],
    ["https://h/anthropic/v1", "https://h/anthropic/v1", "https://h/anthropic"],
    ["https://h/v1/chat/completions", "https://h/v1", "https://h/v1/chat/completions"],
    ["https://h/v1/messages", "https://h/v1/messages", "https://h"],
  ])("%s for either client", (given, openai, anthropic) => {
    expect([openaiBase(given), anthropicBase(given)]).toEqual([openai, anthropic]);
  });

  test("only a bare host may be short of its /v1", () => {
    expect(["http://h:1", "http://h:1/", "http://h/api", "nonsense"].map(withV1)).toEqual([
      "http://h:1/v1",
      "http://h:1/v1",
      null,
      null,
    ]);
  });

  test.each([
    ["localhost:11434", true],
    ["127.0.0.1:1", true],
    ["127.8.8.8", true],
    ["[::1]:80", true],
    ["[::1]", true],
    ["192.168.1.7:8080", true],
    ["10.0.0.1", true],
    ["172.20.0.2", true],
    ["172.32.0.2", false],
    ["gpu-box:8000", true],
    ["studio.local", true],
    ["api.openai.com", false],
    ["8.8.8.8", false],
    ["10.example.com", false],
    ["[2001:db8::1]", false],
  ])("%s is local: %p", (host, local) => {
    expect(isLocalHost(host)).toBe(local);
  });

  test.each([
    ["http://localhost:11434/v1", null, 600_000, 120_000],
    ["https://api.openai.com/v1", null, 180_000, 120_000],
    ["https://api.openai.com/v1", 0, 0, 0],
    ["http://localhost:11434/v1", 5000, 5000, 5000],
  ])("%s with timeoutMs %p waits for %d and %d ms", (baseURL, timeoutMs, firstByteMs, idleMs) => {
    expect(limitsFor(endpoint(baseURL, "openai", { timeoutMs }))).toEqual({ firstByteMs, idleMs });
  });
});
