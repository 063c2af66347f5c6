/** `shiro trust`: shows what this directory's own settings and commands ask for and records the user's consent to exactly that content. */
import type { Args } from "./args.ts";
import { openDialog } from "./dialog-alone.ts";
import { EXIT, UserError } from "./errors.ts";
import { refuseInsideSession } from "./inside-session.ts";
import type { Output } from "./output.ts";
import { barred } from "./registry-view.ts";
import { sanitize } from "./sanitize.ts";
import { configOf } from "./setup-config.ts";
import { terminalTraits } from "./terminal-traits.ts";
import { recordTrust } from "./trust.ts";
import { projectTrustItems, type TrustItem } from "./trust-project.ts";

interface TrustIo {
  stdout: Output;
  stderr: Output;
  env: Record<string, string | undefined>;
  cwd: string;
}

export async function runTrust(args: Args, io: TrustIo): Promise<number> {
  const { home } = configOf({ options: args.options, env: io.env, cwd: io.cwd });
  refuseInsideSession(io.env, "shiro trust", "/trust, or a shell of your own");
  const { items, notices } = projectTrustItems(io.cwd, home.path);
  const [notice] = notices;
  if (notice !== undefined && items.length === 0) throw new UserError(notice);
  for (const line of notices) io.stderr.write(`shiro: ${sanitize(line)}\n`);
  if (items.length === 0)
    return say(
      io,
      "This directory has no .shiro/config.json and no commands that run anything: there is nothing to trust.",
    );
  for (const item of items) await decide(item, home.path, args, io);
  return EXIT.done;
}

async function decide(item: TrustItem, home: string, args: Args, io: TrustIo): Promise<void> {
  say(io, `${item.realPath} (${item.state}):\n${barred(item.content)}`);
  if (item.state === "trusted") return;
  if (!args.options.force && !(await confirmed(item, io))) return void say(io, "Not trusted; it stays without effect.");
  const problem = await recordTrust(home, item, new Date());
  if (problem) throw new UserError(`Trust was not recorded: ${problem.reason}`);
  say(io, "Trusted, as long as the file stays as it is.");
}

function say(io: TrustIo, text: string): number {
  io.stdout.write(`${sanitize(text)}\n`);
  return EXIT.done;
}

async function confirmed(item: TrustItem, io: TrustIo): Promise<boolean> {
  if (!process.stdin.isTTY) throw new UserError("shiro trust asks first: run it in a terminal, or give --force");
  const traits = terminalTraits(io.env, {
    stdinIsTty: true,
    stdoutIsTty: process.stdout.isTTY === true,
    platform: process.platform,
  });
  const alone = openDialog(traits, () => {});
  try {
    return await alone.dialog.yesNo(
      `Let ${item.what === "settings" ? "these settings" : item.what} count in this directory?`,
    );
  } finally {
    alone.close();
  }
}
