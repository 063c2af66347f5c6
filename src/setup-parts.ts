/** The parts of each session of one process: what they share, put together with what is a session's own. */
import type { AgentVariant } from "./agents.ts";
import type { Gate } from "./approval.ts";
import { Budget } from "./budget.ts";
import type { Config } from "./config.ts";
import type { Memory } from "./memory.ts";
import { spillDir, undoDir } from "./paths.ts";
import type { Redactor } from "./redact.ts";
import type { Sandbox } from "./sandbox.ts";
import type { SessionFile } from "./session-file.ts";
import { DEFAULT_COMPACT_AT } from "./session-ledger.ts";
import type { BaseToolContext, ModelChoice, SessionParts } from "./session-parts.ts";
import type { SessionServers } from "./setup-mcp.ts";
import type { SetupQuery } from "./setup-query.ts";
import { boundResult, wireText } from "./spill.ts";
import { openSubagents } from "./subagents.ts";
import type { TokenMeter } from "./tokens.ts";
import type { Tool } from "./tool.ts";
import { openUndo } from "./undo.ts";
import type { Workspace } from "./workspace.ts";

/** What all sessions of a process have in common. */
export interface SharedParts {
  query: SetupQuery;
  values: Config;
  /** SHIRO_HOME. */
  home: string;
  choice: ModelChoice;
  helper: ModelChoice | null;
  variant: AgentVariant;
  tools(): readonly Tool[];
  gate: Gate;
  workspace: Workspace;
  childEnv: Record<string, string>;
  sandbox: Sandbox;
  redactor: Redactor;
  memory: Memory | null;
  mcp: SessionServers;
  meter: TokenMeter;
  promptState: SessionParts["promptState"];
  onNotice(message: string): void;
  onUnsaved(reason: string): void;
}

/** Makes the parts of a session. The workspace's hooks go over to the one made last. */
export function partsMaker(shared: SharedParts): (target: SessionFile) => SessionParts {
  const live = new LiveOutput(shared.redactor);
  return (target) => partsOf(target, shared, live);
}

function partsOf(target: SessionFile, shared: SharedParts, live: LiveOutput): SessionParts {
  const { query, values, home, workspace, mcp } = shared;
  const { options } = query;
  const dir = undoDir(home, target.id);
  const undo = options.ephemeral ? null : openUndo({ dir, notice: shared.onNotice, unsaved: shared.onUnsaved });
  const spill = spillDir(home, target.id);
  workspace.readableDirs.add(spill);
  workspace.onWrite = undo === null ? null : (path) => undo.before(path);
  return {
    file: target,
    choice: shared.choice,
    helper: shared.helper,
    variant: shared.variant,
    thinking: options.think ?? values.thinking ?? null,
    tools: shared.tools,
    gate: shared.gate,
    budget: budgetOf(target, values),
    meter: shared.meter,
    undo,
    maxSteps: options.maxSteps,
    maxOutputTokens: values.maxOutputTokens ?? null,
    compactAt: compactAt(values.compactAt),
    promptState: shared.promptState,
    toolContext: (call, signal, output, session): BaseToolContext => ({
      callId: call.id,
      signal,
      workspace,
      childEnv: shared.childEnv,
      sandbox: shared.sandbox,
      spillDir: spill,
      mayRead: (path) => shared.gate.mayRead(path),
      redact: (text) => shared.redactor.redact(text),
      output: live.open(call.id, output),
      vision: session.choice.facts.vision === true,
      todos: { get: () => target.record.notebook.todos, set: (todos) => session.setTodos(todos) },
      memory: shared.memory,
      onCommand: (kill) => session.onCommand(kill),
    }),
    beforeFirstRequest: (signal) => mcp.beforeFirstRequest(signal),
    historyCut: () => mcp.historyCut(),
    finish: async (text, call) => {
      live.close(call.id);
      const clean = shared.redactor.redact(text);
      return call.tool.bounded === true ? wireText(clean) : boundResult(clean, { dir: spill, callId: call.id });
    },
    agents: options.subagent ? { delegate: openSubagents(), workers: query.interactive || options.yolo } : null,
    parent: null,
  };
}

/** What a key may have begun in is held back until the call's next piece, or its end. */
class LiveOutput {
  readonly #redactor: Redactor;
  readonly #open = new Map<string, () => void>();

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  open(callId: string, output: (text: string) => void): (text: string) => void {
    const stream = this.#redactor.stream();
    const show = (text: string): void => (text === "" ? undefined : output(text));
    this.#open.set(callId, () => show(stream.end()));
    return (text) => show(stream.push(text));
  }

  close(callId: string): void {
    this.#open.get(callId)?.();
    this.#open.delete(callId);
  }
}

/** What a resumed session has spent counts. */
function budgetOf({ record }: SessionFile, values: Config): Budget {
  const ceilings = {
    maxSpendUsd: values.maxSpendUsd ?? null,
    maxTokens: values.maxTokens ?? null,
    maxSeconds: values.maxSeconds ?? null,
  };
  const { inputTokens, outputTokens, cacheReadTokens, costUsd } = record;
  return new Budget(ceilings, { inputTokens, outputTokens, cacheReadTokens, costUsd: costUsd ?? 0 });
}

function compactAt(value: Config["compactAt"]): SessionParts["compactAt"] {
  if (value === undefined) return DEFAULT_COMPACT_AT;
  if (value === "off") return null;
  return typeof value === "number" ? { tokens: value } : { share: Number(value.slice(0, -1)) / 100 };
}
