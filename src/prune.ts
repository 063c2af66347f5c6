/** Makes any transcript legal for every wire: pairs, order, roles, nothing empty. Pure; shortens nothing and knows no wire. */
import type {
  AssistantMessage,
  AssistantPart,
  Message,
  TextPart,
  ToolCallPart,
  ToolMessage,
  ToolResult,
  UserMessage,
  UserPart,
} from "./types.ts";
import { callsIn, OPENING } from "./message.ts";

export interface RepairOptions {
  /** Why a call has no result, for the stand-in that takes its place. */
  reason?: string;
}

/**
 * A legal history, rules:
 * - every call is answered once, directly after its message, in call order; a missing answer gets a stand-in error result;
 * - a result without its call is dropped, its notes stay;
 * - starts with a user message, ends with a user or tool message, and no two neighbours are both `user` or both `assistant`;
 * - no blank text without provider data, no message without content.
 *
 * Idempotent. Messages that need nothing are returned as the same objects, and what was legal before an assistant
 * message comes out the same however the history goes on, so that requests only ever grow at the end.
 */
export function repair(messages: readonly Message[], options: RepairOptions = {}): Message[] {
  const repairer = new Repairer(options);
  for (const message of messages) repairer.push(message);
  return repairer.messages();
}

/** Repairs a history that grows: what stands before the last assistant message is done once, however often it is asked. */
export class Repairer {
  readonly #history = new History();
  readonly #usedIds = new Set<string>();
  readonly #reason: string;
  #open: Segment = { assistant: null, rest: [] };

  constructor(options: RepairOptions = {}) {
    this.#reason = options.reason ?? "interrupted by the user";
  }

