/** Runs `shiro -p` of a bench inside the tests' own process: for what is said, sent and kept. Not for stdin, `-C`, signals, or anything else about a process; those drive the binary. */
import { parseArgs } from "../../src/args.ts";
import { runHeadless } from "../../src/headless-run.ts";
import { Output, type Sink } from "../../src/output.ts";
import { type Bench, parseEvents, plainEnv, type RunResult } from "./binary.ts";

/** A run without stdin, as `bench.run(args)` gives it, at a tenth of the cost of a start. */
export async function runInside(bench: Bench, args: string[]): Promise<RunResult> {
  const parsed = parseArgs(args);
  if (!parsed.options.print || parsed.options.directory !== null) throw new Error("this needs a process of its own");
  const texts = { stdout: "", stderr: "" };
  const io = {
    stdout: collecting((text) => (texts.stdout += text)),
    stderr: collecting((text) => (texts.stderr += text)),
    env: plainEnv(bench.dir, bench.env),
    cwd: bench.dir,
    problem: null,
    stdoutIsTerminal: false,
    end: (code: number): never => {
      throw new Error(`the run wanted its process ended with ${code}`);
    },
  };
  const code = await runHeadless({ ...parsed, options: { ...parsed.options, stdin: "never" } }, io);
  return { code, signal: null, ...texts, events: args.includes("--json") ? parseEvents(texts.stdout) : [] };
}

function collecting(take: (text: string) => void): Output {
  const sink: Sink = {
    write(text, done) {
      take(text);
      queueMicrotask(done);
      return true;
    },
    on: () => undefined,
  };
  return new Output(() => sink);
}
