/** A request whose tools may not be called, on every wire. */
import { expect, test } from "bun:test";
import type { Protocol } from "../src/provider.ts";
import { assistant, call, endpoint, results, TOOL, user } from "./support/model-kit.ts";
import { openProvider } from "../src/providers.ts";
import { factsFor } from "../src/models.ts";
import { startModelServer } from "./support/model-server.ts";

test.each<[string, Protocol, "chat" | "responses" | null, unknown]>([
  ["chat completions", "openai", "chat", "none"],
  ["responses", "openai", "responses", "none"],
  ["anthropic messages", "anthropic", null, { type: "none" }],
])(
  "%s: the tools stay as they are, beside the word that none may be called",
  async (_, protocol, forcedWire, choice) => {
    const server = await startModelServer([{ text: "all I know" }]);
    const provider = openProvider(endpoint(server.url, protocol, { forcedWire }), { env: {}, maxRetries: 0, factsFor });
    const request = {
      model: "m",
      system: "s",
      tools: [TOOL],
      messages: [user("go"), assistant([call("c1")]), results("c1"), user("stop here")],
      thinking: "off" as const,
      maxOutputTokens: null,
      sessionId: "x",
    };
    for (const noCalls of [true, false])
      for await (const event of provider.stream({ ...request, noCalls }, new AbortController().signal)) void event;
    const [without, withCalls] = server.requests.map(({ body }) => body);
    await server.close();
    expect(server.faults).toEqual([]);
    expect(without?.["tool_choice"]).toEqual(choice as string);
    expect(withCalls).not.toHaveProperty("tool_choice");
    expect(without?.["tools"]).toEqual(withCalls?.["tools"] ?? null);
  },
);
