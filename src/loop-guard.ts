/** Notices a model that goes in circles, from the calls it made and what came of them. Decides nothing about permissions. */
import { canonicalJson } from "./canonical-json.ts";
import type { Json } from "./types.ts";

/** One finished call. */
export interface CallTrace {
  name: string;
  input: Json;
  /** Whatever tells one outcome from another: the result text, or its hash. */
  outcome: string;
  isError: boolean;
  isValidationError: boolean;
  /** The gate let it through to nothing: it was never run. */
  refused?: boolean;
}

export type Signal = { kind: "none" } | { kind: "nudge"; text: string } | { kind: "stop"; reason: string };

interface Seen {
  name: string;
  key: string;
  outcome: string;
  isError: boolean;
  isValidationError: boolean;
  /** May have changed something: a refused call hasn't. */
  changes: boolean;
  refused: boolean;
  step: number;
}

const NONE: Signal = { kind: "none" };
const WINDOW = 20;
const MAX_NUDGES = 3;
const NUDGE_WINDOW_STEPS = 10;

/**
 * Watches one turn. Thresholds: identical calls with one outcome nudge at 3 and stop at 4 (mutating) or 6 (read-only);
 * two calls in alternation nudge at 6 and stop at 10; one tool failing whatever its arguments nudges at 6 and stops at
 * 12; the same invalid call three times stops; a third nudge within ten steps stops. An outcome that changes is progress.
 * A refused call was not run: repeating it is a circle all the same, but it is no failure of its tool.
 */
export class LoopGuard {
  #seen: Seen[] = [];
  #nudges: number[] = [];

  /** Takes a finished call in; `step` counts requests of the turn. */
  record(trace: CallTrace, mutates: boolean, step: number): Signal {
    const key = `${trace.name} ${canonicalJson(trace.input)}`;
    const { name, outcome, isError, isValidationError, refused = false } = trace;
    this.#seen.push({ name, key, outcome, isError, isValidationError, changes: mutates && !refused, refused, step });
    if (this.#seen.length > WINDOW) this.#seen.shift();
    return this.#limited(this.#judge(name), step);
  }

  #judge(name: string): Signal {
    const last = this.#seen.at(-1);
    if (!last) return NONE;
    const run = this.#sameCalls(last.key);
    const same = run.length;
    if (same >= 3 && last.isValidationError)
      return stop(`${name} was called three times with the same invalid arguments`);
    const limit = run.some((one) => one.changes) ? 4 : 6;
    if (same >= limit)
      return stop(`${name} was called ${same} times in a row with the same arguments and the same outcome`);
    if (same === 3)
      return nudge(
        `You have made the same ${name} call three times with the same outcome. Repeating it brings nothing new: use what it returned, or try something different.`,
      );
    const alternating = this.#alternation();
    if (alternating >= 10)
      return stop(`the same two calls were made in turn ${alternating} times with the same outcomes`);
    if (alternating === 6)
      return nudge(
        "You are going back and forth between the same two calls with the same outcomes. Step back and choose another way.",
      );
    if (last.refused) return NONE;
    const failures = this.#failures(name);
    if (failures >= 12) return stop(`${name} failed ${failures} times in a row`);
    if (failures === 6)
      return nudge(
        `${name} has failed six times in a row. Read the errors again, look at the actual state, and change the approach.`,
      );
    return NONE;
  }

  /** The last calls with this key and one outcome. A refusal between them is no other outcome: nothing was run. */
  #sameCalls(key: string): Seen[] {
    let outcome: string | null = null;
    const end = this.#seen.findLastIndex((one) => {
      if (one.key !== key) return true;
      if (one.refused) return false;
      outcome ??= one.outcome;
      return one.outcome !== outcome;
    });
    return this.#seen.slice(end + 1);
  }

  #alternation(): number {
    const [a, b] = [this.#seen.at(-1), this.#seen.at(-2)];
    if (!a || !b || a.key === b.key) return 0;
    let length = 0;
    for (let at = this.#seen.length - 1; at >= 0; at--) {
      const wanted = length % 2 === 0 ? a : b;
      const one = this.#seen[at];
      if (!one || one.key !== wanted.key || one.outcome !== wanted.outcome) break;
      length++;
    }
    return length;
  }

  #failures(name: string): number {
    const own = this.#seen.filter((one) => one.name === name && !one.refused);
    const lastGood = own.findLastIndex((one) => !one.isError);
    return own.length - 1 - lastGood;
  }

  #limited(signal: Signal, step: number): Signal {
    if (signal.kind !== "nudge") return signal;
    this.#nudges = [...this.#nudges.filter((at) => step - at < NUDGE_WINDOW_STEPS), step];
    if (this.#nudges.length < MAX_NUDGES) return signal;
    return stop(`${MAX_NUDGES} warnings about repetition within ${NUDGE_WINDOW_STEPS} steps changed nothing`);
  }
}

function nudge(text: string): Signal {
  return { kind: "nudge", text };
}

function stop(reason: string): Signal {
  return { kind: "stop", reason };
}
