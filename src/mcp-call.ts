/** One tools/call over an open link: progress, limits, cancellation, and what its failure means. Never connects. */
import type { Progress } from "@modelcontextprotocol/sdk/types.js";
import { ToolError, UnknownOutcomeError, UserError, errnoOf, messageOf } from "./errors.ts";
import { CallClock, CallTimeout } from "./mcp-clock.ts";
import { NO_LIMIT, type Link } from "./mcp-link.ts";
import { StdioGoneError } from "./mcp-stdio.ts";
import { LoginNeededError } from "./mcp-oauth.ts";
import { outputOfResult } from "./mcp-result.ts";
import type { McpCallOptions } from "./mcp-types.ts";
import { oneLine } from "./text.ts";
import type { ToolOutput } from "./tool.ts";
import type { JsonObject } from "./types.ts";

/** What a screen gets of one call; a server may report progress a thousand times a second. */
const MAX_PROGRESS_CHARS = 64 * 1024;

const PING_MS = 5000;
/** Bun's and the system's codes for a request that never left. */
export const UNREACHED: ReadonlySet<string> = new Set([
  "ConnectionRefused",
  "ECONNREFUSED",
  "FailedToOpenSocket",
  "ENOTFOUND",
]);

export interface CallRequest {
  server: string;
  tool: string;
  args: JsonObject;
  timeoutMs: number;
  options: McpCallOptions;
  /** Masks the server's own keys and tokens in whatever it sends back. */
  hide(text: string): string;
  /** Told of the call while it runs: questions of the server belong to it. */
  running(call: RunningCall): () => void;
}

export interface RunningCall {
  options: McpCallOptions;
  clock: CallClock;
}

/** The session is unknown to the server: it has not run the call, and a new handshake mends it. */
export class SessionExpiredError extends Error {
  override name = "SessionExpiredError";
}

/**
 * Throws ToolError for what the server refuses, UnknownOutcomeError where no answer came, SessionExpiredError,
 * LoginNeededError, and the signal's reason when the user interrupts.
 */
export async function callTool(link: Link, request: CallRequest): Promise<ToolOutput> {
  const { options } = request;
  options.signal.throwIfAborted();
  const { ResultSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const clock = new CallClock(request.timeoutMs, options.signal);
  const done = request.running({ options, clock });
  const onprogress = progressTo(request, clock);
  const params = { name: request.tool, arguments: request.args };
  try {
    const limits = { ...NO_LIMIT, signal: clock.signal, onprogress };
    const output = outputOfResult(await link.client.request({ method: "tools/call", params }, ResultSchema, limits));
    return { ...output, text: request.hide(output.text) };
  } catch (error) {
    options.signal.throwIfAborted();
    const reason: unknown = clock.signal.reason;
    throw reason instanceof CallTimeout ? late(request, reason) : await explain(error, link, request);
  } finally {
    done();
    clock.stop();
  }
}

function progressTo({ options, hide }: CallRequest, clock: CallClock): (progress: Progress) => void {
  let left = MAX_PROGRESS_CHARS;
  return (progress) => {
    clock.progress();
    if (left <= 0) return;
    const line = `${hide(progressLine(progress))}\n`;
    left -= line.length;
    if (left >= 0) options.output(line);
  };
}

function progressLine({ progress, total, message }: Progress): string {
  const share = total === undefined ? String(progress) : `${progress}/${total}`;
  return message === undefined || message === "" ? `progress ${share}` : `${oneLine(message, 300)} (${share})`;
}

function late({ server, tool, timeoutMs }: CallRequest, reason: CallTimeout): UnknownOutcomeError {
  return new UnknownOutcomeError(
    `MCP server ${server} gave ${reason.message} to ${tool}; it was told to cancel, and what it has done is unknown. ` +
      `Look at the state before you try again. The user can raise mcpServers.${server}.timeoutMs (${timeoutMs}).`,
    { note: "no answer in time" },
  );
}

async function explain(error: unknown, link: Link, request: CallRequest): Promise<Error> {
  if (error instanceof LoginNeededError || error instanceof ToolError) return error;
  // Thrown before anything was sent.
  if (error instanceof UserError) return new ToolError(error.message, { cause: error });
  const { ErrorCode, McpError } = await import("@modelcontextprotocol/sdk/types.js");
  const { StreamableHTTPError } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  if (error instanceof StreamableHTTPError) {
    const status = error.code ?? 0;
    return (await isForgotten(status, link))
      ? new SessionExpiredError(error.message, { cause: error })
      : ofStatus(error, status, request);
  }
  if (error instanceof McpError && error.code !== ErrorCode.ConnectionClosed) return refusal(error, request);
  if (UNREACHED.has(errnoOf(error) ?? ""))
    return new ToolError(`MCP server ${request.server} can't be reached: ${messageOf(error)}`, {
      category: "transient error",
      cause: error,
    });
  if (error instanceof StdioGoneError)
    return new ToolError(`MCP server ${request.server} has ended. The next call starts it again.`, {
      category: "transient error",
      cause: error,
    });
  const exit = link.exit();
  return lost(exit === null ? messageOf(error) : exit, request, error);
}

/** Whether the server no longer knows the session: by 404, as the protocol says, or by 400 to everything, as many do. */
async function isForgotten(status: number, link: Link): Promise<boolean> {
  if (!link.hasSession() || (status !== 404 && status !== 400)) return false;
  if (status === 404) return true;
  const { StreamableHTTPError } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  try {
    await link.client.ping({ timeout: PING_MS });
    return false;
  } catch (error) {
    return error instanceof StreamableHTTPError && (error.code === 400 || error.code === 404);
  }
}

function ofStatus(error: Error, status: number, request: CallRequest): Error {
  if (status >= 400 && status < 500)
    return new ToolError(
      `MCP server ${request.server} refused ${request.tool} with HTTP ${status}: ${brief(error, request)}`,
      {
        cause: error,
      },
    );
  // The SDK's own codes, such as for a content type that it can't read, are no HTTP statuses.
  return lost(status < 100 ? brief(error, request) : `HTTP ${status}: ${brief(error, request)}`, request, error);
}

function refusal(error: Error & { code: number }, request: CallRequest): ToolError {
  const { server, tool } = request;
  const invalid = error.code === -32602;
  return new ToolError(`MCP server ${server}, ${tool}: ${brief(error, request)}`, {
    category: invalid ? "validation error" : "tool error",
    cause: error,
  });
}

function lost(why: string, { server, tool, hide }: CallRequest, cause: unknown): UnknownOutcomeError {
  return new UnknownOutcomeError(
    `The connection to MCP server ${server} broke while ${tool} was running (${oneLine(hide(why), 300)}). ` +
      "What it has done is unknown: look at the state before you try again. The next call connects anew.",
    { note: "connection lost", cause },
  );
}

function brief(error: Error, { hide }: CallRequest): string {
  return oneLine(hide(error.message).replace(/^(?:MCP error -?\d+: |Streamable HTTP error: )/, ""), 2000);
}
