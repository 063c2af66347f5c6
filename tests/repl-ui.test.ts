/** What is said about the end of a command of the user's own. */
import { expect, test } from "bun:test";
import { howItEnded } from "../src/repl-ui.ts";

test.each([
  [{ code: 3, signal: null }, "exit code 3"],
  [{ code: null, signal: "SIGSEGV" }, "ended by SIGSEGV"],
  [{ code: null, signal: null }, "stopped"],
])("%j: %s", (outcome, words) => {
  expect(howItEnded(outcome)).toBe(words);
});
