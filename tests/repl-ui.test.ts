/** What is said about the end of a command of the user's own, and of reasoning on request. */
import { expect, test } from "bun:test";
import { terminalTraits } from "../src/terminal-traits.ts";
import { howItEnded, reasoningText } from "../src/repl-ui.ts";

const TTY = { stdinIsTty: true, stdoutIsTty: true, platform: "linux" };

test.each([
  [{ code: 3, signal: null }, "exit code 3"],
  [{ code: null, signal: "SIGSEGV" }, "ended by SIGSEGV"],
  [{ code: null, signal: null }, "stopped"],
])("%j: %s", (outcome, words) => {
  expect(howItEnded(outcome)).toBe(words);
});

test.each([
  ["", "", "no reasoning yet"],
  ["first\x1b[2J\nthen ", "", "first␛[2J\nthen"],
  ["first\nthen more", "first\nthen ", "more"],
  ["first ", "first ", "no more reasoning yet"],
  ["another step", "first", "another step"],
])("of the reasoning %j, %j having been shown: %j", (text, before, shown) => {
  const traits = terminalTraits({ TERM: "xterm", LANG: "C.UTF-8", NO_COLOR: "1" }, TTY);
  expect(reasoningText(text, before, traits)).toBe(shown);
});
