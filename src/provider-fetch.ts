/** The fetch that both SDKs are given: sees status, type and raw bytes first, and keeps time. Retries nothing and knows no messages. */
import { collectWhileWaiting } from "./collect.ts";
import { ProviderError } from "./errors.ts";
import { networkOptions } from "./network.ts";
import { Clock, type ClockOptions } from "./provider-clock.ts";
import {
  classifyPayload,
  classifyResponse,
  cutError,
  type FailureFacts,
  isObject,
  isPage,
  missingV1,
  pageError,
  parseJson,
} from "./provider-errors.ts";
import { errorIn, framesOfLines, framesOfWhole, isLast, writeFrame } from "./provider-sse.ts";
import { type ByteReader, CleanStream, explain, ignoreClosed, type Progress } from "./provider-stream.ts";
import { withQueryOf } from "./provider-url.ts";
import type { Wire } from "./provider.ts";
import { sanitize } from "./sanitize.ts";
import type { Json } from "./types.ts";

export interface FetchOptions extends ClockOptions {
  wire: Wire;
  /** As configured: its query goes along with every request. */
  baseURL: string;
  /** All headers that go out; what an SDK adds of its own accord is dropped. */
  headers: Record<string, string>;
  env: Readonly<Record<string, string | undefined>>;
  /** Milliseconds since the epoch. */
  now: () => number;
}

/** One request and what was seen of its answer. */
export interface Exchange extends Progress {
  fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  /** Ends the request, if it still runs, and its clock. Whoever stops reading must call it. */
  close: () => void;
}

// Error bodies are read for one line; a gateway's page may be long.
const MAX_ERROR_BYTES = 64 * 1024;
// Far above any answer; a body without end must not fill the memory.
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;
const MAX_REDIRECTS = 3;

/** Makes the fetch for one request. Everything that goes wrong is in `failure`, classified, before the SDK hears of it. */
export function openExchange(options: FetchOptions): Exchange {
  const clock = new Clock(options);
  const exchange: Exchange = {
    fetch: run,
    close: () => clock.end(),
    ended: false,
    failure: null,
    url: "",
    proxy: null,
  };
  async function run(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    exchange.url = withQueryOf(options.baseURL, input instanceof Request ? input.url : String(input));
    try {
      return await send(exchange, init, options, clock);
    } catch (error) {
      clock.stop();
      exchange.failure = explain(error, exchange, clock);
      throw exchange.failure;
    }
  }
  return exchange;
}

