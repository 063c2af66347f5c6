/** Programs in a pseudo-terminal for the benchmark: what they write, how long it takes, what they hold. */
import { readFileSync } from "node:fs";

const DEADLINE_MS = 60_000;

export interface TerminalOptions {
  cwd: string;
  env: Record<string, string | undefined>;
}

export interface Watch {
  /** The program is ended once this was shown. */
  until: string;
  /** What was shown so far; can be looked at meanwhile. */
  seen?: { text: string };
}

/** Everything a program writes until it shows `until`; then it is ended. Throws when it never does. */
export async function inTerminal(argv: string[], options: TerminalOptions, watch: Watch): Promise<string> {
  const open = openTerminal(argv, options, watch.seen);
  try {
    await open.shows(watch.until);
    return open.seen.text;
  } finally {
    await open.end();
  }
}

export interface OpenTerminal {
  seen: { text: string };
  /** Resolves once everything shown holds `text`. */
  shows(text: string): Promise<void>;
  /** Resolves at the next output. */
  next(): Promise<void>;
  write(keys: string): void;
  /** Resident memory now, MB; null where the system doesn't say. */
  residentMb(): number | null;
  end(): Promise<void>;
}

export function openTerminal(argv: string[], options: TerminalOptions, seen = { text: "" }): OpenTerminal {
  const decoder = new TextDecoder();
  let waiting: (() => void)[] = [];
  const wake = (): void => {
    const all = waiting;
    waiting = [];
    for (const one of all) one();
  };
  const data = (_: unknown, bytes: Uint8Array): void => {
    seen.text += decoder.decode(bytes, { stream: true });
    wake();
  };
  const child = Bun.spawn(argv, { ...options, terminal: { cols: 100, rows: 40, data } });
  void child.exited.then(wake);
  const next = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
  return {
    seen,
    next,
    async shows(text) {
      const deadline = setTimeout(wake, DEADLINE_MS);
      const begun = performance.now();
      // Only the end is looked at: a long answer would be searched again with each piece.
      while (!seen.text.slice(-4096 - text.length).includes(text)) {
        if (child.exitCode !== null || performance.now() - begun > DEADLINE_MS)
          throw new Error(`${argv.join(" ")} did not show ${JSON.stringify(text)}:\n${seen.text.slice(-2000)}`);
        await next();
      }
      clearTimeout(deadline);
    },
    write: (keys) => void child.terminal?.write(keys),
    residentMb: () => residentMb(child.pid),
    async end() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

function residentMb(pid: number): number | null {
  if (process.platform !== "linux") return null;
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) / 1024;
}
