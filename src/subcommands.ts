/** `shiro <subcommand>`: dispatch, and the ones that are a few lines. Each loads only what it needs. */
import { SUBCOMMANDS, type Args } from "./args.ts";
import { commandUsage, usage } from "./args-usage.ts";
import { EXIT, UserError } from "./errors.ts";
import { TOPICS, helpTopic } from "./help.ts";
import { isTerminal } from "./output-fd.ts";
import type { Output } from "./output.ts";
import { sanitize } from "./sanitize.ts";
import type { Setup } from "./setup.ts";

export interface SubcommandIo {
  stdout: Output;
  stderr: Output;
  env: Record<string, string | undefined>;
  cwd: string;
  end(code: number): void;
}

type Handler = (args: Args, io: SubcommandIo) => Promise<number> | number;

const HANDLERS: Readonly<Record<string, Handler>> = {
  demo: async (args, io) => (await import("./demo.ts")).runDemo(args, io),
  doctor: async (args, io) => (await import("./doctor.ts")).runDoctor(args, io),
  models,
  sessions,
  permissions,
  sandbox: async (args, io) => (await import("./command-sandbox.ts")).runSandbox(args, io),
  cost,
  prompt,
  registry: async (args, io) => (await import("./subcommand-registry.ts")).runRegistryCommand(args, io),
  mcp: async (args, io) => (await import("./subcommand-mcp.ts")).runMcpCommand(args, io),
  trust: async (args, io) => (await import("./subcommand-trust.ts")).runTrust(args, io),
  completions: async (args, io) => print(io, (await import("./shell-completions.ts")).completionScript(args.rest[0])),
  schema: async (args, io) => schema(args, io),
  update: (_, io) => print(io, updateText()),
  help: async (args, io) => print(io, await helpText(args.rest[0], io.env)),
};

export async function runSubcommand(args: Args, io: SubcommandIo): Promise<number> {
  const handler = HANDLERS[args.command];
  if (!handler) throw new Error(`Subcommand ${args.command} has no handler`);
  return handler(args, io);
}

function print(io: SubcommandIo, text: string): number {
  io.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
  return EXIT.done;
}

/**
 * A topic, laid out for a terminal and as Markdown for a pipe; else what a subcommand takes: `shiro help doctor`. Throws
 * UserError for a name of neither.
 */
export async function helpText(name: string | undefined, env: SubcommandIo["env"]): Promise<string> {
  if (name === undefined) return usage();
  const other = Object.hasOwn(TOPICS, name) ? null : commandUsage(name);
  const text = other ?? helpTopic(name);
  if (other !== null || !isTerminal(1)) return text;
  const { helpView } = await import("./command-help.ts");
  const { terminalTraits } = await import("./terminal-traits.ts");
  const terminal = { stdinIsTty: isTerminal(0), stdoutIsTty: true, platform: process.platform, plain: false };
  return helpView(text, { colour: terminalTraits(env, terminal).colour, columns: process.stdout.columns || 80 });
}

function usageOf(name: string): UserError {
  return new UserError(`Usage: shiro ${SUBCOMMANDS.find((command) => command.name === name)?.usage ?? name}`);
}

async function withSetup<T>(args: Args, io: SubcommandIo, work: (setup: Setup) => Promise<T> | T): Promise<T> {
  const { setUp } = await import("./setup.ts");
  const notice = (message: string): void => io.stderr.write(`shiro: ${sanitize(message)}\n`);
  const setup = await setUp({
    options: { ...args.options, ephemeral: true },
    env: io.env,
    cwd: io.cwd,
    interactive: true,
    onNotice: (one) => notice(one.message),
  });
  setup.notices.filter((one) => one.level === "warning").forEach((one) => notice(one.message));
  try {
    return await work(setup);
  } finally {
    await setup.close();
  }
}

async function models(args: Args, io: SubcommandIo): Promise<number> {
  const { configOf } = await import("./setup-config.ts");
  const { resolveEndpoint } = await import("./endpoint.ts");
  const { listModels } = await import("./listing.ts");
  const { knownModels, modelTable } = await import("./command-model.ts");
  const { config } = configOf({ options: args.options, env: io.env, cwd: io.cwd });
  const { endpoint } = await resolveEndpoint(config, io.env);
  const listed = await listModels(endpoint, { env: io.env, signal: AbortSignal.timeout(30_000) });
  const filter = args.rest[0] ?? "";
  if (args.options.json) return print(io, JSON.stringify(knownModels(listed, endpoint.presetId, filter)));
  return print(io, sanitize(modelTable(listed, endpoint.presetId, filter)));
}

async function sessions(args: Args, io: SubcommandIo): Promise<number> {
  const { configOf } = await import("./setup-config.ts");
  const { sessionJson, sessionTable } = await import("./command-session.ts");
  const { projectPath } = await import("./paths.ts");
  const { home } = configOf({ options: args.options, env: io.env, cwd: io.cwd });
  if (args.options.json) return print(io, sessionJson(home.path, projectPath(io.cwd)));
  return print(io, sanitize(sessionTable(home.path, projectPath(io.cwd), new Date())));
}

async function permissions(args: Args, io: SubcommandIo): Promise<number> {
  const [verb, tool, ...subject] = args.rest;
  if (verb !== "explain" || tool === undefined || subject.length === 0) throw usageOf("permissions");
  const { explainCall } = await import("./command-permissions.ts");
  const { gateOf } = await import("./setup-gate.ts");
  // Rules may speak of these, servers or not; nothing is connected to judge a call.
  const { judgedMetaTools } = await import("./mcp-meta.ts");
  const known = judgedMetaTools();
  const { gate } = gateOf({ options: args.options, env: io.env, cwd: io.cwd }, () => known);
  const explained = await gate.explainTested(tool, subject.join(" "));
  return print(io, args.options.json ? JSON.stringify(explained) : sanitize(explainCall(explained)));
}

async function cost(args: Args, io: SubcommandIo): Promise<number> {
  const { configOf } = await import("./setup-config.ts");
  const { costReport } = await import("./command-cost.ts");
  const { home } = configOf({ options: args.options, env: io.env, cwd: io.cwd });
  const { parseSince } = await import("./cost.ts");
  const { since } = args.options;
  const from = since === null ? null : parseSince(since, new Date());
  return print(io, costReport(home.path, from, args.options.json));
}

async function prompt(args: Args, io: SubcommandIo): Promise<number> {
  const text = await withSetup(args, io, (setup) => setup.session.systemText());
  // A repository's skills and instructions are in it.
  return print(io, isTerminal(1) ? sanitize(text) : text);
}

async function schema(args: Args, io: SubcommandIo): Promise<number> {
  if (args.rest[0] !== "events") throw usageOf("schema");
  const { eventSchema } = await import("./event-schema.ts");
  return print(io, JSON.stringify(eventSchema(), null, 2));
}

function updateText(): string {
  return [
    "shiro does not update itself. Run the installer again; it checks the download before it replaces anything:",
    "",
    "  curl -fsSL https://github.com/shiro-neko/shiro/releases/latest/download/install.sh | sh",
    "  irm https://github.com/shiro-neko/shiro/releases/latest/download/install.ps1 | iex    (Windows)",
    "",
    "SHIRO_VERSION pins a version, SHIRO_INSTALL_DIR the place.",
  ].join("\n");
}
