/** Runs the built program as a user would: in a directory and a home of its own, without inherited keys, through real pipes. Judges nothing. */
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type ModelServer, type ModelServerOptions, startModelServer } from "./model-server.ts";

/** Another build can be tried with SHIRO_TEST_BINARY. */
export const BINARY = process.env.SHIRO_TEST_BINARY ?? join(import.meta.dir, "../../dist/shiro");

/** One line of `--json`, not yet believed. */
export type Event = Record<string, unknown> & { type: string };

export interface RunQuery {
  args: string[];
  cwd: string;
  /** Added to the plain environment; undefined takes a variable away. */
  env?: Record<string, string | undefined>;
  /** What is piped in; by default stdin is /dev/null. */
  stdin?: string;
  /** A line for `sh` in which `"$@"` is the program with its arguments: `printf x | "$@"`, `"$@" | head -1`. */
  shell?: string;
  timeoutMs?: number;
}

export interface RunResult {
  code: number;
  signal: string | null;
  stdout: string;
  stderr: string;
  /** Of `--json` runs; else empty. */
  events: Event[];
}

export interface Running {
  pid: number;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with everything that came on the stream so far, once that matches; fails when the stream ends without it. */
  seen(stream: "stdout" | "stderr", what: string | RegExp): Promise<string>;
  /** Only with `stdin: "open"`. */
  write(text: string): void;
  closeStdin(): void;
  ended: Promise<RunResult>;
}

const RUN_LIMIT_MS = 30_000;

/** Runs to the end. */
export async function runShiro(query: RunQuery): Promise<RunResult> {
  return startShiro(query).ended;
}

/** Starts and hands out the running program. `open`: its stdin stays open and can be written to. */
export function startShiro(query: RunQuery & { open?: boolean }): Running {
  const own = [BINARY, ...query.args];
  const argv = query.shell === undefined ? own : ["sh", "-c", query.shell, "sh", ...own];
  const child = Bun.spawn(argv, {
    cwd: query.cwd,
    env: plainEnv(query.cwd, query.env ?? {}),
    stdin: query.open ? "pipe" : query.stdin === undefined ? "ignore" : new TextEncoder().encode(query.stdin),
    stdout: "pipe",
    stderr: "pipe",
    // A group of its own, so that a run that hangs takes its pipeline with it.
    detached: true,
  });
  const limit = setTimeout(() => endGroup(child.pid), query.timeoutMs ?? RUN_LIMIT_MS);
  const stdout = watch(child.stdout);
  const stderr = watch(child.stderr);
  const ended = Promise.all([stdout.whole, stderr.whole, child.exited]).then(([out, err, code]): RunResult => {
    clearTimeout(limit);
    const events = query.args.includes("--json") || query.args.includes("--approvals") ? parseEvents(out) : [];
    return {
      code,
      signal: child.signalCode === null ? null : String(child.signalCode),
      stdout: out,
      stderr: err,
      events,
    };
  });
  const input = (): Bun.FileSink => {
    // Bun's type of stdin follows the option given, which is only known here.
    if (!query.open) throw new Error("stdin was not left open");
    return child.stdin as unknown as Bun.FileSink;
  };
  return {
    pid: child.pid,
    kill: (signal) => child.kill(signal),
    seen: (stream, what) => (stream === "stdout" ? stdout : stderr).seen(what),
    write(text) {
      void input().write(text);
      void input().flush();
    },
    closeStdin: () => void input().end(),
    ended,
  };
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It ended by itself in the meantime.
  }
}

export function plainEnv(cwd: string, more: Record<string, string | undefined>): Record<string, string> {
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: join(dirname(cwd), "user"),
    SHIRO_HOME: join(dirname(cwd), "home"),
    LANG: "C.UTF-8",
    ...more,
  };
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function watch(stream: ReadableStream<Uint8Array>): {
  whole: Promise<string>;
  seen(what: string | RegExp): Promise<string>;
} {
  const waiting = new Set<() => void>();
  let text = "";
  let over = false;
  const read = async (): Promise<string> => {
    const decoder = new TextDecoder();
    for await (const piece of stream) {
      text += decoder.decode(piece, { stream: true });
      for (const look of [...waiting]) look();
    }
    over = true;
    for (const look of [...waiting]) look();
    return text;
  };
  const seen = (what: string | RegExp): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const look = (): void => {
      const found = typeof what === "string" ? text.includes(what) : what.test(text);
      if (!found && !over) return;
      waiting.delete(look);
      if (found) resolve(text);
      else reject(new Error(`The stream ended without ${String(what)}:\n${text}`));
    };
    waiting.add(look);
    look();
    return promise;
  };
  return { whole: read(), seen };
}

