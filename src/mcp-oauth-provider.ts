/** What the SDK's authorisation flow needs to know of this client during one login, and the reading of its answer. Writes no file. */
import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/sdk/client/auth.js";
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens,
} from "@modelcontextprotocol/sdk/shared/auth.js";
import { UserError } from "./errors.ts";
import type { McpRemoteConfig } from "./mcp-config.ts";
import type { McpLogin } from "./mcp-oauth-store.ts";
import { isLoopback } from "./network-bypass.ts";
import { sanitizeLabel } from "./sanitize.ts";

/** Nothing listens there: the person copies the address out of the browser. Client registrations made by hand need exactly it. */
export const REDIRECT_URL = "http://127.0.0.1:33418/callback";

export class LoginProvider implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT_URL;
  readonly clientMetadata: OAuthClientMetadata;
  readonly clientMetadataUrl?: string;
  /** Where the person must go; null until the flow got that far. */
  address: URL | null = null;
  #config: McpRemoteConfig;
  #client: McpLogin["client"];
  #tokens: OAuthTokens | null = null;
  #state = crypto.randomUUID();
  #verifier = "";
  #discovery: OAuthDiscoveryState | undefined;

  constructor(config: McpRemoteConfig, stored: McpLogin["client"]) {
    const { clientId, clientSecret, clientMetadataUrl } = config.oauth;
    this.#config = config;
    this.#client =
      clientId === undefined ? fitting(stored, clientMetadataUrl) : ownClient(clientId, clientSecret, stored);
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl;
    this.clientMetadata = {
      client_name: "shiro",
      redirect_uris: [REDIRECT_URL],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
  }

  state(): string {
    return this.#state;
  }

  clientInformation(): OAuthClientInformationMixed | undefined {
    return this.#client;
  }

  saveClientInformation(client: OAuthClientInformationMixed): void {
    if (this.#config.oauth.clientId !== undefined && client.client_id !== this.#config.oauth.clientId)
      throw new UserError("The configured clientId belongs to another authorisation server", { kind: "auth" });
    this.#client = client;
  }

  /** The old tokens are not offered: a login is asked for because they don't do. */
  tokens(): undefined {}

  saveTokens(tokens: OAuthTokens): void {
    this.#tokens = tokens;
  }

  redirectToAuthorization(address: URL): void {
    this.address = address;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    const { token_endpoint, authorization_endpoint } = state.authorizationServerMetadata ?? {};
    for (const address of [state.authorizationServerUrl, token_endpoint, authorization_endpoint])
      if (address !== undefined) requireSafe(address, this.#config.url);
    requireIssuer(state);
    this.#discovery = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }

  invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    if ((scope === "all" || scope === "client") && this.#config.oauth.clientId === undefined) this.#client = undefined;
  }

  /** Whether an answer carries the state that this login sent out, and comes from the server it was sent to. */
  accepts(query: URLSearchParams): boolean {
    const metadata = this.#discovery?.authorizationServerMetadata;
    const [state, from] = [query.get("state"), query.get("iss")];
    // RFC 9207, 2.4: a server that says it names itself must do so.
    const key = "authorization_response_iss_parameter_supported";
    const namesItself = metadata !== undefined && key in metadata && metadata[key] === true;
    const fits = from === null ? !namesItself : metadata === undefined || from === metadata.issuer;
    return state === this.#state && fits;
  }

  /** What is kept. Call after the tokens came. */
  login(url: string, now: number): McpLogin {
    if (this.#tokens === null) throw new UserError("The authorisation server gave no tokens", { kind: "auth" });
    const state = this.#discovery;
    const scope = this.#tokens.scope ?? this.address?.searchParams.get("scope") ?? undefined;
    return {
      url,
      client: this.#client,
      tokens: { ...this.#tokens, scope },
      obtainedAt: now,
      ...(state
        ? {
            issuedBy: {
              url: state.authorizationServerUrl,
              metadata: state.authorizationServerMetadata,
              resource: state.resourceMetadata?.resource,
            },
          }
        : {}),
    };
  }
}

/**
 * Throws UserError for an address that the server at `serverUrl` has no business to send a login to: what goes there must
 * not go in the clear, and what listens on this machine or in its network is not a stranger's to reach.
 */
export function requireSafe(address: string, serverUrl: string): void {
  const [asked, own] = [new URL(address), new URL(serverUrl)];
  const isLocal = asked.protocol === "http:" && isLoopback(asked.hostname) && isLoopback(own.hostname);
  if (asked.protocol === "https:" || isLocal) return;
  throw new UserError(`The authorisation server ${sanitizeLabel(asked.origin, 200)} does not speak https`, {
    kind: "auth",
  });
}

/**
 * RFC 8414, 3.3: what a server says of itself must carry the name it was asked by. Servers behind another host name don't
 * keep to that; where the code goes to the very host that is named, nobody else can have been put in between.
 */
function requireIssuer({ authorizationServerUrl, authorizationServerMetadata: metadata }: OAuthDiscoveryState): void {
  if (metadata === undefined) return;
  const { issuer, token_endpoint } = metadata;
  if (issuer.replace(/\/$/, "") === authorizationServerUrl.replace(/\/$/, "")) return;
  if (URL.canParse(issuer) && new URL(issuer).origin === new URL(token_endpoint).origin) return;
  const names = `${sanitizeLabel(authorizationServerUrl, 200)} calls itself ${sanitizeLabel(issuer, 200)}`;
  throw new UserError(`The authorisation server ${names} and sends codes elsewhere: not logged in`, { kind: "auth" });
}

/** A stored registration that the configuration still wants. */
function fitting(stored: McpLogin["client"], metadataUrl: string | undefined): McpLogin["client"] {
  const isUrl = stored?.client_id.startsWith("https://") ?? false;
  return metadataUrl === undefined
    ? isUrl
      ? undefined
      : stored
    : stored?.client_id === metadataUrl
      ? stored
      : undefined;
}

/** The issuer binds a secret to the authorisation server that it was first used with. */
function ownClient(id: string, secret: string | undefined, stored: McpLogin["client"]): McpLogin["client"] {
  const issuer = stored?.client_id === id ? stored.issuer : undefined;
  return { client_id: id, client_secret: secret, ...(issuer === undefined ? {} : { issuer }) };
}

/** The code in what a person pasted: the code alone, or the address the browser was sent to. Throws UserError. */
export function codeIn(answer: string, provider: Pick<LoginProvider, "accepts">): string {
  if (!/[?&=]/.test(answer)) return answer;
  const query = new URLSearchParams(answer.slice(answer.indexOf("?") + 1).replace(/#.*$/, ""));
  const error = query.get("error");
  if (error !== null) {
    const reason = sanitizeLabel(query.get("error_description") ?? error, 300);
    throw new UserError(`The login was refused: ${reason}`, { kind: "auth" });
  }
  const code = query.get("code");
  if (code === null || code === "") throw new UserError("That address holds no code", { kind: "auth" });
  if (!provider.accepts(query))
    throw new UserError("That address belongs to another login. Start again and paste the newest one", {
      kind: "auth",
    });
  return code;
}
