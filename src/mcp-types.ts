/** What the rest of the program sees of MCP servers: their tools, their state, a call. Types and names only; mcp.ts implements them over the SDK. */
import type { AskQuestion, ToolOutput } from "./tool.ts";
import type { JsonObject } from "./types.ts";

/** How a server's tools reach the model: all their schemas at once, or found by `tool_search`. */
export type McpExposure = "lazy" | "direct";

export interface McpTool {
  server: string;
  /** As the server names it. */
  name: string;
  /** Untrusted. */
  description: string;
  /** JSON Schema of an object, as the server gave it; `{ "type": "object" }` where it gave nothing usable. */
  inputSchema: JsonObject;
  /** Named in the user's `readOnlyTools`: the server's own hints count for nothing. */
  readOnly: boolean;
}

/** The tools that stand for those of lazily exposed servers. Rules may name them where no server is configured. */
export const MCP_META_TOOLS = {
  search: "tool_search",
  list: "mcp_list",
  inspect: "mcp_inspect",
  call: "mcp_call",
} as const;

export const MCP_STATES = ["idle", "connecting", "ready", "failed", "login"] as const;

export interface McpServerState {
  name: string;
  /** `login`: it wants OAuth, and `shiro mcp login <name>` is the way. */
  state: (typeof MCP_STATES)[number];
  /** One line for a person where it failed or wants a login; null else. Untrusted text in it is not sanitised. */
  problem: string | null;
  /** Sorted by name; the last list that was read, kept through a failed re-read. */
  tools: readonly McpTool[];
  /** What the configuration says; null: by the number of tools. */
  expose: McpExposure | null;
  /** What the server says of itself, first line; null where nothing. */
  description: string | null;
  /** Last 64 KB of its stderr (stdio servers). */
  log: string;
}

export interface McpCallOptions {
  signal: AbortSignal;
  /** Progress text for the screen. */
  output(text: string): void;
  /** Elicitation: null where nobody can answer. */
  ask: ((question: AskQuestion) => Promise<string | null>) | null;
  /** Accepts an elicitation whose every field has a default. */
  yolo: boolean;
}

export interface McpHost {
  /** Every configured server, by name. */
  states(): readonly McpServerState[];
  /** Begins to connect to all, side by side. Never throws; what fails shows in the states. */
  start(): void;
  /** Resolves when none is connecting any more, when `ms` are over or when the signal fires. */
  settled(ms: number, signal: AbortSignal): Promise<void>;
  /** Longest `startTimeoutMs` of the configured servers, ms. */
  readonly startLimitMs: number;
  /**
   * Calls a tool; connects again (bounded) when the server died. Throws ToolError: `isError` results come back as an
   * output with `isError`; UnknownOutcomeError where the transport died under the call.
   */
  call(server: string, tool: string, args: JsonObject, options: McpCallOptions): Promise<ToolOutput>;
  /** Told after every change of a server's state or tools. Returns the undoing. */
  onChange(listener: (server: string) => void): () => void;
  /** Connects to a server that failed or was never started, as a call would: bounded, and shared with calls. Never throws. */
  revive(server: string): Promise<McpServerState>;
  /** Connects anew to one server: `/mcp test`, after a login. */
  reconnect(server: string): Promise<McpServerState>;
  /** Ends every connection and process with all its descendants. */
  close(): Promise<void>;
  /** The same without waiting, for signals and crashes. */
  closeNow(): void;
}
