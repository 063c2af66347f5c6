/** The shape of a saved session and its text form. Pure: reads no file, so what it is given is outside data and is checked. */
import * as v from "valibot";
import { messageOf } from "./errors.ts";
import { callsIn } from "./message.ts";
import { STOP_REASONS, TODO_STATES, type JsonObject, type Message, type Todo, type ToolResult } from "./types.ts";

/**
 * All that compaction decided about what goes on the wire, in indexes of the transcript. With the same transcript it
 * gives the same requests byte for byte, so a resumed session sends what it sent before.
 */
export interface ViewState {
  /** Messages of the transcript that the summary stands for. Never lands between a call and its result. */
  dropped: number;
  /** What the model (or the digest) made of them; null while nothing was dropped. */
  summary: string | null;
  /** Facts collected without a model, shown under the summary. */
  facts: string;
  /** Reasoning of messages before this index is gone. */
  reasoningBefore: number;
  /** Ids of calls whose results are replaced by one line. */
  elided: string[];
  /** Length of the transcript when this was decided. */
  sourceCount: number;
}

/** What one model cost on one day. `costUsd` is null where no request had a known price. */
export interface Spend {
  /** `YYYY-MM-DD`, UTC. */
  day: string;
  provider: string;
  model: string;
  requests: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  costUsd: number | null;
  /** Requests without a known price; their cost is missing from `costUsd`. */
  unpriced: number;
  /** Requests whose tokens were counted here, since the endpoint reported none. */
  estimated: number;
  /** True for requests made by subagents. */
  subagent: boolean;
}

/** A call that was dispatched; it stays here until its result is recorded. */
export interface StartedCall {
  id: string;
  name: string;
  input: JsonObject;
}

/** A transcript that `/compact` replaced. */
export interface PastTranscript {
  at: string;
  messages: Message[];
  views: ViewState[];
}

/** What lists need, without the transcript. */
export interface SessionHeader {
  version: number;
  /** UUIDv7. */
  id: string;
  createdAt: string;
  updatedAt: string;
  cwd: string;
  provider: string;
  model: string;
  title: string;
  turns: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  /** Null where nothing had a known price. */
  costUsd: number | null;
  spend: Spend[];
  /** Number of the last journal entry this record contains. */
  journalSeq: number;
}

export interface SessionRecord extends SessionHeader {
  notebook: { todos: Todo[] };
  started: StartedCall[];
  /** Results whose tool message is not there yet: other calls of the same answer are still running. */
  results: ToolResult[];
  /** States of the wire view, oldest first. */
  views: ViewState[];
  compactions: PastTranscript[];
  messages: Message[];
  /** Fields of a newer version, written back as they were. */
  extra: JsonObject;
}

export const RECORD_VERSION = 1;

const count = v.optional(v.pipe(v.number(), v.minValue(0)), 0);
const input = v.custom<JsonObject>((value) => typeof value === "object" && value !== null && !Array.isArray(value));
const meta = v.looseObject({ origin: v.string(), data: input });
const flag = v.optional(v.literal(true));
const usage = v.looseObject({
  inputTokens: v.number(),
  outputTokens: v.number(),
  cacheReadTokens: v.number(),
  cacheWriteTokens: v.number(),
  reasoningTokens: v.number(),
  estimated: flag,
});
const inputError = v.looseObject({ kind: v.picklist(["truncated", "invalid"]), message: v.string() });
const text = v.looseObject({ type: v.literal("text"), text: v.string(), meta: v.optional(meta), injected: flag });
const image = v.looseObject({ type: v.literal("image"), mediaType: v.string(), data: v.string() });
const reasoning = v.looseObject({ type: v.literal("reasoning"), text: v.string(), meta: v.optional(meta) });
const call = v.looseObject({
  type: v.literal("tool-call"),
  id: v.string(),
  name: v.string(),
  input,
  inputError: v.optional(inputError),
  meta: v.optional(meta),
});
const result = v.looseObject({
  callId: v.string(),
  name: v.string(),
  content: v.array(v.variant("type", [text, image])),
  isError: v.boolean(),
});
const message = v.variant("role", [
  v.looseObject({ role: v.literal("user"), content: v.array(v.variant("type", [text, image])), summary: flag }),
  v.looseObject({
    role: v.literal("assistant"),
    content: v.array(v.variant("type", [text, reasoning, call])),
    stop: v.nullable(v.picklist(STOP_REASONS)),
    origin: v.string(),
    usage: v.optional(usage),
  }),
  v.looseObject({ role: v.literal("tool"), results: v.array(result), notes: v.optional(v.array(v.string())) }),
]);
// A predicate, so that the loaded objects stay as they are, fields of newer versions included.
const messageSchema = v.custom<Message>((value) => v.is(message, value), "not a message this version knows");
const resultSchema = v.custom<ToolResult>((value) => v.is(result, value), "not a result this version knows");
const viewSchema = v.object({
  dropped: count,
  summary: v.nullable(v.string()),
  facts: v.string(),
  reasoningBefore: count,
  elided: v.array(v.string()),
  sourceCount: count,
});
const todoSchema = v.custom<Todo>((value) => {
  return v.is(
    v.looseObject({ content: v.string(), status: v.picklist(TODO_STATES), note: v.optional(v.string()) }),
    value,
  );
});
const startedSchema = v.object({ id: v.string(), name: v.string(), input });
const spendSchema = v.object({
  day: v.string(),
  provider: v.string(),
  model: v.string(),
  requests: count,
  inputTokens: count,
  outputTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
  costUsd: v.nullable(v.number()),
  unpriced: count,
  estimated: count,
  subagent: v.optional(v.boolean(), false),
});
const headerFields = {
  version: count,
  id: v.pipe(v.string(), v.uuid()),
  createdAt: v.string(),
  updatedAt: v.string(),
  cwd: v.string(),
  provider: v.optional(v.string(), ""),
  model: v.optional(v.string(), ""),
  title: v.optional(v.string(), ""),
  turns: count,
  inputTokens: count,
  outputTokens: count,
  cacheReadTokens: count,
  costUsd: v.optional(v.nullable(v.number()), null),
  spend: v.optional(v.array(spendSchema), []),
  journalSeq: count,
};
const bodyFields = {
  notebook: v.optional(v.looseObject({ todos: v.optional(v.array(todoSchema), []) }), { todos: [] }),
  started: v.optional(v.array(startedSchema), []),
  results: v.optional(v.array(resultSchema), []),
  views: v.optional(v.array(viewSchema), []),
  compactions: v.optional(
    v.array(v.object({ at: v.string(), messages: v.array(messageSchema), views: v.optional(v.array(viewSchema), []) })),
    [],
  ),
  messages: v.array(messageSchema),
};
const headerSchema = v.object(headerFields);
const recordSchema = v.looseObject({ ...headerFields, ...bodyFields });
type Known = v.InferOutput<typeof knownSchema>;
const knownSchema = v.object({ ...headerFields, ...bodyFields });
const KNOWN: ReadonlySet<string> = new Set([...Object.keys(headerFields), ...Object.keys(bodyFields)]);

