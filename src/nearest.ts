/** The nearest of a list of names to a mistyped one. For error texts only. */

/** The closest name within a third of its length, or null. */
export function nearestName(name: string, names: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of names) {
    const distance = editDistance(name.toLowerCase().slice(0, 64), candidate.toLowerCase().slice(0, 64));
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  if (best === null) return null;
  return bestDistance <= Math.max(1, Math.ceil(best.length / 3)) ? best : null;
}

/** Restricted Damerau-Levenshtein: a swap of neighbours counts one. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min((row[j - 1] ?? 0) + 1, (last[j] ?? 0) + 1, change);
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
