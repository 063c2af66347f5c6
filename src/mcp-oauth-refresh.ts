/** Renews an access token with a refresh token. Loaded when the first one has run out. */
import { refreshAuthorization } from "@modelcontextprotocol/sdk/client/auth.js";
import {
  InvalidClientError,
  InvalidGrantError,
  OAuthError,
  ServerError,
} from "@modelcontextprotocol/sdk/server/auth/errors.js";
import type { AuthorizationServerMetadata } from "@modelcontextprotocol/sdk/shared/auth.js";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { McpLogin } from "./mcp-oauth-store.ts";

export interface RefreshDeps {
  fetch: FetchLike;
  /** Milliseconds since 1970. */
  now(): number;
}

/**
 * The login with new tokens; without any where the refresh was refused; the same object where there is nothing to
 * refresh with. Throws where the authorisation server can't be reached or fails: the tokens may still be good.
 */
export async function refreshLogin(login: McpLogin, { fetch, now }: RefreshDeps): Promise<McpLogin> {
  const { tokens, client, issuedBy } = login;
  if (tokens?.refresh_token === undefined || !client || !issuedBy) return login;
  try {
    const renewed = await refreshAuthorization(issuedBy.url, {
      clientInformation: client,
      refreshToken: tokens.refresh_token,
      fetchFn: fetch,
      ...(issuedBy.metadata ? { metadata: issuedBy.metadata as AuthorizationServerMetadata } : {}), // stored as the SDK had checked it
      ...(issuedBy.resource === undefined ? {} : { resource: issuedBy.resource }),
    });
    // RFC 6749, 6: no scope in the answer means the scope stays.
    const scope = renewed.scope ?? tokens.scope;
    return { ...login, tokens: { ...renewed, scope, issuer: tokens.issuer }, obtainedAt: now() };
  } catch (error) {
    if (!(error instanceof OAuthError) || error instanceof ServerError) throw error;
    const { tokens: _, obtainedAt: __, ...rest } = login;
    // A client the server has forgotten must be registered anew at the next login.
    if (error instanceof InvalidClientError) return { ...rest, client: undefined };
    return error instanceof InvalidGrantError ? rest : login;
  }
}
