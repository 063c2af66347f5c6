/** `/mcp`: how the servers stand, and adding, removing, testing and logging in. */
import { splitWords } from "./argv-words.ts";
import type { Command, CommandUi } from "./command.ts";
import { removeServer, saveServer } from "./config-servers.ts";
import { UserError } from "./errors.ts";
import type { Interactive } from "./interactive-host.ts";
import type { TypedServer } from "./mcp-entry.ts";
import type { McpHost } from "./mcp-types.ts";
import { nearestName } from "./nearest.ts";
import { serversOf } from "./setup-servers.ts";

const VERBS = ["add", "remove", "test", "login"] as const;
const USAGE = "Usage: /mcp, /mcp add, /mcp remove <name>, /mcp test <name>, /mcp login <name>";

export function mcpCommands(host: Interactive): Command[] {
  return [
    {
      name: "mcp",
      args: "[add|remove name|test name|login name]",
      summary: "MCP servers: list, add, remove, test, log in",
      help: "Alone it lists the servers; tools of servers that joined late are offered directly from then on. /mcp add asks what it needs to know and writes config.json.",
      complete: () => ["add", ...VERBS.slice(1).flatMap((verb) => configured(host).map((name) => `${verb} ${name}`))],
      ordered: true,
      run: (args, ui) => run(args, host, ui),
    },
  ];
}

async function run(args: string, host: Interactive, ui: CommandUi): Promise<void> {
  const [verb, name, more] = args.split(/\s+/).filter(Boolean);
  if (verb === undefined) return list(host, ui);
  const known = VERBS.find((one) => one === verb);
  if (known === undefined || more !== undefined) throw unknownVerb(verb);
  switch (known) {
    case "add":
      return add(name, host, ui);
    case "remove":
      return remove(chosen(name, host), host, ui);
    case "test":
      return test(chosen(name, host), host, ui);
    case "login":
      return login(chosen(name, host), host, ui);
    default:
      return known satisfies never;
  }
}

function unknownVerb(verb: string): UserError {
  const near = nearestName(verb, VERBS);
  return new UserError(near === null || near === verb ? USAGE : `No /mcp ${verb}. Did you mean /mcp ${near}?`);
}

function configured(host: Interactive): string[] {
  return Object.keys(serversOf(host.setup.query)).sort();
}

function chosen(name: string | undefined, host: Interactive): string {
  if (name === undefined) throw new UserError(USAGE);
  const names = configured(host);
  if (names.includes(name)) return name;
  const near = nearestName(name, names);
  throw new UserError(
    `No MCP server "${name}". ${near === null ? `Configured: ${names.join(", ") || "none"}` : `Did you mean "${near}"?`}`,
  );
}

async function list(host: Interactive, ui: CommandUi): Promise<void> {
  const { mcp } = host.setup;
  if (!host.setup.query.options.mcp) return ui.print("MCP servers are off (--no-mcp).");
  if (!mcp.reach) return ui.print("No MCP server is configured. /mcp add adds one.");
  mcp.renew();
  const { isDirect } = await import("./mcp-offer.ts");
  const { statusText } = await import("./mcp-status.ts");
  ui.print(statusText(mcp.reach.states(), isDirect));
}

async function add(given: string | undefined, host: Interactive, ui: CommandUi): Promise<void> {
  const { entryOf } = await import("./mcp-entry.ts");
  const target = await targetOf(given, host, ui);
  // What can't be used is said before more is asked.
  if (target) entryOf(target);
  const typed = target && (await withValues(target, ui));
  if (!typed) return ui.print("Nothing was added.");
  const { path } = host.setup.config;
  await saveServer(path, typed.name, entryOf(typed));
  ui.print(`Added "${typed.name}" to ${path}.`);
  await reopen(host);
  await test(typed.name, host, ui);
}

async function remove(name: string, host: Interactive, ui: CommandUi): Promise<void> {
  const { path } = host.setup.config;
  if (!(await removeServer(path, name))) throw new UserError(`"${name}" is not in ${path}`);
  ui.print(`Removed "${name}" from ${path}.`);
  await reopen(host);
}

async function test(name: string, host: Interactive, ui: CommandUi): Promise<void> {
  const { testText } = await import("./mcp-status.ts");
  const state = await host.interruptible((signal) => stopped(hostOf(host).reconnect(name), signal));
  host.setup.mcp.renew();
  ui.print(testText(state));
}

async function login(name: string, host: Interactive, ui: CommandUi): Promise<void> {
  const { runMcpLogin } = await import("./mcp-login.ts");
  const { setup } = host;
  await host.interruptible((signal) =>
    runMcpLogin(name, {
      servers: serversOf(setup.query),
      env: setup.query.env,
      home: setup.home.path,
      say: (text) => ui.print(text),
      readLine: (question) => ui.dialog.line(question),
      signal,
    }),
  );
  await test(name, host, ui);
}

/** The servers as the configuration has them now; those that ran end. */
async function reopen(host: Interactive): Promise<void> {
  const { mcp, query } = host.setup;
  await mcp.open(serversOf(query));
  mcp.start();
  mcp.renew();
}

function hostOf(host: Interactive): McpHost {
  const { host: found } = host.setup.mcp;
  if (!found) throw new UserError("MCP servers are off (--no-mcp)");
  return found;
}

/** The work goes on where it can't be stopped; nobody waits for it any more. */
async function stopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Null when dismissed at any point. */
async function targetOf(given: string | undefined, host: Interactive, ui: CommandUi): Promise<TypedServer | null> {
  const kind = await ui.dialog.pick("What kind of server?", [
    { value: "local" as const, label: "local", detail: "a command that is started here" },
    { value: "remote" as const, label: "remote", detail: "an address, over HTTP" },
  ]);
  if (kind === null) return null;
  const name = given ?? (await ui.dialog.line("name:"))?.trim();
  if (!name) return null;
  await checkName(name, host);
  const target = await ui.dialog.line(kind === "local" ? "command line:" : "address (https://…):");
  if (target === null || target.trim() === "") return null;
  const words = kind === "remote" ? [target.trim()] : splitWords(target);
  if (words === null) throw new UserError("A quote in that command line isn't closed");
  return { name, kind, target: words, env: [], headers: [] };
}

/** Null when dismissed, as above: half an answer adds nothing. */
async function withValues(typed: TypedServer, ui: CommandUi): Promise<TypedServer | null> {
  const isRemote = typed.kind === "remote";
  const values = await several(isRemote ? HEADER : VARIABLE, isRemote ? ": " : "=", ui);
  return values && { ...typed, ...(isRemote ? { headers: values } : { env: values }) };
}

const HEADER = "header name, such as Authorization (empty: none):";
const VARIABLE = "environment variable it needs (empty: none):";

/** Names are typed, their values without echo: they tend to be secrets. */
async function several(question: string, joint: string, ui: CommandUi): Promise<string[] | null> {
  const found: string[] = [];
  for (;;) {
    const name = await ui.dialog.line(question);
    if (name === null) return null;
    if (name.trim() === "") return found;
    const value = await ui.dialog.secret(`its value; \${NAME} is taken from your environment:`);
    if (value === null) return null;
    found.push(`${name.trim()}${joint}${value}`);
  }
}

async function checkName(name: string, host: Interactive): Promise<void> {
  const { mcpNameProblem } = await import("./mcp-config.ts");
  const problem = mcpNameProblem(name);
  if (problem !== null) throw new UserError(problem);
  if (configured(host).includes(name))
    throw new UserError(`"${name}" is configured already. /mcp remove ${name} first`);
}
