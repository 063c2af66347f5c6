/** Kills the built program at random moments of a scripted run, goes on with the session, and says what was lost or done twice. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadSession } from "../../src/sessions.ts";
import { interruptedCalls } from "../../src/session-record.ts";
import type { SessionRecord } from "../../src/session-record.ts";
import { type Bench, type Event, openBench } from "./binary.ts";
import type { Received, Reply } from "./model-server.ts";
import { seeded } from "./transcripts.ts";

export interface KillReport {
  kills: number;
  sessions: number;
  /** Kills that came while a mutating call was under way. */
  duringCalls: number;
  /** Times the model was told of them. */
  toldUnknown: number;
  /** Repetitions of such a call that were refused. */
  refusedRepeats: number;
  compactions: number;
  /** All of these are to stay empty. */
  unloadable: string[];
  lostResults: string[];
  /** Calls under way at a kill of which the next request said nothing. */
  untold: string[];
  repeatedEffects: string[];
  faults: string[];
  badExits: string[];
}

const STEPS = 60;
/** A session lasts longer than this by several times, so lives end in every part of it. */
const LONGEST_LIFE_MS = 500;

/** Runs sessions one after another until `kills` processes were killed. */
export async function killRounds(kills: number, seed: number): Promise<KillReport> {
  const random = seeded(seed);
  const report: KillReport = {
    kills: 0,
    sessions: 0,
    duringCalls: 0,
    toldUnknown: 0,
    refusedRepeats: 0,
    compactions: 0,
    unloadable: [],
    lostResults: [],
    untold: [],
    repeatedEffects: [],
    faults: [],
    badExits: [],
  };
  while (report.kills < kills) await oneSession(report, kills, random);
  return report;
}

async function oneSession(report: KillReport, kills: number, random: () => number): Promise<void> {
  const script = new Script();
  const bench = await openBench((request) => script.answer(request), {
    files: { "big.txt": "a line of some length\n".repeat(120) },
  });
  report.sessions++;
  try {
    for (let go = 0; report.kills < kills; go++) {
      // Every other life without the sandbox, which takes most of its time.
      const config = { compactAt: 7_000, sandbox: go % 2 === 0 ? "on" : "off" };
      writeFileSync(join(bench.home, "config.json"), JSON.stringify(config), { mode: 0o600 });
      const killed = await oneLife(bench, script, report, go > 0, random() * LONGEST_LIFE_MS);
      if (!killed) break;
    }
    const effects = existsSync(bench.path("effects.log"))
      ? readFileSync(bench.path("effects.log"), "utf8").trim().split("\n")
      : [];
    const repeated = effects.filter((line, index) => effects.indexOf(line) !== index);
    report.repeatedEffects.push(...repeated);
    report.faults.push(...bench.server.faults);
    report.untold.push(...script.untold);
    report.refusedRepeats += script.refused;
    report.toldUnknown += script.told;
    report.compactions += script.summaries;
  } finally {
    await bench.close();
  }
}

/** One process; false when it came to its end by itself. */
async function oneLife(
  bench: Bench,
  script: Script,
  report: KillReport,
  resumed: boolean,
  lifeMs: number,
): Promise<boolean> {
  const running = bench.start([...(resumed ? ["-c"] : []), "-p", resumed ? "continue" : "do it", "--json", "--yolo"]);
  const begun = await running.seen("stdout", '"type":"session"').catch(() => null);
  const timer = setTimeout(() => running.kill("SIGKILL"), lifeMs);
  // The last line of a killed process may be torn, and then is no JSON.
  const { signal, code, stderr } = await running.ended.catch(() => ({ signal: "SIGKILL", code: 137, stderr: "" }));
  clearTimeout(timer);
  const stdout = await running.seen("stdout", "");
  if (begun === null || (signal === null && code !== 0)) report.badExits.push(`exit ${code}: ${stderr}${stdout}`);
  if (signal === null || begun === null) return false;
  report.kills++;
  const seen = wholeEvents(stdout);
  const id = String(seen.find((event) => event.type === "session")?.id);
  const loaded = loadSession(bench.home, id);
  if ("problem" in loaded) {
    // Killed before the first message: there is nothing to load, and nothing was announced.
    if (seen.some((event) => event.type !== "session")) report.unloadable.push(loaded.problem);
    return false;
  }
  if (loaded.damaged > 0) report.unloadable.push(`${id}: ${loaded.damaged} damaged lines`);
  report.lostResults.push(...lost(seen, loaded.record));
  const open = interruptedCalls(loaded.record);
  if (open.length > 0) report.duringCalls++;
  script.interrupted = open.map((call) => ({ id: call.id, command: String(call.input["command"] ?? "") }));
  return true;
}

function wholeEvents(text: string): Event[] {
  const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Event); // our own program's lines
}

/**
 * Results that were announced and are not in the session. The last thing said is left out: an answer's only result is
 * written with its message, microseconds after it was shown.
 */
function lost(seen: readonly Event[], record: SessionRecord): string[] {
  const known = new Set([
    ...record.results.map((result) => result.callId),
    ...record.messages.flatMap((message) =>
      message.role === "tool" ? message.results.map((result) => result.callId) : [],
    ),
  ]);
  const announced = seen.slice(0, -1).filter((event) => event.type === "tool-result" || event.type === "tool-error");
  return announced.map((event) => String(event.id)).filter((id) => !known.has(id));
}

/** The model: every mutating call has an effect that can be counted; what was interrupted is tried once more. */
class Script {
  interrupted: { id: string; command: string }[] = [];
  told = 0;
  refused = 0;
  summaries = 0;
  readonly untold: string[] = [];
  #step = 0;
  #repeated = new Set<string>();

  answer(request: Received): Reply {
    if (!Array.isArray(request.body.tools)) {
      this.summaries++;
      return { text: "Goal: run the script. Everything so far went well." };
    }
    if (request.text.includes("was started before and never finished")) this.#countRefusals(request.text);
    const again = this.#repetition(request.text);
    if (again) return again;
    const step = this.#step++;
    if (step >= STEPS) return { text: "All steps are done." };
    return { calls: callsOf(step) };
  }

  #repetition(text: string): Reply | null {
    const open = this.interrupted;
    this.interrupted = [];
    if (open.length === 0) return null;
    if (text.includes("outcome unknown")) this.told++;
    else this.untold.push(open.map((call) => call.id).join(" "));
    const first = open.find((call) => call.command !== "");
    if (!first || this.#repeated.has(first.command)) return null;
    this.#repeated.add(first.command);
    return { calls: [{ id: `again_${first.id}`, name: "bash", input: { command: first.command } }] };
  }

  #countRefusals(text: string): void {
    const ids = new Set(text.match(/again_call_\w+/g) ?? []);
    this.refused = Math.max(this.refused, ids.size);
  }
}

function callsOf(step: number): { id: string; name: string; input: Record<string, string> }[] {
  const id = `call_${step}_${crypto.randomUUID().slice(0, 6)}`;
  const effect = {
    id: `${id}_a`,
    name: "bash",
    input: { command: `printf '%s\\n' effect-${step} >> effects.log; sleep 0.02` },
  };
  const look = { id: `${id}_b`, name: "read_file", input: { path: "big.txt" } };
  const write = { id: `${id}_c`, name: "write_file", input: { path: `out-${step}.txt`, content: `${step}\n` } };
  const second = {
    id: `${id}_d`,
    name: "bash",
    input: { command: `printf '%s\\n' second-${step} >> effects.log; sleep 0.01` },
  };
  if (step % 3 === 0) return [effect];
  return step % 3 === 1 ? [look, write] : [effect, write, second];
}