export function parseEvents(text: string): Event[] {
  // A reader that stopped early leaves half a line; the check for a last `done` notices it elsewhere.
  return text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Event); // whether it is one is what the schema check says
}

export interface Bench {
  /** Real path of the working directory. */
  dir: string;
  home: string;
  server: ModelServer;
  env: Record<string, string | undefined>;
  path(name: string): string;
  write(name: string, text: string): void;
  /** `-p` is not added: the whole argument list. */
  run(args: string[], more?: Partial<RunQuery>): Promise<RunResult>;
  start(args: string[], more?: Partial<RunQuery> & { open?: boolean }): Running;
  close(): Promise<void>;
}

export interface BenchOptions extends ModelServerOptions {
  wire?: "chat" | "responses" | "anthropic";
  config?: unknown;
  files?: Record<string, string>;
  env?: Record<string, string | undefined>;
  /** False: no endpoint, model or key is configured. */
  endpoint?: boolean;
}

const open = new Set<Bench>();

/** A directory, a home and a model server. `closeBenches` in an `afterAll` clears them away. */
export async function openBench(
  script: Parameters<typeof startModelServer>[0],
  options: BenchOptions = {},
): Promise<Bench> {
  // The sandbox goes through what is beside the state directory, and /tmp may hold thousands of entries.
  const base = realpathSync(mkdtempSync(join(existsSync("/var/tmp") ? "/var/tmp" : tmpdir(), "shiro-run-")));
  const [dir, home] = [join(base, "work"), join(base, "home")];
  for (const path of [dir, join(base, "user"), join(base, "tmp")]) mkdirSync(path);
  mkdirSync(home, { mode: 0o700 });
  const server = await startModelServer(script, options);
  const env = {
    // What killed programs leave goes with the bench, and later ones don't have to look through it.
    TMPDIR: join(base, "tmp"),
    ...(options.endpoint === false ? {} : endpointEnv(server.url, options.wire ?? "chat")),
    ...options.env,
  };
  const at = (name: string): string => join(dir, name);
  const query = (args: string[], more: Partial<RunQuery> = {}): RunQuery => ({
    cwd: dir,
    ...more,
    args,
    env: { ...env, ...more.env },
  });
  const bench: Bench = {
    dir,
    home,
    server,
    env,
    path: at,
    write(name, text) {
      mkdirSync(dirname(at(name)), { recursive: true });
      writeFileSync(at(name), text);
    },
    run: (args, more) => runShiro(query(args, more)),
    start: (args, more) => startShiro({ ...query(args, more), open: more?.open ?? false }),
    async close() {
      open.delete(bench);
      await server.close();
      if (existsSync(base)) rmSync(base, { recursive: true, force: true });
    },
  };
  open.add(bench);
  if (options.config !== undefined)
    writeFileSync(join(home, "config.json"), JSON.stringify(options.config), { mode: 0o600 });
  for (const [name, text] of Object.entries(options.files ?? {})) bench.write(name, text);
  return bench;
}

function endpointEnv(url: string, wire: "chat" | "responses" | "anthropic"): Record<string, string> {
  return {
    SHIRO_PROVIDER: wire === "anthropic" ? "anthropic" : "openai",
    SHIRO_BASE_URL: url,
    SHIRO_MODEL: wire === "anthropic" ? "claude-sonnet-5-5" : "test-model",
    SHIRO_API_KEY: "canary-key-2718281828",
    ...(wire === "responses" ? { SHIRO_WIRE: "responses" } : {}),
  };
}

export async function closeBenches(): Promise<void> {
  await Promise.all([...open].map((bench) => bench.close()));
}
