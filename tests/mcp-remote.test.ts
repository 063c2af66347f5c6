/** The host against remote servers: sessions, the older transport, broken streams, logins. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolError, UnknownOutcomeError } from "../src/errors.ts";
import { runMcpLogin } from "../src/mcp-login.ts";
import { requireSafe } from "../src/mcp-oauth-provider.ts";
import { makeMcpHost } from "../src/mcp.ts";
import type { McpCallOptions, McpHost, McpServerState } from "../src/mcp-types.ts";
import { startRecordingProxy } from "./support/recording-proxy.ts";
import { startHttpServer, type HttpKnobs, type HttpServer } from "./support/mcp-http-server.ts";
import type { JsonObject } from "../src/types.ts";

const root = mkdtempSync(join(tmpdir(), "shiro-mcp-remote-"));
const ends: (() => unknown)[] = [];
afterAll(async () => {
  await Promise.all(ends.map((end) => end()));
  rmSync(root, { recursive: true, force: true });
});

const never = new AbortController().signal;
const calm: McpCallOptions = { signal: never, output: () => {}, ask: null, yolo: false };

interface Scene {
  server: HttpServer;
  home: string;
  servers: Record<string, JsonObject>;
  connect(): Promise<McpHost>;
}

function stage(knobs: HttpKnobs = {}, entry: JsonObject = {}): Scene {
  const server = startHttpServer(knobs);
  const home = mkdtempSync(join(root, "home-"));
  const servers = { web: { url: server.url, ...entry } };
  ends.push(() => server.stop());
  const connect = async (): Promise<McpHost> => {
    const host = makeMcpHost({
      servers,
      env: {},
      childEnv: {},
      workspaceRoot: root,
      home,
      version: "0",
      notice: () => {},
    });
    ends.unshift(() => host.close());
    host.start();
    await host.settled(20_000, never);
    return host;
  };
  return { server, home, servers, connect };
}

const echo = (host: McpHost, value = "hi") => host.call("web", "echo", { value }, calm);
const thrown = (work: Promise<unknown>): Promise<unknown> => work.then(() => null).catch((error: unknown) => error);

function only(host: McpHost): McpServerState {
  const [state] = host.states();
  if (!state) throw new Error("no server");
  return state;
}

describe("streamable HTTP", () => {
  test("a call goes through a session, and the end of the program ends it", async () => {
    const { server, connect } = stage({}, { headers: { "x-key": "${KEY:-k}" } });
    const host = await connect();
    expect(await echo(host)).toEqual({ text: '{"value":"hi"}' });
    expect(server.headers["x-key"]).toBe("k");
    await host.close();
    expect(server.log.at(-1)).toBe("DELETE /mcp");
    expect(server.faults).toEqual([]);
  });

  test.each([
    ["404", {}],
    ["400", { forgets: 400 }],
  ] as const)(
    "calls that find their session forgotten, by %s, share one new handshake and are repeated once",
    async (_, knobs) => {
      const { server, connect } = stage(knobs);
      const host = await connect();
      server.expire();
      const results = await Promise.all(["a", "b", "c"].map((value) => echo(host, value)));
      expect(results.map((result) => result.text)).toEqual(['{"value":"a"}', '{"value":"b"}', '{"value":"c"}']);
      expect(server.log.filter((line) => line.endsWith(" initialize"))).toHaveLength(2);
      expect(server.faults).toEqual([]);
    },
  );

  test.each([
    [500, UnknownOutcomeError],
    [404, ToolError],
    [400, ToolError],
  ] as const)("a call answered with %i is an error, not a reason to hang", async (callStatus, kind) => {
    const { connect } = stage({ callStatus });
    const error = await thrown(echo(await connect()));
    expect(error).toBeInstanceOf(kind);
    expect(error instanceof UnknownOutcomeError).toBe(callStatus === 500);
  });

  test("a stream that ends without the answer leaves the outcome unknown at once", async () => {
    const { connect } = stage({ cuts: true });
    const error = await thrown(echo(await connect()));
    expect(error).toBeInstanceOf(UnknownOutcomeError);
    expect(String(error)).toContain("ended without an answer");
  });

  test("a server that isn't there is one line, and so is one that went away", async () => {
    const gone = stage();
    const host = await gone.connect();
    gone.server.stop();
    const error = await thrown(echo(host));
    expect(error).toBeInstanceOf(ToolError);
    expect(error).not.toBeInstanceOf(UnknownOutcomeError);
    expect(only(await gone.connect())).toMatchObject({ state: "failed", tools: [] });
  });

  test("a redirect to another origin is not followed: headers stay", async () => {
    const thief = startHttpServer();
    ends.push(() => thief.stop());
    const { connect } = stage({ redirect: thief.url }, { headers: { "x-key": "a-secret-of-mine" } });
    const state = only(await connect());
    expect(state.state).toBe("failed");
    expect(state.problem).toContain("not followed");
    expect(thief.log).toEqual([]);
    expect(JSON.stringify(state)).not.toContain("a-secret-of-mine");
  });
});

test.each([200, 400] as const)(
  "what a server sends back of its own headers is masked, with status %i",
  async (status) => {
    const headers = {
      authorization: "Bearer a-token-of-mine",
      "x-api-key": "a-secret-of-mine",
      accept: "application/json",
    };
    const { connect } = stage({ echoesHeaders: status }, { headers });
    const answer = await echo(await connect()).then(({ text }) => text, String);
    expect(answer).toContain('"x-api-key":"[redacted key]"');
    expect(answer).toContain("application/json");
    expect(answer).not.toContain("of-mine");
  },
);

describe("proxies", () => {
  test("are used for other machines, and never for this one", async () => {
    const server = startHttpServer();
    const proxy = await startRecordingProxy(0);
    ends.push(() => server.stop(), proxy.close);
    const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}` };
    const servers = { here: { url: server.url }, there: { url: "http://mcp.test/mcp" } };
    const host = makeMcpHost({
      servers,
      env,
      childEnv: {},
      workspaceRoot: root,
      home: root,
      version: "0",
      notice: () => {},
    });
    ends.unshift(() => host.close());
    host.start();
    await host.settled(20_000, never);
    expect(host.states().map((state) => state.state)).toEqual(["ready", "failed"]);
    expect(new Set(proxy.seen)).toEqual(new Set(["POST http://mcp.test/mcp HTTP/1.1"]));
  });
});

describe("SSE", () => {
  test.each([404, 405] as const)("a POST answered with %i falls back to it", async (old) => {
    const { server, connect } = stage({ old });
    expect(await echo(await connect())).toEqual({ text: '{"value":"hi"}' });
    expect(server.log.slice(0, 2)).toEqual(["POST /mcp initialize", "GET /mcp"]);
  });

  test("its stream's refusal wants a login, its stream's end is the connection's", async () => {
    const closed = stage({ old: 405, oauth: {} }, { type: "sse" });
    expect(only(await closed.connect())).toMatchObject({ state: "login" });
    const { server, connect } = stage({ old: 405 });
    const host = await connect();
    const { promise, resolve } = Promise.withResolvers<void>();
    host.onChange(() => only(host).state === "failed" && resolve());
    server.hangUp();
    await promise;
    expect(await echo(host)).toEqual({ text: '{"value":"hi"}' });
  });

  test("other failures of the POST don't", async () => {
    const { server, connect } = stage({ oauth: {} });
    expect(only(await connect()).state).toBe("login");
    expect(server.log).toEqual(["POST /mcp initialize"]);
  });
});

describe("login", () => {
  /** Plays the person: opens the printed address, pastes what the browser was sent to. */
  async function logIn(scene: Scene, paste = (location: string): string => location): Promise<string> {
    let said = "";
    await runMcpLogin("web", {
      servers: scene.servers,
      env: {},
      home: scene.home,
      say: (text) => void (said += `${text}\n`),
      readLine: async () => {
        const address = /http\S+response_type=code\S+/.exec(said)?.[0] ?? "";
        const response = await fetch(address, { redirect: "manual" });
        return paste(response.headers.get("location") ?? "");
      },
      signal: never,
    });
    return said;
  }

  const fileOf = (scene: Scene): string => {
    const [name] = readdirSync(join(scene.home, "mcp")).filter((one) => one.endsWith(".json"));
    return join(scene.home, "mcp", name ?? "");
  };

  test("without one the state and the tool's error name the command; with one calls work, tokens are private and never shown", async () => {
    const scene = stage({ oauth: { scope: "read" } });
    const before = await scene.connect();
    expect(only(before)).toMatchObject({ state: "login", problem: "it wants a login. Run: shiro mcp login web" });
    expect(String(await thrown(echo(before)))).toContain("shiro mcp login web");
    const said = await logIn(scene);
    expect(scene.server.scope).toBe("read");
    const host = await scene.connect();
    expect(await echo(host)).toEqual({ text: '{"value":"hi"}' });
    // The host that was refused needs no restart.
    expect(await echo(before)).toEqual({ text: '{"value":"hi"}' });
    expect(statSync(fileOf(scene)).mode & 0o777).toBe(0o600);
    expect(statSync(join(scene.home, "mcp")).mode & 0o777).toBe(0o700);
    expect(readFileSync(fileOf(scene), "utf8")).toContain("-secret");
    expect(said + JSON.stringify(host.states())).not.toContain("-secret");
    expect(scene.server.faults).toEqual([]);
  });

  test("a bare code does as well; a wrong state, a refusal and silence are one line", async () => {
    const scene = stage({ oauth: {} });
    const codeOf = (location: string): string => new URL(location).searchParams.get("code") ?? "";
    const failure = async (paste: (location: string) => string): Promise<string> =>
      String(await thrown(logIn(scene, paste)));
    expect(await failure((location) => location.replace(/state=[^&]*/, "state=other"))).toContain("another login");
    expect(await failure(() => "http://127.0.0.1/?error=access_denied&error_description=no%1b[31m")).toContain(
      "refused: no␛[31m",
    );
    expect(await failure(() => "")).toContain("no answer came");
    expect(await failure(() => "made-up")).toContain("The login to web failed: ");
    await logIn(scene, codeOf);
    expect((await echo(await scene.connect())).text).toBe('{"value":"hi"}');
  });

  test.each<[string, NonNullable<HttpKnobs["oauth"]>, string]>([
    [
      "names another issuer and takes the code itself",
      { says: { issuer: "https://honest.example", authorization_endpoint: "https://honest.example/authorize" } },
      "calls itself https://honest.example",
    ],
    ["offers no S256", { says: { code_challenge_methods_supported: ["plain"] } }, "code challenge method"],
    [
      "takes codes in the clear",
      { says: { token_endpoint: "http://192.0.2.1/token" } },
      "192.0.2.1 does not speak https",
    ],
    [
      "registers clients in the clear",
      { says: { registration_endpoint: "http://192.0.2.1/r" } },
      "does not speak https",
    ],
    [
      "promises to name itself in its answer and doesn't",
      { says: { authorization_response_iss_parameter_supported: true } },
      "belongs to another login",
    ],
  ])("an authorisation server that %s gets no code", async (_, oauth, message) => {
    const scene = stage({ oauth });
    expect(String(await thrown(logIn(scene)))).toContain(message);
    expect(scene.server.grants).toEqual([]);
  });

  test.each([
    ["https://login.example", "https://mcp.example", true],
    ["https://login.example", "http://127.0.0.1:1", true],
    ["http://localhost:2", "http://127.0.0.1:1", true],
    ["http://login.example", "https://mcp.example", false],
    ["http://169.254.169.254/latest", "https://mcp.example", false],
    ["http://127.0.0.1:2", "https://mcp.example", false],
    ["http://10.0.0.1", "http://127.0.0.1:1", false],
    ["file:///etc/passwd", "http://127.0.0.1:1", false],
  ])("%s as a place of the login to %s: %p", (address, server, isSafe) => {
    if (isSafe) requireSafe(address, server);
    else expect(() => requireSafe(address, server)).toThrow("does not speak https");
  });

  test("a scope that is none is neither shown nor kept", async () => {
    const toolScope = `write ${"x".repeat(5000)} \u00e9vil ${Array.from({ length: 200 }, (_, at) => `s${at}`).join(" ")}`;
    const scene = stage({ oauth: { scope: "read", toolScope } });
    await logIn(scene);
    const error = String(await thrown(echo(await scene.connect())));
    expect(error).toContain("it needs the scope write s0 s1 ");
    expect(error.length).toBeLessThan(500);
    expect(readFileSync(fileOf(scene), "utf8")).not.toContain("xxxx");
  });

  test("an access token that ran out is renewed once, silently, for all calls side by side", async () => {
    const scene = stage({ oauth: {} });
    await logIn(scene);
    const host = await scene.connect();
    scene.server.revoke();
    expect(await Promise.all([echo(host), echo(host), echo(host)])).toHaveLength(3);
    expect(scene.server.grants).toEqual(["authorization_code", "refresh_token"]);
    expect(statSync(fileOf(scene)).mode & 0o777).toBe(0o600);
  });

  test("a token known to be too old is renewed before it is sent", async () => {
    const scene = stage({ oauth: { ttlSeconds: 1 } });
    await logIn(scene);
    expect(only(await scene.connect()).state).toBe("ready");
    expect(scene.server.grants[1]).toBe("refresh_token");
  });

  test("a refused refresh wants a login, and nothing waits", async () => {
    const scene = stage({ oauth: {} });
    await logIn(scene);
    const host = await scene.connect();
    scene.server.revoke({ refresh: true });
    expect(String(await thrown(echo(host)))).toContain("its login has expired. Run: shiro mcp login web");
    expect(only(host).state).toBe("login");
    await logIn(scene);
    expect((await echo(host)).text).toBe('{"value":"hi"}');
  });

  test("a scope that a call lacked is asked for at the next login, beside the old ones", async () => {
    const scene = stage({ oauth: { scope: "read", toolScope: "write" } });
    await logIn(scene);
    const host = await scene.connect();
    expect(String(await thrown(echo(host)))).toContain("it needs the scope write). Run: shiro mcp login web");
    await logIn(scene);
    expect(scene.server.scope?.split(" ").sort()).toEqual(["read", "write"]);
    expect((await echo(host)).text).toBe('{"value":"hi"}');
  });

  test("a refusal for a scope that was granted is no reason for another login", async () => {
    const scene = stage({ oauth: { scope: "write", toolScope: "write", deaf: true } });
    await logIn(scene);
    const error = await thrown(echo(await scene.connect()));
    expect(String(error)).toContain("refuses this for want of write, which it has granted already");
    expect(String(error)).not.toContain("login");
  });

  test("a client registered by hand is used as it is, configured scopes win", async () => {
    const scene = stage({ oauth: { scope: "all", register: false } }, { oauth: { clientId: "mine", scopes: ["few"] } });
    await logIn(scene);
    expect(scene.server.scope).toBe("few");
    expect(scene.server.log.filter((line) => line.includes("/register"))).toEqual([]);
    expect(scene.server.faults).toEqual([]);
  });

  test("an address that was changed gets no token of the old one", async () => {
    const scene = stage({ oauth: {} });
    await logIn(scene);
    const other = startHttpServer();
    ends.push(() => other.stop());
    scene.servers.web = { url: other.url };
    await echo(await scene.connect());
    expect(other.headers.authorization).toBeUndefined();
  });
});
