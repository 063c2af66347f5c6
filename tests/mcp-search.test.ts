/** Finding MCP tools by words, over the tools of three public servers. */
import { expect, test } from "bun:test";
import { nameTools } from "../src/mcp-names.ts";
import { ToolIndex, tokensOf } from "../src/mcp-search.ts";
import { growth } from "./support/growth.ts";
import { tool } from "./support/mcp-fake.ts";
import schemas from "./support/mcp-schemas.json" with { type: "json" };

const index = new ToolIndex(nameTools(schemas.map((one) => tool(one.server, one.name, one))));
const found = (query: string, of = index): string[] => of.search(query).tools.map((one) => one.tool.name);

test.each([
  ["echo a message back", "echo"],
  ["annotated message with metadata priority", "get-annotated-message"],
  ["show environment variables of the server", "get-env"],
  ["getEnv", "get-env"],
  ["links to resources", "get-resource-links"],
  ["resource reference by id", "get-resource-reference"],
  ["structured weather data for a location", "get-structured-content"],
  ["add two numbers", "get-sum"],
  ["tiny image logo", "get-tiny-image"],
  ["compress a file with gzip", "gzip-file-as-resource"],
  ["turn simulated logging on", "toggle-simulated-logging"],
  ["subscribe to resource updates", "toggle-subscriber-updates"],
  ["long running operation with progress", "trigger-long-running-operation"],
  ["which roots does the client offer", "get-roots-list"],
  ["ask the user with an elicitation", "trigger-elicitation-request"],
  ["sample from the LLM", "trigger-sampling-request"],
  ["deep research on a topic", "simulate-research-query"],
  ["read text with its encoding", "read_text_file"],
  ["read image or audio as base64", "read_media_file"],
  ["read multiple files at once", "read_multiple_files"],
  ["write content to a new file", "write_file"],
  ["overwrite file", "write_file"],
  ["edit lines in a file, dry run diff", "edit_file"],
  ["create a directory", "create_directory"],
  ["list files and directories in a path", "list_directory"],
  ["directory listing sorted by size", "list_directory_with_sizes"],
  ["tree of a directory as JSON", "directory_tree"],
  ["rename a file", "move_file"],
  ["find files by glob pattern", "search_files"],
  ["file size, permissions and modification time", "get_file_info"],
  ["which directories am I allowed to access", "list_allowed_directories"],
  ["create entities in the knowledge graph", "create_entities"],
  ["create a relation between entities", "create_relations"],
  ["add an observation about an entity", "add_observations"],
  ["forget an entity: delete it", "delete_entities"],
  ["remove observations, delete", "delete_observations"],
  ["delete relations", "delete_relations"],
  ["read the whole knowledge graph", "read_graph"],
  ["search nodes in memory by query", "search_nodes"],
  ["open nodes by name", "open_nodes"],
])("%p finds %s first", (query, name) => {
  expect(found(query)[0]).toBe(name);
});

test("at most eight come, and nothing that has no word in common", () => {
  expect(found("file directory")).toHaveLength(8);
  expect(found("quaternion")).toEqual([]);
  expect(found("")).toEqual([]);
});

test("equal tools come by name, in whatever order they were given", () => {
  const tools = ["c", "a", "b"].map((server) => tool(server, "same"));
  const servers = (given: typeof tools): string[] =>
    new ToolIndex(nameTools(given)).search("same").tools.map((one) => one.tool.server);
  expect(servers(tools)).toEqual(["a", "b", "c"]);
  expect(servers(tools.toReversed())).toEqual(["a", "b", "c"]);
});

test("select: gives exactly the named ones, by full or own name, and says which are missing", () => {
  const { tools, missing } = index.search("select: mcp__memory__read_graph , filesystem/move_file,echo,nothing");
  expect(tools.map((one) => one.tool.name)).toEqual(["read_graph", "move_file", "echo"]);
  expect(missing).toEqual(["nothing"]);
});

test.each([
  ["read_textFile-v2.now/x:y", ["read", "text", "file", "v2", "now", "x", "y"]],
  ["parseHTTPResponse", ["parse", "http", "response"]],
  ["directories files class status", ["directory", "file", "class", "status"]],
  ["天気予報 api", ["api", "天", "気", "予", "報", "天気", "気予", "予報"]],
])("%p is taken apart into words", (text, words) => {
  expect(tokensOf(text)).toEqual(words);
});

test("a description in Chinese is found by a part of a word", () => {
  const own = new ToolIndex(
    nameTools([tool("w", "x1", { description: "查询天气预报" }), tool("w", "x2", { description: "发送邮件" })]),
  );
  expect(found("天气", own)).toEqual(["x1"]);
});

test("properties count at every depth", () => {
  const inputSchema = {
    type: "object",
    properties: {
      list: { type: "array", items: { type: "object", properties: { zebraStripes: { type: "number" } } } },
    },
  };
  const own = new ToolIndex(nameTools([tool("s", "one"), tool("s", "two", { inputSchema })]));
  expect(found("stripes of a zebra", own)).toEqual(["two"]);
});

test("the time grows with the number of tools and no faster", async () => {
  const search = (count: number) => {
    const description = "some words ".repeat(10);
    const tools = nameTools(Array.from({ length: count }, (_, at) => tool("s", `tool_${at}`, { description })));
    return () => new ToolIndex(tools).search("some tool with words");
  };
  expect(await growth(search, 25)).toBeLessThan(8);
});
