/** What the input line's bytes draw on a terminal is what the editor holds, at every width and after every key. */
import { expect, test } from "bun:test";
import { EMPTY_EDITOR, type EditorState, insert } from "../src/editor.ts";
import { pressKey } from "../src/editor-keys.ts";
import {
  drawInput,
  eraseInput,
  type InputView,
  layoutInput,
  leaveInput,
  redrawInput,
  resizedInput,
} from "../src/editor-view.ts";
import { KeyDecoder } from "../src/keys.ts";
import { VirtualTerminal } from "./support/vt.ts";

function layout(state: EditorState, columns: number, maxRows = 20): InputView {
  return layoutInput({ prompt: "> ", cells: state.cells, cursor: state.cursor, columns, maxRows });
}

function rowsOf(view: InputView): string[] {
  return view.rows.map((row) =>
    row
      .map((part) => part.text)
      .join("")
      .trimEnd(),
  );
}

function expectShown(terminal: VirtualTerminal, view: InputView, top: number): void {
  const shown = terminal.lines.slice(top).map((line) => line.join("").trimEnd());
  while (shown.length > view.rows.length && shown.at(-1) === "") shown.pop();
  expect(shown).toEqual(rowsOf(view));
  expect(terminal.cursor).toEqual({ row: top + view.cursorRow, column: view.cursorColumn });
}

const KEYS = [
  "a",
  "b",
  " ",
  "漢",
  "字",
  "🙂",
  "👨‍👩‍👧",
  "é",
  "e\u0301",
  "\n",
  "\t",
  "\u200b",
  "\x7f",
  "\x7f",
  "\x04",
  "\x1b[D",
  "\x1b[D",
  "\x1b[C",
  "\x01",
  "\x05",
  "\x17",
  "\x0b",
  "\x15",
  "\x19",
  "\x14",
  "\x1b[A",
  "\x1b[B",
  "\x1bb",
  "\x1bf",
];

test.each([20, 40, 7, 3])("random editing at %d columns draws what a fresh drawing would", (columns) => {
  let seed: number = columns;
  const next = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
  for (let round = 0; round < 15; round++) {
    const terminal = new VirtualTerminal(columns, 60);
    terminal.write("up\r\n");
    const decoder = new KeyDecoder();
    let state = EMPTY_EDITOR;
    let view = layout(state, columns, 50);
    terminal.write(drawInput(view));
    for (let step = 0; step < 40; step++) {
      for (const key of decoder.push(KEYS[Math.floor(next() * KEYS.length)] ?? "")) state = pressKey(state, key).state;
      const after = layout(state, columns, 50);
      terminal.write(redrawInput(view, after));
      view = after;
      expectShown(terminal, view, 1);
    }
    expect(terminal.row(0)).toBe("up");
  }
});

test("a character typed at the end costs its own bytes, backspace a few", () => {
  const before = layout(insert(EMPTY_EDITOR, "hello"), 40);
  const after = layout(insert(EMPTY_EDITOR, "hello!"), 40);
  expect(redrawInput(before, after)).toBe("!");
  expect(redrawInput(after, before).length).toBeLessThanOrEqual(8);
});

test("an equal view costs nothing", () => {
  const view = layout(insert(EMPTY_EDITOR, "hello\nworld"), 40);
  expect(redrawInput(view, view)).toBe("");
});

test("a wide character that doesn't fit goes to the next row whole", () => {
  expect(rowsOf(layout(insert(EMPTY_EDITOR, "漢字漢"), 8))).toEqual(["> 漢字", "漢"]);
});

test("a folded paste is shown as its fold", () => {
  const state = insert(insert(EMPTY_EDITOR, "see "), "x\n".repeat(213) + "x");
  expect(rowsOf(layout(state, 80))).toEqual(["> see [pasted 214 lines]"]);
});

test("characters that draw nothing are shown", () => {
  expect(rowsOf(layout(insert(EMPTY_EDITOR, "a\u202eb"), 40))).toEqual(["> a<U+202E>b"]);
});

test("a draft higher than the screen is clipped around the cursor", () => {
  const state = insert(EMPTY_EDITOR, "1\n2\n3\n4\n5\n6\n7\n8");
  const view = layout(state, 40, 4);
  expect(rowsOf(view)).toEqual(["5", "6", "7", "8"]);
  expect(view.clipped).toBe(true);
  expect(view.cursorRow).toBe(3);
});

test("erasing leaves nothing of the view and the cursor where it began", () => {
  const terminal = new VirtualTerminal(20, 10);
  const view = layout(insert(EMPTY_EDITOR, "one\ntwo\nthree"), 20);
  terminal.write("above\r\n" + drawInput(view) + eraseInput(view));
  expect(terminal.text()).toBe("above");
  expect(terminal.cursor).toEqual({ row: 1, column: 0 });
});

test("leaving it puts the cursor below its last row wherever it was", () => {
  const terminal = new VirtualTerminal(20, 10);
  const state = { ...insert(EMPTY_EDITOR, "one\ntwo"), cursor: 1 };
  const view = layout(state, 20);
  terminal.write(drawInput(view) + leaveInput(view) + "next");
  expect(terminal.text()).toBe("> one\ntwo\nnext");
});

test("a prompt too wide for the window gives way to a short one", () => {
  const view = layoutInput({ prompt: "shiro deep 34%> ", cells: [], cursor: 0, columns: 12, maxRows: 5 });
  expect(rowsOf(view)).toEqual([">"]);
});

test("after narrowing, a terminal that wraps anew has the cursor further down", () => {
  const view = layout(insert(EMPTY_EDITOR, "x".repeat(30)), 40);
  expect(resizedInput(view, 20, true)).toMatchObject({ cursorRow: 1, cursorColumn: 12 });
  expect(resizedInput(view, 20, false)).toEqual(view);
  expect(resizedInput(view, 60, true)).toEqual(view);
});
