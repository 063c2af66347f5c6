/** What can be said about a pruned span without a model: the user's words, files written, commands, failures. Pure. */
import { callInput, cutToTokens } from "./compact.ts";
import { answerText, callsIn, isPrompt, promptText, resultText } from "./message.ts";
import { cutMiddle, oneLine } from "./text.ts";
import type { Message, ToolCallPart, ToolResult } from "./types.ts";

const DIGEST_TOKENS = 1_500;
const EARLIER_TOKENS = 500;
const CHARS_PER_TOKEN = 4;

/** Stands in when no model could summarise: never nothing. An earlier summary is kept, cut so that it does not grow. */
export function digest(span: readonly Message[], earlier: string | null): string {
  const events = eventsOf(span);
  const known = earlier ?? summaryIn(span);
  const room = (DIGEST_TOKENS - (known ? EARLIER_TOKENS : 0)) * CHARS_PER_TOKEN;
  const text = sections([
    ["What the user asked (oldest first)", promptLines(events.prompts, room * 0.3)],
    ["Decisions and reasons given by the agent", newest(events.reasons.map(bullet), room * 0.3)],
    ["Last words of the agent", events.lastAnswer === "" ? [] : [oneLine(events.lastAnswer, room * 0.1)]],
    ["Files written", newest(events.files.map(bullet), room * 0.12)],
    ["Commands and outcomes", newest(events.commands, room * 0.15)],
  ]);
  const before = known ? `Before that:\n${cutToTokens(known, EARLIER_TOKENS)}\n\n` : "";
  return before + cutToTokens(text, DIGEST_TOKENS);
}

/** What facts may cost at most besides the latest request; a small context gets a part of each section. */
const ROOM = {
  first: 2_000,
  before: 3_000,
  asked: 1_600,
  binding: 2_400,
  reasons: 1_200,
  files: 1_500,
  failures: 1_600,
  unknown: 1_200,
};
/** However small the context: a call that is forgotten here may be made a second time. */
const UNKNOWN_CHARS_AT_LEAST = 300;
const WHOLE_PROMPT_CHARS = 8_000;

/** Tokens that `spanFacts` takes at most. */
export function factsTokens(promptChars: number): number {
  const rest = Object.values(ROOM).reduce((sum, room) => sum + room, 0) * shareOf(promptChars);
  return Math.ceil((rest + promptChars) / CHARS_PER_TOKEN);
}

/**
 * Facts put under every summary, whoever wrote it, so that a bad one loses nothing that binds: the first and the latest
 * request word for word, what else the user asked and laid down, decisions, files written, what failed or was refused.
 * `promptChars` bounds the latest request, and all else in proportion.
 */
export function spanFacts(dropped: readonly Message[], promptChars: number): string {
  const events = eventsOf(dropped);
  const share = shareOf(promptChars);
  const [first, latest] =
    events.prompts.length > 1 ? [events.prompts[0], events.prompts.at(-1)] : [null, events.prompts[0]];
  const others = events.prompts.slice(1, -1);
  const earlier = summaryIn(dropped);
  return sections([
    ["From an earlier summary", earlier ? [cutMiddle(earlier, ROOM.before * share).text] : []],
    ["The user's first request, word for word", first ? [cutMiddle(first, ROOM.first * share).text] : []],
    ["The user's latest request in that part, word for word", latest ? [cutMiddle(latest, promptChars).text] : []],
    ["The user's other requests", promptLines(others, ROOM.asked * share)],
    ["What the user laid down in them", bothEnds(unique(others.flatMap(bindingIn)), ROOM.binding * share)],
    ["Decisions and reasons given by the agent", bothEnds(unique(events.reasons), ROOM.reasons * share)],
    ["Files written in that part", newest(events.files.map(bullet), ROOM.files * share)],
    ["Calls that failed or were refused (newest last)", newest(events.failures, ROOM.failures * share)],
    [
      "Calls that were under way when the program ended, outcome unknown: look at the state before repeating one",
      newest(events.unknown, Math.max(UNKNOWN_CHARS_AT_LEAST, ROOM.unknown * share)),
    ],
  ]);
}

function shareOf(promptChars: number): number {
  return Math.min(1, promptChars / WHOLE_PROMPT_CHARS);
}

function unique(lines: readonly string[]): string[] {
  return [...new Set(lines)].map(bullet);
}

/** The more prompts, the shorter each; the newest that fit. */
function promptLines(prompts: readonly string[], room: number): string[] {
  const each = Math.min(400, Math.max(80, Math.floor(room / Math.max(1, prompts.length)) - 3));
  return bothEnds(
    prompts.map((prompt) => bullet(oneLine(prompt, each))),
    room,
  );
}

