/** What programs that run outside must not take from where commands write: programs by PATH, code by the variables that load some. Starts nothing. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { errnoOf } from "./errors.ts";
import { isWithin, realOf } from "./path-facts.ts";
import { ledThrough } from "./sandbox-links.ts";

type Env = Readonly<Record<string, string>>;

/** What makes a shell, the linker or an interpreter run code from a file. */
const LOADERS = /^(?:LD_\w+|BASH_ENV|ENV|NODE_OPTIONS|NODE_PATH|PYTHON\w*|PERL\w*|RUBY\w*)$/;

export interface Shielded {
  env: Record<string, string>;
  /** Puts back what was taken out, where it hasn't been set anew. */
  restore(made: Env): Record<string, string>;
}

/** An environment in which nothing leads into `roots`. Entries of PATH keep their places under names that can't exist. */
export function shielded(env: Env, roots: readonly string[]): Shielded {
  const entries = (env["PATH"] ?? "").split(delimiter);
  const names = entries.map((entry, index) => (isOpen(entry, roots) ? `/dev/null/shiro-${index}` : entry));
  const hidden = Object.entries(env).filter(
    ([name, value]) => LOADERS.test(name) && (name.startsWith("LD_") || roots.some((root) => value.includes(root))),
  );
  const dropped = new Set(hidden.map(([name]) => name));
  const kept = Object.fromEntries(Object.entries(env).filter(([name]) => !dropped.has(name)));
  const original = (entry: string): string => entries[names.indexOf(entry)] ?? entry;
  const path = (text: string): string => text.split(delimiter).map(original).join(delimiter);
  return {
    env: env["PATH"] === undefined ? kept : { ...kept, PATH: names.join(delimiter) },
    restore: (made) => ({
      ...Object.fromEntries(hidden),
      ...made,
      ...(made["PATH"] === undefined ? {} : { PATH: path(made["PATH"]) }),
    }),
  };
}

/** The first program of that name on `path` which no command can have put there; null where there is none. */
export function programOutside(name: string, path: string, roots: readonly string[]): string | null {
  const found = path
    .split(delimiter)
    .filter((entry) => !isOpen(entry, roots))
    .map((entry) => join(entry, name));
  return found.find((file) => isProgram(file) && !leadsInto(file, roots)) ?? null;
}

function isOpen(entry: string, roots: readonly string[]): boolean {
  return !entry.startsWith("/") || leadsInto(entry, roots);
}

function leadsInto(path: string, roots: readonly string[]): boolean {
  const real = realOf(path);
  return roots.some((root) => isWithin(root, real)) || ledThrough(path, real, roots) !== undefined;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false; // the very question asked
  }
}

/** The launcher is a program outside until it has confined itself: what the linker would load for it is set by `env` afterwards. */
export function afterLinking(argv: readonly string[], env: Env): { argv: readonly string[]; env: Env } {
  const isLinkers = ([name]: [string, string]): boolean => name.startsWith("LD_");
  const own = Object.entries(env).filter(isLinkers);
  if (own.length === 0) return { argv, env };
  const rest = Object.entries(env).filter((entry) => !isLinkers(entry));
  return { argv: ["env", ...own.map((entry) => entry.join("=")), ...argv], env: Object.fromEntries(rest) };
}
