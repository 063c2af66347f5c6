/** One turn on the screen: its events are rendered, its questions go to the person. Knows no queue and no input line. */
import type { Dialog } from "./dialog.ts";
import type { Renderer } from "./render.ts";
import type { ReplHost } from "./repl-host.ts";
import type { Terminal } from "./terminal.ts";

export interface TurnParts {
  host: Pick<ReplHost, "send">;
  dialog: Dialog;
  renderer: Renderer;
  terminal: Pick<Terminal, "drained">;
}

/** Resolves when the turn has ended, however it did; rejects with what the host throws. */
export async function showTurn(text: string, { host, dialog, renderer, terminal }: TurnParts): Promise<void> {
  renderer.startTurn();
  try {
    const events = host.send(
      text,
      (prompt, signal) => {
        renderer.asked(prompt.diff);
        return dialog.approve(prompt, signal);
      },
      (question, signal) => dialog.ask(question, signal),
    );
    for await (const event of events) {
      // Output waits while a question is open, and for a slow terminal.
      await dialog.free();
      renderer.event(event);
      await terminal.drained();
    }
  } finally {
    renderer.endTurn();
  }
}
