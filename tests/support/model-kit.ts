/** Short ways to talk to a provider in tests: endpoints, requests, and an answer collected from its events. */
import { ProviderError } from "../../src/errors.ts";
import { factsFor } from "../../src/models.ts";
import { type Endpoint, hostOf, type ModelRequest, type Protocol, type ToolDefinition } from "../../src/provider.ts";
import { RepairMemory } from "../../src/provider-repair.ts";
import { openProvider, type ProviderDeps } from "../../src/providers.ts";
import type {
  AssistantMessage,
  AssistantPart,
  Message,
  ModelEvent,
  StopReason,
  ToolCallPart,
  ToolMessage,
  Usage,
  UserMessage,
} from "../../src/types.ts";
import type { ModelServer } from "./model-server.ts";

export const TOOL: ToolDefinition = {
  name: "ls",
  description: "Lists a directory.",
  schema: { type: "object", properties: { path: { type: "string" } } },
};

export function endpoint(url: string, protocol: Protocol = "openai", more: Partial<Endpoint> = {}): Endpoint {
  return {
    protocol,
    presetId: "custom",
    baseURL: url,
    apiKey: "k",
    headers: {},
    timeoutMs: null,
    forcedWire: null,
    ...more,
  };
}

export const user = (text: string): UserMessage => ({ role: "user", content: [{ type: "text", text }] });

export const call = (id: string, input: ToolCallPart["input"] = {}, name = "ls"): ToolCallPart => ({
  type: "tool-call",
  id,
  name,
  input,
});

export function assistant(content: AssistantPart[], origin = "elsewhere"): AssistantMessage {
  return { role: "assistant", content, stop: "end", origin };
}

export function results(...ids: string[]): ToolMessage {
  return {
    role: "tool",
    results: ids.map((callId) => ({
      callId,
      name: "ls",
      content: [{ type: "text", text: `result of ${callId}` }],
      isError: false,
    })),
  };
}

export function request(messages: Message[], more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: "test-model",
    system: "Be brief.",
    tools: [TOOL],
    messages,
    thinking: "off",
    maxOutputTokens: null,
    sessionId: "s1",
    ...more,
  };
}

/** Everything one stream gave. */
export interface Answer {
  events: ModelEvent[];
  text: string;
  reasoning: string;
  parts: AssistantPart[];
  calls: ToolCallPart[];
  usage: Usage | null;
  stop: StopReason | null;
  notices: string[];
  retries: Extract<ModelEvent, { type: "retry" }>[];
  error: Error | null;
}

export async function collect(stream: AsyncIterable<ModelEvent>): Promise<Answer> {
  const events: ModelEvent[] = [];
  let error: Error | null = null;
  try {
    for await (const event of stream) events.push(event);
  } catch (caught) {
    error = caught instanceof Error ? caught : new Error(String(caught));
  }
  const of = <Type extends ModelEvent["type"]>(type: Type) =>
    events.filter((event): event is Extract<ModelEvent, { type: Type }> => event.type === type);
  const parts = of("part").map((event) => event.part);
  return {
    events,
    error,
    parts,
    text: of("text")
      .map((event) => event.text)
      .join(""),
    reasoning: of("reasoning")
      .map((event) => event.text)
      .join(""),
    calls: parts.filter((part) => part.type === "tool-call"),
    usage: of("usage").at(-1)?.usage ?? null,
    stop: of("stop").at(-1)?.reason ?? null,
    notices: of("notice").map((event) => event.message),
    retries: of("retry"),
  };
}

/** A provider that doesn't wait between tries and remembers only its own repairs. `waits` fills with what it would have waited. */
export function open(at: Endpoint, more: Partial<ProviderDeps> = {}, waits: number[] = []) {
  return openProvider(at, {
    env: {},
    maxRetries: 3,
    factsFor,
    random: () => 0,
    memory: new RepairMemory(),
    sleep: async (ms) => void waits.push(ms),
    ...more,
  });
}

/** One request to a server on the given wire. */
export async function ask(
  server: ModelServer,
  wire: "chat" | "responses" | "anthropic",
  asked: ModelRequest,
  more: Partial<ProviderDeps> = {},
): Promise<Answer> {
  const at = endpoint(server.url, wire === "anthropic" ? "anthropic" : "openai", {
    forcedWire: wire === "anthropic" ? null : wire,
  });
  return collect(open(at, more).stream(asked, new AbortController().signal));
}

/** The message a loop would keep of an answer. */
export function said(
  answer: Answer,
  server: ModelServer,
  model = "test-model",
  protocol: Protocol = "openai",
): AssistantMessage {
  return {
    role: "assistant",
    content: answer.parts,
    stop: answer.stop,
    origin: `${protocol}|${hostOf(server.url)}|${model}`,
  };
}

/** The error as a ProviderError, or a failed test. */
export function failure(answer: Answer): ProviderError {
  if (answer.error instanceof ProviderError) return answer.error;
  throw new Error(`expected a ProviderError, got ${String(answer.error?.stack ?? answer.error)}`);
}
