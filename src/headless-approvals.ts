/** `--approvals jsonl`: questions go out as events, answers come in as lines. An end of input or a long silence denies. Reads and writes nothing itself. */
import { messageOf } from "./errors.ts";
import type { Answer, ApprovalPrompt } from "./approval.ts";
import type { AskUser } from "./session-parts.ts";
import type { PublicEvent } from "./types.ts";

/** Nobody sits there for longer than this; a forgotten run must end. */
const ANSWER_LIMIT_MS = 10 * 60_000;

const ENDED: Answer = { decision: "deny", unanswered: "The input for approvals has ended" };
const LATE: Answer = { decision: "deny", unanswered: "No answer came in time" };

/** Turns approval prompts into events and stdin lines into answers. */
export class JsonApprovals {
  #waiting = new Map<string, Waiting>();
  #ended = false;
  readonly #emit: (event: PublicEvent) => void;
  readonly #limitMs: number;

  constructor(emit: (event: PublicEvent) => void, limitMs: number = ANSWER_LIMIT_MS) {
    this.#emit = emit;
    this.#limitMs = limitMs;
  }

  /** Reads answers until the input ends or breaks; then everything still open is denied. Never rejects. */
  async listen(lines: AsyncIterable<string>): Promise<void> {
    try {
      for await (const line of lines) if (line.trim() !== "") this.#take(line);
    } catch (error) {
      this.#problem(`the input for approvals broke: ${messageOf(error)}`);
    }
    this.#ended = true;
    for (const { settle } of this.#waiting.values()) settle(ENDED);
  }

  readonly ask: AskUser = (prompt, call) => this.#answerTo(prompt, call);

  async #answerTo(prompt: ApprovalPrompt, call: Parameters<AskUser>[1]): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const { tool: name, subject, rule } = prompt;
    const { id, input } = call;
    const agent = call.agent === undefined ? {} : { agent: call.agent };
    const patterns = prompt.grants.map((grant) => grant.pattern).filter((pattern) => pattern !== null);
    const always = patterns.length > 0 ? patterns.join(" and ") : null;
    const choices = prompt.choices?.map((choice) => ({ name: choice.name, text: choice.text }));
    this.#emit({ ...agent, type: "approval", id, name, input, subject, rule, always, ...(choices && { choices }) });
    if (this.#ended) return ENDED;
    this.#waiting.set(id, { settle: resolve, choices: prompt.choices?.map((choice) => choice.name) ?? null });
    const timer = setTimeout(() => resolve(LATE), this.#limitMs);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  #problem(message: string): void {
    this.#emit({ type: "notice", level: "warning", message });
  }

  #take(line: string): void {
    const answer = parseAnswer(line);
    if (typeof answer === "string") return this.#problem(`approval answer ignored: ${answer}`);
    const waiting = this.#waiting.get(answer.id);
    if (!waiting) return this.#problem(`approval answer ignored: nothing is asked under id "${answer.id}"`);
    const fitting = fit(answer, waiting.choices);
    if (typeof fitting === "string") return this.#problem(`approval answer ignored: ${fitting}`);
    if (waiting.choices !== null && answer.choice === null && fitting.decision !== "deny")
      this.#problem(`approval answer takes nothing: it names no "choice" (${waiting.choices.join(" or ")})`);
    waiting.settle(fitting);
  }
}

type Choice = NonNullable<Answer["choice"]>;

interface Waiting {
  settle(answer: Answer): void;
  /** Null: an ordinary approval. */
  choices: readonly Choice[] | null;
}

interface Given {
  id: string;
  answer: Answer;
  /** As written. */
  choice: string | null;
}

/** The answer to this question, or why it is none. What was allowed without naming a way takes none: it may have been meant for another question. */
function fit({ answer, choice }: Given, choices: readonly Choice[] | null): Answer | string {
  if (choices === null || answer.decision === "deny") return answer;
  if (choice === null) return { ...answer, decision: "once" };
  const chosen = choices.find((name) => name === choice);
  return chosen === undefined
    ? `"choice" must be ${choices.join(" or ")}`
    : { ...answer, decision: "once", choice: chosen };
}

function parseAnswer(line: string): Given | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return "not JSON";
  }
  if (typeof value !== "object" || value === null) return "not an object";
  const { id, decision, message, choice } = value as Record<string, unknown>; // an object; each field is checked here
  if (typeof id !== "string") return 'no "id"';
  if (decision !== "allow" && decision !== "always" && decision !== "deny")
    return '"decision" must be allow, always or deny';
  const words = typeof message === "string" ? { message } : {};
  const answer: Answer = { decision: decision === "allow" ? "once" : decision, ...words };
  return { id, answer, choice: typeof choice === "string" ? choice : null };
}
