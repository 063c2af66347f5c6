/** Turns what endpoints say when they refuse into ProviderErrors. Knows every provider's words; decides nothing about retries. */
import { ProviderError, type ProviderErrorDetails, type ProviderErrorKind, isAbort } from "./errors.ts";
import { isUnknownModel, kindOf, kindOfStatus, type Payload, UNKNOWN_MODEL } from "./provider-error-kinds.ts";
import { retryAfterOf } from "./retry-after.ts";
import { sanitize } from "./sanitize.ts";
import { oneLine, wellFormed } from "./text.ts";
import type { Json, JsonObject } from "./types.ts";

/** What is known about a failed exchange. `status` is undefined for an error inside a stream. */
export interface FailureFacts {
  status?: number | undefined;
  headers?: Headers | undefined;
  url: string;
  /** For HTTP dates; milliseconds since the epoch. */
  now: number;
}

const MAX_MESSAGE = 400;
const PROXY_HINT = "Check the user and password in the proxy variable.";

/** Classifies an HTTP answer that is no success. `text` is its body; a web page is cut to its title. */
export function classifyResponse(text: string, facts: FailureFacts): ProviderError {
  if (isPage(text, facts.headers)) return pageError(text, facts);
  const value = parseJson(text);
  if (value === undefined) return classifyPayload({ message: text }, facts);
  return classifyPayload(value, facts);
}

