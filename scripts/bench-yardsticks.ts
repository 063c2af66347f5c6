/** What shiro is measured against: an empty program, and the least client that talks to a model. Built with shiro's own flags. */
import { existsSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, compile, root } from "./build.ts";

export interface Programs {
  shiro: string;
  /** Prints one word. */
  hello: string;
  /** Streams answers over the openai SDK, imported when it is needed; reads files when the model says so. */
  client: string;
}

const HELLO = 'console.log("hello");\n';

/** The least loop on this SDK: an answer is printed, a call is a file to read, an answer without calls is the end. */
const CLIENT = `import { readFileSync } from "node:fs";
const { default: OpenAI } = await import("openai");
const client = new OpenAI({ baseURL: process.env.SHIRO_BASE_URL, apiKey: "bench" });
const tools = [{ type: "function", function: { name: "read_file", parameters: { type: "object", properties: { path: { type: "string" } } } } }];
const messages = [{ role: "user", content: "hello" }];
for (;;) {
  const stream = await client.chat.completions.create({ model: "bench", messages, tools, stream: true });
  let text = "";
  const calls = [];
  for await (const chunk of stream) {
    const delta = chunk.choices[0]?.delta;
    if (delta?.content) { text += delta.content; process.stdout.write(delta.content); }
    for (const call of delta?.tool_calls ?? []) {
      const one = (calls[call.index] ??= { id: call.id, type: "function", function: { name: call.function.name, arguments: "" } });
      one.function.arguments += call.function?.arguments ?? "";
    }
  }
  messages.push({ role: "assistant", content: text || null, ...(calls.length > 0 ? { tool_calls: calls } : {}) });
  if (calls.length === 0) break;
  for (const call of calls)
    messages.push({ role: "tool", tool_call_id: call.id, content: readFileSync(JSON.parse(call.function.arguments).path, "utf8") });
}
`;

/** Builds all three into `folder`, which a run of the benchmark shares between its groups. */
export async function buildPrograms(folder: string): Promise<Programs> {
  const shiro = join(folder, "shiro");
  if (!existsSync(shiro)) {
    await build(shiro);
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    await compileSource(folder, "hello", HELLO);
    await compileSource(folder, "client", CLIENT);
  }
  return { shiro, hello: join(folder, "hello"), client: join(folder, "client") };
}

async function compileSource(folder: string, name: string, source: string): Promise<void> {
  const entry = join(folder, `${name}.ts`);
  writeFileSync(entry, source);
  await compile(entry, join(folder, name));
}
