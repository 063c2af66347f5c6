/** The loop's surroundings for tests: a scripted provider, tools by hand, a gate that lets everything through unless told. */
import * as v from "valibot";
import { Budget } from "../../src/budget.ts";
import type { TurnDeps } from "../../src/loop-answer.ts";
import type { ModelRequest, Provider } from "../../src/provider.ts";
import { Grant, defineTool, type Tool, type ToolContext, type ToolOutput } from "../../src/tool.ts";
import type { AgentEvent, JsonObject, Message, ModelEvent, StopReason, Usage } from "../../src/types.ts";

export interface ScriptedAnswer {
  text?: string;
  calls?: {
    id?: string;
    name: string;
    input?: JsonObject;
    inputError?: { kind: "truncated" | "invalid"; message: string };
  }[];
  stop?: StopReason;
  usage?: Partial<Usage>;
  /** Thrown after the text was delivered. */
  error?: unknown;
  /** Never ends; only an abort does. */
  hang?: boolean;
}

export function scriptedProvider(script: readonly ScriptedAnswer[]): Provider & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    requests,
    origin: (model) => `test|local|${model}`,
    async *stream(request, signal): AsyncGenerator<ModelEvent> {
      requests.push({ ...request, messages: structuredClone([...request.messages]) });
      const answer = script[requests.length - 1] ?? { text: "done" };
      if (answer.text) {
        yield { type: "text", text: answer.text };
        if (!answer.error && !answer.hang) yield { type: "part", part: { type: "text", text: answer.text } };
      }
      if (answer.hang) signal.throwIfAborted();
      if (answer.hang)
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
      if (answer.error) throw answer.error;
      for (const [index, call] of (answer.calls ?? []).entries()) {
        const id = call.id ?? `c${requests.length}.${index}`;
        yield { type: "tool-start", id, name: call.name };
        yield {
          type: "part",
          part: {
            type: "tool-call",
            id,
            name: call.name,
            input: call.input ?? {},
            ...(call.inputError ? { inputError: call.inputError } : {}),
          },
        };
      }
      yield {
        type: "usage",
        usage: {
          inputTokens: 10,
          outputTokens: 5,
          cacheReadTokens: 0,
          cacheWriteTokens: 0,
          reasoningTokens: 0,
          ...answer.usage,
        },
      };
      yield { type: "stop", reason: answer.stop ?? (answer.calls ? "tool" : "end") };
    },
  };
}

export function testTool(
  name: string,
  run: (input: JsonObject, context: ToolContext) => Promise<ToolOutput> | ToolOutput,
  options: { mutates?: boolean; safe?: boolean } = {},
): Tool {
  return defineTool({
    name,
    description: `${name}.`,
    set: "core",
    input: v.looseObject({ required: v.optional(v.string()) }),
    mutates: options.mutates ?? false,
    permission: "allow",
    subjects: () => [],
    concurrencySafe: () => options.safe ?? false,
    run: async (input, context) => run(input as JsonObject, context), // loose objects hold whatever the script gave
  });
}

export function scriptedTurn(
  provider: Provider,
  tools: readonly Tool[],
  overrides: Partial<TurnDeps> = {},
): TurnDeps & { transcript: Message[] } {
  const transcript: Message[] = [];
  const deps: TurnDeps & { transcript: Message[] } = {
    transcript,
    provider,
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    request: () => ({ model: "m", system: "s", tools: [], thinking: "off", maxOutputTokens: null, sessionId: "id" }),
    history: {
      append: (message) => void transcript.push(message),
      async *prepare() {
        return [...transcript];
      },
      injections: () => [],
    },
    budget: new Budget(
      { maxSpendUsd: null, maxTokens: null, maxSeconds: null },
      { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, costUsd: 0 },
    ),
    account: (usage) => ({
      usage: usage ?? {
        inputTokens: 1,
        outputTokens: 1,
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
        reasoningTokens: 0,
        estimated: true,
      },
      costUsd: 0.001,
      contextShare: null,
    }),
    changedTodos: () => null,
    maxSteps: 20,
    admit: async (call) => ({ grant: Grant.mint(call) }),
    settled: () => {},
    // The tools of these tests use the signal and the output only.
    context: (call, signal, output) =>
      ({ callId: call.id, signal, output, onCommand: () => () => {} }) as unknown as ToolContext,
    started: () => {},
    finished: () => {},
    finish: async (text) => text,
    title: (call) => call.tool.name,
    latch: new Set(),
    toolLimit: () => null,
    ...overrides,
  };
  return deps;
}

export async function collect(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const all: AgentEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

export function user(text: string): Message & { role: "user" } {
  return { role: "user", content: [{ type: "text", text }] };
}
