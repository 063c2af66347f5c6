/** The tools of one server as last read: the first reading over a new link, and quiet ones when the server says that they changed. */
import { messageOf } from "./errors.ts";
import { orAborted } from "./abort.ts";
import type { LogTail } from "./mcp-lines.ts";
import { NO_LIMIT, type Link } from "./mcp-link.ts";
import { listTools } from "./mcp-listing.ts";
import type { McpTool } from "./mcp-types.ts";

/** A server that adds its tools one by one says so each time. */
const DEBOUNCE_MS = 200;

export interface CatalogDeps {
  server: string;
  readOnlyTools: readonly string[];
  /** Of a quiet reading, ms. */
  limitMs: number;
  log: LogTail;
  notice(message: string): void;
  /** After a quiet reading. */
  changed(): void;
}

export class McpCatalog {
  tools: readonly McpTool[] = [];
  readonly #deps: CatalogDeps;
  #link: Link | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Readings come one after the other, or an older answer could replace a newer one. */
  #reading: Promise<void> = Promise.resolve();
  #warned = false;

  constructor(deps: CatalogDeps) {
    this.#deps = deps;
  }

  /** The first reading over a link, which is the one read from now on. Throws what went wrong; the old list stays then. */
  read(link: Link, signal: AbortSignal): Promise<void> {
    this.#link = link;
    const reading = orAborted(this.#readOnce(link), signal);
    this.#reading = reading.catch(() => {}); // the caller is told; a later reading only waits for it
    return reading;
  }

  /** The server says that its tools changed. A list that can't be read leaves the old one. */
  announce(): void {
    // Not begun anew by each announcement: one that never stops would never be heard.
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#reading = this.#reading.then(() => this.#readAgain());
    }, DEBOUNCE_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#link = null;
  }

  async #readAgain(): Promise<void> {
    if (!this.#link?.isOpen()) return;
    try {
      await orAborted(this.#readOnce(this.#link), AbortSignal.timeout(this.#deps.limitMs));
      this.#deps.changed();
    } catch (error) {
      const why = messageOf(error);
      this.#deps.log.push(`[shiro] the changed list of tools could not be read, the old one stays: ${why}\n`);
    }
  }

  async #readOnce(link: Link): Promise<void> {
    const { server, readOnlyTools, log, notice } = this.#deps;
    if (!link.client.getServerCapabilities()?.tools) return void (this.tools = []);
    const { ResultSchema } = await import("@modelcontextprotocol/sdk/types.js");
    const listing = await listTools({
      server,
      readOnlyTools,
      page: (cursor) => {
        const params = cursor === undefined ? {} : { cursor };
        return link.client.request({ method: "tools/list", params }, ResultSchema, NO_LIMIT);
      },
    });
    for (const line of listing.skipped) log.push(`[shiro] ${line}\n`);
    if (listing.warning !== null && !this.#warned) notice(listing.warning);
    this.#warned ||= listing.warning !== null;
    if (this.#link === link) this.tools = listing.tools;
  }
}
