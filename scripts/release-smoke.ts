/** Runs a built program as a user would: `bun scripts/release-smoke.ts dist/shiro`. Its version, the demo, a prompt against a model on loopback. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { UserError } from "../src/errors.ts";
import { VERSION } from "../src/version.ts";
import { reportUserError } from "./build.ts";
import { startModelServer } from "../tests/support/model-server.ts";

const LIMIT_MS = 120_000;
const ANSWER = "The smoke test reads this.";

/** Throws a UserError with what the program printed when any of it goes wrong. `wrapper` is put before the program, for an emulator. */
export async function smoke(program: string, wrapper: readonly string[] = []): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "shiro-smoke-"));
  mkdirSync(join(home, "work"));
  const run = (args: string[], env: Record<string, string> = {}): Promise<string> =>
    runProgram([...wrapper, resolve(program), ...args], home, env);
  try {
    const version = await run(["--version"]);
    if (!version.startsWith(`shiro ${VERSION} (`) || !version.includes("compiled"))
      throw new UserError(`--version says: ${version}`);
    await run(["demo", "--yes"]);
    await ask(run);
    console.log(`${program} works: --version, demo --yes, -p`);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** The server refuses what the real APIs refuse, so the wire is tried too. */
async function ask(run: (args: string[], env: Record<string, string>) => Promise<string>): Promise<void> {
  const server = await startModelServer([{ text: ANSWER }]);
  try {
    const text = await run(["-p", "hello"], {
      SHIRO_PROVIDER: "openai",
      SHIRO_BASE_URL: server.url,
      SHIRO_MODEL: "test-model",
      SHIRO_API_KEY: "no-real-key",
    });
    if (text.trim() !== ANSWER || server.faults.length > 0)
      throw new UserError(`-p answered: ${text}\n${server.faults.join("\n")}`);
  } finally {
    await server.close();
  }
}

async function runProgram(argv: string[], home: string, env: Record<string, string>): Promise<string> {
  const child = Bun.spawn(argv, {
    cwd: join(home, "work"),
    env: { ...process.env, HOME: home, SHIRO_HOME: join(home, "shiro"), TMPDIR: home, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: LIMIT_MS,
  });
  const streams = [new Response(child.stdout).text(), new Response(child.stderr).text()];
  const [out = "", errors = ""] = await Promise.all(streams);
  const code = await child.exited;
  if (code !== 0) throw new UserError(`${argv.join(" ")} exited ${code}:\n${out}${errors}`);
  return out;
}

if (import.meta.main)
  await reportUserError("release-smoke", async () => {
    const [program, ...emulator] = process.argv.slice(2).toReversed();
    if (!program) throw new UserError("Which program? bun scripts/release-smoke.ts [emulator …] dist/shiro");
    await smoke(program, emulator.toReversed());
  });
