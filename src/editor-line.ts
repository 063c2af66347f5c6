/** One input line in use: editor state, the walk through history, incremental search, two-key bindings. Draws nothing. */
import { EMPTY_EDITOR, type Cell, type EditorState, insert, textOf, withText } from "./editor.ts";
import { type EditorEffect, pressKey } from "./editor-keys.ts";
import type { Key } from "./keys.ts";

/** What the owner of a line must act on; the walk and the search are done in here. */
export type LineEffect = Exclude<EditorEffect, "older" | "newer" | "search">;

export interface LineOptions {
  /** Oldest first. */
  history?: readonly string[];
  /** In a turn ctrl-r is somebody else's: it is returned as `reasoning`. */
  searchable?: () => boolean;
}

export class EditorLine {
  #state: EditorState = EMPTY_EDITOR;
  #history: string[];
  /** Index into history, or its length while the draft is shown. */
  #at: number;
  #draft = "";
  #search: { query: string; at: number; failed: boolean; before: EditorState } | null = null;
  #afterCtrlX = false;
  readonly #searchable: () => boolean;

  constructor(options: LineOptions = {}) {
    this.#history = [...(options.history ?? [])];
    this.#at = this.#history.length;
    this.#searchable = options.searchable ?? (() => true);
  }

  get state(): EditorState {
    return this.#state;
  }

  get text(): string {
    return textOf(this.#state);
  }

  get isEmpty(): boolean {
    return this.#state.cells.length === 0;
  }

  /** Text to show in place of the prompt while searching, else null. */
  get searchPrompt(): string | null {
    if (!this.#search) return null;
    const { failed, query } = this.#search;
    return `(${failed ? "no match" : "search"})${query === "" ? "" : ` ${query}`}: `;
  }

  get shown(): { cells: readonly Cell[]; cursor: number } {
    return this.#state;
  }

  setText(text: string): void {
    this.#state = withText(this.#state, text);
    this.#at = this.#history.length;
    this.#search = null;
  }

  /** Puts new text on both sides of the cursor, as completion does. */
  replaceAround(before: string, after: string): void {
    const left = withText(this.#state, before);
    this.#state = { ...insert(left, after), cursor: left.cells.length };
  }

  /** Adds what was submitted, so that it is the newest to walk to, and empties the line. */
  remember(text: string): void {
    if (text.trim() !== "" && !text.startsWith(" ") && this.#history.at(-1) !== text) this.#history.push(text);
    this.setText("");
  }

  setHistory(history: readonly string[]): void {
    this.#history = [...history];
    this.#at = this.#history.length;
  }

  /** Null when the key was used up. */
  press(key: Key): LineEffect | "reasoning" | null {
    if (this.#search) return this.#pressInSearch(key);
    if (this.#afterCtrlX) return this.#pressAfterCtrlX(key);
    if (key.type === "key" && key.id === "ctrl-x") {
      this.#afterCtrlX = true;
      return null;
    }
    const pressed = pressKey(this.#state, key);
    this.#state = pressed.state;
    return this.#act(pressed.effect);
  }

  #act(effect: EditorEffect | null): LineEffect | "reasoning" | null {
    switch (effect) {
      case "older":
        this.#walk(-1);
        return null;
      case "newer":
        this.#walk(1);
        return null;
      case "search":
        if (!this.#searchable()) return "reasoning";
        this.#search = { query: "", at: this.#history.length, failed: false, before: this.#state };
        return null;
      default:
        return effect;
    }
  }

  #pressAfterCtrlX(key: Key): LineEffect | null {
    this.#afterCtrlX = false;
    return key.type === "key" && key.id === "ctrl-e" ? "edit" : null;
  }

  /** Past the newest entry comes the draft that was being written. */
  #walk(by: -1 | 1): void {
    const to = this.#at + by;
    if (to < 0 || to > this.#history.length) return;
    if (this.#at === this.#history.length) this.#draft = this.text;
    this.#at = to;
    this.#state = withText(this.#state, this.#history[to] ?? this.#draft);
  }

  #pressInSearch(key: Key): LineEffect | "reasoning" | null {
    const search = this.#search;
    if (!search) return null;
    if (key.type !== "key") return this.#find(search.query + key.text, this.#history.length);
    if (key.id === "ctrl-r") return this.#find(search.query, search.at);
    if (key.id === "backspace") return this.#find(search.query.slice(0, -1), this.#history.length);
    this.#search = null;
    if (key.id === "ctrl-c" || key.id === "ctrl-g") {
      this.#state = search.before;
      return null;
    }
    // Escape takes what was found; every other key takes it and does its own work on it.
    return key.id === "escape" ? null : this.press(key);
  }

  #find(query: string, before: number): null {
    const search = this.#search;
    if (!search) return null;
    const at = query === "" ? -1 : this.#history.findLastIndex((line, index) => index < before && line.includes(query));
    const found = this.#history[at];
    this.#search = {
      ...search,
      query,
      failed: query !== "" && found === undefined,
      at: found === undefined ? before : at,
    };
    if (found !== undefined) this.#state = withText(this.#state, found);
    return null;
  }
}
