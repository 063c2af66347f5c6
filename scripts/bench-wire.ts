/** Bytes that go with every request before anybody has said a word: tool schemas and the system prompt, against their limits. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "../src/args.ts";
import { setUp } from "../src/setup.ts";
import type { Figure, Group } from "./bench-measure.ts";
import { benchEnvironment } from "./bench-start.ts";

/** tests/prompt.size.test.ts holds the same limits. */
const TOOL_LIMIT = 9000;
const PROMPT_LIMIT = 4096;

export const wire: Group = {
  name: "wire",
  about: "fixed bytes of a request of the default configuration",
  run: measure,
};

async function* measure(folder: string): AsyncGenerator<Figure> {
  const cwd = join(folder, "project");
  mkdirSync(cwd);
  const setup = await setUp({
    options: parseArgs(["--ephemeral"]).options,
    env: benchEnvironment(folder, "http://127.0.0.1:9/v1"),
    cwd,
    interactive: true,
    onNotice: (notice) => console.log(`  notice: ${notice.message}`),
  });
  const tools = setup.session.toolDefinitions();
  const limit = (value: number): Figure["baseline"] => ({ what: "the limit", value });
  const bytes = (value: unknown): number =>
    Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value));
  yield { what: `schemas of ${tools.length} tools`, value: bytes(tools), unit: "bytes", baseline: limit(TOOL_LIMIT) };
  yield {
    what: "system prompt",
    value: bytes(setup.session.systemText()),
    unit: "bytes",
    baseline: limit(PROMPT_LIMIT),
  };
  await setup.close();
}
