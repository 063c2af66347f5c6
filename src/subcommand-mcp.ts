/** `shiro mcp list|add|remove|test|login`: the configured MCP servers from the command line. Needs no model and no key. */
import type { Args } from "./args.ts";
import { removeServer, saveServer } from "./config-servers.ts";
import type { LoadedConfig } from "./config.ts";
import { EXIT, UserError } from "./errors.ts";
import { refuseInsideSession } from "./inside-session.ts";
import { entryOf } from "./mcp-entry.ts";
import { entryText, testText } from "./mcp-status.ts";
import { nearestName } from "./nearest.ts";
import type { Output } from "./output.ts";
import type { Home } from "./paths.ts";
import { sanitize } from "./sanitize.ts";
import { configOf } from "./setup-config.ts";
import { withHost } from "./setup-host.ts";
import { serversOf } from "./setup-servers.ts";
import { linesOf, stdinBytes } from "./stdin.ts";

interface McpIo {
  stdout: Output;
  stderr: Output;
  env: Record<string, string | undefined>;
  cwd: string;
}

interface Place {
  args: Args;
  io: McpIo;
  home: Home;
  config: LoadedConfig;
  servers: Record<string, unknown>;
}

const VERBS = { list, add, remove, test, login } as const;
/** They write the configuration or a server's tokens. */
const CHANGING: readonly string[] = ["add", "remove", "login"];
const USAGE = "shiro mcp list | add NAME URL | add NAME -- command args… | remove NAME | test NAME | login NAME";

/** Throws UserError for a verb, a name or an entry it can't use. */
export async function runMcpCommand(args: Args, io: McpIo): Promise<number> {
  const [verb = "list", ...words] = args.rest;
  if (!isVerb(verb)) {
    const near = nearestName(verb, Object.keys(VERBS));
    throw new UserError(`No "shiro mcp ${verb}".${near === null ? "" : ` Did you mean "${near}"?`} Usage: ${USAGE}`);
  }
  if (CHANGING.includes(verb)) refuseInsideSession(io.env, `shiro mcp ${verb}`, "/mcp, or a shell of your own");
  const query = { options: { ...args.options, mcp: true }, env: io.env, cwd: io.cwd };
  const { home, config } = configOf(query);
  const servers = serversOf(query, { home, config });
  return VERBS[verb](words, { args, io, home, config, servers });
}

function isVerb(word: string): word is keyof typeof VERBS {
  return Object.hasOwn(VERBS, word);
}

async function list(words: string[], { io, servers, config }: Place): Promise<number> {
  if (words.length > 0) throw new UserError(`Usage: ${USAGE}`);
  const names = Object.keys(servers).sort();
  if (names.length === 0) return say(io, `No MCP server is configured in ${config.path}. shiro mcp add adds one.`);
  const width = Math.max(...names.map((name) => name.length));
  return say(io, names.map((name) => `${name.padEnd(width)}  ${entryText(name, servers[name])}`).join("\n"));
}

async function add([name, ...target]: string[], { args, io, config }: Place): Promise<number> {
  if (name === undefined) throw new UserError(`Usage: ${USAGE}`);
  const { env, headers, force } = args.options;
  const entry = entryOf({ name, target, env, headers });
  if (!force && Object.hasOwn(config.values.mcpServers ?? {}, name))
    throw new UserError(`"${name}" is configured already. --force replaces it`);
  await saveServer(config.path, name, entry);
  return say(io, `Added "${name}" to ${config.path}. shiro mcp test ${name} tries it.`);
}

async function remove(words: string[], { io, config }: Place): Promise<number> {
  const name = only(words, Object.keys(config.values.mcpServers ?? {}));
  if (!(await removeServer(config.path, name))) throw new UserError(`"${name}" is not in ${config.path}`);
  return say(io, `Removed "${name}" from ${config.path}.`);
}

async function test(words: string[], place: Place): Promise<number> {
  const { io, servers } = place;
  const name = only(words, Object.keys(servers));
  const notice = (message: string): void => void io.stderr.write(`shiro: ${sanitize(message)}\n`);
  const query = { ...place, servers: { [name]: servers[name] }, env: io.env, cwd: io.cwd, notice };
  const state = await withHost(query, (host) => host.reconnect(name));
  say(io, testText(state));
  return state.state === "ready" ? EXIT.done : EXIT.internal;
}

async function login(words: string[], { io, servers, home }: Place): Promise<number> {
  const name = only(words, Object.keys(servers));
  const { runMcpLogin } = await import("./mcp-login.ts");
  const lines = linesOf(stdinBytes());
  await runMcpLogin(name, {
    servers,
    env: io.env,
    home: home.path,
    say: (text) => void say(io, text),
    async readLine(question) {
      io.stderr.write(`${sanitize(question)} `);
      const { value, done } = await lines.next();
      return done === true ? null : value;
    },
    signal: new AbortController().signal,
  });
  return EXIT.done;
}

/** The one name given, which must be one of `names`. */
function only(words: readonly string[], names: readonly string[]): string {
  const [name, more] = words;
  if (name === undefined || more !== undefined) throw new UserError(`Usage: ${USAGE}`);
  if (names.includes(name)) return name;
  const near = nearestName(name, names);
  const hint = near === null ? `Configured: ${names.join(", ") || "none"}` : `Did you mean "${near}"?`;
  throw new UserError(`No MCP server "${name}". ${hint}`);
}

function say(io: McpIo, text: string): number {
  io.stdout.write(`${sanitize(text)}\n`);
  return EXIT.done;
}
