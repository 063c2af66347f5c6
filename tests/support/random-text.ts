/** Repeatable random numbers and texts for property tests. */

/** A generator of integers below its argument; the same seed gives the same numbers. */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const WORDS = ["", "alpha", "  beta", "gamma ", "\tdelta", "déjà", "北京", "🌍 x", "}", "{", "return x;", "é"];

/** Up to eight lines, the last one with or without an ending. */
export function randomText(random: (below: number) => number, options: { endings: readonly string[] }): string {
  const pick = <Value>(values: readonly Value[]): Value | undefined => values[random(values.length)];
  const lines = Array.from({ length: random(9) }, () => `${pick(WORDS)}${pick(WORDS)}${pick(options.endings)}`);
  return lines.join("") + (random(3) === 0 ? (pick(WORDS) ?? "") : "");
}
