/** What keeping a session costs over a long conversation: nothing in it may grow with the square of its length. */
import { closeSync, fdatasyncSync, fstatSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { sessionFiles } from "../src/paths.ts";
import { createSession, openSession } from "../src/sessions.ts";
import type { Message } from "../src/types.ts";
import { interleaved, median, timed, type Figure, type Group } from "./bench-measure.ts";

const STEPS = 1000;
/** Lengths at which a session is opened again. */
const RESUMED = [10, 100, 1000, 5000] as const;
/** Steps around the 10th and the 1,000th: one alone may meet a rewrite of the record. */
const EARLY = [5, 25] as const;
const LATE = [STEPS - 20, STEPS] as const;
/** Of a result: a screenful of a file. */
const ROUNDS = 3;
const RESULT_CHARS = 2000;

export const saving: Group = {
  name: "saving",
  about: `a session of ${STEPS} steps with results of ${RESULT_CHARS} characters, flushed after each`,
  run: measure,
};

interface Run {
  /** Milliseconds of each step. */
  saves: number[];
  appends: number[];
  /** Null where the system doesn't count. */
  bytesWritten: number | null;
  recordBytes: number;
}

async function* measure(folder: string): AsyncGenerator<Figure> {
  const run = await runSession(folder);
  const record = { what: "the final record", value: run.recordBytes };
  if (run.bytesWritten === null) console.log("  SKIPPED: bytes written are counted on Linux only");
  else yield { what: "bytes written", value: run.bytesWritten, unit: "bytes", baseline: record };
  const [early, late] = [median(run.saves.slice(...EARLY)), median(run.saves.slice(...LATE))];
  const append = median(run.appends.slice(...LATE));
  const step = { what: `saving step ${STEPS}`, value: late, unit: "ms" } as const;
  yield { ...step, baseline: { what: "saving step 10", value: early } };
  yield { ...step, baseline: { what: "append and fdatasync", value: append } };
  const appending = { what: "appending", value: sum(run.appends) };
  yield { what: "all steps, rewrites included", value: sum(run.saves), unit: "ms", baseline: appending };
  for (const steps of RESUMED) yield* resuming(folder, steps);
}

/** Opening a session again, against reading and parsing its file. */
async function* resuming(folder: string, steps: number): AsyncGenerator<Figure> {
  const deps = { now: () => new Date(), onNotice: (message: string) => console.log(`  notice: ${message}`) };
  const file = createSession({ home: folder, cwd: folder, provider: "bench", model: "bench" }, deps);
  for (let step = 0; step < steps; step++) for (const message of stepMessages(step)) file.appendMessage(message);
  await file.close();
  const { record } = sessionFiles(folder, file.id);
  const times = await interleaved(ROUNDS, {
    open: () => timed(() => reopen(folder, file.id, steps, deps)),
    parse: () => timed(() => JSON.parse(readFileSync(record, "utf8")) as unknown),
  });
  const baseline = { what: "JSON.parse of its file", value: times.parse };
  yield { what: `resuming ${steps} steps`, value: times.open, unit: "ms", baseline };
}

function reopen(folder: string, id: string, steps: number, deps: Parameters<typeof openSession>[2]): void {
  const opened = openSession(folder, id, deps);
  if ("problem" in opened) throw new Error(opened.problem);
  const results = opened.file.record.messages.filter(({ role }) => role === "tool").length;
  opened.file.closeNow();
  if (results !== steps) throw new Error(`${results} of ${steps} steps came back`);
}

/** A whole session, and beside it the least that keeps the same data: lines appended to a file and flushed. */
async function runSession(folder: string): Promise<Run> {
  const deps = { now: () => new Date(), onNotice: (message: string) => console.log(`  notice: ${message}`) };
  const file = createSession({ home: folder, cwd: folder, provider: "bench", model: "bench" }, deps);
  const plain = openSync(join(folder, "plain.log"), "a");
  const save = async (messages: Message[]): Promise<void> => {
    for (const message of messages) file.appendMessage(message);
    await file.flush();
  };
  const [saves, appends]: [number[], number[]] = [[], []];
  const before = bytesWritten();
  for (let step = 0; step < STEPS; step++) {
    const messages = stepMessages(step);
    saves.push(await timed(() => save(messages)));
    appends.push(await timed(() => (writeSync(plain, `${JSON.stringify(messages)}\n`), fdatasyncSync(plain))));
  }
  await file.close();
  const after = bytesWritten();
  const plainBytes = fstatSync(plain).size;
  closeSync(plain);
  const written = before === null || after === null ? null : after - before - plainBytes;
  return { saves, appends, bytesWritten: written, recordBytes: statSync(sessionFiles(folder, file.id).record).size };
}

function stepMessages(step: number): Message[] {
  const id = `call_${step}`;
  const text = `${step} `.padEnd(RESULT_CHARS, "the quick brown fox ");
  return [
    ...(step % 20 === 0
      ? [{ role: "user" as const, content: [{ type: "text" as const, text: `prompt ${step}` }] }]
      : []),
    {
      role: "assistant",
      content: [{ type: "tool-call", id, name: "read_file", input: { path: `src/${step}.ts` } }],
      stop: "tool",
      origin: "bench",
    },
    { role: "tool", results: [{ callId: id, name: "read_file", content: [{ type: "text", text }], isError: false }] },
  ];
}

/** Bytes this process has handed to write calls of any kind so far; null where the system doesn't count them. */
function bytesWritten(): number | null {
  if (process.platform !== "linux") return null;
  const count = /^wchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1];
  return count === undefined ? null : Number(count);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
