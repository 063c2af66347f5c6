/** A local MCP server as a transport for the SDK: a child in a session of its own, its noise skipped, nothing of it left behind. Knows no MCP method. */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { existsSync } from "node:fs";
import { errnoOf, messageOf } from "./errors.ts";
import { LineSplitter, LogTail, messagesIn, skippedAnswer } from "./mcp-lines.ts";
import { Pace } from "./mcp-pace.ts";
import { endFamily, isAlive, killFamily, type Family } from "./spawn-group.ts";
import { adoptFamily } from "./spawn.ts";

/** How long a server may take to end by itself once its stdin is closed, before TERM. */
const LEAVE_MS = 500;
/** After the exit of the child its stdout is read this long: a last answer may be in the pipe. */
const DRAIN_MS = 250;
const POLL_MS = 25;

export interface StdioRequest {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Where stderr and stray output go. */
  log: LogTail;
}

/** Thrown when the program could not be started at all. One line for a person. */
export class StdioStartError extends Error {
  override name = "StdioStartError";
}

/** Thrown by `send` when there is nobody to send to: nothing was dispatched. */
export class StdioGoneError extends Error {
  override name = "StdioGoneError";
}

type Child = Bun.Subprocess<"pipe", "pipe", "pipe">;

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  #request: StdioRequest;
  #child: Child | null = null;
  #closing: Promise<void> | null = null;
  #said: Promise<void> = Promise.resolve();
  #running: { child: Child; family: Family; forget: () => void } | null = null;
  #closed = false;
  readonly #pace = new Pace();

  constructor(request: StdioRequest) {
    this.#request = request;
  }

  /** How the child ended, in two words; null while it runs. */
  get exit(): string | null {
    const child = this.#child;
    if (child?.signalCode) return `ended by ${child.signalCode}`;
    return typeof child?.exitCode === "number" ? `ended with exit code ${child.exitCode}` : null;
  }

  async start(): Promise<void> {
    const mark = `mcp.${crypto.randomUUID()}`;
    const child = spawnServer(this.#request, mark);
    const family: Family = { pid: child.pid, mark };
    this.#child = child;
    this.#running = { child, family, forget: adoptFamily(family) };
    const read = this.#readOutput(child);
    this.#said = pump(
      child.stderr,
      (bytes) => this.#request.log.push(bytes),
      () => this.#rest(),
    );
    void this.#watch(child, read);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#running?.child;
    if (!child || this.#closed || child.exitCode !== null) throw new StdioGoneError("the server's process has ended");
    try {
      child.stdin.write(`${JSON.stringify(message)}\n`);
      await this.#pace.sending(async () => child.stdin.flush());
    } catch (cause) {
      throw new StdioGoneError("the server takes no more input", { cause });
    }
  }

  /** Closes stdin, waits a moment, then TERM and KILL to everything that the server started. Resolves when it is gone. */
  close(): Promise<void> {
    this.#closing ??= this.#closeOnce();
    return this.#closing;
  }

  async #closeOnce(): Promise<void> {
    const running = this.#running;
    if (running) await endServer(running.child, running.family);
    // Its last words say why it ended.
    if (running) await Promise.race([Promise.all([running.child.exited, this.#said]), Bun.sleep(DRAIN_MS)]);
    running?.forget();
    this.#running = null;
    this.#end();
  }

  /** Kills everything at once. */
  closeNow(): void {
    if (this.#running) killFamily(this.#running.family);
    this.#running?.forget();
    this.#running = null;
    this.#end();
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
  }

  async #readOutput(child: Child): Promise<void> {
    const lines = new LineSplitter((line, tooLong) => this.#take(line, tooLong));
    await pump(
      child.stdout,
      (bytes) => lines.push(bytes),
      () => this.#rest(),
    );
    lines.end();
  }

  #take(line: string, tooLong: string | null): void {
    const messages = messagesIn(line);
    const skipped = tooLong === null ? null : skippedAnswer(tooLong);
    if (skipped) this.#deliver(skipped);
    if (messages.length === 0 && line.trim() !== "") this.#request.log.push(`[stdout] ${line.slice(0, 1000)}\n`);
    for (const message of messages) this.#deliver(message);
  }

  #rest(): Promise<void> {
    return this.#pace.rest(() => this.#closed);
  }

  #deliver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (error) {
      // One message that the SDK chokes on must not end the reading of the others.
      this.onerror?.(error instanceof Error ? error : new Error(messageOf(error)));
    }
  }

  /** A server that ends, or closes its stdout, is over: nothing it could say would be heard. */
  async #watch(child: Child, read: Promise<void>): Promise<void> {
    await Promise.race([read, child.exited]);
    await Promise.race([Promise.all([read, child.exited, this.#said]), Bun.sleep(DRAIN_MS)]);
    // Whoever waits for an answer hears of it before the rest of the family is gone.
    this.#end();
    await this.close();
  }
}

function spawnServer({ argv, cwd, env }: StdioRequest, mark: string): Child {
  try {
    return Bun.spawn([...argv], {
      cwd,
      env: { ...env, SHIRO_CALL: mark },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
      // setsid(2): a group of its own to end, and a ctrl-c at the terminal doesn't reach it.
      detached: process.platform !== "win32",
      windowsHide: true,
    });
  } catch (cause) {
    throw new StdioStartError(startProblem(argv[0] ?? "", cwd, cause), { cause });
  }
}

function startProblem(program: string, cwd: string, cause: unknown): string {
  const code = errnoOf(cause);
  if (code === "ENOENT" && !existsSync(cwd)) return `the directory ${cwd} is missing`;
  if (code === "ENOENT") return `the command "${program}" is not on PATH`;
  if (code === "EACCES") return `the command "${program}" may not be executed`;
  return `the command "${program}" could not be started (${code ?? messageOf(cause)})`;
}

async function endServer(child: Child, family: Family): Promise<void> {
  // A courtesy that fails where the server closed its end first; it is ended below either way.
  const leaving = Promise.try(() => child.stdin.end()).catch(() => {});
  await Promise.race([leaving, Bun.sleep(LEAVE_MS)]);
  const until = performance.now() + LEAVE_MS;
  while (isAlive(family) && performance.now() < until) await Bun.sleep(POLL_MS);
  if (isAlive(family)) await endFamily(family);
}

/** The part of a reader that the types of Bun and of the web agree on. */
interface ChunkReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
}

/** Ends with the stream, in whatever way that ends: a pipe that breaks has no more to give. Rests after each piece. */
async function pump(
  source: ReadableStream<Uint8Array>,
  take: (bytes: Uint8Array) => void,
  rest: () => Promise<void>,
): Promise<void> {
  const reader: ChunkReader = source.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
    if (done) return;
    if (value) take(value);
    await rest();
  }
}
