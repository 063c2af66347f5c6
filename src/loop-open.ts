/** The calls a program that ended left open: what becomes of each when the session goes on. Runs none of them. */
import type { OpenCalls } from "./loop.ts";
import { callsIn, isPrompt } from "./message.ts";
import type { SessionFile } from "./session-file.ts";
import type { JsonObject, ToolCallPart, ToolResult } from "./types.ts";

const NOT_RUN = "[tool error] not run: the user went on with another prompt";
const UNKNOWN_OUTCOME = "[tool error] interrupted, outcome unknown: look at the state before you repeat it";

/**
 * Calls of the last answer: those with a result keep it, those that had started are unknown, and the others run now
 * (`goOn`: the user said so) or are answered "not run". Nothing is open where another message follows the answer.
 */
export function openCalls(file: SessionFile, goOn: boolean): OpenCalls {
  const calls = callsIn(file.record.messages.at(-1));
  const pending = new Set(file.pendingCalls.map((call) => call.id));
  const toRun = goOn ? calls.filter((call) => pending.has(call.id)) : [];
  const answered = calls
    .filter((call) => !toRun.includes(call))
    .map((call): ToolResult => {
      const known = file.record.results.find((result) => result.callId === call.id);
      if (known) return known;
      return pending.has(call.id)
        ? standIn(call, NOT_RUN)
        : { ...standIn(call, UNKNOWN_OUTCOME), outcomeUnknown: true };
    });
  return { calls, toRun, answered };
}

/**
 * Calls that must not run again unseen when a session goes on: those under way when it ended, and those of an earlier
 * end whose turn was cut off as well.
 */
export function unknownCalls(file: SessionFile): { name: string; input: JsonObject }[] {
  const { messages } = file.record;
  const last = messages.at(-1);
  if (last?.role === "assistant" && callsIn(last).length === 0) return [];
  // The stand-ins stand directly before the prompt with which that turn began, or in it.
  const from = Math.max(0, messages.findLastIndex(isPrompt) - 1);
  const earlier = messages.slice(from).flatMap((message, index) => {
    if (message.role !== "tool") return [];
    const unknown = new Set(message.results.filter((one) => one.outcomeUnknown).map((one) => one.callId));
    return callsIn(messages[from + index - 1]).filter((call) => unknown.has(call.id));
  });
  return [...earlier, ...file.interruptedCalls];
}

/** What a person should know of them before the next prompt; null where nothing is open. */
export function openCallsNote(file: SessionFile): string | null {
  const [waiting, unknown] = [file.pendingCalls.length, file.interruptedCalls.length];
  const parts = [
    ...(unknown > 0 ? [`${counted(unknown)} under way when it ended, so what came of it is unknown`] : []),
    ...(waiting > 0 ? [`${counted(waiting)} still waiting; "continue" takes up what waits`] : []),
  ];
  return parts.length === 0 ? null : `${parts.join("; ")}.`;
}

function counted(calls: number): string {
  return calls === 1 ? "1 call was" : `${calls} calls were`;
}

function standIn(call: ToolCallPart, text: string): ToolResult {
  return { callId: call.id, name: call.name, content: [{ type: "text", text }], isError: true };
}
