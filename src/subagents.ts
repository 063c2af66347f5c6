/** Runs subagents: each a session of its own in memory, by its parent's gate, budget and workspace, several side by side. Knows no screen. */
import { messageOf } from "./errors.ts";
import { createSession } from "./sessions.ts";
import { Session } from "./session.ts";
import type { AskUser, BaseToolContext, Delegate, Delegation, SessionGate, SessionParts } from "./session-parts.ts";
import { agentTools, agentVariant } from "./subagent.ts";
import { agentEvent, agentLabel, Outcome } from "./subagent-report.ts";
import { TokenMeter } from "./tokens.ts";
import type { AgentJob, AgentReport, PreparedCall } from "./tool.ts";
import type { Workspace } from "./workspace.ts";

/** Makes the runner of one session's subagents. A label is used once in its life, so that a script can tell events apart. */
export function openSubagents(): Delegate {
  const labels = new Set<string>();
  return async (jobs, from) => {
    const queue = oneByOne();
    const named = jobs.map((job) => ({ job, label: agentLabel(job, labels) }));
    const runs = named.map(({ job, label }) => runAgent(job, label, from, queue));
    // All are waited for, whatever becomes of one: none may outlive the call.
    const settled = await Promise.allSettled(runs);
    from.signal.throwIfAborted();
    return settled.map((run, index): AgentReport => {
      if (run.status === "fulfilled") return run.value;
      return { label: named[index]?.label ?? "", text: messageOf(run.reason), isError: true };
    });
  };
}

async function runAgent(job: AgentJob, label: string, from: Delegation, queue: Queue): Promise<AgentReport> {
  const child = new Session(childParts(job, label, from, queue));
  const outcome = new Outcome(label);
  try {
    for await (const event of child.send(job.prompt, askAs(label, from.ask), from.signal)) {
      outcome.take(event);
      const shown = agentEvent(event, label);
      if (shown) from.emit(shown);
    }
  } finally {
    child.parts.file.closeNow();
  }
  return outcome.report();
}

function childParts(job: AgentJob, label: string, from: Delegation, queue: Queue): SessionParts {
  const { parts } = from;
  const choice = parts.helper ?? from.choice;
  const tools = agentTools(job.kind, from.offered, {
    limit: from.ties.limit,
    neverAllowed: (name) => parts.gate.neverAllows(name),
  });
  const origin = { home: null, cwd: parts.file.record.cwd, provider: choice.presetId, model: choice.model };
  // In memory there is nothing that could fail to be saved.
  const file = createSession(origin, { now: () => new Date(), onNotice: () => {}, onUnsaved: () => {} });
  return {
    ...parts,
    file,
    choice,
    variant: agentVariant(job.kind, from.thinking),
    thinking: null,
    tools: () => tools,
    gate: job.kind === "worker" ? workerGate(parts.gate, label, queue) : readerGate(parts.gate, label),
    // Estimates are calibrated by one conversation's answers.
    meter: new TokenMeter(),
    undo: null,
    maxSteps: null,
    promptState: (offered, variant) => ({ ...parts.promptState(offered, variant), memory: [], replies: false }),
    toolContext: childContext(label, from),
    beforeFirstRequest: async () => {},
    historyCut: () => {},
    finish: (text, call) => parts.finish(text, named(call, label)),
    agents: null,
    parent: from.ties,
  };
}

/** The parent's context with files of its own memory: what the parent has read, a subagent hasn't. */
function childContext(label: string, from: Delegation): SessionParts["toolContext"] {
  let workspace: Workspace | null = null;
  return (call, signal, output, session): BaseToolContext => {
    const services = { choice: session.choice, setTodos: () => {}, onCommand: from.onCommand };
    const base = from.parts.toolContext(named(call, label), signal, output, services);
    workspace ??= base.workspace.fork();
    return { ...base, workspace, todos: { get: () => [], set: () => {} }, memory: null };
  };
}

/** Two conversations may use one id. */
function named(call: PreparedCall, label: string): PreparedCall {
  return { ...call, id: `${label}/${call.id}` };
}

function askAs(label: string, ask: AskUser | null): AskUser | null {
  return (
    ask &&
    ((prompt, call) =>
      ask({ ...prompt, agent: prompt.agent ?? label }, { ...call, id: `${label}/${call.id}`, agent: label }))
  );
}

/** One question at a time, so that what one worker was granted isn't asked again for the next. */
function workerGate(gate: SessionGate, agent: string, queue: Queue): SessionGate {
  return {
    ...shared(gate),
    admit: (call, ask, context, options) =>
      queue(() => gate.admit(call, ask, context, { ...options, agent, worker: true })),
    record: (call, outcome) => gate.record(call, outcome),
  };
}

/** A reader can't know what others have called: only its own calls are repeats. */
function readerGate(gate: SessionGate, agent: string): SessionGate {
  const repeats = gate.freshRepeats();
  return {
    ...shared(gate),
    admit: (call, ask, context, options) => gate.admit(call, ask, context, { ...options, agent, repeats }),
    record: (call, outcome) => gate.record(call, outcome, repeats),
  };
}

/** The turn, and what was refused in it, is the parent's. */
function shared(gate: SessionGate): Omit<SessionGate, "admit" | "record"> {
  return {
    startTurn: () => {},
    mayAsk: (name) => gate.mayAsk(name),
    mayRead: (path) => gate.mayRead(path),
    neverAllows: (name) => gate.neverAllows(name),
    freshRepeats: () => gate.freshRepeats(),
    fits: (call, patterns) => gate.fits(call, patterns),
  };
}

type Queue = <T>(work: () => Promise<T>) => Promise<T>;

function oneByOne(): Queue {
  let before: Promise<unknown> = Promise.resolve();
  return (work) => {
    const run = before.then(work, work);
    before = run;
    return run;
  };
}