  push(message: Message): void {
    if (message.role !== "assistant") return void this.#open.rest.push(message);
    addSegment(this.#history, this.#open, this.#usedIds, this.#reason);
    this.#open = { assistant: message, rest: [] };
  }

  /** The whole history so far, made legal. A new list each time; its messages are not changed later. */
  messages(): Message[] {
    const before = this.#history.mark();
    const names = new Overlay(this.#usedIds);
    addSegment(this.#history, this.#open, names, this.#reason);
    const legal = this.#history.finish();
    this.#history.reset(before);
    return legal;
  }
}

/** Ids that are taken, and those that only the open segment takes so far. */
class Overlay implements IdSet {
  readonly #base: IdSet;
  readonly #own = new Set<string>();

  constructor(base: IdSet) {
    this.#base = base;
  }

  has(id: string): boolean {
    return this.#base.has(id) || this.#own.has(id);
  }

  add(id: string): void {
    this.#own.add(id);
  }
}

interface IdSet {
  has(id: string): boolean;
  add(id: string): unknown;
}

/** An assistant message and everything up to the next one. The first may lack its assistant message. */
interface Segment {
  assistant: AssistantMessage | null;
  rest: (UserMessage | ToolMessage)[];
}

// A result counts only before the next assistant message: by then a stand-in has been sent, and what was sent stays.
function addSegment(history: History, segment: Segment, usedIds: IdSet, reason: string): void {
  const assistant = segment.assistant && cleanAssistant(segment.assistant);
  const calls = assistant ? callsIn(assistant) : [];
  const renamed = assistant && calls.length > 0 ? renameRepeated(assistant, calls, usedIds) : assistant;
  if (renamed) history.add(renamed);
  const first = segment.rest[0];
  const direct = calls.length > 0 && first?.role === "tool" ? first : null;
  if (renamed && calls.length > 0) history.add(answer(calls, callsIn(renamed), segment.rest, direct, reason));
  for (const message of segment.rest) {
    if (message.role === "user") history.add(cleanUser(message));
    else if (message !== direct) history.add(notesOf(message));
  }
}

function answer(
  calls: readonly ToolCallPart[],
  renamed: readonly ToolCallPart[],
  rest: readonly Message[],
  direct: ToolMessage | null,
  reason: string,
): ToolMessage {
  const found = resultsById(rest);
  const results = calls.map((call, index) => {
    const id = renamed[index]?.id ?? call.id;
    const result = take(found, call.id);
    if (!result) return standIn(id, call.name, reason);
    return result.callId === id ? result : { ...result, callId: id };
  });
  if (direct && sameItems(direct.results, results)) return direct;
  return direct?.notes ? { role: "tool", results, notes: direct.notes } : { role: "tool", results };
}

function resultsById(rest: readonly Message[]): Map<string, ToolResult[]> {
  const found = new Map<string, ToolResult[]>();
  for (const message of rest) {
    if (message.role !== "tool") continue;
    for (const result of message.results) {
      const known = found.get(result.callId);
      if (known) known.push(result);
      else found.set(result.callId, [result]);
    }
  }
  return found;
}

// Where one message calls the same id twice, its results are handed out in their order.
function take(found: Map<string, ToolResult[]>, id: string): ToolResult | undefined {
  return found.get(id)?.shift();
}

function standIn(callId: string, name: string, reason: string): ToolResult {
  const text = `[tool error] ${reason}; whether the call had any effect is unknown.`;
  return { callId, name, content: [{ type: "text", text }], isError: true };
}

/** Endpoints refuse an id that was used before; the later call and its result get a name of their own. */
function renameRepeated(message: AssistantMessage, calls: readonly ToolCallPart[], usedIds: IdSet): AssistantMessage {
  const names = calls.map((call) => freshId(call.id, usedIds));
  if (calls.every((call, index) => call.id === names[index])) return message;
  let next = 0;
  const content = message.content.map((part) => {
    return part.type === "tool-call" ? { ...part, id: names[next++] ?? part.id } : part;
  });
  return { ...message, content };
}

function freshId(id: string, usedIds: IdSet): string {
  let name = id === "" ? "call" : id;
  for (let count = 2; usedIds.has(name); count++) name = `${id}_${count}`;
  usedIds.add(name);
  return name;
}

function cleanAssistant(message: AssistantMessage): AssistantMessage | null {
  const content = message.content.filter((part) => !isBlank(part) || part.meta !== undefined);
  // Reasoning alone is no answer: no wire takes a message that holds nothing else.
  if (!content.some((part) => part.type === "tool-call" || (part.type === "text" && !isBlank(part)))) return null;
  return content.length === message.content.length ? message : { ...message, content };
}

function cleanUser(message: UserMessage): UserMessage | null {
  const content = message.content.filter((part) => !isBlank(part));
  if (content.length === 0) return null;
  return content.length === message.content.length ? message : { ...message, content };
}

function notesOf(message: ToolMessage): UserMessage | null {
  const texts = (message.notes ?? []).filter((note) => note.trim() !== "");
  if (texts.length === 0) return null;
  return { role: "user", content: texts.map((text): TextPart => ({ type: "text", text, injected: true })) };
}

/** The history being built; knows which neighbours may stand together. */
class History {
  #messages: Message[] = [];
  /** Content of the last message, when that was merged here and may grow. */
  #growing: UserPart[] | null = null;

  add(message: Message | null): void {
    if (!message) return;
    const last = this.#messages.at(-1);
    if (message.role === "user" && last?.role === "user") return this.#merge(last, message);
    if (message.role === "assistant" && last === undefined) this.#push(injected(OPENING));
    if (message.role === "assistant" && last?.role === "assistant") this.#push(injected("Continue."));
    this.#push(message);
  }

  /** The history with its end put right; a list of its own. */
  finish(): Message[] {
    const ending = this.#messages.at(-1)?.role === "assistant" ? [injected("Continue.")] : [];
    return [...this.#messages, ...ending];
  }

  /** Where the history stands now. What was handed out by then is not touched again. */
  mark(): { count: number; last: Message | undefined } {
    this.#growing = null;
    return { count: this.#messages.length, last: this.#messages.at(-1) };
  }

  /** Takes back what came after a mark. */
  reset({ count, last }: { count: number; last: Message | undefined }): void {
    this.#messages.length = count;
    if (last) this.#messages[count - 1] = last;
    this.#growing = null;
  }

  #push(message: Message): void {
    this.#messages.push(message);
    this.#growing = null;
  }

  #merge(last: UserMessage, message: UserMessage): void {
    if (!this.#growing) {
      this.#growing = [...last.content];
      this.#messages[this.#messages.length - 1] = { ...last, content: this.#growing };
    }
    for (const part of message.content) this.#growing.push(part);
  }
}

function injected(text: string): UserMessage {
  return { role: "user", content: [{ type: "text", text, injected: true }] };
}

function isBlank(part: AssistantPart | UserPart): boolean {
  return part.type === "text" && part.text.trim() === "";
}

function sameItems<T>(left: readonly T[], right: readonly T[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index]);
}
