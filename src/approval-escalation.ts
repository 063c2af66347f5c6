/** The question whether a call that the sandbox stopped may run again, put through the same prompt as an approval. No rule, grant or flag answers it. */
import type { Ask } from "./approval.ts";
import type { Escalation, EscalationAnswer, PreparedCall, ToolContext } from "./tool.ts";

/** Questions that a person has said no to in this turn: they aren't put again. */
export type LeftAlone = Set<string>;

const MAX_REFUSED = 3;

/** Null where nobody can be asked. */
export function bindEscalation(
  ask: Ask | null,
  call: Pick<PreparedCall, "tool">,
  leftAlone: LeftAlone,
): NonNullable<ToolContext["escalate"]> | null {
  return ask && ((question) => answerTo(question, call.tool.name, ask, leftAlone));
}

async function answerTo(
  question: Escalation,
  tool: string,
  ask: Ask,
  leftAlone: LeftAlone,
): Promise<EscalationAnswer | null> {
  // The same command may be stopped by something else the next time.
  const key = JSON.stringify([question.subject, question.choices.map((choice) => choice.text)]);
  if (leftAlone.has(key)) return { choice: null };
  // Each variant of a command is another question; whoever has said no so often means it.
  if (leftAlone.size >= MAX_REFUSED) return null;
  const answer = answerOf(await ask(promptOf(question, tool)));
  if (answer?.choice === null) leftAlone.add(key);
  return answer;
}

function promptOf({ subject, reason, choices }: Escalation, tool: string): Parameters<Ask>[0] {
  const title = `${tool} again: ${subject.split("\n", 1)[0] ?? ""}`;
  return { tool, title, subject, rule: reason, grants: [], diff: null, worker: false, choices };
}

/** An allowance that names no choice takes none: whoever answers everything with yes has not read the question. */
function answerOf(answer: Awaited<ReturnType<Ask>>): EscalationAnswer | null {
  if (answer === null || answer.unanswered !== undefined) return null;
  const message = answer.message?.trim() ?? "";
  const choice = answer.decision === "deny" ? null : (answer.choice ?? null);
  return { choice, ...(message === "" ? {} : { message }) };
}
