/** Which of the things a model says in a run is its last message. */
import { expect, test } from "bun:test";
import { LastMessage } from "../src/message-last.ts";
import type { AgentEvent, Message } from "../src/types.ts";

const say = (text: string, agent?: string): AgentEvent => ({ type: "text", text, ...(agent && { agent }) });
const message = (value: Message): AgentEvent => ({ type: "message", message: value });
const prompt = message({ role: "user", content: [{ type: "text", text: "go" }] });
const injected = message({ role: "user", content: [{ type: "text", text: "Stop now.", injected: true }] });
const results = message({ role: "tool", results: [] });
const step = (index: number): AgentEvent => ({ type: "step-start", step: index });
const call: AgentEvent = { type: "tool-call", id: "c", name: "bash", input: {} };

test.each<[string, AgentEvent[], string, string[]]>([
  ["one answer in pieces", [prompt, step(1), say("a"), say("b")], "ab", []],
  [
    "what stood before a call is a remark",
    [prompt, step(1), say("look"), call, results, step(2), say("end")],
    "end",
    ["look"],
  ],
  ["an answer that was cut goes on", [prompt, step(1), say("one "), injected, step(2), say("two")], "one two", []],
  [
    "the last word of a turn that is stopped stands alone",
    [prompt, step(1), say("look"), call, results, injected, say("I stop.")],
    "I stop.",
    ["look"],
  ],
  [
    "calls without a further word keep what was said with them",
    [prompt, step(1), say("look"), call, results],
    "look",
    ["look"],
  ],
  ["a subagent's words are not the model's", [prompt, step(1), say("x", "seek"), say("end")], "end", []],
  ["another turn begins anew", [prompt, step(1), say("wrong"), prompt, step(1), say("right")], "right", ["wrong"]],
])("%s", (_, events, text, remarks) => {
  const last = new LastMessage();
  const said = events.flatMap((event) => last.take(event) ?? []);
  expect([last.text, said]).toEqual([text, remarks]);
});
