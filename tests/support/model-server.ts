/** A model on loopback that refuses what the real APIs refuse. Speaks HTTP by hand over a socket, so that a test decides about every byte. */
import { createServer, type Socket } from "node:net";
import type { Wire } from "../../src/provider.ts";
import type { Json, JsonObject } from "../../src/types.ts";
import { type Memory, type Reply, type StrictOptions, isObject, newMemory } from "./strict-body.ts";
import { anthropicError, anthropicFault, anthropicStream } from "./strict-anthropic.ts";
import { chatError, chatFault, chatStream } from "./strict-chat.ts";
import { responsesError, responsesFault, responsesStream } from "./strict-responses.ts";

export type { Reply } from "./strict-body.ts";

/** One request as it came. `wire` is null for `GET /models` and for unknown paths. */
export interface Received {
  wire: Wire | null;
  method: string;
  path: string;
  headers: Record<string, string>;
  text: string;
  body: JsonObject;
}

export interface ModelServerOptions extends StrictOptions {
  /** Entries of `GET /models`: ids, or whole objects. */
  models?: (string | JsonObject)[];
  /** Skips the rules: for tests of what a lenient endpoint sends. */
  lenient?: boolean;
}

export interface ModelServer {
  /** Ends in /v1. */
  url: string;
  requests: Received[];
  /** The `GET …/models` among them, kept apart. */
  listings: Received[];
  /** One line for each request that broke a rule. */
  faults: string[];
  close(): Promise<void>;
}

type Script = Reply[] | ((request: Received, index: number) => Reply | Promise<Reply>);

const WIRES = {
  chat: { fault: chatFault, error: chatError, stream: chatStream },
  responses: { fault: responsesFault, error: responsesError, stream: responsesStream },
  anthropic: { fault: anthropicFault, error: anthropicError, stream: anthropicStream },
} as const;

