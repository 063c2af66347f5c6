/** The headers that tell an endpoint who asks: its protocol's form of the key, and what the user added. Sends nothing. */
import { hostOf, type Endpoint } from "./provider.ts";

/**
 * Key, protocol version and the user's own headers, all names in lower case: two spellings of one name would be sent as
 * one header with both values. The user's own win.
 */
export function endpointHeaders(endpoint: Endpoint): Record<string, string> {
  return {
    ...(endpoint.protocol === "anthropic" && { "anthropic-version": "2023-06-01" }),
    ...(endpoint.apiKey && keyHeaders(endpoint, endpoint.apiKey)),
    ...Object.fromEntries(Object.entries(endpoint.headers).map(([name, value]) => [name.toLowerCase(), value])),
  };
}

function keyHeaders({ protocol, baseURL }: Endpoint, key: string): Record<string, string> {
  if (protocol === "anthropic") return { "x-api-key": key };
  // Azure's older interface reads keys only here; as Bearer it expects a token.
  const azure = hostOf(baseURL).replace(/:\d+$/, "").endsWith(".azure.com") ? { "api-key": key } : {};
  return { authorization: `Bearer ${key}`, ...azure };
}
