/** The level of thinking belongs to the variant unless the user has set one, in the sessions that follow one another too. */
import { mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { agentVariants } from "../src/agents.ts";
import { parseArgs } from "../src/args.ts";
import { type Setup, setUp } from "../src/setup.ts";

async function begin(...args: string[]): Promise<Setup> {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "shiro-variant-")));
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: cwd,
    SHIRO_HOME: join(cwd, "home"),
    SHIRO_PROVIDER: "openai",
    SHIRO_BASE_URL: "http://127.0.0.1:9/v1",
    SHIRO_MODEL: "test-model",
    SHIRO_API_KEY: "key",
  };
  return setUp({ options: parseArgs(args).options, env, cwd, interactive: true, onNotice: () => undefined });
}

test.each([
  ["the variant's own", [], "max"],
  ["what the user set", ["--think", "low"], "low"],
] as const)("in a new session another variant thinks at %s level", async (_, args, level) => {
  const setup = await begin(...args);
  try {
    setup.switchTo(setup.freshSession());
    const deep = agentVariants(undefined).find((variant) => variant.name === "deep");
    if (!deep) throw new Error("no such variant");
    setup.session.setVariant(deep);
    expect(setup.session.thinking).toBe(level);
  } finally {
    await setup.close();
  }
});
