/** When MCP servers start, how long a request waits for them, and how their tools come to a session. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "../src/args.ts";
import type { McpServerState } from "../src/mcp-types.ts";
import type { ModelRequest } from "../src/provider.ts";
import { gateOf } from "../src/setup-gate.ts";
import { SessionServers } from "../src/setup-mcp.ts";
import { connecting, fakeHost, ready, tool, toolsOf, type FakeHost } from "./support/mcp-fake.ts";
import { serverEntry } from "./support/mcp-server.ts";
import { scriptedProvider } from "./support/scripted.ts";
import { clearStages, openStage } from "./support/state-stage.ts";

afterAll(clearStages);

const never = new AbortController().signal;

interface Scene {
  link: SessionServers;
  host: FakeHost;
  /** What the model is told with its next message. */
  told: () => string[];
  said: string[];
  refreshed: () => number;
  names: () => string[];
}

async function opened(states: readonly McpServerState[], interactive = true): Promise<Scene> {
  const host = fakeHost(states);
  const notes: (() => string | null)[] = [];
  const said: string[] = [];
  let refreshed = 0;
  const link = new SessionServers({
    interactive,
    yolo: false,
    audience: () => ({ tell: (note) => void notes.push(note), refreshPrompt: () => void refreshed++ }),
    notice: (message) => void said.push(message),
    openHost: async () => host,
  });
  await link.open({ any: {} });
  const told = (): string[] => notes.splice(0).flatMap((note) => note() ?? []);
  return { link, host, told, said, refreshed: () => refreshed, names: () => link.tools().map((one) => one.name) };
}

const META = ["tool_search", "mcp_list", "mcp_inspect", "mcp_call"];

describe("starting", () => {
  test("without servers there is no host, no tool and no line", async () => {
    const link = new SessionServers({
      interactive: true,
      yolo: false,
      audience: () => {
        throw new Error("nobody is told anything");
      },
      notice: () => {},
      openHost: () => {
        throw new Error("nothing is opened");
      },
    });
    await link.open({});
    await link.beforeFirstRequest(never);
    link.historyCut();
    expect([link.tools(), link.lines(), link.known(), link.host]).toEqual([[], [], [], null]);
  });

  test("opening connects to nothing, and nothing is offered before the first request", async () => {
    const { host, link, names } = await opened([ready("s", toolsOf("s", 2))]);
    expect(host.started).toBe(0);
    expect(names()).toEqual([]);
    expect(link.known().map((one) => one.name)).toEqual(META);
  });

  test("the first request waits two seconds at a terminal, and as long as the servers may take without one", async () => {
    const terminal = await opened([connecting("s")]);
    await terminal.link.beforeFirstRequest(never);
    expect(terminal.host.waits).toEqual([2000]);
    const pipe = await opened([connecting("s")], false);
    await pipe.link.beforeFirstRequest(never);
    expect(pipe.host.waits).toEqual([60_000]);
    expect(pipe.host.started).toBe(1);
  });
});

describe("joining", () => {
  test("what is up by the first request is offered, and the head of the requests is made of it", async () => {
    const { link, names, refreshed } = await opened([ready("s", toolsOf("s", 2))]);
    await link.beforeFirstRequest(never);
    expect(names()).toEqual(["mcp__s__t0", "mcp__s__t1"]);
    expect(refreshed()).toBe(1);
  });

  test("a server that joins later is announced once; its tools are found by search and the array stays", async () => {
    const { link, host, told, names, refreshed } = await opened([connecting("late")]);
    await link.beforeFirstRequest(never);
    const before = JSON.stringify(link.tools());
    host.set("late", { state: "ready", tools: toolsOf("late", 2) });
    host.set("late", { log: "more" });
    expect(told()).toEqual([
      'The MCP server "late" is connected now: 2 tools, found with tool_search and called with mcp_call.',
    ]);
    expect(names()).toEqual(META);
    expect(JSON.stringify(link.tools())).toBe(before);
    expect(refreshed()).toBe(1);
    expect(
      link.reach
        ?.index()
        .search("t1")
        .tools.map((one) => one.name),
    ).toEqual(["mcp__late__t1"]);
  });

  test.each(["renew", "historyCut"] as const)("its direct tools join the array with %s", async (how) => {
    const { link, host, names, refreshed, told } = await opened([connecting("late")]);
    await link.beforeFirstRequest(never);
    host.set("late", { state: "ready", tools: toolsOf("late", 2) });
    link[how]();
    expect(names()).toEqual(["mcp__late__t0", "mcp__late__t1"]);
    expect(told()).toEqual([]);
    expect(refreshed()).toBe(2);
    link[how]();
    expect(refreshed()).toBe(2);
  });

  test("another list of a direct server changes the array; the same list read again, or a death, does not", async () => {
    const { link, host, names, refreshed, told } = await opened([ready("s", toolsOf("s", 2))]);
    await link.beforeFirstRequest(never);
    host.set("s", { tools: toolsOf("s", 2) });
    host.set("s", { state: "failed", problem: "gone" });
    expect(refreshed()).toBe(1);
    host.set("s", { state: "ready", problem: null, tools: toolsOf("s", 3) });
    expect(names()).toEqual(["mcp__s__t0", "mcp__s__t1", "mcp__s__t2"]);
    expect(refreshed()).toBe(2);
    expect(told()).toEqual([]);
  });
});

