/** Compaction of the wire view in three rungs, each only if the one before did not suffice. Calls the model only through the function it is given. */
import { digest, factsTokens, spanFacts } from "./compact-digest.ts";
import { parseSummary } from "./compact.ts";
import { isAbort } from "./errors.ts";
import { callsIn, isPrompt } from "./message.ts";
import { elidedResult, openView, wireMessages, withoutReasoning, type WireView } from "./prune-view.ts";
import type { ViewState } from "./session-record.ts";
import type { Message, ToolCallPart, ToolResult } from "./types.ts";

export interface CompactOptions {
  /** What the whole request should cost afterwards: half of the threshold keeps the prefix stable for many steps. */
  targetTokens: number;
  /** System text and tools, which compaction can't shorten. */
  fixedTokens: number;
  /** Tokens of one message (`TokenMeter.message`). */
  estimate(message: Message): number;
  /** Asks a model for a summary. May throw; anything but an abort then leads to the digest. */
  summarise(span: Message[], earlier: string | null): Promise<string>;
  /** True for models whose thinking blocks are bound to everything before them. */
  bindsThinking: boolean;
}

export interface Compaction {
  view: WireView;
  /** Messages on the wire before and after. */
  before: number;
  after: number;
  /** False when nothing could be shortened: the caller must not try again. */
  changed: boolean;
  /** Who summarised; null when no turn had to be dropped. */
  summary: "model" | "digest" | null;
}

// The newest steps are what the model works with; their results stay whole.
const KEPT_STEPS = 3;
const SMALLEST_ELIDED_TOKENS = 60;
const SUMMARY_TOKENS = 1_600;
// The user's latest words are repeated whole; a pasted file among them only as far as the room allows.
const LONGEST_PROMPT_CHARS = 8_000;
const SHORTEST_PROMPT_CHARS = 600;

/**
 * Shortens what goes on the wire: (1) reasoning of finished turns, (2) results of old calls, largest first,
 * (3) the oldest turns, summarised; inside the turn in progress only when that alone is too long. The transcript is
 * untouched. Rejects only with an abort.
 */
export async function compactView(view: WireView, options: CompactOptions): Promise<Compaction> {
  const room = options.targetTokens - options.fixedTokens;
  const total = (candidate: WireView) => sum(candidate.messages, options.estimate);
  let next = withState(view, withoutOldReasoning(view, options.bindsThinking));
  if (total(next) > room) next = withState(view, withElided(next, total(next) - room, options));
  if (total(next) <= room) return report(view, next, null);
  const promptChars = Math.min(LONGEST_PROMPT_CHARS, Math.max(SHORTEST_PROMPT_CHARS, room));
  const summaryTokens = Math.min(SUMMARY_TOKENS + factsTokens(promptChars), room / 2);
  const cut = chooseCut(next, room - summaryTokens, options);
  if (cut === null) return report(view, next, null);
  const { text, by } = await summarise(view, cut, options);
  return report(view, withState(view, droppedState(next, cut, text, promptChars)), by);
}

function report(before: WireView, after: WireView, summary: Compaction["summary"]): Compaction {
  const changed = differs(before, after);
  const view = changed ? after : before;
  return { view, before: wireMessages(before).length, after: wireMessages(view).length, changed, summary };
}

function differs(before: WireView, after: WireView): boolean {
  const [old, now] = [before.state, after.state];
  if (now.dropped !== old.dropped || now.elided.length !== old.elided.length) return true;
  const newlyBare = after.source.slice(Math.max(old.reasoningBefore, now.dropped), now.reasoningBefore);
  return newlyBare.some((message) => message.role === "assistant" && withoutReasoning(message) !== message);
}

function withState(view: WireView, state: ViewState): WireView {
  return openView(view.source, { ...state, sourceCount: view.source.length });
}

/** Bound thinking is void after any change before it, so it goes everywhere; else the turn in progress keeps its own. */
function withoutOldReasoning(view: WireView, bindsThinking: boolean): ViewState {
  const before = bindsThinking ? view.source.length : Math.max(0, view.source.findLastIndex(isPrompt));
  return { ...view.state, reasoningBefore: Math.max(view.state.reasoningBefore, before) };
}

interface Elidable {
  id: string;
  gain: number;
}

function withElided(view: WireView, excess: number, options: CompactOptions): ViewState {
  // Array.sort is stable: of equal results the oldest goes first.
  const candidates = elidable(view, options).sort((left, right) => right.gain - left.gain);
  const elided = [...view.state.elided];
  let left = excess;
  for (const candidate of candidates) {
    if (left <= 0) break;
    elided.push(candidate.id);
    left -= candidate.gain;
  }
  return { ...view.state, elided };
}

