/** The host over real child processes that speak MCP on stdio. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolError, UnknownOutcomeError } from "../src/errors.ts";
import { makeMcpHost } from "../src/mcp.ts";
import type { McpCallOptions, McpHost } from "../src/mcp-types.ts";
import type { AskQuestion } from "../src/tool.ts";
import { serverEntry, type ServerKnobs } from "./support/mcp-server.ts";

const home = mkdtempSync(join(tmpdir(), "shiro-mcp-"));
const hosts: McpHost[] = [];

afterAll(async () => {
  await Promise.all(hosts.map((host) => host.close()));
  rmSync(home, { recursive: true, force: true });
});

function open(servers: Record<string, unknown>, notices: string[] = []): McpHost {
  const childEnv = { PATH: process.env.PATH ?? "", HOME: home };
  const env = { SHIRO_TEST_WORD: "from outside" };
  const notice = (message: string): void => void notices.push(message);
  const host = makeMcpHost({ servers, env, childEnv, workspaceRoot: home, home, version: "0", notice });
  hosts.push(host);
  return host;
}

const never = new AbortController().signal;
const calm: McpCallOptions = { signal: never, output: () => {}, ask: null, yolo: false };

async function started(servers: Record<string, unknown>, notices: string[] = []): Promise<McpHost> {
  const host = open(servers, notices);
  host.start();
  await host.settled(20_000, never);
  return host;
}

const tiny = (knobs: ServerKnobs = {}, more = {}): Promise<McpHost> => started({ tiny: serverEntry(knobs, more) });

function stateOf(host: McpHost, name = "tiny") {
  const found = host.states().find((state) => state.name === name);
  if (!found) throw new Error(`no ${name}`);
  return found;
}

async function until(what: () => boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!what()) {
    if (performance.now() > end) throw new Error("it never happened");
    await Bun.sleep(10);
  }
}

const thrown = (work: Promise<unknown>): Promise<unknown> => work.then(() => null).catch((error: unknown) => error);

describe("connecting", () => {
  test("nothing is started before start(), good servers work beside bad ones, each bad one has its line", async () => {
    const mark = join(home, "started");
    const servers = {
      good: serverEntry(),
      missing: { command: "no-such-command-here" },
      dying: { command: "sh", args: ["-c", "echo oh dear >&2; exit 3"] },
      unset: { command: "x", args: ["${SHIRO_UNSET_WORD}"] },
      odd: { command: "x", timeout: 3 },
      witness: { command: "sh", args: ["-c", `: > ${mark}; exit 1`] },
    };
    const host = open(servers);
    expect(existsSync(mark)).toBe(false);
    expect(host.states().map(({ name, state }) => `${name} ${state}`)).toEqual([
      "dying idle",
      "good idle",
      "missing idle",
      "odd failed",
      "unset idle",
      "witness idle",
    ]);
    host.start();
    await host.settled(20_000, never);
    expect(stateOf(host, "good")).toMatchObject({ state: "ready", problem: null, description: "Tiny server" });
    expect(stateOf(host, "dying").problem).toBe("it ended with exit code 3 before it was ready; it last said: oh dear");
    expect(stateOf(host, "missing").problem).toContain('"no-such-command-here" is not on PATH');
    expect(stateOf(host, "unset").problem).toContain(
      "mcpServers.unset.args.0: the variable SHIRO_UNSET_WORD is not set",
    );
    expect(stateOf(host, "odd").problem).toBe('mcpServers.odd.timeout: is unknown. Did you mean "timeoutMs"?');
    expect((await host.call("good", "echo", { text: "hi" }, calm)).text).toBe("hi");
  });

  test("a server that never answers fails at its limit", async () => {
    const host = await tiny({ silent: true }, { startTimeoutMs: 400 });
    expect(stateOf(host).state).toBe("failed");
    expect(stateOf(host).problem).toStartWith("it was not ready within 0.4 s (startTimeoutMs)");
  });

  test("noise on stdout is skipped and kept in the log; a message in two writes is whole", async () => {
    const host = await tiny({ noise: true });
    expect((await host.call("tiny", "echo", { text: "häß".repeat(50) }, calm)).text).toBe("häß".repeat(50));
    expect(stateOf(host).log).toContain("[stdout] INFO starting");
    expect(stateOf(host).log).not.toContain("FAULT");
  });

  test("the environment is the given one and the entry's own on top, variables expanded", async () => {
    const host = await tiny({}, { env: { OWN: "${SHIRO_TEST_WORD}!", OTHER: "${SHIRO_UNSET:-fallback}" } });
    const value = async (name: string): Promise<string> => (await host.call("tiny", "env", { name }, calm)).text;
    expect([await value("OWN"), await value("OTHER"), await value("HOME"), await value("SHIRO_TEST_WORD")]).toEqual([
      "from outside!",
      "fallback",
      home,
      "unset",
    ]);
  });
});

describe("lists", () => {
  test("one bad entry costs itself only, every page is read, a repeated page stops with one warning", async () => {
    const notices: string[] = [];
    const good = { name: "good", description: "d", inputSchema: { type: "object", properties: { a: {} } } };
    const pages = [
      [{ name: "" }, { name: "bare", inputSchema: null }],
      [good, { outputSchema: {} }, 7],
      [{ name: "bad", inputSchema: { type: "string" }, outputSchema: { $ref: "#/x" } }],
    ];
    const host = await started({ tiny: serverEntry({ pages, repeats: true }, { readOnlyTools: ["good"] }) }, notices);
    const bare = { server: "tiny", description: "", inputSchema: { type: "object" }, readOnly: false };
    expect(stateOf(host).tools).toEqual([
      { ...bare, name: "bad" },
      { ...bare, name: "bare" },
      { server: "tiny", ...good, readOnly: true },
    ]);
    expect(notices).toEqual(["MCP server tiny repeats a page of its list of tools; what was read until then is used"]);
  });

  test("a changed list is read once for several announcements; one that can't be read leaves the old", async () => {
    const host = await started({ a: serverEntry(), b: serverEntry({ failsLater: true }) });
    const before = stateOf(host, "b").tools;
    await Promise.all(["a", "b"].map((name) => host.call(name, "grow", {}, calm)));
    await until(() => stateOf(host, "a").tools.some((tool) => tool.name === "grown"));
    await until(() => stateOf(host, "b").log.includes("could not be read"));
    expect(stateOf(host, "b").tools).toEqual(before);
    expect(stateOf(host, "b").log.match(/could not be read/g)).toHaveLength(1);
  });
});

describe("calls", () => {
  test("results of every kind, refusals and unknown names come through", async () => {
    const host = await tiny();
    const result = (value: object) => host.call("tiny", "result", value as never, calm); // JSON by construction
    expect(await result({ content: [], structuredContent: { answer: 42 } })).toEqual({ text: '{"answer":42}' });
    expect(await result({ content: [{ type: "text", text: "no" }], isError: true })).toEqual({
      text: "no",
      isError: true,
    });
    const error = await thrown(host.call("tiny", "nothing", {}, calm));
    expect(error).toBeInstanceOf(ToolError);
    expect(String(error)).toContain("MCP server tiny, nothing: no tool nothing");
    expect(String(await thrown(host.call("tny", "x", {}, calm)))).toContain('Did you mean "tiny"?');
    expect(stateOf(host).log).not.toContain("FAULT");
  });

  test("a call without an answer ends at its limit, is cancelled at the server, which stays connected", async () => {
    const host = await tiny({}, { timeoutMs: 400 });
    const error = await thrown(host.call("tiny", "slow", {}, calm));
    expect(error).toBeInstanceOf(UnknownOutcomeError);
    expect(String(error)).toContain("no answer within 0.4 s without progress");
    await until(() => /slow (\d+)\n(?:.*\n)*cancelled \1\n/.test(stateOf(host).log));
    expect((await host.call("tiny", "echo", { text: "still" }, calm)).text).toBe("still");
  });

  test("progress starts the time anew and is shown", async () => {
    const host = await tiny({}, { timeoutMs: 600 });
    const lines: string[] = [];
    const result = await host.call(
      "tiny",
      "progress",
      { gapMs: 200 },
      { ...calm, output: (text) => void lines.push(text) },
    );
    expect(result.text).toBe("worked");
    expect(lines).toEqual([1, 2, 3, 4].map((step) => `working (${step}/4)\n`));
  });

  test("an interrupt cancels at the server and is an interrupt to the caller", async () => {
    const host = await tiny();
    const controller = new AbortController();
    const call = thrown(host.call("tiny", "slow", {}, { ...calm, signal: controller.signal }));
    await until(() => stateOf(host).log.includes("slow "));
    const reason = new DOMException("stop", "AbortError");
    controller.abort(reason);
    expect(await call).toBe(reason);
    await until(() => stateOf(host).log.includes("cancelled "));
  });

  test("a death during a call leaves its outcome unknown; the next call starts the server again, but not for ever", async () => {
    const host = await tiny();
    const error = await thrown(host.call("tiny", "die", {}, calm));
    expect(error).toBeInstanceOf(UnknownOutcomeError);
    await until(() => stateOf(host).state === "failed");
    expect(stateOf(host).problem).toContain("it ended with exit code 7; it last said: dying words");
    expect(stateOf(host).tools.length).toBeGreaterThan(5);
    expect((await host.call("tiny", "echo", { text: "back" }, calm)).text).toBe("back");
    for (let time = 0; time < 3; time++) {
      await thrown(host.call("tiny", "die", {}, calm));
      await until(() => stateOf(host).state === "failed");
    }
    const left = String(await thrown(host.call("tiny", "echo", {}, calm)));
    expect(left).toContain("3 times in a row and is left alone: it ended with exit code 7");
    expect(left + stateOf(host).problem).not.toContain("The next call");
    expect((await host.reconnect("tiny")).state).toBe("ready");
  });

  test("the workspace is the root; sampling is refused", async () => {
    const host = await tiny();
    const roots = JSON.parse((await host.call("tiny", "roots", {}, calm)).text);
    expect(roots).toEqual({ roots: [{ uri: `file://${home}`, name: "workspace" }] });
    expect(JSON.parse((await host.call("tiny", "sample", {}, calm)).text)).toMatchObject({ code: -32601 });
  });

  test("a server's question is declined where nobody is, answered with defaults under yolo, else by the user, whose time doesn't count", async () => {
    const host = await tiny({}, { timeoutMs: 400 });
    const requestedSchema = { type: "object", properties: { n: { type: "integer", default: 3 } }, required: ["n"] };
    const params = { message: "How many?", requestedSchema };
    const elicit = async (options: Partial<McpCallOptions>): Promise<unknown> =>
      JSON.parse((await host.call("tiny", "elicit", params, { ...calm, ...options })).text);
    expect(await elicit({})).toEqual({ action: "decline" });
    expect(await elicit({ yolo: true })).toEqual({ action: "accept", content: { n: 3 } });
    const asked: AskQuestion[] = [];
    const ask = async (question: AskQuestion): Promise<string> => {
      asked.push(question);
      await Bun.sleep(600);
      return "8";
    };
    expect(await elicit({ ask, yolo: true })).toEqual({ action: "accept", content: { n: 8 } });
    expect(asked[0]?.question).toContain("The MCP server tiny asks: How many?");
  });
});

describe("the end", () => {
  /** Zombies don't count: nobody may be there to reap them. */
  const alive = (pid: string): boolean => {
    const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, "latin1") : "";
    return stat !== "" && !/\) [ZX] /.test(stat);
  };

  test.skipIf(process.platform !== "linux")("no descendant is left, not even one in a session of its own", async () => {
    const gentle = await tiny();
    const stubborn = await tiny({ stubborn: true });
    const pidsOf = async (host: McpHost): Promise<string[]> =>
      (await host.call("tiny", "fork", {}, calm)).text.split(" ");
    const [first, second] = [await pidsOf(gentle), await pidsOf(stubborn)];
    expect([...first, ...second].every(alive)).toBe(true);
    stubborn.closeNow();
    await gentle.close();
    await until(() => ![...first, ...second].some(alive));
    expect(String(await thrown(gentle.call("tiny", "echo", {}, calm)))).toContain("not available");
  });
});
