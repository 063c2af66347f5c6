/** Runs a program in a pseudo-terminal and looks at it as a person would: types, waits for text, reads the screen. */
import { VirtualTerminal } from "./vt.ts";

export interface PtyOptions {
  cols?: number;
  rows?: number;
  /** The whole environment of the program. */
  env?: Record<string, string>;
  cwd?: string;
}

export interface Pty {
  write(text: string): void;
  /** Resolves when the output since the last successful `expect` holds the text; fails with the screen after the time limit. */
  expect(what: string | RegExp, timeoutMs?: number): Promise<string>;
  /** Resolves when the screen fulfils the condition, which is looked at after each output. */
  until(condition: (screen: VirtualTerminal) => boolean, timeoutMs?: number): Promise<void>;
  screen: VirtualTerminal;
  /** Everything the program wrote. */
  raw(): string;
  rawBytes(): number;
  resize(cols: number, rows: number): void;
  /** Hangs up, as when a connection drops. */
  close(): void;
  exited: Promise<number>;
  pid: number;
  kill(signal: NodeJS.Signals): void;
}

const DEFAULT_TIMEOUT_MS = 5000;

export function openPty(argv: string[], options: PtyOptions = {}): Pty {
  const [cols, rows] = [options.cols ?? 80, options.rows ?? 24];
  const screen = new VirtualTerminal(cols, rows);
  const decoder = new TextDecoder();
  const waiting = new Set<() => void>();
  let text = "";
  let bytes = 0;
  let seen = 0;
  const child = Bun.spawn(argv, {
    cwd: options.cwd ?? process.cwd(),
    env: { PATH: process.env.PATH ?? "", TERM: "xterm-256color", LANG: "C.UTF-8", ...options.env },
    terminal: {
      cols,
      rows,
      data(_, data) {
        bytes += data.length;
        text += decoder.decode(data, { stream: true });
        screen.write(data.slice());
        for (const look of [...waiting]) look();
      },
    },
  });
  const terminal = child.terminal;
  if (!terminal) throw new Error("no pseudo-terminal on this system");

  function wait<T>(check: () => T | null, what: string, timeoutMs: number): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const timer = setTimeout(() => finish(null), timeoutMs);
    const look = () => {
      const found = check();
      if (found !== null) finish(found);
    };
    const finish = (found: T | null) => {
      clearTimeout(timer);
      waiting.delete(look);
      if (found !== null) resolve(found);
      else
        reject(
          new Error(
            `${what} did not come. Screen:\n${screen.text()}\nnot yet seen: ${JSON.stringify(text.slice(seen))}`,
          ),
        );
    };
    waiting.add(look);
    look();
    return promise;
  }

  return {
    write: (input) => void terminal.write(input),
    expect: (what, timeoutMs = DEFAULT_TIMEOUT_MS) =>
      wait(
        () => {
          const found = find(text.slice(seen), what);
          if (!found) return null;
          seen += found.end;
          return found.text;
        },
        String(what),
        timeoutMs,
      ),
    until: async (condition, timeoutMs = DEFAULT_TIMEOUT_MS) => {
      await wait(() => (condition(screen) ? true : null), "the condition", timeoutMs);
    },
    screen,
    raw: () => text,
    rawBytes: () => bytes,
    resize(newCols, newRows) {
      screen.resize(newCols, newRows);
      terminal.resize(newCols, newRows);
    },
    close: () => terminal.close(),
    exited: child.exited,
    pid: child.pid,
    kill: (signal) => child.kill(signal),
  };
}

function find(text: string, what: string | RegExp): { text: string; end: number } | null {
  if (typeof what === "string") {
    const at = text.indexOf(what);
    return at < 0 ? null : { text: what, end: at + what.length };
  }
  const found = what.exec(text);
  return found ? { text: found[0], end: found.index + found[0].length } : null;
}
