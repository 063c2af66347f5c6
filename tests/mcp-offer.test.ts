/** What the model is offered of MCP servers, and what it costs; the tools behind it, over a host by hand. */
import { describe, expect, test } from "bun:test";
import { ToolError } from "../src/errors.ts";
import { makeOffer } from "../src/mcp-offer.ts";
import { McpReach } from "../src/mcp-reach.ts";
import type { McpServerState } from "../src/mcp-types.ts";
import { promptParts } from "../src/prompt.ts";
import { jsonSchema, validateInput } from "../src/tool-input.ts";
import type { Tool } from "../src/tool.ts";
import type { JsonObject } from "../src/types.ts";
import { VARIANTS, offers } from "../src/agents.ts";
import { bench } from "./support/exec-context.ts";
import { connecting, fakeHost, ready, tool, toolsOf } from "./support/mcp-fake.ts";
import { makeGate, type WrittenRules } from "./support/approval-bench.ts";

const META = ["tool_search", "mcp_list", "mcp_inspect", "mcp_call"];

function offerOf(states: readonly McpServerState[]) {
  const host = fakeHost(states);
  const reach = new McpReach(host, false);
  const offer = makeOffer(reach);
  const byName = (name: string): Tool => {
    const found = offer.tools.find((one) => one.name === name);
    if (!found) throw new Error(`${name} is not offered`);
    return found;
  };
  return { host, reach, offer, byName, names: offer.tools.map((one) => one.name) };
}

const onTheWire = (tools: readonly Tool[]): string =>
  JSON.stringify(
    tools.map(({ name, description, wireSchema, input }) => ({
      type: "function",
      function: { name, description, parameters: wireSchema ?? jsonSchema(input) },
    })),
  );

function promptOf(lines: readonly string[], names: readonly string[]): string {
  const variant = VARIANTS[0];
  if (!variant) throw new Error("no variant");
  const tools = names.map((name) => ({ name, line: name, asks: false }));
  const state = { cwd: "/", platform: "", shell: "sh", git: false, interactive: true, tools, variant };
  const parts = promptParts({ ...state, appendices: [], skills: [], memory: [], instructions: [], mcp: lines });
  return parts.find((part) => part.name === "mcp")?.text ?? "";
}

describe("how a server is exposed", () => {
  test("up to three tools stand in the array, more are searched for, and the configuration has the last word", () => {
    expect(offerOf([ready("s", toolsOf("s", 3))]).names).toEqual(["mcp__s__t0", "mcp__s__t1", "mcp__s__t2"]);
    expect(offerOf([ready("s", toolsOf("s", 4))]).names).toEqual(META);
    expect(offerOf([ready("s", toolsOf("s", 4), { expose: "direct" })]).names).toHaveLength(4);
    expect(offerOf([ready("s", toolsOf("s", 1), { expose: "lazy" })]).names).toEqual(META);
    expect(offerOf([]).names).toEqual([]);
  });

  test("a direct server that is not there yet brings the meta tools; one that died keeps its tools", () => {
    expect(offerOf([connecting("s", { expose: "direct" })]).names).toEqual(META);
    expect(offerOf([ready("s", toolsOf("s", 2), { state: "failed", problem: "gone" })]).names).toHaveLength(2);
  });

  test("the bytes are the same in whatever order the servers connected", () => {
    const states = [ready("b", toolsOf("b", 2)), ready("a", toolsOf("a", 3)), ready("c", toolsOf("c", 9))];
    const bytes = (given: McpServerState[]): string => {
      const { offer } = offerOf(given);
      return onTheWire(offer.tools) + offer.lines.join("\n");
    };
    const [first, second, third] = states;
    if (!first || !second || !third) throw new Error("three servers");
    for (const order of [
      [third, second, first],
      [second, third, first],
      [first, third, second],
    ])
      expect(bytes(order)).toBe(bytes(states));
  });

  test("read-only agents get the looking tools, and of the others only what the user called read-only", () => {
    const plan = VARIANTS.find((variant) => variant.name === "plan");
    if (!plan) throw new Error("no plan");
    const { offer } = offerOf([
      ready("d", [tool("d", "look", { readOnly: true }), tool("d", "change")]),
      ready("z", toolsOf("z", 5)),
    ]);
    const names = offer.tools.filter((one) => offers(plan, one)).map((one) => one.name);
    expect(names).toEqual(["tool_search", "mcp_list", "mcp_inspect", "mcp__d__look"]);
  });
});

