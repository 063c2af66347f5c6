/** The record that journal entries add up to: its title and its sums. What is on disk is tried in sessions.test.ts. */
import { expect, test } from "bun:test";
import type { SessionFile } from "../src/session-file.ts";
import { createSession } from "../src/sessions.ts";
import { withStdin } from "../src/stdin.ts";
import { user } from "./support/transcripts.ts";

function session(): SessionFile {
  const deps = { now: () => new Date("2026-11-30T12:00:00Z"), onNotice: () => {} };
  return createSession({ home: null, cwd: "/p", provider: "openai", model: "gpt" }, deps);
}

test("a session is titled by its first prompt, without what was piped in", () => {
  const file = session();
  file.appendMessage(user(withStdin("review this", { text: "diff --git a b\n", cut: false, gaveUp: false })));
  file.appendMessage(user("and now that"));
  expect(file.record.title).toBe("review this");
  expect(file.record.turns).toBe(2);
});

test("what many requests cost adds up without stray digits", () => {
  const file = session();
  const tokens = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, subagent: false };
  for (const costUsd of [0.1, 0.2]) file.addSpend({ provider: "p", model: "m", ...tokens, costUsd });
  expect(0.1 + 0.2).not.toBe(0.3);
  expect([file.record.costUsd, file.record.spend[0]?.costUsd]).toEqual([0.3, 0.3]);
});
