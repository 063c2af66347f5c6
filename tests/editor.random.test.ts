/** Random editing, checked against a second editor and a second layout that share no code with the real ones. */
import { expect, test } from "bun:test";
import { EMPTY_EDITOR, type EditorState, textOf } from "../src/editor.ts";
import { pressKey } from "../src/editor-keys.ts";
import { KeyDecoder } from "../src/keys.ts";
import { Screen } from "../src/terminal-screen.ts";
import { terminalTraits } from "../src/terminal-traits.ts";
import { seeded } from "./support/random-text.ts";
import { VirtualTerminal } from "./support/vt.ts";

const SEGMENTER = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** A draft as a string, a cursor in UTF-16 units, and a kill buffer; characters are found anew after each change. */
class ReferenceEditor {
  text = "";
  at = 0;
  #killed = "";
  #killing = false;
  #goal: number | null = null;

  /** Where characters begin, the end included. */
  get bounds(): number[] {
    return [...Array.from(SEGMENTER.segment(this.text), (part) => part.index), this.text.length];
  }

  press(key: string): void {
    const [killing, goal] = [this.#killing, this.#goal];
    this.#killing = false;
    this.#goal = null;
    if (!(key in KEYS)) return this.#put(this.at, this.at, key);
    const act = KEYS[key];
    if (act === "up" || act === "down") return this.#vertical(act === "up" ? -1 : 1, goal);
    if (act === "yank") return this.#put(this.at, this.at, this.#killed);
    if (act === "transpose") return this.#transpose();
    if (act === undefined) return;
    const [what, where] = act;
    const to = PLACES[where](this);
    if (what === "go") this.at = to;
    else if (what === "cut") this.#put(Math.min(to, this.at), Math.max(to, this.at), "");
    else this.#kill(to, killing);
  }

  #put(from: number, to: number, text: string): void {
    this.text = this.text.slice(0, from) + text + this.text.slice(to);
    this.at = this.bounds.find((bound) => bound >= from + text.length) ?? this.text.length;
  }

  #kill(to: number, killing: boolean): void {
    if (to === this.at) return void (this.#killing = killing);
    const cut = this.text.slice(Math.min(to, this.at), Math.max(to, this.at));
    const before = killing ? this.#killed : "";
    this.#killed = to > this.at ? before + cut : cut + before;
    this.#put(Math.min(to, this.at), Math.max(to, this.at), "");
    this.#killing = true;
  }

  #transpose(): void {
    const bounds = this.bounds;
    const start = lineStart(this);
    let at = bounds.indexOf(this.at);
    if (this.at === lineEnd(this)) at--;
    const [left, middle, right] = [bounds[at - 1], bounds[at], bounds[at + 1]];
    if (left === undefined || middle === undefined || right === undefined || left < start) return;
    this.#put(left, right, this.text.slice(middle, right) + this.text.slice(left, middle));
  }

  #vertical(by: -1 | 1, goal: number | null): void {
    const start = lineStart(this);
    const count = (from: number, to: number) => this.bounds.filter((bound) => bound >= from && bound < to).length;
    const column = goal ?? count(start, this.at);
    const lines = this.text.split("\n");
    const line = this.text.slice(0, start).split("\n").length - 1 + by;
    this.#goal = column;
    if (lines[line] === undefined) return;
    const from = lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0);
    const within = this.bounds.filter((bound) => bound >= from && bound <= from + (lines[line]?.length ?? 0));
    this.at = within[Math.min(column, within.length - 1)] ?? from;
  }
}

const lineStart = (editor: ReferenceEditor) => editor.text.slice(0, editor.at).lastIndexOf("\n") + 1;
const lineEnd = (editor: ReferenceEditor) => (editor.text + "\n").indexOf("\n", editor.at);
const step = (editor: ReferenceEditor, by: number) =>
  editor.bounds[editor.bounds.indexOf(editor.at) + by] ?? (by < 0 ? 0 : editor.text.length);

