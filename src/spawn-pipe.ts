/** Pipes for a child's output. The runtime's own are sockets, and a socket can't be opened by its name: `echo x > /dev/stderr` would fail. Linux with a known C library; elsewhere the runtime's have to do. */
import { closeSync } from "node:fs";
import type { Kernel } from "./sandbox-syscalls.ts";

export interface Pipe {
  /** For the child; `closeChildEnd` once it has been started or could not be. */
  child: number;
  closeChildEnd(): void;
  /** What the child writes. To be read once, and then closed: the runtime leaves a descriptor open that it was given. */
  read(): ReadableStream<Uint8Array>;
  close(): void;
}

const O_CLOEXEC = 0o2000000;
const F_SETPIPE_SZ = 1031;
/** As much as a socket of the runtime's holds, so that a child waits no more often. */
const PIPE_BYTES = 256 * 1024;

let kernel: Kernel | null = null;
let isPrepared = false;

/** Before the first pipe: the foreign-function interface is loaded when the first command needs it. */
export async function preparePipes(): Promise<void> {
  if (isPrepared) return;
  isPrepared = true;
  if (process.platform === "linux") kernel = (await import("./sandbox-syscalls.ts")).openKernel();
}

/** Null where there is no such thing, or no descriptor left. */
export function openPipe(): Pipe | null {
  if (kernel === null) return null;
  const ends = new Int32Array(2);
  if (kernel.call("pipe2", new Uint8Array(ends.buffer), O_CLOEXEC) < 0) return null;
  const [ours = -1, child = -1] = ends;
  // Where that is more than a user may have, it stays as it is.
  kernel.call("fcntl", ours, F_SETPIPE_SZ, PIPE_BYTES);
  return {
    child,
    closeChildEnd: () => closeSync(child),
    read: () => Bun.file(ours).stream(),
    close: () => closeSync(ours),
  };
}
