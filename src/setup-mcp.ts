/** The session's side of the MCP servers: when they start, how long a request waits for them, when their tools join the array. Loads nothing where none is configured. */
import type { McpOffer } from "./mcp-offer.ts";
import type { McpReach } from "./mcp-reach.ts";
import type { McpHost, McpServerState } from "./mcp-types.ts";
import { sanitizeLabel } from "./sanitize.ts";
import type { Tool } from "./tool.ts";

/** A person at a terminal shouldn't wait longer for a server that downloads itself; it joins later. */
const INTERACTIVE_WAIT_MS = 2_000;

/** What of a session the servers touch. */
export interface McpAudience {
  /** A note for the model with its next message; null where it isn't true any more. */
  tell(note: () => string | null): void;
  /** Tools and system text are made anew for the next request. */
  refreshPrompt(): void;
}

export interface SessionServersDeps {
  interactive: boolean;
  yolo: boolean;
  /** The session of now; asked each time, since /clear puts another in its place. */
  audience(): McpAudience;
  /** One line for the person. */
  notice(message: string): void;
  /** The host of these servers; nothing of it runs yet. */
  openHost(servers: Readonly<Record<string, unknown>>): Promise<McpHost>;
}

interface Opened {
  reach: McpReach;
  host: McpHost;
  makeOffer(reach: McpReach): McpOffer;
  forget(): void;
}

export class SessionServers {
  readonly #deps: SessionServersDeps;
  #opened: Opened | null = null;
  /** Null before the first request: nothing is offered yet. */
  #offer: McpOffer | null = null;
  #known: readonly Tool[] = [];
  #started = false;
  readonly #announced = new Set<string>();
  readonly #said = new Set<string>();
  /** Servers whose failure was said. */
  readonly #failed = new Set<string>();

  constructor(deps: SessionServersDeps) {
    this.#deps = deps;
  }

  /** Null while no server is configured. */
  get host(): McpHost | null {
    return this.#opened?.host ?? null;
  }

  get reach(): McpReach | null {
    return this.#opened?.reach ?? null;
  }

  /** Makes the host of these servers in place of the one before, which is closed. Connects to nothing. */
  async open(servers: Readonly<Record<string, unknown>>): Promise<void> {
    await this.close();
    this.#announced.clear();
    this.#failed.clear();
    this.#started = false;
    this.#offer = this.#offer === null ? null : EMPTY;
    if (Object.keys(servers).length === 0) return;
    const [{ McpReach }, { makeOffer }, { metaTools }] = await Promise.all([
      import("./mcp-reach.ts"),
      import("./mcp-offer.ts"),
      import("./mcp-meta.ts"),
    ]);
    const host = await this.#deps.openHost(servers);
    const reach = new McpReach(host, this.#deps.yolo);
    this.#opened = { reach, host, makeOffer, forget: host.onChange((server) => this.#changed(server)) };
    this.#known = metaTools(() => reach);
  }

  /** Begins to connect to all, in the background. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#opened?.host.start();
    // An entry that can't be used was never started: no change will tell of it.
    for (const state of this.#opened?.host.states() ?? []) this.#sayFailure(state);
  }

  /** The tools of the array, in wire order. */
  tools(): readonly Tool[] {
    return this.#offer?.tools ?? [];
  }

  /** Every tool that rules may speak of, offered or not. */
  known(): readonly Tool[] {
    return [...this.#known, ...this.tools()];
  }

  /** Of the system prompt. */
  lines(): readonly string[] {
    return this.#offer?.lines ?? [];
  }

  /** Names of the servers that have not answered yet. */
  connecting(): string[] {
    const states = this.#opened?.host.states() ?? [];
    return states.filter(({ state }) => state === "connecting").map(({ name }) => name);
  }

  /** Starts what isn't started and waits, bounded: what has answered by then is offered from here on. */
  async beforeFirstRequest(signal: AbortSignal): Promise<void> {
    if (!this.#opened) return;
    this.start();
    const { host } = this.#opened;
    await host.settled(this.#deps.interactive ? INTERACTIVE_WAIT_MS : host.startLimitMs, signal);
    this.renew();
  }

  /** Tools that joined late come into the array: where the user asked for it, or the requests' head changes anyway. */
  renew(): void {
    const opened = this.#opened;
    const before = bytesOf(this.#offer);
    this.#offer = opened ? opened.makeOffer(opened.reach) : EMPTY;
    if (opened) opened.reach.offered = new Set(this.#offer.tools.map((tool) => tool.name));
    if (this.#offer.note !== null && !this.#said.has(this.#offer.note)) {
      this.#said.add(this.#offer.note);
      this.#deps.notice(this.#offer.note);
    }
    if (bytesOf(this.#offer) !== before) this.#deps.audience().refreshPrompt();
  }

  /** The same for a conversation that begins anew or was cut; before the first request there is nothing to renew. */
  historyCut(): void {
    if (this.#offer !== null && this.#opened) this.renew();
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = null;
    this.#known = [];
    opened?.forget();
    await opened?.host.close();
  }

  closeNow(): void {
    this.#opened?.host.closeNow();
  }

  #changed(server: string): void {
    const offer = this.#offer;
    const state = this.#opened?.reach.state(server);
    if (!state) return;
    this.#sayFailure(state);
    if (!offer) return;
    const before = offer.direct.get(server);
    if (before !== undefined) {
      if (JSON.stringify(before) !== JSON.stringify(state.tools)) this.renew();
      return;
    }
    if (state.tools.length === 0 || offer.servers.has(server) || this.#announced.has(server)) return;
    this.#announced.add(server);
    const note = joinNote(server, state.tools.length);
    // By the time it would be said its tools may stand in the array.
    this.#deps.audience().tell(() => (this.#offer === offer ? note : null));
  }

  /** One line for each time that a server gives up. */
  #sayFailure({ name, state, problem }: McpServerState): void {
    if (state === "ready") this.#failed.delete(name);
    if ((state !== "failed" && state !== "login") || this.#failed.has(name)) return;
    this.#failed.add(name);
    const why =
      state === "login" ? `wants a login: shiro mcp login ${name}` : `failed: ${problem ?? "no reason given"}`;
    this.#deps.notice(`MCP server "${name}" ${why}`);
  }
}

const EMPTY: McpOffer = { tools: [], lines: [], servers: new Set(), direct: new Map(), note: null };

function joinNote(server: string, count: number): string {
  const tools = count === 1 ? "1 tool" : `${count} tools`;
  return `The MCP server "${sanitizeLabel(server, 64)}" is connected now: ${tools}, found with tool_search and called with mcp_call.`;
}

/** What of an offer stands in a request. */
function bytesOf(offer: McpOffer | null): string {
  if (offer === null) return "";
  const tools = offer.tools.map(({ name, description, wireSchema }) => [name, description, wireSchema ?? null]);
  return JSON.stringify([tools, offer.lines]);
}
