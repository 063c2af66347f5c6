/** Runs one child in a session of its own: bounded output, a deadline, and nothing left behind. Knows no shell and no tool. */
import { closeSync } from "node:fs";
import { errnoOf } from "./errors.ts";
import { HeadTail, LineCleaner, LivePieces, looksBinary, SpillFile } from "./spawn-capture.ts";
import { endFamily, isAlive, killFamily, type Family } from "./spawn-group.ts";
import { openPipe, preparePipes } from "./spawn-pipe.ts";
import { beforeAnyEnd } from "./spawn-signals.ts";

/** After the child's exit its pipe is read this long: a background child may hold it open for ever. */
const DRAIN_MS = 250;
/** Between two reads of output that nobody wants any more. */
const UNWANTED_MS = 20;
/** What a screen gets of one call. `yes` prints a gigabyte a second; when this binds, the result still has head and tail. */
const LIVE_CHARS = 1024 * 1024;

export interface SpawnRequest {
  /** Program and arguments; never passed through a shell. */
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Names the call in SHIRO_CALL, made unique here. */
  callId: string;
  timeoutMs: number;
  signal: AbortSignal;
  /** What it may read; default: nothing. */
  stdin?: string;
  /** Where the whole output goes when it is longer than what is kept. */
  spillPath: string;
  /** Takes keys out of what goes there and of what is kept. Must leave what it has replaced alone. */
  redact?: ((text: string) => string) | undefined;
  /** Decoded output of both streams as it comes, escape sequences included. */
  onOutput?(text: string): void;
  /** cmd.exe parses its own command line; quoting it again would break it. */
  verbatimArguments?: boolean;
  /** Gives it a pipe as descriptor 3 and keeps what it writes there. */
  report?: boolean;
}

export interface SpawnResult {
  ended: "exited" | "timeout" | "aborted";
  /** Null when a signal ended it. */
  exitCode: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
  ms: number;
  /** Something it started is still running; `endAll` ends it. */
  background: boolean;
  spill: { path: string; capped: boolean } | null;
  /** What came on descriptor 3, where that was asked for. */
  report?: string;
}

const families = new Set<Family>();
let isWatchingEnd = false;

/** Thrown when the program could not be started at all: nothing has run. */
export class SpawnError extends Error {
  override name = "SpawnError";
}

/**
 * Runs a child to its end, its deadline or an abort, whichever is first; then nothing of it runs in the foreground.
 * Throws SpawnError when it can't be started, and the signal's reason when that was aborted before.
 */
export async function runCommand(request: SpawnRequest): Promise<SpawnResult> {
  request.signal.throwIfAborted();
  await preparePipes();
  const startedAt = performance.now();
  const mark = `${request.callId.replace(/[^\w.-]/g, "_").slice(0, 64)}.${crypto.randomUUID()}`;
  const { child, stdout: out, stderr: err } = startChild(request, mark);
  const family: Family = { pid: child.pid, mark };
  families.add(family);
  const report = request.report ? readReport(child) : null;
  const spill = new SpillFile(request.spillPath, request.redact);
  const live = limitLive(request.onOutput);
  const targets = { spill, live, redact: request.redact ?? ((text: string) => text) };
  const streams = [openStream(out, targets), openStream(err, targets)] as const;
  const ended = await raceToEnd(child.exited, request);
  if (ended !== "exited") await endFamily(family);
  await Promise.race([Promise.all(streams.map((stream) => stream.done)), Bun.sleep(DRAIN_MS)]);
  const [stdout, stderr] = streams.map((stream) => stream.close());
  const background = isAlive(family);
  if (!background) families.delete(family);
  return {
    ended,
    exitCode: child.signalCode === null ? child.exitCode : null,
    signal: child.signalCode === null ? null : String(child.signalCode),
    stdout: stdout ?? "",
    stderr: stderr ?? "",
    ms: performance.now() - startedAt,
    background,
    spill: spill.close(),
    ...(report === null ? {} : { report: await report }),
  };
}

/**
 * Has `endAll` and `killAll` end a child that was started elsewhere and lives longer than one call. Returns the undoing.
 * It is killed before any other end of this process as well: a crash, a signal that nobody handles.
 */
export function adoptFamily(family: Family): () => void {
  families.add(family);
  if (!isWatchingEnd) beforeAnyEnd(killAll);
  isWatchingEnd = true;
  return () => void families.delete(family);
}

/** Ends every child that is still running, and what those started. For the end of the program. */
export async function endAll(): Promise<void> {
  // Each stays listed until it is gone: the program may lose its patience before that, and then `killAll` needs the rest.
  const end = async (family: Family): Promise<void> => {
    await endFamily(family);
    families.delete(family);
  };
  await Promise.all([...families].map(end));
}

/** `endAll` for when there is no time left to wait: everything is killed at once. */
export function killAll(): void {
  for (const family of families) killFamily(family);
  families.clear();
}

type Child = Bun.Subprocess<"ignore" | Uint8Array, "pipe" | number, "pipe" | number>;

interface Started {
  child: Child;
  stdout: Source;
  stderr: Source;
}

/** One output of a child. */
interface Source {
  read(): ReadableStream<Uint8Array>;
  close(): void;
}

function startChild(request: SpawnRequest, mark: string): Started {
  const pipes = [openPipe(), openPipe()] as const;
  const [out, err] = pipes;
  try {
    const child = spawnChild(request, mark, [out?.child ?? "pipe", err?.child ?? "pipe"]);
    return { child, stdout: out ?? sourceOf(child.stdout), stderr: err ?? sourceOf(child.stderr) };
  } catch (error) {
    for (const pipe of pipes) pipe?.close();
    throw error;
  } finally {
    for (const pipe of pipes) pipe?.closeChildEnd();
  }
}

