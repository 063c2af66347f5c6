/** The gate: the only maker of a grant. Checks a call in order, asks whoever can answer, remembers what was granted and refused. Runs nothing. */
import { isGranted, shownPattern, type SessionGrant } from "./always.ts";
import { explainCandidate } from "./approval-explain.ts";
import { ToolError } from "./errors.ts";
import { Judge, judgementOf, subjectText, type Candidate, type JudgedCall, type JudgeDeps } from "./approval-judge.ts";
import { RepeatGuard } from "./approval-repeat.ts";
import { confinedJudgement, Confined, type Confinement } from "./approval-sandbox.ts";
import { denialText } from "./approval-text.ts";
import { canonicalJson } from "./canonical-json.ts";
import { strictestOf } from "./permission-bash.ts";
import { isAskedEveryTime, type Finding } from "./permission-finding.ts";
import type { Judgement, JudgedCommand } from "./permission.ts";
import { makePluginHost, type PluginHost } from "./plugin.ts";
import { Grant, type EscalationChoice, type PreparedCall, type ToolContext } from "./tool.ts";
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
  /** Arguments that the subject doesn't hold. */
  details?: string;
  /** A worker subagent wants it. */
  worker: boolean;
  /** Label of the subagent that wants it; absent for the session itself. */
  agent?: string;
  /** One of these, or nothing: in place of once and always. */
  choices?: readonly EscalationChoice[];
}

export interface Answer {
  decision: "once" | "always" | "deny";
  /** Where choices were shown; any other answer takes none. */
  choice?: EscalationChoice["name"];
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
  /** What confines commands; left out where nothing does. */
  sandbox?: Confinement;
  /** The user's pre-tool hooks; a text refuses. */
  preTool?(call: PreparedCall, signal?: AbortSignal): Promise<string | null>;
  /** The user's post-tool hooks. Never rejects. */
  postTool?(call: PreparedCall, outcome: { text: string; isError: boolean }): Promise<void>;
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
  /** Label of the subagent that makes it, of whatever kind. */
  agent?: string;
  /** Of the turn: once it is aborted nobody is asked any more. */
  signal?: AbortSignal;
  /** What counts as a repeat, where that isn't the turn's own memory: a reading subagent's. */
  repeats?: RepeatGuard;
}

/** The shape `permissions explain --json` prints. */
export type Explain = Judgement & {
  commands: JudgedCommand[];
  /** Why a command that the sandbox could answer for is asked about all the same. */
  sandbox?: string;
};

export class Gate {
  readonly #deps: ApprovalDeps;
  #judge: Judge;
  readonly #confined: Confined | null;
  #nextPlugins: PluginHost | null = null;
  readonly #repeats = new RepeatGuard();
  readonly #grants: SessionGrant[] = [];
  /** Calls the user refused in this turn, and those whose question went unanswered. */
  readonly #refused = new Map<string, Denial>();

  constructor(deps: ApprovalDeps) {
    this.#deps = deps;
    this.#judge = new Judge(deps);
    this.#confined = deps.sandbox ? new Confined(deps.sandbox, deps) : null;
  }

