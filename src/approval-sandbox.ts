/** What the sandbox changes in a judgement: which questions it answers, and which commands ask although it would confine them. Tests no kernel and runs nothing. */
import type { Candidate } from "./approval-judge.ts";
import { splitGit } from "./argv.ts";
import { guardLine } from "./guard.ts";
import type { Finding } from "./permission-finding.ts";
import { readLine, type ShellKind, type ShellLine } from "./permission-line.ts";
import type { Judgement } from "./permission.ts";
import type { Sandbox, SandboxVerdict } from "./sandbox.ts";
import type { Effective } from "./shell-types.ts";
import type { Subject } from "./tool.ts";

/** What the gate asks the sandbox. */
export type Confinement = Pick<Sandbox, "testedVerdict" | "excludes">;

/** The gate's view of one sandbox. */
export class Confined {
  readonly #sandbox: Confinement;
  readonly #shell: ShellKind | undefined;

  constructor(sandbox: Confinement, { shell }: { shell?: ShellKind }) {
    this.#sandbox = sandbox;
    this.#shell = shell;
  }

  /**
   * Whether the sandbox answers all that is open about a call. Null where it has no say: something else than the absence
   * of a rule made it ask, or it runs no command. The self-test is run only where its outcome would matter.
   */
  async verdict(subjects: readonly Subject[], open: readonly Finding[]): Promise<SandboxVerdict | null> {
    const commands = subjects.flatMap((subject) => (subject.kind === "command" ? [subject.command] : []));
    const [command] = commands;
    if (command === undefined || commands.length !== subjects.length || commands.length > 1) return null;
    if (open.length === 0 || !open.every((finding) => finding.unruled)) return null;
    const reach = reachesFurther(readLine(command, {}, this.#shell));
    return reach === null ? this.#sandbox.testedVerdict(command) : { autoAllow: false, why: reach };
  }

  /** A question for each command that runs outside by the user's own settings: no rule answers that. */
  exclusions({ name, subjects }: Candidate): Finding[] {
    const commands = subjects.flatMap((subject) => (subject.kind === "command" ? [subject.command] : []));
    return commands.filter((command) => this.#sandbox.excludes(command)).map((text) => exclusion(name, text));
  }
}

function exclusion(tool: string, text: string): Finding {
  return {
    decision: "ask",
    by: "sandbox",
    rule: null,
    reason: `\`${text}\` is excluded from the sandbox (sandbox.excluded): it runs outside, with your rights, so it always asks.`,
    firm: false,
    text,
    tool,
    forms: [],
    pattern: null,
  };
}

/** Why a command asks although it is confined: the sandbox protects neither the workspace nor what is published. Null where nothing is known of it. */
function reachesFurther(line: ShellLine): string | null {
  // The guard may be switched off; what it knows holds all the same.
  if (guardLine(line) !== null) return "the sandbox doesn't protect the workspace, and this can't be undone";
  const effective = line.commands.flatMap((command) => command.effective);
  return effective.some(publishes) ? "it publishes, which no sandbox takes back" : null;
}

/** Words that send what is here to others, by program. */
const PUBLISHING: Readonly<Record<string, readonly string[]>> = {
  git: ["push", "send-email", "send-pack"],
  npm: ["publish", "unpublish", "deprecate", "dist-tag", "pub"],
  pnpm: ["publish"],
  yarn: ["publish"],
  bun: ["publish"],
  cargo: ["publish", "yank"],
  gem: ["push", "yank"],
  twine: ["upload"],
  docker: ["push"],
  podman: ["push"],
};

function publishes({ words, args }: Effective): boolean {
  const [program = "", ...rest] = words;
  const verbs = PUBLISHING[program];
  if (!verbs) return false;
  const candidates = program === "git" ? [splitGit(rest).sub] : rest;
  // A word that isn't known before it runs may be any.
  const unknown = args.slice(1).some((arg) => arg.value === null || arg.dynamic);
  return unknown || candidates.some((word) => verbs.includes(word));
}

/** The judgement as it is with the sandbox. */
export function confinedJudgement<T extends Judgement>(judged: T, verdict: SandboxVerdict): T & { sandbox?: string } {
  if (!verdict.autoAllow) return { ...judged, sandbox: verdict.why };
  const commands = judged.commands?.map((command) =>
    command.decision === "ask" ? { ...command, decision: "allow" as const, rule: LABEL } : command,
  );
  return {
    ...judged,
    decision: "allow",
    by: "sandboxed",
    rule: LABEL,
    reason: `No rule speaks of it, and ${verdict.why}.`,
    always: null,
    ...(commands === undefined ? {} : { commands }),
  };
}

const LABEL = 'sandbox.mode "auto-allow-sandboxed"';
