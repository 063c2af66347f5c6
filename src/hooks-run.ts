/** Runs one hook command: JSON in, exit code and stderr out, ten seconds at most. Decides nothing about what the end means. */
import { messageOf } from "./errors.ts";
import type { Hook } from "./hooks-config.ts";
import { runCommand, SpawnError, type SpawnResult } from "./spawn.ts";
import { spillPath } from "./spill.ts";
import { cutMiddle, oneLine } from "./text.ts";
import type { Shell } from "./tool-bash.ts";

/** A hook is a check or a formatter, and the turn waits for it. What takes longer should go on in the background. */
const LIMIT_MS = 10_000;
/** After a signal or a time-out the program is leaving, and whoever ends it may not wait long. */
const LEAVING_LIMIT_MS = 3_000;
/** Of stderr, for the model. */
const REASON_CHARS = 2_000;

/** Where hooks run. */
export interface HookPlace {
  cwd: string;
  shell: Shell;
  /** Environment for children, keys already removed. */
  env: Readonly<Record<string, string>>;
  spillDir: string;
  redact(text: string): string;
}

export type HookEnd = { state: "ok" } | { state: "refused"; reason: string } | { state: "failed"; problem: string };

/** Never throws; an abort counts as a quiet end. `leaving`: the program is about to end. */
export async function runHook(
  hook: Hook,
  payload: object,
  place: HookPlace,
  options: { signal?: AbortSignal; leaving?: boolean; limitMs?: number } = {},
): Promise<HookEnd> {
  const signal = options.signal ?? new AbortController().signal;
  if (signal.aborted) return { state: "ok" };
  try {
    const result = await runCommand({
      argv: place.shell.argv(hook.command),
      cwd: place.cwd,
      env: place.env,
      callId: "hook",
      timeoutMs: options.limitMs ?? (options.leaving ? LEAVING_LIMIT_MS : LIMIT_MS),
      signal,
      spillPath: spillPath({ dir: place.spillDir, callId: "hook" }),
      redact: place.redact,
      stdin: `${place.redact(JSON.stringify(payload))}\n`, // `read` in a shell wants a whole line
    });
    return endOf(result);
  } catch (error) {
    if (error instanceof SpawnError) return { state: "failed", problem: error.message };
    return { state: "failed", problem: messageOf(error) };
  }
}

/** Two is the exit code by which a hook refuses; every other one but zero is a failure of its own. */
const REFUSES = 2;

function endOf(result: SpawnResult): HookEnd {
  if (result.ended === "aborted") return { state: "ok" };
  if (result.ended === "timeout") return { state: "failed", problem: "it took too long and was ended" };
  if (result.exitCode === 0) return { state: "ok" };
  const stderr = result.stderr.trim();
  if (result.exitCode === REFUSES) return { state: "refused", reason: cutMiddle(stderr, REASON_CHARS).text };
  const how = result.signal === null ? `exit code ${result.exitCode}` : `ended by ${result.signal}`;
  return { state: "failed", problem: stderr === "" ? how : `${how}: ${oneLine(stderr, 300)}` };
}