/** The lines that fit into `room` characters, half of it for the oldest: what was laid down at the start binds to the end. */
function bothEnds(lines: readonly string[], room: number): string[] {
  let left = room / 2;
  const cut = lines.findIndex((line) => (left -= line.length + 1) < 0);
  if (cut < 0) return [...lines];
  return [...lines.slice(0, cut), ...newest(lines.slice(cut), room / 2)];
}

/** The last lines that fit into `room` characters, in their order. */
function newest(lines: readonly string[], room: number): string[] {
  let left = room;
  const start = lines.findLastIndex((line) => (left -= line.length + 1) < 0);
  return lines.slice(start + 1);
}

const bullet = (line: string) => `- ${line}`;

// Sentences with these words carry what a later step must not contradict.
const REASON =
  /\b(?:because|since|so that|therefore|instead of|rather than|decid\w*|decision|chose\w*|agreed?|must|never|always|keep|constraint|requires?|not allowed|won't|will not|don't|do not|only|call(?:ed)? it|from now on)\b/i;

// In the user's words an exact figure or name binds as much as a "must" does.
const FIGURE = /\d|`[^`]+`|"[^"]+"/;

function bindingIn(prompt: string): string[] {
  const sentences = prompt.split(SENTENCE_END).filter((sentence) => REASON.test(sentence) || FIGURE.test(sentence));
  return sentences.map((sentence) => oneLine(sentence, 240));
}

const SENTENCE_END = /(?<=[.!?])\s+|\n+/;

function reasonsIn(text: string): string[] {
  const sentences = text.split(SENTENCE_END);
  return sentences.filter((sentence) => REASON.test(sentence)).map((sentence) => oneLine(sentence, 240));
}

interface Events {
  prompts: string[];
  lastAnswer: string;
  reasons: string[];
  files: string[];
  commands: string[];
  failures: string[];
  /** Calls of which nobody knows what they did. */
  unknown: string[];
}

function eventsOf(span: readonly Message[]): Events {
  const events: Events = {
    prompts: [],
    lastAnswer: "",
    reasons: [],
    files: [],
    commands: [],
    failures: [],
    unknown: [],
  };
  const files = new Set<string>();
  const calls = new Map<string, ToolCallPart>();
  for (const message of span) {
    if (isPrompt(message)) events.prompts.push(promptText(message));
    else if (message.role === "assistant") {
      const text = answerText(message);
      if (text !== "") events.lastAnswer = text;
      events.reasons.push(...reasonsIn(text));
      for (const call of callsIn(message)) calls.set(call.id, call);
    } else if (message.role === "tool") {
      for (const result of message.results) addResult(events, files, calls.get(result.callId), result);
    }
  }
  events.files = [...files];
  return events;
}

function addResult(events: Events, files: Set<string>, call: ToolCallPart | undefined, result: ToolResult): void {
  const text = resultText(result.content);
  const what = call ? callInput(call, 160) : "";
  if (result.outcomeUnknown) events.unknown.push(`- ${result.name} ${call ? callInput(call, 100) : ""}`.trimEnd());
  else if (result.isError) events.failures.push(`- ${result.name} ${what}: ${oneLine(text, 200)}`);
  const command = call?.input["command"];
  if (typeof command === "string")
    events.commands.push(`- ${oneLine(command, 160)} → ${outcomeOf(text, result.isError)}`);
  else if (call && !result.isError) for (const file of filesWritten(call)) files.add(file);
}

function summaryIn(span: readonly Message[]): string | null {
  const message = span.find((candidate) => candidate.role === "user" && candidate.summary);
  return message?.role === "user" ? resultText(message.content) : null;
}

function outcomeOf(text: string, isError: boolean): string {
  const code = /exit(?:ed with)?(?: code| status)?:?\s*(-?\d+)/i.exec(text.slice(-400))?.[1];
  const lastLine = oneLine(text.trimEnd().split("\n").at(-1) ?? "", 100);
  const status = code ? `exit code ${code}` : isError ? "failed" : "done";
  return lastLine === "" || /exit/i.test(lastLine) ? status : `${status}; ${lastLine}`;
}

// Recognised by what a call carries, not by its name: a path together with something to put there, or a patch.
const WRITTEN_FIELDS = ["content", "edits", "new_string", "newString", "new_text", "newText", "new", "replace"];

function filesWritten(call: ToolCallPart): string[] {
  const path = call.input["path"] ?? call.input["file_path"];
  if (typeof path === "string" && WRITTEN_FIELDS.some((field) => field in call.input)) return [path];
  const patch = call.input["patch"] ?? call.input["input"];
  if (typeof patch !== "string") return [];
  const names = patch.matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File:|\*\*\* Move to:|\+\+\+ b\/)\s*(.+)$/gm);
  return Array.from(names, (match) => (match[1] ?? "").trim());
}

function sections(list: readonly (readonly [title: string, lines: readonly string[]])[]): string {
  const filled = list.filter(([, lines]) => lines.length > 0);
  return filled.map(([title, lines]) => `${title}:\n${lines.join("\n")}`).join("\n\n");
}
