/** The summary request, its answer, and the digest that stands in for it. */
import { describe, expect, test } from "bun:test";
import { digest, spanFacts } from "../src/compact-digest.ts";
import { cutToTokens, parseSummary, summaryRequest } from "../src/compact.ts";
import { textTokens } from "../src/tokens.ts";
import type { Message } from "../src/types.ts";
import { agent, call, result, results, thought, user } from "./support/transcripts.ts";

const DECISION = "We keep UTC in the database because the reports join on it.";

/** A session in which something was decided long ago. */
function longSession(after: number): Message[] {
  const messages: Message[] = [user("Let us decide on times."), agent(thought("secret musing"), DECISION)];
  for (let index = 0; messages.length < after + 2; index++) {
    messages.push(agent(call(`c${index}`, "bash", { command: `make step-${index}` })));
    messages.push(results(result(`c${index}`, `${"log line\n".repeat(400)}exit code ${index % 2}`, "bash")));
  }
  return messages;
}

describe("the request", () => {
  test("a decision made forty messages earlier is in it", () => {
    const { messages } = summaryRequest(longSession(40), null);
    expect(JSON.stringify(messages)).toContain(DECISION);
  });

  test("it needs no tools: calls and results are text in one user message", () => {
    const request = summaryRequest(longSession(10), null);
    expect(request.messages.map((message) => message.role)).toEqual(["user"]);
    expect(request.messages[0]?.content.map((part) => part.type)).toEqual(["text"]);
    expect(JSON.stringify(request.messages)).toContain("make step-0");
    expect(request.maxOutputTokens).toBe(1_500);
  });

  test("reasoning stays out, failures are marked, shiro's own notes are not the user's words", () => {
    const injected: Message = { role: "user", content: [{ type: "text", text: "task list", injected: true }] };
    const text = JSON.stringify(
      summaryRequest([...longSession(2), injected, agent(call("f")), results(result("f", "boom", "bash", true))], null),
    );
    expect(text).not.toContain("secret musing");
    expect(text).toContain("FAILED bash: boom");
    expect(text).toContain("NOTE TO THE AGENT: task list");
  });

  test("an earlier summary and the user's focus are in it", () => {
    const text = JSON.stringify(summaryRequest(longSession(2), "EARLIER WORK", "the migration").messages);
    expect(text).toContain("EARLIER WORK");
    expect(text).toContain("the migration");
  });

  test.each([2_000, 8_000, 30_000])(
    "it fits into %p tokens however long the span is, and the decision still does",
    (room) => {
      const text = summaryRequest(longSession(240), null, null, room).messages[0]?.content[0];
      const body = text?.type === "text" ? text.text : "";
      expect(textTokens(body)).toBeLessThan(room + 200);
      expect(body).toContain(DECISION);
    },
  );
});

describe("the answer", () => {
  test.each([
    ["plain", "Goal: x", "Goal: x"],
    ["fenced", "```md\nGoal: x\n```", "Goal: x"],
    ["tagged", "Sure!\n<summary>\nGoal: x\n</summary>\nbye", "Goal: x"],
    ["blank", " \n ", null],
    ["empty tag", "<summary></summary>", null],
  ])("%s", (_, answer, expected) => {
    expect(parseSummary(answer)).toBe(expected);
  });

  test("one that is far too long is cut at a line", () => {
    const cut = parseSummary("a line of words\n".repeat(4_000)) ?? "";
    expect(textTokens(cut)).toBeLessThanOrEqual(1_510);
    expect(cut).toEndWith("a line of words\n[cut]");
  });

  test("cutting keeps pairs of surrogates whole", () => {
    for (let tokens = 1; tokens < 40; tokens++) expect(cutToTokens("👍".repeat(200), tokens).isWellFormed()).toBe(true);
  });
});

describe("the digest", () => {
  test("holds prompts, what was said, commands with exit codes, files written", () => {
    const span = [
      ...longSession(40),
      agent(
        call("p", "apply_patch", { patch: "*** Begin Patch\n*** Update File: src/a.ts\n*** Add File: src/b.ts\n" }),
      ),
      results(result("p", "applied", "apply_patch")),
      agent(call("r", "read_file", { path: "only-read.ts" })),
      results(result("r", "text")),
    ];
    const text = digest(span, null);
    expect(text).toContain("Let us decide on times.");
    expect(text).toContain(DECISION);
    expect(text).toContain("make step-19 → exit code 1");
    expect(text).toContain("- src/a.ts\n- src/b.ts");
    expect(text).not.toContain("only-read.ts");
  });

  test("a decision is not crowded out by a hundred later prompts and remarks", () => {
    const chatter = Array.from({ length: 100 }, (_, index) => [
      user(`next ${index}`),
      agent(`Step ${index} is done and looks fine.`),
    ]);
    const text = digest([...longSession(2), ...chatter.flat(), ...longSession(60)], null);
    expect(text).toContain(DECISION);
    expect(textTokens(text)).toBeLessThan(1_600);
  });

  test("keeps an earlier summary, given or in the span itself, without growing", () => {
    let text = "FIRST WORDS";
    for (let round = 0; round < 8; round++) text = digest(longSession(60), text);
    expect(textTokens(text)).toBeLessThan(1_600);
    const summary: Message = { role: "user", content: [{ type: "text", text: "OLD SUMMARY" }], summary: true };
    expect(digest([summary, ...longSession(2)], null)).toContain("OLD SUMMARY");
    expect(digest(longSession(2), "FIRST WORDS")).toContain("FIRST WORDS");
  });
});

describe("facts", () => {
  test("the latest request is there word for word, however it is laid out", () => {
    const words = "Rename A to B.\n\n  * keep C\n  * and `D`";
    expect(spanFacts([user("first"), agent("ok"), user(words), agent("on it")], 8_000)).toContain(words);
  });

  test("a pasted file does not fill the context again", () => {
    expect(spanFacts([user("x".repeat(500_000))], 8_000).length).toBeLessThan(8_300);
  });

  test("a span without anything to tell gives nothing", () => {
    expect(spanFacts([], 1_000)).toBe("");
  });
});
