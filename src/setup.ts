/** From command line, environment and configuration to a session that is ready to be spoken to. Asks nobody and prints nothing: what should be said is in the notices. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { findAgent } from "./agents.ts";
import type { Gate } from "./approval.ts";
import { Budget } from "./budget.ts";
import { childEnv } from "./child-env.ts";
import { tightenMode, type Config, type LoadedConfig } from "./config.ts";
import { keyVariables, resolveEndpoint, type ResolvedEndpoint } from "./endpoint.ts";
import { loadInstructions, repositoryRoot } from "./instructions.ts";
import { openMemory, type Memory } from "./memory.ts";
import { factsFor, lifecycleNotice } from "./models.ts";
import { networkWarnings } from "./network.ts";
import { hideOwnVariables } from "./own-environ.ts";
import { projectPath, spillDir, spillRoot, undoDir, type Home } from "./paths.ts";
import type { PermissionConfig } from "./permission.ts";
import type { PluginHost } from "./plugin.ts";
import { priceOf } from "./pricing.ts";
import type { PromptState } from "./prompt.ts";
import type { Endpoint } from "./provider.ts";
import { openProvider } from "./providers.ts";
import { hiddenVariables, makeRedactor, type Redactor } from "./redact.ts";
import { configOf, extraDirs } from "./setup-config.ts";
import { openGate } from "./setup-gate.ts";
import { onlyModel, reported, requirePrice } from "./setup-model.ts";
import type { Notice, SetupQuery } from "./setup-query.ts";
import { chooseSession } from "./setup-session.ts";
import { createSession } from "./sessions.ts";
import { DEFAULT_COMPACT_AT, Session } from "./session.ts";
import type { ModelChoice, SessionParts } from "./session-parts.ts";
import type { SessionFile } from "./session-file.ts";
import { endAll } from "./spawn.ts";
import { boundResult, sweepSpills, wireText } from "./spill.ts";
import { TokenMeter } from "./tokens.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { openUndo } from "./undo.ts";
import { openWorkspace, type Workspace } from "./workspace.ts";

export type { Notice, SetupQuery } from "./setup-query.ts";

export interface Setup {
  query: SetupQuery;
  home: Home;
  /** Real path of the workspace root. */
  project: string;
  config: LoadedConfig;
  resolved: ResolvedEndpoint;
  session: Session;
  workspace: Workspace;
  gate: Gate;
  rules: PermissionConfig;
  plugins: PluginHost;
  memory: Memory | null;
  tools: readonly Tool[];
  redactor: Redactor;
  childEnv: Record<string, string>;
  /** What should be said before anything else. */
  notices: Notice[];
  /** A model choice for /model and /provider. */
  choose(endpoint: Endpoint, model: string): ModelChoice;
  /** A session without files yet. */
  freshSession(): SessionFile;
  /** Says once that something can't be saved, and why. */
  onUnsaved(reason: string): void;
  /** Where the current session's long results go. */
  spillDir(): string;
  /** Another session in place of this one: /clear, /resume, /fork. */
  switchTo(file: SessionFile): Session;
  /** Saves, ends children, lets go of locks. */
  close(): Promise<void>;
  /** The same without waiting, for signals. */
  closeNow(): void;
}

/** Fields that are kept for later versions: silence would look as if they worked. */
const WITHOUT_EFFECT = ["mcpServers", "hooks", "registryUrl"] as const;

