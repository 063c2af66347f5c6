/** Questions to the person at the terminal: approvals, numbered lists, secrets, yes or no. One at a time; prints sanitised text only. */
import type { Answer, ApprovalPrompt } from "./approval.ts";
import {
  type ApprovalKey,
  approvalBlock,
  approvalKeys,
  readApprovalKeys,
  readApprovalWord,
} from "./dialog-approval.ts";
import type { InputRouter, LineAnswer } from "./dialog-input.ts";
import { type Choice, readPick } from "./dialog-pick.ts";
import { coloursOf } from "./render-colours.ts";
import { marksOf } from "./render-lines.ts";
import { sanitize, sanitizeLabel, sanitizeLine } from "./sanitize.ts";
import type { TerminalEvent } from "./terminal.ts";
import { wrapWords } from "./text-wrap.ts";
import type { AskQuestion } from "./tool.ts";

export type { Choice } from "./dialog-pick.ts";

/** What the owner of the input line does around a dialog. */
export interface DialogHooks {
  /** Takes its input line away; the draft is kept. */
  opening(): void;
  closed(): void;
  /** Something is written in the input line and not sent. */
  drafting(): boolean;
  /** esc or ctrl-c at an approval: the turn is to end. */
  interrupt(): void;
}

/** Choices printed at once; a filter finds the rest. */
const PAGE = 40;

export class Dialog {
  readonly #input: InputRouter;
  readonly #hooks: DialogHooks;
  /** The dialog before; each waits for it. */
  #queue: Promise<unknown> = Promise.resolve();
  #open = 0;

  constructor(input: InputRouter, hooks: DialogHooks) {
    this.#input = input;
    this.#hooks = hooks;
  }

  /** Resolves when no dialog is open: output must wait for it. */
  async free(): Promise<void> {
    while (this.#open > 0) await this.#queue;
  }

  /** Asks whether a call may run. Ends in `deny` when nobody can answer. `signal`: once it aborts, what waits isn't asked. */
  approve(prompt: ApprovalPrompt, signal?: AbortSignal): Promise<Answer> {
    return this.#unasked<Answer>(
      async () => {
        this.#print(approvalBlock(prompt, this.#traits, false, this.#columns));
        const answer = (await this.#seen()) ? await this.#approval(prompt) : this.#stopped();
        this.#print(`${coloursOf(this.#traits).dim(said(answer, prompt))}\n`);
        return answer;
      },
      { decision: "deny" },
      signal,
    );
  }

  /** A number, a name or a filter. Null when dismissed. Empty takes `initial`, where there is one. */
  async pick<T>(title: string, choices: readonly Choice<T>[], options: { initial?: T } = {}): Promise<T | null> {
    const values = await this.#alone(() => this.#choose(title, choices, false, options.initial));
    return values?.[0] ?? null;
  }

  /** Several, as `1,3`. Null when dismissed. */
  pickMany<T>(title: string, choices: readonly Choice<T>[]): Promise<T[] | null> {
    return this.#alone(() => this.#choose(title, choices, true, undefined));
  }

  /** A question of the model's: its options by number, or any other text. Null when dismissed. `signal`: as for `approve`. */
  ask(question: AskQuestion, signal?: AbortSignal): Promise<string | null> {
    return this.#unasked<string | null>(
      async () => {
        const choices = question.options.map((option) => ({ value: option.label, ...option }));
        this.#print(`${sanitize(question.question, this.#traits)}\n`);
        // Its answer is no filter, so what isn't listed could not be found.
        this.#list(choices, [...choices.keys()], choices.length);
        if (!(await this.#seen())) return this.#dismissed();
        const how = choices.length > 0 ? (question.multiple ? "numbers or text" : "number or text") : "answer";
        const said = await this.#line(`${how}> `);
        // esc leaves this one question to the model; ctrl-c means the turn, as everywhere.
        if (said.text === null && said.why === "interrupt") return this.#dismissed();
        const answer = said.text?.trim() ?? "";
        if (answer === "") return null;
        const labels = answer.split(/[\s,]+/).map((word) => choices[Number(word) - 1]?.label);
        const numbered = labels.flatMap((label) => (label === undefined ? [] : [label]));
        const fits = numbered.length === labels.length && (question.multiple || labels.length === 1);
        return fits ? numbered.join(", ") : answer;
      },
      null,
      signal,
    );
  }

  /** Free text in one line. Null when dismissed. */
  line(prompt: string): Promise<string | null> {
    return this.#alone(async () => (await this.#line(`${sanitizeLine(prompt, this.#traits)} `)).text);
  }

  /** Typed without echo, kept in no history. Null when dismissed. */
  secret(prompt: string): Promise<string | null> {
    const shown = `${sanitizeLine(prompt, this.#traits)} (not shown) `;
    return this.#alone(async () => (await this.#input.line({ prompt: shown, secret: true })).text);
  }

  /** Enter takes `initial`; dismissing is no. */
  yesNo(question: string, initial = false): Promise<boolean> {
    return this.#alone(async () => {
      const prompt = `${sanitizeLine(question, this.#traits)} ${initial ? "[Y/n]" : "[y/N]"} `;
      const { text } = await this.#line(prompt);
      if (text === null) return false;
      return text.trim() === "" ? initial : /^y(?:es)?$/i.test(text.trim());
    });
  }

