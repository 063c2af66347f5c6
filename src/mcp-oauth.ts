/** Keeps a remote server's requests authorised: the stored token, one silent refresh, and what the next login must ask for. Never asks anybody. */
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { McpRemoteConfig } from "./mcp-config.ts";
import { ToolError, UserError, messageOf } from "./errors.ts";
import { loginFile, readLogin, saveLogin, type McpLogin } from "./mcp-oauth-store.ts";
import { withLock } from "./store-lock.ts";
import { oneLine } from "./text.ts";

/** An authorisation server that takes longer is taken for down. */
export const REFRESH_LIMIT_MS = 20_000;
/** A token is renewed this long before its end: the request takes time too. */
const EARLY_MS = 10_000;
/** Another shiro may be renewing the same token; longer than that takes it. */
const LOCK_WAIT_MS = REFRESH_LIMIT_MS + 5_000;

/** The server wants a login that only a person can give. The message is one line that names the command. */
export class LoginNeededError extends Error {
  override name = "LoginNeededError";
}

export interface McpAuthDeps {
  name: string;
  config: McpRemoteConfig;
  /** SHIRO_HOME. */
  home: string;
  fetch: FetchLike;
  /** Milliseconds since 1970. */
  now(): number;
}

export class McpAuth {
  /** Set when the last request was refused for want of a login; null again after one that wasn't. */
  problem: LoginNeededError | null = null;
  /** The server is spoken to over SSE: a refusal of its stream counts. */
  readsStream: boolean;
  #deps: McpAuthDeps;
  #path: string;
  #refreshing: Promise<string | null> | null = null;
  #ownHeader: boolean;

  constructor(deps: McpAuthDeps) {
    this.#deps = deps;
    this.readsStream = deps.config.type === "sse";
    this.#path = loginFile(deps.home, deps.name, deps.config.url);
    this.#ownHeader = Object.keys(deps.config.headers).some((name) => name.toLowerCase() === "authorization");
  }

  /** For the transports. Throws LoginNeededError in place of a 401, and of a 403 for the lack of a scope. */
  readonly fetch: FetchLike = async (url, init) => {
    // The user's own header is theirs to renew; its refusal is an answer like any other.
    if (this.#ownHeader || !this.#isOwn(url)) return this.#deps.fetch(url, init);
    const token = await this.#token();
    const first = await this.#send(url, init, token);
    const response = first.status === 401 && token !== null ? await this.#again(url, init, token, first) : first;
    if (response.status === 401) await this.#refused(response, init, token !== null);
    if (response.status === 403) await this.#forbidden(response);
    if (response.ok) this.problem = null;
    return response;
  };

  /** Tokens in force, to be kept out of whatever is shown. */
  secrets(): string[] {
    const { tokens, client } = this.#read();
    return [tokens?.access_token, tokens?.refresh_token, client?.client_secret].filter((one) => one !== undefined);
  }

  #isOwn(url: string | URL): boolean {
    const [own, asked] = [new URL(this.#deps.config.url), new URL(url)];
    if (own.origin === asked.origin) return true;
    // The SDK follows a redirect from http to https of the same host.
    return own.hostname === asked.hostname && own.protocol === "http:" && asked.protocol === "https:";
  }

  #read(): McpLogin {
    return readLogin(this.#path, this.#deps.config.url);
  }

  async #token(): Promise<string | null> {
    const { tokens, obtainedAt } = this.#read();
    if (!tokens) return null;
    const endsAt = tokens.expires_in === undefined ? Infinity : (obtainedAt ?? 0) + tokens.expires_in * 1000;
    if (this.#deps.now() < endsAt - EARLY_MS || tokens.refresh_token === undefined) return tokens.access_token;
    return (await this.#refresh(tokens.access_token)) ?? tokens.access_token;
  }

  async #send(url: string | URL, init: RequestInit | undefined, token: string | null): Promise<Response> {
    const headers = new Headers(init?.headers);
    if (token !== null) headers.set("authorization", `Bearer ${token}`);
    return this.#deps.fetch(url, { ...init, headers });
  }

  async #again(url: string | URL, init: RequestInit | undefined, old: string, first: Response): Promise<Response> {
    const token = await this.#refresh(old);
    if (token === null || token === old) return first;
    await first.body?.cancel();
    return this.#send(url, init, token);
  }

  /** Requests that fail side by side share one refresh: a refresh token may be good for one use only. */
  #refresh(old: string): Promise<string | null> {
    this.#refreshing ??= this.#refreshOnce(old).finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  /** The new access token; null where there is none to be had without a login. */
  async #refreshOnce(old: string): Promise<string | null> {
    const done = await withLock(
      `${this.#path}.lock`,
      async () => {
        const login = this.#read();
        // Another shiro was faster.
        if (login.tokens && login.tokens.access_token !== old) return login.tokens.access_token;
        const { refreshLogin } = await import("./mcp-oauth-refresh.ts");
        const fetch: FetchLike = (url, init) =>
          this.#deps.fetch(url, { ...init, signal: AbortSignal.timeout(REFRESH_LIMIT_MS) });
        const renewed = await refreshLogin(login, { fetch, now: this.#deps.now }).catch((cause: unknown) => {
          throw this.#notRenewed(messageOf(cause), cause);
        });
        if (renewed !== login) await saveLogin(this.#path, renewed);
        return renewed === login ? null : (renewed.tokens?.access_token ?? null);
      },
      LOCK_WAIT_MS,
    );
    if ("value" in done) return done.value;
    throw this.#notRenewed(done.problem.reason, null);
  }

  #notRenewed(why: string, cause: unknown): UserError {
    return new UserError(`The login to ${this.#deps.name} could not be renewed: ${oneLine(why, 300)}`, { cause });
  }

