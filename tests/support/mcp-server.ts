/** A small MCP server on stdio, strict about the protocol. Run as a program; its one argument is JSON with what it should do wrong. Faults of the client go to stderr as `FAULT: …`. */
import type { Json, JsonObject } from "../../src/types.ts";

export interface ServerKnobs {
  /** Log lines, half a JSON object and blank lines around every message; CRLF; each message in two writes. */
  noise?: boolean;
  /** Entries of tools/list, page by page; default one page with the tools that are built in. */
  pages?: Json[];
  /** The last page names itself as the next. */
  repeats?: boolean;
  /** Never answers initialize. */
  silent?: boolean;
  /** Leaves TERM and the end of stdin without effect. */
  stubborn?: boolean;
  /** The second reading of the list fails. */
  failsLater?: boolean;
}

const TOOLS = "echo result slow progress die grow elicit sample roots env fork".split(" ");

if (import.meta.main) serve(JSON.parse(process.argv[2] ?? "{}"));

/** The configuration entry that starts it. */
export function serverEntry(knobs: ServerKnobs = {}, more: JsonObject = {}): JsonObject {
  return { command: process.execPath, args: [import.meta.path, JSON.stringify(knobs)], ...more };
}

type Message = { id?: number | string; method?: string; params?: JsonObject; result?: JsonObject; error?: JsonObject };

async function serve(knobs: ServerKnobs): Promise<void> {
  if (knobs.stubborn) process.on("SIGTERM", () => console.error("TERM ignored"));
  const seen = new Set<unknown>();
  const waiting = new Map<string, (message: Message) => void>();
  const names = [...TOOLS];
  let phase: "new" | "asked" | "ready" = "new";
  let listings = 0;
  let own = 0;

  const fault = (text: string): void => console.error(`FAULT: ${text}`);
  const send = (message: object): void => {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    if (!knobs.noise) return void process.stdout.write(`${text}\n`);
    process.stdout.write('INFO starting\n{"level":"info","msg":"ready"}\n\n┌───┐\n{"jsonrpc": half\n');
    process.stdout.write(text.slice(0, 20));
    process.stdout.write(`${text.slice(20)}\r\n`);
  };
  const ask = (method: string, params: JsonObject): Promise<Message> => {
    const id = `own-${own++}`;
    const { promise, resolve } = Promise.withResolvers<Message>();
    waiting.set(id, resolve);
    send({ id, method, params });
    return promise;
  };
  const said = (text: string): JsonObject => ({ content: [{ type: "text", text }] });

  const call = async (id: unknown, params: JsonObject): Promise<JsonObject | null> => {
    const args = params.arguments as JsonObject; // our tests send an object, and the client must
    if (typeof args !== "object" || args === null) fault("arguments must be an object");
    const token = (params._meta as JsonObject | undefined)?.progressToken;
    if (token === undefined) fault("no progress token");
    switch (params.name) {
      case "echo":
        return said(String(args.text));
      case "result":
        return args;
      case "slow":
        console.error(`slow ${id}`);
        return null;
      case "progress":
        for (let step = 1; step <= 4; step++) {
          send({
            method: "notifications/progress",
            params: { progressToken: token, progress: step, total: 4, message: "working" },
          });
          await Bun.sleep(Number(args.gapMs));
        }
        return said("worked");
      case "die":
        console.error("dying words");
        return process.exit(7);
      case "grow":
        names.push("grown");
        for (let time = 0; time < 5; time++) send({ method: "notifications/tools/list_changed" });
        return said("grown");
      case "elicit":
        return said(JSON.stringify((await ask("elicitation/create", args)).result));
      case "sample":
        return said(JSON.stringify((await ask("sampling/createMessage", { messages: [], maxTokens: 1 })).error));
      case "roots":
        return said(JSON.stringify((await ask("roots/list", {})).result));
      case "env":
        return said(process.env[String(args.name)] ?? "unset");
      case "fork": {
        const child = Bun.spawn(["setsid", "sh", "-c", "sleep 300 & echo $!; sleep 300"], {
          stdin: "ignore",
          stdout: "pipe",
        });
        const { value } = await child.stdout.getReader().read();
        return said(`${child.pid} ${new TextDecoder().decode(value).trim()}`);
      }
      default:
        throw new Error(`no tool ${params.name}`);
    }
  };

  const list = (params: JsonObject): JsonObject => {
    if (knobs.failsLater && ++listings > 1) throw new Error("no list today");
    const pages: Json[] = knobs.pages ?? [names.map((name) => ({ name, inputSchema: { type: "object" } }))];
    const at = params.cursor === undefined ? 0 : Number(params.cursor);
    const next = at + 1 < pages.length ? at + 1 : knobs.repeats ? at : null;
    return { tools: pages[at] ?? [], ...(next === null ? {} : { nextCursor: String(next) }) };
  };

  const answer = async ({ id, method, params = {} }: Message): Promise<void> => {
    if (seen.has(id)) fault(`id ${id} twice`);
    seen.add(id);
    if (method === "initialize") {
      if (phase !== "new") fault("initialize twice");
      phase = "asked";
      if (knobs.silent) return console.error("waiting");
      const capabilities = { tools: { listChanged: true } };
      const serverInfo = { name: "tiny", version: "1", title: "Tiny server" };
      return send({ id, result: { protocolVersion: params.protocolVersion, capabilities, serverInfo } });
    }
    if (phase !== "ready") fault(`${method} before the handshake`);
    try {
      const result = method === "tools/list" ? list(params) : method === "tools/call" ? await call(id, params) : {};
      if (result !== null) send({ id, result });
    } catch (error) {
      send({ id, error: { code: -32602, message: error instanceof Error ? error.message : "?" } });
    }
  };

  const take = (message: Message & { jsonrpc?: string }): void => {
    if (message.jsonrpc !== "2.0") fault("not JSON-RPC 2.0");
    if (message.method === "notifications/initialized") phase = "ready";
    else if (message.method === "notifications/cancelled") console.error(`cancelled ${message.params?.requestId}`);
    else if (message.method !== undefined && message.id !== undefined) void answer(message);
    else if (message.id !== undefined) waiting.get(String(message.id))?.(message);
  };

  // The end of stdin comes as an empty line.
  for await (const line of console) if (line !== "") take(JSON.parse(line));
  if (knobs.stubborn) setInterval(() => {}, 1000);
  else process.exit(0);
}
