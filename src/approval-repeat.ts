/** Notices a call that is repeated without anything having changed. One turn's memory; decides nothing by itself. */

interface Run {
  at: number;
  resultHash: string;
}

interface Mutation {
  key: string;
  at: number;
}

export class RepeatGuard {
  #clock = 0;
  /** The last two runs of each call. */
  readonly #runs = new Map<string, Run[]>();
  /** The last successful mutating call, and the last one different from it: enough to know whether another call's was later. */
  #mutations: Mutation[] = [];

  startTurn(): void {
    this.#clock = 0;
    this.#runs.clear();
    this.#mutations = [];
  }

  record(key: string, outcome: { resultHash: string; mutated: boolean }): void {
    const at = ++this.#clock;
    const runs = this.#runs.get(key) ?? [];
    this.#runs.set(key, [...runs.slice(-1), { at, resultHash: outcome.resultHash }]);
    if (!outcome.mutated) return;
    const other = this.#mutations.find((mutation) => mutation.key !== key);
    this.#mutations = [{ key, at }, ...(other ? [other] : [])];
  }

  /** Whether this would be the third run, the last two gave the same and no other call changed anything since the first of them. */
  isRepeat(key: string): boolean {
    const [first, second] = this.#runs.get(key) ?? [];
    if (!first || !second || first.resultHash !== second.resultHash) return false;
    return !this.#mutations.some((mutation) => mutation.key !== key && mutation.at > first.at);
  }
}
