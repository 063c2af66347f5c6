/** Which key does what in the input line: readline's bindings. Pure; what leaves the line (submit, search, suspend …) is returned as an effect. */
import {
  type EditorState,
  blankLeft,
  endsInBackslash,
  insert,
  kill,
  lineEnd,
  lineStart,
  moveLine,
  moveTo,
  remove,
  transpose,
  wordLeft,
  wordRight,
  yank,
} from "./editor.ts";
import type { Key } from "./keys.ts";

/** What the line's owner must do. `older` and `newer` walk the history. */
export type EditorEffect =
  "submit" | "interrupt" | "eof" | "escape" | "search" | "complete" | "edit" | "suspend" | "clear" | "older" | "newer";

export interface Pressed {
  state: EditorState;
  effect: EditorEffect | null;
}

type Change = (state: EditorState) => EditorState;

const CHANGES: Record<string, Change> = {
  "ctrl-a": (state) => moveTo(state, lineStart(state)),
  home: (state) => moveTo(state, lineStart(state)),
  "ctrl-e": (state) => moveTo(state, lineEnd(state)),
  end: (state) => moveTo(state, lineEnd(state)),
  "ctrl-home": (state) => moveTo(state, 0),
  "ctrl-end": (state) => moveTo(state, state.cells.length),
  "alt-<": (state) => moveTo(state, 0),
  "alt->": (state) => moveTo(state, state.cells.length),
  "ctrl-b": (state) => moveTo(state, state.cursor - 1),
  left: (state) => moveTo(state, state.cursor - 1),
  "ctrl-f": (state) => moveTo(state, state.cursor + 1),
  right: (state) => moveTo(state, state.cursor + 1),
  "alt-b": (state) => moveTo(state, wordLeft(state)),
  "ctrl-left": (state) => moveTo(state, wordLeft(state)),
  "alt-left": (state) => moveTo(state, wordLeft(state)),
  "alt-f": (state) => moveTo(state, wordRight(state)),
  "ctrl-right": (state) => moveTo(state, wordRight(state)),
  "alt-right": (state) => moveTo(state, wordRight(state)),
  backspace: (state) => remove(state, state.cursor - 1, state.cursor),
  "shift-backspace": (state) => remove(state, state.cursor - 1, state.cursor),
  delete: (state) => remove(state, state.cursor, state.cursor + 1),
  "ctrl-w": (state) => kill(state, blankLeft(state)),
  "alt-backspace": (state) => kill(state, wordLeft(state)),
  "ctrl-backspace": (state) => kill(state, wordLeft(state)),
  "alt-d": (state) => kill(state, wordRight(state)),
  "ctrl-delete": (state) => kill(state, wordRight(state)),
  "alt-delete": (state) => kill(state, wordRight(state)),
  "ctrl-k": killToEnd,
  "ctrl-u": killToStart,
  "ctrl-y": yank,
  "ctrl-t": transpose,
  "ctrl-j": (state) => insert(state, "\n"),
  "alt-enter": (state) => insert(state, "\n"),
  "shift-enter": (state) => insert(state, "\n"),
  "ctrl-enter": (state) => insert(state, "\n"),
  "shift-space": (state) => insert(state, " "),
};

const EFFECTS: Record<string, EditorEffect> = {
  "ctrl-c": "interrupt",
  escape: "escape",
  "ctrl-r": "search",
  tab: "complete",
  "ctrl-g": "edit",
  "ctrl-z": "suspend",
  "ctrl-l": "clear",
  "ctrl-p": "older",
  "ctrl-n": "newer",
};

/** Keys without a binding change nothing. */
export function pressKey(state: EditorState, key: Key): Pressed {
  if (key.type !== "key") return { state: insert(state, key.text), effect: null };
  const change = CHANGES[key.id] ?? CHANGES[withoutCase(key.id)];
  if (change) return { state: change(state), effect: null };
  if (key.id === "enter") return pressEnter(state);
  if (key.id === "ctrl-d") return pressEof(state);
  if (key.id === "up" || key.id === "ctrl-p") return pressVertical(state, -1);
  if (key.id === "down" || key.id === "ctrl-n") return pressVertical(state, 1);
  return { state, effect: EFFECTS[key.id] ?? null };
}

/** As in readline, alt with a capital letter is alt with the small one. */
function withoutCase(id: string): string {
  return id.replace(/^alt-shift-(?=[a-z]$)/, "alt-");
}

function pressEnter(state: EditorState): Pressed {
  if (!endsInBackslash(state)) return { state, effect: "submit" };
  return { state: insert(remove(state, state.cursor - 1, state.cursor), "\n"), effect: null };
}

function pressEof(state: EditorState): Pressed {
  if (state.cells.length === 0) return { state, effect: "eof" };
  return { state: remove(state, state.cursor, state.cursor + 1), effect: null };
}

function pressVertical(state: EditorState, by: -1 | 1): Pressed {
  const moved = moveLine(state, by);
  if (moved) return { state: moved, effect: null };
  return { state: { ...state, killing: false }, effect: by < 0 ? "older" : "newer" };
}

/** At the end of a line it takes the line end, so that repeating it empties a draft of several lines. */
function killToEnd(state: EditorState): EditorState {
  const end = lineEnd(state);
  return kill(state, end === state.cursor ? Math.min(end + 1, state.cells.length) : end);
}

function killToStart(state: EditorState): EditorState {
  const start = lineStart(state);
  return kill(state, start === state.cursor ? Math.max(start - 1, 0) : start);
}
