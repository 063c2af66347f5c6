/** What three model APIs refuse in a history, as small checks over messages. Returns the first broken rule, or null. */
import type { AssistantMessage, Message, ToolCallPart } from "../../src/types.ts";

type Rule = (messages: readonly Message[]) => string | null;

/** Messages API: alternating roles once tool results count as user content, pairs, nothing blank. */
export const anthropicRules: Rule = (messages) => {
  const roles = messages.map((message) => (message.role === "assistant" ? "assistant" : "user"));
  if (messages.length > 0 && roles[0] !== "user") return "the first message must be from the user";
  if (roles.at(-1) === "assistant") return "this model does not support assistant message prefill";
  for (const [index, message] of messages.entries()) {
    if (message.role === "assistant" && roles[index - 1] === "assistant") return `roles must alternate at ${index}`;
    if (message.role === "assistant" && !message.content.some(isAnswer)) return `empty content at ${index}`;
    if (message.role === "user" && message.content.some(isBlankText)) return `blank text block at ${index}`;
    if (message.role === "user" && message.content.length === 0) return `empty content at ${index}`;
  }
  return pairs(messages, "tool_use ids were found without tool_result blocks immediately after");
};

/** Chat completions: `tool_calls` answered directly after, by tool messages in order, and no tool message elsewhere. */
export const chatRules: Rule = (messages) => {
  for (const [index, message] of messages.entries()) {
    if (message.role === "user" && messages[index - 1]?.role === "user") return `two user messages at ${index}`;
  }
  return pairs(messages, "tool_call_ids did not have response messages") ?? uniqueIds(messages);
};

/** Responses: every `function_call_output` has its `function_call` before it, and each call exactly one output. */
export const responsesRules: Rule = (messages) => {
  const open = new Set<string>();
  const answered = new Set<string>();
  for (const message of messages) {
    for (const call of callsOf(message)) open.add(call.id);
    if (message.role !== "tool") continue;
    for (const { callId } of message.results) {
      if (!open.has(callId)) return `No tool call found for function call output with call_id ${callId}`;
      if (answered.has(callId)) return `two outputs for ${callId}`;
      answered.add(callId);
    }
  }
  const missing = [...open].find((id) => !answered.has(id));
  return missing === undefined ? null : `No tool output found for function call ${missing}`;
};

export const ALL_RULES: readonly (readonly [wire: string, rule: Rule])[] = [
  ["anthropic", anthropicRules],
  ["chat", chatRules],
  ["responses", responsesRules],
];

/** The first rule any wire finds broken. */
export function brokenRule(messages: readonly Message[]): string | null {
  for (const [wire, rule] of ALL_RULES) {
    const broken = rule(messages);
    if (broken !== null) return `${wire}: ${broken}`;
  }
  return null;
}

function pairs(messages: readonly Message[], complaint: string): string | null {
  for (const [index, message] of messages.entries()) {
    const calls = callsOf(message).map((call) => call.id);
    const next = messages[index + 1];
    const answers = next?.role === "tool" ? next.results.map((result) => result.callId) : [];
    if (message.role === "assistant" && calls.join() !== answers.join())
      return `${complaint}: ${calls.join()} at ${index}`;
    if (message.role === "tool" && messages[index - 1]?.role !== "assistant")
      return `unexpected tool_result at ${index}`;
  }
  return null;
}

function uniqueIds(messages: readonly Message[]): string | null {
  const ids = messages.flatMap(callsOf).map((call) => call.id);
  return new Set(ids).size === ids.length ? null : "a call id appears twice";
}

function callsOf(message: Message): ToolCallPart[] {
  return message.role === "assistant" ? message.content.filter((part) => part.type === "tool-call") : [];
}

const isAnswer = (part: AssistantMessage["content"][number]) =>
  part.type === "tool-call" || (part.type === "text" && part.text.trim() !== "");
const isBlankText = (part: { type: string; text?: string }) => part.type === "text" && part.text?.trim() === "";