/** Checks outside data for being a record. The reason names the field that is wrong. */
export function parseRecord(value: unknown): { record: SessionRecord } | { reason: string } {
  const parsed = v.safeParse(recordSchema, value);
  if (!parsed.success) return { reason: reasonOf(parsed.issues) };
  const extra: JsonObject = {};
  for (const [key, field] of Object.entries(parsed.output)) {
    // The value came out of JSON.parse, so whatever the schema doesn't know is JSON.
    if (!KNOWN.has(key)) extra[key] = field as JsonObject[string];
  }
  return { record: { ...pickKnown(parsed.output), extra } };
}

export function parseMessage(value: unknown): Message | null {
  return v.is(messageSchema, value) ? value : null;
}

export function parseView(value: unknown): ViewState | null {
  const parsed = v.safeParse(viewSchema, value);
  return parsed.success ? parsed.output : null;
}

export function parseTodos(value: unknown): Todo[] | null {
  const parsed = v.safeParse(v.array(todoSchema), value);
  return parsed.success ? parsed.output : null;
}

export function parseResult(value: unknown): ToolResult | null {
  const parsed = v.safeParse(resultSchema, value);
  return parsed.success ? parsed.output : null;
}

export function parseStarted(value: unknown): StartedCall | null {
  const parsed = v.safeParse(startedSchema, value);
  return parsed.success ? parsed.output : null;
}

/** Reads the first line of a record's text. Null where it is none of ours: then the whole has to be read. */
export function parseHeader(line: string): SessionHeader | null {
  if (!line.endsWith(",")) return null;
  try {
    const parsed = v.safeParse(headerSchema, JSON.parse(`${line.slice(0, -1)}}`));
    return parsed.success ? parsed.output : null;
  } catch {
    // Written by another program in another layout.
    return null;
  }
}

/** Ends every record's text; a file without it is cut. */
export const RECORD_END = "]}\n";

/** JSON with the header on the first line and one message a line, so that lists need not read transcripts. */
export function formatRecord(record: SessionRecord): string {
  const { notebook, started, results, views, compactions, messages, extra, ...header } = record;
  const head = JSON.stringify({ ...header, ...extra });
  const body = [
    `"notebook":${JSON.stringify(notebook)}`,
    `"started":${JSON.stringify(started)}`,
    `"results":${JSON.stringify(results)}`,
    `"views":${JSON.stringify(views)}`,
    `"compactions":${JSON.stringify(compactions)}`,
    `"messages":[`,
  ];
  const lines = messages.map((item) => JSON.stringify(item)).join(",\n");
  return `${head.slice(0, -1)},\n${body.join(",\n")}\n${lines}\n${RECORD_END}`;
}

/** Calls of the newest assistant message that were never dispatched and have no result: an approval was pending. */
export function pendingCalls(record: Open): StartedCall[] {
  const started = new Set(record.started.map((item) => item.id));
  return openCalls(record).filter((item) => !started.has(item.id));
}

/** Calls that were dispatched and have no result: whether they had any effect is unknown. */
export function interruptedCalls(record: Open): StartedCall[] {
  const open = new Set(openCalls(record).map((item) => item.id));
  return record.started.filter((item) => open.has(item.id));
}

type Open = Pick<SessionRecord, "messages" | "started" | "results">;

function openCalls({ messages, results }: Open): StartedCall[] {
  const index = messages.findLastIndex((item) => item.role === "assistant");
  const answered = new Set(results.map((item) => item.callId));
  for (const later of messages.slice(index + 1)) {
    if (later.role === "tool") for (const item of later.results) answered.add(item.callId);
  }
  const calls = callsIn(messages[index]).filter((item) => !answered.has(item.id));
  return calls.map(({ id, name, input: given }) => ({ id, name, input: given }));
}

function pickKnown(fields: Known & Record<string, unknown>): Known {
  const known = Object.fromEntries(Object.entries(fields).filter(([key]) => KNOWN.has(key)));
  // `fields` satisfied the whole schema, and every key of the schema was kept.
  return known as Known;
}

function reasonOf(issues: [v.BaseIssue<unknown>, ...v.BaseIssue<unknown>[]]): string {
  const first = issues[0];
  const path = v.getDotPath(first);
  return `not a session this version can read (${path ? `${path}: ` : ""}${messageOf(first.message)})`;
}
