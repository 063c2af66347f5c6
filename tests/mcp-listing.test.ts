/** Lists of tools that no server should send. */
import { describe, expect, test } from "bun:test";
import { listTools, MAX_PAGES, MAX_TOOLS } from "../src/mcp-listing.ts";

describe("a list", () => {
  test("that never ends is read for a hundred pages, with one warning; schemas that can't be used become any object", async () => {
    let pages = 0;
    const deep = JSON.parse(`${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`);
    const listing = await listTools({
      server: "s",
      readOnlyTools: [],
      page: async () => ({
        nextCursor: String(++pages),
        tools: [{ name: `t${pages % 3}`, inputSchema: [deep, { properties: {} }, 7][pages % 3] }],
      }),
    });
    expect(pages).toBe(MAX_PAGES);
    expect(listing.warning).toContain("MCP server s lists its tools on more than 100 pages");
    expect(listing.tools.map((tool) => tool.inputSchema)).toEqual([
      { type: "object" },
      { type: "object", properties: {} },
      { type: "object" },
    ]);
    expect(listing.skipped).toHaveLength(97);
  });

  test("of more tools than anybody can find their way in ends with a warning; a name of a page's length is left out", async () => {
    let pages = 0;
    const listing = await listTools({
      server: "s",
      readOnlyTools: [],
      page: async () => ({
        nextCursor: String(++pages),
        tools: Array.from({ length: 3000 }, (_, at) => ({ name: at === 0 ? "x".repeat(2000) : `t${pages}-${at}` })),
      }),
    });
    expect(pages).toBe(4);
    expect(listing.warning).toContain(`MCP server s lists more than ${MAX_TOOLS} tools`);
    expect(listing.tools).toHaveLength(MAX_TOOLS - 4);
    expect(listing.skipped).toHaveLength(4);
  });
});
