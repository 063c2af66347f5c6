/** One request through an SDK: URL, framing and key are theirs, all else is ours. Loads a client only when it is needed. */
import { ProviderError, isAbort } from "./errors.ts";
import { classifyThrown, cutError, isObject } from "./provider-errors.ts";
import { type Exchange, openExchange } from "./provider-fetch.ts";
import { bodyText } from "./provider-history.ts";
import { endpointHeaders } from "./provider-headers.ts";
import { anthropicBase, isLocalHost, openaiBase } from "./provider-url.ts";
import { type Endpoint, hostOf, type Wire } from "./provider.ts";
import { abortOf } from "./retry.ts";
import type { JsonObject } from "./types.ts";
import { VERSION } from "./version.ts";

export interface ClientDeps {
  env: Readonly<Record<string, string | undefined>>;
  now: () => number;
}

/** The events of one answer, and how it ended. */
export interface Call {
  events: AsyncGenerator<JsonObject>;
  /** The end marker was seen. Meaningful once `events` is through. */
  ended: () => boolean;
  /** The error for an answer that stopped without one. */
  cut: () => Error;
  /** Characters of the body that goes out. */
  bodyChars: number;
}

const FIRST_BYTE_LOCAL_MS = 10 * 60_000;
const FIRST_BYTE_MS = 3 * 60_000;
const IDLE_MS = 2 * 60_000;
// The clients demand a key and a limit; both are ours to decide.
const QUIET = { apiKey: "none", maxRetries: 0, timeout: 2 ** 31 - 1, logLevel: "off" } as const;

/** Posts the body. Iterating sends it; errors are ProviderErrors, or an AbortError when the signal fired. */
export function openCall(
  wire: Wire,
  endpoint: Endpoint,
  body: JsonObject,
  deps: ClientDeps,
  signal: AbortSignal,
): Call {
  const limits = limitsFor(endpoint);
  const exchange = openExchange({
    wire,
    headers: headersFor(endpoint),
    env: deps.env,
    ...limits,
    baseURL: endpoint.baseURL,
    signal,
    now: deps.now,
  });
  // The clients are handed an empty body, and ours goes out: they would serialise a long history anew for each request.
  const text = bodyText(body);
  const fetch: Exchange["fetch"] = (input, init) => exchange.fetch(input, { ...init, body: text });
  const post = { wire, baseURL: endpoint.baseURL, signal, fetch };
  return {
    events: readEvents(post, exchange),
    ended: () => exchange.ended,
    cut: () => cutError(exchange.url),
    bodyChars: text.length,
  };
}

interface Post {
  wire: Wire;
  baseURL: string;
  signal: AbortSignal;
  fetch: Exchange["fetch"];
}

async function* readEvents(post: Post, exchange: Exchange): AsyncGenerator<JsonObject> {
  try {
    const stream = post.wire === "anthropic" ? await postAnthropic(post) : await postOpenAI(post);
    for await (const event of stream) if (isObject(event)) yield event;
  } catch (error) {
    if (post.signal.aborted) throw abortOf(post.signal);
    throw exchange.failure ?? explain(error, exchange.url);
  } finally {
    exchange.close();
  }
  // The clients end quietly when a request is aborted.
  if (post.signal.aborted) throw abortOf(post.signal);
  if (exchange.failure) throw exchange.failure;
}

async function postAnthropic({ baseURL, signal, fetch }: Post): Promise<AsyncIterable<unknown>> {
  const { Anthropic } = await import("@anthropic-ai/sdk");
  const client = new Anthropic({ ...QUIET, authToken: null, baseURL: anthropicBase(baseURL), fetch });
  // Not `messages.create`: that prints warnings of its own to the console.
  return client.post<AsyncIterable<unknown>>("/v1/messages", { body: {}, stream: true, signal });
}

async function postOpenAI({ wire, baseURL, signal, fetch }: Post): Promise<AsyncIterable<unknown>> {
  const { OpenAI } = await import("openai");
  const unset = { adminAPIKey: null, organization: null, project: null, webhookSecret: null };
  const client = new OpenAI({ ...QUIET, ...unset, baseURL: openaiBase(baseURL), fetch });
  const path = wire === "chat" ? "/chat/completions" : "/responses";
  return client.post<AsyncIterable<unknown>>(path, { body: {}, stream: true, signal });
}

/** An SDK's own error, when our fetch never ran: a base URL that is none, mostly. */
function explain(error: unknown, url: string): Error {
  if (error instanceof Error && isAbort(error)) return error;
  const found = classifyThrown(error, url || "baseURL");
  if (!(found instanceof ProviderError) || url !== "") return found;
  return new ProviderError(found.cause instanceof Error ? found.cause.message : found.message, {
    kind: "request",
    hint: "Check baseURL.",
    cause: error,
  });
}

/** Every header that goes out: the clients add more from environment variables of their own, which are not ours to send. */
const headersFor = (endpoint: Endpoint): Record<string, string> => ({
  accept: "text/event-stream, application/json",
  "content-type": "application/json",
  "user-agent": `shiro/${VERSION}`,
  ...endpointHeaders(endpoint),
});

/** How long an endpoint may be silent, in milliseconds; 0 is no limit. A model of one's own may take minutes to load. */
export function limitsFor(endpoint: Endpoint): { firstByteMs: number; idleMs: number } {
  if (endpoint.timeoutMs !== null) return { firstByteMs: endpoint.timeoutMs, idleMs: endpoint.timeoutMs };
  return { firstByteMs: isLocalHost(hostOf(endpoint.baseURL)) ? FIRST_BYTE_LOCAL_MS : FIRST_BYTE_MS, idleMs: IDLE_MS };
}
