/** Local MCP servers in the sandbox: what they are started with, that they are confined, and that none is started where there is no sandbox. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseMcpServer, type McpSandbox } from "../src/mcp-config.ts";
import { confinedStart } from "../src/mcp-sandbox.ts";
import { entryText, wholeEntry } from "../src/mcp-status.ts";
import { makeMcpHost } from "../src/mcp.ts";
import { settingsOf, type SandboxConfig } from "../src/sandbox-settings.ts";
import { openSandbox, type SandboxRequest } from "../src/sandbox.ts";
import { isExcludedLine } from "../src/tool-bash-sandbox.ts";
import { serverEntry } from "./support/mcp-server.ts";
import { closePlaces, places } from "./support/sandbox-places.ts";
import { landlockAbi } from "./support/sandbox-run.ts";

afterAll(closePlaces);
const abi = landlockAbi();
if (abi < 1) console.warn("NO LANDLOCK HERE: MCP servers are not tried in the sandbox");

test.each([
  [undefined, undefined],
  [false, undefined],
  [true, { network: "off", write: [] }],
  [{ network: "on" }, { network: "on", write: [] }],
  [{ write: ["~/notes"] }, { network: "off", write: ["~/notes"] }],
] as const)("sandbox %j is %j", (written, meant) => {
  const entry = { command: "x", ...(written === undefined ? {} : { sandbox: written }) };
  const server = parseMcpServer("tiny", entry);
  expect<unknown>("sandbox" in server ? server.sandbox : undefined).toEqual(meant);
});

test.each([
  ["on", "mcpServers.tiny.sandbox: must be true, false, or an object with network and write"],
  [{ network: "ask" }, "mcpServers.tiny.sandbox"],
  [{ outside: true }, "mcpServers.tiny.sandbox"],
])("sandbox %j is refused", (sandbox, message) => {
  expect(() => parseMcpServer("tiny", { command: "x", sandbox })).toThrow(message);
});

test("where an entry is shown, so is its sandbox", () => {
  const entry = { command: "x", sandbox: { network: "on", write: ["~/a b"] } };
  expect(entryText("tiny", entry)).toBe('x, in the sandbox (network on, writes in ["~/a b"])');
  expect(wholeEntry("tiny", { command: "x", sandbox: true })).toBe('runs ["x"], in the sandbox (network off)');
});

describe("the start", () => {
  const plain = { argv: ["srv"], cwd: "/w", env: { HOME: "/home/me", X_TOKEN: "t", BUN_OPTIONS: "--preload evil" } };
  const start = async (sandbox: McpSandbox, env: Record<string, string> = {}) => {
    const requests: SandboxRequest[] = [];
    const enter = async (request: SandboxRequest) => {
      requests.push(request);
      return {
        inside: true as const,
        argv: ["self", ...request.argv],
        cwd: "/",
        env: { A: "a" },
        reports: false,
        explain: () => null,
      };
    };
    const started = await confinedStart(plain, { env, sandbox }, { sandbox: { enter }, workspaceRoot: "/w" });
    return { request: requests[0], started };
  };

  test("asks for confinement or nothing, with what the entry gives and no more", async () => {
    const { request } = await start({ network: "on", write: ["~/notes", "sub"] });
    expect(request).toMatchObject({
      command: "",
      quiet: true,
      mustConfine: true,
      allowed: { network: true, write: ["/home/me/notes", "/w/sub"] },
    });
    expect((await start({ network: "off", write: [] })).request?.allowed).toEqual({ write: [] });
  });

  test("keeps the entry's own variables, and none that would change the launcher", async () => {
    const { started } = await start({ network: "off", write: [] }, { X_TOKEN: "t", bun_options: "--preload evil" });
    expect(started).toEqual({ argv: ["self", "srv"], cwd: "/", env: { A: "a", X_TOKEN: "t" } });
  });
});

const never = new AbortController().signal;
const calm = { signal: never, output: () => {}, ask: null, yolo: false };

/** A zombie whose parent doesn't fetch it has ended all the same. */
function isAlive(pid: number): boolean {
  const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, "latin1") : "";
  return stat !== "" && !/\) [ZX] /.test(stat);
}

function open(config: SandboxConfig, more: object) {
  const at = places("tmp");
  const sandbox = openSandbox({
    settings: settingsOf(config),
    places: at,
    env: { TMPDIR: join(at.home, "tmp"), PATH: process.env["PATH"] },
    platform: "linux",
    self: [process.execPath, join(import.meta.dir, "../src/main.ts"), "__sandbox"],
    passed: [],
    isExcluded: isExcludedLine,
  });
  const host = makeMcpHost({
    servers: { tiny: serverEntry({}, { sandbox: true, ...more }) },
    env: {},
    childEnv: { PATH: process.env["PATH"] ?? "", HOME: at.home },
    workspaceRoot: at.workspace,
    home: at.stateHome,
    sandbox,
    version: "0",
    notice: () => {},
  });
  return { at, host, sandbox };
}

test.skipIf(abi < 1)("a server in it answers, knows where it is, and is ended with all that it started", async () => {
  const { host, sandbox } = open("on", { env: { MY_TOKEN: "kept" } });
  host.start();
  await host.settled(20_000, never);
  expect(host.states()).toMatchObject([{ name: "tiny", state: "ready", problem: null }]);
  const textOf = async (tool: string, args: Record<string, string>): Promise<string> =>
    JSON.stringify(await host.call("tiny", tool, args, calm));
  expect(await textOf("env", { name: "SHIRO_SANDBOX" })).toMatch(/f(ull|s\d)/);
  expect(await textOf("env", { name: "MY_TOKEN" })).toContain("kept");
  const pids =
    /(\d+) (\d+)/
      .exec(await textOf("fork", {}))
      ?.slice(1)
      .map(Number) ?? [];
  expect(pids.map(isAlive)).toEqual([true, true]);
  await host.close();
  sandbox.close();
  const end = performance.now() + 10_000;
  while (pids.some(isAlive) && performance.now() < end) await Bun.sleep(10);
  expect(pids.filter(isAlive)).toEqual([]);
});

test("where there is no sandbox the server isn't started", async () => {
  const { at, host } = open("off", { command: "sh", args: ["-c", "touch started; exit 1"] });
  host.start();
  await host.settled(20_000, never);
  expect(host.states()).toMatchObject([
    { state: "failed", problem: "It may run only in the sandbox, and can't: sandbox.mode is off. It was not run." },
  ]);
  expect(await Bun.file(join(at.workspace, "started")).exists()).toBe(false);
  await host.close();
});
