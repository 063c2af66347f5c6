/** Fetches texts of a registry: https only, bounded while reading, every redirect judged anew. Knows nothing of what they hold. */
import { UserError, errnoOf, isAbort } from "./errors.ts";
import { networkOptions, type NetworkEnv } from "./network.ts";

/** Used where `registryUrl` is not configured. */
export const DEFAULT_REGISTRY_URL = "https://raw.githubusercontent.com/shiro-neko/registry/main/index.json";

/** Some thousand entries. When it binds, the registry has to be split; the index is refused. */
export const INDEX_BYTES = 256 * 1024;
/** Twice the longest skill with room to spare. A longer body is refused. */
export const BODY_BYTES = 64 * 1024;

const DEADLINE_MS = 5_000;
const MAX_REDIRECTS = 5;

export interface RegistryFetch {
  url: string;
  maxBytes: number;
  /** Proxy and certificate variables are read from here. */
  env: NetworkEnv;
  /** http to this machine may be used: the index itself comes from there. */
  local: boolean;
  signal?: AbortSignal;
  deadlineMs?: number;
}

/** The text at an address. Throws UserError that says what was refused or failed, and the signal's reason. */
export async function fetchRegistryText(query: RegistryFetch): Promise<string> {
  const deadlineMs = query.deadlineMs ?? DEADLINE_MS;
  const deadline = AbortSignal.timeout(deadlineMs);
  const signal = query.signal ? AbortSignal.any([query.signal, deadline]) : deadline;
  try {
    return decode(await follow(query, signal), query.url);
  } catch (error) {
    query.signal?.throwIfAborted();
    if (error instanceof UserError) throw error;
    throw new UserError(problem(error, query.url, deadlineMs), { cause: error });
  }
}

/** True for http to this machine by its plain names: registries under test. */
export function isLocalHttp(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && LOCAL_HOSTS.has(hostname);
}

const LOCAL_HOSTS: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** The address an entry or a redirect means, seen from `base`. Throws UserError for anything but https (and local http where allowed). */
export function registryAddress(written: string, base: string | null, local: boolean): string {
  if (!URL.canParse(written, base ?? undefined)) throw new UserError(`"${written}" is no address of a registry`);
  const url = new URL(written, base ?? undefined);
  if (url.username !== "" || url.password !== "")
    throw new UserError(`${url.protocol}//${url.host} was refused: an address of a registry holds no user or password`);
  if (url.protocol === "https:" || (local && isLocalHttp(url.href))) return url.href;
  throw new UserError(`${url.href} was refused: a registry is fetched over https only`);
}

async function follow(query: RegistryFetch, signal: AbortSignal): Promise<Uint8Array> {
  let url = registryAddress(query.url, null, query.local);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const response = await get(url, query.env, signal);
    const location = response.status >= 300 && response.status < 400 ? response.headers.get("location") : null;
    if (location === null) return readBody(response, url, query.maxBytes);
    await response.body?.cancel();
    url = registryAddress(location, url, query.local);
  }
  throw new UserError(`${query.url} redirects more than ${MAX_REDIRECTS} times`);
}

function get(url: string, env: NetworkEnv, signal: AbortSignal): Promise<Response> {
  const network = networkOptions(url, env);
  const headers = { "user-agent": "shiro", accept: "application/json, text/markdown, text/plain, */*;q=0.5" };
  // Bun's types don't know that `false` means "no proxy, whatever the variables say".
  const options = { ...network, headers, signal, redirect: "manual" } as RequestInit;
  return fetch(url, options);
}

async function readBody(response: Response, url: string, maxBytes: number): Promise<Uint8Array> {
  if (!response.ok) {
    await response.body?.cancel();
    throw new UserError(`${url} answered HTTP ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  // Counted after decompression: a bomb is small on the wire, and a length can be a lie.
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    size += part.value.length;
    if (size > maxBytes) {
      await reader?.cancel();
      throw new UserError(`${url} was refused: it is larger than ${maxBytes / 1024} KB`);
    }
    chunks.push(part.value);
  }
  return Buffer.concat(chunks);
}

function decode(bytes: Uint8Array, url: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new UserError(`${url} was refused: it is not UTF-8 text`, { cause: error });
  }
}

function problem(error: unknown, url: string, deadlineMs: number): string {
  if (isAbort(error) || (error instanceof Error && error.name === "TimeoutError"))
    return `${url} did not answer in full within ${deadlineMs / 1000} s`;
  return `${url} could not be fetched (${errnoOf(error) ?? "connection failed"})`;
}
