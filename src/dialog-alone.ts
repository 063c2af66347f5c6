/** A dialog without the interactive loop around it: the first run, the demo. Takes the terminal and gives it back. */
import { InputRouter } from "./dialog-input.ts";
import { Dialog } from "./dialog.ts";
import { openTerminal, type Terminal } from "./terminal.ts";
import { processIo, systemClock } from "./terminal-process.ts";
import type { TerminalTraits } from "./terminal-traits.ts";

export interface AloneDialog {
  dialog: Dialog;
  terminal: Terminal;
  close(): void;
}

const STOPS: ReadonlySet<string> = new Set(["ctrl-c", "escape"]);

/** `onInterrupt`: ctrl-c, esc or the end of the input while no question takes it, or esc at an approval. */
export function openDialog(traits: TerminalTraits, onInterrupt: () => void): AloneDialog {
  const terminal = openTerminal(processIo(process), traits);
  const router = new InputRouter(terminal, systemClock);
  router.start((event) => {
    const interrupts =
      event.type === "interrupt" ||
      event.type === "end" ||
      (event.type === "keys" && event.keys.some((key) => key.type === "key" && STOPS.has(key.id)));
    if (interrupts) onInterrupt();
  });
  const hooks = { opening: () => {}, closed: () => {}, drafting: () => false, interrupt: onInterrupt };
  const dialog = new Dialog(router, hooks);
  return { dialog, terminal, close: () => terminal.close() };
}
