/** Configuration: file, then environment, then flags, each value with where it came from. Reads and writes config.json; decides nothing about models or rules. */
import { chmodSync, readFileSync, statSync } from "node:fs";
import * as v from "valibot";
import { UserError, errnoOf, messageOf } from "./errors.ts";
import { hooksSchema, readHooks } from "./hooks-config.ts";
import { JsoncError, parseJsonc, plain, removeTopLevel, setTopLevel, type JsonEntry, type JsonNode } from "./jsonc.ts";
import { nearestName } from "./nearest.ts";
import { PROTOCOLS } from "./provider.ts";
import { sandboxSchema } from "./sandbox-settings.ts";
import { THINKING_LEVELS, type Json } from "./types.ts";

const positiveInteger = v.pipe(v.number(), v.integer(), v.minValue(1));
const positiveNumber = v.pipe(v.number(), v.gtValue(0));
const strings = v.array(v.string());

const priceOverride = v.strictObject({
  input: v.number(),
  output: v.number(),
  cacheRead: v.optional(v.number()),
  cacheWrite: v.optional(v.number()),
});

const agentSettings = v.strictObject({
  description: v.optional(v.string()),
  thinking: v.optional(v.picklist(THINKING_LEVELS)),
  tools: v.optional(v.union([v.picklist(["all", "read-only"]), strings])),
  steps: v.optional(positiveInteger),
  appendix: v.optional(v.string()),
});

/** Every field of config.json, declared once: its shape, the variable that overrides it, what it means. */
export const CONFIG_FIELDS = {
  provider: { schema: v.picklist(PROTOCOLS), env: "SHIRO_PROVIDER", help: "wire protocol: anthropic or openai" },
  model: {
    schema: v.pipe(v.string(), v.nonEmpty("must not be empty")),
    env: "SHIRO_MODEL",
    help: "model id as the endpoint names it",
  },
  baseURL: {
    schema: v.pipe(v.string(), v.url("must be a URL such as https://host/v1")),
    env: "SHIRO_BASE_URL",
    help: "API root",
  },
  apiKey: {
    schema: v.pipe(v.string(), v.nonEmpty("must not be empty")),
    env: "SHIRO_API_KEY",
    help: 'the key, "env:NAME" or "cmd:…"',
  },
  presetId: { schema: v.string(), env: null, help: "which preset /provider chose" },
  agent: { schema: v.string(), env: null, help: "default variant" },
  thinking: { schema: v.picklist(THINKING_LEVELS), env: null, help: THINKING_LEVELS.join(", ") },
  maxRetries: {
    schema: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(20)),
    env: null,
    help: "retries per model call (3)",
  },
  maxOutputTokens: { schema: positiveInteger, env: null, help: "longest answer asked for, tokens" },
  headers: { schema: v.record(v.string(), v.string()), env: null, help: "extra HTTP headers for the endpoint" },
  timeoutMs: {
    schema: v.pipe(v.number(), v.minValue(0)),
    env: null,
    help: "limit for the first byte and between bytes; 0 = none",
  },
  compactAt: {
    schema: v.union([positiveInteger, v.pipe(v.string(), v.regex(/^(off|\d{1,2}%)$/))]),
    env: null,
    help: 'tokens, a share like "70%", or "off"',
  },
  maxSpendUsd: { schema: positiveNumber, env: null, help: "spend ceiling of a session" },
  maxTokens: { schema: positiveInteger, env: null, help: "token ceiling of a session" },
  maxSeconds: { schema: positiveNumber, env: null, help: "no request is started after this" },
  subagentModel: { schema: v.string(), env: null, help: "model for subagents and summaries" },
  subagentProvider: { schema: v.picklist(PROTOCOLS), env: null, help: "protocol for subagentModel" },
  agents: { schema: v.record(v.string(), agentSettings), env: null, help: "variants of your own" },
  pricing: { schema: v.record(v.string(), priceOverride), env: null, help: "USD per million tokens, per model" },
  plugins: { schema: strings, env: null, help: "exactly these builtin plugins" },
  toolSets: { schema: strings, env: null, help: "optional tool sets; omit for edit-plus and git" },
  permission: { schema: v.any(), env: null, help: "which calls run, ask or are refused" },
  sandbox: {
    schema: sandboxSchema,
    env: null,
    help: "what confines commands: a mode, or an object (shiro help sandbox)",
  },
  registryUrl: { schema: v.string(), env: null, help: "index for /registry" },
  mcpServers: { schema: v.record(v.string(), v.any()), env: null, help: "MCP servers" },
  hooks: { schema: hooksSchema, env: null, help: "commands run on events" },
  extraDirs: { schema: strings, env: null, help: "further directories the tools may use" },
  passEnv: { schema: strings, env: null, help: "key variables handed to child processes all the same" },
  escTimeoutMs: {
    schema: v.pipe(v.number(), v.minValue(0), v.maxValue(5000)),
    env: null,
    help: "how long a lone ESC waits for more",
  },
  theme: { schema: v.picklist(["auto", "none"]), env: null, help: "colours: auto or none" },
  plain: { schema: v.boolean(), env: null, help: "line mode always" },
} as const;

