/**
 * One turn, as an async generator of events. Knows no terminal and no particular provider.
 *
 * - Every call gets exactly one result (loop-calls.ts).
 * - No tool runs without a grant.
 * - Every message is in the journal before its event is yielded.
 * - An abort leaves a legal history.
 * - The generator ends with exactly one `done`.
 */
import { EXIT, ProviderError, TurnAbort, isAbort } from "./errors.ts";
import { CeilingReached, addDifference, append, respond, type Totals, type TurnDeps } from "./loop-answer.ts";
import { runCalls } from "./loop-calls.ts";
import { errorEvent, exitOf, exitOfError } from "./loop-exit.ts";
import { LoopGuard, type Signal } from "./loop-guard.ts";
import type { AgentEvent, AssistantMessage, DoneReason, ToolCallPart, ToolResult, UserMessage } from "./types.ts";

const MAX_CONTINUATIONS = 3;

/** Calls of the last answer that were left open when the program ended. */
export interface OpenCalls {
  /** All of them, in the model's order. */
  calls: readonly ToolCallPart[];
  toRun: readonly ToolCallPart[];
  answered: readonly ToolResult[];
}

/** Runs a turn to its end. `prompt` null goes on with the history as it stands, answering the open calls first. */
export async function* runTurn(
  prompt: UserMessage | null,
  deps: TurnDeps,
  signal: AbortSignal,
  open: OpenCalls | null = null,
): AsyncGenerator<AgentEvent> {
  const totals: Totals = { steps: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, costUsd: 0 };
  let reason: DoneReason;
  let exit: number;
  try {
    if (open) yield* finishOpen(open, deps, signal);
    if (prompt) yield* append(prompt, deps);
    reason = yield* steps(deps, signal, totals);
    exit = exitOf(reason);
  } catch (error) {
    if (isAbort(error) || signal.aborted) [reason, exit] = [abortReason(signal), EXIT.sigint];
    else if (error instanceof CeilingReached) {
      yield { type: "notice", level: "error", message: error.message };
      [reason, exit] = ["ceiling", EXIT.ceiling];
    } else if (error instanceof ProviderError) {
      yield errorEvent(error);
      [reason, exit] = ["error", exitOfError(error)];
    } else throw error;
  }
  if (signal.reason instanceof TurnAbort && (reason === "interrupted" || reason === "timeout"))
    exit = signal.reason.exit;
  yield { type: "done", exit, reason, ...totals };
}

function abortReason(signal: AbortSignal): DoneReason {
  return signal.reason instanceof TurnAbort ? signal.reason.why : "interrupted";
}

async function* finishOpen(open: OpenCalls, deps: TurnDeps, signal: AbortSignal): AsyncGenerator<AgentEvent> {
  const { results } = yield* runCalls(open.toRun, deps, signal);
  const all = [...open.answered, ...results];
  const ordered = open.calls.flatMap((call) => all.filter((result) => result.callId === call.id));
  yield* append({ role: "tool", results: ordered }, deps);
}

async function* steps(deps: TurnDeps, signal: AbortSignal, totals: Totals): AsyncGenerator<AgentEvent, DoneReason> {
  const guard = new LoopGuard();
  const state = { continuations: 0, askedAgain: false };
  for (;;) {
    if (signal.aborted) return abortReason(signal);
    if (totals.steps >= deps.maxSteps) {
      yield {
        type: "notice",
        level: "warning",
        message: `Stopped after ${totals.steps} steps, the cap of this turn. "continue" goes on.`,
      };
      return "steps";
    }
    if (deps.reports && totals.steps === deps.maxSteps - 1)
      return yield* windUp(`the last of its ${deps.maxSteps} steps is for the report`, deps, signal, totals);
    const allowed = yield* underCeilings(deps);
    if (!allowed) return "ceiling";
    totals.steps++;
    yield { type: "step-start", step: totals.steps };
    const answer = yield* respond(deps, signal, totals);
    const calls = answer.content.filter((part) => part.type === "tool-call");
    if (calls.length === 0) {
      const end = yield* withoutCalls(answer, deps, state);
      if (end !== null) return end;
      continue;
    }
    const before = { ...deps.budget.spent };
    const stop = yield* handleCalls(calls, deps, signal, guard, totals.steps);
    addDifference(totals, before, deps.budget.spent);
    if (stop !== null) return yield* windUp(stop, deps, signal, totals);
  }
}

