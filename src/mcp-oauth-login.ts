/** The login itself: what the server asks for, the address to open, the answer, the tokens. Loaded by mcp-login.ts only. */
import { auth } from "@modelcontextprotocol/sdk/client/auth.js";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { UserError, isAbort, messageOf } from "./errors.ts";
import { expandMcpServer, parseMcpServer, type McpRemoteConfig } from "./mcp-config.ts";
import { networkFetch } from "./mcp-fetch.ts";
import { challengeOf, scopesIn } from "./mcp-oauth.ts";
import { codeIn, LoginProvider, requireSafe } from "./mcp-oauth-provider.ts";
import { loginFile, readLogin, saveLogin, type McpLogin } from "./mcp-oauth-store.ts";
import { nearestName } from "./nearest.ts";
import type { NetworkEnv } from "./network.ts";
import { oneLine } from "./text.ts";
import { sanitize, sanitizeLine } from "./sanitize.ts";

/** No part of the login but the person takes longer. */
const REQUEST_LIMIT_MS = 30_000;

export interface McpLoginIo {
  /** `mcpServers` as the configuration holds it. */
  servers: Readonly<Record<string, unknown>>;
  env: NetworkEnv;
  /** SHIRO_HOME. */
  home: string;
  /** Lines for the person, already sanitised; the address to open is among them. */
  say(text: string): void;
  /** What the person answers: the code or the whole address they were sent to. Null at the end of the input. */
  readLine(question: string): Promise<string | null>;
  signal: AbortSignal;
}

/** Throws UserError. See mcp-login.ts. */
export async function login(name: string, io: McpLoginIo): Promise<void> {
  const config = remoteConfig(name, io);
  const path = loginFile(io.home, name, config.url);
  const stored = readLogin(path, config.url);
  const fetch = guarded(networkFetch(io.env, io.signal), config.url);
  try {
    const asked = await askServer(config, stored, fetch);
    const provider = new LoginProvider(config, stored.client);
    await begin(provider, asked, fetch);
    const answer = await askPerson(provider, name, io);
    const code = codeIn(answer, provider);
    await auth(provider, { ...asked, authorizationCode: code, fetchFn: fetch });
    await saveLogin(path, provider.login(config.url, Date.now()));
  } catch (error) {
    if (error instanceof UserError || isAbort(error)) throw error;
    const reason = sanitizeLine(oneLine(messageOf(error), 400));
    throw new UserError(`The login to ${name} failed: ${reason}`, { kind: "auth", cause: error });
  }
  io.say(`Logged in to ${name}. The tokens are in ${sanitize(path)}, readable by you alone.`);
}

function remoteConfig(name: string, io: McpLoginIo): McpRemoteConfig {
  if (!Object.hasOwn(io.servers, name)) {
    const near = nearestName(name, Object.keys(io.servers));
    const hint = near === null ? "shiro mcp list shows the servers" : `Did you mean "${near}"?`;
    throw new UserError(`There is no MCP server "${sanitizeLine(name)}". ${hint}`);
  }
  const config = parseMcpServer(name, io.servers[name]);
  if (config.type === "stdio") throw new UserError(`${name} is a local server: it has no login`);
  if (Object.keys(config.headers).some((header) => header.toLowerCase() === "authorization"))
    throw new UserError(`mcpServers.${name}.headers sets Authorization itself. Take it out to log in`);
  return expandMcpServer(name, config, io.env);
}

/** Every address but the server's own comes from a stranger. */
function guarded(fetch: FetchLike, serverUrl: string): FetchLike {
  const { origin } = new URL(serverUrl);
  return async (url, init) => {
    if (new URL(url).origin !== origin) requireSafe(String(url), serverUrl);
    return fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_LIMIT_MS) });
  };
}

interface Asked {
  serverUrl: string;
  scope?: string;
  resourceMetadataUrl?: URL;
}

/** What to ask the authorisation server for: from the server's refusal, now or the last one, and from the configuration. */
async function askServer(config: McpRemoteConfig, stored: McpLogin, fetch: FetchLike): Promise<Asked> {
  const now = await refusalOf(config, fetch);
  const scope = now.scope ?? stored.challenge?.scope;
  const metadata = now.resourceMetadataUrl?.href ?? stored.challenge?.resourceMetadataUrl;
  const wanted = stored.wantedScopes ?? [];
  // More scopes are wanted in addition to what the old login had, not in place of it.
  const granted = wanted.length > 0 ? scopesIn(stored.tokens?.scope) : [];
  const scopes = [...new Set([...(config.oauth.scopes ?? scopesIn(scope)), ...granted, ...wanted])];
  return {
    serverUrl: config.url,
    ...(scopes.length > 0 ? { scope: scopes.join(" ") } : {}),
    ...(metadata !== undefined && URL.canParse(metadata) ? { resourceMetadataUrl: new URL(metadata) } : {}),
  };
}

async function refusalOf(
  config: McpRemoteConfig,
  fetch: FetchLike,
): Promise<{ scope?: string; resourceMetadataUrl?: URL }> {
  const response = await fetch(config.url, config.type === "sse" ? probeStream(config) : probePost(config));
  await response.body?.cancel();
  return response.status === 401 ? challengeOf(response) : {};
}

function probeStream(config: McpRemoteConfig): RequestInit {
  return { headers: { ...config.headers, accept: "text/event-stream" } };
}

// A ping outside a session: a server that wants a login says so before it looks at the message.
function probePost(config: McpRemoteConfig): RequestInit {
  return {
    method: "POST",
    headers: { ...config.headers, accept: "application/json, text/event-stream", "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "ping" }),
  };
}

async function begin(provider: LoginProvider, asked: Asked, fetch: FetchLike): Promise<void> {
  await auth(provider, { ...asked, fetchFn: fetch });
  if (provider.address === null) throw new UserError("The server gave no address to log in at.", { kind: "auth" });
}

async function askPerson(provider: LoginProvider, name: string, io: McpLoginIo): Promise<string> {
  io.say(`To log in to ${name}, open this address in a browser, on any machine:\n`);
  io.say(sanitizeLine(provider.address?.href ?? ""));
  io.say(
    `\nAfterwards the browser is sent to ${provider.redirectUrl}, where nothing answers. Copy that whole address, or the code in it, and paste it here.`,
  );
  const answer = (await io.readLine("Address or code:"))?.trim() ?? "";
  if (answer === "") throw new UserError(`Not logged in to ${name}: no answer came`, { kind: "auth" });
  return answer;
}
