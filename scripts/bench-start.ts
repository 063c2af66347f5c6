/** How fast the program starts and how much memory it takes, against an empty program and a minimal client. */
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { canMeasurePeak, childMs, childPeakMb, interleaved, median, type Figure, type Group } from "./bench-measure.ts";
import { openTerminal } from "./bench-pty.ts";
import { serveAnswer, type AnswerServer } from "./bench-server.ts";
import { buildPrograms } from "./bench-yardsticks.ts";

const ROUNDS = 9;
const PEAK_ROUNDS = 3;
const KEYS = 40;
const PROMPT_LIMIT_MS = 60;
const KEY_LIMIT_MS = 2;
const IDLE_LIMIT_MB = 100;
/** What this program may weigh on top of the runtime it stands on. */
const OWN_MB = 9;

export const start: Group = {
  name: "start",
  about: "whole processes, built from these sources; the yardsticks are built with the same flags",
  run: measure,
};

async function* measure(folder: string, shared: string): AsyncGenerator<Figure> {
  const { shiro, hello, client } = await buildPrograms(shared);
  const server = serveAnswer(["Hello", " there", "."]);
  const env = benchEnvironment(folder, server.url);
  const oneShot = [shiro, "-p", "hello", "--no-stdin"];
  try {
    yield* compare([shiro, "--version"], [hello], "hello world", env);
    yield* compare([shiro, "--help"], [hello], "hello world", env);
    yield* compare(oneShot, [client], "minimal client", env);
    yield* firstRequest(oneShot, [client], server, env);
    yield* atTheTerminal(shiro, folder, env);
    const own = statSync(shiro).size - statSync(hello).size;
    yield {
      what: "binary, beyond hello world",
      value: own / 1e6,
      unit: "MB",
      baseline: { what: "the limit", value: OWN_MB },
    };
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

/** From before the process is made until its request's body is there. */
async function* firstRequest(
  ours: string[],
  theirs: string[],
  server: AnswerServer,
  env: Record<string, string>,
): AsyncGenerator<Figure> {
  const reach = async (argv: string[]): Promise<number> => {
    const begun = performance.now();
    await childMs(argv, { env });
    return (server.exchanges.at(-1)?.asked ?? Number.NaN) - begun;
  };
  const times = await interleaved(ROUNDS, { ours: () => reach(ours), theirs: () => reach(theirs) });
  const baseline = { what: "minimal client", value: times.theirs };
  yield { what: "start to first request", value: times.ours, unit: "ms", baseline };
}

async function* atTheTerminal(shiro: string, folder: string, env: Record<string, string>): AsyncGenerator<Figure> {
  const cwd = join(folder, "project");
  mkdirSync(cwd, { recursive: true });
  const prompts: number[] = [];
  let keys: number[] = [];
  let resident: number | null = null;
  for (let round = 0; round < ROUNDS; round++) {
    const begun = performance.now();
    const terminal = openTerminal([shiro], { cwd, env });
    await terminal.shows("> ");
    prompts.push(performance.now() - begun);
    if (round === ROUNDS - 1) {
      keys = await keysToPaint(terminal);
      resident = terminal.residentMb();
    }
    await terminal.end();
  }
  const limit = (value: number): Figure["baseline"] => ({ what: "the limit", value });
  yield { what: "start to prompt", value: median(prompts), unit: "ms", baseline: limit(PROMPT_LIMIT_MS) };
  yield { what: "key to paint", value: median(keys), unit: "ms", baseline: limit(KEY_LIMIT_MS) };
  if (resident !== null)
    yield { what: "memory at the prompt", value: resident, unit: "MB", baseline: limit(IDLE_LIMIT_MB) };
}

async function keysToPaint(terminal: ReturnType<typeof openTerminal>): Promise<number[]> {
  const taken: number[] = [];
  for (let key = 0; key < KEYS; key++) {
    const begun = performance.now();
    const shown = terminal.next();
    terminal.write("x");
    await shown;
    taken.push(performance.now() - begun);
  }
  return taken;
}
