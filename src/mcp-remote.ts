/** Transports to remote MCP servers: streamable HTTP, and SSE for older ones. Loads the SDK's when called. */
import type { FetchLike, Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { McpRemoteConfig } from "./mcp-config.ts";

export interface RemoteTransport {
  transport: Transport;
  /** In use with this server; undefined where it has none. */
  sessionId(): string | undefined;
  /** Whether an error means that no message will come any more. */
  isStreamEnd(error: Error): boolean;
  /** Tells the server that its session is over. Never throws. */
  farewell(): Promise<void>;
}

/** Waiting longer for a server's goodbye would hold the end of the program. */
const FAREWELL_MS = 1000;

export async function httpTransport(config: McpRemoteConfig, fetch: FetchLike): Promise<RemoteTransport> {
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const transport = new StreamableHTTPClientTransport(new URL(config.url), {
    fetch,
    requestInit: { headers: { ...config.headers } },
  });
  const farewell = async (): Promise<void> => {
    const leaving = transport.terminateSession().catch(() => {}); // it is over either way
    await Promise.race([leaving, Bun.sleep(FAREWELL_MS)]);
  };
  // The SDK declares `sessionId` as possibly undefined where its own interface says optional.
  return {
    transport: transport as Transport,
    sessionId: () => transport.sessionId,
    // Each request has a stream of its own.
    isStreamEnd: () => false,
    farewell,
  };
}

export async function sseTransport(config: McpRemoteConfig, fetch: FetchLike): Promise<RemoteTransport> {
  const { SSEClientTransport, SseError } = await import("@modelcontextprotocol/sdk/client/sse.js");
  const transport = new SSEClientTransport(new URL(config.url), {
    fetch,
    requestInit: { headers: { ...config.headers } },
  });
  const isStreamEnd = (error: Error): boolean => error instanceof SseError;
  return { transport, sessionId: () => undefined, isStreamEnd, farewell: async () => {} };
}

/** An HTTP failure of the POST that says: no streamable HTTP here. */
export async function isOldServer(error: unknown): Promise<boolean> {
  const { StreamableHTTPError } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  return error instanceof StreamableHTTPError && (error.code === 404 || error.code === 405);
}
