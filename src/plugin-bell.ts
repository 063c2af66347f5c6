/** The bell plugin: rings when a turn that took a while ends. The only writer of a control byte outside the screen. */
import type { Plugin } from "./plugin.ts";

const MIN_DURATION_MS = 10_000;

export function makeBell(ring: (byte: string) => void): Plugin {
  return {
    name: "bell",
    description: "rings the terminal's bell when a turn over 10 s ends",
    afterTurn: ({ durationMs, interactive, controls }) => {
      if (interactive && controls && durationMs > MIN_DURATION_MS) ring("\x07");
    },
  };
}
