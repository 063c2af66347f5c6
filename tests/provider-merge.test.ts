/** Deltas joined on their way to an SDK: what may be joined, what must stay apart, and that no text is lost or moved. */
import { expect, test } from "bun:test";
import { mergeDeltas } from "../src/provider-merge.ts";
import { BrokenFrameError, type Frame } from "../src/provider-sse.ts";
import type { JsonObject } from "../src/types.ts";
import { seeded } from "./support/transcripts.ts";

const frame = (data: JsonObject | null): Frame => ({ event: "", data });
const chat = (delta: JsonObject, more: JsonObject = {}, top: JsonObject = {}): Frame =>
  frame({ id: "c", choices: [{ index: 0, delta, finish_reason: null, ...more }], ...top });
const output = (delta: string, more: JsonObject = {}): Frame =>
  frame({ type: "response.output_text.delta", item_id: "m", output_index: 0, content_index: 0, delta, ...more });
const block = (delta: JsonObject, index = 0): Frame => frame({ type: "content_block_delta", index, delta });
const counted = (...frames: Frame[]): number => [...mergeDeltas(frames)].length;

test.each([
  ["chat text", chat({ role: "assistant", content: "a" }), chat({ content: "b" })],
  ["chat reasoning", chat({ reasoning_content: "a", content: null }), chat({ reasoning_content: "b" })],
  ["responses text", output("a"), output("b", { sequence_number: 4, logprobs: [] })],
  ["anthropic text", block({ type: "text_delta", text: "a" }), block({ type: "text_delta", text: "b" })],
  [
    "anthropic thinking",
    block({ type: "thinking_delta", thinking: "a" }),
    block({ type: "thinking_delta", thinking: "b" }),
  ],
])("%s is joined, and the rest of the first frame stays", (_, first, second) => {
  const [joined, ...others] = [...mergeDeltas([first, second])];
  expect(others).toEqual([]);
  expect(JSON.stringify(joined)).toBe(JSON.stringify(first).replace('"a"', '"ab"'));
});

test.each([
  ["text and reasoning", chat({ content: "a" }), chat({ reasoning_content: "b" })],
  ["both in one delta", chat({ content: "a" }), chat({ content: "b", reasoning_content: "c" })],
  ["a last delta with its reason", chat({ content: "a" }), chat({ content: "b" }, { finish_reason: "stop" })],
  ["a tool call", chat({ content: "a" }), chat({ content: "b", tool_calls: [{ index: 0 }] })],
  ["log probabilities", chat({ content: "a" }), chat({ content: "b" }, { logprobs: { content: [] } })],
  ["usage", chat({ content: "a" }), chat({ content: "b" }, {}, { usage: { total_tokens: 1 } })],
  ["an error", chat({ content: "a" }), chat({ content: "b" }, {}, { error: { message: "x" } })],
  ["another choice", chat({ content: "a" }), chat({ content: "b" }, { index: 1 })],
  ["another item", output("a"), output("b", { item_id: "n" })],
  ["another block", block({ type: "text_delta", text: "a" }), block({ type: "text_delta", text: "b" }, 1)],
  ["a signature", block({ type: "thinking_delta", thinking: "a" }), block({ type: "signature_delta", signature: "b" })],
  [
    "arguments",
    block({ type: "input_json_delta", partial_json: "{" }),
    block({ type: "input_json_delta", partial_json: "}" }),
  ],
  ["the end marker", chat({ content: "a" }), frame(null)],
])("%s stays apart", (_, first, second) => {
  expect([...mergeDeltas([first, second])]).toEqual([first, second]);
});

test("a delta alone is handed on as the very frame it was", () => {
  const alone = chat({ content: "a" });
  expect([...mergeDeltas([alone])][0]).toBe(alone);
});

test("a long burst comes in pieces", () => {
  expect(counted(...Array.from({ length: 100 }, () => chat({ content: "x".repeat(1000) })))).toBeGreaterThan(4);
});

test("what came before a broken frame is handed on first", () => {
  const frames = function* (): Generator<Frame> {
    yield chat({ content: "a" });
    throw new BrokenFrameError("broken");
  };
  const seen: Frame[] = [];
  expect(() => {
    for (const one of mergeDeltas(frames())) seen.push(one);
  }).toThrow(BrokenFrameError);
  expect(seen).toEqual([chat({ content: "a" })]);
});

test("random sequences keep every text in its place", () => {
  const makers = [
    (text: string) => chat({ content: text }),
    (text: string) => chat({ reasoning_content: text }),
    (text: string) => chat({ content: text }, { index: 1 }),
    (text: string) => block({ type: "text_delta", text }),
    () => chat({}, { finish_reason: "stop" }),
  ];
  for (let seed = 1; seed <= 200; seed++) {
    const random = seeded(seed);
    const pick = (count: number): number => Math.floor(random() * count);
    const frames = Array.from({ length: 30 }, (_, at) => makers[pick(makers.length)]?.(`<${at}>`) ?? frame(null));
    const texts = (list: readonly Frame[]): string =>
      list.map((one) => JSON.stringify(one).match(/<\d+>/g)?.join("") ?? "|").join("");
    expect([seed, texts([...mergeDeltas(frames)])]).toEqual([seed, texts(frames)]);
  }
});
