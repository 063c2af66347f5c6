/** The composition root: decides which of the program's faces a command line asks for and loads that one. */
import { existsSync } from "node:fs";
import { chdir } from "node:process";
import type { Args } from "./args.ts";
import { UserError, messageOf } from "./errors.ts";
import type { Output } from "./output.ts";
import { isTerminal } from "./output-fd.ts";

export interface AppIo {
  stdout: Output;
  stderr: Output;
  /** Ends the process at once. */
  end(code: number): void;
}

/** Runs what the command line asks for; returns the exit code. Throws UserError for what a person can fix. */
export async function run(args: Args, io: AppIo): Promise<number> {
  const { options } = args;
  const place = enter(options.directory);
  // A copy: keys are overwritten in the process's own block later (own-environ.ts).
  const surroundings = { ...io, env: { ...process.env }, cwd: place.cwd };
  const interactive = !options.print && (options.plain || isTerminal(0));
  if (place.problem && (interactive || args.action === "command")) throw place.problem;
  if (args.action === "command") {
    const { runSubcommand } = await import("./subcommands.ts");
    return runSubcommand(args, surroundings);
  }
  if (interactive) {
    const { runInteractive } = await import("./interactive.ts");
    return runInteractive(args, surroundings);
  }
  if (!options.print && !options.quiet) io.stderr.write("shiro: stdin is not a terminal, so this runs as -p\n");
  const { runHeadless } = await import("./headless-run.ts");
  const stdoutIsTerminal = isTerminal(1);
  return runHeadless(args, { ...surroundings, problem: place.problem, stdoutIsTerminal });
}

/** Goes where `-C` says. Where that fails `cwd` is only the name of the place. */
function enter(directory: string | null): { cwd: string; problem: UserError | null } {
  try {
    if (directory !== null) chdir(directory);
  } catch (error) {
    const reason = existsSync(directory ?? "") ? messageOf(error) : "there is no such directory";
    return { cwd: directory ?? "", problem: new UserError(`-C ${directory}: ${reason}`, { cause: error }) };
  }
  try {
    return { cwd: process.cwd(), problem: null };
  } catch (error) {
    const message = "The current directory no longer exists. Change to another one";
    return { cwd: process.env.PWD ?? "", problem: new UserError(message, { cause: error }) };
  }
}
