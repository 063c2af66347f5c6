/** `bash`: one command line in a shell of its own. Parsing is shell.ts, permission approval.ts, processes spawn.ts. */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { basename } from "node:path";
import * as v from "valibot";
import { UnknownOutcomeError } from "./errors.ts";
import { effectiveCommands, parseShell, type SimpleCommand } from "./shell.ts";
import type { SpawnResult } from "./spawn.ts";
import { spillPath } from "./spill.ts";
import { cutMiddle, oneLine } from "./text.ts";
import { runConfined } from "./tool-bash-escalate.ts";
import { defineTool, type Tool, type ToolContext, type ToolOutput } from "./tool.ts";

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;
/** Both streams and the lines around them stay under what a result may have. */
const SHOWN_CHARS = 28_000;
/** What the screen's line about a call has room for. */
const NOTE_CHARS = 80;

export interface Shell {
  name: "bash" | "sh" | "cmd";
  argv(command: string): string[];
}

/** The shell of this machine: bash, else sh, on Windows cmd. `PATH` is looked at once, when the tool is made. */
export function findShell(env: Readonly<Record<string, string | undefined>>, platform: NodeJS.Platform): Shell {
  if (platform === "win32")
    return { name: "cmd", argv: (command) => [env.ComSpec ?? "cmd.exe", "/d", "/s", "/c", `"${command}"`] };
  const bash = Bun.which("bash", { PATH: env.PATH ?? "/usr/bin:/bin" });
  const name = bash !== null && isBash(bash) ? "bash" : "sh";
  // A login shell: on servers, PATH is often completed in a profile only.
  return { name, argv: (command) => [name, "-lc", command] };
}

// Small systems put busybox or a script in its place: the model would write what that can't read.
function isBash(path: string): boolean {
  try {
    const real = realpathSync(path);
    if (OTHER_SHELL.test(basename(real))) return false;
    if (statSync(real).size > 4096) return true;
    const text = readFileSync(real, "latin1");
    return !text.startsWith("#!") || !OTHER_SHELL.test(text);
  } catch {
    // May be run though not read: what it is shows then.
    return true;
  }
}

const OTHER_SHELL = /\b(?:busybox|toybox|ash|dash)\b/;

const NAMES = {
  bash: "bash",
  sh: "POSIX sh (bash is not installed: no arrays, [[ ]] or <( ))",
  cmd: "cmd.exe",
} as const;

/** Makes the `bash` tool for a shell. */
export function bashTool(shell: Shell): Tool {
  return defineTool({
    name: "bash",
    description:
      `Run a command line in ${NAMES[shell.name]}, starting in the workspace root each time; cd and variables don't last. ` +
      "No input and no terminal: pass flags that make programs ask nothing. `timeout` in ms (default 120000). " +
      "Background processes end with the session.",
    set: "core",
    input: v.object({
      command: v.pipe(v.string(), v.minLength(1)),
      timeout: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_TIMEOUT_MS))),
      description: v.optional(v.string()),
    }),
    mutates: true,
    permission: "ask",
    subjects: (input) => [{ kind: "command", command: input.command }],
    concurrencySafe: (input) => shell.name !== "cmd" && isReadOnly(input.command),
    run: (input, context) => runShell(shell, input.command, input.timeout ?? DEFAULT_TIMEOUT_MS, context),
  });
}

/** Programs that only read whatever their arguments are. What can write through an option (`sort -o`, `find -delete`) isn't here. */
const READERS: ReadonlySet<string> = new Set(
  "ls cat head tail wc grep egrep fgrep pwd echo printf true false test stat file du df which basename dirname realpath readlink uname whoami id cut tr nl cmp comm sha256sum md5sum".split(
    " ",
  ),
);
const GIT_READERS: ReadonlySet<string> = new Set(["status", "log", "show", "diff", "blame", "rev-parse", "ls-files"]);