  async #refused(response: Response, init: RequestInit | undefined, hadToken: boolean): Promise<void> {
    // Over streamable HTTP the stream of a server's own messages is optional: only the POST says what the server wants.
    if (!this.readsStream && init?.method !== "POST") return;
    const { scope, resourceMetadataUrl } = await challengeOf(response);
    await response.body?.cancel();
    const login = this.#read();
    const challenge = { scope, resourceMetadataUrl: resourceMetadataUrl?.href };
    if (JSON.stringify(login.challenge) !== JSON.stringify(challenge))
      await saveLogin(this.#path, { ...login, challenge });
    throw this.#loginNeeded(hadToken ? "its login has expired" : "it wants a login");
  }

  async #forbidden(response: Response): Promise<void> {
    const { scope, error, resourceMetadataUrl } = await challengeOf(response);
    if (error !== "insufficient_scope") return;
    await response.body?.cancel();
    const login = this.#read();
    const needed = scopesIn(scope);
    const granted = scopesIn(login.tokens?.scope);
    // Another login would end here again.
    if (needed.length > 0 && needed.every((one) => granted.includes(one)))
      throw new ToolError(
        `MCP server ${this.#deps.name} refuses this for want of ${needed.join(" ")}, which it has granted already. Its operator may know why.`,
        { category: "permission error" },
      );
    const wantedScopes = [...new Set([...(login.wantedScopes ?? []), ...needed])].slice(-MAX_SCOPES);
    const challenge = {
      scope: login.challenge?.scope,
      resourceMetadataUrl: resourceMetadataUrl?.href ?? login.challenge?.resourceMetadataUrl,
    };
    await saveLogin(this.#path, { ...login, wantedScopes, challenge });
    throw this.#loginNeeded(
      `the login does not cover this (it needs the scope ${needed.join(" ") || "that the server did not name"})`,
    );
  }

  #loginNeeded(why: string): LoginNeededError {
    this.problem = new LoginNeededError(`${why}. Run: shiro mcp login ${this.#deps.name}`);
    return this.problem;
  }
}

/** RFC 6749, 3.3, and no longer than any scope is. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/;
/** They are shown, stored and sent back; more are no scopes that a person could agree to. */
const MAX_SCOPES = 50;

export function scopesIn(scope: string | undefined): string[] {
  return (scope ?? "")
    .split(/\s+/)
    .filter((one) => SCOPE.test(one))
    .slice(0, MAX_SCOPES);
}

/** What a refusal asks for, from its WWW-Authenticate header. */
export async function challengeOf(
  response: Response,
): Promise<{ scope?: string; error?: string; resourceMetadataUrl?: URL }> {
  const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/sdk/client/auth.js");
  return extractWWWAuthenticateParams(response);
}
