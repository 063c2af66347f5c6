/** `git_status`, `git_diff`, `git_log`, `git_show`, `git_blame`: reading a repository. git.ts keeps its configuration from running programs. */
import { realpathSync } from "node:fs";
import { join, relative, sep } from "node:path";
import * as v from "valibot";
import { ToolError } from "./errors.ts";
import { type Git, type GitRun, type GitStart, openGit, problemOf } from "./git.ts";
import { statusText } from "./git-status.ts";
import { SECRET_READ_RULES } from "./secrets.ts";
import { boundResult } from "./spill.ts";
import { defineTool, type Subject, type Tool, type ToolContext, type ToolOutput } from "./tool.ts";

const PLAIN_DIFF = [
  "--no-ext-diff",
  "--no-textconv",
  "--no-color",
  "--submodule=short",
  "--ignore-submodules=dirty",
] as const;
const DEFAULT_LOG = 15;
const MAX_LOG = 40;
/** Lines of blame when only the start is given. */
const BLAME_LINES = 40;

const lineNumber = v.pipe(v.number(), v.integer(), v.minValue(1));
const shared = { set: "git", mutates: false, concurrencySafe: () => true } as const;

const gitStatus = defineTool({
  ...shared,
  name: "git_status",
  description: "Changed, staged and untracked files, in words.",
  input: v.object({}),
  permission: "allow",
  subjects: () => [],
  run: async (_, context) => {
    const run = await checked(await open(context), context, [
      "status",
      "--porcelain=v2",
      "--branch",
      "-z",
      "--ignore-submodules=dirty",
    ]);
    return bounded(statusText(run.stdout), run, context);
  },
});

const gitDiff = defineTool({
  ...shared,
  name: "git_diff",
  description: "Unstaged changes as a diff, or `staged` ones.",
  input: v.object({ staged: v.optional(v.boolean()), path: v.optional(v.string()) }),
  permission: SECRET_READ_RULES,
  subjects: (input) => pathSubjects(input.path),
  run: async (input, context) => {
    const git = await open(context);
    const command = ["diff", ...PLAIN_DIFF, ...(input.staged ? ["--cached"] : [])];
    const scope = scopeOf(git, input.path, context);
    const withheld = await secretsIn(git, command, scope, context);
    const run = await checked(git, context, [...command, "--", ...scope, ...withheld.map(excluding)]);
    return bounded(withNote(run.stdout || noChanges(input.staged ?? false, withheld), withheld), run, context);
  },
});

const gitLog = defineTool({
  ...shared,
  name: "git_log",
  description: "Newest commits, one line each: hash, date, author, subject.",
  input: v.object({
    limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_LOG))),
    path: v.optional(v.string()),
  }),
  permission: "allow",
  subjects: (input) => (input.path === undefined ? [] : [{ kind: "path", path: input.path, access: "list" }]),
  run: async (input, context) => {
    const git = await open(context);
    const format = ["--no-patch", "--no-color", "--date=short", "--format=%h %ad %an%d %s"];
    const scope = input.path === undefined ? [] : scopeOf(git, input.path, context);
    const run = await git.run(["log", `--max-count=${input.limit ?? DEFAULT_LOG}`, ...format, "--", ...scope]);
    if (run.code !== 0 && /does not have any commits yet|bad default revision/.test(run.stderr))
      return { text: "No commits yet." };
    assertRan(run, context);
    return bounded(run.stdout || "No commits touch this path.", run, context);
  },
});

const gitShow = defineTool({
  ...shared,
  name: "git_show",
  description:
    'A commit with its diff, limited to `path` if given; a `ref` like "HEAD~2:src/a.ts" shows the file as it was.',
  input: v.object({ ref: v.string(), path: v.optional(v.string()) }),
  permission: SECRET_READ_RULES,
  subjects: (input) => [{ kind: "text", text: input.ref }, ...pathSubjects(splitRef(input.ref).path ?? input.path)],
  run: async (input, context) => {
    const git = await open(context);
    const { revision, path } = splitRef(input.ref);
    assertRevision(revision);
    return path === null ? showCommit(git, revision, input.path, context) : showFile(git, revision, path, context);
  },
});

