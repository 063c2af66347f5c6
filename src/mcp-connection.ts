/** One configured server: its state, its connection's life and death, its list of tools, its calls. Knows nothing of the other servers. */
import { ToolError, UserError, errnoOf, messageOf } from "./errors.ts";
import { McpCatalog } from "./mcp-catalog.ts";
import { orAborted } from "./abort.ts";
import { callTool, SessionExpiredError, UNREACHED, type RunningCall } from "./mcp-call.ts";
import { expandMcpServer, secretsIn, type McpServerConfig } from "./mcp-config.ts";
import { answerElicitation, type ElicitAnswer } from "./mcp-elicit.ts";
import { networkFetch } from "./mcp-fetch.ts";
import { LogTail } from "./mcp-lines.ts";
import { openLink, type Link } from "./mcp-link.ts";
import { LoginNeededError, McpAuth } from "./mcp-oauth.ts";
import type { McpCallOptions, McpServerState } from "./mcp-types.ts";
import { makeRedactor } from "./redact.ts";
import { oneLine } from "./text.ts";
import type { ToolOutput } from "./tool.ts";
import type { JsonObject } from "./types.ts";

/** A server that dies or fails so often in a row is left alone until the user asks for it. */
const MAX_FAILURES = 3;
const MAX_PROBLEM_CHARS = 400;

export interface ConnectionDeps {
  name: string;
  /** Checked, its variables not yet expanded; or what is wrong with it. */
  config: McpServerConfig | { problem: string };
  env: Readonly<Record<string, string | undefined>>;
  childEnv: Readonly<Record<string, string>>;
  workspaceRoot: string;
  home: string;
  version: string;
  notice(message: string): void;
  changed(): void;
}

export class McpConnection {
  readonly #deps: ConnectionDeps;
  readonly #log = new LogTail();
  readonly #running = new Map<RunningCall, Link>();
  readonly #end = new AbortController();
  #state: McpServerState["state"] = "idle";
  #problem: string | null = null;
  readonly #catalog: McpCatalog;
  #description: string | null = null;
  #link: Link | null = null;
  /** Kept while it is under way, so that everybody who needs it waits for the same. */
  #connecting: Promise<Link> | null = null;
  readonly #retired = new Set<Link>();
  #opening: (() => void) | null = null;
  #failures = 0;
  #hide: (text: string) => string = (text) => text;

  constructor(deps: ConnectionDeps) {
    this.#deps = deps;
    const { config, name: server, notice, changed } = deps;
    const [readOnlyTools, limitMs] = "problem" in config ? [[], 0] : [config.readOnlyTools, config.startTimeoutMs];
    this.#catalog = new McpCatalog({ server, readOnlyTools, limitMs, log: this.#log, notice, changed });
    if ("problem" in config) this.#problem = config.problem;
    if ("problem" in config) this.#state = "failed";
  }

  get startTimeoutMs(): number {
    return "problem" in this.#deps.config ? 0 : this.#deps.config.startTimeoutMs;
  }

  state(): McpServerState {
    const { config, name } = this.#deps;
    const log = this.#log.text();
    return {
      name,
      state: this.#state,
      problem: this.#problem,
      tools: this.#catalog.tools,
      expose: "problem" in config ? null : config.expose,
      description: this.#description,
      log: log === "" ? "" : this.#hide(log),
    };
  }