describe("what lazy servers cost", () => {
  const description = "北京".repeat(300);
  const many = Array.from({ length: 20 }, (_, at) =>
    ready(`server-number-${at}`, toolsOf(`server-number-${at}`, 20), { description }),
  );

  test("the four meta tools fit into 1.5 KB and no schema of a server is among them", () => {
    const { offer } = offerOf(many);
    expect(offer.tools.map((one) => one.name)).toEqual(META);
    expect(Buffer.byteLength(onTheWire(offer.tools))).toBeLessThanOrEqual(1500);
    expect(onTheWire(offer.tools)).toBe(onTheWire(offerOf([ready("x", toolsOf("x", 4))]).offer.tools));
  });

  test("twenty servers of twenty tools add less than 3 KB to the prompt", () => {
    const text = promptOf(offerOf(many).offer.lines, META);
    expect(Buffer.byteLength(text)).toBeLessThan(3000);
    expect(text.split("\n")).toHaveLength(21);
    expect(text).toContain("- server-number-19: 20 tools. 北京");
  });

  test("the prompt names a server only where its tools can be reached, and cleans what the server says", () => {
    const { lines } = offerOf([ready("s", toolsOf("s", 4), { description: "a\u001b[31mb\u202e\nignore" })]).offer;
    expect(promptOf(lines, [])).toBe("");
    expect(promptOf(lines, ["tool_search"])).toStartWith("MCP servers (`tool_search`):\n- s: 4 tools. a");
    expect(promptOf(lines, META)).not.toMatch(/[\u001b\u202e]/);
    expect(promptOf(lines, META).split("\n")).toHaveLength(2);
  });
});

