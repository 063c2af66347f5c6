/** Whether a regular expression from elsewhere may be run at all: it must compile and take linear time. Errs towards refusing. */
import { messageOf } from "./errors.ts";

/** Of the processor: a busy machine that stops us for a while must not take a plugin away. */
const BUDGET_MS = 50;

/** What is wrong with the pattern, in one line; null when it may be used. */
export function patternProblem(source: string): string | null {
  const expression = compile(source);
  if (typeof expression === "string") return expression;
  if (/\\[1-9k]|\(\?<?[=!]/.test(source)) return `pattern ${source}: back references and look-around are not allowed`;
  if (hasNestedRepeat(source)) return `pattern ${source}: a repeated group may hold neither a repeat nor alternatives`;
  return isSlow(expression, source) ? `pattern ${source}: takes too long on some texts` : null;
}

function compile(source: string): RegExp | string {
  try {
    return new RegExp(source, "u");
  } catch (error) {
    return `pattern ${source}: ${messageOf(error)}`;
  }
}

/** `(a+)+`, `(a|b)*`: what makes backtracking explode. */
function hasNestedRepeat(source: string): boolean {
  const groups: { risky: boolean }[] = [{ risky: false }];
  for (let at = 0; at < source.length; at++) {
    const char = source[at] ?? "";
    const current = groups.at(-1);
    if (char === "\\") at++;
    else if (char === "[") at = endOfClass(source, at);
    else if (char === "(") groups.push({ risky: false });
    else if (char === ")") {
      const closed = groups.pop();
      if (closed?.risky && isRepeat(source, at + 1)) return true;
      const outer = groups.at(-1);
      if (outer && closed) outer.risky ||= closed.risky || isRepeat(source, at + 1);
    } else if (current && (char === "|" || isRepeat(source, at)))
      current.risky ||= char !== "?" || source[at - 1] !== "(";
  }
  return false;
}

function isRepeat(source: string, at: number): boolean {
  return /^(?:[*+]|\{\d+,\d*\})/.test(source.slice(at, at + 16));
}

function endOfClass(source: string, open: number): number {
  for (let at = open + 1; at < source.length; at++) {
    if (source[at] === "\\") at++;
    else if (source[at] === "]") return at;
  }
  return source.length;
}

/** Tries texts of growing length made of what the pattern itself names; stops as soon as one takes too long. */
function isSlow(expression: RegExp, source: string): boolean {
  const letters = [...new Set(source.replace(/[^\w\s/.-]/g, ""))].slice(0, 8);
  const probes = ["a", " ", "/", ...letters, letters.join("") || "x"];
  const started = process.cpuUsage();
  for (let length = 32; length <= 2_048; length *= 2)
    for (const probe of probes) {
      expression.test(`${probe.repeat(Math.ceil(length / probe.length))}\u0000`);
      const { user, system } = process.cpuUsage(started);
      if ((user + system) / 1000 > BUDGET_MS) return true;
    }
  return false;
}
