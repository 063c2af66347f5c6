/** One entry of `mcpServers`: its schema, its errors in one line, and the variables in it. Connects to nothing. */
import * as v from "valibot";
import { UserError } from "./errors.ts";
import type { McpExposure } from "./mcp-types.ts";
import { nearestName } from "./nearest.ts";

export const DEFAULT_TIMEOUT_MS = 60_000;
/** `npx` downloads a server before it starts it. */
export const DEFAULT_START_TIMEOUT_MS = 60_000;

export interface McpOAuthConfig {
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  clientMetadataUrl?: string | undefined;
  scopes?: string[] | undefined;
}

interface Common {
  /** Of one call; progress starts it anew. */
  timeoutMs: number;
  /** From the start to the list of tools. */
  startTimeoutMs: number;
  expose: McpExposure | null;
  readOnlyTools: readonly string[];
}

export interface McpStdioConfig extends Common {
  type: "stdio";
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string | null;
  /** Absent: it runs with the user's rights. */
  sandbox?: McpSandbox;
}

/** What a confined server is given beside the workspace and a temporary directory. */
export interface McpSandbox {
  network: "off" | "on";
  /** `~` is the home directory; relative ones are the workspace's. */
  write: readonly string[];
}

export interface McpRemoteConfig extends Common {
  type: "http" | "sse";
  url: string;
  headers: Readonly<Record<string, string>>;
  oauth: McpOAuthConfig;
}

export type McpServerConfig = McpStdioConfig | McpRemoteConfig;

const text = v.string("must be a string");
const filled = v.pipe(text, v.nonEmpty("must not be empty"));
const strings = v.array(text, "must be a list of strings");
const map = v.record(v.string(), text, "must be an object of strings");
// setTimeout takes no more.
const milliseconds = v.pipe(
  v.number("must be a number of milliseconds"),
  v.integer("must be a whole number of milliseconds"),
  v.minValue(1, "must be at least 1 ms"),
  v.maxValue(2 ** 31 - 1, "must be at most 2147483647 ms"),
);

const common = {
  timeoutMs: v.optional(milliseconds, DEFAULT_TIMEOUT_MS),
  startTimeoutMs: v.optional(milliseconds, DEFAULT_START_TIMEOUT_MS),
  expose: v.optional(v.picklist(["lazy", "direct"], 'must be "lazy" or "direct"')),
  readOnlyTools: v.optional(strings, []),
};

const policy = v.strictObject({
  network: v.optional(v.picklist(["off", "on"]), "off"),
  write: v.optional(strings, []),
});

const local = {
  ...common,
  type: v.optional(v.literal("stdio", 'must be "stdio" where there is a command')),
  command: filled,
  args: v.optional(strings, []),
  env: v.optional(map, {}),
  cwd: v.optional(filled),
  sandbox: v.optional(
    v.union([v.boolean(), policy], "must be true, false, or an object with network and write"),
    false,
  ),
};

const oauth = v.strictObject(
  {
    clientId: v.optional(filled),
    clientSecret: v.optional(filled),
    clientMetadataUrl: v.optional(filled),
    scopes: v.optional(strings),
  },
  "is unknown",
);

const remote = {
  ...common,
  type: v.optional(v.picklist(["http", "sse"], 'must be "http" or "sse"'), "http"),
  url: filled,
  headers: v.optional(map, {}),
  oauth: v.optional(oauth, {}),
};

// What rules, tool names and file names can carry; a slash or a space would end up in a pattern.
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Why a name can't be a server's, in one line; null where it can. */
export function mcpNameProblem(name: string): string | null {
  if (NAME.test(name)) return null;
  return `mcpServers: ${JSON.stringify(name.slice(0, 80))} is no usable name. Take letters, digits, ".", "_" and "-", at most 64`;
}

/** A checked entry, its `${VAR}` still unexpanded. Throws UserError naming server and field. */
export function parseMcpServer(name: string, raw: unknown): McpServerConfig {
  const problem = mcpNameProblem(name);
  if (problem !== null) throw configError(problem);
  if (typeof raw !== "object" || raw === null || Array.isArray(raw))
    throw configError(`mcpServers.${name}: must be an object with a command or a url`);
  if ("command" in raw && "url" in raw)
    throw configError(`mcpServers.${name}: has a command and a url. Keep one of them`);
  if ("command" in raw) return localOf(name, raw);
  if ("url" in raw) return remoteOf(name, raw);
  throw configError(`mcpServers.${name}: needs a command (local) or a url (remote)`);
}

/** The fields an entry may have, for help and messages. */
export function mcpServerFields(kind: "local" | "remote"): string[] {
  return Object.keys(kind === "local" ? local : remote);
}

