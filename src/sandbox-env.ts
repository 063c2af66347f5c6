/** The environment of a command in the sandbox: without what looks like a key, told where it is, and quick to give up without a network. */
import type { SandboxSettings } from "./sandbox-settings.ts";
import { matchesWildcard } from "./wildcard.ts";

/** Package managers retry for minutes what can't succeed. */
const OFFLINE: Readonly<Record<string, string>> = {
  npm_config_offline: "true",
  npm_config_fetch_retries: "0",
  PIP_RETRIES: "0",
  CARGO_NET_OFFLINE: "true",
};

export interface EnvFacts {
  rung: string;
  network: "off" | "on";
  /** Null: the temporary directory is the usual one. */
  tmp: string | null;
  /** Names that stay although they match: the user's `passEnv`. */
  passed: readonly string[];
}

/** A copy of `env`, which is already without the keys the program knows. */
export function sandboxEnv(
  env: Readonly<Record<string, string>>,
  settings: Pick<SandboxSettings, "scrub" | "keep" | "caches">,
  facts: EnvFacts,
): Record<string, string> {
  const kept = Object.entries(env).filter(([name]) => !isDropped(name) && !isScrubbed(name, settings, facts.passed));
  const tmp = facts.tmp === null ? {} : { TMPDIR: facts.tmp, TMP: facts.tmp, TEMP: facts.tmp };
  return {
    ...goCache(settings.caches, facts.tmp),
    ...Object.fromEntries(kept),
    ...tmp,
    ...(facts.network === "off" ? OFFLINE : {}),
    SHIRO_SANDBOX: facts.rung,
    SHIRO_SANDBOX_NETWORK: facts.network,
  };
}

/** Go refuses to build without a cache it can write; the others only say so. */
function goCache(caches: SandboxSettings["caches"], tmp: string | null): Record<string, string> {
  return tmp === null || caches.includes("go") ? {} : { GOCACHE: `${tmp}/go-build` };
}

/** BUN_* would change the launcher itself; WSL_INTEROP is a socket to Windows. */
function isDropped(name: string): boolean {
  return /^(?:BUN_.*|WSL_INTEROP)$/i.test(name);
}

function isScrubbed(
  name: string,
  { scrub, keep }: Pick<SandboxSettings, "scrub" | "keep">,
  passed: readonly string[],
): boolean {
  const upper = name.toUpperCase();
  const matches = (pattern: string): boolean => matchesWildcard(pattern.toUpperCase(), upper);
  return scrub.some(matches) && !keep.some(matches) && !passed.includes(name);
}