describe("calling", () => {
  const sum = tool("math", "sum", {
    description: "Adds.",
    inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a"] },
  });
  const direct = () => offerOf([ready("math", [sum])]);
  const lazy = () => offerOf([ready("math", [sum, ...toolsOf("math", 4)])]);

  const prepared = (of: Tool, input: JsonObject): unknown => {
    const checked = validateInput(of.input, input);
    if (!checked.ok) throw new Error(checked.message);
    return checked.input;
  };

  test("a direct tool sends what the model gave, mended as every tool's input is", async () => {
    const { host, byName } = direct();
    const sumTool = byName("mcp__math__sum");
    const output = await bench().run(sumTool, prepared(sumTool, { a: "2", b: null }));
    expect(output).toEqual({ text: "done" });
    expect(host.calls).toMatchObject([{ server: "math", tool: "sum", args: { a: 2 } }]);
  });

  test.each([
    ["as an object", { a: 1 }, { a: 1 }],
    ["as a string", '{"a":1}', { a: 1 }],
  ])("mcp_call takes the arguments %s", async (_, given, args) => {
    const { host, byName } = lazy();
    const call = byName("mcp_call");
    await bench().run(call, prepared(call, { server: "math", tool: "sum", arguments: given }));
    expect(host.calls).toMatchObject([{ server: "math", tool: "sum", args }]);
  });

  test("left out or null they are an empty object", async () => {
    const { host, byName } = lazy();
    const call = byName("mcp_call");
    for (const more of [{}, { arguments: null }])
      await bench().run(call, prepared(call, { server: "math", tool: "t1", ...more }));
    expect(host.calls.map((one) => one.args)).toEqual([{}, {}]);
  });

  test.each<[string, JsonObject, string]>([
    ["a wrong type", { a: "x" }, '[validation error] the arguments: "a" must be number, is string'],
    ["a missing one", {}, '[validation error] the arguments: "a" is missing'],
  ])("%s is refused before anybody is asked, both ways", (_, given, message) => {
    const own = validateInput(direct().byName("mcp__math__sum").input, given);
    expect(own).toEqual({ ok: false, message });
    const meta = validateInput(lazy().byName("mcp_call").input, { server: "math", tool: "sum", arguments: given });
    expect(meta).toEqual({ ok: false, message: `${message} (mcp_inspect shows the schema)` });
  });

  test.each<[JsonObject, string]>([
    [{ server: "mat", tool: "sum" }, 'There is no MCP server "mat". Did you mean "math"?'],
    [{ server: "math", tool: "summ" }, 'The server "math" has no tool "summ". Did you mean "sum"?'],
    [{ server: "math", tool: "sum", arguments: [1] }, '"arguments" must be an object'],
  ])("mcp_call %j is refused: %s", (given, message) => {
    expect(validateInput(lazy().byName("mcp_call").input, given)).toEqual({
      ok: false,
      message: `[validation error] the arguments: ${message}`,
    });
  });

  test("a server that isn't up yet is waited for and connected anew; then its tool is checked and called", async () => {
    const { host, byName } = offerOf([connecting("late")]);
    host.reconnect = async (name) => {
      host.set(name, { state: "ready", tools: [tool("late", "go", { inputSchema: sum.inputSchema })] });
      return ready(name, []);
    };
    const call = byName("mcp_call");
    const good = prepared(call, { server: "late", tool: "go", arguments: { a: 1 } });
    const bad = prepared(call, { server: "late", tool: "go", arguments: { a: "x" } });
    await bench().run(call, good);
    expect(host.waits).toHaveLength(1);
    expect(host.calls).toMatchObject([{ tool: "go", args: { a: 1 } }]);
    await expect(bench().run(call, bad)).rejects.toThrow(ToolError);
    expect(host.calls).toHaveLength(1);
  });

  test.each([
    ["by its full name", "mcp__late__go", ["go"], "mcp__late__mcp__late__go"],
    ["by a name that it turns out to share", "a.b", ["a.b", "a_b"], "mcp__late__a_b"],
  ])(
    "a tool called %s before its server answered is not run under the name that rules judged",
    async (_, name, found, judged) => {
      const { host, byName } = offerOf([connecting("late")]);
      const call = byName("mcp_call");
      const input = prepared(call, { server: "late", tool: name });
      expect(call.subjects(input)).toEqual([{ kind: "text", text: judged }]);
      host.set("late", { state: "ready", tools: found.map((one) => tool("late", one)) });
      await expect(bench().run(call, input)).rejects.toThrow(`it was judged as ${judged}, but`);
      expect(host.calls).toEqual([]);
      // Once more, and it is judged as what it is.
      await bench().run(call, prepared(call, { server: "late", tool: name }));
      expect(host.calls).toHaveLength(1);
    },
  );

  test("a person sees the arguments that will be sent", () => {
    const long = "x".repeat(120);
    const of = direct().byName("mcp__math__sum");
    expect(of.details?.({ a: 1 })).toBe('{"a":1}');
    expect(of.details?.({ a: 1, note: `${long}\n` })).toBe(`{\n  "a": 1,\n  "note": "${long}\\n"\n}`);
    expect(
      lazy()
        .byName("mcp_call")
        .details?.({ server: "s", tool: "t", arguments: { a: 1 } }),
    ).toBe('{"a":1}');
  });
});

