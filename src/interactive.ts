/** `shiro` at a terminal: first-run setup, then the interactive loop over a session. */
import { findAgent } from "./agents.ts";
import type { Args } from "./args.ts";
import { nothingConfigured } from "./endpoint.ts";
import { EXIT } from "./errors.ts";
import { hangupIgnored } from "./spawn-signals.ts";
import { watchCrashes } from "./interactive-crash.ts";
import { Interactive } from "./interactive-host.ts";
import type { Output } from "./output.ts";
import { runRepl } from "./repl.ts";
import { configOf } from "./setup-config.ts";
import { agentsOf } from "./setup-extensions.ts";
import { slashCommands } from "./slash-commands.ts";
import { setUp, type Notice } from "./setup.ts";
import { indicatorFrames, openTerminal, type Terminal } from "./terminal.ts";
import { processIo, systemClock } from "./terminal-process.ts";
import { terminalTraits } from "./terminal-traits.ts";

export interface InteractiveIo {
  stdout: Output;
  stderr: Output;
  env: Record<string, string | undefined>;
  cwd: string;
}

export async function runInteractive(args: Args, io: InteractiveIo): Promise<number> {
  const stop = new AbortController();
  // Before anything that could throw: a terminal left raw is worse than what went wrong.
  const crashes = watchCrashes(process, {
    debug: io.env.SHIRO_DEBUG,
    onCrash: () => stop.abort(EXIT.internal),
    write: (text) => io.stderr.write(text),
  });
  try {
    return await runAtTerminal(args, io, stop);
  } finally {
    crashes.stop();
    if (crashes.text !== null) io.stderr.write(`${crashes.text}\n`);
  }
}

async function runAtTerminal(args: Args, io: InteractiveIo, stop: AbortController): Promise<number> {
  const { options } = args;
  const query = { options, env: io.env, cwd: io.cwd };
  const { home, config } = configOf(query);
  const traits = terminalTraits(io.env, {
    stdinIsTty: process.stdin.isTTY === true,
    stdoutIsTty: process.stdout.isTTY === true,
    platform: process.platform,
    plain: options.plain || config.values.plain === true,
    lowBandwidth: options.lowBandwidth,
    theme: config.values.theme ?? "auto",
    ...(config.values.escTimeoutMs === undefined ? {} : { escTimeoutMs: config.values.escTimeoutMs }),
  });
  // Before anybody is asked for a key: a mistyped name is said at once.
  findAgent(config.values.agent ?? "default", agentsOf({ home: home.path, cwd: io.cwd }, config.values.agents));
  if (nothingConfigured(config.values, io.env) && process.stdin.isTTY) {
    const { firstRun } = await import("./interactive-setup.ts");
    if (!(await firstRun(query, traits, config.path))) return EXIT.credentials;
  }
  const late: { host: Interactive | null } = { host: null };
  const onNotice = ({ level, message }: Notice): void =>
    late.host?.notice(level === "warning" ? `warning: ${message}` : message);
  const setup = await setUp({ ...query, interactive: true, onNotice });
  const host = new Interactive(setup, slashCommands);
  host.controls = !traits.plain;
  late.host = host;
  void setup.hooks?.sessionStart(); // never waited for here: the prompt comes first, and a turn waits for it
  const signals = outsideSignals(stop);
  const terminal: Terminal = openTerminal(
    processIo(process),
    traits,
    traits.plain || traits.lowBandwidth ? undefined : await indicatorFrames(traits.ascii),
  );
  try {
    return await runRepl(host, terminal, {
      clock: systemClock,
      env: io.env,
      stop: stop.signal,
      ...(args.prompt === null ? {} : { firstPrompt: args.prompt }),
    });
  } finally {
    signals();
  }
}

/** SIGTERM and SIGHUP end the program with their codes; a SIGHUP that was ignored at the start stays so. */
function outsideSignals(stop: AbortController): () => void {
  const codes: [NodeJS.Signals, number][] = [
    ["SIGTERM", EXIT.sigterm],
    ...(hangupIgnored() ? [] : [["SIGHUP", EXIT.sighup] as [NodeJS.Signals, number]]),
  ];
  const handlers = codes.map(([name, code]) => {
    const handler = (): void => stop.abort(code);
    process.on(name, handler);
    return [name, handler] as const;
  });
  return () => handlers.forEach(([name, handler]) => void process.off(name, handler));
}
