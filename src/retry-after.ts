/** How long a provider asked us to wait: its headers, else its words. Pure. */

/**
 * Milliseconds to wait, or undefined when nothing was asked. Headers: `retry-after-ms`, `retry-after` as seconds or an
 * HTTP date (RFC 9110, 10.2.3). Text: "try again in 1m2.5s", "retry after 12 seconds", `"retryDelay": "33s"`.
 */
export function retryAfterOf(headers: Headers | undefined, text: string, now: number): number | undefined {
  // A date is the server's: where it says what time it has, a clock of ours that is wrong does no harm.
  const theirs = Date.parse(headers?.get("date") ?? "");
  const base = Number.isNaN(theirs) ? now : theirs;
  return fromMs(headers?.get("retry-after-ms")) ?? fromHeader(headers?.get("retry-after"), base) ?? fromText(text);
}

function fromMs(value: string | null | undefined): number | undefined {
  return value && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Math.ceil(Number(value)) : undefined;
}

function fromHeader(value: string | null | undefined, now: number): number | undefined {
  if (!value) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(value)) return Math.ceil(Number(value) * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

const WAIT =
  /(?:(?:re)?try(?:ing)?(?: again)?(?: after| in)|wait(?: for)?|available in|resets? in|retryDelay"?: *"?) *(?:about |approximately )?((?:\d+(?:\.\d+)? *(?:ms|milliseconds?|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z]) *(?:and )?)+)/i;
const PIECE = /(\d+(?:\.\d+)?) *(ms|milliseconds?|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])/gi;

function fromText(text: string): number | undefined {
  // Long bodies are cut: the sentence stands at the start, and the pattern must stay cheap.
  const found = WAIT.exec(text.slice(0, 4000))?.[1];
  if (!found) return undefined;
  let total = 0;
  for (const [, amount, unit] of found.matchAll(PIECE)) total += Number(amount) * unitMs((unit ?? "s").toLowerCase());
  return Math.ceil(total);
}

function unitMs(unit: string): number {
  if (unit.startsWith("ms") || unit.startsWith("milli")) return 1;
  if (unit.startsWith("h")) return 3_600_000;
  return unit.startsWith("m") ? 60_000 : 1000;
}