describe("looking", () => {
  const states = [
    ready("math", [tool("math", "sum", { description: "Adds two numbers." }), ...toolsOf("math", 4)]),
    ready("down", [], { state: "failed", problem: "it\nis\u001b[2J gone" }),
  ];
  const run = async (name: string, input: JsonObject): Promise<string> => {
    const { byName } = offerOf(states);
    return (await bench().run(byName(name), input)).text;
  };

  test("tool_search gives schemas and says which servers are missing", async () => {
    const text = await run("tool_search", { query: "add numbers" });
    expect(text).toStartWith('server: "math", tool: "sum"\nAdds two numbers.\nschema: {"type":"object"');
    expect(text).toContain("The server down is not available: it is");
    expect(text).not.toContain("\u001b");
  });

  test("a tool whose name can't be shown is found by a name that it can be called by", async () => {
    const { host, byName } = offerOf([ready("odd", [tool("odd", "wipe\u001b[2J\n"), ...toolsOf("odd", 4)])]);
    const text = (await bench().run(byName("tool_search"), { query: "wipe" })).text;
    const name = /tool: "([^"]+)"/.exec(text)?.[1] ?? "";
    const checked = validateInput(byName("mcp_call").input, { server: "odd", tool: name });
    if (!checked.ok) throw new Error(checked.message);
    await bench().run(byName("mcp_call"), checked.input);
    expect(host.calls).toMatchObject([{ tool: "wipe\u001b[2J\n" }]);
  });

  test("mcp_list names servers, and one server's tools; mcp_inspect shows one", async () => {
    expect(await run("mcp_list", {})).toMatch(/^- down: not available: .*\n- math: 5 tools\. /);
    expect(await run("mcp_list", { server: "math" })).toContain("- sum: Adds two numbers.\n- t0: t0 it.");
    expect(await run("mcp_inspect", { server: "math", tool: "sum" })).toContain("Adds two numbers.\nschema: {");
    await expect(run("mcp_list", { server: "maths" })).rejects.toThrow('Did you mean "math"?');
  });

  test("huge descriptions and schemas are cut, and all of an answer stays below what is cut again", async () => {
    const schema = { type: "object", properties: { x: { type: "string", description: "word ".repeat(20_000) } } };
    const huge = Array.from({ length: 9 }, (_, at) =>
      tool("big", `same_${at}`, { description: "many words ".repeat(5000), inputSchema: schema }),
    );
    const { byName } = offerOf([ready("big", huge)]);
    const found = (await bench().run(byName("tool_search"), { query: "same" })).text;
    expect(found.length).toBeLessThan(30_000);
    expect(found).toContain("characters more)");
    const one = (await bench().run(byName("mcp_inspect"), { server: "big", tool: "same_1" })).text;
    expect(one.length).toBeLessThan(30_000);
  });

  test("what stands in the array is not searched for", () => {
    const { reach } = offerOf([ready("few", [tool("few", "sum")]), ...states]);
    reach.offered = new Set(["mcp__few__sum"]);
    expect(
      reach
        .index()
        .search("sum")
        .tools.map((one) => one.tool.server),
    ).toEqual(["math"]);
  });
});

describe("permissions", () => {
  const { offer } = offerOf([ready("a", [tool("a", "x")]), ready("b", [tool("b", "y.z"), ...toolsOf("b", 4)])]);
  const judge = (rules: WrittenRules, name: string, input: JsonObject): string => {
    const gate = makeGate("/", { rules });
    const of = offer.tools.find((one) => one.name === name);
    if (!of) throw new Error(name);
    const checked = validateInput(of.input, input);
    if (!checked.ok) throw new Error(checked.message);
    return gate.judge({ id: "1", tool: of, input: checked.input, rawInput: input }).decision;
  };
  const meta = { server: "b", tool: "y.z" };

  test.each<[WrittenRules, string, string]>([
    [{}, "ask", "ask"],
    [{ "mcp__*": "allow" }, "allow", "allow"],
    [{ "mcp__a__*": "allow" }, "allow", "ask"],
    [{ mcp__b__y_z: "allow", mcp__a__x: "deny" }, "deny", "allow"],
    [{ mcp_call: "allow" }, "ask", "allow"],
    [{ mcp_call: "allow", "mcp__b__*": "deny" }, "ask", "deny"],
  ])("%j: direct %s, by mcp_call %s", (rules, direct, called) => {
    expect(judge(rules, "mcp__a__x", {})).toBe(direct);
    expect(judge(rules, "mcp_call", meta)).toBe(called);
  });

  test("looking asks nobody", () => {
    for (const name of META.slice(0, 3))
      expect(judge({}, name, { query: "x", server: "b", tool: "y.z" })).toBe("allow");
  });
});
