/** Headless runs: agent events to stdout and stderr, as text or as JSON lines. Knows pipes; knows no terminal keys. */
import { EXIT, ProviderError, TurnAbort, UserError, messageOf } from "./errors.ts";
import { LastMessage } from "./message-last.ts";
import { exitOfError } from "./loop-exit.ts";
import type { Output } from "./output.ts";
import { marksOf, usageLine } from "./render-lines.ts";
import { sanitize, sanitizeLine } from "./sanitize.ts";
import type { AgentEvent, PublicEvent } from "./types.ts";

export interface HeadlessOptions {
  json: boolean;
  quiet: boolean;
  strict: boolean;
  stdout: Output;
  stderr: Output;
  /** What the model says streams when a person watches; a pipe gets the last message only. */
  stdoutIsTerminal: boolean;
  /** Ends the waiting for a slow reader, so that the end of the run is noticed. */
  signal: AbortSignal;
  /** Makes of the last message what is printed. */
  finalText(text: string): string;
  /** Writes the last message to a file as well; null: don't. */
  writeLast: ((text: string) => Promise<void>) | null;
}

type Done = Extract<PublicEvent, { type: "done" }>;

/** Events that `--json` prints; the rest is for screens. */
const VIEW_EVENTS = new Set<AgentEvent["type"]>(["step-start", "message", "tool-begin", "tool-end", "usage", "retry"]);

/** Prints a run to its end and returns the exit code. Everything that can still be written is. */
export async function printRun(events: AsyncIterable<AgentEvent>, options: HeadlessOptions): Promise<number> {
  const printer = options.json ? new JsonPrinter(options) : new TextPrinter(options);
  let denied = 0;
  let failure: string | null = null;
  let exit: number = EXIT.internal;
  let spent: ((done: Done) => string) | null = null;
  let guessed = false;
  const startedAt = performance.now();
  for await (const event of events) {
    if (event.type === "usage") {
      guessed ||= event.usage.estimated === true;
      spent = spentLine(event, guessed, startedAt);
    }
    if (event.type === "tool-denied") denied++;
    failure = failureIn(event) ?? failure;
    if (event.type === "done") {
      const problem = await writeLast(printer.last, event, options);
      if (problem) printer.take({ type: "error", kind: problem.kind, message: problem.message });
      const done = judged(event, options.strict && denied > 0, problem);
      exit = done.exit;
      printer.finish(done);
      if (!options.json && !options.quiet && spent && !options.stdout.closed) options.stderr.write(`${spent(done)}\n`);
      closingLines(options, done, failure ?? problem?.message ?? null, denied);
    } else printer.take(event);
    if (options.stdout.backlog > MAX_BACKLOG) await options.stdout.flush(options.signal);
  }
  return exit;
}

/** What the last line on stderr says: an error, or the notice that names the ceiling. */
function failureIn(event: AgentEvent): string | null {
  if (event.agent !== undefined) return null;
  if (event.type === "error") return event.message;
  return event.type === "notice" && event.level === "error" ? event.message : null;
}

/** A reader slower than the model holds the run up instead of filling the memory; ordinary runs never get there. */
const MAX_BACKLOG = 8 * 1024 * 1024;

