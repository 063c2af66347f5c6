/** The model in use as its local server runs it. */
import { afterAll, expect, test } from "bun:test";
import { withReportedFacts } from "../src/listing-report.ts";
import { factsFor } from "../src/models.ts";
import type { Json } from "../src/types.ts";
import { endpoint } from "./support/model-kit.ts";

const servers: { stop(): void }[] = [];
afterAll(() => servers.forEach((server) => server.stop()));

/** Answers these paths with JSON, all others with 404; notes what was asked. */
function serve(paths: Record<string, Json>): { root: string; asked: string[] } {
  const asked: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname } = new URL(request.url);
      asked.push(pathname);
      const found = paths[pathname];
      return found === undefined ? new Response("no", { status: 404 }) : Response.json(found);
    },
  });
  servers.push({ stop: () => void server.stop(true) });
  return { root: `http://127.0.0.1:${server.port}`, asked };
}

const deps = () => ({ env: {}, signal: new AbortController().signal });
const report = (model: string, presetId: string, root: string) =>
  withReportedFacts(factsFor(model, presetId), model, endpoint(`${root}/v1`, "openai", { presetId }), deps());

test("Ollama: the size it is loaded with counts, not the one it was made for", async () => {
  const { root, asked } = serve({
    "/api/ps": { models: [{ model: "qwen3:8b", context_length: 4096 }] },
    "/api/show": { model_info: { "qwen3.context_length": 40_960 }, capabilities: ["tools", "vision", "thinking"] },
  });
  const facts = await report("qwen3:8b", "ollama", root);
  expect(facts).toMatchObject({ context: 4096, inputLimit: null, vision: true, tools: true, reasons: true });
  expect(asked).toEqual(["/api/ps", "/api/show"]);
});

test("LM Studio: its own list tells", async () => {
  const { root } = serve({
    "/api/v0/models": { data: [{ id: "m", type: "vlm", max_context_length: 32_768, loaded_context_length: 8192 }] },
  });
  expect(await report("m", "lmstudio", root)).toMatchObject({ context: 8192, vision: true });
});

test.each([
  ["a server that doesn't know the model", "ollama", {}],
  ["a server that says nonsense", "ollama", { "/api/ps": [], "/api/show": "x" }],
  ["an LM Studio that lists others", "lmstudio", { "/api/v0/models": { data: [{ id: "other" }] } }],
])("%s changes nothing", async (_, presetId, paths: Record<string, Json>) => {
  expect(await report("m", presetId, serve(paths).root)).toEqual(factsFor("m", presetId));
});

test("nobody there changes nothing", async () => {
  expect(await report("m", "ollama", "http://127.0.0.1:1")).toEqual(factsFor("m", "ollama"));
});

test("any other endpoint is not asked", async () => {
  const { root, asked } = serve({});
  expect(await report("m", "custom-openai", root)).toEqual(factsFor("m", "custom-openai"));
  expect(asked).toEqual([]);
});
