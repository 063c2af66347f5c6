/** The built program against a model server: how failures end it, and what goes back to the provider after a save. */
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import type { Json } from "../src/types.ts";
import { type Bench, closeBenches, openBench } from "./support/binary.ts";
import { eventFaults } from "./support/event-check.ts";
import { runInside } from "./support/inside.ts";
import type { Reply } from "./support/model-server.ts";

afterAll(closeBenches);

const refusal = (status: number, message: string, more: Record<string, Json> = {}): Reply => ({
  status,
  json: { error: { message, ...more } },
  headers: { "retry-after": "0" },
});
const stream = (...events: Json[]): Reply => ({
  raw: `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`,
});

/** The others differ in what the provider says, which costs less to hear in this process. */
const AS_PROGRAM: ReadonlySet<string> = new Set(["a wrong key", "a server that stays down", "an unknown model"]);

// Not at once: in one process every run would add its listeners for signals.
describe("a failure ends with its exit code, its kind and one line", () => {
  test.each<[string, number, string, number, Reply]>([
    [
      "an unknown model",
      2,
      "request",
      1,
      refusal(404, "The model `Qwen/Q-2.5` does not exist.", { type: "NotFoundError" }),
    ],
    ["a wrong key", 3, "auth", 1, refusal(401, "bad key")],
    ["no access", 3, "auth", 1, refusal(403, "not for you")],
    ["no money", 3, "quota", 1, refusal(402, "Insufficient Balance")],
    ["a used-up quota", 3, "quota", 1, refusal(429, "x", { code: "insufficient_quota" })],
    ["a rate limit that stays", 4, "rate", 4, refusal(429, "slow down")],
    ["a server that stays down", 4, "server", 4, refusal(500, "boom")],
    ["a request nobody can mend", 4, "request", 1, refusal(400, "bad thing")],
    ["a wait of days", 4, "rate", 1, { ...refusal(429, "later"), headers: { "retry-after": "198300" } }],
    [
      "a page",
      4,
      "content",
      1,
      { status: 200, body: "<!doctype html><title>Hi</title>", headers: { "content-type": "text/html" } },
    ],
    ["a success that is none", 4, "content", 1, { status: 200, json: { error: { message: "model not loaded" } } }],
    [
      "a refusal",
      4,
      "request",
      1,
      stream({ choices: [{ index: 0, delta: { refusal: "no" }, finish_reason: "stop" }] }),
    ],
    [
      "a filter",
      4,
      "request",
      1,
      stream({ choices: [{ index: 0, delta: { content: "half" }, finish_reason: "content_filter" }] }),
    ],
    [
      "an error inside the stream",
      4,
      "server",
      4,
      { ...stream({ error: { message: "boom. Please try again in 1ms", code: 502 } }) },
    ],
    ["a full context", 4, "context", 2, refusal(400, "x", { code: "context_length_exceeded" })],
  ])("%s: %d", async (name, exit, kind, requests, reply) => {
    const bench = await openBench([reply], { lenient: true });
    const args = ["-p", "hi", "--json", "--ephemeral"];
    const run = await (AS_PROGRAM.has(name) ? bench.run(args) : runInside(bench, args));
    const error = run.events.find((event) => event.type === "error");
    expect([run.code, error?.kind, bench.server.requests.length]).toEqual([exit, kind, requests]);
    expect(await eventFaults(run.events)).toEqual([]);
    expect(run.stderr.trim().split("\n").at(-1)).toStartWith("shiro: ");
    await bench.close();
  });
});

