/** The changes a session can undergo, as journal entries: a record is the fold of them. Pure. */
import * as v from "valibot";
import { isPrompt, promptText, withoutStdin } from "./message.ts";
import { addUsd } from "./pricing.ts";
import {
  parseMessage,
  parseRecord,
  parseResult,
  parseStarted,
  parseTodos,
  parseView,
  type SessionRecord,
  type Spend,
  type StartedCall,
  type ViewState,
} from "./session-record.ts";
import { oneLine } from "./text.ts";
import type { Message, Todo, ToolResult, UserMessage } from "./types.ts";

/** Tokens and cost of one request, to be added. */
export type SpendDelta = Omit<Spend, "day" | "requests" | "unpriced" | "estimated"> & { estimated?: boolean };

export type SessionEntry =
  /** First line of a new session's journal: the record before anything was said. */
  | { t: "open"; record: SessionRecord }
  | { t: "message"; message: Message }
  | { t: "start"; call: StartedCall }
  /** What a call came to, while others of its answer still run. */
  | { t: "result"; result: ToolResult }
  | { t: "todos"; todos: Todo[] }
  | { t: "spend"; spend: SpendDelta }
  | { t: "model"; provider: string; model: string }
  | { t: "title"; title: string }
  | { t: "view"; view: ViewState }
  /** Keeps the first `count` messages. */
  | { t: "cut"; count: number }
  /** `/compact`: one summary in place of everything. */
  | { t: "replace"; message: UserMessage }
  /** Takes the last `replace` back. */
  | { t: "restore" };

/** A journal line: an entry, when it happened, and its number. */
export type JournalLine = SessionEntry & { n: number; at: string };

const TITLE_CHARS = 80;

const lineSchema = v.looseObject({ n: v.pipe(v.number(), v.integer()), at: v.string(), t: v.string() });

const openSchema = v.looseObject({ extra: v.optional(v.looseObject({}), {}) });

/** Checks outside data for being a journal line. Null where it is none, or one of a newer version. */
export function parseLine(value: unknown): JournalLine | null {
  const parsed = v.safeParse(lineSchema, value);
  if (!parsed.success) return null;
  const entry = parseEntry(parsed.output.t, parsed.output);
  return entry && { ...entry, n: parsed.output.n, at: parsed.output.at };
}

function parseEntry(type: string, fields: Record<string, unknown>): SessionEntry | null {
  switch (type) {
    case "open": {
      const parsed = v.safeParse(openSchema, fields["record"]);
      if (!parsed.success) return null;
      const { extra, ...known } = parsed.output;
      const checked = parseRecord({ ...known, ...extra });
      return "record" in checked ? { t: "open", record: checked.record } : null;
    }
    case "message": {
      const message = parseMessage(fields["message"]);
      return message && { t: "message", message };
    }
    case "start": {
      const call = parseStarted(fields["call"]);
      return call && { t: "start", call };
    }
    case "result": {
      const result = parseResult(fields["result"]);
      return result && { t: "result", result };
    }
    case "todos": {
      const todos = parseTodos(fields["todos"]);
      return todos && { t: "todos", todos };
    }
    case "view": {
      const view = parseView(fields["view"]);
      return view && { t: "view", view };
    }
    case "replace": {
      const message = parseMessage(fields["message"]);
      return message?.role === "user" ? { t: "replace", message } : null;
    }
    default:
      return parsePlain(fields);
  }
}

const plainSchema = v.variant("t", [
  v.object({ t: v.literal("model"), provider: v.string(), model: v.string() }),
  v.object({ t: v.literal("title"), title: v.string() }),
  v.object({ t: v.literal("cut"), count: v.pipe(v.number(), v.integer(), v.minValue(0)) }),
  v.object({ t: v.literal("restore") }),
  v.object({
    t: v.literal("spend"),
    spend: v.object({
      provider: v.string(),
      model: v.string(),
      inputTokens: v.number(),
      outputTokens: v.number(),
      cacheReadTokens: v.number(),
      cacheWriteTokens: v.number(),
      costUsd: v.nullable(v.number()),
      subagent: v.boolean(),
      estimated: v.exactOptional(v.boolean()),
    }),
  }),
]);