const gitBlame = defineTool({
  ...shared,
  name: "git_blame",
  description: "Who last changed each line of a file. `startLine` without `endLine` shows 40 lines.",
  input: v.object({ path: v.string(), startLine: v.optional(lineNumber), endLine: v.optional(lineNumber) }),
  permission: SECRET_READ_RULES,
  subjects: (input) => pathSubjects(input.path),
  run: async (input, context) => {
    const located = context.workspace.locate(input.path, "read");
    if (!context.mayRead(located.real)) throw forbidden(input.path);
    const start = input.startLine ?? 1;
    const end = input.endLine ?? (input.startLine === undefined ? "" : start + BLAME_LINES - 1);
    const run = await (
      await open(context)
    ).run(["blame", "--no-textconv", "--date=short", "-L", `${start},${end}`, "--", located.realWritten]);
    if (run.code !== 0 && /has only \d+ lines?/.test(run.stderr))
      throw new ToolError(`${input.path} ${/has only \d+ lines?/.exec(run.stderr)?.[0]}.`);
    assertRan(run, context);
    return bounded(run.stdout || "(empty file)", run, context);
  },
});

/** The tools of the `git` set. */
export const gitTools: readonly Tool[] = [gitStatus, gitDiff, gitLog, gitShow, gitBlame];

function open(context: ToolContext): Promise<Git> {
  const { workspace, childEnv: env, signal } = context;
  return openGit({ cwd: workspace.realRoot, env, signal, confine: confinement(context) });
}

/** Where commands are confined, a program that they got into the configuration is too. */
function confinement({ sandbox }: ToolContext): ((start: GitStart) => Promise<GitStart>) | undefined {
  if (!sandbox) return undefined;
  return async (start) => {
    const entered = await sandbox.enter({ ...start, command: "", quiet: true });
    return entered.inside ? entered : start;
  };
}

function pathSubjects(path: string | undefined): Subject[] {
  return path === undefined ? [] : [{ kind: "path", path, access: "read" }];
}

async function checked(git: Git, context: ToolContext, args: readonly string[]): Promise<GitRun> {
  const run = await git.run(args);
  assertRan(run, context);
  return run;
}

function assertRan(run: GitRun, context: ToolContext): void {
  if (run.code !== 0) throw new ToolError(problemOf(run, context.workspace.root));
}

function bounded(text: string, run: Pick<GitRun, "truncated">, context: ToolContext): ToolOutput {
  const cut = run.truncated ? "\n[output stopped at 1 MB; ask for one path at a time]" : "";
  const whole = text.trimEnd() + cut;
  return { text: boundResult(context.redact?.(whole) ?? whole, { dir: context.spillDir, callId: context.callId }) };
}

/** Pathspecs: the path asked for, else the workspace where the repository is larger than it. */
function scopeOf(git: Git, path: string | undefined, context: ToolContext): string[] {
  if (path !== undefined) return [literal(context.workspace.locate(path, "read").written)];
  return realpathSync(git.top) === context.workspace.realRoot ? [] : ["."];
}

/** gitglossary(7), pathspec: without this a path may hold magic and wildcards. */
function literal(path: string): string {
  return `:(literal)${path}`;
}

function excluding(path: string): string {
  return `:(exclude,top,literal)${path}`;
}

/** Files of a diff that rules forbid reading, relative to the repository's top. Both names of a rename are looked at. */
async function secretsIn(
  git: Git,
  command: readonly string[],
  scope: readonly string[],
  context: ToolContext,
): Promise<string[]> {
  const run = await checked(git, context, [...command, "--name-only", "--no-renames", "-z", "--", ...scope]);
  // A list cut short would let what comes behind the cut through.
  if (run.truncated) throw new ToolError("Too many files have changed for one diff. Ask for one path at a time.");
  const names = run.stdout
    .split("\0")
    .map((name) => name.replace(/^\n+/, ""))
    .filter(Boolean);
  return [...new Set(names)].filter((name) => !context.mayRead(join(git.top, name)));
}