async function* underCeilings(deps: TurnDeps): AsyncGenerator<AgentEvent, boolean> {
  const verdict = deps.budget.check();
  if (!verdict.ok) {
    yield { type: "notice", level: "error", message: verdict.message };
    return false;
  }
  if (verdict.warning !== null) yield { type: "notice", level: "warning", message: verdict.warning };
  return true;
}

/** What an answer without calls means: the end, or a reason to ask on (null). */
async function* withoutCalls(
  answer: AssistantMessage,
  deps: TurnDeps,
  state: { continuations: number; askedAgain: boolean },
): AsyncGenerator<AgentEvent, DoneReason | null> {
  const said = answer.content.some((part) => part.type === "text" && part.text.trim() !== "");
  if (answer.stop === "refusal" || answer.stop === "filter") {
    const what =
      answer.stop === "refusal" ? "The model refused to answer" : "The provider's content filter stopped the answer";
    throw new ProviderError(what, { kind: "request", code: answer.stop });
  }
  if (answer.stop === "length" && said && state.continuations < MAX_CONTINUATIONS) {
    state.continuations++;
    yield* append(
      injected(
        "Your answer was cut by the length limit. Continue exactly where it stopped, without repeating anything.",
      ),
      deps,
    );
    return null;
  }
  if (answer.stop === "length") {
    yield {
      type: "notice",
      level: "warning",
      message: 'The answer reached the length limit and is incomplete. "continue" goes on.',
    };
    return said ? "completed" : "partial";
  }
  if (said) return "completed";
  if (state.askedAgain)
    throw new ProviderError("The model gave an empty answer twice", {
      kind: "shape",
      hint: "try another model or thinking level",
    });
  state.askedAgain = true;
  yield* append(injected("Your last answer was empty. Answer, or call the tool you need."), deps);
  return null;
}

/** Null to go on, else why the turn must wind up. */
async function* handleCalls(
  calls: readonly ToolCallPart[],
  deps: TurnDeps,
  signal: AbortSignal,
  guard: LoopGuard,
  step: number,
): AsyncGenerator<AgentEvent, string | null> {
  const outcome = yield* runCalls(calls, deps, signal);
  const todos = deps.changedTodos();
  if (todos) yield { type: "todos", todos };
  const signals = outcome.traces.map(({ trace, mutates }) => guard.record(trace, mutates, step));
  const nudges = signals
    .filter((one): one is Signal & { kind: "nudge" } => one.kind === "nudge")
    .map((one) => one.text);
  const notes = [...nudges, ...deps.history.injections()];
  yield* append({ role: "tool", results: outcome.results, ...(notes.length > 0 ? { notes } : {}) }, deps);
  if (signal.aborted) return null;
  return signals.find((one): one is Signal & { kind: "stop" } => one.kind === "stop")?.reason ?? null;
}

/** One last request, tools switched off: by a parameter, and in words, since not every endpoint heeds it. */
async function* windUp(
  why: string,
  deps: TurnDeps,
  signal: AbortSignal,
  totals: Totals,
): AsyncGenerator<AgentEvent, DoneReason> {
  yield { type: "notice", level: "warning", message: `Stopped: ${why}.` };
  const allowed = yield* underCeilings(deps);
  if (!allowed) return "partial";
  yield* append(
    injected(
      `This turn is being stopped because ${why}. Call no more tools. Say in a few lines: the outcome, the evidence for it, what is done, what is pending.`,
    ),
    deps,
  );
  totals.steps++;
  const answer = yield* respond(deps, signal, totals, true);
  const calls = answer.content.filter((part) => part.type === "tool-call");
  if (calls.length > 0) {
    const results = calls.map((call) => ({
      callId: call.id,
      name: call.name,
      content: [{ type: "text" as const, text: "[tool error] Not executed: the turn is being stopped." }],
      isError: true,
    }));
    yield* append({ role: "tool", results }, deps);
  }
  return "partial";
}

function injected(text: string): UserMessage {
  return { role: "user", content: [{ type: "text", text, injected: true }] };
}
