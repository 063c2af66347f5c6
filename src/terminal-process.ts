/** The real process as the terminal's surroundings: its streams, its signals, its clock. The only place of the family that touches globals' types. */
import type { TerminalIo } from "./terminal-io.ts";
import type { Clock } from "./terminal-screen.ts";

/** Milliseconds since the program began, which no clock change moves. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  every(ms, run) {
    const timer = setInterval(run, ms);
    timer.unref();
    return () => clearInterval(timer);
  },
};

/** For `openTerminal`; `main` hands in `process`. */
export function processIo(host: NodeJS.Process): TerminalIo {
  return { stdin: host.stdin, stdout: host.stdout, process: host, clock: systemClock };
}
