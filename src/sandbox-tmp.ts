/** The sandbox's own directories: one for commands to write below the system's temporary one, others for what they only read. Removed at the end; what a killed program left is swept by a later one. */
import { accessSync, constants, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { errnoOf } from "./errors.ts";

export class SandboxTmp {
  readonly #wanted: string | undefined;
  readonly #stateHome: string;
  #home: string | null = null;
  #own: string | null = null;
  #kept: string[] = [];

  /** `wanted` is TMPDIR; `stateHome` is where no command may ever write. Nothing is looked at or made yet. */
  constructor(wanted: string | undefined, stateHome: string) {
    this.#wanted = wanted;
    this.#stateHome = stateHome;
  }

  /** Real path of the system's temporary directory. */
  get base(): string {
    return usable(this.#wanted) ?? usable("/tmp") ?? "/tmp";
  }

  /** Real path of the directory for commands, if there is one yet. */
  get path(): string | null {
    return this.#own;
  }

  /** The same, made on first use: 0700. */
  open(): string {
    this.#home ??= homeIn(this.base);
    return (this.#own ??= made(this.#home, "tmp"));
  }

  /** Directories of that lifetime which commands may read and not write, whatever TMPDIR is. */
  get kept(): readonly string[] {
    return this.#kept;
  }

  keep(kind: string): string {
    const home = join(this.#stateHome, KEPT);
    mkdirSync(home, { recursive: true, mode: 0o700 });
    const path = made(home, kind);
    this.#kept.push(path);
    return path;
  }

  /** Never throws. */
  close(): void {
    for (const path of [...this.#kept, ...(this.#own === null ? [] : [this.#own])]) remove(path);
    if (this.#kept.length > 0) sweep(join(this.#stateHome, KEPT), Date.now());
    // Where TMPDIR is in the workspace, a command may have put a link to somebody's directory in its place.
    if (this.#home !== null && isOwn(this.#home)) sweep(this.#home, Date.now());
    this.#kept = [];
    this.#own = null;
  }
}

/** Below the state directory. */
const KEPT = "sandbox";

function made(home: string, kind: string): string {
  return realpathSync(mkdtempSync(join(home, `${process.pid}-${kind}-`)));
}

/** A TMPDIR that isn't there must not be the end of the sandbox. */
function usable(path: string | undefined): string | null {
  if (path === undefined || !path.startsWith("/")) return null;
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    const real = realpathSync(path);
    return lstatSync(real).isDirectory() ? real : null;
  } catch (error) {
    if (errnoOf(error) !== undefined) return null;
    throw error;
  }
}

/** A directory of the user's own, so that sweeping doesn't go through everybody's files. The base itself where that can't be had. */
function homeIn(base: string): string {
  const path = join(base, `shiro-${process.getuid?.() ?? 0}`);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") return base;
  }
  return isOwn(path) ? path : base;
}

/** Somebody else may have made it first, or a link in its place; what is everybody's isn't swept. */
function isOwn(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.uid === (process.getuid?.() ?? 0) && (stat.mode & 0o077) === 0;
}

/** Another container may share the directory and not its process ids: so age counts too. */
const ABANDONED_MS = 24 * 60 * 60 * 1000;

function sweep(home: string, now: number): void {
  for (const name of namesIn(home)) {
    const pid = Number(/^(\d+)-(?:tmp|env)-\w{6}$/.exec(name)?.[1] ?? 0);
    const path = join(home, name);
    if (pid > 0 && !isRunning(pid) && ageOf(path, now) > ABANDONED_MS) remove(path);
  }
}

function namesIn(home: string): string[] {
  try {
    return readdirSync(home);
  } catch {
    return []; // gone: there is nothing to sweep
  }
}

function ageOf(path: string, now: number): number {
  return now - (lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) === "EPERM";
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // A command left something there that isn't ours to remove; the system clears its temporary directory.
  }
}