async function send(
  exchange: Exchange,
  init: RequestInit | undefined,
  options: FetchOptions,
  clock: Clock,
): Promise<Response> {
  clock.begin();
  const response = await post(exchange, init?.body ?? null, options, clock);
  const facts = { status: response.status, headers: response.headers, url: exchange.url, now: options.now() };
  if (!response.ok) throw classifyResponse(await readSome(response, clock, options.signal), facts);
  if (!response.body) throw cutError(exchange.url);
  const reader = response.body.getReader();
  const first = await firstPiece(reader, clock);
  clock.stop();
  const look = new TextDecoder()
    .decode(first.subarray(0, 512))
    .replace(/^\uFEFF/, "")
    .trimStart();
  if (look === "") throw cutError(exchange.url);
  if (/^[{["<]/.test(look) || isPlainText(look, response.headers))
    return whole(await readRest(first, reader, clock, MAX_WHOLE_BYTES), exchange, options, facts, clock);
  const stream = new CleanStream(first, reader, { exchange, wire: options.wire, facts: withoutStatus(facts), clock });
  return eventResponse(stream.open());
}

async function post(
  exchange: Exchange,
  body: NonNullable<RequestInit["body"]> | null,
  options: FetchOptions,
  clock: Clock,
): Promise<Response> {
  for (let hops = 0; ; hops++) {
    const network = networkOptions(exchange.url, options.env);
    exchange.proxy = network.proxy || null;
    const pending = fetch(exchange.url, {
      method: "POST",
      body,
      headers: options.headers,
      // A redirect followed by the runtime loses the body, or carries the key to whoever it names.
      redirect: "manual",
      signal: clock.signal,
      // Bun ends every request after five minutes unless told not to; a local model may load for longer.
      timeout: false,
      ...network,
    });
    collectWhileWaiting();
    const response = await pending;
    if (response.status < 300 || response.status >= 400) return response;
    const target = redirectTarget(response, exchange.url);
    if (target === null || hops >= MAX_REDIRECTS) throw redirected(response, exchange.url);
    await response.body?.cancel();
    exchange.url = target;
  }
}

/** Where the same host wants the request: another path, a slash, https. Null for any other target. */
function redirectTarget(response: Response, from: string): string | null {
  const location = response.headers.get("location") ?? "";
  if (location === "" || response.status === 303 || !URL.canParse(location, from)) return null;
  const [here, there] = [new URL(from), new URL(location, from)];
  const upgrades = here.protocol === "http:" && there.protocol === "https:";
  return there.hostname === here.hostname && (there.origin === here.origin || upgrades) ? there.href : null;
}

function redirected(response: Response, url: string): ProviderError {
  const target = sanitize(response.headers.get("location") ?? "somewhere else").slice(0, 200);
  return new ProviderError(`HTTP ${response.status} from ${url}: redirected to ${target}`, {
    kind: "request",
    status: response.status,
    hint: "Put the final address in baseURL.",
  });
}

/** Reads until there is something to look at. White space says nothing yet, but it is life: some send it while they queue. */
async function firstPiece(reader: ByteReader, clock: Clock): Promise<Uint8Array> {
  let seen: Uint8Array = new Uint8Array();
  for (;;) {
    const { done, value } = await reader.read();
    if (done || !value) return seen;
    clock.start();
    if (value.every((byte) => byte <= 0x20)) continue;
    seen = seen.length === 0 ? value : Buffer.concat([seen, value]);
    // A byte order mark may come in pieces.
    if (/[^\s\uFEFF\uFFFD]/.test(new TextDecoder().decode(seen.subarray(0, 512)))) return seen;
  }
}

/** A body that is no event stream: a completion in one piece, an error with status 200, or a web page. */
function whole(text: string, exchange: Exchange, options: FetchOptions, facts: FailureFacts, clock: Clock): Response {
  clock.stop();
  if (isPage(text, facts.headers)) throw pageError(text, facts);
  const value = parseJson(text);
  const frames = value === undefined ? framesOfLines(text) : framesOfWhole(value, options.wire);
  if (value !== undefined && !frames) throw notACompletion(value, facts);
  if (!frames) throw text.trimStart().startsWith("{") ? cutError(exchange.url) : plainTextError(text, facts);
  const failed = frames.map(errorIn).find((error) => error !== null);
  if (failed) throw classifyPayload(failed, withoutStatus(facts));
  exchange.ended = value !== undefined || frames.some((frame) => isLast(frame, options.wire));
  return eventResponse(frames.map(writeFrame).join(""));
}

/** A body that isn't declared an event stream and doesn't begin like one: a gateway's remark, mostly. */
const isPlainText = (look: string, headers: Headers): boolean =>
  !/event-stream/i.test(headers.get("content-type") ?? "") && !/^(:|(data|event|id|retry|error)\b)/.test(look);

function plainTextError(text: string, facts: FailureFacts): ProviderError {
  if (isPage(text, facts.headers)) return pageError(text, facts);
  const said = classifyPayload({ message: text }, withoutStatus(facts));
  return new ProviderError(
    `HTTP ${facts.status ?? 200} from ${facts.url}: a text instead of an API answer: ${said.message}`,
    {
      kind: "content",
      hint: "Check baseURL, and any proxy in between.",
    },
  );
}

function notACompletion(value: Json, facts: FailureFacts): ProviderError {
  const saysWhy =
    Array.isArray(value) || (isObject(value) && ("error" in value || "message" in value || "detail" in value));
  if (saysWhy) return classifySuccess(value, facts);
  return new ProviderError(`HTTP ${facts.status ?? 200} from ${facts.url}: JSON that is no completion`, {
    kind: "content",
    hint: "Check baseURL.",
  });
}

/** An error that came as a success: what it says of itself; where that is nothing, most likely the path is wrong. */
function classifySuccess(value: Json, facts: FailureFacts): ProviderError {
  const error = classifyPayload(value, withoutStatus(facts));
  if (error.kind !== "server" || error.code !== undefined) return error;
  return new ProviderError(`HTTP ${facts.status ?? 200} from ${facts.url}: ${error.message}`, {
    kind: "content",
    status: facts.status ?? 200,
    hint: missingV1(facts.url) ? "Is /v1 missing from baseURL?" : "Check baseURL and the model.",
  });
}

// A status of 200 says nothing about an error that came with it.
const withoutStatus = (facts: FailureFacts): FailureFacts => ({ ...facts, status: undefined });

function eventResponse(body: string | ReadableStream<Uint8Array>): Response {
  return new Response(body, { status: 200, headers: { "content-type": "text/event-stream" } });
}

/** What can be had of an error's body: the status is known by now, so one that breaks off or never ends is taken as it is. */
async function readSome(response: Response, clock: Clock, signal: AbortSignal): Promise<string> {
  const reader = response.body?.getReader();
  const pieces: Uint8Array[] = [];
  for (let size = 0; reader && size < MAX_ERROR_BYTES;) {
    clock.startLast();
    const piece = await reader.read().catch((error: unknown) => {
      if (signal.aborted) throw error;
      return NOTHING_MORE;
    });
    clock.forgive();
    if (piece.done || !piece.value) break;
    pieces.push(piece.value);
    size += piece.value.length;
  }
  await reader?.cancel().catch(ignoreClosed);
  return Buffer.concat(pieces).toString("utf8");
}

const NOTHING_MORE: { done: boolean; value?: Uint8Array } = { done: true };

async function readRest(first: Uint8Array, reader: ByteReader, clock: Clock, limit: number): Promise<string> {
  const pieces = [first];
  for (let size = first.length; size < limit;) {
    clock.start();
    const { done, value } = await reader.read();
    clock.stop();
    if (done || !value) return Buffer.concat(pieces).toString("utf8");
    pieces.push(value);
    size += value.length;
  }
  await reader.cancel().catch(ignoreClosed);
  return Buffer.concat(pieces).toString("utf8");
}
