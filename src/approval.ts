/** The gate: the only maker of a grant. Checks a call in order, asks whoever can answer, remembers what was granted and refused. Runs nothing. */
import { isGranted, shownPattern, type SessionGrant } from "./always.ts";
import { explainCandidate } from "./approval-explain.ts";
import { ToolError } from "./errors.ts";
import { Judge, judgementOf, subjectText, type Candidate, type JudgeDeps } from "./approval-judge.ts";
import { RepeatGuard } from "./approval-repeat.ts";
import { denialText } from "./approval-text.ts";
import { canonicalJson } from "./canonical-json.ts";
import { strictestOf } from "./permission-bash.ts";
import type { Finding } from "./permission-finding.ts";
import type { Judgement, JudgedCommand } from "./permission.ts";
import { Grant, type PreparedCall, type ToolContext } from "./tool.ts";
import type { Denier } from "./types.ts";

/** What a person is shown. Texts are raw: the screen escapes them. */
export interface ApprovalPrompt {
  tool: string;
  title: string;
  /** Whole. */
  subject: string;
  /** What made it ask: a rule, or why where no rule did. */
  rule: string;
  /** One per thing that asked. `pattern` null: only "once". */
  grants: { text: string; pattern: string | null }[];
  /** Unified diff of what an edit would do. */
  diff: string | null;
  /** A worker subagent wants it. */
  worker: boolean;
}

export interface Answer {
  decision: "once" | "always" | "deny";
  /** The person's own words. */
  message?: string;
  /** Of a denial that nobody gave: why no answer came, as the beginning of a sentence. */
  unanswered?: string;
}

/** Puts the question to whoever drives the session. Resolves to null when nobody can answer. */
export type Ask = (prompt: ApprovalPrompt) => Promise<Answer | null>;

export interface ApprovalDeps extends JudgeDeps {
  /** Somebody can be asked at all. */
  interactive: boolean;
  /** The user's pre-tool hooks; a text refuses. */
  preTool?(call: PreparedCall): Promise<string | null>;
}

export interface Denial {
  by: Denier;
  rule?: string;
  /** For the model. */
  reason: string;
  /** The user's own words. */
  feedback?: string;
}

export type Admission = { grant: Grant } | { denied: Denial };

export interface AdmitOptions {
  /** A worker subagent makes the call. */
  worker?: boolean;
}

/** The shape `permissions explain --json` prints. */
export type Explain = Judgement & { commands: JudgedCommand[] };

export class Gate {
  readonly #deps: ApprovalDeps;
  readonly #judge: Judge;
  readonly #repeats = new RepeatGuard();
  readonly #grants: SessionGrant[] = [];
  /** Calls the user refused in this turn, and those whose question went unanswered. */
  readonly #refused = new Map<string, Denial>();

  constructor(deps: ApprovalDeps) {
    this.#deps = deps;
    this.#judge = new Judge(deps);
  }