export type ConfigKey = keyof typeof CONFIG_FIELDS;
type Fields = { [K in ConfigKey]: v.InferOutput<(typeof CONFIG_FIELDS)[K]["schema"]> };
export type Config = Partial<Fields>;

/** `permission` as written: keys in file order, each with its line. */
export interface OrderedEntry {
  key: string;
  line: number;
  value: string | OrderedEntry[];
}

export interface LoadedConfig {
  values: Config;
  /** For each value that is set: `config.json:12`, `SHIRO_MODEL`, `--model`. */
  origins: Partial<Record<ConfigKey, string>>;
  permission: OrderedEntry[];
  /** What was ignored, with its place. */
  reports: string[];
  path: string;
}

/** Every setting, in the order they are documented. */
export function configKeys(): ConfigKey[] {
  return Object.keys(CONFIG_FIELDS) as ConfigKey[]; // a literal of ours: it has no keys but those of its type
}

/** Loads `path` and overlays environment and flags. A missing file is an empty one; a syntax error throws and nothing is overwritten. */
export function loadConfig(query: {
  path: string;
  env: Record<string, string | undefined>;
  flags: Partial<Record<ConfigKey, { value: unknown; flag: string }>>;
}): LoadedConfig {
  const loaded: LoadedConfig = { values: {}, origins: {}, permission: [], reports: [], path: query.path };
  for (const entry of fileEntries(query.path, loaded.reports)) takeEntry(loaded, entry);
  for (const key of configKeys()) {
    const variable = CONFIG_FIELDS[key].env;
    const value = variable === null ? undefined : query.env[variable];
    if (variable !== null && value) override(loaded, key, value, variable);
    const flag = query.flags[key];
    if (flag) override(loaded, key, flag.value, flag.flag);
  }
  return loaded;
}

/** Sets top-level keys in config.json (undefined removes), keeping comments and unknown keys; mode 0600. */
export async function writeConfig(
  path: string,
  changes: Record<string, Json | undefined>,
  write: (path: string, text: string) => Promise<void> | void,
): Promise<void> {
  let text = readOptional(path) ?? "{\n}\n";
  for (const [key, value] of Object.entries(changes))
    text = value === undefined ? removeTopLevel(text, key) : setTopLevel(text, key, value);
  await write(path, text);
}

/** True when other users could read the file: keys may be in it. Tightened where possible. */
export function tightenMode(path: string): boolean {
  try {
    if ((statSync(path).mode & 0o077) === 0) return false;
    chmodSync(path, 0o600);
    return true;
  } catch (error) {
    // Not there, not ours, a read-only disk: reading it says what is wrong where that matters.
    if (errnoOf(error) !== undefined) return false;
    throw error;
  }
}

