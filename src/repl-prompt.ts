/** The prompt's text. Pure. */
import { coloursOf, contextColour } from "./render-colours.ts";
import { percent } from "./render-lines.ts";
import type { PromptState } from "./repl-host.ts";
import { sanitizeLabel } from "./sanitize.ts";

/** Below this share the context is nobody's concern. */
const SHOWN_FROM = 0.1;

/** `shiro deep 34% (2 queued)> `. */
export function promptText(state: PromptState, queued: number, traits: { colour: boolean; ascii: boolean }): string {
  const colours = coloursOf(traits);
  const parts = [colours.bold("shiro")];
  if (state.variant !== "default") parts.push(sanitizeLabel(state.variant, 30, traits));
  const share = state.contextShare;
  if (share !== null && share > SHOWN_FROM) parts.push(contextColour(share, colours)(percent(share)));
  if (queued > 0) parts.push(`(${queued} queued)`);
  return `${parts.join(" ")}> `;
}