function sourceOf(output: Child["stdout"]): Source {
  if (output instanceof ReadableStream) return { read: () => output, close: () => {} };
  throw new Error("no pipe for the child's output");
}

function spawnChild(request: SpawnRequest, mark: string, output: ["pipe" | number, "pipe" | number]): Child {
  try {
    return Bun.spawn([...request.argv], {
      cwd: request.cwd,
      env: { ...request.env, SHIRO_CALL: mark },
      stdio: [
        request.stdin === undefined ? "ignore" : new TextEncoder().encode(request.stdin),
        ...output,
        ...(request.report ? (["pipe"] as const) : []),
      ],
      // setsid(2): a group of its own to end, and no terminal that it could read a password from.
      detached: process.platform !== "win32",
      windowsHide: true,
      windowsVerbatimArguments: request.verbatimArguments ?? false,
    });
  } catch (cause) {
    throw new SpawnError(startProblem(request, errnoOf(cause)), { cause });
  }
}

/** Bounded: a program that keeps the pipe and fills it is no launcher of ours. */
const REPORT_MS = 2000;

/** Everything the child writes to descriptor 3 until it, or what it becomes, has closed it. Closes our end. */
async function readReport(child: Child): Promise<string> {
  const fd = child.stdio[3];
  if (typeof fd !== "number") return "";
  const whole = Bun.file(fd).text();
  try {
    // Its end comes with the exit at the latest, unless somebody else holds the pipe.
    return await Promise.race([whole, child.exited.then(() => Bun.sleep(REPORT_MS)).then(() => "")]);
  } finally {
    closeSync(fd);
  }
}

function startProblem(request: SpawnRequest, code: string | undefined): string {
  const program = request.argv[0] ?? "";
  if (code === "E2BIG") return "The command is too long for the system; write it to a file and run that.";
  if (code === "ERR_INVALID_ARG_VALUE")
    return "The command holds a NUL character, which no program can be given. Write it as \\0.";
  if (code === "EAGAIN") return "The system has no room for another process.";
  if (code === "ENOENT") return `${program} is not on PATH, or the directory ${request.cwd} is gone.`;
  return `Could not start ${program} in ${request.cwd}${code ? ` (${code})` : ""}.`;
}

async function raceToEnd(exited: Promise<number>, request: SpawnRequest): Promise<SpawnResult["ended"]> {
  const { promise, resolve } = Promise.withResolvers<SpawnResult["ended"]>();
  const timer = setTimeout(() => resolve("timeout"), request.timeoutMs);
  const onAbort = () => resolve("aborted");
  request.signal.addEventListener("abort", onAbort, { once: true });
  if (request.signal.aborted) onAbort();
  exited.then(() => resolve("exited"));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    request.signal.removeEventListener("abort", onAbort);
  }
}

function limitLive(onOutput: SpawnRequest["onOutput"]): (text: string) => void {
  let left = onOutput ? LIVE_CHARS : 0;
  return (text) => {
    if (left <= 0 || text === "") return;
    onOutput?.(text.length <= left ? text : `${text.slice(0, left)}\n[more output follows; it is not shown live]\n`);
    left -= text.length;
  };
}

/** The part of a reader that the types of Bun and of the web agree on. */
interface ChunkReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
}

interface OpenStream {
  /** Settles when nobody holds the other end of the pipe any more. */
  done: Promise<void>;
  /** The text kept. What still comes is read and thrown away: at a closed pipe a background child would end with its next line. */
  close(): string;
}

interface Targets {
  spill: SpillFile;
  live(text: string): void;
  redact(text: string): string;
}

function openStream(source: Source, targets: Targets): OpenStream {
  const sink = openSink(targets);
  let isOpen = true;
  const take = (bytes: Uint8Array): boolean => {
    if (!isOpen) return false;
    targets.spill.push(bytes);
    sink.push(bytes);
    return true;
  };
  const close = () => {
    isOpen = false;
    return sink.end();
  };
  return { done: pump(source.read().getReader(), take).finally(source.close), close };
}

async function pump(reader: ChunkReader, take: (bytes: Uint8Array) => boolean): Promise<void> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    // A background `yes` is held back by its full pipe instead of taking this process's time.
    if (value && !take(value)) await Bun.sleep(UNWANTED_MS);
  }
}

/** One stream's bytes → text for the model. A character cut by a chunk's end waits for its rest. */
function openSink({ live, redact }: Targets): { push(bytes: Uint8Array): void; end(): string } {
  const decoder = new TextDecoder();
  const kept = new HeadTail();
  const shown = new LivePieces(live);
  // Before head and tail are cut: half a key is not recognised afterwards.
  const cleaner = new LineCleaner((text) => kept.push(redact(text)));
  let size = 0;
  let binary = false;
  const take = (text: string) => {
    shown.push(text);
    cleaner.push(text);
  };
  return {
    push(bytes) {
      // Decided by the beginning: a stray NUL in a long log should not hide the log.
      if (size < 8192 && looksBinary(bytes)) binary = true;
      size += bytes.length;
      if (!binary) take(decoder.decode(bytes, { stream: true }));
    },
    end() {
      if (!binary) take(decoder.decode());
      shown.end();
      if (binary) return `(binary output, ${size} bytes, not shown)`;
      cleaner.end();
      return kept.text();
    },
  };
}
