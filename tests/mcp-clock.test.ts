/** The time of one call. */
import { describe, expect, test } from "bun:test";
import { CallClock, CallTimeout } from "../src/mcp-clock.ts";

describe("the clock of a call", () => {
  test("has an end that progress doesn't move, and passes on an interrupt", async () => {
    const clock = new CallClock(300, new AbortController().signal, 300);
    const beat = setInterval(() => clock.progress(), 10);
    await new Promise((resolve) => clock.signal.addEventListener("abort", resolve));
    clearInterval(beat);
    expect(clock.signal.reason).toBeInstanceOf(CallTimeout);
    expect(String(clock.signal.reason)).toContain("in all");
    const turn = new AbortController();
    const other = new CallClock(1000, turn.signal);
    turn.abort("stop");
    expect(other.signal.reason).toBe("stop");
    other.stop();
  });
});

test("the time of a question to the user doesn't count, and what was left goes on afterwards", async () => {
  const clock = new CallClock(60, new AbortController().signal, 5000);
  await clock.pause(() => Bun.sleep(120));
  expect(clock.signal.aborted).toBe(false);
  await new Promise((resolve) => clock.signal.addEventListener("abort", resolve));
  expect(String(clock.signal.reason)).toContain("without progress");
});

test("a call that is over leaves no timer and hears no interrupt", async () => {
  const turn = new AbortController();
  const clock = new CallClock(1, turn.signal);
  clock.stop();
  await Bun.sleep(20);
  turn.abort("late");
  expect(clock.signal.aborted).toBe(false);
});
