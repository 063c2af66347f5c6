/** `--schema`: one valid document on stdout, or exit 8 and nothing. */
import { afterAll, describe, expect, test } from "bun:test";
import { closeBenches, openBench } from "./support/binary.ts";
import { eventFaults } from "./support/event-check.ts";

afterAll(closeBenches);

const SCHEMA = JSON.stringify({
  type: "object",
  properties: { ok: { type: "boolean" }, notes: { type: "array", items: { type: "string" } } },
  required: ["ok", "notes"],
  additionalProperties: false,
});
const GOOD = '{"ok": true, "notes": ["a"]}';
const files = { "s.json": SCHEMA };
const ARGS = ["-p", "judge it", "--schema", "s.json"];

describe.concurrent("an answer under a schema", () => {
  test.each(["chat", "responses", "anthropic"] as const)("%s: a valid document is printed alone", async (wire) => {
    const at = await openBench([{ calls: [{ name: "list_dir", input: {} }], text: "Looking." }, { text: GOOD }], {
      wire,
      files,
    });
    const { code, stdout, stderr } = await at.run(ARGS);
    expect([code, JSON.parse(stdout)]).toEqual([0, JSON.parse(GOOD)]);
    expect(stderr).toContain("Looking.");
    expect(at.server.faults).toEqual([]);
  });

  test("a fence around it is taken off", async () => {
    const at = await openBench([{ text: `\`\`\`json\n${GOOD}\n\`\`\`` }], { files });
    const { code, stdout } = await at.run([...ARGS, "-o", "out.json"]);
    expect([code, stdout]).toEqual([0, `${GOOD}\n`]);
    expect(JSON.parse(await Bun.file(at.path("out.json")).text())).toEqual(JSON.parse(GOOD));
  });

  test("a wrong one is mended in at most two more turns", async () => {
    const at = await openBench([{ text: '{"ok": 1}' }, { text: "Sorry!" }, { text: GOOD }], { files });
    const { code, events } = await at.run([...ARGS, "--json"]);
    expect(code).toBe(0);
    expect(await eventFaults(events)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ steps: 3, inputTokens: 30, reason: "completed" });
    expect(at.server.faults).toEqual([]);
  });

  test("only the mended document is printed", async () => {
    const at = await openBench([{ text: '{"ok": 1}' }, { text: GOOD }], { files });
    expect(await at.run([...ARGS, "-o", "out.json"])).toMatchObject({ code: 0, stdout: `${GOOD}\n` });
    expect(JSON.parse(await Bun.file(at.path("out.json")).text())).toEqual(JSON.parse(GOOD));
  });

  test("a document that the length limit cut in two is one", async () => {
    const at = await openBench([{ text: GOOD.slice(0, 10), stop: "length" }, { text: GOOD.slice(10) }], { files });
    expect(await at.run(ARGS)).toMatchObject({ code: 0, stdout: `${GOOD}\n` });
    expect(at.server.requests).toHaveLength(2);
  });

  test("then the run fails with 8 and an empty stdout", async () => {
    const at = await openBench([{ text: "never JSON" }], { files });
    const text = await at.run(ARGS);
    expect([text.code, text.stdout]).toEqual([8, ""]);
    expect(text.stderr).toMatch(/^shiro: .*schema.*\n$/m);
    expect(at.server.requests).toHaveLength(3);
    const json = await at.run([...ARGS, "--json"]);
    expect(json.code).toBe(8);
    expect(await eventFaults(json.events)).toEqual([]);
    expect(json.events.slice(-2)).toMatchObject([
      { type: "error", kind: "schema" },
      { type: "done", exit: 8, reason: "schema" },
    ]);
  });

  test("a provider's failure keeps its own exit code", async () => {
    const at = await openBench([{ status: 401, json: { error: { message: "bad key" } } }], { files });
    expect(await at.run(ARGS)).toMatchObject({ code: 3, stdout: "" });
  });

  test.each([
    ["no JSON", "{"],
    ["no object", "[]"],
    ["a type nobody knows", '{"type":"text"}'],
  ])("a schema that is none is refused before any request: %s", async (_, text) => {
    const at = await openBench([{ text: "never" }], { files: { "s.json": text } });
    const { code, stderr } = await at.run(ARGS);
    expect(code).toBe(2);
    expect(stderr).toStartWith("shiro: --schema s.json");
    expect(at.server.requests).toEqual([]);
  });
});