/** A failed run that said nothing leaves the file as it was. */
async function writeLast(last: LastMessage, done: Done, options: HeadlessOptions): Promise<UserError | null> {
  const text = options.finalText(last.text);
  if (done.exit !== EXIT.done && text.trim() === "") return null;
  try {
    await options.writeLast?.(text);
    return null;
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
}

/** The end as the command line wants it counted: a success turns into a failure, never the other way round. */
function judged(done: Done, denied: boolean, problem: UserError | null): Done {
  if (done.exit !== EXIT.done) return done;
  if (problem) return { ...done, exit: EXIT.usage, reason: "error" };
  return denied ? { ...done, exit: EXIT.denied, reason: "denied" } : done;
}

/** The events of a run that failed, or was ended, before it began. */
export async function* failedRun(error: unknown, cwd: string): AsyncGenerator<AgentEvent> {
  yield { type: "session", version: 1, id: null, provider: null, model: null, cwd };
  const sums = { steps: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, costUsd: null };
  if (error instanceof TurnAbort) return yield { type: "done", exit: error.exit, reason: error.why, ...sums };
  const { kind, exit } = classify(error);
  const message = kind === "internal" && error instanceof Error ? (error.stack ?? error.message) : describe(error);
  const status = error instanceof ProviderError && error.status !== undefined ? { status: error.status } : {};
  const requestId =
    error instanceof ProviderError && error.requestId !== undefined ? { requestId: error.requestId } : {};
  yield { type: "error", kind, message, ...status, ...requestId };
  yield { type: "done", exit, reason: "error", ...sums };
}

function describe(error: unknown): string {
  return error instanceof ProviderError && error.hint ? `${messageOf(error)} (${error.hint})` : messageOf(error);
}

function classify(error: unknown): { kind: string; exit: number } {
  if (error instanceof UserError)
    return { kind: error.kind, exit: error.kind === "auth" ? EXIT.credentials : EXIT.usage };
  if (error instanceof ProviderError) return { kind: error.kind, exit: exitOfError(error) };
  return { kind: "internal", exit: EXIT.internal };
}

class JsonPrinter {
  #options: HeadlessOptions;
  readonly last = new LastMessage();

  constructor(options: HeadlessOptions) {
    this.#options = options;
  }

  take(event: AgentEvent): void {
    this.last.take(event);
    if (event.type === "retry") return this.take(retryNotice(event));
    if (!VIEW_EVENTS.has(event.type)) this.#options.stdout.write(`${JSON.stringify(event)}\n`);
  }

  finish(done: Done): void {
    this.#options.stdout.write(`${JSON.stringify(done)}\n`);
  }
}

class TextPrinter {
  #options: HeadlessOptions;
  readonly last = new LastMessage();
  #streamed = "";

  constructor(options: HeadlessOptions) {
    this.#options = options;
  }

  take(event: AgentEvent): void {
    const remark = this.last.take(event);
    const { stdoutIsTerminal } = this.#options;
    if (event.agent !== undefined && event.type === "text") return;
    if (event.type === "text" && stdoutIsTerminal) this.#stream(sanitize(event.text));
    if (remark !== null && stdoutIsTerminal) this.#endLine();
    if (remark !== null && !stdoutIsTerminal) this.#note(remark.trimEnd());
    const line = noteOf(event);
    if (line !== null) this.#note(line);
  }

  finish(_: Done): void {
    const { stdout, stdoutIsTerminal, finalText } = this.#options;
    const text = withoutFinalNewlines(finalText(this.last.text));
    if (stdoutIsTerminal) this.#endLine();
    else if (text.trim() !== "") stdout.write(`${text}\n`);
  }

  #stream(text: string): void {
    this.#streamed = text === "" ? this.#streamed : text;
    this.#options.stdout.write(text);
  }

  #endLine(): void {
    if (this.#streamed !== "" && !this.#streamed.endsWith("\n")) this.#options.stdout.write("\n");
    this.#streamed = "";
  }

  #note(line: string): void {
    if (this.#options.quiet) return;
    if (this.#options.stdoutIsTerminal) this.#endLine();
    this.#options.stderr.write(`${sanitize(line)}\n`);
  }
}

/** By hand: a regular expression for this is quadratic on an answer full of empty lines. */
function withoutFinalNewlines(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === "\n") end--;
  return text.slice(0, end);
}

/** What the run used and cost, as the interactive program says it after a turn. */
function spentLine(
  { contextShare }: Extract<AgentEvent, { type: "usage" }>,
  estimated: boolean,
  startedAt: number,
): (done: Done) => string {
  const marks = marksOf({ ascii: true });
  return (done) => usageLine({ done, contextShare, estimated, ms: performance.now() - startedAt }, marks);
}

function closingLines(options: HeadlessOptions, done: Done, failure: string | null, denied: number): void {
  const { stderr, quiet } = options;
  if (denied > 0 && !quiet) stderr.write(`${denied} ${denied === 1 ? "call" : "calls"} denied\n`);
  if (done.exit !== EXIT.done) stderr.write(`shiro: ${sanitizeLine(failure ?? reasonText(done))}\n`);
}

function reasonText(done: Done): string {
  switch (done.reason) {
    case "interrupted":
      return "interrupted";
    case "timeout":
      return "the --timeout was reached";
    case "ceiling":
      return "a ceiling was reached";
    case "steps":
      return "the step cap was reached (--max-steps raises it)";
    case "partial":
      return "stopped before the work was finished";
    case "denied":
      return "a tool call was denied (--strict)";
    case "schema":
      return "the answer does not satisfy the schema";
    case "completed":
    case "error":
      return "the run failed";
    default:
      return done.reason satisfies never;
  }
}

/** The stderr line of an event in text mode; null: none. */
function noteOf(event: AgentEvent): string | null {
  const label = event.agent === undefined ? "" : `[${event.agent}] `;
  switch (event.type) {
    case "tool-begin":
      return `${label}> ${event.name} ${sanitizeLine(event.title)}`.trimEnd();
    case "tool-denied":
      return `${label}denied (${event.by}): ${event.name}: ${sanitizeLine(event.reason)}`;
    case "tool-error":
      return `${label}failed: ${event.name}: ${firstLine(event.error)}`;
    case "notice":
      if (failureIn(event) !== null) return null; // the last line says it
      return `${label}${event.level === "info" ? "" : `${event.level}: `}${sanitizeLine(event.message)}`;
    case "retry":
      return `${label}${retryText(event)}`;
    case "compacted":
      return `${label}context compacted: ${event.before} messages pruned to ${event.after} on the wire`;
    case "usage":
      return null;
    default:
      return null;
  }
}

type Retry = Extract<AgentEvent, { type: "retry" }>;

const retryText = ({ reason, waitMs, attempt, limit }: Retry): string =>
  `${reason}; trying again in ${Math.ceil(waitMs / 1000)} s (${attempt} of ${limit})`;

/** A script that reads events would otherwise see a minute of silence. */
function retryNotice(event: Retry): AgentEvent {
  const agent = event.agent === undefined ? {} : { agent: event.agent };
  return { ...agent, type: "notice", level: "info", message: retryText(event) };
}

function firstLine(text: string): string {
  const line = text.split("\n", 1)[0] ?? "";
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}
