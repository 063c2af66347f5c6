/** `bash` in the sandbox: how its commands get in, and what is said about them afterwards. Asks nobody. */
import { ToolError } from "./errors.ts";
import type { Sandbox, SandboxAllowance } from "./sandbox.ts";
import type { Explanation } from "./sandbox-explain.ts";
import { parseReport, type LauncherReport } from "./sandbox-plan.ts";
import { parseShell } from "./shell.ts";
import type { SpawnRequest, SpawnResult } from "./spawn.ts";
import { matchesWildcard } from "./wildcard.ts";

/** Names in one note; a hook directory may have many. */
const SHOWN_NAMES = 5;

export interface EnteredCommand {
  request: SpawnRequest;
  /** Files of the workspace that run code later and are other than after the command before: what one left running may have done, or the user. */
  meanwhile: string[];
  /** What became of it. Throws ToolError where the command was never run. */
  after(result: SpawnResult): Aftermath;
}

export interface Aftermath {
  /** Null when the sandbox was not the cause of anything. */
  blocked: Explanation | null;
  /** Files of the workspace that run code later and are other than before. */
  changed: string[];
  /** Both, in lines for the model. */
  notes: string[];
}

/** Whether every program of a line is one the user keeps outside. A line that can't be read is none. */
export function isExcludedLine(command: string, patterns: readonly string[]): boolean {
  const parsed = parseShell(command);
  if (!parsed.ok || parsed.runsCode || parsed.functions.size > 0 || parsed.commands.length === 0) return false;
  return parsed.commands.every(
    ({ words, redirects, inherited, assignments }) =>
      redirects.length + inherited.length + assignments.length === 0 &&
      words[0]?.value != null &&
      patterns.some((one) => matchesWildcard(one, words.map((word) => word.value ?? word.text).join(" "))),
  );
}

/** The request as it has to be started. */
export async function enterSandbox(
  sandbox: Sandbox | null,
  command: string,
  request: SpawnRequest,
  given: { allowed?: SandboxAllowance; mustConfine?: true } = {},
): Promise<EnteredCommand> {
  if (sandbox === null && given.mustConfine) throw new ToolError("It may run only in the sandbox. It was not run.");
  if (sandbox === null) return { request, meanwhile: [], after: () => ({ blocked: null, changed: [], notes: [] }) };
  const watch = sandbox.watch();
  const meanwhile = watch.changed();
  const { argv, cwd, env } = request;
  const login = argv[0] === "bash" && argv[1] === "-lc" ? ({ login: true } as const) : {};
  const entered = await sandbox.enter({ argv, cwd, env, command, ...given, ...login });
  if (!entered.inside) return { request, meanwhile, after: () => aftermath(null, watch.changed()) };
  return {
    meanwhile,
    request: { ...request, argv: entered.argv, cwd: entered.cwd, env: entered.env, report: entered.reports },
    after(result) {
      if (entered.reports) {
        const report = parseReport(result.report ?? "");
        sandbox.settle(report);
        assertRun(report, result, request);
      }
      return aftermath(entered.explain({ ...result, cwd, env }), watch.changed());
    },
  };
}

function aftermath(blocked: Explanation | null, changed: string[]): Aftermath {
  const notes = [];
  if (blocked !== null)
    notes.push(`[${blocked.hint ? "perhaps " : ""}blocked by sandbox: ${blocked.reason}${remedy(blocked)}]`);
  if (changed.length > 0) notes.push(changedNote(changed));
  return { blocked, changed, notes };
}

function remedy({ offers: [first] }: Explanation): string {
  if (first?.kind === "network") return '; the user can allow it with "sandbox": {"network": "on"}';
  if (first?.kind === "write") return `; the user can allow ${first.path} in "sandbox": {"write": […]}`;
  return "";
}

/** For the model. */
export function changedNote(names: readonly string[]): string {
  return `[this changed ${changedFiles(names)}]`;
}

/** What of the workspace's files was changed, and that shiro's own don't count yet. */
export function changedFiles(names: readonly string[]): string {
  const more = names.length - SHOWN_NAMES;
  const shown = `${names.slice(0, SHOWN_NAMES).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  const own = names.some((name) => OWN.test(name));
  return `files that run code later: ${shown}${own ? " (a project's settings for shiro, and its commands that run something, count only after shiro trust)" : ""}`;
}

const OWN = /^\.shiro\/(?:config\.json$|commands\/)/;

function assertRun(report: LauncherReport, result: SpawnResult, request: SpawnRequest): void {
  if (report.state === "started") return;
  // Ended from outside before it got so far: that is how the command ended.
  if (report.state === "silent" && (result.ended !== "exited" || result.signal !== null)) return;
  throw new ToolError(`${whyNot(report, result, request)} The command was not run.`);
}

function whyNot(
  report: Exclude<LauncherReport, { state: "started" }>,
  result: SpawnResult,
  request: SpawnRequest,
): string {
  if (report.state === "silent") return `The sandbox's launcher ended without a word (exit code ${result.exitCode}).`;
  const { step, errno } = report;
  const program = request.argv[0] ?? "";
  if (step === "program") return `${program} is not on PATH.`;
  if (step === "directory") return `The directory ${request.cwd} can't be entered (errno ${errno}).`;
  if (step === "exec") return `${program} could not be executed (errno ${errno}).`;
  return `The sandbox could not be set up (${step}, errno ${errno}).`;
}
