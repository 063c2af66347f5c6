/** Names of MCP tools: what providers take, distinct, and the same in whatever order servers come. */
import { expect, test } from "bun:test";
import { nameTools, renamingNote, subjectOf } from "../src/mcp-names.ts";
import { tool } from "./support/mcp-fake.ts";
import { seeded } from "./support/random-text.ts";

const names = (pairs: [string, string][], taken: string[] = []): Record<string, string> =>
  Object.fromEntries(
    nameTools(
      pairs.map(([server, name]) => tool(server, name)),
      new Set(taken),
    ).map((named) => [`${named.tool.server}/${named.tool.name}`, named.name]),
  );

test("a tool goes by its server and its name; what a provider refuses becomes an underscore", () => {
  expect(
    names([
      ["files", "read-text"],
      ["files", "a.b/c d"],
    ]),
  ).toEqual({
    "files/read-text": "mcp__files__read-text",
    "files/a.b/c d": "mcp__files__a_b_c_d",
  });
});

test("of two tools that clean to one name, the one that needed no cleaning keeps it", () => {
  const named = names([
    ["s", "a_b"],
    ["s", "a.b"],
  ]);
  expect(named["s/a_b"]).toBe("mcp__s__a_b");
  expect(named["s/a.b"]).toMatch(/^mcp__s__a_b_[0-9a-f]{8}$/);
});

test("where nobody has a better right, all get a tail: also across servers whose names hold the separator", () => {
  const named = names([
    ["s", "a.b"],
    ["s", "a/b"],
    ["x__y", "z"],
    ["x", "y__z"],
  ]);
  expect(new Set(Object.values(named)).size).toBe(4);
  for (const name of Object.values(named)) expect(name).toMatch(/_[0-9a-f]{8}$/);
});

test("a tool named after another one's tail takes nothing from it, and a builtin name is never given away", () => {
  const tail = names([
    ["s", "a.b"],
    ["s", "a/b"],
  ])["s/a.b"]?.slice("mcp__s__".length);
  const named = names([
    ["s", "a.b"],
    ["s", "a/b"],
    ["s", tail ?? ""],
  ]);
  expect(named[`s/${tail}`]).toBe(`mcp__s__${tail}`);
  expect(new Set(Object.values(named)).size).toBe(3);
  expect(names([["s", "t"]], ["mcp__s__t"])["s/t"]).toMatch(/^mcp__s__t_[0-9a-f]{8}$/);
});

test("a long name is cut for the wire, and whole for the rules", () => {
  const long = "very_long_".repeat(12);
  const [named] = nameTools([tool("server", long)]);
  expect(named?.name).toMatch(/^mcp__server__very_long_.*_[0-9a-f]{8}$/);
  expect(named?.name.length).toBe(64);
  expect(named?.subject).toBe(`mcp__server__${long}`);
  expect(subjectOf("server", long)).toBe(`mcp__server__${long}`);
});

test("a tool listed twice counts once", () => {
  expect(
    nameTools([tool("s", "t"), tool("s", "t", { description: "other" })]).map((one) => one.tool.description),
  ).toEqual(["t it."]);
});

test("renaming is told in one line, with the names", () => {
  expect(renamingNote(nameTools([tool("s", "fine")]))).toBeNull();
  expect(renamingNote(nameTools([tool("s", "a.b")]))).toBe(
    'MCP tools whose names don\'t fit or collide are renamed: "a.b" of s is mcp__s__a_b',
  );
  expect(renamingNote(nameTools([tool("s", "x".repeat(900))]))?.length).toBeLessThan(250);
});

test("random tools: distinct, of the form providers take, and independent of the order", () => {
  const random = seeded(7);
  const pieces = ["a", "b", "_", "__", ".", "/", "é", "北", "x".repeat(40), "-", " "];
  const word = (): string => Array.from({ length: 1 + random(4) }, () => pieces[random(pieces.length)]).join("");
  for (let round = 0; round < 150; round++) {
    const tools = Array.from({ length: 12 }, () => tool(["s", "s_", "s__a", "é"][random(4)] ?? "s", word()));
    const named = nameTools(tools);
    const all = named.map((one) => one.name);
    expect(new Set(all).size).toBe(all.length);
    expect(new Set(named.map((one) => one.subject)).size).toBe(all.length);
    for (const name of all) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(nameTools(tools.toReversed()).map((one) => one.name)).toEqual(all);
  }
});
