/** A small MCP server over HTTP, strict about sessions, headers and logins, with an authorisation server beside it. In this process, on loopback. */
import type { Json, JsonObject } from "../../src/types.ts";

export interface HttpKnobs {
  /** Streamable HTTP is unknown here: POST answers with this, GET opens an SSE stream with an endpoint. */
  old?: 404 | 405;
  /** A login is wanted, with these scopes named in the refusal. */
  oauth?: {
    scope?: string;
    toolScope?: string;
    ttlSeconds?: number;
    register?: boolean;
    /** Refuses calls whatever the scope. */ deaf?: boolean;
    /** Said of the authorisation server in place of the truth. */
    says?: JsonObject;
  };
  /** tools/call closes its stream before the answer. */
  cuts?: boolean;
  /** tools/call answers with this status. */
  callStatus?: number;
  /** The answer to an unknown session; default 404. */
  forgets?: 400;
  /** Everything is redirected there. */
  redirect?: string;
  /** tools/call sends the headers of its request back: as its result, or as an error with this status. */
  echoesHeaders?: 200 | 400;
}

export interface HttpServer {
  url: string;
  /** `METHOD /path` and the JSON-RPC method, in order. */
  log: string[];
  faults: string[];
  /** Headers of the last request to the MCP endpoint. */
  headers: Record<string, string>;
  /** Forgets every session. */
  expire(): void;
  /** Ends every open SSE stream. */
  hangUp(): void;
  /** Access tokens given so far end now; with `refresh` the refresh tokens too. */
  revoke(options?: { refresh: boolean }): void;
  /** Requests to the token endpoint by grant type. */
  grants: string[];
  /** Scopes of the last authorisation. */
  scope: string | null;
  stop(): void;
}

interface Grant {
  scope: string;
  isLive: boolean;
}

