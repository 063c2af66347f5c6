/** The input line of the interactive loop: keys and lines in, finished texts and intentions out. Knows no session; what a text means is repl.ts. */
import { completeStep, findCompletions, type CompletionSources } from "./complete.ts";
import type { Cell } from "./editor.ts";
import { EditorLine } from "./editor-line.ts";
import { isAbort } from "./errors.ts";
import type { Key } from "./keys.ts";
import { sanitizeLine } from "./sanitize.ts";
import { PromptAssembler } from "./terminal-lines.ts";
import type { Terminal, TerminalEvent } from "./terminal.ts";
import { displayWidth } from "./text.ts";

/** What the loop must act on. */
export interface InputActions {
  submit(text: string): void;
  /** A key that changed the line or moved in it. */
  typed(): void;
  interrupt(): void;
  escape(): void;
  reasoning(): void;
  /** ctrl-d on an empty line, or the end of piped input. */
  eof(): void;
  hangup(): void;
  edit(): void;
  prompt(): string;
  /** A turn or a command runs: the line is shown only while there is something in it. */
  busy(): boolean;
  /** Told when completion fails, such as a directory that can't be walked. */
  failed(error: unknown): void;
}

const LIST_LIMIT = 100;

export class ReplInput {
  readonly #terminal: Terminal;
  readonly #actions: InputActions;
  readonly #sources: CompletionSources;
  readonly #line: EditorLine;
  readonly #assembler = new PromptAssembler();
  /** Text before the cursor after the last tab: another one there lists. */
  #tabbed: string | null = null;
  #covered = 0;
  /** The last tab and the line it was pressed on. */
  #lastTab: { cells: readonly Cell[]; cursor: number; done: Promise<void> } | null = null;

  constructor(terminal: Terminal, actions: InputActions, sources: CompletionSources) {
    this.#terminal = terminal;
    this.#actions = actions;
    this.#sources = sources;
    this.#line = new EditorLine({ searchable: () => !actions.busy() });
  }

  get text(): string {
    return this.#line.text;
  }

  get isEmpty(): boolean {
    return this.#line.isEmpty && !this.#assembler.open;
  }

  setHistory(history: readonly string[]): void {
    this.#line.setHistory(history);
  }

  setText(text: string): void {
    this.#line.setText(text);
    this.show();
  }

  /** Leaves the line as it stands and empties it. */
  clear(): void {
    this.#terminal.screen.commitInput();
    this.#assembler.reset();
    this.#line.setText("");
  }

  /** A dialog is opened over the line: the draft is kept out of sight. */
  cover(): void {
    this.#covered++;
    this.#terminal.screen.hideInput();
  }

  uncover(): void {
    this.#covered--;
    this.show();
  }

