/** The first run at a terminal: says what is missing and sets a provider up. */
import { openDialog } from "./dialog-alone.ts";
import { setupDialogue } from "./provider-dialogue.ts";
import { sanitize } from "./sanitize.ts";
import type { ConfigQuery } from "./setup-config.ts";
import type { TerminalTraits } from "./terminal-traits.ts";
import { wrapWords } from "./text-wrap.ts";

/** False when it was dismissed: there is nothing to go on with. */
export async function firstRun(query: ConfigQuery, traits: TerminalTraits, configPath: string): Promise<boolean> {
  const { dialog, terminal, close } = openDialog(traits, () => {});
  const columns = (): number => (traits.plain ? Number.POSITIVE_INFINITY : terminal.size().columns - 1);
  const print = (text: string): void => terminal.screen.write(`${wrapWords(sanitize(text, traits), columns())}\n`);
  try {
    print("No provider is configured and no key is in the environment. shiro demo shows the agent without one.");
    const chosen = await setupDialogue(dialog, print, query.env, configPath);
    if (chosen) print(`Saved to ${configPath}.`);
    else print("Nothing was set up. Set a key, such as ANTHROPIC_API_KEY, or run shiro again.");
    return chosen !== null;
  } finally {
    terminal.screen.flush();
    close();
  }
}
