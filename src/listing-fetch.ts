/** One request for the listing: headers of both protocols, limits, classified errors. Retries nothing; reads no fields. */
import { ProviderError, isAbort } from "./errors.ts";
import { networkOptions, type NetworkEnv } from "./network.ts";
import type { Endpoint } from "./provider.ts";
import { classifyResponse, classifyThrown, isPage, parseJson } from "./provider-errors.ts";
import { endpointHeaders } from "./provider-headers.ts";
import type { Json, JsonObject } from "./types.ts";
import { VERSION } from "./version.ts";

export interface ListingDeps {
  env: NetworkEnv;
  signal: AbortSignal;
}

// The longest list seen, OpenRouter's, is under 2 MB; a server that sends more is sending something else.
const MAX_BYTES = 16 * 1024 * 1024;

/** The JSON at a URL of the endpoint; POST when there is a body to send. Throws ProviderError, or the signal's abort. 0 ms: no limit. */
export async function fetchJson(
  url: string,
  endpoint: Endpoint,
  deps: ListingDeps,
  timeoutMs: number,
  post?: JsonObject,
): Promise<Json> {
  const network = networkOptions(url, deps.env);
  const signals = timeoutMs > 0 ? [deps.signal, AbortSignal.timeout(timeoutMs)] : [deps.signal];
  try {
    const response = await fetch(url, {
      ...network,
      method: post === undefined ? "GET" : "POST",
      headers: headersFor(endpoint),
      signal: AbortSignal.any(signals),
      // A redirect would carry the key to whoever it names.
      redirect: "manual",
      ...(post === undefined ? {} : { body: JSON.stringify(post) }),
    });
    return await readJson(response, url);
  } catch (error) {
    if (isTimeout(error)) throw tooLate(url, deps.signal, timeoutMs, error);
    throw deps.signal.aborted || isAbort(error) ? error : classifyThrown(error, url, network.proxy || null);
  }
}

const headersFor = (endpoint: Endpoint): Record<string, string> => ({
  accept: "application/json",
  "content-type": "application/json",
  "user-agent": `shiro/${VERSION}`,
  ...endpointHeaders(endpoint),
});

async function readJson(response: Response, url: string): Promise<Json> {
  const text = await readLimited(response, url);
  if (response.status >= 300 && response.status < 400) throw redirected(response, url);
  if (response.status === 404 || response.status === 405 || response.status === 501) throw noList(response.status, url);
  const value = response.ok ? parseJson(text) : undefined;
  if (value !== undefined) return value;
  const facts = { status: response.status, headers: response.headers, url, now: Date.now() };
  if (!response.ok || isPage(text, response.headers)) throw classifyResponse(text, facts);
  throw new ProviderError(`${url} answered with something that is no JSON`, {
    kind: "content",
    status: response.status,
    hint: "Check baseURL, and any proxy in between.",
  });
}

async function readLimited(response: Response, url: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new ProviderError(`${url} sends more than 16 MB`, { kind: "content" });
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function redirected(response: Response, url: string): ProviderError {
  const target = response.headers.get("location") ?? "somewhere else";
  return new ProviderError(`${url} redirects to ${target.slice(0, 200)}`, {
    kind: "request",
    status: response.status,
    hint: "Put the final address in baseURL.",
  });
}

function noList(status: number, url: string): ProviderError {
  const hint = /\/v\d/.test(new URL(url).pathname)
    ? "The endpoint may not offer a list: name a model with --model."
    : "Is /v1 missing from baseURL? Else name a model with --model.";
  return new ProviderError(`HTTP ${status} from ${url}`, { kind: "shape", status, hint });
}

const isTimeout = (error: unknown) => error instanceof Error && error.name === "TimeoutError";

function tooLate(url: string, signal: AbortSignal, timeoutMs: number, cause: unknown): ProviderError {
  // The caller's signal may be a clock too.
  const limit = signal.aborted || timeoutMs <= 0 ? "in time" : `in ${timeoutMs / 1000} s`;
  return new ProviderError(`no answer from ${url} ${limit}`, { kind: "timeout", cause });
}
