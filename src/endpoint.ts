/** From configuration and environment to one endpoint with a key. Sends nothing; runs `cmd:` keys once. */
import type { Config, LoadedConfig } from "./config.ts";
import { UserError, messageOf } from "./errors.ts";
import { defaultModel } from "./models.ts";
import { PRESETS, firstPresetWithKey, keyFromEnv, presetById, presetForHost, type Preset } from "./presets.ts";
import type { Endpoint, Protocol } from "./provider.ts";

export interface ResolvedEndpoint {
  endpoint: Endpoint;
  /** Configured or the preset's default; null: ask the endpoint what it has. */
  model: string | null;
  /** Where the key came from, for doctor: a variable, `config.json:3`, `none`. */
  keySource: string;
  /** What was chosen for the user and should be said. */
  said: string | null;
  /** All keys there are, to be kept out of results. */
  keys: string[];
}

type Env = Readonly<Record<string, string | undefined>>;

/** Throws UserError of kind `auth` when there is neither a key nor an endpoint that needs none. */
export async function resolveEndpoint(loaded: LoadedConfig, env: Env): Promise<ResolvedEndpoint> {
  const { values } = loaded;
  const { preset, said } = choosePreset(values, env);
  const protocol = values.provider ?? preset.protocol;
  const baseURL = values.baseURL ?? (preset.baseURL || missingBaseURL(preset));
  if (!/^https?:\/\//i.test(baseURL.trim()))
    throw new UserError(`baseURL "${baseURL}" is no http(s) URL`, { kind: "config" });
  const key = await findKey(loaded, preset, protocol, env);
  if (key.value === null && !preset.keyless) throw noKey(preset);
  const endpoint: Endpoint = {
    protocol,
    presetId: preset.id,
    baseURL,
    apiKey: key.value,
    headers: values.headers ?? {},
    timeoutMs: values.timeoutMs ?? null,
    forcedWire: forcedWire(env),
  };
  return {
    endpoint,
    model: values.model ?? defaultModel(preset.id),
    keySource: key.source,
    said,
    keys: knownKeys(key.value, env),
  };
}

/** True when this configuration names no provider and the environment holds no key: the setup dialogue's case. */
export function nothingConfigured(values: Config, env: Env): boolean {
  return !values.provider && !values.baseURL && !values.apiKey && !values.presetId && !firstPresetWithKey(env);
}

function choosePreset(values: Config, env: Env): { preset: Preset; said: string | null } {
  const byHost = values.baseURL === undefined ? undefined : presetForHost(values.baseURL);
  if (byHost) return { preset: byHost, said: null };
  if (values.baseURL !== undefined) return { preset: custom(values.provider ?? "openai"), said: null };
  const configured = values.presetId === undefined ? undefined : presetById(values.presetId);
  if (configured && (!values.provider || configured.protocol === values.provider))
    return { preset: configured, said: null };
  if (values.provider) return { preset: official(values.provider), said: null };
  const found = firstPresetWithKey(env);
  if (!found) return { preset: official(values.apiKey ? "openai" : "anthropic"), said: null };
  return { preset: found, said: `${found.label}, because ${keyFromEnv(found, env)?.variable ?? "its key"} is set` };
}

function official(protocol: Protocol): Preset {
  const preset = presetById(protocol);
  if (!preset) throw new Error(`No preset for ${protocol}`);
  return preset;
}

function custom(protocol: Protocol): Preset {
  const preset = presetById(`custom-${protocol}`);
  if (!preset) throw new Error(`No custom preset for ${protocol}`);
  return preset;
}

function missingBaseURL(preset: Preset): never {
  throw new UserError(`${preset.label} needs a base URL: set baseURL in the config, SHIRO_BASE_URL or --base-url`, {
    kind: "config",
  });
}

async function findKey(
  loaded: LoadedConfig,
  preset: Preset,
  protocol: Protocol,
  env: Env,
): Promise<{ value: string | null; source: string }> {
  const configured = loaded.values.apiKey;
  if (configured !== undefined)
    return { value: await expandKey(configured, env), source: loaded.origins.apiKey ?? "config" };
  const own =
    keyFromEnv(preset, env) ?? (preset.id.startsWith("custom-") ? keyFromEnv(official(protocol), env) : undefined);
  return own ? { value: own.key, source: own.variable } : { value: null, source: "none" };
}

const commandKeys = new Map<string, Promise<string>>();

/** A key as configured: itself, `env:NAME`, or `cmd:…` (run once per process). */
async function expandKey(configured: string, env: Env): Promise<string> {
  if (configured.startsWith("env:")) {
    const name = configured.slice(4).trim();
    const value = env[name]?.trim();
    if (!value) throw new UserError(`apiKey names the variable ${name}, which is not set`, { kind: "auth" });
    return value;
  }
  if (!configured.startsWith("cmd:")) return configured;
  const command = configured.slice(4).trim();
  const running = commandKeys.get(command) ?? keyFromCommand(command, env);
  commandKeys.set(command, running);
  return running;
}

async function keyFromCommand(command: string, env: Env): Promise<string> {
  const shell = process.platform === "win32" ? ["cmd", "/d", "/s", "/c", command] : ["sh", "-c", command];
  // A person may be asked for a passphrase; what is piped in is prompts or answers, and none of the command's.
  const stdin = process.getBuiltinModule("node:tty").isatty(0) ? "inherit" : "ignore";
  let child;
  try {
    child = Bun.spawn(shell, { env: { ...env }, stdin, stdout: "pipe", stderr: "inherit" });
  } catch (error) {
    throw new UserError(`apiKey command could not be started: ${messageOf(error)}`, { kind: "auth", cause: error });
  }
  const [out, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  const key = out.trim().split("\n")[0]?.trim() ?? "";
  if (code !== 0 || key === "")
    throw new UserError(`apiKey command "${command}" ${code === 0 ? "printed nothing" : `failed with ${code}`}`, {
      kind: "auth",
    });
  return key;
}

function noKey(preset: Preset): UserError {
  const variable = preset.envKeys[0] ?? "SHIRO_API_KEY";
  return new UserError(
    `No key for "${preset.label}". Set ${variable} (or SHIRO_API_KEY), or run shiro in a terminal and use /provider. shiro demo needs no key`,
    { kind: "auth" },
  );
}

function forcedWire(env: Env): Endpoint["forcedWire"] {
  const wire = env["SHIRO_WIRE"];
  if (!wire) return null;
  if (wire === "chat" || wire === "responses") return wire;
  throw new UserError(`Unknown SHIRO_WIRE "${wire}". Available: chat, responses`);
}

/** Variables that may hold keys: every preset's and our own. */
export function keyVariables(): string[] {
  return [...new Set(["SHIRO_API_KEY", ...PRESETS.flatMap((preset) => preset.envKeys)])];
}

function knownKeys(used: string | null, env: Env): string[] {
  const found = keyVariables().map((name) => env[name]?.trim() ?? "");
  return [...new Set([used ?? "", ...found])].filter((key) => key !== "");
}
