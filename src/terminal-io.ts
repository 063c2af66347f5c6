/** What the terminal needs of a process and its streams. Types only; the real ones are terminal-process.ts. */
import type { Clock } from "./terminal-screen.ts";

export type Listener = (...args: unknown[]) => void;

/** The parts of a `process` and its streams that are used, so that tests can hand in others. */
export interface TerminalIo {
  stdin: {
    isTTY?: boolean;
    fd?: number;
    setRawMode?(raw: boolean): unknown;
    on(event: string, listener: Listener): unknown;
    off(event: string, listener: Listener): unknown;
    resume(): unknown;
    pause(): unknown;
  };
  stdout: {
    columns?: number;
    rows?: number;
    writableLength?: number;
    write(text: string): unknown;
    on(event: string, listener: Listener): unknown;
    off(event: string, listener: Listener): unknown;
    once(event: string, listener: Listener): unknown;
  };
  process: {
    platform: string;
    on(event: string, listener: Listener): unknown;
    off(event: string, listener: Listener): unknown;
    kill(pid: number, signal: string): unknown;
  };
  clock: Clock;
}