/** Whether every simple command of a line only reads and nothing is redirected, so that it may overlap others. */
export function isReadOnly(command: string): boolean {
  const parsed = parseShell(command);
  if (!parsed.ok || parsed.runsCode || parsed.functions.size > 0 || parsed.commands.length === 0) return false;
  return parsed.commands.every(
    (simple) =>
      isPlain(simple) && effectiveCommands(simple, parsed).every((real) => readsOnly(real.words, real.unknownName)),
  );
}

function isPlain(simple: SimpleCommand): boolean {
  return simple.redirects.length === 0 && simple.inherited.length === 0 && simple.assignments.length === 0;
}

function readsOnly(words: readonly string[], unknown: boolean): boolean {
  const [name = "", first = ""] = words;
  if (unknown) return false;
  if (name === "git")
    return GIT_READERS.has(first) && !words.some((word) => /^--(?:output|ext-diff|textconv)/.test(word));
  return READERS.has(name);
}

async function runShell(shell: Shell, command: string, timeoutMs: number, context: ToolContext): Promise<ToolOutput> {
  const stop = new AbortController();
  const forget = context.onCommand(() => stop.abort());
  try {
    const { result, notes, said } = await runConfined(command, context, () => ({
      argv: shell.argv(command),
      verbatimArguments: shell.name === "cmd",
      cwd: context.workspace.root,
      env: context.childEnv,
      callId: context.callId,
      timeoutMs,
      signal: AbortSignal.any([context.signal, stop.signal]),
      spillPath: spillPath({ dir: context.spillDir, callId: context.callId }),
      redact: context.redact,
      onOutput: (text) => context.output(text),
    }));
    if (result.ended !== "exited") throw unfinished(result, timeoutMs, notes);
    const note = [...(result.exitCode === 0 ? [] : [exitOf(result)]), ...said];
    return {
      text: [describe(result), ...notes].join("\n"),
      outcome: `${exitOf(result)}\n${result.stdout}\n${result.stderr}`,
      ...(note.length === 0 ? {} : { note: oneLine(note.join(", "), NOTE_CHARS) }),
    };
  } finally {
    forget();
  }
}

function unfinished(result: SpawnResult, timeoutMs: number, notes: readonly string[]): UnknownOutcomeError {
  const [cause, note] =
    result.ended === "timeout"
      ? [`timed out after ${seconds(timeoutMs)} and was stopped`, `timed out after ${seconds(timeoutMs)}`]
      : ["was interrupted and stopped", "stopped"];
  return new UnknownOutcomeError(
    `The command ${cause}. It did not finish; its effects are unknown. Output so far:\n${[outputOf(result), ...notes].join("\n")}`,
    { note },
  );
}

function describe(result: SpawnResult): string {
  const notes = [`[${exitOf(result)}, ${seconds(result.ms)}]`];
  if (result.background)
    notes.push(
      "[a background process is still running; its later output is not kept, and it is ended when shiro exits]",
    );
  return `${outputOf(result)}\n${notes.join("\n")}`;
}

function exitOf(result: SpawnResult): string {
  return result.signal === null ? `exit code ${result.exitCode}` : `ended by signal ${result.signal}`;
}

/** stdout, then stderr under its name, then where the whole is. */
function outputOf(result: SpawnResult): string {
  const stdout = result.stdout.trimEnd();
  const stderr = result.stderr.trimEnd();
  const both = stdout !== "" && stderr !== "";
  const parts = [share(stdout, stderr), stderr === "" ? "" : `[stderr]\n${share(stderr, stdout)}`].filter(Boolean);
  if (parts.length === 0) parts.push("(no output)");
  if (result.spill)
    parts.push(
      `[the whole ${both ? "of both streams" : "output"} is in ${result.spill.path}${result.spill.capped ? ", up to 50 MB" : ""}]`,
    );
  return parts.join("\n");
}

/** A stream cut to its part of the room: all that the other one leaves, at least half. */
function share(text: string, other: string): string {
  const room = Math.max(SHOWN_CHARS / 2, SHOWN_CHARS - other.length);
  return cutMiddle(text, room, (dropped) => `\n[… ${dropped} characters left out …]\n`).text;
}

function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
