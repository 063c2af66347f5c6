/** Ids of calls: accepted everywhere, the same on both sides and in every request. */
import { describe, expect, test } from "bun:test";
import { CallIds, type IdRule, wireId } from "../src/provider-ids.ts";
import type { Message } from "../src/types.ts";
import { ask, assistant, call, request, results, user } from "./support/model-kit.ts";
import { startModelServer } from "./support/model-server.ts";

const RULES: [IdRule, RegExp][] = [
  ["openai-chat", /^[a-zA-Z0-9_-]{1,40}$/],
  ["chat", /^[a-zA-Z0-9_-]{1,64}$/],
  ["kimi", /^(functions\.[a-zA-Z0-9_-]{1,48}:\d{1,4}|[a-zA-Z0-9_-]{1,64})$/],
  ["mistral", /^[a-zA-Z0-9]{9}$/],
  ["responses", /^[a-zA-Z0-9_-]{1,64}$/],
  ["anthropic", /^[a-zA-Z0-9_-]{1,64}$/],
];
const LONG = `call_a|fc_${"x".repeat(400)}`;

test.each(RULES)("%s takes every id it is given", (rule, accepted) => {
  const ids = [LONG, `${LONG}y`, "", "a b", "ä", "functions.ls:0", "x".repeat(65), "x".repeat(41), "\ud83d", "call_1"];
  const mapped = ids.map((id) => wireId(id, rule));
  for (const id of mapped) expect(id).toMatch(accepted);
  expect(new Set(mapped).size).toBe(ids.length);
  expect(ids.map((id) => wireId(id, rule))).toEqual(mapped);
  for (const id of mapped) expect(wireId(id, rule)).toBe(id);
});

test("a model that counts calls in its ids gets them back", () => {
  expect(wireId("functions.ls:0", "kimi")).toBe("functions.ls:0");
  expect(wireId("functions.ls:0", "chat")).toMatch(/^call_/);
});

test("ten thousand ids stay apart even in nine characters", () => {
  const mapped = new Set(Array.from({ length: 10_000 }, (_, index) => wireId(`call_${index}_long`, "mistral")));
  expect(mapped.size).toBe(10_000);
});

test.each(["chat", "responses", "anthropic"] as const)("a call and its result keep their pair on %s", async (wire) => {
  const server = await startModelServer([{ text: "ok" }]);
  const history: Message[] = [user("a"), assistant([call(LONG), call("b|c")]), results(LONG, "b|c")];
  const answer = await ask(server, wire, request(history));
  await server.close();
  expect([answer.text, server.faults]).toEqual(["ok", []]);
  expect(history[1]).toEqual(assistant([call(LONG), call("b|c")]));
});

describe("ids on the way in", () => {
  test("are kept where new, replaced where missing or used", () => {
    const ids = new CallIds();
    ids.learn([assistant([call("old")])]);
    expect(ids.take("new")).toBe("new");
    const made = [ids.take("old"), ids.take("new"), ids.take(""), ids.take(null), ids.take(undefined)];
    for (const id of made) expect(id).toMatch(/^call_[0-9a-f]{24}$/);
    expect(new Set(made).size).toBe(5);
  });
});