function fileEntries(path: string, reports: string[]): JsonEntry[] {
  const text = readOptional(path);
  if (text === null || text.trim() === "") return [];
  try {
    const root = parseJsonc(text);
    if (root.kind === "object") return root.entries;
    reports.push(`${path}: must hold one object; ignored`);
    return [];
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error;
    throw new UserError(`${path}: ${error.message}. Fix it or move it away`, { kind: "config", cause: error });
  }
}

/** The `permission` entries of a settings file's text, in its order. What can't be read is reported and left out. */
export function orderedPermission(text: string, file: string, reports: string[]): OrderedEntry[] {
  try {
    const root = parseJsonc(text);
    if (root.kind !== "object") throw new JsoncError("The file must hold one object", root);
    const entry = root.entries.findLast((one) => one.key === "permission");
    return entry ? ordered(entry.value, `${file}:${entry.line}`, reports) : [];
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error;
    reports.push(`${file}: ${error.message}; ignored`);
    return [];
  }
}

function readOptional(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw new UserError(`Cannot read ${path}: ${messageOf(error)}`, { kind: "config", cause: error });
  }
}

function takeEntry(loaded: LoadedConfig, entry: JsonEntry): void {
  const place = `config.json:${entry.line}`;
  if (entry.key === "$schema") return;
  if (!isConfigKey(entry.key)) {
    const near = nearestName(entry.key, Object.keys(CONFIG_FIELDS));
    loaded.reports.push(`${place}: unknown key "${entry.key}" ignored${near ? ` (did you mean "${near}"?)` : ""}`);
    return;
  }
  if (entry.key === "permission") {
    loaded.permission = ordered(entry.value, place, loaded.reports);
    loaded.origins.permission = place;
    return;
  }
  if (entry.key === "hooks")
    return assign(loaded, entry.key, readHooks(plain(entry.value), place, loaded.reports), place);
  const checked = v.safeParse(CONFIG_FIELDS[entry.key].schema, plain(entry.value));
  if (!checked.success) {
    const issue = checked.issues[0];
    const path = [entry.key, ...(issue.path ?? []).map((item) => String(item.key))].join(".");
    loaded.reports.push(`${place}: bad value for "${path}" ignored: ${issue.message}`);
    return;
  }
  assign(loaded, entry.key, checked.output, place);
}

function override(loaded: LoadedConfig, key: ConfigKey, value: unknown, origin: string): void {
  const checked = v.safeParse(CONFIG_FIELDS[key].schema, value);
  if (checked.success) return assign(loaded, key, checked.output, origin);
  const valid = key === "provider" || key === "subagentProvider" ? ` Available: ${PROTOCOLS.join(", ")}` : "";
  const shown = key === "apiKey" ? "" : ` "${String(value)}"`;
  throw new UserError(
    valid ? `Unknown ${key}${shown}.${valid}` : `${origin}: bad value${shown} for ${key}: ${checked.issues[0].message}`,
  );
}

function assign(loaded: LoadedConfig, key: ConfigKey, value: unknown, origin: string): void {
  Object.assign(loaded.values, { [key]: value }); // validated by the field's own schema just before
  loaded.origins[key] = origin;
}

function isConfigKey(key: string): key is ConfigKey {
  return Object.hasOwn(CONFIG_FIELDS, key);
}

function ordered(node: JsonNode, place: string, reports: string[]): OrderedEntry[] {
  if (node.kind !== "object") {
    reports.push(`${place}: "permission" must be an object of tools; ignored`);
    return [];
  }
  return node.entries.map((entry) => ({ key: entry.key, line: entry.line, value: orderedValue(entry.value) }));
}

function orderedValue(node: JsonNode): string | OrderedEntry[] {
  if (node.kind === "object")
    return node.entries.map((entry) => ({ key: entry.key, line: entry.line, value: orderedValue(entry.value) }));
  // Anything else than a string is no decision; its text stands in the report about the dropped one.
  return node.kind === "scalar" && typeof node.value === "string" ? node.value : JSON.stringify(plain(node));
}