function elidable(view: WireView, options: CompactOptions): Elidable[] {
  const { source, state } = view;
  const end = protectedFrom(source);
  const gone = new Set(state.elided);
  const found: Elidable[] = [];
  let calls: ToolCallPart[] = [];
  for (const [index, message] of source.slice(0, end).entries()) {
    if (message.role === "assistant") calls = callsIn(message);
    if (message.role !== "tool" || index < state.dropped) continue;
    for (const result of message.results) {
      const call = calls.find((candidate) => candidate.id === result.callId);
      const gain = gone.has(result.callId) ? 0 : gainOf(result, call, options);
      if (gain >= SMALLEST_ELIDED_TOKENS) found.push({ id: result.callId, gain });
    }
  }
  return found;
}

function gainOf(result: ToolResult, call: ToolCallPart | undefined, options: CompactOptions): number {
  const cost = (item: ToolResult) => options.estimate({ role: "tool", results: [item] });
  return cost(result) - cost(elidedResult(result, call));
}

/** Index of the message with which the newest steps begin. */
function protectedFrom(source: readonly Message[]): number {
  let steps = 0;
  for (let index = source.length - 1; index >= 0; index--) {
    if (source[index]?.role === "assistant" && ++steps === KEPT_STEPS) return index;
  }
  return 0;
}

/**
 * Where the kept part begins: the earliest start of a turn that leaves little enough, else the earliest step of the
 * turn in progress that does, else the latest of those. Null when there is nothing to drop.
 */
function chooseCut(view: WireView, room: number, options: CompactOptions): number | null {
  const { source, state } = view;
  const turn = source.findLastIndex(isPrompt);
  const kept = keptTokens(view, options);
  const fits = (index: number) => (kept[index] ?? 0) <= room;
  const starts = range(state.dropped + 1, turn + 1).filter((index) => isTurn(source, index));
  const whole = starts.find(fits);
  if (whole !== undefined) return whole;
  const steps = range(Math.max(turn, state.dropped) + 1, source.length).filter((index) => isStep(source, index));
  return steps.find(fits) ?? steps.at(-1) ?? starts.at(-1) ?? null;
}

/** Tokens of the view from each index of the transcript to its end. */
function keptTokens(view: WireView, options: CompactOptions): Float64Array {
  const { source, state } = view;
  const offset = state.dropped - (state.dropped > 0 ? 1 : 0);
  const kept = new Float64Array(source.length + 1);
  for (let index = source.length - 1; index >= state.dropped; index--) {
    const message = view.messages[index - offset];
    kept[index] = (kept[index + 1] ?? 0) + (message ? options.estimate(message) : 0);
  }
  return kept;
}

// A call and its result are never parted: a kept part begins with a user message or with the next step.
function isCut(source: readonly Message[], index: number): boolean {
  return callsIn(source[index - 1]).length === 0;
}

function isTurn(source: readonly Message[], index: number): boolean {
  const message = source[index];
  return message !== undefined && isPrompt(message) && isCut(source, index);
}

function isStep(source: readonly Message[], index: number): boolean {
  return source[index]?.role === "assistant" && isCut(source, index);
}

async function summarise(
  view: WireView,
  cut: number,
  options: CompactOptions,
): Promise<{ text: string; by: "model" | "digest" }> {
  const span = view.source.slice(view.state.dropped, cut);
  const earlier = view.state.summary;
  try {
    const text = parseSummary(await options.summarise(span, earlier));
    if (text !== null) return { text, by: "model" };
  } catch (error) {
    if (isAbort(error)) throw error;
    // Whatever went wrong with the call, the turn must be able to go on; the digest takes the summary's place.
  }
  return { text: digest(span, earlier), by: "digest" };
}

function droppedState(view: WireView, cut: number, summary: string, promptChars: number): ViewState {
  const { source, state } = view;
  const elided = new Set(state.elided);
  const kept = source.slice(cut).flatMap((message) => {
    return message.role === "tool" ? message.results.map((result) => result.callId).filter((id) => elided.has(id)) : [];
  });
  return { ...state, dropped: cut, summary, facts: spanFacts(source.slice(0, cut), promptChars), elided: kept };
}

function range(start: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - start) }, (_, index) => start + index);
}

function sum<T>(items: readonly T[], measure: (item: T) => number): number {
  return items.reduce((total, item) => total + measure(item), 0);
}
