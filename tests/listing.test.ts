/** What endpoints report about their models, asked over HTTP. */
import { afterEach, describe, expect, test } from "bun:test";
import { ProviderError, UserError } from "../src/errors.ts";
import { listModels, runningLocalServers, withKnownFacts, type ListedModel } from "../src/listing.ts";
import { readListed, readOllamaShow } from "../src/listing-facts.ts";
import type { Endpoint } from "../src/provider.ts";
import type { Json } from "../src/types.ts";

type Answer = Json | Response | ((request: Request) => Json | Response | Promise<Json | Response>);

interface Asked {
  url: string;
  headers: Headers;
}

const open: { stop(force: boolean): unknown }[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.stop(true);
});

/** A server with an answer per `METHOD /path`; anything else is 404. */
function serve(routes: Record<string, Answer>): { root: string; asked: Asked[] } {
  const asked: Asked[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    // Otherwise the server itself would end a request that hangs.
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      asked.push({ url: `${request.method} ${pathname}${search}`, headers: request.headers });
      const answer = routes[`${request.method} ${pathname}`];
      if (answer === undefined) return new Response("not here", { status: 404 });
      const made = typeof answer === "function" ? await answer(request) : answer;
      return made instanceof Response ? made : Response.json(made);
    },
  });
  open.push(server);
  return { root: `http://127.0.0.1:${server.port}`, asked };
}

const endpoint = (baseURL: string, over: Partial<Endpoint> = {}): Endpoint => ({
  protocol: "openai",
  presetId: "custom",
  baseURL,
  apiKey: "sk-test",
  headers: {},
  timeoutMs: null,
  forcedWire: null,
  ...over,
});

const deps = () => ({ env: {}, signal: new AbortController().signal });

const model = (id: string, over: Partial<ListedModel> = {}): ListedModel => ({
  id,
  name: null,
  context: null,
  maxOutput: null,
  vision: null,
  tools: null,
  reasoning: null,
  effort: null,
  price: null,
  ...over,
});

async function failureOf(work: Promise<unknown>): Promise<ProviderError> {
  const error = await work.then(
    () => new Error("no failure"),
    (reason: unknown) => reason,
  );
  if (error instanceof ProviderError) return error;
  throw error;
}

describe("the OpenAI protocol", () => {
  test("lists ids in the server's order, each once, with the key as bearer", async () => {
    const { root, asked } = serve({
      "GET /v1/models": { object: "list", data: [{ id: "b" }, { id: "a", object: "model" }, { id: "b" }] },
    });
    const listed = await listModels(endpoint(`${root}/v1/`, { headers: { "x-team": "7" } }), deps());
    expect(listed).toEqual([model("b"), model("a")]);
    expect(asked.map((each) => each.url)).toEqual(["GET /v1/models"]);
    expect(asked[0]?.headers.get("authorization")).toBe("Bearer sk-test");
    expect(asked[0]?.headers.get("x-team")).toBe("7");
  });

  test("a keyless server gets no key header", async () => {
    const { root, asked } = serve({ "GET /v1/models": { data: [] } });
    expect(await listModels(endpoint(`${root}/v1`, { apiKey: null }), deps())).toEqual([]);
    expect(asked[0]?.headers.has("authorization")).toBe(false);
  });

  test.each([
    ["a bare array", [{ id: "a" }]],
    ["a list named models", { models: [{ name: "models/a" }] }],
    ["entries that name nothing", { data: [null, 7, "x", {}, { id: "" }, { id: 3 }, { id: "a" }] }],
    ["ids nobody could type", { data: [{ id: "evil\u001b[2J" }, { id: "x".repeat(300) }, { id: "a" }] }],
  ] as const)("%s is understood", async (_, body) => {
    // Fixed arrays are JSON like any other.
    const { root } = serve({ "GET /v1/models": body as unknown as Json });
    const listed = await listModels(endpoint(`${root}/v1`), deps());
    expect(listed.map((each) => each.id)).toEqual(["a"]);
  });

  test("a bare host is asked again below /v1", async () => {
    const { root, asked } = serve({ "GET /v1/models": { data: [{ id: "a" }] }, "GET /models": new Response("<html>") });
    expect(await listModels(endpoint(root), deps())).toEqual([model("a")]);
    expect(asked.map((each) => each.url)).toEqual(["GET /models", "GET /v1/models"]);
  });

  test("no list at all is an empty one where the server says null", async () => {
    const { root } = serve({ "GET /v1/models": { object: "list", data: null } });
    expect(await listModels(endpoint(`${root}/v1`), deps())).toEqual([]);
  });
});

