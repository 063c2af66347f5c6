/** Event streams cut at every place: the same frames whatever the pieces, and never a wrong answer from half a stream. */
import { describe, expect, test } from "bun:test";
import { CallIds } from "../src/provider-ids.ts";
import { BrokenFrameError, errorIn, type Frame, FrameReader, isEnd } from "../src/provider-sse.ts";
import { readAnthropic } from "../src/provider-anthropic-stream.ts";
import { readChat } from "../src/provider-chat-stream.ts";
import { readResponses } from "../src/provider-responses-stream.ts";
import type { ReadContext } from "../src/provider-wire.ts";
import type { JsonObject } from "../src/types.ts";
import { growth } from "./support/growth.ts";
import { ask, type Answer, collect, request, user } from "./support/model-kit.ts";
import { type Reply, startModelServer } from "./support/model-server.ts";
import { anthropicStream } from "./support/strict-anthropic.ts";
import { newMemory } from "./support/strict-body.ts";
import { chatStream } from "./support/strict-chat.ts";
import { responsesStream } from "./support/strict-responses.ts";

function framesOf(pieces: Uint8Array[]): Frame[] {
  const reader = new FrameReader();
  return [...pieces.flatMap((piece) => [...reader.push(piece)]), ...reader.end()];
}

const bytes = (text: string) => new TextEncoder().encode(text);

/** Small, seeded, good enough to choose places to cut at. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function cutAnywhere(all: Uint8Array, next: () => number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < all.length;) {
    const size = 1 + Math.floor(next() * 9);
    pieces.push(all.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

describe("frames", () => {
  test("a line without end is given up before it fills the memory", () => {
    const reader = new FrameReader(1000);
    const push = () => [...reader.push(bytes("x".repeat(600)))];
    expect(push()).toEqual([]);
    expect(push).toThrow(BrokenFrameError);
  });

  test("lines below the limit may come one after the other for ever", () => {
    const reader = new FrameReader(1000);
    for (let line = 0; line < 50; line++) expect([...reader.push(bytes(`: ${"x".repeat(600)}\n`))]).toEqual([]);
  });

  const data = (value: number): Frame => ({ event: "", data: { v: value } });

  test.each<[string, string, Frame[]]>([
    ["line feeds", 'data: {"v":1}\n\ndata: {"v":2}\n\n', [data(1), data(2)]],
    ["carriage returns", 'data: {"v":1}\r\rdata: {"v":2}\r\r', [data(1), data(2)]],
    ["both", 'data: {"v":1}\r\n\r\ndata: {"v":2}\r\n\r\n', [data(1), data(2)]],
    ["no blank after the colon", 'data:{"v":1}\n\n', [data(1)]],
    ["a byte order mark", '\uFEFFdata: {"v":1}\n\n', [data(1)]],
    ["comments, ids and retry times", ': hi\nid: 7\nretry: 3\ndata: {"v":1}\n: more\n\n:\n\n', [data(1)]],
    ["data over several lines", 'data: {\ndata: "v":1}\n\n', [data(1)]],
    ["a forgotten blank line", 'data: {"v":1}\ndata: {"v":2}\n\n', [data(1), data(2)]],
    ["no blank line at the end", 'data: {"v":1}\n\ndata: {"v":2}', [data(1), data(2)]],
    ["half a frame at the end", 'data: {"v":1}\n\ndata: {"v":2', [data(1)]],
    ["a null at the end", 'data: {"v":1}\n\ndata: null', [data(1)]],
    ["keep-alives", 'event: keepalive\n\ndata:\n\ndata: ping\n\ndata: {"type":"ping"}\n\ndata: {"v":1}\n\n', [data(1)]],
    ["an end marker", 'data: {"v":1}\n\ndata: [DONE]\n\n', [data(1), { event: "", data: null }]],
    ["an event's name", 'event: error\ndata: {"v":1}\n\n', [{ event: "error", data: { v: 1 } }]],
    ["blanks before a line", '\n  \n \t data: {"v":1}\n\n', [data(1)]],
    ["characters of several bytes", 'data: {"v":"é👍"}\n\n', [{ event: "", data: { v: "é👍" } }]],
  ])("%s, in one piece and cut at every byte", (_, text, wanted) => {
    const all = bytes(text);
    expect(framesOf([all])).toEqual(wanted);
    expect(framesOf([...all].map((byte) => Uint8Array.of(byte)))).toEqual(wanted);
    for (let at = 1; at < all.length; at++) expect(framesOf([all.subarray(0, at), all.subarray(at)])).toEqual(wanted);
  });

  test("data that begins like an object and is none is an error, in its place", () => {
    const reader = new FrameReader();
    const frames: Frame[] = [];
    expect(() => {
      for (const frame of reader.push(bytes('data: {"v":1}\n\ndata: {broken}\n\n'))) frames.push(frame);
    }).toThrow(BrokenFrameError);
    expect(frames).toEqual([data(1)]);
  });

  test("one line of megabytes in small pieces is read in time by its length, not by its square", async () => {
    const piece = bytes("x".repeat(8192));
    const read = (count: number) => () => {
      const reader = new FrameReader();
      for (const _ of reader.push(bytes('data: {"v":"'))) throw new Error("no frame yet");
      for (let at = 0; at < count; at++) for (const _ of reader.push(piece)) throw new Error("no frame yet");
      expect([...reader.push(bytes('"}\n\n'))]).toHaveLength(1);
    };
    expect(await growth(read, 150)).toBeLessThan(8);
  });
});

const REPLY: Reply = {
  reasoning: "Let me see — déjà vu 👍",
  text: "Here it is: ünï",
  calls: [
    { name: "ls", input: { path: "a/b", deep: { list: [1, "zwei"] } } },
    { name: "ls", input: {} },
  ],
};
const BODY: JsonObject = { model: "test-model", messages: [], stream_options: { include_usage: true } };
const WIRES = {
  chat: { stream: chatStream, read: readChat },
  responses: { stream: responsesStream, read: readResponses },
  anthropic: { stream: anthropicStream, read: readAnthropic },
} as const;
type WireName = keyof typeof WIRES;
const wireNames: WireName[] = ["chat", "responses", "anthropic"];

/** Reads the frames as the provider does, an end of the file behind them. */
function read(wire: WireName, frames: Frame[]): Promise<Answer> {
  let ended = false;
  async function* events(): AsyncGenerator<JsonObject> {
    for (const frame of frames) {
      if (isEnd(frame, wire)) ended = true;
      if (frame.data) yield frame.data;
    }
  }
  const context: ReadContext = {
    ids: new CallIds(),
    origin: "o",
    nameOf: (name) => name,
    ended: () => ended,
    cut: () => new Error("cut"),
    bodyChars: () => 100,
  };
  return collect(WIRES[wire].read(events(), context));
}

