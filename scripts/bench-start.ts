/** How fast the program starts and how much memory it takes, against an empty program and a minimal client. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canMeasurePeak, childMs, childPeakMb, interleaved, type Figure, type Group } from "./bench-measure.ts";
import { serveAnswer } from "./bench-server.ts";
import { BUILD_FLAGS, build, root } from "./build.ts";

const ROUNDS = 9;
const PEAK_ROUNDS = 3;

export const start: Group = {
  name: "start",
  about: "wall time and peak memory of whole processes, built from these sources",
  run: measure,
};

const HELLO = 'console.log("hello");\n';

/** The least that a program on this SDK does for one streamed answer. */
const CLIENT = `import OpenAI from "openai";
const client = new OpenAI({ baseURL: process.env.SHIRO_BASE_URL, apiKey: "bench" });
const stream = await client.chat.completions.create({
  model: "bench",
  messages: [{ role: "user", content: "hello" }],
  stream: true,
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? "");
`;

async function* measure(folder: string): AsyncGenerator<Figure> {
  const shiro = join(folder, "shiro");
  await build(shiro);
  const hello = await compile(folder, "hello", HELLO, ["--compile"]);
  const client = await compile(folder, "client", CLIENT, BUILD_FLAGS);
  const server = serveAnswer(["Hello", " there", "."]);
  const env = benchEnvironment(folder, server.url);
  try {
    yield* compare([shiro, "--version"], [hello], "hello world", env);
    yield* compare([shiro, "--help"], [hello], "hello world", env);
    yield* compare([shiro, "-p", "hello", "--no-stdin"], [client], "minimal client", env);
    yield* compare([shiro, "-p", "hello", "--no-stdin"], [hello], "hello world", env);
  } finally {
    server.stop();
  }
}

/** A home of its own, no keys, and the local server as endpoint. */
export function benchEnvironment(folder: string, url: string): Record<string, string> {
  const home = join(folder, "home");
  mkdirSync(home, { recursive: true });
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    SHIRO_HOME: join(home, "shiro"),
    SHIRO_PROVIDER: "openai",
    SHIRO_BASE_URL: url,
    SHIRO_MODEL: "bench",
    SHIRO_API_KEY: "bench",
  };
}

async function* compare(
  ours: string[],
  theirs: string[],
  baseline: string,
  env: Record<string, string>,
): AsyncGenerator<Figure> {
  const what = ["shiro", ...ours.slice(1)].join(" ");
  const wall = await interleaved(ROUNDS, {
    ours: () => childMs(ours, { env }),
    theirs: () => childMs(theirs, { env }),
  });
  yield { what: `${what}: time`, value: wall.ours, unit: "ms", baseline: { what: baseline, value: wall.theirs } };
  if (!canMeasurePeak()) return console.log("  SKIPPED: peak memory needs GNU time on Linux");
  const peak = await interleaved(PEAK_ROUNDS, {
    ours: () => childPeakMb(ours, { env }),
    theirs: () => childPeakMb(theirs, { env }),
  });
  yield {
    what: `${what}: peak memory`,
    value: peak.ours,
    unit: "MB",
    baseline: { what: baseline, value: peak.theirs },
  };
}

async function compile(folder: string, name: string, source: string, flags: readonly string[]): Promise<string> {
  const [entry, outfile] = [join(folder, `${name}.ts`), join(folder, name)];
  writeFileSync(entry, source);
  const modules = join(folder, "node_modules");
  if (name === "client") symlinkSync(join(root, "node_modules"), modules);
  await childMs([process.execPath, "build", ...flags, entry, "--outfile", outfile], { cwd: folder });
  return outfile;
}