describe("reported facts", () => {
  const cases: readonly (readonly [server: string, entry: Json, expected: Partial<ListedModel>])[] = [
    [
      "OpenRouter",
      {
        id: "m",
        name: "M",
        context_length: 200_000,
        architecture: { input_modalities: ["text", "image"] },
        pricing: { prompt: "0.0000003", completion: "0.0000025", input_cache_read: "0.00000003", web_search: "0.01" },
        top_provider: { context_length: 128_000, max_completion_tokens: 64_000 },
        supported_parameters: ["tools", "reasoning", "max_tokens"],
        reasoning: { supported_efforts: ["low", "high"] },
      },
      {
        name: "M",
        context: 128_000,
        maxOutput: 64_000,
        vision: true,
        tools: true,
        reasoning: true,
        effort: ["low", "high"],
        price: { input: 0.3, output: 2.5, cacheRead: 0.03 },
      },
    ],
    [
      "OpenRouter's router, whose price depends",
      { id: "m", pricing: { prompt: "-1", completion: "-1" }, supported_parameters: [] },
      { tools: false, reasoning: false },
    ],
    ["Groq", { id: "m", context_window: 131_072, max_completion_tokens: 8192 }, { context: 131_072, maxOutput: 8192 }],
    [
      "Mistral",
      { id: "m", max_context_length: 32_000, capabilities: { vision: false, function_calling: true, reasoning: true } },
      { context: 32_000, vision: false, tools: true, reasoning: true },
    ],
    [
      "Copilot",
      {
        id: "m",
        capabilities: {
          limits: { max_context_window_tokens: 128_000, max_output_tokens: 16_000 },
          supports: { vision: true, tool_calls: true },
        },
      },
      { context: 128_000, maxOutput: 16_000, vision: true, tools: true },
    ],
    [
      "Together",
      { id: "m", type: "chat", context_length: 8000, pricing: { input: 0.2, output: 0.6 } },
      { context: 8000, price: { input: 0.2, output: 0.6 } },
    ],
    ["vLLM", { id: "m", max_model_len: 40_960 }, { context: 40_960 }],
    ["llama.cpp", { id: "m", meta: { n_ctx: 4096, n_ctx_train: 131_072 } }, { context: 4096 }],
    ["a server that lies", { id: "m", context_length: -5, max_completion_tokens: 1.5, pricing: { prompt: "x" } }, {}],
  ];
  test.each(cases)("of %s", async (_, entry, expected) => {
    const { root } = serve({ "GET /v1/models": { data: [entry] } });
    expect(await listModels(endpoint(`${root}/v1`), deps())).toEqual([model("m", expected)]);
  });

  test("say which entries answer no prompts: those are left out", async () => {
    const data = [
      { id: "m" },
      { id: "off", active: false },
      { id: "embed", capabilities: { completion_chat: false } },
      { id: "paint", type: "image" },
    ];
    const { root } = serve({ "GET /v1/models": { data } });
    expect((await listModels(endpoint(`${root}/v1`), deps())).map((each) => each.id)).toEqual(["m"]);
  });

  test("are completed from what is known, never overwritten", () => {
    const known = withKnownFacts(model("gpt-5.1", { context: 1000 }), "openai");
    expect(known).toMatchObject({ context: 1000, maxOutput: 128_000, reasoning: true, price: { input: 1.25 } });
    expect(withKnownFacts(model("nobody-knows"), "custom")).toEqual(model("nobody-knows"));
  });
});

