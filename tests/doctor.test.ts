/** What `shiro doctor` reports of a configuration. Platform and network differ from machine to machine and are left out. */
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "../src/args.ts";
import { doctorReport } from "../src/doctor.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "shiro-doctor-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let count = 0;

/** The lines about `name`, without their first column. */
async function linesOf(
  name: string,
  config: string,
  flags: string[] = [],
): Promise<{ lines: string[]; failed: boolean }> {
  const cwd = join(root, `run-${count++}`);
  const home = join(cwd, "home");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(join(home, "config.json"), config, { mode: 0o600 });
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: cwd,
    SHIRO_HOME: home,
    SHIRO_PROVIDER: "openai",
    OPENAI_API_KEY: "x",
  };
  const { text, failed } = await doctorReport({ options: parseArgs(flags).options, env, cwd, online: false });
  const lines = text.split("\n").filter((line) => line.slice(5).startsWith(`${name} `));
  return { lines: lines.map((line) => line.replace(name, "").replace(/\s+/g, " ").replaceAll(home, "HOME")), failed };
}

test("each setting that was ignored has a line", async () => {
  const { lines, failed } = await linesOf("config", '{\n"modle": "x",\n"maxTokens": "many",\n"thinkng": 1\n}');
  expect(failed).toBe(true);
  expect(lines).toEqual([
    expect.stringMatching(/^FAIL .*modle/),
    expect.stringMatching(/^FAIL .*maxTokens/),
    expect.stringMatching(/^FAIL .*thinkng/),
  ]);
});

test("each rule that can't count has a line, those of flags too", async () => {
  const { lines, failed } = await linesOf("rules", '{"permission": {\n"bsh": "allow",\n"bash": "perhaps"\n}}', [
    "--allow=raed_file(*.md)",
    "--allow=raed_file(*.txt)",
    "--deny=bush",
    "--deny=mcp__x__y",
    "--allow=git_*",
  ]);
  expect(failed).toBe(true);
  expect(lines).toEqual([
    'FAIL config.json:2: permission "bsh" names no tool that exists now',
    'FAIL config.json:3: permission bash: "perhaps" is not allow, ask, deny; ignored',
    'FAIL --allow: permission "raed_file" names no tool that exists now',
    'FAIL --deny: permission "bush" names no tool that exists now',
  ]);
});

test("a configuration without faults has one line for its file and one for its rules", async () => {
  const config = '{"permission": {"bash": {"git *": "allow"}}}';
  expect((await linesOf("config", config)).lines).toEqual(["ok HOME/config.json"]);
  expect((await linesOf("rules", config, ["--allow=bash(ls *)"])).lines).toEqual(["ok as written"]);
});
