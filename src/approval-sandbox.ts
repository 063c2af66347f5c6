/** What the sandbox changes in a judgement: which questions it answers, and which commands ask although it would confine them. Tests no kernel and runs nothing; looks only whether a named path is there. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Candidate } from "./approval-judge.ts";
import { reachesFurther } from "./approval-reach.ts";
import type { Finding } from "./permission-finding.ts";
import { readLine, type ShellKind } from "./permission-line.ts";
import type { Judgement } from "./permission.ts";
import type { Sandbox, SandboxVerdict } from "./sandbox.ts";
import type { Subject } from "./tool.ts";

/** What the gate asks the sandbox. */
export type Confinement = Pick<Sandbox, "testedVerdict" | "excludes">;

/** The gate's view of one sandbox. */
export class Confined {
  readonly #sandbox: Confinement;
  readonly #shell: ShellKind | undefined;
  readonly #root: string;

  constructor(sandbox: Confinement, { shell, workspace }: { shell?: ShellKind; workspace: { root: string } }) {
    this.#sandbox = sandbox;
    this.#shell = shell;
    this.#root = workspace.root;
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
    const reach = reachesFurther(readLine(command, {}, this.#shell), (cwd, name) =>
      existsSync(resolve(this.#root, cwd, name)),
    );
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
