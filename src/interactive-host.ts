/** The session as the interactive loop sees it: turns, interrupts, the user's own commands, what slash commands act on. */
import { Channel } from "./channel.ts";
import type { Command, CommandUi } from "./command.ts";
import { CommandSet } from "./commands.ts";
import { TurnAbort } from "./errors.ts";
import { PromptHistory } from "./history-file.ts";
import { hookedTurn } from "./hooks-turn.ts";
import { farewellLines, headerLines } from "./interactive-header.ts";
import { serversQuestion } from "./interactive-trust.ts";
import type { Endpoint } from "./provider.ts";
import type { Ask, Question, ReplHost, ShellOutcome } from "./repl-host.ts";
import { howItEnded } from "./repl-ui.ts";
import type { Session } from "./session.ts";
import type { Setup } from "./setup.ts";
import { priceProblem } from "./setup-model.ts";
import { beginTurn, type TurnOptions } from "./setup-turn.ts";
import { runCommand } from "./spawn.ts";
import { spillPath } from "./spill.ts";
import { cutMiddle } from "./text.ts";
import { renderTodos } from "./todo.ts";
import { findShell } from "./tool-bash.ts";
import type { AgentEvent, Todo } from "./types.ts";
import { walk } from "./walk.ts";

/** The user's own commands may take long; nobody waits for more than this unattended. */
const OWN_COMMAND_MS = 24 * 60 * 60_000;
/** What the model is shown of a `!command`. */
const TOLD_CHARS = 12_000;

export class Interactive implements ReplHost {
  readonly setup: Setup;
  readonly commands: CommandSet;
  readonly history: ReplHost["history"];
  readonly notices: Channel<string> = new Channel();
  /** Whether the terminal takes control bytes; plain mode writes none. */
  controls = true;
  #turn: AbortController | null = null;
  #own = new Set<AbortController>();
  #reasoning = "";
  #next: TurnOptions | null = null;
  #extraHeader: readonly string[];
  #historySaved: () => Promise<void>;

  /** `commands` makes the slash commands for this host. */
  constructor(setup: Setup, commands: (host: Interactive) => Command[], extraHeader: readonly string[] = []) {
    this.setup = setup;
    this.#extraHeader = extraHeader;
    this.commands = new CommandSet(() => commands(this));
    const history = new PromptHistory({
      home: setup.query.options.ephemeral ? null : setup.home.path,
      project: setup.project,
      now: () => new Date(),
      redact: (text) => setup.redactor.redact(text),
    });
    if (history.movedTo !== null)
      setup.notices.push({
        level: "warning",
        message: `The prompts of this directory could not be read; they are in ${history.movedTo}`,
      });
    this.#historySaved = () => history.settled();
    this.history = {
      load: async () => history.entries,
      async append(line) {
        await history.add(line);
        if (history.problem) setup.onUnsaved(history.problem.reason);
      },
    };
  }

  get session(): Session {
    return this.setup.session;
  }

  busy(): boolean {
    return this.#turn !== null;
  }

  notice(message: string): void {
    this.notices.push(message);
  }

  header(): readonly string[] {
    return [...headerLines(this.setup), ...this.#extraHeader];
  }

  begin(): ((ui: CommandUi) => Promise<void>) | null {
    return serversQuestion(this.setup);
  }

  ready(): void {
    this.setup.mcp.start();
  }

  farewell(): readonly string[] {
    const { file } = this.session.parts;
    const { home, query } = this.setup;
    // Where there is no home, its path leads nowhere and tells a person nothing.
    const failing = file.degraded !== null && home.problem !== null ? "no usable home directory" : file.degraded;
    return farewellLines(file.record, query.options.ephemeral ? "--ephemeral" : failing);
  }

  async *send(text: string, ask: Ask, question: Question): AsyncGenerator<AgentEvent> {
    const turn = new AbortController();
    const startedAt = performance.now();
    this.#turn = turn;
    let restore = (): void => {};
    try {
      await this.#offerMore(question);
      this.setup.refreshSkills();
      const options = this.#next;
      this.#next = null;
      if (options !== null) restore = beginTurn(this.setup, options);
      const { signal } = turn;
      const events = this.session.send(
        text,
        (prompt) => ask(prompt, signal),
        signal,
        (asked) => question(asked, signal),
      );
      const around = { prompt: text, events, signal, doneIsLast: false };
      for await (const event of hookedTurn(this.setup.hooks, around)) {
        if (event.type === "step-start") this.#reasoning = "";
        if (event.type === "reasoning" && !event.agent) this.#reasoning += event.text;
        yield event;
      }
    } finally {
      this.#next = null;
      restore();
      this.#turn = null;
      this.#reasoning = "";
      const failures = await this.setup.plugins.afterTurn({
        durationMs: performance.now() - startedAt,
        interactive: true,
        controls: this.controls,
      });
      for (const failure of failures) this.notice(failure);
    }
  }

  /** Of the prompt that a command is about to send. */
  forNextTurn(options: TurnOptions): void {
    this.#next = options;
  }

  /** A ceiling that was reached is raised only by the user's own word; without it the turn says so and ends. */
  async #offerMore(question: Question): Promise<void> {
    const { budget } = this.session.parts;
    for (let reached = budget.reached(); reached !== null; reached = budget.reached()) {
      const answer = await question({
        question: `${reached.message}. Add the same amount again (y)?`,
        options: [{ label: "yes" }, { label: "no" }],
        multiple: false,
      });
      if (!/^y(es)?$/i.test(answer?.trim() ?? "")) return;
      budget.raise(reached.ceiling);
    }
  }

