/** The end of the interactive loop: a turn's last words, saving, the farewell, the terminal given back. Decides neither when nor with which code. */
import { EXIT } from "./errors.ts";
import type { Renderer } from "./render.ts";
import type { ReplHost } from "./repl-host.ts";
import { sanitize } from "./sanitize.ts";
import type { Clock } from "./terminal-screen.ts";
import type { Terminal } from "./terminal.ts";

export interface EndParts {
  host: Pick<ReplHost, "close" | "farewell">;
  terminal: Terminal;
  renderer: Renderer;
  clock: Clock;
  /** What ran, interrupted by now. */
  current: Promise<unknown>;
}

/** A host that can't save within this time doesn't keep a closed terminal's process alive. */
const CLOSE_MS = 1500;
const LAST_WORDS_MS = 300;

export async function endRepl({ host, terminal, renderer, clock, current }: EndParts, code: number): Promise<void> {
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  try {
    // An interrupted turn says its last words first; one that waits for an answer has none.
    await Promise.race([current, wait(LAST_WORDS_MS)]);
    await Promise.race([host.close(), wait(CLOSE_MS)]);
    renderer.endTurn();
    if (!terminal.hungUp && code !== EXIT.sighup) {
      terminal.screen.freshLine();
      for (const line of host.farewell()) renderer.say(sanitize(line, terminal.traits));
    }
    terminal.screen.flush();
  } finally {
    terminal.close();
  }
}
