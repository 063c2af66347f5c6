/** The numbers by which this program could be signalled or limited, for kernels that can't confine that. Reads /proc; decides nothing. */
import { readdirSync, readFileSync } from "node:fs";

/** A filter takes so many; a program of ours has a dozen threads. */
const MAX_IDS = 100;

/** This process, its group and its threads: a signal to any of them ends or stops it. */
export function ownIds(): number[] {
  if (process.platform !== "linux") return [process.pid];
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    // proc(5): state, parent and group follow the name, which ends at the last parenthesis.
    const group = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]);
    const threads = readdirSync("/proc/self/task").map(Number);
    return [...new Set([process.pid, group, ...threads])].filter((id) => id > 1).slice(0, MAX_IDS);
  } catch {
    return [process.pid]; // no /proc: then nobody finds the threads there either
  }
}