  /** Never throws: what fails shows in the state. */
  start(): void {
    if (this.#state === "idle") void this.#connect().catch(() => {});
  }

  async revive(): Promise<McpServerState> {
    await this.#openLink().catch(() => {}); // the state says it
    return this.state();
  }

  async reconnect(): Promise<McpServerState> {
    await this.#connecting?.catch(() => {});
    const old = this.#link;
    this.#link = null;
    this.#failures = 0;
    await old?.close();
    await this.#connect().catch(() => {});
    return this.state();
  }

  async call(tool: string, args: JsonObject, options: McpCallOptions): Promise<ToolOutput> {
    options.signal.throwIfAborted();
    const link = await orAborted(this.#openLink(), options.signal);
    try {
      return await this.#callOn(link, tool, args, options);
    } catch (error) {
      if (!(error instanceof SessionExpiredError)) throw error;
      const renewed = await orAborted(this.#renew(link), options.signal);
      return await this.#callOn(renewed, tool, args, options).catch((again: unknown) => {
        if (!(again instanceof SessionExpiredError)) throw again;
        const { name } = this.#deps;
        throw new ToolError(`MCP server ${name} knows nothing of a session that it has just begun (HTTP 404).`, {
          cause: again,
        });
      });
    }
  }

  async close(): Promise<void> {
    this.#end.abort(new Error("shiro ends"));
    this.#catalog.stop();
    await this.#connecting?.catch(() => {});
    await Promise.all([this.#link, ...this.#retired].map((link) => link?.close()));
  }

  closeNow(): void {
    this.#end.abort(new Error("shiro ends"));
    this.#catalog.stop();
    this.#opening?.();
    this.#link?.closeNow();
    this.#retired.forEach((link) => link.closeNow());
  }

  /** The open connection, or a new one in place of a dead one. Throws ToolError. */
  async #openLink(): Promise<Link> {
    if (this.#link?.isOpen()) return this.#link;
    const { name, config } = this.#deps;
    if ("problem" in config) throw new ToolError(`MCP server ${name} can't be used: ${config.problem}`);
    if (!this.#connecting && this.#failures >= MAX_FAILURES)
      throw new ToolError(
        `MCP server ${name} failed ${this.#failures} times in a row and is left alone: ${this.#problem ?? ""}. The user can start it again with /mcp test ${name}`,
      );
    try {
      return await (this.#connecting ?? this.#connect());
    } catch (error) {
      throw new ToolError(`MCP server ${name} is not available: ${this.#problem ?? messageOf(error)}`, {
        cause: error,
      });
    }
  }

  /** Calls that find the session gone side by side share one new handshake. */
  async #renew(expired: Link): Promise<Link> {
    if (this.#link === expired) {
      this.#link = null;
      // Other calls may still be waiting for their refusal on it.
      this.#retired.add(expired);
    }
    const link = await this.#openLink();
    this.#closeRetired();
    return link;
  }

  #closeRetired(): void {
    const busy = new Set(this.#running.values());
    for (const link of this.#retired) {
      if (busy.has(link)) continue;
      this.#retired.delete(link);
      link.closeNow();
    }
  }

  async #callOn(link: Link, tool: string, args: JsonObject, options: McpCallOptions): Promise<ToolOutput> {
    const { name, config } = this.#deps;
    const timeoutMs = "problem" in config ? 0 : config.timeoutMs;
    const running = (call: RunningCall): (() => void) => {
      this.#running.set(call, link);
      return () => {
        this.#running.delete(call);
        this.#closeRetired();
      };
    };
    try {
      const hide = this.#hide;
      return await callTool(link, { server: name, tool, args, timeoutMs, options, running, hide });
    } catch (error) {
      if (!(error instanceof LoginNeededError)) throw error;
      this.#set("login", error.message);
      throw new ToolError(`MCP server ${name}: ${error.message}`, { note: "login needed", cause: error });
    } finally {
      // It lived through a call, whatever that came to.
      if (link.isOpen()) this.#failures = 0;
    }
  }

  #connect(): Promise<Link> {
    this.#connecting ??= this.#connectOnce().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  async #connectOnce(): Promise<Link> {
    this.#set("connecting", null);
    try {
      const link = await this.#openAndList();
      this.#link = link;
      this.#set("ready", null);
      link.onClose(() => this.#onDeath(link));
      if (!link.isOpen()) this.#onDeath(link);
      return link;
    } catch (error) {
      // A person has to act; trying again costs one request and harms nobody.
      if (!(error instanceof LoginNeededError)) this.#failures++;
      this.#set(error instanceof LoginNeededError ? "login" : "failed", this.#explain(error));
      throw error;
    }
  }

  async #openAndList(): Promise<Link> {
    const { name, env } = this.#deps;
    if ("problem" in this.#deps.config) throw new UserError(this.#deps.config.problem, { kind: "config" });
    const config = expandMcpServer(name, this.#deps.config, env);
    const limit = startLimit(config.startTimeoutMs, this.#end.signal);
    try {
      const link = await openLink({
        ...this.#deps,
        config,
        auth: this.#authOf(config),
        log: this.#log,
        signal: limit.signal,
        elicit: (params) => this.#elicit(params),
        toolsChanged: () => this.#catalog.announce(),
        opening: (closeNow) => void (this.#opening = closeNow),
      });
      return await this.#firstList(link, limit.signal);
    } catch (error) {
      throw limit.signal.aborted ? limit.signal.reason : error;
    } finally {
      limit.stop();
      this.#opening = null;
    }
  }

  #authOf(config: McpServerConfig): McpAuth | null {
    const { name, home, env } = this.#deps;
    const auth =
      config.type === "stdio" ? null : new McpAuth({ name, config, home, fetch: networkFetch(env), now: Date.now });
    const own = secretsIn(config);
    this.#hide = (text) => makeRedactor([...own, ...(auth?.secrets() ?? [])]).redact(text);
    return auth;
  }

  async #firstList(link: Link, signal: AbortSignal): Promise<Link> {
    try {
      await this.#catalog.read(link, signal);
      this.#description = descriptionOf(link);
      return link;
    } catch (error) {
      await link.close();
      throw error;
    }
  }

  #onDeath(link: Link): void {
    if (this.#link !== link || this.#end.signal.aborted) return;
    this.#failures++;
    const exit = link.exit();
    const why = exit === null ? "the connection was closed" : `it ${exit}`;
    const next = this.#failures < MAX_FAILURES ? ". The next call starts it again" : "";
    this.#set("failed", `${this.#withLog(why)}${next}`);
  }

  /** Questions carry no call's name over stdio: the newest call is the one that the user is waiting for. */
  async #elicit(params: Readonly<Record<string, unknown>>): Promise<ElicitAnswer> {
    const call = [...this.#running.keys()].at(-1);
    if (!call) return { action: "decline" };
    const { ask, yolo } = call.options;
    return call.clock.pause(() => answerElicitation(params, { server: this.#deps.name, ask, yolo }));
  }

  #explain(error: unknown): string {
    if (error instanceof UserError || error instanceof LoginNeededError) return error.message;
    const { config } = this.#deps;
    const code = errnoOf(error) ?? "";
    // Not the whole address: its query may hold a key.
    if (UNREACHED.has(code) && "url" in config && URL.canParse(config.url))
      return `nothing answers at ${new URL(config.url).origin} (${code})`;
    return this.#withLog(this.#hide(`${statusOf(error)}${wordsOf(error)}`));
  }

  #withLog(problem: string): string {
    const last = this.#log.lastLine();
    const config = this.#deps.config;
    const isLocal = !("problem" in config) && config.type === "stdio";
    return oneLine(isLocal && last !== "" ? `${problem}; it last said: ${last}` : problem, MAX_PROBLEM_CHARS);
  }

  #set(state: McpServerState["state"], problem: string | null): void {
    this.#state = state;
    this.#problem = problem;
    this.#deps.changed();
  }
}

/** Fires after the limit, or when the program ends. */
function startLimit(ms: number, end: AbortSignal): { signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const late = new Error(`it was not ready within ${ms / 1000} s (startTimeoutMs)`);
  const timer = setTimeout(() => controller.abort(late), ms);
  return { signal: AbortSignal.any([controller.signal, end]), stop: () => clearTimeout(timer) };
}

/** Both of the SDK's HTTP errors carry a status as their code, and leave it out of their text. */
function statusOf(error: unknown): string {
  const code = error instanceof Error && "code" in error && typeof error.code === "number" ? error.code : 0;
  return code >= 100 && code < 600 ? `HTTP ${code}, ` : "";
}

/** What the SDK's checker says of an answer is a page of JSON; where it is wrong is enough for a line. */
function wordsOf(error: unknown): string {
  const issues: unknown = error instanceof Error && "issues" in error ? error.issues : null;
  if (!Array.isArray(issues)) return messageOf(error);
  const places = issues.flatMap((issue: { path?: unknown }) => (Array.isArray(issue.path) ? issue.path.join(".") : []));
  return `its answer is not of the protocol's form (${places.slice(0, 5).join(", ")})`;
}

function descriptionOf(link: Link): string | null {
  const info = link.client.getServerVersion();
  const described = info && "description" in info ? info.description : null;
  const texts = [described, link.client.getInstructions(), info?.title];
  const found = texts.find((text) => typeof text === "string" && text.trim() !== "");
  const [line = ""] = typeof found === "string" ? found.trim().split("\n") : [];
  return line === "" ? null : oneLine(line.replace(/^#+\s*/, ""), 300);
}
