/** One answer broken off at every point of its bytes: head, body, end. What was said is said once, and nothing hangs. */
import { expect, test } from "bun:test";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Wire } from "../src/provider.ts";
import { type Answer, collect, endpoint, open, request, user } from "./support/model-kit.ts";
import { rounds } from "./support/rounds.ts";

const FIRST = "The first answer, in several words.";
const SECOND = "Another one.";
const IDLE_MS = 250;
// Every byte would take minutes; neither 11 nor 5 has a common factor with the lengths of lines and chunks.
const STEP = rounds(11, 5);
const AT_ONCE = 24;

const named = (events: { type: string; [key: string]: unknown }[]): string[] =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);

/** The frames of an answer that says this text in three pieces. */
function framesOf(wire: Wire, text: string): string[] {
  const third = Math.ceil(text.length / 3);
  const pieces = [text.slice(0, third), text.slice(third, 2 * third), text.slice(2 * third)];
  switch (wire) {
    case "chat":
      return [
        ...pieces.map((content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`),
        `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n`,
        `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n`,
        "data: [DONE]\n\n",
      ];
    case "anthropic":
      return named([
        { type: "message_start", message: { role: "assistant", content: [], usage: { input_tokens: 3 } } },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        ...pieces.map((piece) => ({
          type: "content_block_delta",
          index: 0,
          delta: { type: "text_delta", text: piece },
        })),
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
        { type: "message_stop" },
      ]);
    case "responses": {
      const item = { type: "message", id: "m", content: [{ type: "output_text", text }] };
      return named([
        { type: "response.created", response: {} },
        { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "m" } },
        ...pieces.map((delta) => ({ type: "response.output_text.delta", output_index: 0, delta })),
        { type: "response.output_item.done", output_index: 0, item },
        { type: "response.completed", response: { status: "completed", output: [item] } },
      ]);
    }
    default:
      return wire satisfies never;
  }
}

function httpOf(frames: string[], framing: "chunked" | "until closed"): Buffer {
  const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
  if (framing === "until closed") return Buffer.from(`${head}\r\n${frames.join("")}`);
  const chunks = frames.map((frame) => `${Buffer.byteLength(frame).toString(16)}\r\n${frame}\r\n`);
  return Buffer.from(`${head}transfer-encoding: chunked\r\n\r\n${chunks.join("")}0\r\n\r\n`);
}

/** Sends so many bytes of the first answer, then cuts or goes silent; to a second request, the second answer whole. */
async function brokenAt(
  wire: Wire,
  bytes: Buffer,
  second: Buffer,
  how: "cut" | "stall",
  length: number,
): Promise<Answer & { sent: number }> {
  const sockets = new Set<Socket>();
  let sent = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("data", () => {
      if (++sent > 1) return socket.end(second);
      if (length === 0) return how === "cut" ? socket.destroy() : undefined;
      return socket.write(bytes.subarray(0, length), () => void (how === "cut" && socket.end()));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // A TCP server that listens has a port.
  const at = endpoint(`http://127.0.0.1:${port}/v1`, wire === "anthropic" ? "anthropic" : "openai", {
    timeoutMs: how === "stall" ? IDLE_MS : 10_000,
    forcedWire: wire === "anthropic" ? null : wire,
  });
  const answer = await collect(open(at).stream(request([user("hi")]), new AbortController().signal));
  for (const socket of sockets) socket.destroy();
  server.close();
  return { ...answer, sent };
}

/** What is wrong with the outcome, or null. */
function faultIn(answer: Answer & { sent: number }): string | null {
  const kept = answer.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  if (kept !== answer.text) return `kept ${JSON.stringify(kept)} of ${JSON.stringify(answer.text)}`;
  if (answer.error === null) {
    const wanted = answer.sent === 1 ? FIRST : SECOND;
    // On a busy machine a limit may pass before what was sent is read: the answer is then asked for once more.
    return answer.text === wanted && answer.sent <= 4 ? null : `said ${JSON.stringify(answer.text)}`;
  }
  if (!FIRST.startsWith(answer.text) || answer.text === "") return `failed after ${JSON.stringify(answer.text)}`;
  if (answer.sent !== 1) return "repeated an answer that had begun";
  const kind = "kind" in answer.error ? answer.error.kind : answer.error.name;
  return kind === "network" || kind === "timeout" ? null : `failed as ${String(kind)}`;
}

async function run(wire: Wire, how: "cut" | "stall", framing: "chunked" | "until closed"): Promise<string[]> {
  const bytes = httpOf(framesOf(wire, FIRST), framing);
  const second = httpOf(framesOf(wire, SECOND), "chunked");
  const lengths = Array.from({ length: Math.ceil(bytes.length / STEP) }, (_, index) => index * STEP);
  const faults: string[] = [];
  const work = async (): Promise<void> => {
    for (let length = lengths.shift(); length !== undefined; length = lengths.shift()) {
      const fault = faultIn(await brokenAt(wire, bytes, second, how, length));
      if (fault !== null) faults.push(`after ${length} of ${bytes.length} bytes: ${fault}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return faults;
}

test.each<[Wire, "cut" | "stall", "chunked" | "until closed"]>([
  ["chat", "cut", "chunked"],
  ["chat", "cut", "until closed"],
  ["chat", "stall", "chunked"],
  ["responses", "cut", "chunked"],
  ["responses", "stall", "chunked"],
  ["anthropic", "cut", "chunked"],
  ["anthropic", "cut", "until closed"],
  ["anthropic", "stall", "chunked"],
])(
  "%s, %s at every point (%s): the right answer, or what was said and an error",
  async (wire, how, framing) => {
    expect(await run(wire, how, framing)).toEqual([]);
  },
  30_000,
);
