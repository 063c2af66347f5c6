/** A server that never stops talking leaves the program its time. */
import { expect, test } from "bun:test";
import { Pace } from "../src/mcp-pace.ts";

/** Pieces that are there already: their promises alone would never let a timer through. */
async function read(rest: () => Promise<void>): Promise<void> {
  for (const until = performance.now() + 60; performance.now() < until;) await rest();
}

test("timers and keys get their turn between pieces that never end", async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  await read(async () => {});
  expect(turns).toBe(0);
  const pace = new Pace();
  await read(() => pace.rest());
  clearInterval(timer);
  expect(turns).toBeGreaterThan(0);
});

test("while a server doesn't read its answers no more of it is read, until it is over", async () => {
  const pace = new Pace();
  const { promise, resolve } = Promise.withResolvers<void>();
  const sent = Array.from({ length: 300 }, () => pace.sending(() => promise));
  let over = false;
  let rested = false;
  const waiting = pace.rest(() => over).then(() => (rested = true));
  await Bun.sleep(0);
  expect(rested).toBe(false);
  over = true;
  await waiting;
  resolve();
  await Promise.all(sent);
  await pace.rest();
});