/** Throws UserError for what a person must mend first. Nothing is spawned or connected. */
export async function setUp(query: SetupQuery): Promise<Setup> {
  const { options, env } = query;
  const { home, config } = configOf(query);
  const { values } = config;
  const notices: Notice[] = [];
  const warn = (message: string): void => void notices.push({ level: "warning", message });
  let begun = false;
  // Before the start there is nobody to be told; what comes up by then is said with the rest.
  const onNotice = (message: string): void => (begun ? query.onNotice({ level: "warning", message }) : warn(message));
  const onUnsaved = oneWarning(onNotice);
  if (home.problem !== null) onUnsaved(null, home.problem);
  if (tightenMode(config.path)) warn(`${config.path} was readable by others; its mode is 0600 now`);
  config.reports.forEach(warn);
  networkWarnings(env).forEach(warn);
  for (const key of WITHOUT_EFFECT)
    if (values[key] !== undefined) warn(`"${key}" in ${config.path} has no effect in this version`);

  const variant = findAgent(values.agent ?? "default", values.agents);
  const workspace = openWorkspace({ root: query.cwd, extraDirs: extraDirs(query, config, warn) });
  const resolved = await resolveEndpoint(config, env);
  if (resolved.said !== null) notices.push({ level: "info", message: `Using ${resolved.said}.` });
  const model = resolved.model ?? (await onlyModel(resolved.endpoint, env));
  const lifecycle = lifecycleNotice(model, resolved.endpoint.presetId, new Date());
  if (lifecycle !== null) warn(lifecycle);

  const choose = (endpoint: Endpoint, id: string): ModelChoice => ({
    provider: openProvider(endpoint, { env, maxRetries: values.maxRetries ?? 3, factsFor }),
    presetId: endpoint.presetId,
    model: id,
    facts: factsFor(id, endpoint.presetId),
    price: (usage) => priceOf(usage, id, endpoint.presetId, values.pricing ?? {}),
  });
  const choice = await reported(choose(resolved.endpoint, model), resolved.endpoint, env);
  requirePrice(choice, values, query, warn);

  const project = projectPath(query.cwd);
  const memory = options.memory ? openMemory({ home: home.path, project, now: () => new Date(), onUnsaved }) : null;
  const { gate, plugins, tools, shell, reports, rules } = openGate(query, { home, config, workspace });
  reports.forEach(warn);

  const redactor = makeRedactor(resolved.keys);
  const hidden = hiddenVariables(keyVariables(), values.passEnv ?? []);
  const children = childEnv(env, {
    remove: hidden,
    secretValues: resolved.keys.filter((key) => !(values.passEnv ?? []).some((name) => env[name] === key)),
  });
  hideOwnVariables(keyVariables(), env);
  const instructions = options.instructions
    ? loadInstructions({ cwd: query.cwd, home: home.path })
    : { files: [], notices: [] };
  instructions.notices.forEach(warn);

  const promptState = (offered: PromptState["tools"], active: PromptState["variant"]): PromptState => ({
    cwd: query.cwd,
    platform: `${process.platform} ${process.arch}`,
    shell: shell.name,
    git: existsSync(join(repositoryRoot(query.cwd), ".git")),
    interactive: query.interactive,
    tools: offered,
    variant: active,
    appendices: plugins.appendices(),
    skills: [],
    memory: (memory?.top() ?? []).map((note) => `- (${note.kind}) ${note.text}`),
    instructions: instructions.files,
  });

  const meter = new TokenMeter();
  if (memory?.problem) warn(`Notes: ${memory.problem}`);
  const deps = { now: () => new Date(), onNotice, onUnsaved };
  const fresh = (): SessionFile =>
    createSession({ home: options.ephemeral ? null : home.path, cwd: project, provider: choice.presetId, model }, deps);
  const file = chooseSession(query, home.path, project, fresh, deps, notices);

  // What a key may have begun in is held back until the call's next piece, or its end.
  const live = new Map<string, () => void>();
  const liveOutput = (callId: string, output: (text: string) => void): ((text: string) => void) => {
    const stream = redactor.stream();
    const show = (text: string): void => (text === "" ? undefined : output(text));
    live.set(callId, () => show(stream.end()));
    return (text) => show(stream.push(text));
  };

  const partsFor = (target: SessionFile): SessionParts => {
    const undoPath = undoDir(home.path, target.id);
    const undo = options.ephemeral ? null : openUndo({ dir: undoPath, notice: onNotice, unsaved: onUnsaved });
    const spill = spillDir(home.path, target.id);
    workspace.readableDirs.add(spill);
    workspace.onWrite = undo === null ? null : (path) => undo.before(path);
    return {
      file: target,
      choice,
      helper: values.subagentModel === undefined ? null : choose(resolved.endpoint, values.subagentModel),
      variant,
      thinking: options.think ?? values.thinking ?? null,
      tools,
      gate,
      budget: new Budget(
        {
          maxSpendUsd: values.maxSpendUsd ?? null,
          maxTokens: values.maxTokens ?? null,
          maxSeconds: values.maxSeconds ?? null,
        },
        {
          inputTokens: target.record.inputTokens,
          outputTokens: target.record.outputTokens,
          cacheReadTokens: target.record.cacheReadTokens,
          costUsd: target.record.costUsd ?? 0,
        },
      ),
      meter,
      undo,
      maxSteps: options.maxSteps,
      maxOutputTokens: values.maxOutputTokens ?? null,
      compactAt: compactAt(values.compactAt),
      promptState,
      toolContext: (call, signal, output, session): ToolContext => ({
        callId: call.id,
        signal,
        workspace,
        childEnv: children,
        spillDir: spill,
        mayRead: (path) => gate.mayRead(path),
        redact: (text) => redactor.redact(text),
        output: liveOutput(call.id, output),
        vision: session.choice.facts.vision === true,
        todos: { get: () => target.record.notebook.todos, set: (todos) => session.setTodos(todos) },
        memory,
        ask: null,
        onCommand: (kill) => session.onCommand(kill),
      }),
      finish: async (text, call) => {
        live.get(call.id)?.();
        live.delete(call.id);
        const clean = redactor.redact(text);
        return call.tool.bounded === true ? wireText(clean) : boundResult(clean, { dir: spill, callId: call.id });
      },
    };
  };

  const setup: Setup = {
    query,
    home,
    project,
    config,
    resolved,
    session: new Session(partsFor(file)),
    workspace,
    gate,
    rules,
    plugins,
    memory,
    tools,
    redactor,
    childEnv: children,
    notices,
    choose,
    freshSession: fresh,
    onUnsaved,
    spillDir: () => spillDir(home.path, setup.session.id),
    switchTo(target) {
      const { variant: active, ownThinking: thinking, choice: chosen } = setup.session;
      setup.session.parts.file.closeNow();
      setup.session = new Session({ ...partsFor(target), variant: active, thinking, choice: chosen });
      return setup.session;
    },
    async close() {
      await Promise.all([setup.session.parts.file.close(), endAll()]);
      sweepSpills(spillRoot(home.path), Date.now());
    },
    closeNow() {
      setup.session.parts.file.closeNow();
    },
  };
  begun = true;
  return setup;
}

/** A disk that is full shows in every file at once; one warning stands for all. A `message` replaces the usual words. */
function oneWarning(say: (message: string) => void): (reason: string | null, message?: string) => void {
  let said = false;
  return (reason, message) => {
    if (said) return;
    said = true;
    say(message ?? `Saving fails (${reason}). The session, undo and notes are kept in memory; saving is tried again.`);
  };
}

function compactAt(value: Config["compactAt"]): SessionParts["compactAt"] {
  if (value === undefined) return DEFAULT_COMPACT_AT;
  if (value === "off") return null;
  return typeof value === "number" ? { tokens: value } : { share: Number(value.slice(0, -1)) / 100 };
}
