/** The limits of one exchange, when the program itself wasn't running for part of the wait. What they mean on the wire is in providers.test.ts. */
import { expect, test } from "bun:test";
import { Clock } from "../src/provider-clock.ts";

test("a program that was stopped past its limit reads what came meanwhile before it calls the server silent", async () => {
  const clock = new Clock({ firstByteMs: 20, idleMs: 20, signal: new AbortController().signal });
  clock.begin();
  // As good as ctrl-z and fg: no timer can fire, nothing can be read.
  Bun.sleepSync(120);
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect([clock.late, clock.signal.aborted]).toEqual([null, false]);
  await new Promise((resolve) => clock.signal.addEventListener("abort", resolve));
  expect(clock.late).toMatchObject({ kind: "timeout", message: "no answer for 20 ms" });
});