  interruptTurn(): void {
    this.#turn?.abort(new TurnAbort());
    for (const own of this.#own) own.abort(new TurnAbort());
  }

  killCommands(): boolean {
    const own = this.#own.size > 0;
    for (const running of this.#own) running.abort(new TurnAbort());
    return this.session.killCommands() || own;
  }

  promptState(): { variant: string; contextShare: number | null } {
    return { variant: this.session.variant.name, contextShare: this.session.contextShare() };
  }

  reasoning(): string {
    return this.#reasoning;
  }

  todos(todos: readonly Todo[]): string {
    return renderTodos(todos);
  }

  async *paths(): AsyncGenerator<string> {
    for await (const entry of walk(this.setup.workspace.root))
      yield entry.kind === "dir" ? `${entry.path}/` : entry.path;
  }

  async runShell(command: string, tell: boolean, output: (text: string) => void): Promise<ShellOutcome> {
    const { setup } = this;
    const result = await this.interruptible((signal) =>
      runCommand({
        argv: findShell(setup.query.env, process.platform).argv(command),
        cwd: setup.query.cwd,
        env: setup.childEnv,
        callId: "own",
        timeoutMs: OWN_COMMAND_MS,
        signal,
        spillPath: spillPath({ dir: setup.spillDir(), callId: "own" }),
        onOutput: output,
      }),
    );
    if (tell) this.session.tell(ownCommandNote(command, result));
    // Whichever of our signals it died of: it was stopped.
    if (result.ended !== "exited") return { code: null, signal: null, ms: result.ms };
    return { code: result.exitCode, signal: result.signal, ms: result.ms };
  }

  async remember(text: string): Promise<string> {
    const { memory } = this.setup;
    if (!memory) return "Memory is off (--no-memory).";
    const outcome = await memory.add({ kind: "fact", text });
    switch (outcome.state) {
      case "added":
        return memory.problem ? `Remembered for now; it could not be saved: ${memory.problem}` : "Remembered.";
      case "duplicate":
        return "That is known already.";
      case "full":
        return `The store is full. Least used: ${outcome.leastUsed.map((note) => note.text).join(" | ")}`;
      case "refused":
        return outcome.reason;
      default:
        return outcome satisfies never;
    }
  }

  useModel(endpoint: Endpoint, model: string): void {
    this.setup.resolved.endpoint = endpoint;
    if (endpoint.apiKey !== null) this.setup.redactor.add(endpoint.apiKey);
    const choice = this.setup.choose(endpoint, model);
    this.session.setChoice(choice);
    const problem = priceProblem(choice, this.setup.config.values);
    if (problem !== null) this.notice(problem);
  }

  /** Work that esc or ctrl-c ends. */
  async interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    this.#own.add(controller);
    try {
      return await work(controller.signal);
    } finally {
      this.#own.delete(controller);
    }
  }

  async close(): Promise<void> {
    this.interruptTurn();
    this.notices.close();
    await Promise.all([this.setup.close(), this.#historySaved()]);
  }
}

function ownCommandNote(
  command: string,
  result: { exitCode: number | null; signal: string | null; stdout: string; stderr: string },
): string {
  const how = howItEnded({ code: result.exitCode, signal: result.signal });
  const output = cutMiddle([result.stdout, result.stderr].filter(Boolean).join("\n"), TOLD_CHARS).text;
  return `The user ran a command themselves: ${command}\n(${how})\n${output}`;
}