export function startHttpServer(knobs: HttpKnobs = {}): HttpServer {
  const sessions = new Set<string>();
  const codes = new Map<string, { challenge: string; redirect: string; scope: string }>();
  const access = new Map<string, Grant>();
  const refresh = new Map<string, Grant>();
  const streams = new Map<string, ReadableStreamDefaultController<string>>();
  const clients = new Set<string>();
  let count = 0;
  const state: HttpServer = {
    url: "",
    log: [],
    faults: [],
    headers: {},
    grants: [],
    scope: null,
    expire: () => sessions.clear(),
    hangUp: () => {
      streams.forEach((stream) => stream.close());
      streams.clear();
    },
    revoke: (options) => {
      access.forEach((grant) => (grant.isLive = false));
      if (options?.refresh) refresh.forEach((grant) => (grant.isLive = false));
    },
    stop: () => void server.stop(true),
  };
  const fault = (text: string): void => void state.faults.push(text);

  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      const text = await request.text();
      const message = pathname === "/mcp" && text !== "" ? (JSON.parse(text) as JsonObject) : null; // the client's JSON-RPC
      state.log.push(`${request.method} ${pathname}${message?.method ? ` ${message.method}` : ""}`);
      if (pathname.startsWith("/.well-known/") || ["/register", "/authorize", "/token"].includes(pathname))
        return knobs.oauth ? authorisation(request, pathname, text) : new Response(null, { status: 404 });
      state.headers = Object.fromEntries(request.headers);
      if (knobs.redirect) return new Response(null, { status: 307, headers: { location: knobs.redirect } });
      const refused = knobs.oauth ? refusal(request, message) : null;
      if (refused) return refused;
      if (knobs.old) return oldServer(request, pathname, text);
      if (pathname !== "/mcp") return new Response(null, { status: 404 });
      return streamable(request, message);
    },
  });
  const origin = `http://127.0.0.1:${server.port}`;
  state.url = `${origin}/mcp`;

  function resultOf(message: JsonObject): Json {
    const params = (message.params ?? {}) as JsonObject; // by JSON-RPC
    if (message.method === "initialize")
      return {
        protocolVersion: params.protocolVersion ?? "",
        capabilities: { tools: {} },
        serverInfo: { name: "web", version: "1" },
      };
    if (message.method === "tools/list") return { tools: [{ name: "echo", inputSchema: { type: "object" } }] };
    const sent = knobs.echoesHeaders ? state.headers : params.arguments;
    return { content: [{ type: "text", text: JSON.stringify(sent) }] };
  }

  function streamable(request: Request, message: JsonObject | null): Response {
    if (request.method === "GET") return new Response(null, { status: 405 });
    const session = request.headers.get("mcp-session-id");
    if (request.method === "DELETE") return new Response(null, { status: sessions.delete(session ?? "") ? 200 : 404 });
    if (!message) return new Response(null, { status: 400 });
    const accepts = request.headers.get("accept") ?? "";
    if (!accepts.includes("application/json") || !accepts.includes("text/event-stream")) fault(`accept: ${accepts}`);
    if (message.method === "initialize") {
      if (session !== null) fault("initialize with a session");
      const id = `s${++count}`;
      sessions.add(id);
      return Response.json(
        { jsonrpc: "2.0", id: message.id ?? null, result: resultOf(message) },
        { headers: { "mcp-session-id": id } },
      );
    }
    if (session === null || !sessions.has(session)) {
      const error = { code: -32001, message: "Session not found" };
      return Response.json({ jsonrpc: "2.0", id: null, error }, { status: knobs.forgets ?? 404 });
    }
    if (!request.headers.has("mcp-protocol-version")) fault("no protocol version");
    if (message.id === undefined) return new Response(null, { status: 202 });
    if (message.method === "tools/call" && knobs.callStatus)
      return new Response("broken", { status: knobs.callStatus });
    if (message.method === "tools/call" && knobs.echoesHeaders === 400)
      return new Response(JSON.stringify(state.headers), { status: 400 });
    const data = `data: ${JSON.stringify({ jsonrpc: "2.0", id: message.id, result: resultOf(message) })}\n\n`;
    const body = message.method === "tools/call" && knobs.cuts ? ": only a comment\n\n" : data;
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  function oldServer(request: Request, pathname: string, text: string): Response {
    if (pathname === "/messages") {
      const message = JSON.parse(text) as JsonObject; // the client's JSON-RPC
      const stream = streams.get(new URL(request.url).searchParams.get("s") ?? "");
      // Late words that nobody waits for any more.
      stream?.enqueue(
        `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 987, progress: 1 } })}\n\n`,
      );
      if (message.id !== undefined)
        stream?.enqueue(
          `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: message.id, result: resultOf(message) })}\n\n`,
        );
      return new Response(null, { status: stream ? 202 : 404 });
    }
    if (request.method !== "GET") return new Response(null, { status: knobs.old ?? 405 });
    const id = String(++count);
    const body = new ReadableStream<string>({
      start(controller) {
        streams.set(id, controller);
        controller.enqueue(`event: endpoint\ndata: /messages?s=${id}\n\n`);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  function refusal(request: Request, message: JsonObject | null): Response | null {
    const token = request.headers.get("authorization")?.replace("Bearer ", "") ?? "";
    const grant = access.get(token);
    const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    const { scope, toolScope } = knobs.oauth ?? {};
    const challenge = (more: string): Record<string, string> => ({ "www-authenticate": `Bearer ${metadata}${more}` });
    if (!grant?.isLive)
      return new Response(null, { status: 401, headers: challenge(scope ? `, scope="${scope}"` : "") });
    const needs = message?.method === "tools/call" ? toolScope : undefined;
    if (needs === undefined || (!knobs.oauth?.deaf && grant.scope.split(" ").includes(needs))) return null;
    return new Response(null, { status: 403, headers: challenge(`, error="insufficient_scope", scope="${needs}"`) });
  }

  async function authorisation(request: Request, pathname: string, text: string): Promise<Response> {
    if (pathname === "/.well-known/oauth-protected-resource/mcp")
      return Response.json({ resource: state.url, authorization_servers: [origin] });
    if (pathname === "/.well-known/oauth-authorization-server")
      return Response.json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        ...(knobs.oauth?.register === false ? {} : { registration_endpoint: `${origin}/register` }),
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none", "client_secret_post"],
        ...knobs.oauth?.says,
      });
    if (pathname === "/register") {
      const id = `client-${++count}`;
      clients.add(id);
      return Response.json({ ...(JSON.parse(text) as JsonObject), client_id: id }, { status: 201 }); // RFC 7591 sends JSON
    }
    if (pathname === "/authorize") return authorise(new URL(request.url).searchParams);
    if (pathname === "/token") return token(new URLSearchParams(text));
    return new Response(null, { status: 404 });
  }

  function authorise(query: URLSearchParams): Response {
    if (query.get("code_challenge_method") !== "S256") fault("no S256");
    if (query.get("resource") !== state.url) fault(`resource ${query.get("resource")}`);
    if (!clients.has(query.get("client_id") ?? "") && query.get("client_id") !== "mine") fault("unknown client");
    state.scope = query.get("scope");
    const code = `code-${++count}`;
    const redirect = query.get("redirect_uri") ?? "";
    codes.set(code, { challenge: query.get("code_challenge") ?? "", redirect, scope: query.get("scope") ?? "" });
    const target = new URL(redirect);
    target.searchParams.set("code", code);
    target.searchParams.set("state", query.get("state") ?? "");
    return new Response(null, { status: 302, headers: { location: target.href } });
  }

  async function token(form: URLSearchParams): Promise<Response> {
    state.grants.push(form.get("grant_type") ?? "");
    const invalid = Response.json({ error: "invalid_grant", error_description: "not good" }, { status: 400 });
    if (form.get("grant_type") === "refresh_token") {
      const old = refresh.get(form.get("refresh_token") ?? "");
      if (!old?.isLive) return invalid;
      old.isLive = false;
      return tokens(old.scope);
    }
    const code = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const digest = new Bun.CryptoHasher("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    if (!code || digest !== code.challenge || form.get("redirect_uri") !== code.redirect) return invalid;
    return tokens(code.scope);
  }

  function tokens(scope: string): Response {
    const [short, long] = [`access-${++count}-secret`, `refresh-${++count}-secret`];
    access.set(short, { scope, isLive: true });
    refresh.set(long, { scope, isLive: true });
    return Response.json({
      access_token: short,
      refresh_token: long,
      token_type: "Bearer",
      expires_in: knobs.oauth?.ttlSeconds ?? 3600,
      ...(scope === "" ? {} : { scope }),
    });
  }

  return state;
}
