/** The fetch that MCP's HTTP goes through: proxies, certificates, no time limit of the runtime's own, no endless answers. Adds no headers. */
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { boundedResponse } from "./mcp-bounds.ts";
import { networkOptions, type NetworkEnv } from "./network.ts";

/** `signal` ends every request that is under way. Redirects are left to the SDK, which stays within the origin. */
export function networkFetch(env: NetworkEnv, signal?: AbortSignal): FetchLike {
  return async (url, init) => {
    const signals = [signal, init?.signal].filter((one) => one instanceof AbortSignal);
    const response = await fetch(String(url), {
      ...init,
      redirect: init?.redirect ?? "manual",
      // Bun ends every request after five minutes unless told not to; a stream of a server's messages stays open.
      timeout: false,
      ...networkOptions(String(url), env),
      ...(signals.length > 0 ? { signal: AbortSignal.any(signals) } : {}),
    });
    return boundedResponse(response);
  };
}
