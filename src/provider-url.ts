/** What a base URL tells: how each SDK wants it, whether it is local, and whose endpoint it is. Pure. */
import { type Endpoint, hostOf } from "./provider.ts";

const bare = (baseURL: string): string => baseURL.trim().replace(/[?#].*$/, "");

/** The URL of a request with what stands behind the `?` of its base, as Azure's `api-version` does. */
export function withQueryOf(baseURL: string, url: string): string {
  const query = /\?([^#]*)/.exec(baseURL.trim())?.[1];
  if (!query) return url;
  return `${url}${url.includes("?") ? "&" : "?"}${query}`;
}

/** As the openai client takes it: everything before `/chat/completions`. */
export function openaiBase(baseURL: string): string {
  return bare(baseURL)
    .replace(/\/+$/, "")
    .replace(/\/(chat\/completions|responses)$/, "");
}

/** As Anthropic's client takes it: everything before `/v1/messages`. */
export function anthropicBase(baseURL: string): string {
  return bare(baseURL)
    .replace(/\/+$/, "")
    .replace(/\/messages$/, "")
    .replace(/\/v1$/, "");
}

/** The same base with `/v1`, where it is a bare host; null where it has a path already. */
export function withV1(baseURL: string): string | null {
  const base = openaiBase(baseURL);
  if (!URL.canParse(base)) return null;
  return new URL(base).pathname === "/" ? withQueryOf(baseURL, `${base}/v1`) : null;
}

/** True for hosts of this machine or its network, where loading a model may take minutes. `host` may hold a port. */
export function isLocalHost(host: string): boolean {
  const name = host
    .replace(/:\d+$/, "")
    .replace(/^\[|\]$/g, "")
    .toLowerCase();
  if (name === "localhost" || name.endsWith(".localhost") || name.endsWith(".local") || name === "::1") return true;
  if (/^(127|10)\.\d+\.\d+\.\d+$|^0\.0\.0\.0$|^192\.168\.|^169\.254\.|^172\.(1[6-9]|2\d|3[01])\./.test(name))
    return true;
  return /^(fe80|f[cd][0-9a-f]{2}):/.test(name) || (name !== "" && !/[.:]/.test(name));
}

/** Google's endpoint, or a proxy that serves a Gemini model under its plain name. */
export function isGemini(endpoint: Pick<Endpoint, "baseURL">, model: string): boolean {
  return hostOf(endpoint.baseURL).endsWith("googleapis.com") || /^(models\/)?gemini-/.test(model);
}
