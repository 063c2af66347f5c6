/** Repaired and compacted histories in the words of each wire, judged by the strict checkers of the model server. */
import { HistoryItems } from "../src/provider-history.ts";
import { expect, test } from "bun:test";
import { summaryRequest } from "../src/compact.ts";
import { factsFor } from "../src/models.ts";
import { anthropicWire } from "../src/provider-anthropic.ts";
import { chatWire } from "../src/provider-chat.ts";
import { responsesWire } from "../src/provider-responses.ts";
import type { WireContext, WireModule } from "../src/provider-wire.ts";
import { originOf, type ModelRequest, type Protocol } from "../src/provider.ts";
import { compactView } from "../src/prune-ladder.ts";
import { openView, wireMessages } from "../src/prune-view.ts";
import { repair } from "../src/prune.ts";
import { TokenMeter } from "../src/tokens.ts";
import type { JsonObject, Message } from "../src/types.ts";
import { anthropicFault } from "./support/strict-anthropic.ts";
import { newMemory, type Fault, type Memory } from "./support/strict-body.ts";
import { chatFault } from "./support/strict-chat.ts";
import { responsesFault } from "./support/strict-responses.ts";
import { rounds } from "./support/rounds.ts";
import { damaged, healthyTranscript, seeded, user } from "./support/transcripts.ts";

interface Wire {
  name: string;
  module: WireModule;
  protocol: Protocol;
  fault: (body: JsonObject, memory: Memory) => Fault | null;
}

const WIRES: Wire[] = [
  { name: "anthropic", module: anthropicWire, protocol: "anthropic", fault: anthropicFault },
  { name: "chat", module: chatWire, protocol: "openai", fault: chatFault },
  { name: "responses", module: responsesWire, protocol: "openai", fault: responsesFault },
];

const TOOLS = [{ name: "read_file", description: "Reads a file.", schema: { type: "object", properties: {} } }];

function faultOf(wire: Wire, messages: readonly Message[], tools: ModelRequest["tools"] = TOOLS): string | null {
  const endpoint = {
    protocol: wire.protocol,
    presetId: "custom",
    baseURL: "http://127.0.0.1:1/v1",
    apiKey: null,
    headers: {},
    timeoutMs: null,
    forcedWire: null,
  };
  const context: WireContext = {
    endpoint,
    origin: originOf(endpoint, "some-model"),
    facts: factsFor("some-model", "custom"),
    isOpenAI: false,
    keepReasoningFrom: 0,
    refusedImages: new Set(),
    continuing: false,
    history: new HistoryItems(),
  };
  const request: ModelRequest = {
    model: "some-model",
    system: "Be brief.",
    tools,
    messages,
    thinking: "off",
    maxOutputTokens: 1_000,
    sessionId: "s",
  };
  return wire.fault(wire.module.build(request, context).body, newMemory({}))?.message ?? null;
}

test.each(WIRES)("random broken histories are accepted by $name once repaired", (wire) => {
  for (let seed = 1; seed <= rounds(60, 120); seed++) {
    const random = seeded(seed);
    const messages = repair(damaged(healthyTranscript(random, 5), random));
    if (messages.length > 0) expect({ seed, fault: faultOf(wire, messages) }).toEqual({ seed, fault: null });
  }
});

test.each(WIRES)("compacted histories are accepted by $name, also when cut again", async (wire) => {
  const meter = new TokenMeter();
  for (let seed = 1; seed <= rounds(15, 30); seed++) {
    const random = seeded(seed);
    let view = openView([...healthyTranscript(random, 10), user("go on")]);
    for (const share of [0.6, 0.2]) {
      const size = view.messages.reduce((sum, message) => sum + meter.message(message), 0);
      const summarise = async () => "what was done";
      const options = {
        targetTokens: size * share,
        fixedTokens: 0,
        estimate: meter.message,
        summarise,
        bindsThinking: false,
      };
      view = (await compactView(view, options)).view;
      expect({ seed, fault: faultOf(wire, wireMessages(view)) }).toEqual({ seed, fault: null });
    }
  }
});

test.each(WIRES)("the summary request needs no tools on $name", (wire) => {
  const { messages } = summaryRequest(healthyTranscript(seeded(1), 8), "earlier");
  expect(faultOf(wire, messages, [])).toBeNull();
});
