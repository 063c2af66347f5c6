/** What a signal does to this process where nobody else handles it: children that were adopted are killed first. Handles no signal otherwise. */
import { readFileSync } from "node:fs";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/** Before the end of this process by `exit` or by a signal that has no other listener then, `kill` is called. Never undone. */
export function beforeAnyEnd(kill: () => void): void {
  process.once("exit", kill);
  for (const name of SIGNALS) if (name !== "SIGHUP" || !hangupIgnored()) endBy(name, kill);
}

function endBy(name: NodeJS.Signals, kill: () => void): void {
  const handler = (): void => {
    // The program's own handlers end it in their way, by `exit`.
    if (process.listenerCount(name) > 1) return;
    kill();
    process.off(name, handler);
    // Once more, without a listener: whoever waits for this process sees the signal, not an exit code.
    process.kill(process.pid, name);
  };
  process.on(name, handler);
}

/** True under nohup: the program was started with SIGHUP ignored, and a handler would undo that. */
export function hangupIgnored(): boolean {
  if (process.platform !== "linux") return false;
  const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return mask !== undefined && (Number.parseInt(mask.slice(-2), 16) & 1) === 1;
}
