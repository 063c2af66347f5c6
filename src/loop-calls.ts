/**
 * Runs the tool calls of one response. Every call gets exactly one result, in call order, whatever stopped it; nothing runs
 * without a grant. Calls run one by one, except that neighbours which say so overlap.
 */
import { Channel } from "./channel.ts";
import { ToolError, UnknownOutcomeError, isAbort, messageOf } from "./errors.ts";
import { fitImages } from "./image-fit.ts";
import { canonicalJson } from "./canonical-json.ts";
import type { CallTrace } from "./loop-guard.ts";
import { nearestName } from "./nearest.ts";
import { validateInput } from "./tool-input.ts";
import { redeem, type Grant, type PreparedCall, type Tool, type ToolContext } from "./tool.ts";
import type { AgentEvent, Denier, ResultPart, ToolCallPart, ToolResult } from "./types.ts";

/** What the gate says of one call. */
export type Admission = { grant: Grant } | { denied: { by: Denier; rule?: string | undefined; reason: string } };

export interface CallDeps {
  tools: ReadonlyMap<string, Tool>;
  /** The gate with its way to ask already bound. */
  admit(call: PreparedCall, signal: AbortSignal): Promise<Admission>;
  /** Tells the gate what came of a call it admitted (repeat guard). */
  settled(call: PreparedCall, outcome: { text: string; isError: boolean }): void;
  context(call: PreparedCall, signal: AbortSignal, output: (text: string) => void): ToolContext;
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

type Item = { call: ToolCallPart; prepared: PreparedCall } | { call: ToolCallPart; refusal: string };

/** More than this many at once would open too many files and processes on a small server. Raise it here if a model asks for more. */
const MAX_TOGETHER = 8;

const INTERRUPTED = "interrupted by the user";

export async function* runCalls(
  calls: readonly ToolCallPart[],
  deps: CallDeps,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, CallsOutcome> {
  const results = new Map<string, ToolResult>();
  const told = new Map<string, string>();
  const outcome: CallsOutcome = { results: [], traces: [], denied: 0 };
  for (const batch of batches(prepareAll(calls, deps))) {
    const ready: { item: Item & { prepared: PreparedCall }; grant: Grant }[] = [];
    for (const item of batch) {
      const refused = signal.aborted ? interruption(item.call) : yield* admitOne(item, deps, signal, outcome);
      if ("grant" in refused) ready.push({ item: refused.item, grant: refused.grant });
      else {
        results.set(item.call.id, refused);
        deps.finished(refused);
      }
    }
    for (const { result, outcome: how } of yield* runTogether(ready, deps, signal)) {
      results.set(result.callId, result);
      if (how !== null) told.set(result.callId, how);
    }
  }
  for (const call of calls) {
    const result = results.get(call.id) ?? interruption(call);
    outcome.results.push(result);
    outcome.traces.push({
      trace: traceOf(call, result, told.get(call.id)),
      mutates: deps.tools.get(call.name)?.mutates ?? true,
    });
  }
  return outcome;
}

/** Identifies a call for the latch and for duplicates. */
export function callKey(name: string, input: ToolCallPart["input"]): string {
  return `${name} ${canonicalJson(input)}`;
}

function prepareAll(calls: readonly ToolCallPart[], deps: CallDeps): Item[] {
  const seen = new Set<string>();
  return calls.map((call) => {
    const refusal = refuse(call, deps, seen);
    seen.add(callKey(call.name, call.input));
    if (refusal !== null) return { call, refusal };
    const tool = deps.tools.get(call.name);
    if (!tool) return { call, refusal: unknownTool(call.name, deps) };
    const checked = validateInput(tool.input, call.input);
    if (!checked.ok) return { call, refusal: checked.message };
    return { call, prepared: { id: call.id, tool, input: checked.input, rawInput: call.input } };
  });
}

function refuse(call: ToolCallPart, deps: CallDeps, seen: ReadonlySet<string>): string | null {
  if (!deps.tools.has(call.name)) return unknownTool(call.name, deps);
  if (!call.inputError && seen.has(callKey(call.name, call.input)))
    return "[tool error] Duplicate of another call in this response: skipped. Use that call's result.";
  if (call.inputError?.kind === "truncated")
    return "[tool error] Not executed: the output limit cut this call off. Split the work into smaller calls.";
  if (call.inputError) return `[validation error] Not executed: ${call.inputError.message}`;
  return null;
}

function unknownTool(name: string, deps: CallDeps): string {
  const near = nearestName(name, deps.tools.keys());
  return `[tool error] There is no tool "${name}".${near ? ` Did you mean "${near}"?` : ` Available: ${[...deps.tools.keys()].join(", ")}`}`;
}

/** Neighbours that may overlap form one batch; everything else stands alone. */
function batches(items: readonly Item[]): Item[][] {
  const found: Item[][] = [];
  let open: Item[] | null = null;
  for (const item of items) {
    if (!overlaps(item)) {
      found.push([item]);
      open = null;
    } else if (open && open.length < MAX_TOGETHER) open.push(item);
    else {
      open = [item];
      found.push(open);
    }
  }
  return found;
}

function overlaps(item: Item): boolean {
  return "prepared" in item && item.prepared.tool.concurrencySafe(item.prepared.input);
}

async function* admitOne(
  item: Item,
  deps: CallDeps,
  signal: AbortSignal,
  outcome: CallsOutcome,
): AsyncGenerator<AgentEvent, ToolResult | { grant: Grant; item: Item & { prepared: PreparedCall } }> {
  const { id, name } = item.call;
  if ("refusal" in item) {
    yield { type: "tool-error", id, name, error: item.refusal };
    return failure(item.call, item.refusal);
  }
  const admission = latched(item, deps) ?? (await orAborted(judged(item, deps, signal), signal));
  if (admission === null) return interruption(item.call);
  if ("error" in admission) {
    yield { type: "tool-error", id, name, error: admission.error };
    return failure(item.call, admission.error);
  }
  if ("grant" in admission) return { grant: admission.grant, item };
  const { by, rule, reason } = admission.denied;
  outcome.denied++;
  yield { type: "tool-denied", id, name, by, ...(rule === undefined ? {} : { rule }), reason };
  yield { type: "tool-end", id, name, outcome: "denied", ms: 0 };
  // Not settled: a refusal is no run, and counting it as one would make the next identical call look like a new outcome.
  return failure(item.call, `[permission error] ${reason}`);
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

function latched(item: Item & { prepared: PreparedCall }, deps: CallDeps): Admission | null {
  if (!item.prepared.tool.mutates || !deps.latch.has(callKey(item.call.name, item.call.input))) return null;
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
  const context = deps.context(prepared, signal, (text) => emit({ type: "tool-output", id, text }));
  const done = await attempt(prepared, grant, context, deps, signal, call);
  const text = done.interrupted ? INTERRUPTED : await deps.finish(done.text, prepared);
  const images = done.interrupted ? [] : await fitImages(done.images);
  deps.settled(prepared, { text: done.outcome ?? text, isError: done.isError });
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

function traceOf(call: ToolCallPart, result: ToolResult, told: string | undefined): CallTrace {
  const text = result.content.map((part) => (part.type === "text" ? part.text : part.data)).join("\n");
  const isValidationError = result.isError && text.startsWith("[validation error]");
  return {
    name: call.name,
    input: call.input,
    outcome: Bun.hash(told ?? text).toString(36),
    isError: result.isError,
    isValidationError,
  };
}

/** Null when the signal fires first: an open question must not hold an aborted turn. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | null> {
  if (signal.aborted) return null;
  const { promise, resolve } = Promise.withResolvers<null>();
  const stop = (): void => resolve(null);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
