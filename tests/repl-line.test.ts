/** The first characters of a line decide what it is, and paths and Markdown are prompts. */
import { expect, test } from "bun:test";
import { promptText } from "../src/repl-prompt.ts";
import { readLine } from "../src/repl-line.ts";

test.each([
  ["fix the bug", { kind: "prompt" }],
  ["/think high", { kind: "command", command: { name: "think", args: "high" } }],
  ["/usr/bin/x is missing", { kind: "prompt" }],
  ["exit", { kind: "command", command: { name: "exit", args: "" } }],
  ["/quit", { kind: "command", command: { name: "exit", args: "" } }],
  ["?", { kind: "command", command: { name: "help", args: "" } }],
  ["exit the loop early", { kind: "prompt" }],
  ["!ls -l", { kind: "shell", command: "ls -l", tell: true }],
  [" !! ls", { kind: "shell", command: "ls", tell: false }],
  ["!", { kind: "shell", command: "", tell: true }],
  ["# use tabs", { kind: "note", text: "use tabs" }],
  ["# Title\n\ntext", { kind: "prompt" }],
  ["!ls\nand explain", { kind: "prompt" }],
  ["/init with\ntwo lines", { kind: "command", command: { name: "init", args: "with\ntwo lines" } }],
])("%j is %j", (text, line) => {
  expect(readLine(text)).toEqual(line as ReturnType<typeof readLine>);
});

const MONO = { colour: false, ascii: false };

test.each([
  [{ variant: "default", contextShare: null }, 0, "shiro> "],
  [{ variant: "deep", contextShare: 0.344 }, 0, "shiro deep 34%> "],
  [{ variant: "default", contextShare: 0.1 }, 2, "shiro (2 queued)> "],
  [{ variant: "a\x1b[2J", contextShare: null }, 0, "shiro a␛[2J> "],
])("%j with %d queued prompts with %j", (state, queued, text) => {
  expect(promptText(state, queued, MONO)).toBe(text);
});

test("a context that fills is amber from two thirds and red from nine tenths", () => {
  const shown = (contextShare: number) =>
    promptText({ variant: "default", contextShare }, 0, { colour: true, ascii: false });
  expect(shown(0.5)).toContain("m 50%>");
  expect(shown(0.67)).toContain("\x1b[33m67%\x1b[39m");
  expect(shown(0.9)).toContain("\x1b[31m90%\x1b[39m");
});