function skip(editor: ReferenceEditor, by: -1 | 1, unit: RegExp): number {
  const at = (index: number) => editor.text.slice(editor.bounds[index] ?? 0, editor.bounds[index + 1] ?? 0);
  let index = editor.bounds.indexOf(editor.at);
  const next = () => at(by < 0 ? index - 1 : index);
  const more = () => (by < 0 ? index > 0 : index < editor.bounds.length - 1);
  while (more() && !unit.test(next())) index += by;
  while (more() && unit.test(next())) index += by;
  return editor.bounds[index] ?? 0;
}

const WORD = /[\p{L}\p{N}\p{M}_]/u;
const PLACES = {
  left: (editor: ReferenceEditor) => step(editor, -1),
  right: (editor: ReferenceEditor) => step(editor, 1),
  lineStart,
  lineEnd,
  wordLeft: (editor: ReferenceEditor) => skip(editor, -1, WORD),
  wordRight: (editor: ReferenceEditor) => skip(editor, 1, WORD),
  blankLeft: (editor: ReferenceEditor) => skip(editor, -1, /^\S/),
  toEnd: (editor: ReferenceEditor) => (lineEnd(editor) === editor.at ? step(editor, 1) : lineEnd(editor)),
  toStart: (editor: ReferenceEditor) => (lineStart(editor) === editor.at ? step(editor, -1) : lineStart(editor)),
};

type Act = "up" | "down" | "yank" | "transpose" | [what: "go" | "cut" | "kill", where: keyof typeof PLACES];

const KEYS: Record<string, Act> = {
  "\x1b[D": ["go", "left"],
  "\x1b[C": ["go", "right"],
  "\x01": ["go", "lineStart"],
  "\x05": ["go", "lineEnd"],
  "\x1bb": ["go", "wordLeft"],
  "\x1bf": ["go", "wordRight"],
  "\x7f": ["cut", "left"],
  "\x04": ["cut", "right"],
  "\x17": ["kill", "blankLeft"],
  "\x1b\x7f": ["kill", "wordLeft"],
  "\x1bd": ["kill", "wordRight"],
  "\x0b": ["kill", "toEnd"],
  "\x15": ["kill", "toStart"],
  "\x19": "yank",
  "\x14": "transpose",
  "\x1b[A": "up",
  "\x1b[B": "down",
};
const COMMANDS = Object.keys(KEYS);
const TYPED = ["a", "b", " ", "-", "漢", "字", "🙂", "👨‍👩‍👧", "é", "e\u0301", "\n", "word ", "漢字 "];
/** Change what stands beside them; alone, no two terminals show them alike. */
const JOINING = ["\u0301", "\u200d", "👩", "👧", "\u200b"];

function pick<Value>(random: (below: number) => number, values: readonly Value[]): Value {
  const value = values[random(values.length)];
  if (value === undefined) throw new Error("nothing to pick from");
  return value;
}

/** Text, cursor and where characters begin, of either editor. */
function facts(state: EditorState): { text: string; at: number; bounds: number[] } {
  const bounds = [0];
  for (const cell of state.cells) bounds.push((bounds.at(-1) ?? 0) + cell.text.length);
  return { text: textOf(state), at: bounds[state.cursor] ?? -1, bounds };
}

const SEED = Number(process.env.SHIRO_TEST_SEED ?? 1);

test(`the draft is that of a second editor after each of thousands of keys (seed ${SEED})`, () => {
  const random = seeded(SEED);
  const decoder = new KeyDecoder();
  for (let round = 0; round < 200; round++) {
    const reference = new ReferenceEditor();
    const pressed: string[] = [];
    let state = EMPTY_EDITOR;
    for (let at = 0; at < 50; at++) {
      const key = pick(random, pick(random, [TYPED, TYPED, JOINING, COMMANDS, COMMANDS]));
      pressed.push(key);
      // ctrl-d on nothing would leave.
      for (const one of decoder.push(key)) state = pressKey(state, one).state;
      reference.press(key);
      const { text, at: cursor, bounds } = reference;
      const script = JSON.stringify(pressed);
      expect({ script, ...facts(state) }).toEqual({ script, text, at: cursor, bounds });
    }
  }
});

