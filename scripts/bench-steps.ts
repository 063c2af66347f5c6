/** What a step costs, and whether it costs more the longer a session is: the gap between an answer and the next request, processor time, memory, bytes. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { median, runChild, type ChildRun, type Figure, type Group } from "./bench-measure.ts";
import { serveScript, type AnswerServer } from "./bench-server.ts";
import { benchEnvironment } from "./bench-start.ts";
import { buildPrograms } from "./bench-yardsticks.ts";

const LENGTHS = [30, 300, 2000] as const;
const GAP_LIMIT_MS = 2;
const REQUEST_LIMIT = 14_000;

export const steps: Group = {
  name: "steps",
  about: `runs of ${LENGTHS.join(", ")} steps that read one small file each, against the minimal client doing the same`,
  run: measure,
};

interface Run {
  child: ChildRun;
  /** Medians, ms: of all gaps, of the first and of the last tenth of them. */
  gap: number;
  early: number;
  late: number;
  bodies: string[];
}

async function* measure(folder: string, shared: string): AsyncGenerator<Figure> {
  const { shiro, client } = await buildPrograms(shared);
  const cwd = join(folder, "project");
  mkdirSync(cwd);
  for (const length of LENGTHS) {
    for (let at = 0; at < length; at++) writeFileSync(join(cwd, `f${at}.txt`), `line ${at}\n`);
    const argv = [shiro, "-p", "go", "--no-stdin", "-q", "--max-steps", String(length + 5)];
    const ours = await runSteps(folder, cwd, argv, length);
    const theirs = await runSteps(folder, cwd, [client], length);
    const than = (value: number): Figure["baseline"] => ({ what: "minimal client", value });
    const gap = { what: `${length} steps: gap, median`, value: ours.gap, unit: "ms" } as const;
    yield { ...gap, baseline: { what: "the limit", value: GAP_LIMIT_MS } };
    yield { ...gap, baseline: than(theirs.gap) };
    yield {
      what: `${length} steps: gap, last tenth`,
      value: ours.late,
      unit: "ms",
      baseline: { what: "first tenth", value: ours.early },
    };
    const cpu = (run: Run): number => run.child.cpuMs / length;
    yield { what: `${length} steps: processor time a step`, value: cpu(ours), unit: "ms", baseline: than(cpu(theirs)) };
    yield {
      what: `${length} steps: peak memory`,
      value: ours.child.peakMb,
      unit: "MB",
      baseline: than(theirs.child.peakMb),
    };
    if (length === LENGTHS[0]) yield* bytes(ours.bodies);
  }
}

async function* bytes(bodies: readonly string[]): AsyncGenerator<Figure> {
  const [first = "", second = ""] = bodies;
  const request: unknown = JSON.parse(first);
  const part = (key: string): string =>
    JSON.stringify(typeof request === "object" && request !== null ? Reflect.get(request, key) : null);
  yield {
    what: "first request",
    value: Buffer.byteLength(first),
    unit: "bytes",
    baseline: { what: "the limit", value: REQUEST_LIMIT },
  };
  yield { what: "first request: tools", value: Buffer.byteLength(part("tools")), unit: "bytes", baseline: null };
  yield { what: "first request: messages", value: Buffer.byteLength(part("messages")), unit: "bytes", baseline: null };
  const added = Buffer.byteLength(second) - Buffer.byteLength(first);
  yield { what: "added by a step", value: added, unit: "bytes", baseline: null };
  const stable = bodies.slice(1).filter((body, at) => body.startsWith(withoutEnd(bodies[at] ?? ""))).length;
  yield {
    what: "requests that begin with the one before",
    value: stable,
    unit: "count",
    baseline: { what: "all", value: bodies.length - 1 },
  };
}

/** A request up to the end of its last message: what follows (`],"stream":…`) stands after the new ones in the next. */
function withoutEnd(body: string): string {
  const parsed: unknown = JSON.parse(body);
  const messages: unknown = typeof parsed === "object" && parsed !== null ? Reflect.get(parsed, "messages") : null;
  const last = JSON.stringify(Array.isArray(messages) ? messages.at(-1) : null);
  return body.slice(0, body.lastIndexOf(last) + last.length);
}

async function runSteps(folder: string, cwd: string, argv: string[], length: number): Promise<Run> {
  const server = serveScript((request) =>
    request < length ? { tool: "read_file", input: { path: `f${request}.txt` } } : ["Done."],
  );
  try {
    const child = await runChild(argv, { cwd, env: benchEnvironment(folder, server.url) });
    if (server.exchanges.length !== length + 1)
      throw new Error(`${argv[0]} made ${server.exchanges.length} requests instead of ${length + 1}`);
    const gaps = gapsOf(server.exchanges);
    const tenth = Math.max(3, Math.floor(gaps.length / 10));
    // The first gap loads what every later one has.
    return {
      child,
      gap: median(gaps.slice(1)),
      early: median(gaps.slice(1, tenth + 1)),
      late: median(gaps.slice(-tenth)),
      bodies: server.exchanges.map(({ body }) => body),
    };
  } finally {
    server.stop();
  }
}

function gapsOf(exchanges: AnswerServer["exchanges"]): number[] {
  return exchanges.slice(1).map(({ asked }, at) => asked - (exchanges[at]?.answered ?? asked));
}
