/** Questions about messages that several layers ask. Pure; changes nothing. */
import type { Message, ResultPart, ToolCallPart, UserMessage } from "./types.ts";

/** Stands for a first message that is missing or holds nothing to send; always these words, since thinking may be bound to them. */
export const OPENING = "Continue from where this conversation was.";

/** True for a message in which the user said something: not a summary, not only text that shiro injected. */
export function isPrompt(message: Message): message is UserMessage {
  if (message.role !== "user" || message.summary) return false;
  return message.content.some((part) => part.type === "image" || !part.injected);
}

/** The user's own words; injected text is none of them, an image is named. */
export function promptText(message: UserMessage): string {
  const texts = message.content.flatMap((part) => {
    if (part.type === "image") return ["(an image)"];
    return part.injected ? [] : [part.text];
  });
  return texts.join("\n").trim();
}

/** What piped input stands between, behind the prompt it came with. */
export const STDIN_BLOCK = { begin: "\n\n<stdin>\n", end: "</stdin>" } as const;

/** A prompt's text without the piped input behind it: for titles. */
export function withoutStdin(text: string): string {
  const at = text.indexOf(STDIN_BLOCK.begin);
  return at > 0 && text.lastIndexOf(STDIN_BLOCK.end) > at ? text.slice(0, at) : text;
}

/** The calls of a message, in order; none where it is no assistant message. */
export function callsIn(message: Message | undefined): ToolCallPart[] {
  return message?.role === "assistant" ? message.content.filter((part) => part.type === "tool-call") : [];
}

/** The text of a tool result; images are named only. */
export function resultText(content: readonly ResultPart[]): string {
  return content.map((part) => (part.type === "text" ? part.text : "(an image)")).join("\n");
}

/** What the agent said in a message, its reasoning and calls left out. */
export function answerText(message: Message): string {
  if (message.role !== "assistant") return "";
  return message.content
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n")
    .trim();
}
