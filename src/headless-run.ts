/** `shiro -p`: prompt and stdin in, one turn, exit code out. Signals and time limits end the turn, never the saving. */
import { orAborted } from "./abort.ts";
import type { Args } from "./args.ts";
import { EXIT, TurnAbort, UserError, messageOf } from "./errors.ts";
import { finalDocument, loadOutputSchema, untilValid } from "./headless-schema.ts";
import { failedRun, printRun, type HeadlessOptions } from "./headless.ts";
import { hookedTurn } from "./hooks-turn.ts";
import type { Output } from "./output.ts";
import { sanitizeLine } from "./sanitize.ts";
import type { AskUser } from "./session-parts.ts";
import { readStdin, withStdin } from "./stdin.ts";
import { setUp, type Setup, type SetupQuery } from "./setup.ts";
import { hangupIgnored } from "./spawn-signals.ts";
import { killAll } from "./spawn.ts";
import { textTokens } from "./tokens.ts";
import type { AgentEvent, JsonObject, PublicEvent } from "./types.ts";

export interface HeadlessIo {
  stdout: Output;
  stderr: Output;
  env: Record<string, string | undefined>;
  /** As asked for, where it can't be entered. */
  cwd: string;
  /** Why the run can't begin at all; it is reported as every other failure is. */
  problem: UserError | null;
  stdoutIsTerminal: boolean;
  /** Ends the process now: a second signal, or a reader that went away. */
  end(code: number): void;
}

const SIGNAL_EXITS = { SIGINT: EXIT.sigint, SIGTERM: EXIT.sigterm, SIGHUP: EXIT.sighup } as const;

/** What one run has come to so far. */
interface Run {
  args: Args;
  io: HeadlessIo;
  signal: AbortSignal;
  setup: Setup | null;
  /** What the last message must satisfy. */
  schema: JsonObject | null;
  /** Notices that wait for the next event, so that the session event stays the first. */
  queue: AgentEvent[];
}

export async function runHeadless(args: Args, io: HeadlessIo): Promise<number> {
  const controller = new AbortController();
  const run: Run = { args, io, signal: controller.signal, setup: null, schema: null, queue: [] };
  const release = onSignals(controller, run);
  const timer = timeLimit(controller, args.options.timeoutMs);
  io.stdout.onClose(() => controller.abort(new TurnAbort("interrupted", EXIT.done)));
  try {
    const code = await printed(run, timer);
    await delivered(run, code);
    return io.stdout.failure ? unwritten(io, code) : code;
  } finally {
    release();
  }
}

async function printed(run: Run, timer: ReturnType<typeof setTimeout> | undefined): Promise<number> {
  try {
    return await printRun(guarded(run), printOptions(run));
  } finally {
    clearTimeout(timer);
    await run.setup?.close();
  }
}

/** After a signal or a time-out a reader may be late by this much, but one that never reads must not hold the process. */
const LATE_READER_MS = 4000;

/** Waits until the reader has taken everything. */
async function delivered({ io, signal }: Run, code: number): Promise<void> {
  const late = new AbortController();
  const bound = (): void => void setTimeout(() => late.abort(), LATE_READER_MS);
  if (signal.aborted) bound();
  else signal.addEventListener("abort", bound, { once: true });
  await io.stdout.flush(late.signal);
  if (late.signal.aborted) io.end(code);
}

/** A reader that left is ordinary; a disk that is full under the answer is not. */
function unwritten(io: HeadlessIo, code: number): number {
  io.stderr.write(`shiro: stdout could not be written: ${messageOf(io.stdout.failure)}\n`);
  return code === EXIT.done ? EXIT.internal : code;
}

/** Counts from the start: waiting for stdin or for an endpoint's models is part of the run. */
function timeLimit(controller: AbortController, timeoutMs: number | null): ReturnType<typeof setTimeout> | undefined {
  if (timeoutMs === null) return undefined;
  return setTimeout(() => controller.abort(new TurnAbort("timeout", EXIT.timeout)), timeoutMs);
}

function printOptions(run: Run): HeadlessOptions {
  const { args, io } = run;
  const { json, quiet, strict, outputFile } = args.options;
  const writeLast =
    outputFile === null
      ? null
      : async (text: string): Promise<void> => (await import("./headless-file.ts")).writeLastMessage(outputFile, text);
  return {
    json,
    quiet,
    strict,
    stdout: io.stdout,
    stderr: io.stderr,
    stdoutIsTerminal: io.stdoutIsTerminal,
    signal: run.signal,
    finalText: (text) => (run.schema ? finalDocument(text, run.schema) : text),
    writeLast,
  };
}

/** The run's events; what goes wrong before or during it comes out as events too. */
async function* guarded(run: Run): AsyncGenerator<AgentEvent> {
  let begun = false;
  try {
    for await (const event of turn(run)) {
      begun ||= event.type === "session";
      yield event;
    }
  } catch (error) {
    const failure = run.signal.aborted ? run.signal.reason : error;
    for await (const event of failedRun(failure, run.io.cwd)) {
      if (!begun || event.type !== "session") yield event;
      if (event.type === "session") yield* run.queue.splice(0);
    }
  }
}

