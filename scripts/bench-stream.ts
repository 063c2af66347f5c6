/** A long streamed answer, to a pipe and to a terminal, against a client that only reads it. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { inTerminal } from "./bench-pty.ts";
import { interleaved, runChild, timed, type ChildRun, type Figure, type Group } from "./bench-measure.ts";
import { serveAnswer } from "./bench-server.ts";
import { benchEnvironment } from "./bench-start.ts";
import { buildPrograms } from "./bench-yardsticks.ts";

const DELTAS = 20_000;
const ROUNDS = 3;
const END = "The answer ends.";

export const stream: Group = {
  name: "stream",
  about: `${DELTAS.toLocaleString("en")} deltas of some words each`,
  run: measure,
};

async function* measure(folder: string, shared: string): AsyncGenerator<Figure> {
  const { shiro, client } = await buildPrograms(shared);
  const cwd = join(folder, "project");
  mkdirSync(cwd);
  const server = serveAnswer(piecesOfText());
  const options = { cwd, env: benchEnvironment(folder, server.url) };
  const cpu = { ours: [] as number[], theirs: [] as number[] };
  const run = async (argv: string[], into: number[]): Promise<number> => {
    let done: ChildRun | null = null;
    const wall = await timed(async () => (done = await runChild(argv, options)));
    into.push((done as ChildRun | null)?.cpuMs ?? 0); // assigned inside the timed work
    return wall;
  };
  const typed = [shiro, "--plain", "go"];
  try {
    const times = await interleaved(ROUNDS, {
      headless: () => run([shiro, "-p", "go", "--no-stdin", "-q"], cpu.ours),
      terminal: () => timed(() => inTerminal([shiro, "go"], options, { until: END })),
      plain: () => timed(() => inTerminal(typed, options, { until: END })),
      client: () => run([client], cpu.theirs),
    });
    const baseline = { what: "the reading client", value: times.client };
    yield { what: "to a pipe: time", value: times.headless, unit: "ms", baseline };
    yield {
      what: "to a pipe: processor time",
      value: Math.min(...cpu.ours),
      unit: "ms",
      baseline: { what: "the reading client", value: Math.min(...cpu.theirs) },
    };
    yield { what: "to a terminal: time", value: times.terminal, unit: "ms", baseline };
    yield { what: "to a terminal, --plain: time", value: times.plain, unit: "ms", baseline };
  } finally {
    server.stop();
  }
}

function piecesOfText(): string[] {
  const words = ["The boundary ", "is wrong ", "when the **last** ", "page is `partly` ", "filled, ", "so it\n"];
  return [...Array.from({ length: DELTAS - 1 }, (_, at) => words[at % words.length] ?? ""), `\n\n${END}\n`];
}