describe("what the person is told", () => {
  test("an entry that can't be used is one line when the others start", async () => {
    const problem = "mcpServers.odd.comand: is unknown";
    const { link, said } = await opened([ready("odd", [], { state: "failed", problem }), connecting("o")]);
    expect(said).toEqual([]);
    link.start();
    expect(said).toEqual([`MCP server "odd" failed: ${problem}`]);
  });

  test("a failure is one line until the server was up again", async () => {
    const { host, said } = await opened([connecting("s"), connecting("o")]);
    host.set("s", { state: "failed", problem: "no such command" });
    host.set("s", { log: "x" });
    host.set("o", { state: "login" });
    host.set("s", { state: "ready" });
    host.set("s", { state: "failed", problem: "died" });
    expect(said).toEqual([
      'MCP server "s" failed: no such command',
      'MCP server "o" wants a login: shiro mcp login o',
      'MCP server "s" failed: died',
    ]);
  });

  test("renamed tools are told once", async () => {
    const { link, said } = await opened([ready("s", [tool("s", "a.b")])]);
    await link.beforeFirstRequest(never);
    link.renew();
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('"a.b" of s is mcp__s__a_b');
  });
});

test("opening others closes those before, and what they offered is gone", async () => {
  const { link, host, names } = await opened([ready("s", toolsOf("s", 2))]);
  await link.beforeFirstRequest(never);
  await link.open({});
  expect(host.closed).toBe(1);
  expect(names()).toEqual([]);
  host.set("s", { state: "failed", problem: "late news" });
  expect(link.host).toBeNull();
});

test("in a session: rules name the tools, a changed list changes the requests, and what was sent before stays", async () => {
  const provider = scriptedProvider([
    { calls: [{ name: "mcp__tiny__grow" }] },
    { text: "grown" },
    { calls: [{ name: "mcp__tiny__grown" }] },
    { text: "over" },
  ]);
  const stage = await openStage({
    provider,
    args: [],
    config: {
      mcpServers: { tiny: serverEntry({}, { expose: "direct" }) },
      permission: { "mcp__tiny__*": "allow" },
    },
  });
  const changed = Promise.withResolvers<void>();
  stage.setup.mcp.host?.onChange((name) => {
    if (stage.setup.mcp.reach?.find(name, "grown")) changed.resolve();
  });
  await stage.say("one");
  await changed.promise;
  const events = await stage.say("two");
  const [first, , third] = provider.requests;
  const names = (request: ModelRequest | undefined): string[] => request?.tools.map((one) => one.name) ?? [];
  expect(names(first)).toContain("mcp__tiny__grow");
  expect(names(first)).not.toContain("mcp__tiny__grown");
  expect(names(third)).toContain("mcp__tiny__grown");
  expect(third?.messages.slice(0, first?.messages.length)).toEqual([...(first?.messages ?? [])]);
  // The server, not shiro, says that it can't do it.
  expect(events.find((event) => event.type === "tool-error")).toMatchObject({
    error: expect.stringContaining("no tool grown"),
  });
}, 20_000);

const folder = mkdtempSync(join(tmpdir(), "shiro-link-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("without servers none of their modules is loaded by a session", async () => {
  const code = `
    import { parseArgs } from ${JSON.stringify(join(import.meta.dir, "../src/args.ts"))};
    import { setUp } from ${JSON.stringify(join(import.meta.dir, "../src/setup.ts"))};
    const env = { PATH: "", HOME: ${JSON.stringify(folder)}, SHIRO_HOME: ${JSON.stringify(join(folder, "home"))},
      SHIRO_PROVIDER: "openai", SHIRO_BASE_URL: "http://127.0.0.1:9/v1", SHIRO_MODEL: "m", SHIRO_API_KEY: "some-key" };
    const { options } = parseArgs(["--ephemeral"]);
    const setup = await setUp({ options, env, cwd: ${JSON.stringify(folder)}, interactive: true, onNotice() {} });
    setup.session.systemText();
    await setup.close();
    const loaded = Object.keys(require.cache);
    // A list of names and a way to wait, which import nothing.
    const light = /[/]mcp-(types|clock)[.]ts$/;
    const mcp = loaded.filter((path) => /[/]mcp[^/]*[.]ts$|modelcontextprotocol/.test(path) && !light.test(path));
    console.log(JSON.stringify({ mcp, session: loaded.some((path) => path.endsWith("/session.ts")) }));
    process.exit(0);
  `;
  const child = Bun.spawn([process.execPath, "-e", code], { cwd: folder, stdout: "pipe", stderr: "inherit" });
  expect(JSON.parse(await new Response(child.stdout).text())).toEqual({ mcp: [], session: true });
});

test("rules may name the tools of servers where none is configured, and a mistyped one is reported", () => {
  const home = mkdtempSync(join(folder, "rules-"));
  const config = { permission: { mcp_call: "deny", tool_search: "ask", mcp_cal: "deny" } };
  writeFileSync(join(home, "config.json"), JSON.stringify(config), { mode: 0o600 });
  const { options } = parseArgs(["--allow", "mcp_list"]);
  const { reports } = gateOf({ options, env: { SHIRO_HOME: home, HOME: home, PATH: "" }, cwd: home });
  expect(reports).toEqual([expect.stringContaining('permission "mcp_cal" names no tool')]);
});