async function* turn(run: Run): AsyncGenerator<AgentEvent> {
  const { args, io, signal, queue } = run;
  if (io.problem) throw io.problem;
  if (args.options.schema !== null) run.schema = loadOutputSchema(args.options.schema);
  if (args.options.outputFile !== null)
    (await import("./headless-file.ts")).checkLastMessageFile(args.options.outputFile);
  const text = await promptText(run);
  const query: SetupQuery = {
    options: args.options,
    env: io.env,
    cwd: io.cwd,
    interactive: args.options.approvals !== null,
    headless: true,
    onNotice: (notice) => queue.push({ type: "notice", ...notice }),
  };
  const setup = await orAborted(setUp(query), signal);
  run.setup = setup;
  const { session } = setup;
  const model = session.choice.model;
  yield { type: "session", version: 1, id: session.id, provider: session.choice.presetId, model, cwd: io.cwd };
  yield* setup.notices.map((notice): AgentEvent => ({ type: "notice", ...notice }));
  yield* queue.splice(0);
  refuseTooLong(text, setup);
  const approvals = args.options.approvals === null ? null : await openApprovals(io);
  if (run.schema) session.outputSchema = run.schema;
  const prompt = await expanded(text, run, setup, approvals);
  yield* queue.splice(0);
  const send = (sent: string): AsyncIterable<AgentEvent> =>
    hookedTurn(setup.hooks, {
      prompt: sent,
      events: session.send(sent, approvals, signal),
      signal,
      doneIsLast: true,
    });
  const patience = setTimeout(() => sayConnecting(run, setup), PATIENCE_MS);
  try {
    for await (const event of run.schema ? untilValid(prompt, run.schema, send) : send(prompt)) {
      clearTimeout(patience);
      yield* queue.splice(0);
      yield event;
    }
  } finally {
    clearTimeout(patience);
  }
}

const PATIENCE_MS = 3000;

/** Straight to stderr: the first event comes only when the servers have answered or are given up. */
function sayConnecting({ args, io }: Run, setup: Setup): void {
  const names = setup.mcp.connecting();
  if (names.length > 0 && !args.options.quiet)
    io.stderr.write(`shiro: waiting for MCP servers: ${sanitizeLine(names.join(", "))} (--no-mcp goes without)\n`);
}

/** `-p "/name args"`: a custom command or a skill. What was piped in stays as it is, and never names one. */
async function expanded(text: string, run: Run, setup: Setup, ask: AskUser | null): Promise<string> {
  const own = run.args.prompt?.trim() ?? "";
  if (!own.startsWith("/") || !text.startsWith(own)) return text;
  const { expandPrompt } = await import("./command-expand.ts");
  const { beginTurn } = await import("./setup-turn.ts");
  const ran = (command: string): void =>
    void run.queue.push({ type: "notice", level: "info", message: `! ${command}` });
  const found = await orAborted(expandPrompt(own, { setup, ask, signal: run.signal, ran }), run.signal);
  if (found === null) return text;
  beginTurn(setup, found.turn); // a headless run is one turn: nothing to take back
  return found.text + text.slice(own.length);
}

async function promptText({ args, io, signal, queue }: Run): Promise<string> {
  // `-p "$empty"` says no more than a bare -p.
  const own = args.prompt === "-" || args.prompt?.trim() === "" ? null : args.prompt;
  const note = (message: string): void => void (args.options.quiet || io.stderr.write(`shiro: ${message}\n`));
  const content = await readStdin({ mode: args.options.stdin, hasPrompt: own !== null, note, signal });
  if (content?.cut)
    queue.push({ type: "notice", level: "warning", message: "stdin was longer than 10 MB and was cut" });
  if (own !== null) return withStdin(own, content);
  const text = content?.text.trim() ?? "";
  if (text === "") throw new UserError('No prompt: give one (shiro -p "prompt") or pipe it in');
  return text;
}

function refuseTooLong(text: string, setup: Setup): void {
  const { facts } = setup.session.choice;
  const limit = facts.inputLimit ?? facts.context;
  const size = textTokens(text);
  if (limit !== null && size > limit)
    throw new UserError(`The prompt is too long: about ${size} tokens, and ${facts.id} takes ${limit}`);
}

async function openApprovals(io: HeadlessIo): Promise<AskUser> {
  const { JsonApprovals } = await import("./headless-approvals.ts");
  const { linesOf, stdinBytes } = await import("./stdin.ts");
  // Straight to stdout: the loop waits for the answer and yields nothing meanwhile.
  const emit = (event: PublicEvent): void => io.stdout.write(`${JSON.stringify(event)}\n`);
  const approvals = new JsonApprovals(emit);
  void approvals.listen(linesOf(stdinBytes()));
  return approvals.ask;
}

/** SIGINT, SIGTERM and SIGHUP end the turn with their code; a second one ends the process. Returns the undoing. */
function onSignals(controller: AbortController, run: Run): () => void {
  const handlers = Object.entries(SIGNAL_EXITS)
    .filter(([name]) => name !== "SIGHUP" || !hangupIgnored())
    .map(([name, code]) => {
      const handler = (): void => {
        if (!controller.signal.aborted) return controller.abort(new TurnAbort("interrupted", code));
        run.setup?.closeNow();
        killAll();
        run.io.end(code);
      };
      process.on(name, handler);
      return [name, handler] as const;
    });
  return () => handlers.forEach(([name, handler]) => void process.off(name, handler));
}
