/** Instruction files (AGENTS.md and kin): found from the repository root down to the working directory, each real file once, bounded. Text for the model; changes no rule. */
import { closeSync, constants, existsSync, fstatSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { errnoOf } from "./errors.ts";
import { refusedByName } from "./secrets.ts";

export interface Instruction {
  /** As shown to the model: relative to the working directory where it is below the repository root. */
  path: string;
  text: string;
}

export interface Instructions {
  files: Instruction[];
  /** What was cut, skipped or looks suspicious, for the user. */
  notices: string[];
}

/** All instruction files together may take this many bytes of the prompt: more would push the task itself out of small contexts. Split the file, or point to it by name, to lift it. */
export const MAX_INSTRUCTION_BYTES = 32 * 1024;

// Tag characters, variation selectors but those of emoji, zero-width and bidi controls, invisible fillers: what a reviewer can't see but a model reads.
const INVISIBLE =
  /[\u{E0000}-\u{E0FFF}\uFE00-\uFE0D\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFEFF\u3164\u115F\u1160\uFFA0\u2800\u00AD\u034F\u061C\u17B4\u17B5\u180B-\u180F\uFFF9-\uFFFB]/gu;

/** A text without what a reviewer can't see. */
export function withoutInvisible(text: string): string {
  return text.replace(INVISIBLE, "");
}

/** Reads what applies to `cwd`. `home` is SHIRO_HOME. Unreadable files are named in the notices. */
export function loadInstructions(query: { cwd: string; home: string }): Instructions {
  const found: Instructions = { files: [], notices: [] };
  const root = repositoryRoot(query.cwd);
  const seen = new Set<string>();
  let left = MAX_INSTRUCTION_BYTES;
  for (const path of [join(query.home, "AGENTS.md"), ...candidates(root, query.cwd)]) {
    const real = realOrNull(path);
    const identity = real === null ? null : inodeOf(real);
    if (real === null || identity === null || seen.has(identity)) continue;
    seen.add(identity);
    const shown = path.startsWith(query.home + sep) ? path : relative(query.cwd, path) || path;
    if (!path.startsWith(query.home + sep) && !inside(real, realpathSync(root))) {
      found.notices.push(`${shown} leads outside the workspace (${real}); not read`);
      continue;
    }
    // A link in a repository must not send the user's keys to a model.
    if (refusedByName(relative(realpathSync(root), real))) {
      found.notices.push(`${shown} leads to ${real}, which usually holds secrets; not read`);
      continue;
    }
    const text = readBounded(path, shown, left, found.notices);
    if (text === null) continue;
    left = Math.max(0, left - Buffer.byteLength(text));
    found.files.push({ path: shown, text });
  }
  return found;
}

/** The nearest directory upwards that holds `.git`; `cwd` itself outside a repository. */
export function repositoryRoot(cwd: string): string {
  for (let at = cwd; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (dirname(at) === at) return cwd;
  }
}

function candidates(root: string, cwd: string): string[] {
  const steps = relative(root, cwd).split(sep).filter(Boolean);
  const directories = [root, ...steps.map((_, index) => join(root, ...steps.slice(0, index + 1)))];
  return directories.map((directory) => {
    const agents = join(directory, "AGENTS.md");
    return existsSync(agents) ? agents : join(directory, "CLAUDE.md");
  });
}

function readBounded(path: string, shown: string, left: number, notices: string[]): string | null {
  let file: number;
  try {
    // Without O_NONBLOCK a pipe of that name would hold the start-up for ever.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    notices.push(`${shown} could not be read (${errnoOf(error) ?? "error"})`);
    return null;
  }
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) {
      notices.push(`${shown} is not a regular file; not read`);
      return null;
    }
    const buffer = Buffer.alloc(Math.min(stat.size, left));
    const length = readSync(file, buffer, 0, buffer.length, 0);
    // A cut may fall inside a character; the decoder's replacement for it is dropped. Bounded: a file may consist of nothing else.
    const text = buffer
      .subarray(0, length)
      .toString("utf8")
      .replace(/\uFFFD{1,3}$/, "");
    if (stat.size > left) notices.push(`${shown} is ${stat.size} bytes; only the first ${length} are in the prompt`);
    const hidden = text.match(INVISIBLE)?.length ?? 0;
    if (hidden > 0) notices.push(`${shown} holds ${hidden} invisible characters; read it before you trust it`);
    const cut = stat.size > left ? "\n[cut here: the file is longer than the prompt has room for]" : "";
    return text.trim() === "" ? null : text.replace(INVISIBLE, "").trimEnd() + cut;
  } finally {
    closeSync(file);
  }
}

function realOrNull(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null; // not there, or a dangling link: nothing to read either way
  }
}

/** One file under several names, hard links too, is one file. */
function inodeOf(path: string): string | null {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat ? `${stat.dev}:${stat.ino}` : null;
}

function inside(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
