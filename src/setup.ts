/** From command line, environment and configuration to a session that is ready to be spoken to. Asks nobody and prints nothing: what should be said is in the notices. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { findAgent, type CustomAgents } from "./agents.ts";
import { childEnv } from "./child-env.ts";
import { tightenMode } from "./config.ts";
import { keyVariables, resolveEndpoint } from "./endpoint.ts";
import { loadInstructions, repositoryRoot } from "./instructions.ts";
import { openMemory } from "./memory.ts";
import { factsFor, lifecycleNotice } from "./models.ts";
import { networkWarnings } from "./network.ts";
import { hideOwnVariables } from "./own-environ.ts";
import { projectPath, spillDir, spillRoot } from "./paths.ts";
import { withInstalled } from "./plugins.ts";
import { priceOf } from "./pricing.ts";
import type { PromptState } from "./prompt.ts";
import type { Endpoint } from "./provider.ts";
import { openProvider } from "./providers.ts";
import { hiddenVariables, makeRedactor } from "./redact.ts";
import { configOf, extraDirs } from "./setup-config.ts";
import { openHooks } from "./hooks-turn.ts";
import { installedPlugins, openGate } from "./setup-gate.ts";
import { helperModel } from "./setup-helper.ts";
import { SessionServers } from "./setup-mcp.ts";
import { agentsOf, openExtensions } from "./setup-extensions.ts";
import { onlyModel, reported, requirePrice } from "./setup-model.ts";
import { sandboxOf } from "./setup-sandbox.ts";
import { partsMaker } from "./setup-parts.ts";
import type { Notice, SetupQuery } from "./setup-query.ts";
import { serversOf } from "./setup-servers.ts";
import { chooseSession } from "./setup-session.ts";
import type { Setup } from "./setup-types.ts";
import { createSession } from "./sessions.ts";
import { Session } from "./session.ts";
import type { ModelChoice } from "./session-parts.ts";
import type { SessionFile } from "./session-file.ts";
import { endAll } from "./spawn.ts";
import { sweepSpills } from "./spill.ts";
import { TokenMeter } from "./tokens.ts";
import { VERSION } from "./version.ts";
import { openWorkspace } from "./workspace.ts";

export type { Notice, SetupQuery } from "./setup-query.ts";
export type { Setup } from "./setup-types.ts";

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

  const places = { home: home.path, cwd: query.cwd };
  const agents = (): CustomAgents => agentsOf(places, values.agents);
  const extensions = openExtensions(places, { skills: options.skills });
  const variant = findAgent(values.agent ?? "default", agents());
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
  const other = await helperModel(config, resolved, env);
  const helper = other && choose(other.endpoint, other.model);
  if (helper) requirePrice(helper, values, query, warn);

  const project = projectPath(query.cwd);
  const memory = options.memory ? openMemory({ home: home.path, project, now: () => new Date(), onUnsaved }) : null;
  const redactor = makeRedactor(resolved.keys);
  const hidden = hiddenVariables(keyVariables(), values.passEnv ?? []);
  const children = childEnv(env, {
    remove: hidden,
    secretValues: resolved.keys.filter((key) => !(values.passEnv ?? []).some((name) => env[name] === key)),
  });
  hideOwnVariables(keyVariables(), env);
  const sandbox = sandboxOf(query, { home, config, workspace, report: warn, onUnavailable: onNotice });
  const mcp = new SessionServers({
    interactive: query.interactive && query.headless !== true,
    yolo: options.yolo,
    audience: () => setup.session,
    notice: onNotice,
    openHost: async (servers) =>
      (await import("./mcp.ts")).makeMcpHost({
        servers,
        env,
        childEnv: children,
        workspaceRoot: workspace.realRoot,
        home: home.path,
        sandbox,
        version: VERSION,
        notice: onNotice,
      }),
  });
  await mcp.open(serversOf(query, { home, config }));
  const hooks = await openHooks(values.hooks, {
    place: () => ({
      cwd: query.cwd,
      shell,
      env: children,
      spillDir: setup.spillDir(),
      redact: (text) => redactor.redact(text),
      sessionId: setup.session.id,
    }),
    notice: onNotice,
  });
  const opened = openGate(query, {
    home,
    config,
    workspace,
    late: () => mcp.known(),
    skills: () => extensions.skills(),
    sandbox,
    ...(hooks && {
      hooks: {
        preTool: (call, signal) => hooks.preTool(call, signal),
        postTool: (call, outcome) => hooks.postTool(call, outcome),
      },
    }),
  });
  const { gate, tools, shell, reports, rules } = opened;
  let { plugins, pluginProblems } = opened;
  reports.forEach(warn);
  for (const { file, problem } of pluginProblems) warn(`plugin manifest ${file} was skipped: ${problem}`);

  const instructions = options.instructions
    ? loadInstructions({ cwd: query.cwd, home: home.path })
    : { files: [], notices: [] };
  instructions.notices.forEach(warn);
  const unread = extensions.problems().length;
  if (unread > 0) warn(`${unread} of the files of skills, commands and agents could not be loaded (/skills says why)`);

  const promptState = (offered: PromptState["tools"], active: PromptState["variant"]): PromptState => ({
    cwd: query.cwd,
    platform: `${process.platform} ${process.arch}`,
    shell: shell.name,
    git: existsSync(join(repositoryRoot(query.cwd), ".git")),
    sandbox: sandbox.promptLine(),
    interactive: query.interactive,
    replies: query.interactive && query.headless !== true,
    tools: offered,
    variant: active,
    appendices: plugins.appendices(),
    skills: offered.some((tool) => tool.name === "skill") ? extensions.skills().list : [],
    mcp: mcp.lines(),
    memory: (memory?.top() ?? []).map((note) => `- (${note.kind}) ${note.text}`),
    instructions: instructions.files,
  });

  const meter = new TokenMeter();
  if (memory?.problem) warn(`Notes: ${memory.problem}`);
  const deps = { now: () => new Date(), onNotice, onUnsaved };
  const fresh = (): SessionFile =>
    createSession({ home: options.ephemeral ? null : home.path, cwd: project, provider: choice.presetId, model }, deps);
  const file = chooseSession(query, home.path, project, fresh, deps, notices);

  const partsFor = partsMaker({
    query,
    values,
    home: home.path,
    choice,
    helper,
    variant,
    tools: () => [...tools, ...mcp.tools()],
    gate,
    workspace,
    childEnv: children,
    sandbox,
    redactor,
    memory,
    mcp,
    meter,
    promptState,
    onNotice,
    onUnsaved,
  });

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
    get plugins() {
      return plugins;
    },
    get pluginProblems() {
      return pluginProblems;
    },
    reloadPlugins() {
      const installed = installedPlugins(options.plugins, home.path);
      pluginProblems = installed.problems;
      plugins = withInstalled(plugins, installed.plugins);
      // Manifests add nothing to the prompt, so that stays as it is.
      gate.usePlugins(plugins);
    },
    hooks,
    mcp,
    memory,
    tools: () => [...tools, ...mcp.tools()],
    extensions,
    agents,
    refreshSkills() {
      if (extensions.rereadSkills("changed")) setup.session.refreshPrompt();
    },
    reloadSkills() {
      if (extensions.rereadSkills("always")) setup.session.refreshPrompt();
    },
    redactor,
    childEnv: children,
    sandbox,
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
      await Promise.all([setup.session.parts.file.close(), mcp.close(), endAll()]);
      sandbox.close();
      sweepSpills(spillRoot(home.path), Date.now());
    },
    closeNow() {
      setup.session.parts.file.closeNow();
      sandbox.close();
      mcp.closeNow();
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
