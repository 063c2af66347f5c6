/** The entry: reads the command line, loads only what that asks for, and is the one place that ends the process. */
import { parseArgs, type Args } from "./args.ts";
import { commandUsage, usage } from "./args-usage.ts";
import { writeSync } from "node:fs";
import { EXIT, ProviderError, UserError, messageOf, errnoOf } from "./errors.ts";
import { Output } from "./output.ts";
import { openSinks } from "./output-fd.ts";
import { VERSION } from "./version.ts";

let sinks: ReturnType<typeof openSinks> | null = null;
const stdout = new Output(() => (sinks ??= openSinks()).stdout);
const stderr = new Output(() => (sinks ??= openSinks()).stderr);

main()
  .catch(async (error: unknown) => {
    // A message may quote a file, a server or a repository.
    const { sanitize } = await import("./sanitize.ts");
    stderr.write(`shiro: ${sanitize(crash(error))}\n`);
    if (error instanceof ProviderError) return (await import("./loop-exit.ts")).exitOfError(error);
    return error instanceof UserError ? userExit(error) : EXIT.internal;
  })
  .then(async (code) => {
    await stdout.flush();
    const lost = stdout.failure !== null && code === EXIT.done;
    if (lost) stderr.write(`shiro: stdout could not be written: ${messageOf(stdout.failure)}\n`);
    await stderr.flush();
    process.exit(lost ? EXIT.internal : code);
  });

async function main(): Promise<number> {
  // Before anything is parsed or read: this process is about to become a command in the sandbox.
  if (process.argv[2] === "__sandbox") return (await import("./sandbox-launch.ts")).launch(process.argv.slice(3));
  const args = parseArgs(process.argv.slice(2));
  if (args.action === "version") return print(versionText());
  if (args.action === "help") return help(args);
  const { run } = await import("./app.ts");
  return run(args, { stdout, stderr, end: (code) => process.exit(code) });
}

async function help(args: Args): Promise<number> {
  const topic = args.rest[0];
  if (topic === undefined) return print(usage());
  const text = commandUsage(topic);
  if (text !== null) return print(text);
  const { helpText } = await import("./subcommands.ts");
  return print(await helpText(topic, process.env));
}

/** Short texts go out at once: a queue and a thread for them would only cost time. */
function print(text: string): number {
  const whole = text.endsWith("\n") ? text : `${text}\n`;
  const bytes = new TextEncoder().encode(whole);
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(1, bytes, written);
  } catch (error) {
    return unwritten(error, bytes.subarray(written));
  }
  return EXIT.done;
}

/** What is left of a text that did not go out at once. */
function unwritten(error: unknown, rest: Uint8Array): number {
  const code = errnoOf(error);
  // A full pipe that doesn't block takes the rest through the stream, which waits; a reader that left wants none of it.
  if (code === "EAGAIN") stdout.write(new TextDecoder().decode(rest));
  else if (code !== "EPIPE") {
    stderr.write(`shiro: stdout could not be written: ${messageOf(error)}\n`);
    return EXIT.internal;
  }
  return EXIT.done;
}

function versionText(): string {
  // A compiled program runs from Bun's virtual file system.
  const compiled = import.meta.path.startsWith("/$bunfs/") || import.meta.path.includes("~BUN");
  return `shiro ${VERSION} (bun ${Bun.version}, ${process.platform}-${process.arch}, ${compiled ? "compiled" : "source"})`;
}

/** One line for what a person can mend or a provider did; a bug keeps its stack. */
function crash(error: unknown): string {
  if (error instanceof UserError) return error.message;
  if (error instanceof ProviderError) return error.hint ? `${error.message} (${error.hint})` : error.message;
  return error instanceof Error
    ? `internal error: ${error.stack ?? error.message}`
    : `internal error: ${messageOf(error)}`;
}

function userExit(error: UserError): number {
  return error.kind === "auth" ? EXIT.credentials : EXIT.usage;
}
