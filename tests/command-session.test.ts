/** Slash commands about sessions, with a host that has just what they ask for. */
import { expect, test } from "bun:test";
import { sessionCommands } from "../src/command-session.ts";
import type { CommandUi } from "../src/command.ts";
import type { Interactive } from "../src/interactive-host.ts";

/** What `/undo` offers after a prompt that changed these files; null: there was none. */
async function undoOffers(files: string[] | null): Promise<(string | undefined)[]> {
  const undo = { last: () => files && { index: 0, title: "tidy up\nplease", files, commands: [] } };
  const host = { busy: () => false, session: { parts: { undo } } };
  const offered: (string | undefined)[] = [];
  const pick = async (_: string, options: { detail?: string }[]): Promise<null> => {
    offered.push(...options.map((option) => option.detail));
    return null;
  };
  // The choice is left open, so nothing else of either is asked for.
  const command = sessionCommands(host as unknown as Interactive).find((one) => one.name === "undo");
  await command?.run("", { dialog: { pick } } as unknown as CommandUi);
  return offered;
}

test.each([
  [[], 'no files of "tidy up please"'],
  [["a"], '1 file of "tidy up please"'],
  [["a", "b", "c"], '3 files of "tidy up please"'],
  [null, "no file changes recorded"],
])("/undo after changes to %j offers %s", async (files, detail) => {
  expect(await undoOffers(files)).toEqual([undefined, detail, "the last prompt and what came of it"]);
});