  /** How the rules and plugins see a call, session grants and --yolo left aside. */
  judge(call: PreparedCall): Judgement {
    return judgementOf(this.#judgeAll(candidateOf(call)), call.tool.name);
  }

  /** Lets a call through or says why not. Never throws for a refusal; throws the ToolError of an edit that can't be made instead of asking about it, and the reason of a signal that aborts meanwhile. `context` is made only to show a diff in a prompt. */
  async admit(
    call: PreparedCall,
    ask: Ask | null,
    context: (() => ToolContext) | null = null,
    options: AdmitOptions = {},
  ): Promise<Admission> {
    const { findings } = this.#judgeAll(candidateOf(call));
    const worst = strictestOf(findings);
    if (worst?.decision === "deny") return { denied: denialOf(worst) };
    const key = callKey(call);
    const before = this.#refused.get(key);
    if (before) return { denied: before };
    const hook = await this.#deps.preTool?.(call, options.signal);
    options.signal?.throwIfAborted();
    if (hook != null) return { denied: { by: "hook", reason: hook } };
    const repeated = this.#repeatFinding(call, key, options.repeats ?? this.#repeats);
    const asking = findings.filter((finding) => !this.#isAnswered(finding));
    const verdict = await this.#confined?.verdict(candidateOf(call).subjects, asking);
    options.signal?.throwIfAborted();
    const confined = verdict?.autoAllow === true;
    const open = [...(confined ? [] : asking), ...repeated];
    if (open.length === 0) return { grant: Grant.mint(call, confined) };
    if (!this.#deps.interactive || !ask) return { denied: unanswered(open) };
    const answer = await ask(await promptOf(call, open, context, options));
    return this.#settle(call, key, open, answer);
  }

  /** Other plugins, from the next turn on: one in flight keeps its rules. */
  usePlugins(plugins: PluginHost): void {
    this.#nextPlugins = plugins;
  }

  /** Forgets what counted for one turn: repeats, and refusals by the user. Session grants stay. */
  startTurn(): void {
    if (this.#nextPlugins !== null) this.#judge = new Judge({ ...this.#deps, plugins: this.#nextPlugins });
    this.#nextPlugins = null;
    this.#repeats.startTurn();
    this.#refused.clear();
  }

  /** Tells the repeat guard and the user's hooks how an admitted call went; resolves when those have run. */
  record(
    call: PreparedCall,
    outcome: { text: string; isError: boolean },
    repeats: RepeatGuard = this.#repeats,
  ): Promise<void> | undefined {
    const resultHash = Bun.hash(outcome.text).toString(36);
    repeats.record(callKey(call), { resultHash, mutated: call.tool.mutates && !outcome.isError });
    return this.#deps.postTool?.(call, outcome);
  }

  /** Judges a tool by name and one subject (a command, a path, an address …), running nothing; the sandbox is left aside. */
  explain(toolName: string, subject: string): Explain {
    const judged = this.#judgeAll(explainCandidate(toolName, this.#deps.tools(toolName) ?? null, subject));
    return explainOf(judged, toolName);
  }

  /** The same with what the sandbox changes: where commands may run unasked in it, it is tested first. */
  async explainTested(toolName: string, subject: string): Promise<Explain> {
    const candidate = explainCandidate(toolName, this.#deps.tools(toolName) ?? null, subject);
    const judged = this.#judgeAll(candidate);
    const explained = explainOf(judged, toolName);
    const verdict = await this.#confined?.verdict(candidate.subjects, judged.findings);
    return verdict ? confinedJudgement(explained, verdict) : explained;
  }

  /** False when rules forbid showing the contents of this real path. */
  mayRead(realPath: string): boolean {
    return this.#judge.mayRead(realPath);
  }

  /** Whether some calls of this tool ask (or are refused) by its rules: for telling the model what needs approval. With --yolo rules ask for none. */
  mayAsk(toolName: string): boolean {
    if (this.#deps.yolo) return false;
    const tool = this.#deps.tools(toolName) ?? null;
    return this.#judge.asksSometimes({ name: toolName, tool });
  }

  /** Whether everything a call does matches one of these patterns of its tool, judged as rules of that tool alone: a skill's `allowed-tools`. */
  fits(call: PreparedCall, patterns: readonly string[]): boolean {
    const rows = patterns.map((pattern) => ({ pattern, decision: "allow" as const }));
    const rules = [
      { tool: call.tool.name, rules: [{ pattern: "*", decision: "deny" as const }, ...rows], place: "skill" },
    ];
    const judge = new Judge({ ...this.#deps, rules, plugins: makePluginHost([]) });
    return judge.judge(candidateOf(call)).findings.length === 0;
  }

  /** Whether rules refuse every call of this tool. */
  neverAllows(toolName: string): boolean {
    return this.#judge.refusesAlways({ name: toolName, tool: this.#deps.tools(toolName) ?? null });
  }

  /** A memory of repeats for a conversation that doesn't know the main one's calls. */
  freshRepeats(): RepeatGuard {
    return new RepeatGuard();
  }

  /** What was granted for this session: `bash git push *`. */
  grants(): string[] {
    return this.#grants.map((grant) => `${grant.tool} ${grant.pattern}`);
  }

  #judgeAll(candidate: Candidate): JudgedCall {
    const judged = this.#judge.judge(candidate);
    const excluded = this.#confined?.exclusions(candidate) ?? [];
    return excluded.length === 0 ? judged : { ...judged, findings: [...judged.findings, ...excluded] };
  }

  #isAnswered(finding: Finding): boolean {
    if (finding.firm) return false;
    return this.#deps.yolo || isGranted(this.#grants, finding.tool, finding.forms);
  }

  #repeatFinding(call: PreparedCall, key: string, repeats: RepeatGuard): Finding[] {
    if (this.#deps.yolo || call.tool.repeatable === true || !repeats.isRepeat(key)) return [];
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
    if (open.some(isAskedEveryTime)) return;
    for (const { tool, pattern } of open) {
      if (pattern === null || this.#grants.some((grant) => grant.tool === tool && grant.pattern === pattern)) continue;
      this.#grants.push({ tool, pattern });
    }
  }
}

function explainOf(judged: JudgedCall, toolName: string): Explain {
  const judgement = judgementOf(judged, toolName);
  return { ...judgement, commands: judgement.commands ?? [] };
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
  const firm = open.some(isAskedEveryTime);
  const subject = subjectOf(call);
  return {
    tool: call.tool.name,
    title: `${call.tool.name} ${subject.split("\n", 1)[0] ?? ""}`.trim(),
    subject,
    rule: worst?.rule ?? worst?.reason ?? "",
    grants: uniqueGrants(open, call.tool.name, firm),
    diff: context ? await previewOf(call, context()) : null,
    ...(call.tool.details ? { details: call.tool.details(call.input) } : {}),
    worker: options.worker === true,
    ...(options.agent === undefined ? {} : { agent: options.agent }),
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
