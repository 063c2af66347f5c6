/** Builders of messages and random transcripts for tests of histories. Seeded: the same seed gives the same transcript. */
import type {
  AssistantMessage,
  AssistantPart,
  Message,
  ToolMessage,
  ToolResult,
  UserMessage,
} from "../../src/types.ts";

export const ORIGIN = "anthropic|example.test|model-a";

export function user(text: string): UserMessage {
  return { role: "user", content: [{ type: "text", text }] };
}

export function agent(...content: (string | AssistantPart)[]): AssistantMessage {
  const parts = content.map((part): AssistantPart => (typeof part === "string" ? { type: "text", text: part } : part));
  const stop = parts.some((part) => part.type === "tool-call") ? "tool" : "end";
  return { role: "assistant", content: parts, stop, origin: ORIGIN };
}

export function call(
  id: string,
  name = "read_file",
  input: Record<string, string> = { path: `${id}.ts` },
): AssistantPart {
  return { type: "tool-call", id, name, input };
}

export function thought(text: string): AssistantPart {
  return { type: "reasoning", text, meta: { origin: ORIGIN, data: { signature: `sig-${text}` } } };
}

export function result(callId: string, text = `content of ${callId}`, name = "read_file", isError = false): ToolResult {
  return { callId, name, content: [{ type: "text", text }], isError };
}

export function results(...list: (string | ToolResult)[]): ToolMessage {
  return { role: "tool", results: list.map((item) => (typeof item === "string" ? result(item) : item)) };
}

/** Numbers in [0, 1) from a seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A transcript as a healthy session leaves it: turns of several steps, all calls answered. */
export function healthyTranscript(random: () => number, turns: number): Message[] {
  const messages: Message[] = [];
  let calls = 0;
  for (let turn = 0; turn < turns; turn++) {
    messages.push(user(`prompt ${turn}`));
    for (let step = Math.floor(random() * 4); step > 0; step--) {
      const ids = Array.from({ length: 1 + Math.floor(random() * 3) }, () => `c${calls++}`);
      const parts = random() < 0.6 ? [thought(`t${calls}`)] : [];
      messages.push(agent(...parts, ...(random() < 0.4 ? ["looking"] : []), ...ids.map((id) => call(id))));
      messages.push(results(...ids.map((id) => result(id, "x".repeat(Math.floor(random() * 2_000))))));
    }
    messages.push(agent(...(random() < 0.5 ? [thought(`a${turn}`)] : []), `answer ${turn}`));
  }
  return messages;
}

/** Breaks a transcript the ways interruptions, crashes, forks and cuts do. */
export function damaged(messages: readonly Message[], random: () => number): Message[] {
  const broken: Message[] = [];
  for (const message of messages) {
    const luck = random();
    if (luck < 0.08) continue;
    if (luck < 0.16 && message.role === "tool") broken.push({ ...message, results: message.results.slice(1) });
    else if (luck < 0.22 && message.role === "tool")
      broken.push({ ...message, notes: ["the user killed the command"] });
    else if (luck < 0.3 && message.role === "tool") broken.push({ ...message, results: message.results.toReversed() });
    else if (luck < 0.36) broken.push(message, message);
    else if (luck < 0.42 && message.role === "assistant")
      broken.push({ ...message, content: message.content.slice(0, 1), stop: null });
    else if (luck < 0.47 && message.role !== "tool")
      broken.push({ ...message, content: [{ type: "text", text: " \n" }] });
    else if (luck < 0.52) broken.push(user("typed meanwhile"), message);
    else broken.push(message);
  }
  const start = random() < 0.4 ? Math.floor(random() * broken.length) : 0;
  const end = random() < 0.5 ? start + Math.floor(random() * (broken.length - start + 1)) : broken.length;
  return broken.slice(start, end);
}
