/** Ids of tool calls: unique ones on the way in, accepted ones on the way out. Pure but for the made-up ids. */
import { sha256 } from "./digest.ts";
import type { Message } from "./types.ts";

/** What an endpoint takes as the id of a call. */
export type IdRule = "openai-chat" | "chat" | "kimi" | "mistral" | "responses" | "anthropic";

// OpenAI's chat endpoint refuses more than 40 characters, the others 64; Mistral wants exactly nine letters and digits.
// Kimi counts calls in its ids (`functions.ls:0`) and goes astray when they come back as something else.
const ACCEPTED: Record<IdRule, RegExp> = {
  "openai-chat": /^[a-zA-Z0-9_-]{1,40}$/,
  chat: /^[a-zA-Z0-9_-]{1,64}$/,
  kimi: /^(functions\.[a-zA-Z0-9_-]{1,48}:\d{1,4}|[a-zA-Z0-9_-]{1,64})$/,
  mistral: /^[a-zA-Z0-9]{9}$/,
  responses: /^[a-zA-Z0-9_-]{1,64}$/,
  anthropic: /^[a-zA-Z0-9_-]{1,64}$/,
};

/** The id as the target takes it: itself where it fits, else a stand-in made of its hash alone, so the same everywhere and for ever. */
export function wireId(id: string, rule: IdRule): string {
  if (ACCEPTED[rule].test(id)) return id;
  const digest = sha256(id.toWellFormed());
  return rule === "mistral" ? BigInt(`0x${digest}`).toString(36).slice(0, 9) : `call_${digest.slice(0, 32)}`;
}

/** Gives calls ids that no other call of the session has. One for the session. */
export class CallIds {
  readonly #used = new Set<string>();
  readonly #learned = new WeakSet<Message>();

  /** Notes the ids of a history, which another provider or an older session may have made. */
  learn(messages: readonly Message[]): void {
    // From the end: a history grows there, and what comes before a known answer is known.
    for (const message of messages.toReversed()) {
      if (message.role !== "assistant") continue;
      if (this.#learned.has(message)) return;
      this.#learned.add(message);
      for (const part of message.content) if (part.type === "tool-call") this.#used.add(part.id);
    }
  }

  /** The provider's id where it is new, else a made-up one. */
  take(id: string | null | undefined): string {
    const chosen = id && !this.#used.has(id) ? id : `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
    this.#used.add(chosen);
    return chosen;
  }
}
