/** The contract between the loop and a model endpoint. Wires implement it; nothing here does I/O. */
import type { JsonObject, Message, ModelEvent, ThinkingLevel } from "./types.ts";

export const WIRES = ["chat", "responses", "anthropic"] as const;
export type Wire = (typeof WIRES)[number];

export const PROTOCOLS = ["anthropic", "openai"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** Where requests go and how. Resolved: no `env:`/`cmd:` left, defaults filled in. */
export interface Endpoint {
  protocol: Protocol;
  /** Preset that was chosen, `custom` where none was. */
  presetId: string;
  /** As configured, with or without `/v1` and a trailing slash. */
  baseURL: string;
  /** Null for keyless servers. */
  apiKey: string | null;
  headers: Record<string, string>;
  /** Overrides the first-byte and idle limits; 0 switches them off; null keeps the defaults. */
  timeoutMs: number | null;
  /** `SHIRO_WIRE`: forces the OpenAI wire on any endpoint. */
  forcedWire: "chat" | "responses" | null;
}

export interface ToolDefinition {
  name: string;
  description: string;
  /** JSON Schema, an object at the top. */
  schema: JsonObject;
}

export interface ModelRequest {
  model: string;
  system: string;
  /** Byte-stable within a session. Empty: no tools on the wire at all. */
  tools: readonly ToolDefinition[];
  /** Already repaired (prune.ts): legal for every wire. */
  messages: readonly Message[];
  thinking: ThinkingLevel;
  /** Asked-for answer size in tokens; null takes the model's own. */
  maxOutputTokens: number | null;
  /** Keys the provider's prompt cache. */
  sessionId: string;
  /** The model may not call the tools that are listed. */
  noCalls?: boolean;
  /** JSON Schema the answer must satisfy, where the provider offers that. */
  outputSchema?: JsonObject;
}

export interface Provider {
  /** Streams one answer. Throws ProviderError, or an AbortError when `signal` fired. Ends with exactly one `stop`. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
  /** `PartMeta.origin` for answers of this model. */
  origin(model: string): string;
}

/** `<protocol>|<host>|<model>`: opaque parts go back only where this is equal. Chat and responses of one host share it; each reads only its own fields. */
export function originOf(endpoint: Pick<Endpoint, "protocol" | "baseURL">, model: string): string {
  return `${endpoint.protocol}|${hostOf(endpoint.baseURL)}|${model}`;
}

const hosts = new Map<string, string>();

/** Host with port of a URL; the text itself where it is none. A program meets a handful of them, thousands of times. */
export function hostOf(url: string): string {
  const host = hosts.get(url) ?? (URL.canParse(url) ? new URL(url).host : url);
  if (hosts.size < 64) hosts.set(url, host);
  return host;
}