function localOf(name: string, raw: object): McpStdioConfig {
  const entry = parse(v.strictObject(local), raw, name, Object.keys(local));
  const { sandbox, ...rest } = entry;
  const confined = sandbox === true ? { network: "off" as const, write: [] } : sandbox;
  const known = { ...rest, type: "stdio" as const, cwd: entry.cwd ?? null, expose: entry.expose ?? null };
  return confined === false ? known : { ...known, sandbox: confined };
}

function remoteOf(name: string, raw: object): McpRemoteConfig {
  const entry = parse(v.strictObject(remote), raw, name, Object.keys(remote));
  return { ...entry, expose: entry.expose ?? null };
}

function parse<T extends v.GenericSchema>(schema: T, raw: object, name: string, keys: string[]): v.InferOutput<T> {
  const result = v.safeParse(schema, raw);
  if (result.success) return result.output;
  const issue = result.issues[0];
  const path = (issue.path ?? []).map((item) => String(item.key));
  const field = path.length === 0 ? `mcpServers.${name}` : `mcpServers.${name}.${path.join(".")}`;
  if (issue.type !== "strict_object" || issue.expected !== "never") throw configError(`${field}: ${issue.message}`);
  const near = path.length === 1 ? nearestName(path[0] ?? "", keys) : null;
  throw configError(`${field}: is unknown${near === null ? "" : `. Did you mean "${near}"?`}`);
}

function configError(message: string): UserError {
  return new UserError(message, { kind: "config" });
}

/**
 * The entry with `${VAR}` and `${VAR:-x}` replaced in command, args, env, cwd, sandbox, url, headers and oauth. An empty variable
 * counts as unset for `:-`, as in a shell. Throws UserError naming server and variable where one is unset.
 */
export function expandMcpServer<T extends McpServerConfig>(
  name: string,
  config: T,
  env: Readonly<Record<string, string | undefined>>,
): T {
  // The shape stays: strings become strings and nothing else is touched.
  const expanded = mapStrings(config, (value, path) => expand(value, env, `mcpServers.${name}.${path}`)) as T;
  if (expanded.type !== "stdio") checkUrl(name, expanded.url);
  if (expanded.type !== "stdio") checkHeaders(name, expanded.headers);
  return expanded;
}

function expand(value: string, env: Readonly<Record<string, string | undefined>>, field: string): string {
  return value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?:(:-)([^}]*))?\}/g, (_, variable: string, has, fallback) => {
    const found = Object.hasOwn(env, variable) ? env[variable] : undefined;
    if (found !== undefined && (found !== "" || has === undefined)) return found;
    if (has !== undefined) return String(fallback);
    throw configError(`${field}: the variable ${variable} is not set. Set it, or write \${${variable}:-default}`);
  });
}

function mapStrings(value: unknown, change: (text: string, path: string) => string, path = ""): unknown {
  if (typeof value === "string") return change(value, path);
  const at = (key: string): string => (path === "" ? key : `${path}.${key}`);
  if (Array.isArray(value)) return value.map((item, index) => mapStrings(item, change, at(String(index))));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapStrings(item, change, at(key))]));
}

function checkHeaders(name: string, headers: Readonly<Record<string, string>>): void {
  for (const [header, value] of Object.entries(headers)) {
    const field = `mcpServers.${name}.headers.${header}`;
    if (!/^[!#$%&'*+.^`|~\w-]+$/.test(header)) throw configError(`${field}: is no name of a header`);
    // RFC 9110, 5.5. The value itself is not shown: it may be a key.
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      throw configError(`${field}: holds a character that no header can carry`);
  }
}

function checkUrl(name: string, url: string): void {
  const protocol = URL.canParse(url) ? new URL(url).protocol : "";
  if (protocol !== "http:" && protocol !== "https:")
    throw configError(`mcpServers.${name}.url: must begin with http:// or https://`);
  const { username, password } = new URL(url);
  if (username !== "" || password !== "")
    throw configError(`mcpServers.${name}.url: holds a user name or password. Put them into "headers"`);
}

const SECRET_NAMES = /key|token|secret|passw|auth|credential|cookie|session|signature/i;
/** `AUTH_MODE=disabled` is no secret, and the word stands in many a result. */
const PLAIN_WORD = /^[a-z]{1,15}$/i;
const LOOKS_LIKE_TOKEN = /^(?=.*\d)(?=.*[a-z])[^\s/]{20,}$/i;

/** What of an expanded entry is nobody's to see, were the server to send it back: headers and variables that by name or form hold a secret. */
export function secretsIn(config: McpServerConfig): string[] {
  const entries = Object.entries(config.type === "stdio" ? config.env : config.headers);
  const values = entries.flatMap(([name, value]) => {
    const words = [value, ...value.split(/\s+/)];
    return words.filter((word) => LOOKS_LIKE_TOKEN.test(word) || (SECRET_NAMES.test(name) && !PLAIN_WORD.test(word)));
  });
  return config.type === "stdio" ? values : [...values, config.oauth.clientSecret ?? ""];
}
