/** Why a command in the sandbox failed: whether the sandbox was the cause, and the least that would let it through. Runs nothing; looks only at what the message names. */
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { errnoOf } from "./errors.ts";
import { isWithin } from "./path-facts.ts";
import { cutMiddle } from "./text.ts";

/** A way to run it again. Narrowest first in every list; none of them is ever taken without a person's answer. */
export type EscalationOffer =
  | { kind: "network" }
  /** A further directory, by its real path; `once` for this command, or for the session. */
  | { kind: "write"; path: string }
  | { kind: "outside" };

export interface Explanation {
  /** One clause: what was refused. */
  reason: string;
  offers: EscalationOffer[];
  /** The command succeeded all the same: worth a hint, not a question. */
  hint: boolean;
}

export interface Failure {
  exitCode: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** What was in force for the command. */
export interface InForce {
  network: "off" | "on";
  write: readonly string[];
  deny: readonly string[];
  read: readonly string[];
  sharedMemory: boolean;
  /** Why a directory couldn't be offered, or null. */
  rootProblem(real: string): string | null;
}

const TAIL_CHARS = 8 * 1024;
const HINT_LINES = 10;
const SHOWN_CHARS = 200;
/** Paths looked at in one message. A compiler may name thousands; the cause is among the last. */
const MAX_PATHS = 40;

const REFUSED =
  /EACCES|EPERM|EROFS|EXDEV|permission denied|operation not permitted|read-only file system|cross-device/i;
const OFFLINE = new RegExp(
  [
    "EAI_AGAIN|ENOTFOUND|ENOTCACHED|ENETUNREACH|EHOSTUNREACH",
    "could not resolve|name resolution|couldn't connect|failed to connect|error connecting",
    "(?:network|host) is unreachable|offline mode|--offline",
    // What sockets are refused with here; Python names the place in its trace only.
    "\\b(?:socket|bind|listen|connect)\\b.{0,40}(?:EACCES|permission denied)",
    "socket\\.py[^]{0,400}PermissionError",
  ].join("|"),
  "i",
);
/** An index.lock of a linked worktree lies with the main checkout's repository. */
const WORKTREE = /^(.*\/\.git)\/worktrees\/[^/]+\/?/;

/** Null when nothing points to the sandbox: then it is an ordinary error. */
export function explainFailure(failure: Failure, inForce: InForce): Explanation | null {
  if (isForeignCall(failure))
    return explanation(failure, "a 32-bit program or an old system-call interface was stopped", [{ kind: "outside" }]);
  const text = tailOf(failure);
  const denial = text === "" ? null : deniedPath(text, failure, inForce);
  if (denial !== null) return explanation(failure, denial.reason, denial.offers);
  if (inForce.network === "off" && (OFFLINE.test(text) || isSilentCurl(failure, text)))
    return explanation(failure, "the network is off", [{ kind: "network" }, { kind: "outside" }]);
  return null;
}

function explanation(failure: Failure, reason: string, offers: EscalationOffer[]): Explanation {
  return { reason, offers, hint: failure.exitCode === 0 };
}

/** SIGSYS, by itself or as a shell reports it. */
function isForeignCall({ exitCode, signal }: Failure): boolean {
  return exitCode === 159 || signal === "SIGSYS";
}

/** curl(1): 6 is a host that wasn't resolved, 7 one that wasn't reached. With `-s` nothing is said, with `-w %{http_code}` zeros. */
function isSilentCurl({ exitCode }: Failure, text: string): boolean {
  return (exitCode === 6 || exitCode === 7) && /^0*$/.test(text.trim());
}

/** A pipe may have taken stderr along: where there is none, the output has to do. Of a success, only how it ends: the rest may be about anything. */
function tailOf({ stdout, stderr, exitCode }: Failure): string {
  const text = (stderr.trim() === "" ? stdout : stderr).slice(-TAIL_CHARS);
  return exitCode === 0 ? text.trimEnd().split("\n").slice(-HINT_LINES).join("\n") : text;
}

interface Denial {
  reason: string;
  offers: EscalationOffer[];
}

/** The last path named that this process could use and the sandbox doesn't let the command use. */
function deniedPath(text: string, failure: Failure, inForce: InForce): Denial | null {
  const english = isEnglish(failure.env);
  // In another language the words are unknown: then each path named is checked.
  const lines = text.split("\n").filter((line) => !english || REFUSED.test(line));
  const paths = [...new Set(lines.flatMap((line) => pathsIn(line, failure)))].slice(-MAX_PATHS).reverse();
  for (const path of paths) {
    const denial = denialOf(path, inForce);
    if (denial !== null) return denial;
  }
  return null;
}

function denialOf(path: string, inForce: InForce): Denial | null {
  const real = realOfNearest(path);
  if (real === null) return null;
  const unreadable =
    inForce.deny.some((one) => isWithin(one, real.path)) && !inForce.read.some((one) => isWithin(one, real.path));
  if (unreadable && may(real.path, constants.R_OK))
    return { reason: `${shown(path)} may not be read`, offers: [{ kind: "outside" }] };
  if (real.isSocket) return { reason: `unix sockets such as ${shown(path)} are closed`, offers: [{ kind: "outside" }] };
  if (inForce.write.some((root) => isWithin(root, real.path))) return null;
  if (/^\/dev\//.test(real.path) && !isWithin("/dev/shm", real.path)) return null;
  if (inForce.sharedMemory && isWithin("/dev/shm", real.path)) return null;
  if (!may(real.nearest, constants.W_OK)) return null;
  const directory = real.isDirectory ? real.nearest : dirname(real.nearest);
  return {
    reason: `${shown(path)} may not be written`,
    offers: [...writeOffer(directory, inForce), { kind: "outside" }],
  };
}

/** The message is the command's, and so is what a path that isn't there says: it gets no room for a text of its own. */
function shown(path: string): string {
  return cutMiddle(path, SHOWN_CHARS, () => "…").text;
}

function writeOffer(directory: string, inForce: InForce): EscalationOffer[] {
  const repository = WORKTREE.exec(`${directory}/`)?.[1];
  const path = repository ?? directory;
  return inForce.rootProblem(path) === null ? [{ kind: "write", path }] : [];
}

interface Nearest {
  path: string;
  nearest: string;
  isDirectory: boolean;
  isSocket: boolean;
}

/** The real path, and the part of it that is there. */
function realOfNearest(path: string): Nearest | null {
  for (let at = path; ; at = dirname(at)) {
    try {
      const nearest = realpathSync.native(at);
      const rest = path.slice(at.length);
      const stat = statSync(nearest);
      return { path: join(nearest, rest), nearest, isDirectory: stat.isDirectory(), isSocket: stat.isSocket() };
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      if (at === dirname(at)) return null;
    }
  }
}

function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false; // the very question asked
  }
}

/** Absolute paths that a line names: quoted ones, then words with a slash, and names before or after a colon. */
function pathsIn(line: string, { cwd }: Failure): string[] {
  const quoted = [...line.matchAll(/['"`‘“„«‚]([^'"`’”“»‘]{1,1024})['"`’”“»‘]/g)].map((match) => match[1] ?? "");
  const bare = line.split(/[\s'"`‘’“”„«»()=,]+/).map((word) => word.replace(/[:;.]+$/, ""));
  const parts = line.split(/:\s+/).slice(0, -1);
  return [...quoted, ...bare.filter((word) => word.includes("/")), ...parts.filter((part) => !/\s/.test(part))]
    .filter((path) => path !== "" && path.length <= 1024 && basename(path) !== "")
    .map((path) => (path.startsWith("~/") ? join(homedir(), path.slice(2)) : resolve(cwd, path)));
}

function isEnglish(env: Failure["env"]): boolean {
  const locale = env["LC_ALL"] || env["LC_MESSAGES"] || env["LANG"] || "C";
  return /^(?:C|POSIX|en)(?:[_.@]|$)/i.test(locale);
}