describe.each(wireNames)("%s", (wire) => {
  const all = bytes(WIRES[wire].stream(REPLY, BODY, newMemory({})));
  const ids = (answer: Answer) => JSON.stringify(answer.parts).replace(/call_[0-9a-f]{24}/g, "call");

  test("split at random places, it is the same answer", async () => {
    const whole = await read(wire, framesOf([all]));
    expect([whole.error, whole.text, whole.reasoning, whole.calls.length, whole.stop]).toEqual([
      null,
      "Here it is: ünï",
      "Let me see — déjà vu 👍",
      2,
      "tool",
    ]);
    for (let seed = 1; seed <= 60; seed++) {
      const split = await read(wire, framesOf(cutAnywhere(all, random(seed))));
      expect(ids(split)).toBe(ids(whole));
    }
  });

  test("cut after any byte, it is the whole answer or an error with a true beginning", async () => {
    const whole = await read(wire, framesOf([all]));
    // Most cuts leave the same whole frames, and the same frames are read but once.
    const known = new Map<string, Promise<Answer>>();
    for (let at = 0; at < all.length; at++) {
      const frames = framesOf([all.subarray(0, at)]);
      const key = JSON.stringify(frames);
      const reading = known.get(key) ?? read(wire, frames);
      known.set(key, reading);
      const cut = await reading;
      if (!cut.error) {
        expect([at, ids(cut), cut.stop]).toEqual([at, ids(whole), whole.stop]);
        continue;
      }
      expect(whole.text.startsWith(cut.text) && whole.reasoning.startsWith(cut.reasoning)).toBe(true);
      const names = whole.calls.map(({ input }) => JSON.stringify(input));
      for (const one of cut.calls) expect(names).toContain(JSON.stringify(one.input));
      expect(cut.stop).toBeNull();
    }
  });

  test("a socket dropped at any of many bytes gives the answer once, after a repeat or not at all", async () => {
    const places = Array.from({ length: 24 }, (_, index) => Math.floor((index * all.length) / 24));
    let left: number[] = [];
    const server = await startModelServer(() => {
      const cut = left.shift();
      return cut === undefined ? REPLY : { ...REPLY, cut };
    });
    for (const place of places) {
      left = [place];
      const answer = await ask(server, wire, request([user("hi")]));
      if (answer.error) expect(answer.error.message).toMatch(/lost|early/);
      else expect([answer.text, answer.reasoning]).toEqual([REPLY.text ?? "", REPLY.reasoning ?? ""]);
      expect(answer.text.length).toBeLessThanOrEqual((REPLY.text ?? "").length);
    }
    await server.close();
    expect(server.faults).toEqual([]);
  });
});

test("error frames are told from ordinary ones", () => {
  const of = (data: JsonObject, event = "") => errorIn({ event, data }) !== null;
  expect(of({ error: { message: "x" } })).toBe(true);
  expect(of({ type: "error", message: "x" })).toBe(true);
  expect(of({ message: "x" }, "error")).toBe(true);
  expect(of({ object: "error", message: "x", code: 400 })).toBe(true);
  expect(of({ type: "response.failed", response: { error: { code: "x" } } })).toBe(true);
  expect(of({ error: null, choices: [] })).toBe(false);
  expect(of({ type: "response.created", response: { error: null } })).toBe(false);
  expect(errorIn({ event: "", data: null })).toBeNull();
});
