/** Gives memory back while nothing else is to be done: the runtime lets garbage grow as long as the machine has room, and a server has other uses for it. */

/** Below this nothing is collected by hand: short runs end before it would pay. */
const QUIET_BYTES = 96 * 1024 * 1024;
/** Growth, since the last time, that is worth a collection. */
const STEP_BYTES = 16 * 1024 * 1024;

/** Requests between two looks: asking the system takes a while too. */
const LOOK_EVERY = 8;

let before = QUIET_BYTES;
let calls = 0;

/** To be called while an answer is waited for. Collects only after the process has grown by 16 MB. */
export function collectWhileWaiting(): void {
  if (++calls % LOOK_EVERY !== 0 || process.memoryUsage.rss() < before + STEP_BYTES) return;
  Bun.gc(true);
  before = Math.max(QUIET_BYTES, process.memoryUsage.rss());
}
