/**
 * Runs the tool calls of one response. Every call gets exactly one result, in call order, whatever stopped it; nothing runs
 * without a grant. Calls run one by one, except that neighbours which say so overlap.
 */
import { orNull } from "./abort.ts";
import { Channel } from "./channel.ts";
import { ToolError, UnknownOutcomeError, isAbort, messageOf } from "./errors.ts";
import { fitImages } from "./image-fit.ts";
import type { CallTrace } from "./loop-guard.ts";
import { batches, callKey, comparable, prepareAll, type Item } from "./loop-prepare.ts";
import { namesTool } from "./skills-tools.ts";
import { redeem, type Grant, type PreparedCall, type Tool, type ToolContext, type ToolLimit } from "./tool.ts";
import type { AgentEvent, Denier, ResultPart, ToolCallPart, ToolResult } from "./types.ts";

/** What the gate says of one call. */
export type Admission = { grant: Grant } | { denied: { by: Denier; rule?: string | undefined; reason: string } };

export interface CallDeps {
  tools: ReadonlyMap<string, Tool>;
  /** The gate with its way to ask already bound. */
  admit(call: PreparedCall, signal: AbortSignal): Promise<Admission>;
  /** Tells the gate what came of a call it admitted (repeat guard). */
  settled(call: PreparedCall, outcome: { text: string; isError: boolean }): Promise<void> | undefined | void;
  /** `emit` takes events that come up while the call runs: a subagent's. */
  context(
    call: PreparedCall,
    signal: AbortSignal,
    output: (text: string) => void,
    emit: (event: AgentEvent) => void,
  ): ToolContext;
  /** What a skill loaded in this turn allows; null: everything. */
  toolLimit(): ToolLimit | null;
  /** A mutating call is about to run: recorded before it does. */
  started(call: ToolCallPart): void;
  /** A call's result is final. Recorded before the others of its answer are waited for. */
  finished(result: ToolResult): void;
  /** Keys out of the text, well-formed, cut or spilled to what a model takes. */
  finish(text: string, call: PreparedCall): Promise<string>;
  /** Screen text of a call: its subject in one line. */
  title(call: PreparedCall): string;
  /** Calls whose effects are unknown; an identical one is refused. */
  latch: Set<string>;
}

export interface CallsOutcome {
  results: ToolResult[];
  traces: { trace: CallTrace; mutates: boolean }[];
  denied: number;
}

