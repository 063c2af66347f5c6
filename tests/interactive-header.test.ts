/** What a session says of itself when it is resumed and when it is left. */
import { expect, test } from "bun:test";
import { farewellLines, recapLines } from "../src/interactive-header.ts";
import type { Message } from "../src/types.ts";

const ID = "01a22d8e-bd3c-7222-85ac-bc271c27208f";
const spent = (messages: Message[]) => ({ id: ID, inputTokens: 2420, outputTokens: 610, costUsd: 0.5, messages });
const titled = (messages: Message[]) => ({ title: "fix the tests", messages });

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });
const assistant = (text: string): Message => ({
  role: "assistant",
  content: [{ type: "text", text }],
  stop: "end",
  origin: "",
});

test("a resumed session tells its title, the last prompt and the last answer, each in one line", () => {
  const messages = [
    user("fix the tests"),
    assistant("done"),
    user("and\nthe docs"),
    assistant("half"),
    assistant("All\ndone"),
  ];
  expect(recapLines(titled(messages))).toEqual([
    "resumed: fix the tests (2 turns)",
    "  last prompt: and the docs",
    "  last answer: All done",
  ]);
  expect(recapLines(titled([user("hi")]))).toEqual(["resumed: fix the tests (1 turn)", "  last prompt: hi"]);
});

test("a new session has nothing to tell, at its start and at its end", () => {
  expect(recapLines(titled([]))).toEqual([]);
  expect(farewellLines(spent([]), null)).toEqual([]);
});

test("the end names the session, the line that resumes it and the cost", () => {
  expect(farewellLines(spent([user("hi")]), null)).toEqual([
    `session ${ID}: 2.4k in, 610 out, $0.50`,
    "to go on: shiro -r 01a22d8e-bd3c",
  ]);
  expect(farewellLines(spent([user("hi")]), "--ephemeral")).toEqual([
    "2.4k in, 610 out, $0.50; the session is not saved (--ephemeral)",
  ]);
});