/** Classifies a parsed error object: a body, or an event inside a stream. */
export function classifyPayload(value: Json, facts: FailureFacts): ProviderError {
  const payload = readPayload(value);
  const status = facts.status ?? statusInside(payload);
  const kind = kindOf(payload, status);
  const refused = status === undefined || (status >= 400 && status < 500 && status !== 429);
  // One code for what every provider says in words of its own; the program's exit code hangs on it.
  const code = refused && isUnknownModel(payload) ? UNKNOWN_MODEL : payload.code || payload.type;
  const message = payload.message || `HTTP ${status ?? "error"} without a message`;
  const hint = status === 407 ? PROXY_HINT : (hintFor(kind, payload, facts.url) ?? pathHint(status, code, facts.url));
  const retryAfterMs = retryAfterOf(facts.headers, payload.text, facts.now);
  const parameter = payload.parameter ?? parameterIn(payload.message);
  return new ProviderError(toLine(message), {
    kind,
    ...(status !== undefined && { status }),
    ...(code && { code }),
    ...(hint && { hint }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(parameter && { parameter }),
    ...requestIdOf(facts.headers),
  });
}

/** Classifies what `fetch` threw. Aborts come back as they are. `proxy` is the one the request went through, if any. */
export function classifyThrown(error: unknown, url: string, proxy: string | null = null): Error {
  if (error instanceof ProviderError || (error instanceof Error && isAbort(error))) return error;
  const code = codeOf(error);
  const text = error instanceof Error ? error.message : String(error);
  if (isCertificateError(code, text)) return certificateError(error, code, url);
  if (code === "ERR_INVALID_URL" || /invalid url|fetch\(\) url is invalid/i.test(text)) {
    return new ProviderError(`"${url}" is no URL`, { kind: "request", hint: "Check baseURL.", cause: error });
  }
  if (/header/i.test(text) && /invalid/i.test(text)) {
    // The runtime's words hold the header's value: a key.
    const hint = "Check the key and the headers of the configuration for line ends and odd characters.";
    return new ProviderError("a header or the API key holds characters that can't be sent", { kind: "request", hint });
  }
  if (code === "ERR_PROXY_TUNNEL") return tunnelError(error, text, url);
  const refused = /refused|FailedToOpenSocket|Unable to connect/i.test(`${code} ${text}`);
  const unknownHost = /ENOTFOUND|EAI_AGAIN|DNS/i.test(`${code} ${text}`);
  const message = refused
    ? `could not connect to ${originIn(url)}`
    : unknownHost
      ? `no such host: ${originIn(url)}`
      : `connection to ${originIn(url)} lost`;
  const hint = proxy
    ? `The request went through the proxy ${originIn(proxy)}: is that right?`
    : refused
      ? "Is the server running there?"
      : unknownHost
        ? "Check baseURL and the network."
        : undefined;
  return new ProviderError(message, { kind: "network", ...(code && { code }), ...(hint && { hint }), cause: error });
}

/** A proxy that doesn't let the request pass. Only a proxy in trouble is worth another try. */
function tunnelError(error: unknown, text: string, url: string): ProviderError {
  const status = Number(/\b([45]\d\d)\b/.exec(text)?.[1]);
  return new ProviderError(`the proxy refused the connection to ${originIn(url)} (${toLine(text)})`, {
    kind: status >= 500 ? "network" : "request",
    code: "ERR_PROXY_TUNNEL",
    hint: status === 407 ? PROXY_HINT : "Check the proxy variables; NO_PROXY names hosts that go without it.",
    cause: error,
  });
}

/** An answer that stopped before its end. */
export function cutError(url: string): ProviderError {
  return new ProviderError(`connection lost: the answer from ${originIn(url)} ended early`, {
    kind: "network",
    code: "stream_cut",
  });
}

/** A web page where an API was expected. */
export function pageError(text: string, facts: FailureFacts): ProviderError {
  const title = /<title[^>]*>([^<]{1,200})/i.exec(text)?.[1];
  const status = facts.status ?? 200;
  const about = title ? ` ("${toLine(title).slice(0, 80)}")` : "";
  const retryAfterMs = retryAfterOf(facts.headers, "", facts.now);
  return new ProviderError(`HTTP ${status} from ${facts.url}: a web page${about} instead of an API answer`, {
    kind: status === 413 ? "context" : (kindOfStatus(status) ?? "content"),
    status,
    hint: missingV1(facts.url) ? "Is /v1 missing from baseURL?" : "Check baseURL, and any proxy in between.",
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...requestIdOf(facts.headers),
  });
}

/** True when a body is HTML, by its type or its look. */
export function isPage(text: string, headers: Headers | undefined): boolean {
  const type = headers?.get("content-type") ?? "";
  return /^\s*(<!doctype|<html|<head|<body|<\?xml)/i.test(text) || (/text\/html/i.test(type) && /^\s*</.test(text));
}

/** True for a URL that looks as if its version were left out. */
export const missingV1 = (url: string) => URL.canParse(url) && !/\/v\d|openai|api\//.test(new URL(url).pathname);

function readPayload(value: Json): Payload {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const outer = Array.isArray(value) ? (value[0] ?? null) : value;
  if (!isObject(outer)) return { message: String(outer ?? ""), code: "", type: "", parameter: undefined, text };
  const inner = isObject(outer.error) ? outer.error : isObject(outer.detail) ? outer.detail : outer;
  const type = word(inner.type) === "error" ? "" : word(inner.type);
  return {
    message: messageIn(outer, inner),
    code: word(inner.code) || word(inner.status),
    type,
    parameter: typeof inner.param === "string" ? inner.param : undefined,
    text,
  };
}

function messageIn(outer: JsonObject, inner: JsonObject): string {
  // Mistral puts FastAPI's list below the message.
  const nested = isObject(inner.message) ? detailIn(inner.message.detail) || JSON.stringify(inner.message) : undefined;
  const own = firstText(
    inner.message,
    outer.error,
    outer.detail,
    outer.message,
    detailIn(outer.detail),
    inner.error,
    nested,
  );
  // OpenRouter wraps the upstream's words: "Provider returned error".
  const raw = isObject(inner.metadata) ? inner.metadata.raw : undefined;
  return typeof raw === "string" && raw ? `${own}: ${rawMessage(raw)}` : own;
}

function rawMessage(raw: string): string {
  const value = parseJson(raw);
  return value === undefined ? raw : readPayload(value).message || raw;
}

/** FastAPI's form: a list of `{ loc, msg }`. */
function detailIn(detail: Json | undefined): string {
  const first = Array.isArray(detail) ? detail[0] : undefined;
  if (!isObject(first)) return "";
  const where = Array.isArray(first.loc) ? first.loc.join(".") : "";
  return [where, word(first.msg)].filter(Boolean).join(": ");
}

const firstText = (...values: (Json | undefined)[]): string =>
  values.find((value): value is string => typeof value === "string" && value.trim() !== "") ?? "";

const word = (value: Json | undefined): string =>
  typeof value === "string" ? value : typeof value === "number" ? String(value) : "";

function statusInside(payload: Payload): number | undefined {
  const status = Number(payload.code);
  return Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined;
}

function hintFor(kind: ProviderErrorKind, payload: Payload, url: string): string | undefined {
  if (kind === "auth") return "Check the API key.";
  if (kind === "context")
    return "The conversation is too long for this model: /compact, /clear, or a model with more room.";
  if (kind === "quota") return "Check the account's balance and limits.";
  if (isUnknownModel(payload)) return "Pick another model; `shiro models` lists what the endpoint offers.";
  if (kind === "shape" && missingV1(url)) return "Is /v1 missing from baseURL?";
  return undefined;
}

/** "not found" alone leaves open what was looked for, and where. */
function pathHint(status: number | undefined, code: string, url: string): string | undefined {
  if (status !== 404 || code !== "" || !URL.canParse(url)) return undefined;
  const { origin, pathname } = new URL(url);
  return `HTTP 404 from ${origin}${pathname}: check baseURL and provider.`;
}

const NAMED_PARAMETER =
  /(?:parameter|argument|field|property|value|name|key|input)s?(?: supplied)?:? *[`'"]?([a-z_]+(?:\.[a-z_]+)*)[`'"]?|[`'"]([a-z_]+(?:\.[a-z_]+)*)[`'"] (?:is|does|must)|^([a-z_]+(?:\.[a-z_]+)*): /i;

function parameterIn(message: string): string | undefined {
  const match = NAMED_PARAMETER.exec(message);
  const name = match?.[1] ?? match?.[2] ?? match?.[3];
  return name?.includes("_") ? name : undefined;
}

function requestIdOf(headers: Headers | undefined): Pick<ProviderErrorDetails, "requestId"> {
  const id = headers?.get("request-id") ?? headers?.get("x-request-id");
  return id ? { requestId: id } : {};
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return code || (error.cause instanceof Error ? codeOf(error.cause) : "");
}

const CERTIFICATE_CODES = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|ERR_TLS/i;

const isCertificateError = (code: string, text: string) => CERTIFICATE_CODES.test(code) || /certificate/i.test(text);

function certificateError(error: unknown, code: string, url: string): ProviderError {
  return new ProviderError(`the certificate of ${originIn(url)} was not accepted (${code || "TLS"})`, {
    kind: "request",
    ...(code && { code }),
    hint: "For a private CA set NODE_EXTRA_CA_CERTS to its file.",
    cause: error,
  });
}

const originIn = (url: string) => (URL.canParse(url) ? new URL(url).host : url);

/** One line, cut, without the control characters that a server could send to a terminal. */
function toLine(text: string): string {
  return wellFormed(oneLine(sanitize(text), MAX_MESSAGE));
}

export { isModelUnknown } from "./provider-error-kinds.ts";

export function parseJson(text: string): Json | undefined {
  try {
    // The cast: JSON.parse gives exactly the values of Json.
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
