/**
 * The interactive loop: a line from the user becomes a prompt, a command or a shell line; a turn's events go to
 * the screen. Holds no session and knows no model; those are behind ReplHost.
 */
import type { CommandOutcome, CommandUi } from "./command.ts";
import { type ParsedCommand, parseCommand } from "./commands.ts";
import { PathIndex } from "./complete-paths.ts";
import { Dialog } from "./dialog.ts";
import { InputRouter } from "./dialog-input.ts";
import { EXIT, UserError, isAbort } from "./errors.ts";
import { Renderer } from "./render.ts";
import { coloursOf } from "./render-colours.ts";
import { marksOf } from "./render-lines.ts";
import { editExternally } from "./repl-editor.ts";
import { endRepl } from "./repl-end.ts";
import type { ReplHost } from "./repl-host.ts";
import { ReplInput } from "./repl-input.ts";
import { readLine } from "./repl-line.ts";
import { promptText } from "./repl-prompt.ts";
import { showTurn } from "./repl-turn.ts";
import { commandUi, errorText, type OwnCommand, reasoningText, runOwnCommand } from "./repl-ui.ts";
import { sanitize, sanitizeLabel, sanitizeLine } from "./sanitize.ts";
import type { Terminal } from "./terminal.ts";
import type { Clock } from "./terminal-screen.ts";
import { oneLine } from "./text.ts";

export type { Ask, PromptState, Question, ReplHost, ShellOutcome } from "./repl-host.ts";

export interface ReplOptions {
  clock: Clock;
  env: Readonly<Record<string, string | undefined>>;
  /** Sent as if typed, once the prompt is up. */
  firstPrompt?: string;
  /** Aborted by a signal from outside; its reason is the exit code. */
  stop: AbortSignal;
}

/** Runs until the user leaves, the terminal goes away or `stop` is aborted. Returns the exit code; the terminal is restored. */
export async function runRepl(host: ReplHost, terminal: Terminal, options: ReplOptions): Promise<number> {
  return new Repl(host, terminal, options).run();
}

class Repl {
  readonly #host: ReplHost;
  readonly #terminal: Terminal;
  readonly #options: ReplOptions;
  readonly #router: InputRouter;
  readonly #dialog: Dialog;
  readonly #renderer: Renderer;
  readonly #input: ReplInput;
  readonly #leaving = Promise.withResolvers<number>();
  readonly #queue: string[] = [];
  /** What runs now, for the end to wait for. */
  #current: Promise<unknown> = Promise.resolve();
  #work: "none" | "turn" | "other" = "none";
  /** ctrl-c was pressed on an empty line: once more leaves. */
  #armed = false;
  #reasoningShown = "";
  /** Input has ended: leave when what is queued is done. */
  #inputEnded = false;