const INTERRUPTED = "interrupted by the user";
export async function* runCalls(
  calls: readonly ToolCallPart[],
  deps: CallDeps,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, CallsOutcome> {
  const results = new Map<string, ToolResult>();
  const told = new Map<string, string>();
  const outcome: CallsOutcome = { results: [], traces: [], denied: 0 };
  const denied = new Set<string>();
  const items = prepareAll(calls, deps.tools);
  for (const batch of batches(items)) {
    const ready: { item: Item & { prepared: PreparedCall }; grant: Grant }[] = [];
    for (const item of batch) {
      const before = outcome.denied;
      const refused = signal.aborted ? interruption(item.call) : yield* admitOne(item, deps, signal, outcome);
      if ("grant" in refused) ready.push({ item: refused.item, grant: refused.grant });
      else {
        results.set(item.call.id, refused);
        if (outcome.denied > before) denied.add(item.call.id);
        deps.finished(refused);
      }
    }
    for (const { result, outcome: how } of yield* runTogether(ready, deps, signal)) {
      results.set(result.callId, result);
      if (how !== null) told.set(result.callId, how);
    }
  }
  for (const item of items) {
    const { call } = item;
    const result = results.get(call.id) ?? interruption(call);
    outcome.results.push(result);
    // The same call twice in one answer is one call.
    if ("refusal" in item && item.duplicate) continue;
    outcome.traces.push({
      trace: { ...traceOf(item, result, told.get(call.id)), refused: denied.has(call.id) },
      mutates: deps.tools.get(call.name)?.mutates ?? true,
    });
  }
  return outcome;
}

async function* admitOne(
  item: Item,
  deps: CallDeps,
  signal: AbortSignal,
  outcome: CallsOutcome,
): AsyncGenerator<AgentEvent, ToolResult | { grant: Grant; item: Item & { prepared: PreparedCall } }> {
  const { id, name } = item.call;
  const admission = outsideLimit(item, deps) ?? (await decide(item, deps, signal));
  if (admission === null) return interruption(item.call);
  if ("error" in admission) {
    yield { type: "tool-error", id, name, error: admission.error };
    return failure(item.call, admission.error);
  }
  if ("grant" in admission && "prepared" in item) return { grant: admission.grant, item };
  if ("grant" in admission) throw new Error("A call that was not prepared was admitted.");
  const { by, rule, reason } = admission.denied;
  outcome.denied++;
  yield { type: "tool-denied", id, name, by, ...(rule === undefined ? {} : { rule }), reason };
  yield { type: "tool-end", id, name, outcome: "denied", ms: 0 };
  // Not settled: a refusal is no run, and counting it as one would make the next identical call look like a new outcome.
  return failure(item.call, `[permission error] ${reason}`);
}

function outsideLimit(item: Item, deps: CallDeps): Extract<Admission, { denied: unknown }> | null {
  const tool = "prepared" in item ? item.prepared.tool : item.tool;
  const limit = deps.toolLimit();
  if (!tool || limit === null || tool.unlimited === true) return null;
  if (namesTool(limit, tool.name)) return null;
  const allowed = limit.allowed.join(", ") || "no tools";
  return { denied: { by: "skill", reason: `skill "${limit.skill}" allows only ${allowed} for the rest of this turn` } };
}

/** A call that can't be judged is not run: a bug in judging must not open the gate, nor end the turn. */
async function judged(
  item: Item & { prepared: PreparedCall },
  deps: CallDeps,
  signal: AbortSignal,
): Promise<Admission | { error: string }> {
  try {
    return await deps.admit(item.prepared, signal);
  } catch (error) {
    if (isAbort(error)) throw error;
    return { error: error instanceof ToolError ? errorText(error) : `${errorText(error)}\nThe call was not run.` };
  }
}

async function decide(item: Item, deps: CallDeps, signal: AbortSignal): Promise<Admission | { error: string } | null> {
  if ("refusal" in item) return { error: item.refusal };
  return latched(item, deps) ?? (await orNull(judged(item, deps, signal), signal));
}

function latched(item: Item & { prepared: PreparedCall }, deps: CallDeps): Admission | null {
  // Only what may have changed something gets in there.
  if (!deps.latch.has(callKey(item.call.name, item.call.input))) return null;
  const reason =
    "This very call was started before and never finished, so its effects are unknown. Look at the current state first; then decide what is left to do.";
  return { denied: { by: "latch", reason } };
}

async function* runTogether(
  ready: readonly { item: Item & { prepared: PreparedCall }; grant: Grant }[],
  deps: CallDeps,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, Finished[]> {
  if (ready.length === 0) return [];
  const channel = new Channel<AgentEvent>();
  const all = Promise.all(
    ready.map(({ item, grant }) => runOne(item, grant, deps, signal, (event) => channel.push(event))),
  );
  all.then(
    () => channel.close(),
    (error: unknown) => channel.fail(error),
  );
  yield* channel;
  return all;
}

interface Finished {
  result: ToolResult;
  /** What tells this outcome from another; null: the result itself. */
  outcome: string | null;
}

async function runOne(
  item: Item & { prepared: PreparedCall },
  grant: Grant,
  deps: CallDeps,
  signal: AbortSignal,
  emit: (event: AgentEvent) => void,
): Promise<Finished> {
  const { call, prepared } = item;
  const { id, name } = call;
  const startedAt = performance.now();
  if (prepared.tool.mutates) deps.started(call);
  emit({ type: "tool-begin", id, name, title: deps.title(prepared) });
  const context = deps.context(prepared, signal, (text) => emit({ type: "tool-output", id, text }), emit);
  const done = await attempt(prepared, grant, context, deps, signal, call);
  const text = done.interrupted ? INTERRUPTED : await deps.finish(done.text, prepared);
  const images = done.interrupted ? [] : await fitImages(done.images);
  const hooks = deps.settled(prepared, { text: done.outcome ?? text, isError: done.isError });
  const result: ToolResult = { callId: id, name, content: [{ type: "text", text }, ...images], isError: done.isError };
  deps.finished(result);
  emit(done.isError ? { type: "tool-error", id, name, error: text } : { type: "tool-result", id, name, output: text });
  const ms = Math.round(performance.now() - startedAt);
  emit({
    type: "tool-end",
    id,
    name,
    outcome: done.isError ? "failed" : "ok",
    ms,
    ...(done.diff ? { diff: done.diff } : {}),
    ...(done.note ? { note: done.note } : {}),
  });
  // What a formatter does to a file is done before the model goes on.
  if (hooks) await orNull(hooks, signal);
  return { result, outcome: done.outcome };
}

interface Attempt {
  text: string;
  outcome: string | null;
  images: ResultPart[];
  isError: boolean;
  interrupted: boolean;
  diff: string | null;
  /** For the screen. */
  note: string | null;
}

async function attempt(
  prepared: PreparedCall,
  grant: Grant,
  context: ToolContext,
  deps: CallDeps,
  signal: AbortSignal,
  call: ToolCallPart,
): Promise<Attempt> {
  try {
    const output = await redeem(grant, context);
    return {
      text: output.text,
      outcome: output.outcome ?? null,
      images: output.images ?? [],
      isError: output.isError ?? false,
      interrupted: false,
      diff: output.diff ?? null,
      note: output.note ?? null,
    };
  } catch (error) {
    if (error instanceof UnknownOutcomeError && prepared.tool.mutates) deps.latch.add(callKey(call.name, call.input));
    const interrupted = signal.aborted && (isAbort(error) || !(error instanceof ToolError));
    const note = interrupted ? "interrupted" : error instanceof ToolError ? error.note : null;
    return { text: errorText(error), outcome: null, images: [], isError: true, interrupted, diff: null, note };
  }
}

function errorText(error: unknown): string {
  if (error instanceof ToolError) return `[${error.category}] ${error.message}`;
  if (isAbort(error)) return `[tool error] ${INTERRUPTED}`;
  // A bug in a tool: the model is told, the turn goes on, and the stack is there for the report.
  return `[tool error] internal error: ${error instanceof Error ? (error.stack ?? error.message) : messageOf(error)}`;
}

function interruption(call: ToolCallPart): ToolResult {
  return failure(call, INTERRUPTED);
}

function failure(call: ToolCallPart, text: string): ToolResult {
  return { callId: call.id, name: call.name, content: [{ type: "text", text }], isError: true };
}

function traceOf(item: Item, result: ToolResult, told: string | undefined): CallTrace {
  const text = result.content.map((part) => (part.type === "text" ? part.text : part.data)).join("\n");
  const isValidationError = result.isError && text.startsWith("[validation error]");
  return {
    name: item.call.name,
    input: comparable(item),
    outcome: Bun.hash(told ?? text).toString(36),
    isError: result.isError,
    isValidationError,
  };
}
