/** MCP servers in words for the person at the terminal: how each stands, what an entry would start. Untrusted text is on one line; the printer sanitises it. */
import { joinWords } from "./argv-words.ts";
import { messageOf } from "./errors.ts";
import { parseMcpServer, type McpStdioConfig } from "./mcp-config.ts";
import { MCP_STATES, type McpServerState } from "./mcp-types.ts";
import { redactUrl } from "./network.ts";
import { sanitizeLabel } from "./sanitize.ts";
import { cutTail } from "./text.ts";

const WORDS = {
  idle: "not started",
  connecting: "connecting",
  ready: "ready",
  failed: "failed",
  login: "wants a login",
} as const satisfies Record<(typeof MCP_STATES)[number], string>;

const MAX_LOG = 2_000;

/** One line per server: name, state, tools and how the model reaches them. */
export function statusText(states: readonly McpServerState[], isDirect: (state: McpServerState) => boolean): string {
  const width = Math.max(0, ...states.map((state) => state.name.length));
  return states.map((state) => `${state.name.padEnd(width)}  ${stateText(state, isDirect(state))}`).join("\n");
}

/** After a test: how it stands, the tools by name, and what a failed one wrote on stderr. */
export function testText(state: McpServerState): string {
  const tools = state.tools.map((tool) =>
    `  ${sanitizeLabel(tool.name, 100)}  ${sanitizeLabel(tool.description, 90)}`.trimEnd(),
  );
  const log = state.state === "failed" ? logText(state.log) : [];
  return [`${state.name}: ${stateText(state, null)}`, ...tools, ...log].join("\n");
}

/** What an entry of `mcpServers` would start or connect to, or what is wrong with it. Values of variables and headers are not shown. */
export function entryText(name: string, entry: unknown): string {
  try {
    const server = parseMcpServer(name, entry);
    if (server.type !== "stdio") return `${server.type} ${redactUrl(server.url)}${named("headers", server.headers)}`;
    const place = server.cwd === null ? "" : ` (in ${server.cwd})`;
    return `${joinWords([server.command, ...server.args])}${place}${named("env", server.env)}${confinement(server)}`;
  } catch (error) {
    return messageOf(error);
  }
}

/** Everything an entry would bring to run, send or be trusted with, word by word: what somebody is asked to agree to. */
export function wholeEntry(name: string, entry: unknown): string {
  try {
    const server = parseMcpServer(name, entry);
    const trusted =
      server.readOnlyTools.length === 0 ? "" : `, read-only tools ${JSON.stringify(server.readOnlyTools)}`;
    if (server.type !== "stdio")
      return `connects to ${server.url}${whole("headers", server.headers)}${whole("oauth", server.oauth)}${trusted}`;
    const argv = JSON.stringify([server.command, ...server.args]);
    const place = server.cwd === null ? "" : ` in ${JSON.stringify(server.cwd)}`;
    return `runs ${argv}${place}${whole("env", server.env)}${confinement(server)}${trusted}`;
  } catch (error) {
    return `can't be used: ${messageOf(error)}`;
  }
}

function stateText(state: McpServerState, direct: boolean | null): string {
  const word = WORDS[state.state];
  const tools = `${state.tools.length} ${state.tools.length === 1 ? "tool" : "tools"}`;
  const how = direct === null ? "" : direct ? ", offered directly" : ", found by tool_search";
  const problem = state.problem === null ? "" : `: ${sanitizeLabel(state.problem, 300)}`;
  const login = state.state === "login" ? ` (/mcp login ${state.name})` : "";
  const known = state.tools.length > 0 || state.state === "ready" ? `, ${tools}${how}` : "";
  return `${word}${known}${problem}${login}`;
}

function logText(log: string): string[] {
  if (log.trim() === "") return [];
  return ["its stderr:", cutTail(log.trimEnd(), MAX_LOG).text];
}

function confinement({ sandbox }: McpStdioConfig): string {
  if (sandbox === undefined) return "";
  const write = sandbox.write.length === 0 ? "" : `, writes in ${JSON.stringify(sandbox.write)}`;
  return `, in the sandbox (network ${sandbox.network}${write})`;
}

function named(what: string, map: Readonly<Record<string, string>>): string {
  const names = Object.keys(map);
  return names.length === 0 ? "" : `, ${what} ${names.join(" ")}`;
}

function whole(what: string, map: object): string {
  return Object.keys(map).length === 0 ? "" : `, ${what} ${JSON.stringify(map)}`;
}
