/** Sessions as documents. */
import { expect, test } from "bun:test";
import { exportJson, exportMarkdown } from "../src/session-export.ts";
import { parseRecord } from "../src/session-record.ts";
import { createSession } from "../src/sessions.ts";
import { agent, call, result, results, thought, user } from "./support/transcripts.ts";

function session() {
  const file = createSession(
    { home: null, cwd: "/p", provider: "p", model: "m" },
    { now: () => new Date(0), onNotice: () => {} },
  );
  file.appendMessage(user("show me"));
  file.appendMessage(agent(thought("musing"), "here:", call("a", "bash", { command: "cat x.md" })));
  file.appendMessage(results(result("a", "```\ncode\n```\n````", "bash")));
  file.appendMessage({ role: "user", content: [{ type: "text", text: "task list", injected: true }] });
  file.appendMessage(agent("done"));
  return file.record;
}

test("JSON is the record itself and can be read back", () => {
  const parsed = parseRecord(JSON.parse(exportJson(session())));
  expect(parsed).toEqual({
    record: session() && expect.objectContaining({ messages: session().messages, title: "show me" }),
  });
});

test("Markdown tells what was said and done, without reasoning and without what shiro injected", () => {
  const text = exportMarkdown(session());
  expect(text).toStartWith("# show me\n");
  for (const part of ["## User\n\nshow me", "## Agent\n\nhere:", "cat x.md", "**bash**", "done"])
    expect(text).toContain(part);
  for (const part of ["musing", "task list"]) expect(text).not.toContain(part);
});

test("fences in a result don't end the block it stands in", () => {
  expect(exportMarkdown(session())).toContain("`````\n```\ncode\n```\n````\n`````");
});