function noChanges(staged: boolean, withheld: readonly string[]): string {
  if (withheld.length > 0) return "";
  return staged ? "No staged changes." : "No unstaged changes.";
}

function withNote(text: string, withheld: readonly string[]): string {
  if (withheld.length === 0) return text;
  return `${text.trimEnd()}\n[left out, rules forbid reading: ${withheld.slice(0, 20).join(", ")}${withheld.length > 20 ? " …" : ""}]`.trimStart();
}

function forbidden(path: string): ToolError {
  return new ToolError(`Rules forbid reading ${path}. Do without it, or ask the user.`, {
    category: "permission error",
  });
}

/** `HEAD~1:src/a.ts` → revision and path. A colon in `^{/text}` belongs to the revision. */
function splitRef(ref: string): { revision: string; path: string | null } {
  const at = ref.replace(/\^\{[^}]*\}|@\{[^}]*\}/g, (part) => "_".repeat(part.length)).indexOf(":");
  return at < 0 ? { revision: ref, path: null } : { revision: ref.slice(0, at), path: ref.slice(at + 1) };
}

/** gitrevisions(7) has forms that begin with a colon; they are file contents and text searches, not revisions. */
function assertRevision(revision: string): void {
  if (revision.startsWith("-") || revision === "" || /[\0\n]/.test(revision)) {
    throw new ToolError("That is no revision. Use a commit hash, a branch, a tag, or HEAD~n.");
  }
}

async function typeOf(git: Git, object: string): Promise<string> {
  const run = await git.run(["cat-file", "-t", object]);
  return run.code === 0 ? run.stdout.trim() : "";
}

async function showCommit(
  git: Git,
  revision: string,
  path: string | undefined,
  context: ToolContext,
): Promise<ToolOutput> {
  const type = await typeOf(git, `${revision}^{}`);
  if (type === "") throw new ToolError(`"${revision}" is no revision here. git_log lists commits.`);
  // A bare object hash says nothing about which file it was, so no rule could be asked.
  if (type === "blob") throw new ToolError('That is a file\'s content by hash. Name it as "<commit>:<path>".');
  const command = ["show", ...PLAIN_DIFF, "--no-show-signature"];
  const scope = scopeOf(git, path, context);
  if (type === "tree") return showTree(git, `${revision}^{}`, context);
  const withheld = await secretsIn(git, [...command, "--format=", revision], scope, context);
  const run = await checked(git, context, [
    ...command,
    "--format=medium",
    revision,
    "--",
    ...scope,
    ...withheld.map(excluding),
  ]);
  return bounded(withNote(run.stdout || `${revision} changes nothing there.`, withheld), run, context);
}

async function showTree(git: Git, object: string, context: ToolContext): Promise<ToolOutput> {
  const run = await checked(git, context, ["ls-tree", "--name-only", object]);
  return bounded(run.stdout || "(empty tree)", run, context);
}

async function showFile(git: Git, revision: string, path: string, context: ToolContext): Promise<ToolOutput> {
  // gitrevisions(7): such a path starts at the top unless it begins with ./ or ../
  const base = /^\.\.?(?:\/|$)/.test(path) ? context.workspace.realRoot : realpathSync(git.top);
  const absolute = join(base, path);
  const located = context.workspace.locate(relative(context.workspace.realRoot, absolute) || ".", "read");
  if (!context.mayRead(absolute) || !context.mayRead(located.real)) throw forbidden(path);
  const object = `${revision}:${relative(realpathSync(git.top), absolute).split(sep).join("/")}`;
  const type = await typeOf(git, object);
  if (type === "") throw new ToolError(`${path} does not exist at ${revision}.`);
  if (type === "tree") return showTree(git, object, context);
  const run = await checked(git, context, ["cat-file", "blob", object]);
  if (run.stdout.slice(0, 8192).includes("\0")) return { text: `binary file (${run.stdout.length} bytes or more)` };
  return bounded(run.stdout || "(empty)", run, context);
}