  /** How the rules and plugins see a call, session grants and --yolo left aside. */
  judge(call: PreparedCall): Judgement {
    return judgementOf(this.#judge.judge(candidateOf(call)), call.tool.name);
  }

  /** Lets a call through or says why not. Never throws for a refusal; throws the ToolError of an edit that can't be made instead of asking about it. `context` is made only to show a diff in a prompt. */
  async admit(
    call: PreparedCall,
    ask: Ask | null,
    context: (() => ToolContext) | null = null,
    options: AdmitOptions = {},
  ): Promise<Admission> {
    const { findings } = this.#judge.judge(candidateOf(call));
    const worst = strictestOf(findings);
    if (worst?.decision === "deny") return { denied: denialOf(worst) };
    const key = callKey(call);
    const before = this.#refused.get(key);
    if (before) return { denied: before };
    const hook = await this.#deps.preTool?.(call);
    if (hook != null) return { denied: { by: "hook", reason: hook } };
    const open = [...findings.filter((finding) => !this.#isAnswered(finding)), ...this.#repeatFinding(call, key)];
    if (open.length === 0) return { grant: Grant.mint(call) };
    if (!this.#deps.interactive || !ask) return { denied: unanswered(open) };
    const answer = await ask(await promptOf(call, open, context, options));
    return this.#settle(call, key, open, answer);
  }

  /** Forgets what counted for one turn: repeats, and refusals by the user. Session grants stay. */
  startTurn(): void {
    this.#repeats.startTurn();
    this.#refused.clear();
  }

  /** Tells the repeat guard how an admitted call went. */
  record(call: PreparedCall, outcome: { text: string; isError: boolean }): void {
    const resultHash = Bun.hash(outcome.text).toString(36);
    this.#repeats.record(callKey(call), { resultHash, mutated: call.tool.mutates && !outcome.isError });
  }

  /** Judges a tool by name and one subject (a command, a path, an address …), running nothing. */
  explain(toolName: string, subject: string): Explain {
    const candidate = explainCandidate(toolName, this.#deps.tools(toolName) ?? null, subject);
    const judgement = judgementOf(this.#judge.judge(candidate), toolName);
    return { ...judgement, commands: judgement.commands ?? [] };
  }

  /** False when rules forbid showing the contents of this real path. */
  mayRead(realPath: string): boolean {
    return this.#judge.mayRead(realPath);
  }

  /** Whether some calls of this tool ask (or are refused) by its rules: for telling the model what needs approval. */
  mayAsk(toolName: string): boolean {
    const tool = this.#deps.tools(toolName) ?? null;
    return this.#judge.asksSometimes({ name: toolName, tool });
  }

  /** What was granted for this session: `bash git push *`. */
  grants(): string[] {
    return this.#grants.map((grant) => `${grant.tool} ${grant.pattern}`);
  }

  #isAnswered(finding: Finding): boolean {
    if (finding.firm) return false;
    return this.#deps.yolo || isGranted(this.#grants, finding.tool, finding.forms);
  }

  #repeatFinding(call: PreparedCall, key: string): Finding[] {
    if (this.#deps.yolo || call.tool.repeatable === true || !this.#repeats.isRepeat(key)) return [];
    const reason =
      "This is the third identical call in this turn and nothing changed in between. Try something else, or say what you expect to be different.";
    return [
      {
        decision: "ask",
        by: "repeat",
        rule: null,
        reason,
        firm: false,
        text: subjectOf(call),
        tool: call.tool.name,
        forms: [],
        pattern: null,
      },
    ];
  }

  #settle(call: PreparedCall, key: string, open: readonly Finding[], answer: Answer | null): Admission {
    if (answer === null) return { denied: unanswered(open) };
    if (answer.decision === "deny") {
      const { unanswered: why, message } = answer;
      // Remembered too: nobody waits twice in a turn for an answer that didn't come.
      const denial = why === undefined ? refusal(message?.trim() ?? "") : unanswered(open, why);
      this.#refused.set(key, denial);
      return { denied: denial };
    }
    if (answer.decision === "always") this.#remember(open);
    return { grant: Grant.mint(call) };
  }

  #remember(open: readonly Finding[]): void {
    // A question that must be asked every time isn't half-granted either.
    if (open.some((finding) => finding.firm)) return;
    for (const { tool, pattern } of open) {
      if (pattern === null || this.#grants.some((grant) => grant.tool === tool && grant.pattern === pattern)) continue;
      this.#grants.push({ tool, pattern });
    }
  }
}

function candidateOf(call: PreparedCall): Candidate {
  return { name: call.tool.name, tool: call.tool, input: call.input, subjects: call.tool.subjects(call.input) };
}

function subjectOf(call: PreparedCall): string {
  return call.tool.subjects(call.input).map(subjectText).join("\n");
}

function denialOf(finding: Finding): Denial {
  return { by: finding.by, reason: finding.reason, ...(finding.rule === null ? {} : { rule: finding.rule }) };
}

/** `words`: what the person said, empty for nothing. */
function refusal(words: string): Denial {
  const stop = /[.!?…]$/.test(words) ? "" : ".";
  const said = words === "" ? "" : ` They said: ${words}${stop}`;
  const reason = `The user refused this call.${said} Don't repeat it; ask or take another way.`;
  return { by: "user", reason, ...(words === "" ? {} : { feedback: words }) };
}

function unanswered(open: readonly Finding[], why?: string): Denial {
  const worst = strictestOf(open);
  if (!worst) throw new Error("Nothing was asked.");
  const by = worst.by === "rule" || worst.by === "default" ? "ask" : worst.by;
  return { by, reason: denialText(open, why), ...(worst.rule === null ? {} : { rule: worst.rule }) };
}

async function promptOf(
  call: PreparedCall,
  open: readonly Finding[],
  context: (() => ToolContext) | null,
  options: AdmitOptions,
): Promise<ApprovalPrompt> {
  const worst = strictestOf(open);
  const firm = open.some((finding) => finding.firm);
  const subject = subjectOf(call);
  return {
    tool: call.tool.name,
    title: `${call.tool.name} ${subject.split("\n", 1)[0] ?? ""}`.trim(),
    subject,
    rule: worst?.rule ?? worst?.reason ?? "",
    grants: uniqueGrants(open, call.tool.name, firm),
    diff: context ? await previewOf(call, context()) : null,
    worker: options.worker === true,
  };
}

function uniqueGrants(open: readonly Finding[], asking: string, firm: boolean): ApprovalPrompt["grants"] {
  const grants = open.map(({ text, tool, pattern }) => ({
    text,
    pattern: firm || pattern === null ? null : shownPattern(tool, pattern, asking),
  }));
  return [...new Map(grants.map((grant) => [JSON.stringify(grant), grant])).values()];
}

async function previewOf(call: PreparedCall, context: ToolContext): Promise<string | null> {
  try {
    return await call.tool.preview(call.input, context);
  } catch (error) {
    // An edit that can't be made is no question for a person: the model is told what is wrong with it.
    if (error instanceof ToolError) throw error;
    return null;
  }
}

function callKey(call: PreparedCall): string {
  return `${call.tool.name} ${canonicalJson(call.rawInput)}`;
}
