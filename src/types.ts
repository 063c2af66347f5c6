/** The vocabulary every layer shares: messages, parts, calls, results, events. Types and their constant lists only; no behaviour. */

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

export const THINKING_LEVELS = ["off", "low", "medium", "high", "max"] as const;
export type ThinkingLevel = (typeof THINKING_LEVELS)[number];

export const DECISIONS = ["allow", "ask", "deny"] as const;
export type Decision = (typeof DECISIONS)[number];

/** Opaque provider data. Goes back, unchanged, only to the same origin; everything else drops it at send time. */
export interface PartMeta {
  /** Who made it: `<wire>|<endpoint host>|<model>`, see `originOf` in provider.ts. */
  origin: string;
  /** Item ids, signatures, encrypted content, the reasoning field's name …; each wire knows its own. */
  data: JsonObject;
}

export interface TextPart {
  type: "text";
  text: string;
  meta?: PartMeta;
  /** Written by shiro in passing (task list, nudge, notice): sent to the model, hidden on screen, never the user's words. */
  injected?: true;
}

export interface ImagePart {
  type: "image";
  /** `image/png`, `image/jpeg`, `image/gif` or `image/webp`. */
  mediaType: string;
  /** Base64 without a data: prefix. */
  data: string;
}

export interface ReasoningPart {
  type: "reasoning";
  text: string;
  meta?: PartMeta;
}

export interface ToolCallPart {
  type: "tool-call";
  /** Unique within the session, made up where the provider gave none. Wires map it to what they accept. */
  id: string;
  name: string;
  input: JsonObject;
  /** Why the arguments could not be used: not JSON, not an object, cut by the token limit. The call is then never run. */
  inputError?: { kind: "truncated" | "invalid"; message: string };
  meta?: PartMeta;
}

export type UserPart = TextPart | ImagePart;
export type AssistantPart = ReasoningPart | TextPart | ToolCallPart;
export type ResultPart = TextPart | ImagePart;

export interface UserMessage {
  role: "user";
  content: UserPart[];
  /** Set when this message stands for a pruned span: its text is a summary. */
  summary?: true;
}

export const STOP_REASONS = ["end", "tool", "length", "filter", "refusal", "pause", "context"] as const;
export type StopReason = (typeof STOP_REASONS)[number];

export interface AssistantMessage {
  role: "assistant";
  content: AssistantPart[];
  /** Null when the answer never ended: aborted or cut. */
  stop: StopReason | null;
  /** `PartMeta.origin` of the model that said it. */
  origin: string;
  usage?: Usage;
}

export interface ToolResult {
  callId: string;
  name: string;
  content: ResultPart[];
  isError: boolean;
  /** A stand-in: the call was under way when the program ended. */
  outcomeUnknown?: true;
}

/** Answers every call of the assistant message before it, in call order. */
export interface ToolMessage {
  role: "tool";
  results: ToolResult[];
  /** Injected text that goes after the results. */
  notes?: string[];
}

export type Message = UserMessage | AssistantMessage | ToolMessage;

/** Tokens of one request. `inputTokens` is the whole prompt, cached part included. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** Part of `outputTokens`. */
  reasoningTokens: number;
  /** True when the provider reported nothing and these are our guess. */
  estimated?: true;
}

/** What a provider yields. Deltas are for the screen; `part` events, in final order, make the message. */
export type ModelEvent =
  | { type: "reasoning"; text: string }
  | { type: "text"; text: string }
  | { type: "tool-start"; id: string; name: string }
  | { type: "part"; part: AssistantPart }
  | { type: "usage"; usage: Usage }
  | { type: "notice"; level: NoticeLevel; message: string }
  | { type: "retry"; attempt: number; limit: number; waitMs: number; reason: string }
  | { type: "stop"; reason: StopReason };

export type NoticeLevel = "info" | "warning" | "error";

/** Who refused a call. */
export const DENIERS = [
  "guard",
  "plugin",
  "hook",
  "rule",
  "default",
  "option",
  "secret",
  "self-protection",
  "jail",
  "redirect",
  "unparsable",
  "ask",
  "user",
  "repeat",
  "skill",
  "latch",
  "sandbox",
] as const;
export type Denier = (typeof DENIERS)[number];

export const TODO_STATES = ["pending", "in_progress", "done", "blocked"] as const;
export interface Todo {
  content: string;
  status: (typeof TODO_STATES)[number];
  note?: string;
}

export const DONE_REASONS = [
  "completed",
  "error",
  "interrupted",
  "ceiling",
  "steps",
  "timeout",
  "denied",
  "schema",
  "partial",
] as const;
export type DoneReason = (typeof DONE_REASONS)[number];

/** The events of `--json`, one line each. Every one may carry `agent`, the label of the subagent it comes from. */
export type PublicEvent = { agent?: string } & (
  | {
      type: "session";
      version: 1;
      id: string | null;
      provider: string | null;
      model: string | null;
      cwd: string;
    }
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  | { type: "tool-start"; id: string; name: string }
  | { type: "tool-call"; id: string; name: string; input: JsonObject }
  | { type: "tool-output"; id: string; text: string }
  | { type: "tool-result"; id: string; name: string; output: string }
  | { type: "tool-error"; id: string; name: string; error: string }
  | { type: "tool-denied"; id: string; name: string; by: Denier; rule?: string; reason: string }
  | {
      type: "approval";
      id: string;
      name: string;
      input: JsonObject;
      subject: string;
      rule: string;
      always: string | null;
      /** Of a call that the sandbox stopped: how it may run again. */
      choices?: { name: string; text: string }[];
    }
  | { type: "todos"; todos: Todo[] }
  | { type: "compacted"; before: number; after: number }
  | { type: "notice"; level: NoticeLevel; message: string }
  | { type: "error"; kind: string; message: string; status?: number; requestId?: string }
  | {
      type: "done";
      exit: number;
      reason: DoneReason;
      steps: number;
      inputTokens: number;
      outputTokens: number;
      cacheReadTokens: number;
      costUsd: number | null;
    }
);

/** Events only a person at a terminal needs; `--json` leaves them out. */
export type ViewEvent = { agent?: string } & (
  | { type: "step-start"; step: number }
  | { type: "message"; message: Message }
  | { type: "tool-begin"; id: string; name: string; title: string }
  | {
      type: "tool-end";
      id: string;
      name: string;
      outcome: "ok" | "failed" | "denied";
      ms: number;
      diff?: string;
      note?: string;
    }
  | { type: "usage"; usage: Usage; costUsd: number | null; contextShare: number | null }
  | { type: "retry"; attempt: number; limit: number; waitMs: number; reason: string }
);

export type AgentEvent = PublicEvent | ViewEvent;