test("whatever a server sends, its entries never break the reading", () => {
  const random = seeded(20_261_130);
  const keys = ["id", "name", "pricing", "capabilities", "top_provider", "meta", "type", "architecture", "reasoning"];
  const inner = ["prompt", "completion", "supported", "effort", "thinking", "context_length", "input_modalities"];
  const make = (depth: number, names: readonly string[]): Json => {
    const kind = Math.floor(random() * (depth > 3 ? 5 : 7));
    if (kind === 5) return Array.from({ length: 3 }, () => make(depth + 1, inner));
    if (kind === 6) return Object.fromEntries(names.map((name) => [name, make(depth + 1, inner)]));
    return [null, true, -1, 1e308, "0.5"][kind] ?? null;
  };
  for (let round = 0; round < 3000; round++) {
    const entry = Object.fromEntries(keys.map((key) => [key, make(0, inner)]));
    const listed = readListed({ ...entry, id: "m" });
    expect(listed?.id).toBe("m");
    for (const size of [listed?.context, listed?.maxOutput]) expect(size == null || size > 0).toBe(true);
    readOllamaShow(model("m"), make(0, inner), null);
  }
});

/** Park and Miller's generator: the same numbers for the same seed. */
function seeded(seed: number): () => number {
  let state = seed % 2_147_483_647;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

test.each<[string, string, Json, Json]>([
  ["by the last id", "after", { data: [{ id: "a" }], has_more: true, last_id: "a" }, { data: [{ id: "b" }] }],
  ["by a token", "pageToken", { models: [{ name: "models/a" }], nextPageToken: "a" }, { models: [{ name: "b" }] }],
])("a list of the OpenAI protocol in pages is read to its end: %s", async (_, parameter, first, second) => {
  const { root } = serve({
    "GET /v1/models": (request) => (new URL(request.url).searchParams.get(parameter) === "a" ? second : first),
  });
  expect((await listModels(endpoint(`${root}/v1`), deps())).map((each) => each.id)).toEqual(["a", "b"]);
});

test("the query of a base URL goes along to the list", async () => {
  const asked: string[] = [];
  const { root } = serve({ "GET /v1/models": (request) => (asked.push(new URL(request.url).search), { data: [] }) });
  await listModels(endpoint(`${root}/v1/?api-version=1`), deps());
  expect(asked).toEqual(["?api-version=1"]);
});

describe("the Anthropic protocol", () => {
  test.each(["", "/", "/v1", "/v1/"])("reads all pages of a base URL ending in %p", async (ending) => {
    const pages: Record<string, Json> = {
      "": { data: [{ id: "a" }, { id: "b" }], has_more: true, first_id: "a", last_id: "b" },
      b: { data: [{ id: "c" }], has_more: false, first_id: "c", last_id: "c" },
    };
    const { root, asked } = serve({
      "GET /v1/models": (request) => pages[new URL(request.url).searchParams.get("after_id") ?? ""] ?? [],
    });
    const listed = await listModels(endpoint(root + ending, { protocol: "anthropic" }), deps());
    expect(listed.map((each) => each.id)).toEqual(["a", "b", "c"]);
    expect(asked.map((each) => each.url)).toEqual([
      "GET /v1/models?limit=1000",
      "GET /v1/models?limit=1000&after_id=b",
    ]);
    expect(asked[0]?.headers.get("x-api-key")).toBe("sk-test");
    expect(asked[0]?.headers.has("authorization")).toBe(false);
    expect(asked[0]?.headers.get("anthropic-version")).toBe("2023-06-01");
  });

  test("a server that never ends is left", async () => {
    const stuck = serve({ "GET /v1/models": { data: [{ id: "a" }], has_more: true, last_id: "a" } });
    expect(await listModels(endpoint(stuck.root, { protocol: "anthropic" }), deps())).toHaveLength(1);
    expect(stuck.asked).toHaveLength(2);
    let page = 0;
    const endless = serve({
      "GET /v1/models": () => ({ data: [{ id: `m${page++}` }], has_more: true, last_id: `m${page}` }),
    });
    expect(await listModels(endpoint(endless.root, { protocol: "anthropic" }), deps())).toHaveLength(50);
  });

  test("capabilities are read", async () => {
    const yes = { supported: true };
    const no = { supported: false };
    const entry: Json = {
      id: "m",
      display_name: "M",
      max_input_tokens: 1_000_000,
      max_tokens: 128_000,
      capabilities: {
        image_input: yes,
        thinking: { supported: true, types: { adaptive: yes, enabled: no } },
        effort: { supported: true, low: yes, medium: yes, high: yes, xhigh: no, max: null },
      },
    };
    const { root } = serve({ "GET /v1/models": { data: [entry], has_more: false } });
    expect(await listModels(endpoint(root, { protocol: "anthropic" }), deps())).toEqual([
      model("m", {
        name: "M",
        context: 1_000_000,
        maxOutput: 128_000,
        vision: true,
        reasoning: true,
        effort: ["low", "medium", "high"],
      }),
    ]);
  });
});

describe("local servers", () => {
  test("Ollama tells the size a model runs with and what it can do", async () => {
    const shown: Record<string, Json> = {
      set: { parameters: 'stop "x"\nnum_ctx    8192', model_info: { "llama.context_length": 131_072 } },
      loaded: { model_info: { "qwen3.context_length": 40_960 }, capabilities: ["completion", "tools", "thinking"] },
      plain: { model_info: { "gemma3.context_length": 32_768 }, capabilities: ["completion", "vision"] },
    };
    const { root, asked } = serve({
      "GET /v1/models": { data: [{ id: "set" }, { id: "loaded" }, { id: "plain" }, { id: "broken" }] },
      "GET /api/ps": { models: [{ model: "loaded", context_length: 4096 }] },
      "POST /api/show": async (request) =>
        shown[JSON.parse(await request.text()).model] ?? new Response("no", { status: 500 }),
    });
    const listed = await listModels(endpoint(`${root}/v1`, { presetId: "ollama", apiKey: null }), deps());
    expect(listed).toEqual([
      model("set", { context: 8192 }),
      model("loaded", { context: 4096, vision: false, tools: true, reasoning: true }),
      model("plain", { context: 32_768, vision: true, tools: false, reasoning: false }),
      model("broken"),
    ]);
    expect(asked).toHaveLength(6);
  });

  test("LM Studio's own list gives sizes and drops embedding models, in both its versions", async () => {
    const plain: Json = { data: [{ id: "a" }, { id: "embed" }, { id: "b" }] };
    const old = serve({
      "GET /v1/models": plain,
      "GET /api/v0/models": {
        data: [
          { id: "a", type: "vlm", max_context_length: 32_768, loaded_context_length: 8192, capabilities: ["tool_use"] },
          { id: "embed", type: "embeddings", max_context_length: 512 },
        ],
      },
    });
    const current = serve({
      "GET /v1/models": plain,
      "GET /api/v1/models": {
        models: [
          {
            key: "a",
            type: "llm",
            max_context_length: 32_768,
            loaded_instances: [{ config: { context_length: 8192 } }],
            capabilities: { vision: true, trained_for_tool_use: true },
          },
          { key: "embed", type: "embedding" },
        ],
      },
    });
    const expected = [model("a", { context: 8192, vision: true, tools: true }), model("b")];
    for (const { root } of [old, current]) {
      expect(await listModels(endpoint(`${root}/v1`, { presetId: "lmstudio" }), deps())).toEqual(expected);
    }
  });

  test("an older server without an interface of its own still has its list", async () => {
    const { root } = serve({ "GET /v1/models": { data: [{ id: "a" }] } });
    for (const presetId of ["ollama", "lmstudio"]) {
      expect(await listModels(endpoint(`${root}/v1`, { presetId }), deps())).toEqual([model("a")]);
    }
  });

  test("those that answer are said to run, the dead and the hanging are not", async () => {
    const { root } = serve({ "GET /v1/models": { data: [] } });
    const hanging = serve({ "GET /v1/models": () => new Promise<Json>(() => {}) });
    const closed = serve({});
    await open.pop()?.stop(true);
    const running = await runningLocalServers([
      { id: "dead", baseURL: `${closed.root}/v1` },
      { id: "alive", baseURL: `${root}/v1` },
      { id: "hanging", baseURL: `${hanging.root}/v1` },
    ]);
    // The hanging one never answers: that there is a result says that it wasn't waited for.
    expect(running).toEqual(["alive"]);
  }, 15_000);
});

describe("a failure is classified, with what to do", () => {
  const page = "<!doctype html><title>Welcome</title>" + "x".repeat(5000);
  const html = (status: number) => new Response(page, { status, headers: { "content-type": "text/html" } });
  const cases: readonly (readonly [string, () => Json | Response, Partial<ProviderError>])[] = [
    ["401", () => Response.json({ error: { message: "bad key" } }, { status: 401 }), { kind: "auth", status: 401 }],
    ["403", () => new Response("", { status: 403 }), { kind: "auth", status: 403 }],
    ["404", () => new Response("", { status: 404 }), { kind: "shape", status: 404 }],
    ["405", () => html(405), { kind: "shape", status: 405 }],
    ["429", () => Response.json({ error: { message: "slow down" } }, { status: 429 }), { kind: "rate" }],
    ["500", () => new Response("oops", { status: 500 }), { kind: "server", status: 500 }],
    ["a page", () => html(200), { kind: "content" }],
    ["a gateway's page", () => html(502), { kind: "server", status: 502 }],
    ["an empty body", () => new Response(""), { kind: "content" }],
    ["half a JSON", () => new Response('{"data":['), { kind: "content" }],
    ["some other JSON", () => ({ hello: 1 }), { kind: "shape" }],
    [
      "an error with status 200",
      () => ({ error: { message: "model not loaded", code: "x" } }),
      { message: "model not loaded", code: "x" },
    ],
    ["a redirect", () => Response.redirect("http://127.0.0.1:1/v1/models"), { kind: "request", status: 302 }],
  ];
  test.each(cases)("%s", async (_, answer, expected) => {
    const { root, asked } = serve({ "GET /v1/models": answer });
    const error = await failureOf(listModels(endpoint(`${root}/v1`), deps()));
    expect(error).toMatchObject(expected);
    expect(error.message.length).toBeLessThan(500);
    expect(error.message).not.toContain("xxxx");
    expect(asked).toHaveLength(1);
  });

  test("a missing /v1 is guessed", async () => {
    const { root } = serve({});
    expect((await failureOf(listModels(endpoint(root), deps()))).hint).toContain("/v1 missing");
    expect((await failureOf(listModels(endpoint(`${root}/v1`), deps()))).hint).toContain("--model");
  });

  test("nobody there is a network failure", async () => {
    const { root } = serve({});
    await open.pop()?.stop(true);
    expect((await failureOf(listModels(endpoint(`${root}/v1`), deps()))).kind).toBe("network");
  });

  test("an address that is none is the user's to mend", async () => {
    for (const address of ["not a url", "localhost:8080", "file:///etc"]) {
      await expect(listModels(endpoint(address), deps())).rejects.toThrow(UserError);
    }
  });

  test("silence ends at the limit, and at once when the user aborts", async () => {
    const { root } = serve({ "GET /v1/models": () => new Promise<Json>(() => {}) });
    const slow = await failureOf(listModels(endpoint(`${root}/v1`, { timeoutMs: 50 }), deps()));
    expect(slow.kind).toBe("timeout");
    const clock = { env: {}, signal: AbortSignal.timeout(50) };
    expect((await failureOf(listModels(endpoint(`${root}/v1`), clock))).kind).toBe("timeout");
    const user = new AbortController();
    const listing = listModels(endpoint(`${root}/v1`), { env: {}, signal: user.signal });
    user.abort();
    expect(await listing.catch((error: Error) => error.name)).toBe("AbortError");
  });

  test("a body without end is not read to its end", async () => {
    const chunk = new Uint8Array(1024 * 1024).fill(32);
    const endless = () => new Response(new ReadableStream({ pull: (controller) => controller.enqueue(chunk) }));
    const { root } = serve({ "GET /v1/models": endless });
    expect((await failureOf(listModels(endpoint(`${root}/v1`), deps()))).kind).toBe("content");
  });
});
