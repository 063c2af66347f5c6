/** What a login shell makes of the environment, taken once outside of the sandbox: start-up files write caches and would fail in it with every command. Knows no settings. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { programOutside, shielded } from "./sandbox-outside.ts";

export interface Login {
  /** What the start-up files export. */
  env: Record<string, string>;
  /** A file for BASH_ENV: the functions they define and their umask. */
  file: string;
}

/** Start-up files that wait for something must not keep the first command waiting for ever. */
const LIMIT_MS = 10_000;
/** After the shell's end its output is read this long. */
const DRAIN_MS = 500;
/** Functions of a few version managers are some hundred kilobytes. */
const MAX_CHARS = 16 * 1024 * 1024;
/** Of the shell that took the picture; a later shell has its own. */
const OWN = /^(?:PWD|OLDPWD|SHLVL|_|BASH_ENV|SHIRO_CALL)$/;

/**
 * Runs bash's start-up files and keeps their exported variables, functions and umask; aliases and shell options are not
 * kept. Null where that fails: then each command has to run them by itself.
 */
export async function captureLogin(
  bash: string,
  env: Readonly<Record<string, string>>,
  makeDirectory: () => string,
  bashEnv = env["BASH_ENV"],
): Promise<Login | null> {
  const mark = crypto.randomUUID();
  const text = await outputOf([bash, "-lc", picture(mark)], env, `\0${mark}\0`);
  // What the files print themselves comes before the first mark; the last one says that all of it is there.
  const [, taken, end] = text.split(`${mark}\0`);
  const [functions, ...variables] = (taken ?? "").split("\0");
  if (end === undefined || functions === undefined || variables.length < 2) return null;
  const file = join(makeDirectory(), "functions.sh");
  writeFileSync(file, `${restore(bashEnv)}\n${functions}\n`, { mode: 0o600 });
  return { env: parseVariables(variables), file };
}

type Env = Readonly<Record<string, string | undefined>>;

/** The login shell of one session, run at the first command that asks for it. */
export class LoginShell {
  readonly #own: Env;
  readonly #roots: () => readonly string[];
  readonly #makeDirectory: () => string;
  #login: Promise<Login | null> | null = null;

  /** `own`: the program's environment. `roots`: where commands may write; nothing from there is run outside. */
  constructor(own: Env, roots: () => readonly string[], makeDirectory: () => string) {
    this.#own = own;
    this.#roots = roots;
    this.#makeDirectory = makeDirectory;
  }

  /** `argv` is bash with -lc. A name that the program keeps from commands stays kept when a start-up file sets it anew. */
  async enter(command: LoginCommand): Promise<LoginCommand> {
    const [bash = "", , ...rest] = command.argv;
    this.#login ??= this.#capture(bash, command.env).catch(
      // No room for its file: then each command runs its start-up files by itself.
      () => null,
    );
    const login = await this.#login;
    if (login === null) return command;
    const isKept = (name: string): boolean => this.#own[name] !== undefined && command.env[name] === undefined;
    const set = Object.entries(login.env).filter(([name]) => !isKept(name));
    return { argv: [bash, "-c", ...rest], env: { ...Object.fromEntries(set), BASH_ENV: login.file } };
  }

  async #capture(bash: string, env: Readonly<Record<string, string>>): Promise<Login | null> {
    const roots = this.#roots();
    const program = programOutside(bash, env["PATH"] ?? "", roots);
    if (program === null) return null;
    const shield = shielded(env, roots);
    const login = await captureLogin(program, shield.env, this.#makeDirectory, env["BASH_ENV"]);
    return login === null ? null : { ...login, env: shield.restore(login.env) };
  }

  forget(): void {
    this.#login = null;
  }
}

interface LoginCommand {
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
}

function picture(mark: string): string {
  const say = (text: string): string => `builtin printf '%s\\0' '${text}'`;
  return `${say(mark)}; umask -p; declare -f; ${say("")}; command cat /proc/self/environ; ${say("")}; ${say(mark)}`;
}

/** The shells that the command starts must not read the file again. */
function restore(before: string | undefined): string {
  return before === undefined ? "unset BASH_ENV" : `export BASH_ENV='${before.replaceAll("'", "'\\''")}'`;
}

function parseVariables(entries: readonly string[]): Record<string, string> {
  const pairs = entries.map((entry): [string, string] => {
    const equals = entry.indexOf("=");
    return [entry.slice(0, Math.max(0, equals)), entry.slice(equals + 1)];
  });
  return Object.fromEntries(pairs.filter(([name]) => name !== "" && !OWN.test(name)));
}

/** Up to `end`: something the files started in the background may hold the pipe open for longer. */
async function outputOf(argv: string[], env: Readonly<Record<string, string>>, end: string): Promise<string> {
  const child = Bun.spawn(argv, {
    // No directory of a repository: a start-up file may act on where it is.
    cwd: "/",
    env: { ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
    // setsid(2): no terminal to ask at.
    detached: true,
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
  });
  const ended = child.exited.then(() => Bun.sleep(DRAIN_MS)).then(() => "");
  return Promise.race([readUntil(child.stdout, end), ended]);
}

async function readUntil(stream: ReadableStream<Uint8Array>, end: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    if (text.endsWith(end)) break;
    if (text.length > MAX_CHARS) return "";
  }
  return text;
}