  /** Shows or hides the line as the state of things asks. */
  show(): void {
    if (this.#covered > 0) return;
    if (this.#terminal.traits.plain) return;
    const { screen } = this.#terminal;
    if (this.#actions.busy() && this.#line.isEmpty) return screen.hideInput();
    const search = this.#line.searchPrompt;
    const prompt = search === null ? this.#actions.prompt() : sanitizeLine(search, this.#terminal.traits);
    screen.setInput({ prompt, ...this.#line.shown });
  }

  /** Plain mode: the prompt is printed once, for the terminal to edit the line after it. */
  promptPlain(): void {
    if (!this.#terminal.traits.plain || !this.#terminal.stdinIsTty || this.#covered > 0) return;
    this.#terminal.screen.write(this.#assembler.open ? "... " : this.#actions.prompt());
    this.#terminal.screen.flush();
  }

  event(event: TerminalEvent): void {
    switch (event.type) {
      case "keys":
        return this.#keys(event.keys);
      case "line":
        return this.#plainLine(event.text);
      case "interrupt":
        return this.#actions.interrupt();
      case "end":
        return event.hangup ? this.#actions.hangup() : this.#endOfInput();
      default:
        event satisfies never;
    }
  }

  #keys(keys: readonly Key[]): void {
    for (const key of keys) this.#key(key);
    this.show();
  }

  #key(key: Key): void {
    const effect = this.#line.press(key);
    if (effect !== "complete") this.#tabbed = null;
    // Keys of one read are drawn once, at its end; what acts on the line must find it on the screen.
    if (effect !== null) this.show();
    switch (effect) {
      case null:
        return this.#actions.typed();
      case "submit":
        return this.#submit();
      case "interrupt":
        return this.#actions.interrupt();
      case "escape":
        return this.#actions.escape();
      case "reasoning":
        return this.#actions.reasoning();
      case "eof":
        return this.#actions.eof();
      case "edit":
        return this.#actions.edit();
      case "complete":
        return this.#tab();
      case "suspend":
        return this.#terminal.suspend();
      case "clear":
        return this.#terminal.screen.clear();
      default:
        effect satisfies never;
    }
  }

  #submit(): void {
    const { screen } = this.#terminal;
    const text = this.#line.text;
    if (this.#actions.busy()) screen.hideInput();
    else screen.commitInput();
    this.#line.remember(text);
    this.#actions.submit(text);
  }

  #plainLine(line: string): void {
    if (this.#terminal.stdinIsTty) this.#terminal.screen.lineTyped();
    const text = this.#assembler.push(line);
    if (text === null) return this.promptPlain();
    this.#line.remember(text);
    this.#actions.submit(text);
  }

  #endOfInput(): void {
    const text = this.#assembler.end();
    if (text !== null && text.trim() !== "") this.#actions.submit(text);
    this.#actions.eof();
  }

  /** The second of two quick tabs lists what the first has found; on a line that has changed nobody waits for the first. */
  #tab(): void {
    const { cells, cursor } = this.#line.state;
    const last = this.#lastTab;
    const again = last?.cells === cells && last.cursor === cursor;
    const complete = () => this.#complete();
    const done = again ? last.done.then(complete, complete) : complete();
    this.#lastTab = { cells, cursor, done };
    done.catch((error: unknown) => {
      // Whoever has gone on typing doesn't wait for it any more.
      if (this.#line.state.cells === cells && !isAbort(error)) this.#actions.failed(error);
    });
  }

  async #complete(): Promise<void> {
    const { cells, cursor } = this.#line.state;
    const before = cells
      .slice(0, cursor)
      .map((cell) => cell.text)
      .join("");
    const found = await findCompletions(before, this.#sources);
    const state = this.#line.state;
    // The walk took its time and typing went on: what was found is for a line that is gone.
    if (!found || state.cells !== cells || state.cursor !== cursor) return;
    const typed = before.slice(found.start);
    const step = completeStep(typed, found.candidates);
    const completed = before.slice(0, found.start) + step.word;
    if (step.word !== typed) this.#replaceWord(completed);
    else if (this.#tabbed === before) this.#list(step.list);
    this.#tabbed = completed;
    this.show();
  }

  #replaceWord(before: string): void {
    const after = this.#line.state.cells
      .slice(this.#line.state.cursor)
      .map((cell) => cell.text)
      .join("");
    this.#line.replaceAround(before, after);
  }

  /** In columns, as bash does; only what is asked for by a second tab is printed. */
  #list(words: readonly string[]): void {
    if (words.length === 0) return;
    const { traits, screen } = this.#terminal;
    const shown = words.slice(0, LIST_LIMIT).map((word) => sanitizeLine(word, traits));
    const width = Math.max(...shown.map(displayWidth)) + 2;
    const perRow = Math.max(1, Math.floor((this.#terminal.size().columns - 1) / width));
    const rows = Math.ceil(shown.length / perRow);
    for (let row = 0; row < rows; row++) {
      const line = shown.filter((_, index) => index % rows === row);
      screen.write(
        `${line
          .map((word) => word + " ".repeat(width - displayWidth(word)))
          .join("")
          .trimEnd()}\n`,
      );
    }
    if (words.length > LIST_LIMIT) screen.write(`${words.length - LIST_LIMIT} more\n`);
  }
}
