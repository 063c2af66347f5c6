/** `shiro registry`: the registry from a shell. Asks at a terminal; elsewhere it changes nothing without --yes. */
import type { Args } from "./args.ts";
import { openDialog } from "./dialog-alone.ts";
import { diffView } from "./diff-view.ts";
import { EXIT, UserError } from "./errors.ts";
import { refuseInsideSession } from "./inside-session.ts";
import type { Output } from "./output.ts";
import { registryAction, runRegistry } from "./registry-actions.ts";
import { DEFAULT_REGISTRY_URL } from "./registry-fetch.ts";
import { escapeForApproval, sanitize } from "./sanitize.ts";
import { configOf } from "./setup-config.ts";
import { terminalTraits } from "./terminal-traits.ts";

interface RegistryIo {
  stdout: Output;
  env: Record<string, string | undefined>;
  cwd: string;
}

export async function runRegistryCommand(args: Args, io: RegistryIo): Promise<number> {
  const words = args.rest.join(" ");
  const { home, config } = configOf({ options: args.options, env: io.env, cwd: io.cwd });
  if (registryAction(words).writes) mayChange(args, io);
  await runRegistry(words, {
    home: home.path,
    source: { url: config.values.registryUrl ?? DEFAULT_REGISTRY_URL, env: io.env },
    now: () => new Date(),
    print: (text) => io.stdout.write(`${sanitize(text)}\n`),
    showDiff: (diff) =>
      io.stdout.write(
        diffView(diff, { colour: false, ascii: true, maxLines: Infinity, escape: (line) => escapeForApproval(line) }),
      ),
    confirm: async (question) => args.options.yes || confirmed(question, io),
    changed: () => {}, // what runs elsewhere reads it at its next start
  });
  return EXIT.done;
}

function mayChange(args: Args, io: RegistryIo): void {
  refuseInsideSession(io.env, "shiro registry", "/registry, or a shell of your own");
  if (!args.options.yes && !process.stdin.isTTY)
    throw new UserError("shiro registry asks before it changes anything: run it in a terminal, or give --yes");
}

async function confirmed(question: string, io: RegistryIo): Promise<boolean> {
  const traits = terminalTraits(io.env, {
    stdinIsTty: true,
    stdoutIsTty: process.stdout.isTTY === true,
    platform: process.platform,
  });
  await io.stdout.flush();
  const alone = openDialog(traits, () => {});
  try {
    return await alone.dialog.yesNo(question);
  } finally {
    alone.close();
  }
}
