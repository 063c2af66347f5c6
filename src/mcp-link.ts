/** One connection to one MCP server, from the transport to the SDK's client. Decides nothing about connecting again and keeps no state of the server. */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { jsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/types.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { orAborted } from "./abort.ts";
import type { McpRemoteConfig, McpServerConfig, McpStdioConfig } from "./mcp-config.ts";
import type { ElicitAnswer } from "./mcp-elicit.ts";
import type { LogTail } from "./mcp-lines.ts";
import type { McpAuth } from "./mcp-oauth.ts";
import { watchStreams } from "./mcp-streams.ts";
import type { Sandbox } from "./sandbox.ts";
import { httpTransport, isOldServer, sseTransport, type RemoteTransport } from "./mcp-remote.ts";
import { confinedStart, type ServerStart } from "./mcp-sandbox.ts";
import { StdioGoneError, StdioTransport } from "./mcp-stdio.ts";

export interface LinkDeps {
  /** With its variables expanded. */
  config: McpServerConfig;
  childEnv: Readonly<Record<string, string>>;
  workspaceRoot: string;
  sandbox?: Pick<Sandbox, "enter">;
  version: string;
  log: LogTail;
  /** Null for local servers. */
  auth: McpAuth | null;
  /** Fires when it took too long or the program ends. */
  signal: AbortSignal;
  elicit(params: Readonly<Record<string, unknown>>): Promise<ElicitAnswer>;
  toolsChanged(): void;
  /** Told how to end what is being started, for the case that the program ends before it is a link. */
  opening(closeNow: () => void): void;
}

export interface Link {
  client: Client;
  isOpen(): boolean;
  /** True while the server knows this client by a session that it may forget. */
  hasSession(): boolean;
  /** How a local server's process ended; null where it didn't, or where there is none. */
  exit(): string | null;
  onClose(listener: () => void): void;
  close(): Promise<void>;
  /** Without waiting. */
  closeNow(): void;
}

/** The SDK's code for it, which its own protocol layer gives to calls of a connection that closed. */
const CONNECTION_CLOSED = -32000;

/** The SDK's own limit is switched off: ours knows of progress and of questions to the user. */
export const NO_LIMIT = { timeout: 2 ** 31 - 1 } as const;

/** Connects and shakes hands. Throws whatever went wrong; nothing is left running then. */
export async function openLink(deps: LinkDeps): Promise<Link> {
  deps.signal.throwIfAborted();
  const { config } = deps;
  if (config.type === "stdio") return openLocal(config, deps);
  if (config.type === "sse") return openRemote(sseTransport, config, deps);
  try {
    return await openRemote(httpTransport, config, deps);
  } catch (error) {
    if (!(await isOldServer(error))) throw error;
    deps.log.push("[shiro] no streamable HTTP there, trying SSE\n");
    if (deps.auth) deps.auth.readsStream = true;
    return openRemote(sseTransport, config, deps);
  }
}

async function openLocal(config: McpStdioConfig, deps: LinkDeps): Promise<Link> {
  const transport = new StdioTransport({ ...(await startOf(config, deps)), log: deps.log });
  deps.opening(() => transport.closeNow());
  const part = { exit: () => transport.exit, close: () => transport.close(), closeNow: () => transport.closeNow() };
  return connect(transport, { ...part, hasSession: () => false, isStreamEnd: () => false }, deps);
}

async function startOf(config: McpStdioConfig, deps: LinkDeps): Promise<ServerStart> {
  const plain = {
    argv: [config.command, ...config.args],
    cwd: config.cwd === null ? deps.workspaceRoot : resolve(deps.workspaceRoot, config.cwd),
    env: { ...deps.childEnv, ...config.env },
  };
  return config.sandbox === undefined
    ? plain
    : confinedStart(plain, { env: config.env, sandbox: config.sandbox }, deps);
}

type Open = (config: McpRemoteConfig, fetch: McpAuth["fetch"]) => Promise<RemoteTransport>;

async function openRemote(open: Open, config: McpRemoteConfig, deps: LinkDeps): Promise<Link> {
  if (!deps.auth) throw new Error("A remote server needs its McpAuth");
  const lost = (id: number | string): void => {
    const error = { code: CONNECTION_CLOSED, message: "the server's stream ended without an answer" };
    remote.transport.onmessage?.({ jsonrpc: "2.0", id, error });
  };
  const remote = await open(config, watchStreams(deps.auth.fetch, lost));
  let left = false;
  const leave = async (): Promise<void> => {
    if (!left && remote.sessionId() !== undefined) await remote.farewell();
    left = true;
    await remote.transport.close();
  };
  const closeNow = (): void => void remote.transport.close().catch(() => {}); // it only aborts its requests
  const hasSession = (): boolean => remote.sessionId() !== undefined;
  return connect(
    remote.transport,
    { exit: () => null, close: leave, closeNow, hasSession, isStreamEnd: remote.isStreamEnd },
    deps,
  );
}

interface Ends extends Pick<Link, "exit" | "close" | "closeNow" | "hasSession"> {
  /** Whether an error means that the one stream which carries everything is over; a message too many doesn't. */
  isStreamEnd(error: Error): boolean;
}

async function connect(transport: Transport, ends: Ends, deps: LinkDeps): Promise<Link> {
  const client = await makeClient(deps);
  const listeners: (() => void)[] = [];
  let open = true;
  client.onclose = () => {
    open = false;
    listeners.forEach((listener) => listener());
  };
  client.onerror = (error) => {
    deps.log.push(`[shiro] ${error.message.slice(0, 1000)}\n`);
    // EventSource would open a new stream, of a session that nobody has initialised.
    if (ends.isStreamEnd(error) && client.getServerVersion()) void transport.close();
  };
  try {
    // Without the signal: a handshake can't be cancelled in the protocol, only its transport can be closed.
    await orAborted(client.connect(transport, NO_LIMIT), deps.signal);
  } catch (error) {
    await ends.close();
    throw deps.auth?.problem ?? (await explainEnd(error, ends.exit()));
  }
  return { client, isOpen: () => open, onClose: (listener) => void listeners.push(listener), ...ends };
}

/** A broken pipe is what one sees of a server that ended: how it ended says more. */
async function explainEnd(error: unknown, exit: string | null): Promise<unknown> {
  const { ErrorCode, McpError } = await import("@modelcontextprotocol/sdk/types.js");
  const isGone =
    error instanceof StdioGoneError || (error instanceof McpError && error.code === ErrorCode.ConnectionClosed);
  return isGone && exit !== null ? new Error(`it ${exit} before it was ready`, { cause: error }) : error;
}

/** Results are read leniently here: the SDK's own checker would be built and never asked. */
const NO_VALIDATOR: jsonSchemaValidator = {
  // The type promises a shape that nobody reads.
  getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
};

async function makeClient(deps: LinkDeps): Promise<Client> {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { ElicitRequestSchema, ListRootsRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const client = new Client(
    { name: "shiro", version: deps.version },
    {
      capabilities: { roots: {}, elicitation: { form: {} } },
      jsonSchemaValidator: NO_VALIDATOR,
    },
  );
  const root = { uri: pathToFileURL(deps.workspaceRoot).href, name: "workspace" };
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [root] }));
  client.setRequestHandler(ElicitRequestSchema, async (request) => ({ ...(await deps.elicit(request.params)) }));
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === "notifications/tools/list_changed") deps.toolsChanged();
    if (method === "notifications/message") deps.log.push(`${JSON.stringify(params).slice(0, 2000)}\n`);
  };
  return client;
}
