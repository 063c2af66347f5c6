/** MCP servers in the built program: adding and testing them from the command line, calling them headless, and `/mcp` at a terminal. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../src/types.ts";
import { type Bench, BINARY, closeBenches, openBench } from "./support/binary.ts";
import { serverEntry } from "./support/mcp-server.ts";
import type { Received, Reply } from "./support/model-server.ts";
import { openPty, type Pty } from "./support/pty.ts";

const opened: Pty[] = [];
afterAll(async () => {
  for (const pty of opened) pty.close();
  await closeBenches();
});

/** One call, then an end that quotes what came back. */
const calling =
  (name: string, input: JsonObject) =>
  ({ text }: Received): Reply =>
    text.includes('"role":"tool"') ? { text: "over" } : { calls: [{ name, input }] };

function toolNames(request: Received | undefined): string[] {
  const tools = request?.body.tools;
  return Array.isArray(tools)
    ? [...JSON.stringify(tools).matchAll(/"function":\{"name":"([^"]+)"/g)].map(([, name]) => name ?? "")
    : [];
}

const mcpNames = (request: Received | undefined): string[] =>
  toolNames(request).filter((name) => /^(?:mcp_|tool_search)/.test(name));

async function openTerminal(at: Bench): Promise<Pty> {
  const env = Object.fromEntries(
    Object.entries({ ...at.env, SHIRO_HOME: at.home, HOME: at.home }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
  const pty = openPty([BINARY], { cwd: at.dir, env, cols: 160, rows: 50 });
  opened.push(pty);
  return pty;
}

describe.concurrent("shiro mcp", () => {
  test("adds, lists, tests and removes a server, and writes only that", async () => {
    const at = await openBench([], { config: { model: "kept" } });
    const { command, args } = serverEntry() as { command: string; args: string[] }; // as serverEntry makes it
    expect((await at.run(["mcp", "list"])).stdout).toContain("No MCP server is configured");
    const added = await at.run(["mcp", "add", "tiny", "--env", "WORD=secret-word", "--", command, ...args, "--x"]);
    expect(added).toMatchObject({ code: 0, stderr: "" });
    const config = join(at.home, "config.json");
    expect(JSON.parse(readFileSync(config, "utf8"))).toEqual({
      model: "kept",
      mcpServers: { tiny: { command, args: [...args, "--x"], env: { WORD: "secret-word" } } },
    });
    const listed = await at.run(["mcp", "list"]);
    expect(listed.stdout).toMatch(/^tiny {2}.*bun\S* .* --x, env WORD\n$/);
    const tested = await at.run(["mcp", "test", "tiny"]);
    expect(tested).toMatchObject({ code: 0, stderr: "" });
    expect(tested.stdout).toStartWith("tiny: ready, 11 tools\n  die\n  echo\n");
    expect((await at.run(["mcp", "remove", "tiny"])).code).toBe(0);
    expect(JSON.parse(readFileSync(config, "utf8"))).toEqual({ model: "kept", mcpServers: {} });
  }, 30_000);

  test.each([
    [["tset"], 'No "shiro mcp tset". Did you mean "test"?'],
    [["add", "bad name", "https://x"], '"bad name" is no usable name'],
    [["add", "x"], 'What is "x"?'],
    [["add", "x", "ftp://host/mcp"], '"ftp://host/mcp" is no address that begins with http:// or https://'],
    [["add", "x", "https://x", "--env", "A=b"], "--env is for local servers"],
    [["add", "x", "--header", "A: b", "--", "run"], "--header is for remote servers"],
    [["add", "tiny", "run"], '"tiny" is configured already. --force replaces it'],
    [["test", "tini"], 'Did you mean "tiny"?'],
    [["remove"], "Usage: shiro mcp"],
  ])("%j is refused in one line", async (words, message) => {
    const at = await openBench([], { endpoint: false, config: { mcpServers: { tiny: serverEntry() } } });
    const { code, stderr } = await at.run(["mcp", ...words]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  test("a server that can't start fails its test and the doctor, with its name", async () => {
    const at = await openBench([], { config: { mcpServers: { gone: { command: "no-such-command-here" } } } });
    const tested = await at.run(["mcp", "test", "gone"]);
    expect(tested.code).toBe(1);
    expect(tested.stdout).toStartWith("gone: failed: ");
    const bad = await openBench([], { config: { mcpServers: { odd: { comand: "x" } } } });
    expect((await bad.run(["doctor"])).stdout).toMatch(/^FAIL mcp +mcpServers\.odd/m);
  }, 30_000);
});

describe.concurrent("headless", () => {
  const wide = { mcpServers: { tiny: serverEntry(), gone: { command: "no-such-command-here" } } };
  const echo = { server: "tiny", tool: "echo", arguments: { text: "there and back" } };

  test("a lazy server sends no schema, its call is denied without a rule and made with one", async () => {
    const at = await openBench(calling("mcp_call", echo), { config: wide });
    const denied = await at.run(["-p", "go"]);
    expect(denied.stderr).toMatch(/^warning: MCP server "gone" failed: .*no-such-command-here/m);
    expect(denied.stderr).toContain("1 call denied");
    expect(mcpNames(at.server.requests[0])).toEqual(["tool_search", "mcp_list", "mcp_inspect", "mcp_call"]);
    expect(at.server.requests[0]?.text).toContain("- tiny: 11 tools.");
    const count = at.server.requests.length;
    const allowed = await at.run(["--allow", "mcp__tiny__echo", "-p", "go"]);
    expect(allowed.stderr).not.toContain("denied");
    expect(at.server.requests[count + 1]?.text).toContain("there and back");
    expect(at.server.faults).toEqual([]);
  }, 30_000);

  test("a direct server's tools stand in the array, and the same rule covers them; --no-mcp leaves all out", async () => {
    const at = await openBench(calling("mcp__tiny__echo", { text: "there and back" }), {
      config: { mcpServers: { tiny: serverEntry({}, { expose: "direct" }) }, permission: { "mcp__tiny__*": "allow" } },
    });
    await at.run(["-p", "go"]);
    expect(mcpNames(at.server.requests[0])).toContain("mcp__tiny__echo");
    expect(mcpNames(at.server.requests[0])).toHaveLength(11);
    expect(at.server.requests[1]?.text).toContain("there and back");
    const count = at.server.requests.length;
    await at.run(["--no-mcp", "-p", "go"]);
    expect(mcpNames(at.server.requests[count])).toEqual([]);
    expect(at.server.faults).toEqual([]);
  }, 30_000);
});

test("at a terminal: a repository's server is asked about once, /mcp lists, and a call shows its arguments", async () => {
  const entry = serverEntry({}, { env: { X: "a\u001b[2Jb" }, readOnlyTools: ["grow"] });
  const own = { mcpServers: { lint: entry }, permission: { "git_\u001b[2J": { "*": "allow" } } };
  const at = await openBench(
    calling("mcp_call", { server: "lint", tool: "echo", arguments: { text: "seen by you" } }),
    {
      files: { ".shiro/config.json": JSON.stringify(own) },
    },
  );
  const pty = await openTerminal(at);
  await pty.expect("Trust this file as it is and start them?", 15_000);
  expect(pty.screen.text()).toContain('"lint" runs ["');
  // Where the line wraps is decided by where this checkout lies.
  expect(pty.screen.text().replace(/\s+/g, " ")).toContain('read-only tools ["grow"]');
  expect(pty.screen.text()).toContain('"git_\\u001b[2J": { "*": "allow" }');
  expect(pty.raw()).not.toContain("\u001b[2J");
  expect(existsSync(join(at.home, "trust.json"))).toBe(false);
  pty.write("y\r");
  await pty.expect("> ", 10_000);
  pty.write("go\r");
  await pty.expect('{"text":"seen by you"}', 15_000);
  expect(pty.screen.text()).toContain("mcp__lint__echo");
  await pty.expect("view whole", 10_000);
  pty.write("y");
  await pty.expect("over", 10_000);
  pty.write("/mcp\r");
  await pty.expect("lint  ready, 11 tools, found by tool_search", 10_000);
  pty.write("/mcp add web\r");
  await pty.expect("filter>", 5_000);
  pty.write("2\r");
  await pty.expect("address", 5_000);
  pty.write("http://127.0.0.1:9/mcp\r");
  await pty.expect("header name", 5_000);
  // Half an answer adds nothing.
  pty.write("\u0003");
  await pty.expect("Nothing was added", 5_000);
  pty.write("/exit\r");
  expect(await pty.exited).toBe(0);
  const again = await openTerminal(at);
  await again.expect("mcp lint", 10_000);
  await again.expect("> ", 10_000);
  expect(again.raw()).not.toContain("Trust this file");
  again.write("/exit\r");
  expect(await again.exited).toBe(0);
  expect(at.server.faults).toEqual([]);
}, 60_000);

test("a refusal is remembered as well: nothing starts, and nobody asks again", async () => {
  const own = { mcpServers: { lint: { command: "touch", args: ["STARTED"] } } };
  const at = await openBench([{ text: "over" }], { files: { ".shiro/config.json": JSON.stringify(own) } });
  const pty = await openTerminal(at);
  await pty.expect("start them?", 15_000);
  pty.write("n\r");
  await pty.expect("They are not started", 10_000);
  pty.write("/exit\r");
  await pty.exited;
  const again = await openTerminal(at);
  await again.expect("> ", 10_000);
  expect(again.raw()).not.toContain("start them?");
  again.write("/exit\r");
  await again.exited;
  expect(existsSync(at.path("STARTED"))).toBe(false);
}, 60_000);