  get #traits() {
    return this.#input.terminal.traits;
  }

  /** Where our own words are broken: never in plain mode. */
  get #columns(): number {
    return this.#traits.plain ? Number.POSITIVE_INFINITY : this.#input.terminal.size().columns - 1;
  }

  #makeRoom(): void {
    this.#hooks.opening();
    this.#input.terminal.screen.setStatus(null);
    this.#input.terminal.screen.freshLine();
  }

  /** A dialog that nobody called for may come while somebody types. `unwanted`: the answer of who ends the turn then. */
  #unasked<T>(run: () => Promise<T>, unwanted: T, signal?: AbortSignal): Promise<T> {
    return this.#afterOthers(async () => {
      // The answer to the question before may have ended the turn.
      const wanted = signal?.aborted !== true && (await this.#input.quiet(this.#hooks.drafting()));
      return wanted ? this.#inFront(run) : unwanted;
    });
  }

  /** What was typed before it could be read is no answer: the way to answer is shown only afterwards. */
  async #seen(): Promise<boolean> {
    const { terminal } = this.#input;
    terminal.screen.flush();
    // An editor may have the screen.
    await terminal.drained();
    return this.#input.seen();
  }

  #dismissed(): null {
    this.#hooks.interrupt();
    return null;
  }

  #stopped(): Answer {
    this.#hooks.interrupt();
    return { decision: "deny" };
  }

  #alone<T>(run: () => Promise<T>): Promise<T> {
    return this.#afterOthers(() => this.#inFront(run));
  }

  /** With the loop's line out of the way. */
  async #inFront<T>(run: () => Promise<T>): Promise<T> {
    this.#makeRoom();
    try {
      return await run();
    } finally {
      this.#input.terminal.screen.flush();
      this.#hooks.closed();
    }
  }

  #afterOthers<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(run);
    this.#open++;
    // Only the order is kept in the queue: a failure is for whoever asked.
    this.#queue = turn.then(
      () => this.#open--,
      () => this.#open--,
    );
    return turn;
  }

  #print(text: string): void {
    this.#input.terminal.screen.write(text);
  }

  #line(prompt: string): Promise<LineAnswer> {
    return this.#input.line({ prompt });
  }

  async #approval(prompt: ApprovalPrompt): Promise<Answer> {
    for (;;) {
      const key = await this.#approvalKey(prompt);
      if (key === "once" || key === "always" || key === "deny") return { decision: key };
      if (typeof key === "object" && key !== null) return { decision: "once", choice: key.choice };
      if (key === "view") this.#print(approvalBlock(prompt, this.#traits, true, this.#columns));
      if (key === "word") return this.#denyWithWord();
      if (key === "stop") return this.#stopped();
    }
  }

  async #denyWithWord(): Promise<Answer> {
    const { text } = await this.#line("why not> ");
    return text === null || text.trim() === "" ? { decision: "deny" } : { decision: "deny", message: text.trim() };
  }

  async #approvalKey(prompt: ApprovalPrompt): Promise<ApprovalKey> {
    const keys = approvalKeys(prompt, this.#traits);
    if (this.#traits.plain) {
      const answer = await this.#line(`${keys}: `);
      if (answer.text === null) return answer.why === "end" ? "deny" : "stop";
      return readApprovalWord(answer.text, prompt);
    }
    const { terminal } = this.#input;
    const show = (): void => {
      this.#print(`${wrapWords(keys, this.#columns)} `);
      terminal.screen.flush();
    };
    show();
    terminal.onReturn = show;
    const key = await this.#rawKey(prompt);
    terminal.onReturn = null;
    this.#print("\n");
    return key;
  }

  /** Waits for a key that is an answer; others are ignored without a sound. */
  async #rawKey(prompt: ApprovalPrompt): Promise<ApprovalKey> {
    const { promise, resolve } = Promise.withResolvers<ApprovalKey>();
    const release = this.#input.take((event) => {
      const key = this.#meaning(event, prompt);
      if (key !== null) resolve(key);
    });
    const key = await promise;
    release();
    return key;
  }

  #meaning(event: TerminalEvent, prompt: ApprovalPrompt): ApprovalKey {
    if (event.type === "end") return "deny";
    if (event.type === "interrupt") return "stop";
    if (event.type !== "keys") return null;
    if (event.keys.some((key) => key.type === "key" && key.id === "ctrl-z")) this.#input.terminal.suspend();
    return readApprovalKeys(event.keys, prompt);
  }

  async #choose<T>(
    title: string,
    choices: readonly Choice<T>[],
    many: boolean,
    initial: T | undefined,
  ): Promise<T[] | null> {
    this.#print(`${wrapWords(sanitize(title, this.#traits), this.#columns)}\n`);
    this.#list(
      choices,
      choices.map((_, index) => index),
    );
    const enter = choices.findIndex((choice) => choice.value === initial) + 1;
    const how = `${many ? "numbers" : "number"}, name or filter${enter > 0 ? ` (enter: ${enter})` : ""}> `;
    for (;;) {
      const { text } = await this.#line(how);
      if (text === null) return null;
      if (text.trim() === "") return initial === undefined ? null : [initial];
      const picked = readPick(text, choices, many);
      if (picked.kind === "chosen") return picked.values;
      if (picked.kind === "narrowed") this.#list(choices, picked.indexes);
      else this.#print("nothing matches\n");
    }
  }

  #list<T>(choices: readonly Choice<T>[], indexes: readonly number[], atOnce = PAGE): void {
    const colours = coloursOf(this.#traits);
    const digits = String(choices.length).length;
    for (const index of indexes.slice(0, atOnce)) {
      const choice = choices[index];
      if (!choice) continue;
      const detail = choice.detail ? `  ${colours.dim(sanitizeLabel(choice.detail, 200, this.#traits))}` : "";
      const number = String(index + 1).padStart(digits);
      const line = `  ${number}) ${sanitizeLabel(choice.label, 200, this.#traits)}${detail}`;
      this.#print(`${wrapWords(line, this.#columns)}\n`);
    }
    const rest = indexes.length - atOnce;
    if (rest > 0) this.#print(`  ${marksOf(this.#traits).dots} ${rest} more: type a part of the name\n`);
  }
}

function said(answer: Answer, { choices }: ApprovalPrompt): string {
  if (choices !== undefined) return choices.find(({ name }) => name === answer.choice)?.label ?? "left as it is";
  switch (answer.decision) {
    case "once":
      return "allowed once";
    case "always":
      return "allowed for this session";
    case "deny":
      return "denied";
    default:
      return answer.decision satisfies never;
  }
}