/** Rows of a draft by counting columns one by one. Rows end one column before the edge. */
function layout(prompt: string, editor: ReferenceEditor, columns: number) {
  const rows = [""];
  let [column, cursor] = [0, { row: 0, column: 0 }];
  const put = (text: string, width: number) => {
    if (column > 0 && column + width > columns - 1) [column, rows[rows.length]] = [0, ""];
    rows[rows.length - 1] += text;
    column += width;
  };
  const narrow = prompt.length > columns - 5;
  put(narrow ? "> " : prompt, narrow ? 2 : prompt.length);
  for (const { segment, index } of SEGMENTER.segment(editor.text)) {
    const width = segment === "\n" ? 0 : /^[\x20-\x7eé]|^e\u0301/.test(segment) ? 1 : 2;
    const wraps = column > 0 && column + width > columns - 1;
    if (index === editor.at) cursor = wraps ? { row: rows.length, column: 0 } : { row: rows.length - 1, column };
    if (segment === "\n") [column, rows[rows.length]] = [0, ""];
    else put(segment, width);
  }
  if (editor.at === editor.text.length) cursor = { row: rows.length - 1, column };
  return { rows: rows.map((row) => row.trimEnd()), cursor };
}

const STOPPED = { now: () => 0, after: () => () => {}, every: () => () => {} };

test.each([false, true])(
  `the screen shows the draft below the output, through resizes, too (reflowing: %p, seed ${SEED})`,
  (reflows) => {
    const random = seeded(SEED + 1);
    const tty = { stdinIsTty: true, stdoutIsTty: true, platform: "linux" };
    const traits = terminalTraits({ TERM: "xterm", LANG: "C.UTF-8", ...(reflows ? { TMUX: "x" } : {}) }, tty);
    for (let round = 0; round < 25; round++) {
      const terminal = new VirtualTerminal(10 + random(60), 200);
      const screen = new Screen(
        {
          write: (text) => terminal.write(text.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n")),
          size: () => ({ columns: terminal.columns, rows: terminal.rows }),
        },
        traits,
        STOPPED,
      );
      const reference = new ReferenceEditor();
      const decoder = new KeyDecoder();
      const done: string[] = [];
      const output: string[] = [];
      let state = EMPTY_EDITOR;
      screen.setInput({ prompt: "shiro> ", cells: [], cursor: 0 });
      for (let at = 0; at < 100; at++) {
        const what = random(12);
        if (what === 0) {
          const columns = 5 + random(70);
          done.push(`resize ${columns}`);
          terminal.resize(columns, 200, reflows);
          screen.resized();
        } else if (what === 1) {
          output.push(`o${at}`);
          done.push(`output ${at}`);
          screen.write(`o${at}\n`);
          screen.flush();
        } else {
          const key = pick(random, what < 8 ? TYPED : COMMANDS);
          done.push(key);
          for (const one of decoder.push(key)) state = pressKey(state, one).state;
          reference.press(key);
          screen.setInput({ prompt: "shiro> ", cells: state.cells, cursor: state.cursor });
        }
        const { rows, cursor } = layout("shiro> ", reference, terminal.columns);
        const whole = { lines: [...output, ...rows], cursor: { ...cursor, row: output.length + cursor.row } };
        const lines = terminal.lines.map((line) => line.join("").trimEnd());
        while (lines.length > whole.lines.length && lines.at(-1) === "") lines.pop();
        const script = JSON.stringify(done);
        expect({ script, lines, cursor: terminal.cursor }).toEqual({ script, ...whole });
      }
    }
  },
);
