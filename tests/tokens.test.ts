/** Estimates of tokens and their calibration. */
import { expect, test } from "bun:test";
import { TokenMeter, textTokens } from "../src/tokens.ts";
import { agent, call, results, user } from "./support/transcripts.ts";

const parts = (text: string) => ({ system: "", tools: [], messages: [user(text)] });

test.each([
  ["English prose of twelve tokens or so, more or less.", 10, 18],
  ["漢字とかな", 4, 8],
  ["", 0, 0],
])("%p costs between %p and %p tokens", (text, low, high) => {
  expect(textTokens(text)).toBeWithin(low, high + 1);
});

test("a report of the provider corrects later estimates in proportion", () => {
  const meter = new TokenMeter();
  const raw = meter.estimateRaw(parts("word ".repeat(1_000)));
  meter.calibrate(raw, raw * 1.5);
  expect(meter.estimate(parts("word ".repeat(1_000)))).toBeWithin(raw * 1.5 - 2, raw * 1.5 + 2);
  expect(meter.estimate(parts("word ".repeat(2_000)))).toBeGreaterThan(raw * 2.9);
});

test.each([
  [0, 100],
  [100, 0],
  [Number.NaN, 5],
])("a report of %p raw and %p counted tokens is ignored", (raw, reported) => {
  const meter = new TokenMeter();
  const before = meter.estimate(parts("some words"));
  meter.calibrate(raw, reported);
  expect(meter.estimate(parts("some words"))).toBe(before);
});

test("an absurd report moves the estimate only so far", () => {
  const meter = new TokenMeter();
  meter.calibrate(10, 1_000_000);
  expect(meter.estimate(parts("a".repeat(4_000)))).toBeLessThan(4_000);
});

test("images, calls, results, system text and tools all count", () => {
  const meter = new TokenMeter();
  const image = { role: "user", content: [{ type: "image", mediaType: "image/png", data: "AAAA" }] } as const;
  expect(meter.message({ ...image, content: [...image.content] })).toBeGreaterThan(500);
  expect(meter.message(agent(call("a")))).toBeGreaterThan(meter.message(agent()));
  expect(meter.message(results("a"))).toBeGreaterThan(meter.message(results()));
  const tool = { name: "t", description: "d".repeat(400), schema: {} };
  expect(meter.fixed({ system: "s".repeat(400), tools: [tool] })).toBeGreaterThan(200);
});