  constructor(host: ReplHost, terminal: Terminal, options: ReplOptions) {
    this.#host = host;
    this.#terminal = terminal;
    this.#options = options;
    this.#router = new InputRouter(terminal, options.clock);
    this.#renderer = new Renderer(terminal.screen, {
      traits: terminal.traits,
      columns: () => terminal.size().columns,
      now: () => options.clock.now(),
      todos: (todos) => host.todos(todos),
    });
    this.#dialog = new Dialog(this.#router, {
      opening: () => this.#input.cover(),
      closed: () => this.#input.uncover(),
      drafting: () => !this.#input.isEmpty,
      interrupt: () => this.#interruptTurn(),
    });
    this.#input = new ReplInput(terminal, this.#actions(), {
      commandNames: () => host.commands.names(),
      commandValues: (name) => host.commands.values(name),
      paths: new PathIndex(() => host.paths(), options.clock),
    });
  }

  async run(): Promise<number> {
    const { stop, firstPrompt } = this.#options;
    for (const line of this.#host.header()) this.#renderer.say(sanitize(line, this.#terminal.traits));
    this.#router.start((event) => this.#input.event(event));
    stop.addEventListener("abort", () => this.#leave(exitOf(stop.reason)), { once: true });
    if (stop.aborted) this.#leave(exitOf(stop.reason));
    this.#background(this.#loadHistory());
    this.#background(this.#showNotices());
    this.#background(this.#begin(firstPrompt?.trim() ? firstPrompt : null));
    const code = await this.#leaving.promise;
    await this.#end(code);
    return code;
  }

  /** Nothing is awaited where there is nothing to ask: the prompt is up at once. */
  async #begin(prompt: string | null): Promise<void> {
    const question = this.#terminal.stdinIsTty ? this.#host.begin?.() : null;
    // What is typed before the answer took effect waits in the queue.
    if (question) this.#work = "other";
    try {
      if (question) await question(this.#ui());
    } finally {
      this.#work = "none";
      if (prompt === null) this.#idle();
      else this.#first(prompt);
      this.#host.ready?.();
    }
  }

  #actions(): ConstructorParameters<typeof ReplInput>[1] {
    return {
      submit: (text) => this.#submit(text),
      typed: () => {
        this.#armed = false;
      },
      interrupt: () => this.#interrupt(),
      escape: () => this.#escape(),
      reasoning: () => this.#showReasoning(),
      eof: () => this.#eof(),
      hangup: () => this.#leave(EXIT.sighup),
      edit: () => this.#background(this.#edit()),
      prompt: () => promptText(this.#host.promptState(), this.#queue.length, this.#terminal.traits),
      busy: () => this.#work !== "none",
      failed: (error) => this.#fail(error),
    };
  }

  /** Waits for the user, or goes on with what is queued. */
  #idle(): void {
    const next = this.#queue.shift();
    if (next !== undefined) return this.#start(next, true);
    this.#terminal.screen.freshLine();
    if (this.#inputEnded) return this.#leave(EXIT.done);
    this.#input.show();
    this.#input.promptPlain();
  }

  #submit(text: string): void {
    this.#armed = false;
    if (text.trim() === "") return this.#work === "none" ? this.#idle() : undefined;
    this.#background(this.#host.history.append(text));
    if (this.#work === "none") return this.#start(text, false);
    const command = parseCommand(text);
    // From a pipe all lines come at once and are meant to follow each other.
    const mayLook = command !== null && this.#terminal.stdinIsTty && this.#host.commands.isImmediate(command);
    if (mayLook) return this.#runNow(command, text);
    this.#queue.push(text);
    if (this.#terminal.traits.plain && !this.#terminal.stdinIsTty) return;
    this.#say(`queued (${this.#queue.length}): ${oneLine(text, 200, marksOf(this.#terminal.traits).dots)}`);
  }

  /** From the command line: nobody has typed it here, so it is shown. */
  #first(text: string): void {
    this.#background(this.#host.history.append(text));
    this.#start(text, true);
  }

  /** Beside the turn, whose output goes on after it. */
  #runNow(command: ParsedCommand, text: string): void {
    if (!this.#terminal.traits.plain) this.#say(`> ${text.trim()}`);
    this.#background(this.#host.commands.run(command, this.#ui()));
  }

  /** `announce`: the text was typed earlier, so the transcript doesn't have it here yet. */
  #start(text: string, announce: boolean): void {
    const work = this.#workFor(text);
    this.#work = work.kind;
    this.#input.show();
    if (announce) this.#say(`> ${oneLine(text, 500, marksOf(this.#terminal.traits).dots)}`);
    // A turn says itself what it waits for.
    if (work.kind === "other") this.#terminal.screen.setStatus(sanitizeLabel(text, 60, this.#terminal.traits));
    this.#current = work
      .run()
      .finally(() => {
        this.#renderer.endTurn();
        this.#terminal.screen.flush();
        this.#work = "none";
      })
      .then(
        (outcome) => this.#after(outcome),
        (error: unknown) => {
          this.#fail(error);
          this.#after(undefined);
        },
      );
    this.#background(this.#current);
  }

  #workFor(text: string): { kind: "turn" | "other"; run: () => Promise<CommandOutcome> } {
    const line = readLine(text);
    switch (line.kind) {
      case "shell":
        return { kind: "other", run: () => this.#shell(line) };
      case "note":
        return { kind: "other", run: () => this.#remember(line.text) };
      case "command":
        return { kind: "other", run: async () => this.#host.commands.run(line.command, this.#ui()) };
      case "prompt":
        return { kind: "turn", run: () => this.#turn(text) };
      default:
        return line satisfies never;
    }
  }

  #after(outcome: CommandOutcome): void {
    if (outcome && "exit" in outcome) return this.#leave(outcome.exit);
    if (outcome && "send" in outcome) return this.#startTurn(outcome.send);
    this.#idle();
  }

  /** A prompt made by a command goes out as it is, whatever it begins with. */
  #startTurn(text: string): void {
    this.#work = "turn";
    this.#input.show();
    const turn = this.#turn(text).finally(() => {
      this.#work = "none";
    });
    this.#current = turn.catch((error: unknown) => this.#fail(error)).then(() => this.#idle());
    this.#background(this.#current);
  }

  #turn(text: string): Promise<void> {
    const parts = { host: this.#host, dialog: this.#dialog, renderer: this.#renderer, terminal: this.#terminal };
    return showTurn(text, parts);
  }

  async #shell(line: OwnCommand): Promise<void> {
    const said = await runOwnCommand(line, this.#host, this.#renderer, this.#terminal.traits.ascii);
    if (said !== null) this.#say(said);
  }

  async #remember(text: string): Promise<void> {
    if (text === "") throw new UserError("Usage: #text to remember");
    this.#say(await this.#host.remember(text));
  }

  #ui(): CommandUi {
    return commandUi({
      terminal: this.#terminal,
      renderer: this.#renderer,
      dialog: this.#dialog,
      queue: this.#queue,
      setDraft: (text) => this.#input.setText(text),
    });
  }

  /** ctrl-c. */
  #interrupt(): void {
    if (this.#work !== "none") {
      if (!this.#host.killCommands()) this.#interruptTurn();
      return;
    }
    const wasEmpty = this.#input.isEmpty;
    this.#input.clear();
    if (wasEmpty && this.#armed) return this.#leave(EXIT.sigint);
    this.#armed = wasEmpty;
    if (wasEmpty) this.#say("ctrl-c again leaves, and so does ctrl-d");
    this.#idle();
  }

  /** esc. */
  #escape(): void {
    if (this.#work === "turn") this.#interruptTurn();
    else if (this.#work === "other") this.#host.killCommands();
  }

  #interruptTurn(): void {
    const dropped = this.#queue.splice(0).length;
    const back = this.#terminal.traits.plain ? "" : "; up brings them back";
    if (dropped > 0) this.#say(`dropped ${dropped} queued ${dropped === 1 ? "prompt" : "prompts"}${back}`);
    this.#host.interruptTurn();
  }

  #eof(): void {
    if (this.#router.ended) this.#inputEnded = true;
    if (this.#work === "none") this.#leave(EXIT.done);
  }

  #showReasoning(): void {
    const text = this.#host.reasoning();
    this.#renderer.aside(reasoningText(text, this.#reasoningShown, this.#terminal.traits));
    this.#reasoningShown = text;
  }

  async #edit(): Promise<void> {
    try {
      const text = await editExternally(this.#input.text, this.#terminal, this.#options.env);
      this.#input.setText(text);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #loadHistory(): Promise<void> {
    this.#input.setHistory(await this.#host.history.load());
  }

  async #showNotices(): Promise<void> {
    if (!this.#host.notices) return;
    for await (const notice of this.#host.notices) {
      await this.#dialog.free();
      this.#renderer.say(sanitizeLine(notice, this.#terminal.traits));
    }
  }

  #say(text: string): void {
    const { traits } = this.#terminal;
    this.#renderer.say(coloursOf(traits).dim(sanitizeLine(text, traits)));
  }

  #fail(error: unknown): void {
    const { traits } = this.#terminal;
    if (isAbort(error)) this.#say("interrupted");
    else this.#renderer.say(coloursOf(traits).red(sanitize(errorText(error, this.#options.env.SHIRO_DEBUG), traits)));
    this.#input.show();
  }

  /** For work nobody waits for: its failure is shown, not lost. */
  #background(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.#fail(error));
  }

  #leave(code: number): void {
    this.#leaving.resolve(code);
  }

  async #end(code: number): Promise<void> {
    if (this.#work !== "none") this.#interruptTurn();
    this.#terminal.screen.commitInput();
    // The turn that ends now, or a key, must not bring it back.
    this.#input.cover();
    const parts = { host: this.#host, terminal: this.#terminal, renderer: this.#renderer, current: this.#current };
    await endRepl({ ...parts, clock: this.#options.clock }, code);
  }
}

function exitOf(reason: unknown): number {
  return typeof reason === "number" ? reason : EXIT.sigterm;
}