describe.concurrent("the other wires say it as well", () => {
  // Behind half an answer, since nothing is asked anew then.
  const responses = stream(
    { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "m" } },
    { type: "response.output_text.delta", output_index: 0, delta: "half" },
    { type: "response.failed", response: { status: "failed", error: { code: "server_error", message: "boom" } } },
  );
  const anthropic = stream(
    { type: "message_start", message: { role: "assistant", content: [], usage: { input_tokens: 3 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "half" } },
    { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
  );
  test.each<["responses" | "anthropic", string, number, string, Reply]>([
    ["responses", "a wrong key", 3, "auth", refusal(401, "bad key")],
    ["responses", "an error inside the stream", 4, "server", responses],
    // The client has a class of its own for such codes, in the part that the build leaves out.
    ["anthropic", "a code", 4, "request", refusal(400, "x", { details: { error_code: "image_dimensions_too_large" } })],
    ["anthropic", "an error inside the stream", 4, "rate", anthropic],
  ])("%s, %s: %d", async (wire, _, exit, kind, reply) => {
    const env = wire === "responses" ? { SHIRO_WIRE: "responses" } : {};
    const bench = await openBench([reply], { wire, lenient: true, env });
    const run = await bench.run(["-p", "hi", "--json", "--ephemeral"]);
    const error = run.events.find((event) => event.type === "error");
    expect([run.code, error?.kind, bench.server.requests.length]).toEqual([exit, kind, 1]);
    await bench.close();
  });
});

test("a script that reads events hears of each retry", async () => {
  const bench = await openBench([refusal(529, "Overloaded"), { text: "ok" }]);
  const { code, events } = await bench.run(["-p", "hi", "--json"]);
  const notices = events.filter((event) => event.type === "notice").map((event) => event.message);
  expect([code, notices]).toEqual([0, ["Overloaded; trying again in 0 s (1 of 3)"]]);
});

describe.concurrent("reasoning goes back as it came after a save and a resume, and to no other model", () => {
  const models = [
    ["anthropic", "claude-opus-5-5", "claude-haiku-4-5", "sig_1"],
    ["responses", "gpt-5.6", "gpt-5.2", "enc_1"],
    ["chat", "deepseek-v4-pro", "gpt-4o", "I think"],
  ] as const;

  test.each(models)("%s", async (wire, model, other, secret) => {
    const calls = [{ name: "read_file", input: { path: "a.txt" } }];
    const script: Reply[] = [{ reasoning: "I think", text: "let me", calls }, { text: "done" }];
    const env = { SHIRO_MODEL: model, ...(wire === "responses" && { SHIRO_WIRE: "responses" }) };
    const bench = await openBench(script, { wire, files: { "a.txt": "x\n" }, env });
    const say = (...more: string[]) => bench.run(["-p", "go on", "--think", "high", ...more]);
    const codes = [await say(), await say("-c"), await say("-c", "--model", other), await say("-c")].map(
      (run) => run.code,
    );
    expect([codes, bench.server.faults]).toEqual([[0, 0, 0, 0], []]);
    const holds = bench.server.requests.map(({ text }) => text.includes(JSON.stringify(secret)));
    expect(holds).toEqual([false, true, true, false, true]);
    await bench.close();
  });
});

test("an image larger than providers take is read, scaled down, and accepted", async () => {
  const bench: Bench = await openBench(
    [{ calls: [{ name: "read_file", input: { path: "wide.png" } }] }, { text: "seen" }],
    {
      wire: "anthropic",
      env: { SHIRO_MODEL: "claude-opus-5" },
    },
  );
  // The smallest picture there is, stretched: Bun.Image makes the file that a camera would.
  const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const wide = await new Bun.Image(Buffer.from(dot, "base64")).resize(9000, 100).png().bytes();
  writeFileSync(bench.path("wide.png"), wide);
  const { code, stdout } = await bench.run(["-p", "look"]);
  expect([code, stdout, bench.server.faults]).toEqual([0, "seen\n", []]);
  const data = /"data":"(iVBORw0KGgo[^"]*)"/.exec(bench.server.requests[1]?.text ?? "")?.[1] ?? "";
  const { width, height } = await new Bun.Image(Buffer.from(data, "base64")).metadata();
  expect([width, height]).toEqual([2000, 22]);
});

test("an interrupt ends the wait before a retry, which then never comes", async () => {
  const bench = await openBench([{ ...refusal(429, "slow down"), headers: { "retry-after": "100" } }]);
  const run = bench.start(["-p", "hi"]);
  await run.seen("stderr", "trying again in 100 s");
  run.kill("SIGINT");
  // A run that waited would be ended by its limit first, and with another code.
  expect((await run.ended).code).toBe(130);
  expect(bench.server.requests).toHaveLength(1);
}, 90_000);
