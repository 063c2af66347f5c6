/** The providers a user can pick by name: endpoint, wire protocol, key variable. Sends nothing. */
import { hostOf, type Protocol } from "./provider.ts";

export interface Preset {
  id: string;
  label: string;
  protocol: Protocol;
  /** Empty where the user supplies it. */
  baseURL: string;
  /** Variables that may hold the key, in order. */
  envKeys: readonly string[];
  /** Works without a key. */
  keyless: boolean;
  /** Offered when the endpoint lists none; empty: the user types the id. */
  fallbackModels: readonly string[];
}

/** In the order of the setup dialogue; also the order in which keys in the environment are looked for. */
export const PRESETS: readonly Preset[] = [
  {
    ...remote("anthropic", "Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    protocol: "anthropic",
    fallbackModels: ["claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"],
  },
  {
    ...remote("openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    fallbackModels: ["gpt-5.6-sol", "gpt-6.2-sol", "gpt-6-luna"],
  },
  remote("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
  remote("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
  remote("deepseek", "DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
  remote("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY"),
  local("ollama", "Ollama", "http://localhost:11434/v1"),
  local("lmstudio", "LM Studio", "http://localhost:1234/v1"),
  local("custom-openai", "Custom OpenAI-compatible", ""),
  { ...local("custom-anthropic", "Custom Anthropic-compatible", ""), protocol: "anthropic" },
];

export function presetById(id: string): Preset | undefined {
  return PRESETS.find((preset) => preset.id === id);
}

/** The preset a base URL or bare host (`api.x.ai`, `localhost:11434`) belongs to. */
export function presetForHost(hostOrUrl: string): Preset | undefined {
  const bare = hostOrUrl.includes("://") ? hostOf(hostOrUrl) : hostOrUrl;
  const host = loopbackAsLocalhost(bare.toLowerCase());
  return PRESETS.find((preset) => preset.baseURL !== "" && hostOf(preset.baseURL) === host);
}

/** The first preset whose key is in the environment. */
export function firstPresetWithKey(env: Readonly<Record<string, string | undefined>>): Preset | undefined {
  return PRESETS.find((preset) => keyFromEnv(preset, env) !== undefined);
}

/** A preset's key and the variable it came from. Blank values count as unset. */
export function keyFromEnv(
  preset: Preset,
  env: Readonly<Record<string, string | undefined>>,
): { variable: string; key: string } | undefined {
  for (const variable of preset.envKeys) {
    const key = env[variable]?.trim();
    if (key) return { variable, key };
  }
  return undefined;
}

/** The key of a protocol's own provider in the environment. */
export function officialKey(protocol: Protocol, env: Readonly<Record<string, string | undefined>>): string | undefined {
  const preset = presetById(protocol);
  return preset && keyFromEnv(preset, env)?.key;
}

function loopbackAsLocalhost(host: string): string {
  return host.replace(/^(?:127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(?=:|$)/, "localhost");
}

function remote(id: string, label: string, baseURL: string, envKey: string): Preset {
  return { id, label, protocol: "openai", baseURL, envKeys: [envKey], keyless: false, fallbackModels: [] };
}

function local(id: string, label: string, baseURL: string): Preset {
  return { id, label, protocol: "openai", baseURL, envKeys: [], keyless: true, fallbackModels: [] };
}
