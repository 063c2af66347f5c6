/** What goes with every request before anybody has said a word stays small. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "bun:test";
import { parseArgs } from "../src/args.ts";
import { setUp, type Setup } from "../src/setup.ts";

/** scripts/bench-wire.ts shows how much of these is used. */
const TOOL_BYTES = 9000;
const PROMPT_BYTES = 4096;

const folder = realpathSync(mkdtempSync(join(tmpdir(), "shiro-size-")));
const bodies: Record<string, unknown>[] = [];
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    bodies.push((await request.json()) as Record<string, unknown>); // our own client wrote it
    // Nobody repeats a request that was refused for its key.
    return Response.json({ error: { type: "authentication_error", message: "no" } }, { status: 401 });
  },
});
afterAll(async () => {
  await server.stop(true);
  rmSync(folder, { recursive: true, force: true });
});

function opened(wire: Record<string, string>): Promise<Setup> {
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: folder,
    SHIRO_HOME: join(folder, "home"),
    SHIRO_BASE_URL: `http://127.0.0.1:${server.port}/v1`,
    SHIRO_MODEL: "some-model",
    SHIRO_API_KEY: "some-key",
    ...wire,
  };
  const { options } = parseArgs(["--ephemeral"]);
  return setUp({ options, env, cwd: folder, interactive: true, onNotice: () => {} });
}

test.each([
  ["chat completions", { SHIRO_PROVIDER: "openai", SHIRO_WIRE: "chat" }],
  ["responses", { SHIRO_PROVIDER: "openai", SHIRO_WIRE: "responses" }],
  ["anthropic messages", { SHIRO_PROVIDER: "anthropic" }],
])("all default tools fit into 9,000 bytes as %s", async (_, wire) => {
  const setup = await opened(wire);
  bodies.length = 0;
  for await (const event of setup.session.send("hello", null, new AbortController().signal)) void event;
  await setup.close();
  const tools = bodies[0]?.["tools"];
  expect(Array.isArray(tools) && tools.length).toBe(setup.tools().length);
  expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThanOrEqual(TOOL_BYTES);
});

test("the default system prompt fits into 4 KB", async () => {
  const setup = await opened({ SHIRO_PROVIDER: "openai" });
  const text = setup.session.systemText();
  await setup.close();
  expect(text).toContain("read_file");
  expect(Buffer.byteLength(text)).toBeLessThan(PROMPT_BYTES);
});
