/** Runs git so that nothing a repository configures can run a program. Arguments in, text out; which commands are asked is the tools' business. */
import { realpathSync } from "node:fs";
import { ToolError } from "./errors.ts";
import { findRepository } from "./git-config.ts";

export interface GitRun {
  code: number;
  stdout: string;
  stderr: string;
  /** Output went on behind `maxBytes`; git was stopped. */
  truncated: boolean;
}

export interface GitOptions {
  cwd: string;
  /** Environment of the program or of children; its GIT_* variables are dropped. */
  env: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
  maxBytes?: number;
  /** Of one command. For tests. */
  timeoutMs?: number;
  /**
   * Puts git into the sandbox. What is configured is looked at and emptied before; a process that an earlier command
   * left behind could configure it again in between, and the git on PATH may be one that a command put there.
   */
  confine?: ((start: GitStart) => Promise<GitStart>) | undefined;
}

/** A program about to be started. */
export interface GitStart {
  argv: readonly string[];
  cwd: string;
  env: Record<string, string>;
}

export interface Git {
  /** Top of the work tree, as git names it. */
  top: string;
  /** Runs one subcommand in `cwd`. Paths must come behind `--`. Throws the signal's reason when aborted. */
  run(args: readonly string[], options?: { maxBytes?: number }): Promise<GitRun>;
}

/** A diff of a large refactoring; more than any result shows. */
const MAX_BYTES = 1024 * 1024;
const ERROR_BYTES = 16 * 1024;
/** `git log -- path` on a kernel-sized history takes seconds. */
const TIMEOUT_MS = 60_000;

const FIXED: readonly string[] = [
  "--no-pager",
  "--no-optional-locks",
  "--no-replace-objects",
  ...[
    "core.fsmonitor=false",
    "core.pager=cat",
    "diff.external=",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
  ].flatMap((pair) => ["-c", pair]),
  ...["log.showSignature=false", "gpg.program=false", "gpg.ssh.program=false", "gpg.x509.program=false"].flatMap(
    (pair) => ["-c", pair],
  ),
  // A partial clone would fetch what is missing, through transports and helpers of the repository's choice.
  ...["protocol.allow=never", "core.sshCommand=false", "credential.helper=", "submodule.recurse=false"].flatMap(
    (pair) => ["-c", pair],
  ),
  ...[
    "diff.ignoreSubmodules=dirty",
    "status.submoduleSummary=false",
    "color.ui=false",
    "core.untrackedCache=keep",
  ].flatMap((pair) => ["-c", pair]),
];

/** Opens the repository that holds `cwd`. Throws ToolError outside one, and when its work tree isn't where its `.git` is. */
export async function openGit(options: GitOptions): Promise<Git> {
  const found = findRepository(options.cwd);
  if (!found) throw new ToolError(`${options.cwd} is not a git repository.`);
  const base = [...FIXED];
  const run = (args: readonly string[], more: { maxBytes?: number } = {}) =>
    runGit([...base, ...args], { ...options, ...more });
  const top = await run(["rev-parse", "--show-toplevel"]);
  if (top.code !== 0) throw new ToolError(problemOf(top, options.cwd));
  const topPath = top.stdout.replace(/\n$/, "");
  // core.worktree may point anywhere, and with it every diff at files outside the workspace.
  if (realpathSync(topPath) !== realpathSync(found.top))
    throw new ToolError(`The repository's core.worktree points to ${topPath}; it is not read from here.`);
  const settings = await run(["config", "--list", "--name-only", "-z"]);
  // A filter that wasn't listed wouldn't be emptied.
  if (settings.code !== 0 || settings.truncated)
    throw new ToolError("The repository's configuration is too large or broken; git is not run in it.");
  base.push(...overrides(settings.stdout));
  return { top: topPath, run };
}

/** Filters run programs on status and diff too: each that is configured is emptied. */
function overrides(names: string): string[] {
  const drivers = new Set<string>();
  for (const name of names.split("\0")) {
    const driver = /^filter\.(.+)\.(?:clean|smudge|process|required)$/s.exec(name)?.[1];
    if (driver !== undefined) drivers.add(driver);
  }
  return [...drivers].flatMap((driver) =>
    ["clean=", "smudge=", "process=", "required=false"].flatMap((pair) => settingFor(`filter.${driver}.${pair}`)),
  );
}

function settingFor(pair: string): string[] {
  // `-c` splits at the first "=", so a driver with one in its name can't be overridden: such a repository is refused.
  if (pair.indexOf("=") !== pair.lastIndexOf("="))
    throw new ToolError("The repository has a filter with = in its name; git is not run in it.");
  return ["-c", pair];
}

/** git's complaint in one line, for the model. */
export function problemOf(run: GitRun, cwd: string): string {
  const lines = run.stderr.trim().split("\n");
  const line = (lines.find((text) => /^(?:fatal|error): /.test(text)) ?? lines[0] ?? "").replace(/^\w+: /, "");
  if (/not a git repository/.test(line)) return `${cwd} is not a git repository.`;
  if (/dubious ownership/.test(line))
    return `git refuses ${cwd}, which belongs to another user. The user can allow it: git config --global --add safe.directory ${cwd}`;
  return `git failed (exit ${run.code}): ${line || "no message"}`;
}

async function runGit(args: readonly string[], options: GitOptions): Promise<GitRun> {
  options.signal.throwIfAborted();
  const plain: GitStart = { argv: ["git", ...args], cwd: options.cwd, env: gitEnv(options.env) };
  const start = (await options.confine?.(plain)) ?? plain;
  options.signal.throwIfAborted();
  const child = startGit(start);
  const stop = () => child.kill("SIGKILL");
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    stop();
  }, options.timeoutMs ?? TIMEOUT_MS);
  options.signal.addEventListener("abort", stop, { once: true });
  try {
    const [stdout, stderr] = await Promise.all([
      readUpTo(child.stdout, options.maxBytes ?? MAX_BYTES, stop),
      readUpTo(child.stderr, ERROR_BYTES, () => {}),
    ]);
    const code = await child.exited;
    options.signal.throwIfAborted();
    if (isLate) throw new ToolError("git took too long and was stopped. Ask for one path, or for fewer commits.");
    return { code: stdout.truncated ? 0 : code, stdout: stdout.text, stderr: stderr.text, truncated: stdout.truncated };
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener("abort", stop);
  }
}

function startGit({ argv, cwd, env }: GitStart): Bun.Subprocess<"ignore", "pipe", "pipe"> {
  try {
    return Bun.spawn([...argv], {
      cwd,
      env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      windowsHide: true,
    });
  } catch (cause) {
    throw new ToolError("git is not installed, or not on PATH.", { cause });
  }
}

/** GIT_* variables can redirect git to other directories, add configuration, or name programs; none of them gets through. */
function gitEnv(env: GitOptions["env"]): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && (!name.startsWith("GIT_") || name === "GIT_CONFIG_NOSYSTEM")) kept[name] = value;
  }
  return {
    ...kept,
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_PAGER: "cat",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none",
    LC_ALL: "C.UTF-8",
  };
}

async function readUpTo(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number,
  onFull: () => void,
): Promise<{ text: string; truncated: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Read to the end in any case: a full pipe would stop git, and a cancelled one makes it fail.
  for await (const chunk of stream) {
    if (size < maxBytes) chunks.push(chunk.subarray(0, maxBytes - size));
    size += chunk.length;
    if (size > maxBytes) onFull();
  }
  return { text: new TextDecoder().decode(Buffer.concat(chunks)), truncated: size > maxBytes };
}