/** Listens on 127.0.0.1 at a free port. A list is answered in order, its last entry again and again; refused requests use up none. */
export async function startModelServer(script: Script, options: ModelServerOptions = {}): Promise<ModelServer> {
  const requests: Received[] = [];
  const listings: Received[] = [];
  const faults: string[] = [];
  const sockets = new Set<Socket>();
  const memory = newMemory(options);
  let answered = 0;
  const answer = async (request: Received): Promise<Reply> => {
    const index = answered++;
    const reply = typeof script === "function" ? await script(request, index) : (script[index] ?? script.at(-1));
    return reply ?? { text: "ok" };
  };
  const serve = async (socket: Socket, request: Received): Promise<void> => {
    if (request.method === "GET" && request.path.split("?")[0]?.endsWith("/models")) {
      listings.push(request);
      return sendJson(socket, 200, modelList(options.models ?? ["test-model"]));
    }
    if (!request.wire || request.method !== "POST")
      return sendJson(socket, 404, {
        error: {
          message: `Unknown request URL: ${request.method} ${request.path}`,
          type: "invalid_request_error",
          code: "unknown_url",
        },
      });
    requests.push(request);
    const fault = options.lenient ? null : WIRES[request.wire].fault(request.body, memory);
    if (!fault) return send(socket, request, await answer(request), memory);
    faults.push(`${request.wire}: ${fault.message}`);
    return sendJson(socket, fault.status ?? 400, WIRES[request.wire].error(fault));
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // A client that goes away is part of many tests.
    socket.on("error", () => socket.destroy());
    readRequest(socket, (request) => void serve(socket, request).catch(() => socket.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (!address || typeof address === "string") throw new Error("no port");
  const close = () =>
    new Promise<void>((resolve) => {
      for (const socket of sockets) socket.destroy();
      server.close(() => resolve());
    });
  return { url: `http://127.0.0.1:${address.port}/v1`, requests, listings, faults, close };
}

function readRequest(socket: Socket, done: (request: Received) => void): void {
  const pieces: Buffer[] = [];
  let size = 0;
  let need = -1;
  socket.on("data", (piece: Buffer) => {
    pieces.push(piece);
    size += piece.length;
    if (need < 0) {
      const all = Buffer.concat(pieces);
      const end = all.indexOf("\r\n\r\n");
      if (end < 0) return;
      need = end + 4 + Number(/content-length: *(\d+)/i.exec(all.subarray(0, end).toString())?.[1] ?? 0);
    }
    if (size >= need) done(parseRequest(Buffer.concat(pieces)));
  });
}

function parseRequest(bytes: Buffer): Received {
  const end = bytes.indexOf("\r\n\r\n");
  const [line = "", ...lines] = bytes.subarray(0, end).toString().split("\r\n");
  const [method = "", path = ""] = line.split(" ");
  const headers = Object.fromEntries(
    lines.map((one) => [one.slice(0, one.indexOf(":")).toLowerCase(), one.slice(one.indexOf(":") + 1).trim()]),
  );
  const text = bytes.subarray(end + 4).toString();
  return { wire: wireOf(path), method, path, headers, text, body: parseBody(text) };
}

function wireOf(path: string): Wire | null {
  const bare = path.split("?")[0] ?? "";
  if (bare.endsWith("/chat/completions")) return "chat";
  if (bare.endsWith("/responses")) return "responses";
  return bare.endsWith("/messages") ? "anthropic" : null;
}

function parseBody(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

async function send(socket: Socket, request: Received, reply: Reply, memory: Memory): Promise<void> {
  await reply.delay;
  if (reply.hang === true || !request.wire) return;
  if (reply.status !== undefined) {
    const json = reply.json === undefined ? {} : { "content-type": "application/json" };
    return sendWhole(
      socket,
      reply.status,
      { ...json, ...reply.headers },
      reply.body ?? (reply.json === undefined ? "" : JSON.stringify(reply.json)),
    );
  }
  const body = reply.raw ?? WIRES[request.wire].stream(reply, request.body, memory);
  const parts = (Array.isArray(body) ? body : [body]).map((part) => Buffer.from(part));
  await sendStream(socket, { "content-type": "text/event-stream", ...reply.headers }, parts, reply);
}

async function sendStream(
  socket: Socket,
  headers: Record<string, string>,
  parts: Buffer[],
  reply: Reply,
): Promise<void> {
  socket.write(head(200, { ...headers, "transfer-encoding": "chunked" }));
  const silent = reply.hang === "stream";
  let left = reply.cut ?? Infinity;
  if (silent && reply.raw === undefined)
    left = Buffer.concat(parts).toString().split("\n\n").slice(0, -4).join("\n\n").length + 2;
  for (const part of parts) {
    const bytes = part.subarray(0, Math.min(part.length, left));
    left -= bytes.length;
    if (bytes.length > 0 && !socket.destroyed)
      await new Promise<void>((resolve) =>
        socket.write(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]), () =>
          resolve(),
        ),
      );
    // One turn of the event loop, so that the pieces don't leave in one packet.
    await new Promise<void>((resolve) => (reply.gapMs ? setTimeout(resolve, reply.gapMs) : setImmediate(resolve)));
    if (left <= 0) break;
  }
  if (silent) return;
  if (reply.cut !== undefined) socket.destroy();
  else socket.end("0\r\n\r\n");
}

function sendWhole(socket: Socket, status: number, headers: Record<string, string>, body: string): void {
  socket.end(head(status, { ...headers, "content-length": String(Buffer.byteLength(body)) }) + body);
}

const sendJson = (socket: Socket, status: number, value: Json): void =>
  sendWhole(socket, status, { "content-type": "application/json" }, JSON.stringify(value));

function head(status: number, headers: Record<string, string>): string {
  const lines = Object.entries({ connection: "close", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Status\r\n${lines.join("")}\r\n`;
}

function modelList(models: (string | JsonObject)[]): JsonObject {
  const data = models.map((model): JsonObject =>
    typeof model === "string" ? { id: model, object: "model", type: "model", display_name: model } : model,
  );
  return { object: "list", data, has_more: false };
}
