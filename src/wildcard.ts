/** Rule patterns: `*` any run of characters (newlines too), `?` exactly one, all else literal, anchored at both ends. */

/**
 * Whether `text` matches `pattern`. A trailing ` *` also matches the bare word, so `git *` covers `git`.
 * Linear in practice: the classic two-pointer walk, no regular expression, so no pattern can stall it.
 */
export function matchesWildcard(pattern: string, text: string): boolean {
  if (pattern.endsWith(" *") && text === pattern.slice(0, -2)) return true;
  return walk([...pattern], [...text]);
}

function walk(pattern: string[], text: string[]): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let mark = 0;
  while (t < text.length) {
    if (pattern[p] === "*") {
      star = p++;
      mark = t;
    } else if (p < pattern.length && (pattern[p] === "?" || pattern[p] === text[t])) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++mark;
    } else return false;
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}
