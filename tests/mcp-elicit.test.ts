/** Questions of a server to the user: who answers, in which form, and what goes back. */
import { describe, expect, test } from "bun:test";
import { answerElicitation } from "../src/mcp-elicit.ts";
import type { AskQuestion } from "../src/tool.ts";

describe("a question of a server", () => {
  const form = (properties: object, required: string[] = Object.keys(properties)) => ({
    message: "m\x1b[31m",
    requestedSchema: { type: "object", properties, required },
  });
  const answers = (...given: (string | null)[]) => {
    const asked: AskQuestion[] = [];
    const ask = async (question: AskQuestion): Promise<string | null> => {
      asked.push(question);
      return given.shift() ?? null;
    };
    return { asked, scene: { server: "s", ask, yolo: false } };
  };

  test("with nobody there is declined; under yolo accepted when every field has a default", async () => {
    const scene = { server: "s", ask: null, yolo: false };
    const all = form({
      a: { type: "string", default: "x" },
      n: { type: "number", default: 1.5 },
      b: { type: "boolean", default: false },
      l: { type: "array", items: { enum: ["p"] }, default: ["p"] },
    });
    expect(await answerElicitation(all, scene)).toEqual({ action: "decline" });
    expect(await answerElicitation(all, { ...scene, yolo: true })).toEqual({
      action: "accept",
      content: { a: "x", n: 1.5, b: false, l: ["p"] },
    });
    const some = form({ a: { type: "string", default: "x" }, b: { type: "string" } }, []);
    expect(await answerElicitation(some, { ...scene, yolo: true })).toEqual({ action: "decline" });
  });

  test.each<[what: string, schema: object, answer: string, value: unknown]>([
    ["text", { type: "string" }, "some words", "some words"],
    ["a whole number", { type: "integer" }, "7", 7],
    ["a number's default", { type: "number", default: 2 }, "default", 2],
    ["yes", { type: "boolean" }, "yes", true],
    ["false", { type: "boolean" }, "false", false],
    [
      "a choice by its title",
      {
        type: "string",
        oneOf: [
          { const: "r", title: "Red" },
          { const: "g", title: "Green" },
        ],
      },
      "Green",
      "g",
    ],
    ["a choice with old names", { type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"] }, "Red", "r"],
    [
      "several",
      {
        type: "array",
        items: {
          anyOf: [
            { const: "r", title: "Red" },
            { const: "g", title: "Green" },
          ],
        },
      },
      "Red, g",
      ["r", "g"],
    ],
  ])("is answered by the user: %s", async (_, schema, answer, value) => {
    expect(await answerElicitation(form({ key: schema }), answers(answer).scene)).toEqual({
      action: "accept",
      content: { key: value as string },
    });
  });

  test("names the server, shows nothing raw, puts the default first and asks again for what doesn't fit", async () => {
    const { asked, scene } = answers("eleven", "11");
    const schema = { n: { type: "integer", title: "Count", default: 3, maximum: 20 } };
    expect(await answerElicitation(form(schema), scene)).toEqual({ action: "accept", content: { n: 11 } });
    expect(asked[0]?.question).toBe('The MCP server s asks: m␛[31m\nCount (n) (a number, "default" for 3)');
    expect(asked[1]?.question).toContain("That does not fit: must be integer, is string");
    const choice = answers("leave it out");
    await answerElicitation(form({ c: { type: "string", enum: ["a", "b"], default: "b" } }, []), choice.scene);
    expect(choice.asked[0]?.options).toEqual([
      { label: "b", detail: "the default" },
      { label: "a" },
      { label: "leave it out" },
    ]);
  });

  test("a pattern of a server that never ends, or compiles nowhere, is the server's to check", async () => {
    const { scene } = answers(`${"a".repeat(60)}!`, "x");
    const fields = { a: { type: "string", pattern: "^(a+)+$" }, b: { type: "string", pattern: "([" } };
    const content = { a: `${"a".repeat(60)}!`, b: "x" };
    expect(await answerElicitation(form(fields), scene)).toEqual({ action: "accept", content });
  });

  test("that is dismissed is cancelled, that is answered wrongly three times declined, without fields a yes or no", async () => {
    expect(await answerElicitation(form({ a: { type: "string" } }), answers(null).scene)).toEqual({ action: "cancel" });
    expect(await answerElicitation(form({ a: { type: "integer" } }), answers("x", "y", "z").scene)).toEqual({
      action: "decline",
    });
    expect(await answerElicitation(form({}), answers("accept").scene)).toEqual({ action: "accept", content: {} });
    expect(await answerElicitation(form({}), answers("decline").scene)).toEqual({ action: "decline" });
  });
});
