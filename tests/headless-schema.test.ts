/** Answers under a schema, without a program around them: whatever a model says, stdout is one valid document or nothing. */
import { describe, expect, test } from "bun:test";
import { documentIn, finalDocument, untilValid } from "../src/headless-schema.ts";
import { printRun } from "../src/headless.ts";
import { Output } from "../src/output.ts";
import type { AgentEvent, JsonObject } from "../src/types.ts";
import { growth } from "./support/growth.ts";

const SCHEMA: JsonObject = {
  type: "object",
  properties: { ok: { type: "boolean" }, notes: { type: "array", items: { type: "string" } } },
  required: ["ok", "notes"],
  additionalProperties: false,
};

const DOCUMENTS = [
  '{"ok":true,"notes":[]}',
  '{"ok": false, "notes": ["a", "b"]}',
  '{\n  "ok": true,\n  "notes": ["```", "}"]\n}',
  ' {"ok":true,"notes":["🙂 \\n"]}\n\n',
  '{"notes":["x"],"ok":true}',
];
const fenced = (text: string): string => `\`\`\`json\n${text}\n\`\`\``;
const bare = (text: string): string => `\n\`\`\`\n${text}\n  \`\`\` \n`;
const truncated = (text: string): string => text.trimEnd().slice(0, -1);
const wrongType = (text: string): string => text.replace(/true|false/, '"yes"');
const withWords = (text: string): string => `Here it is:\n${text}`;
const twice = (text: string): string => `${text}\n${text}`;
const asIs = (text: string): string => text;
const never = (): string => "I can't do that.";

/** What is said in the first, second and third answer, and in which a valid document comes; 0: in none. */
const KINDS: [string, ((text: string) => string)[], number][] = [
  ["valid", [asIs], 1],
  ["fenced", [fenced], 1],
  ["in a fence without a name", [bare], 1],
  ["truncated, then valid", [truncated, asIs], 2],
  ["of a wrong type, then fenced", [wrongType, fenced], 2],
  ["among words, then valid", [withWords, asIs], 2],
  ["valid at the third try", [never, truncated, asIs], 3],
  ["twice, every time", [twice, twice, twice, asIs], 0],
  ["of a wrong type, every time", [wrongType, wrongType, wrongType, asIs], 0],
  ["never", [never, never, never, asIs], 0],
];

interface Outcome {
  exit: number;
  stdout: string;
  asked: string[];
}

async function answered(answers: readonly string[]): Promise<Outcome> {
  const asked: string[] = [];
  async function* send(prompt: string): AsyncGenerator<AgentEvent> {
    asked.push(prompt);
    const message = { role: "user" as const, content: [{ type: "text" as const, text: prompt }] };
    yield { type: "message", message };
    yield { type: "text", text: answers[asked.length - 1] ?? "" };
    const sums = { steps: 1, inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, costUsd: 0 };
    yield { type: "done", exit: 0, reason: "completed", ...sums };
  }
  let stdout = "";
  const collect = new Output(() => ({ write: (text, done) => ((stdout += text), done(), true), on: () => {} }));
  const ignore = new Output(() => ({ write: (_, done) => (done(), true), on: () => {} }));
  const exit = await printRun(untilValid("judge it", SCHEMA, send), {
    json: false,
    quiet: true,
    strict: false,
    stdout: collect,
    stderr: ignore,
    stdoutIsTerminal: false,
    signal: new AbortController().signal,
    finalText: (text) => finalDocument(text, SCHEMA),
    writeLast: null,
  });
  return { exit, stdout, asked };
}

describe.each(KINDS)("%s", (_, said, valid) => {
  test.each(DOCUMENTS)("%j", async (document) => {
    const { exit, stdout, asked } = await answered(said.map((say) => say(document)));
    expect(exit).toBe(valid === 0 ? 8 : 0);
    if (valid === 0) expect(stdout).toBe("");
    else expect(JSON.parse(stdout)).toEqual(JSON.parse(document));
    expect(asked).toHaveLength(valid === 0 ? 3 : valid);
  });
});

test.each<[string, (size: number) => string]>([
  ["a fence and empty lines", (size) => `\`\`\`json\n${"\n".repeat(size)}x`],
  ["blanks", (size) => `${" ".repeat(size)}x`],
  ["fences without an end", (size) => "```\n".repeat(size)],
])("an answer of %s takes no longer than another of its length", async (_, text) => {
  const grown = await growth((size) => {
    const answer = text(size);
    return () => documentIn(answer, SCHEMA);
  }, 5_000);
  expect(grown).toBeLessThan(9);
});
