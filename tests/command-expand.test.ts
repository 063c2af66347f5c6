import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expandPrompt } from "../src/command-expand.ts";
import { scriptedProvider } from "./support/scripted.ts";
import { clearStages, openStage } from "./support/state-stage.ts";

afterAll(clearStages);

test("a command in it gets what is typed as words, and undo names it with its prompt", async () => {
  const stage = await openStage({ provider: scriptedProvider([{ text: "over" }]) });
  mkdirSync(join(stage.home, "commands"));
  writeFileSync(join(stage.home, "commands/say.md"), "It says !`echo $ARGUMENTS`");
  await stage.say("before");
  const ran: string[] = [];
  const deps = { setup: stage.setup, ask: null, signal: new AbortController().signal };
  const expanded = await expandPrompt("/say hi; touch made", { ...deps, ran: (line) => void ran.push(line) });
  expect([expanded?.text, ran]).toEqual(["It says hi; touch made", ["echo 'hi;' touch made"]]);
  expect(existsSync(stage.path("made"))).toBe(false);
  await stage.say(expanded?.text ?? "");
  expect(stage.setup.session.parts.undo?.last()).toMatchObject({
    title: "It says hi; touch made",
    commands: ["echo 'hi;' touch made"],
  });
});
