/** Every setting with its value and where it came from; keys masked. */
import { configKeys, type ConfigKey, type LoadedConfig } from "./config.ts";

/** One line per setting that is set. */
export function originRows(config: LoadedConfig): string[] {
  const keys = configKeys().filter((key) => config.origins[key] !== undefined);
  const rows = keys.map((key) => `${key.padEnd(16)} ${shown(config, key)}  (${config.origins[key]})`);
  return [`file: ${config.path}`, ...(rows.length > 0 ? rows : ["nothing is set; defaults apply"])];
}

function shown(config: LoadedConfig, key: ConfigKey): string {
  if (key === "permission") return config.permission.map((entry) => entry.key).join(", ");
  const value = config.values[key];
  if (key === "apiKey" && typeof value === "string") return maskKey(value);
  if (key === "headers" || key === "mcpServers" || key === "hooks") return Object.keys(value ?? {}).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The last four characters of a key; where it comes from is no secret. */
export function maskKey(key: string): string {
  if (/^(?:env|cmd):/.test(key)) return key;
  return key.length <= 8 ? "****" : `****${key.slice(-4)}`;
}
