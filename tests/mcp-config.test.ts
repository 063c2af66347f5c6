/** One entry of `mcpServers`: what is taken, what is refused and how that is said. */
import { describe, expect, test } from "bun:test";
import { UserError } from "../src/errors.ts";
import { expandMcpServer, parseMcpServer, secretsIn } from "../src/mcp-config.ts";

function problem(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof UserError && error.kind === "config") return error.message;
    throw error;
  }
  return "";
}

describe("an entry", () => {
  test("local and remote ones get their defaults", () => {
    const common = { timeoutMs: 60_000, startTimeoutMs: 60_000, expose: null, readOnlyTools: [] };
    expect(parseMcpServer("a", { command: "x" })).toEqual({
      ...common,
      type: "stdio",
      command: "x",
      args: [],
      env: {},
      cwd: null,
    });
    const url = "https://example.com/mcp";
    expect(parseMcpServer("b.c-d_e", { url })).toEqual({ ...common, type: "http", url, headers: {}, oauth: {} });
    expect(parseMcpServer("s", { url, type: "sse", timeoutMs: 5, expose: "direct" })).toMatchObject({
      type: "sse",
      timeoutMs: 5,
      expose: "direct",
    });
  });

  test.each<[name: string, entry: unknown, message: string]>([
    ["a b", { command: "x" }, 'mcpServers: "a b" is no usable name. Take letters'],
    ["../x", { command: "x" }, 'mcpServers: "../x" is no usable name.'],
    ["__proto__", { command: "x" }, "is no usable name."],
    ["a", "npx", "mcpServers.a: must be an object with a command or a url"],
    ["a", {}, "mcpServers.a: needs a command (local) or a url (remote)"],
    ["a", { command: "x", url: "https://x" }, "mcpServers.a: has a command and a url. Keep one of them"],
    ["a", { command: ["npx"] }, "mcpServers.a.command: must be a string"],
    ["a", { command: "" }, "mcpServers.a.command: must not be empty"],
    ["a", { command: "x", arg: [] }, 'mcpServers.a.arg: is unknown. Did you mean "args"?'],
    ["a", { command: "x", headers: {} }, "mcpServers.a.headers: is unknown"],
    ["a", { command: "x", args: [1] }, "mcpServers.a.args.0: must be a string"],
    ["a", { command: "x", env: { A: 1 } }, "mcpServers.a.env.A: must be a string"],
    ["a", { command: "x", timeoutMs: 0 }, "mcpServers.a.timeoutMs: must be at least 1 ms"],
    ["a", { command: "x", timeoutMs: "60s" }, "mcpServers.a.timeoutMs: must be a number of milliseconds"],
    ["a", { command: "x", startTimeoutMs: 2 ** 31 }, "mcpServers.a.startTimeoutMs: must be at most 2147483647 ms"],
    ["a", { command: "x", expose: "all" }, 'mcpServers.a.expose: must be "lazy" or "direct"'],
    ["a", { command: "x", type: "http" }, 'mcpServers.a.type: must be "stdio" where there is a command'],
    ["a", { url: "https://x", type: "ws" }, 'mcpServers.a.type: must be "http" or "sse"'],
    ["a", { url: "https://x", oauth: { id: "x" } }, "mcpServers.a.oauth.id: is unknown"],
    ["a", { url: "https://x", oauth: { scopes: "a b" } }, "mcpServers.a.oauth.scopes: must be a list of strings"],
  ])("%s %j", (name, entry, message) => {
    const found = problem(() => parseMcpServer(name, entry));
    expect(found).toStartWith(message.startsWith("is no") ? "mcpServers" : message);
    expect(found).toContain(message);
    expect(found).not.toContain("\n");
  });
});

describe("variables", () => {
  const env = { HOST: "example.com", EMPTY: "", TOKEN: "${HOST}" };
  const remote = (url: string, headers: Record<string, string> = {}) =>
    expandMcpServer("w", parseMcpServer("w", { url, headers }), env);

  test("are replaced in every string of an entry, once, with a default where they are unset or empty", () => {
    expect(
      remote("https://${HOST}/${PATH_PART:-mcp}/$HOST", {
        authorization: "Bearer ${TOKEN}",
        a: "${EMPTY}",
        b: "${EMPTY:-x}",
        c: "${NONE:-}",
      }),
    ).toMatchObject({
      url: "https://example.com/mcp/$HOST",
      headers: { authorization: "Bearer ${HOST}", a: "", b: "x", c: "" },
    });
    const local = parseMcpServer("l", {
      command: "${HOST}",
      args: ["-${HOST}-"],
      env: { A: "${HOST}" },
      cwd: "/${HOST}",
    });
    expect(expandMcpServer("l", local, env)).toMatchObject({
      command: "example.com",
      args: ["-example.com-"],
      env: { A: "example.com" },
      cwd: "/example.com",
    });
  });

  test("that are unset are named with server and field; what isn't http is refused", () => {
    expect(problem(() => remote("https://x", { key: "${NONE}" }))).toBe(
      "mcpServers.w.headers.key: the variable NONE is not set. Set it, or write ${NONE:-default}",
    );
    expect(problem(() => remote("https://x/${constructor}"))).toContain("the variable constructor is not set");
    expect(problem(() => remote("file:///etc/passwd"))).toBe("mcpServers.w.url: must begin with http:// or https://");
    expect(problem(() => remote("https://me:secret@x"))).not.toContain("secret");
    expect(problem(() => remote("https://x", { "a b": "c" }))).toBe("mcpServers.w.headers.a b: is no name of a header");
    expect(problem(() => remote("https://x", { key: "hush\nx: y" }))).toBe(
      "mcpServers.w.headers.key: holds a character that no header can carry",
    );
  });
});

test.each<[string, string, string[]]>([
  ["authorization", "Bearer abc-def-123", ["Bearer abc-def-123", "abc-def-123"]],
  ["X-Environment", "production", []],
  ["AUTH_MODE", "disabled", []],
  ["Accept", "application/json", []],
  ["X-Odd", "ghp_0123456789abcdefghij", ["ghp_0123456789abcdefghij", "ghp_0123456789abcdefghij"]],
])("the header %s: %s holds the secrets %j", (name, value, secrets) => {
  const config = parseMcpServer("w", { url: "https://x", headers: { [name]: value } });
  expect(secretsIn(config).filter((one) => one !== "")).toEqual(secrets);
});
