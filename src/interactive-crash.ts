/** Exceptions that nobody caught while a person sits at the terminal: the loop leaves in its ordinary way, and one line says why. Saves and restores nothing itself. */
import { EXIT, messageOf } from "./errors.ts";
import { sanitize, sanitizeLabel } from "./sanitize.ts";

type Listener = (error: unknown) => void;

/** What is used of a `process`. */
export interface CrashHost {
  on(event: string, listener: Listener): unknown;
  off(event: string, listener: Listener): unknown;
  exit(code: number): unknown;
}

export interface CrashOptions {
  /** SHIRO_DEBUG: `1` shows the stack. */
  debug: string | undefined;
  /** Called for the first one: the program is to end. */
  onCrash(): void;
  /** Where the line goes if leaving takes too long. */
  write(text: string): void;
}

export interface CrashWatch {
  /** What to say after the terminal is restored; null when nothing happened. */
  readonly text: string | null;
  stop(): void;
}

const EVENTS = ["uncaughtException", "unhandledRejection"] as const;
/** More than the loop needs to save and leave. Whoever hangs on is cut off; the exit restores the terminal. */
const LEAVE_MS = 4000;

export function watchCrashes(host: CrashHost, options: CrashOptions): CrashWatch {
  let text: string | null = null;
  let deadline: ReturnType<typeof setTimeout> | undefined;
  const crashed: Listener = (error) => {
    // What comes after the first is mostly its echo.
    if (text !== null) return;
    text = crashText(error, options.debug);
    deadline = setTimeout(() => {
      options.write(`${text}\n`);
      host.exit(EXIT.internal);
    }, LEAVE_MS);
    options.onCrash();
  };
  for (const event of EVENTS) host.on(event, crashed);
  return {
    get text() {
      return text;
    },
    stop() {
      clearTimeout(deadline);
      for (const event of EVENTS) host.off(event, crashed);
    },
  };
}

function crashText(error: unknown, debug: string | undefined): string {
  if (debug === "1" && error instanceof Error)
    return `shiro: internal error: ${sanitize(error.stack ?? error.message)}`;
  return `shiro: internal error: ${sanitizeLabel(messageOf(error), 500)} (SHIRO_DEBUG=1 shows where)`;
}
