/** `shiro trust`: shows what this directory's own configuration asks for and records the user's consent to exactly that content. */
import type { Args } from "./args.ts";
import { openDialog } from "./dialog-alone.ts";
import { EXIT, UserError } from "./errors.ts";
import type { Output } from "./output.ts";
import { loadProjectConfig } from "./project-config.ts";
import { sanitize } from "./sanitize.ts";
import { configOf } from "./setup-config.ts";
import { terminalTraits } from "./terminal-traits.ts";
import { recordTrust } from "./trust.ts";

interface TrustIo {
  stdout: Output;
  env: Record<string, string | undefined>;
  cwd: string;
}

export async function runTrust(args: Args, io: TrustIo): Promise<number> {
  const { home } = configOf({ options: args.options, env: io.env, cwd: io.cwd });
  const found = loadProjectConfig(io.cwd, home.path);
  if (!found) return say(io, "This directory has no .shiro/config.json: there is nothing to trust.");
  if (found.content === "") throw new UserError(found.notices[0] ?? `${found.realPath} can't be read`);
  say(io, `${found.realPath} (${found.state}):\n${found.content}`);
  if (found.state === "trusted") return EXIT.done;
  if (!args.options.force && !(await confirmed(io))) return say(io, "Not trusted; it stays without effect.");
  const problem = await recordTrust(home.path, { realPath: found.realPath, content: found.content }, new Date());
  if (problem) throw new UserError(`Trust was not recorded: ${problem.reason}`);
  return say(io, "Trusted, as long as the file stays as it is.");
}

function say(io: TrustIo, text: string): number {
  io.stdout.write(`${sanitize(text)}\n`);
  return EXIT.done;
}

async function confirmed(io: TrustIo): Promise<boolean> {
  if (!process.stdin.isTTY) throw new UserError("shiro trust asks first: run it in a terminal, or give --force");
  const traits = terminalTraits(io.env, {
    stdinIsTty: true,
    stdoutIsTty: process.stdout.isTTY === true,
    platform: process.platform,
  });
  const alone = openDialog(traits, () => {});
  try {
    return await alone.dialog.yesNo("Let these rules count in this directory?");
  } finally {
    alone.close();
  }
}