function parsePlain(fields: unknown): SessionEntry | null {
  const parsed = v.safeParse(plainSchema, fields);
  return parsed.success ? parsed.output : null;
}

/** Applies one entry to a record, in place. */
export function applyEntry(record: SessionRecord, line: JournalLine): void {
  record.journalSeq = line.n;
  record.updatedAt = line.at;
  switch (line.t) {
    case "open":
      return void Object.assign(record, line.record, { journalSeq: line.n });
    case "message":
      return addMessage(record, line.message);
    case "start":
      return void record.started.push(line.call);
    case "result":
      return void record.results.push(line.result);
    case "todos":
      record.notebook = { ...record.notebook, todos: line.todos };
      return;
    case "spend":
      return addSpend(record, line.spend, line.at.slice(0, 10));
    case "model":
      return void Object.assign(record, { provider: line.provider, model: line.model });
    case "title":
      record.title = line.title;
      return;
    case "view":
      return void record.views.push(line.view);
    case "cut":
      return cut(record, line.count);
    case "replace":
      return replace(record, line.message, line.at);
    case "restore":
      return restore(record);
    default:
      line satisfies never;
  }
}

function addMessage(record: SessionRecord, message: Message): void {
  record.messages.push(message);
  if (isPrompt(message)) {
    record.turns++;
    if (record.title === "") record.title = oneLine(withoutStdin(promptText(message)), TITLE_CHARS);
  }
  if (message.role !== "tool") return;
  record.results = [];
  if (record.started.length === 0) return;
  const answered = new Set(message.results.map((result) => result.callId));
  record.started = record.started.filter((call) => !answered.has(call.id));
}

function addSpend(record: SessionRecord, delta: SpendDelta, day: string): void {
  record.inputTokens += delta.inputTokens;
  record.outputTokens += delta.outputTokens;
  record.cacheReadTokens += delta.cacheReadTokens;
  record.costUsd = addCost(record.costUsd, delta.costUsd);
  const row = rowFor(record.spend, delta, day);
  row.requests++;
  row.inputTokens += delta.inputTokens;
  row.outputTokens += delta.outputTokens;
  row.cacheReadTokens += delta.cacheReadTokens;
  row.cacheWriteTokens += delta.cacheWriteTokens;
  row.costUsd = addCost(row.costUsd, delta.costUsd);
  if (delta.costUsd === null) row.unpriced++;
  if (delta.estimated === true) row.estimated++;
}

function rowFor(rows: Spend[], delta: SpendDelta, day: string): Spend {
  const { provider, model, subagent } = delta;
  const known = rows.find((row) => {
    return row.day === day && row.provider === provider && row.model === model && row.subagent === subagent;
  });
  if (known) return known;
  const tokens = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const counts = { requests: 0, ...tokens, unpriced: 0, estimated: 0 };
  const row: Spend = { day, provider, model, subagent, ...counts, costUsd: null };
  rows.push(row);
  return row;
}

// Unknown is not nothing: a sum stays null until something with a price is added.
function addCost(sum: number | null, cost: number | null): number | null {
  return cost === null ? sum : addUsd(sum ?? 0, cost);
}

function cut(record: SessionRecord, count: number): void {
  const left = Math.min(count, record.messages.length);
  record.messages.length = left;
  // A state that dropped more than there is left can't be shown any more; the one before it can.
  const views = record.views.filter((view) => view.dropped < left);
  record.views = views.map((view) => ({
    ...view,
    reasoningBefore: Math.min(view.reasoningBefore, left),
    sourceCount: Math.min(view.sourceCount, left),
  }));
  record.started = [];
  record.results = [];
  record.turns = record.messages.filter(isPrompt).length;
}

function replace(record: SessionRecord, message: UserMessage, at: string): void {
  record.compactions.push({ at, messages: record.messages, views: record.views });
  record.messages = [message];
  record.views = [];
  record.started = [];
  record.results = [];
}

function restore(record: SessionRecord): void {
  const past = record.compactions.pop();
  if (!past) return;
  record.messages = past.messages;
  record.views = past.views;
  record.started = [];
  record.results = [];
  record.turns = record.messages.filter(isPrompt).length;
}
