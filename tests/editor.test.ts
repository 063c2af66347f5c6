/** The input line edits as readline does: by graphemes, with a kill buffer, over several lines. */
import { expect, test } from "bun:test";
import { EMPTY_EDITOR, type EditorState, insert, textOf, withText } from "../src/editor.ts";
import { EditorLine } from "../src/editor-line.ts";
import { pressKey } from "../src/editor-keys.ts";
import { KeyDecoder } from "../src/keys.ts";

/** Types bytes into a line and shows it with `|` where the cursor is. */
function type(bytes: string, state: EditorState = EMPTY_EDITOR): EditorState {
  const decoder = new KeyDecoder();
  for (const key of [...decoder.push(bytes), ...decoder.flush()]) state = pressKey(state, key).state;
  return state;
}

function show(state: EditorState): string {
  const parts = state.cells.map((cell) => cell.text);
  return [...parts.slice(0, state.cursor), "|", ...parts.slice(state.cursor)].join("");
}

const LEFT = "\x1b[D";
const UP = "\x1b[A";
const DOWN = "\x1b[B";

test.each([
  ["abc\x01x", "x|abc"],
  ["abc\x01\x05x", "abcx|"],
  [`abc${LEFT}x`, "abx|c"],
  ["abc\x02\x02x", "ax|bc"],
  ["abc\x01\x06x", "ax|bc"],
  ["one two\x1bbx", "one x|two"],
  ["one two\x1bBx", "one x|two"],
  ["one two\x1b[1;5Dx", "one x|two"],
  ["one two\x01\x1bfx", "onex| two"],
  ["a-b c\x17", "a-b |"],
  ["a-b.c\x1b\x7f", "a-b.|"],
  ["one two\x01\x1bd", "| two"],
  [`abc${LEFT}\x0b`, "ab|"],
  [`abc${LEFT}\x15`, "|c"],
  [`one two\x17\x17\x19`, "one two|"],
  [`abc\x01\x0b\x19\x19`, "abcabc|"],
  ["ab\x14", "ba|"],
  [`abc${LEFT}\x14`, "acb|"],
  ["a\x14", "a|"],
  ["abc\x7f", "ab|"],
  [`abc${LEFT}\x04`, "ab|"],
  [`abc${LEFT}\x1b[3~`, "ab|"],
  ["漢字\x7f", "漢|"],
  ["👨‍👩‍👧\x7f", "|"],
  ["🇩🇪🇯🇵\x7f", "🇩🇪|"],
  ["e\u0301\x7f", "|"],
  [`漢e\u0301字${LEFT}${LEFT}x`, "漢x|e\u0301字"],
  [`ab${LEFT}\u0301`, "a\u0301|b"],
  ["a\nb", "a\nb|"],
  ["a\x1b\rb", "a\nb|"],
  ["a\\\rb", "a\nb|"],
  ["a\nb\x01x", "a\nx|b"],
  ["ab\ncd\x0b", "ab\ncd|"],
  [`abcd\nef${UP}x`, "abx|cd\nef"],
  [`abcd\nx\nefgh${UP}${UP}x`, "abcdx|\nx\nefgh"],
  [`ab\ncdef${UP}${DOWN}x`, "ab\ncdefx|"],
  ["a\n\x7f", "a|"],
  ["ab\ncd\x01\x15", "ab|cd"],
  ["\x1b[200~x\ty\x1b[201~", "x\ty|"],
])("%j gives %j", (bytes, shown) => {
  expect(show(type(bytes))).toBe(shown);
});

test.each([
  ["\r", "submit"],
  ["\x03", "interrupt"],
  ["\x04", "eof"],
  ["\x1b", "escape"],
  ["\x12", "search"],
  ["\t", "complete"],
  ["\x07", "edit"],
  ["\x1a", "suspend"],
  ["\x0c", "clear"],
  [UP, "older"],
  ["\x10", "older"],
  [DOWN, "newer"],
  ["\x0e", "newer"],
  ["\x1b[20~", null],
] as const)("%j leaves the line as %p", (bytes, effect) => {
  const decoder = new KeyDecoder();
  const [key] = [...decoder.push(bytes), ...decoder.flush()];
  if (!key) throw new Error("no key");
  expect(pressKey(EMPTY_EDITOR, key).effect).toBe(effect);
});

test("two backslashes before enter are text", () => {
  const decoder = new KeyDecoder();
  const keys = decoder.push("a\\\\\r");
  let state = EMPTY_EDITOR;
  const effects = keys.map((key) => {
    const pressed = pressKey(state, key);
    state = pressed.state;
    return pressed.effect;
  });
  expect(effects).toEqual([null, "submit"]);
  expect(textOf(state)).toBe("a\\\\");
});

test("a paste of eleven lines is one folded cell that is sent whole and removed by one backspace", () => {
  const pasted = Array.from({ length: 11 }, (_, index) => `line ${index}`).join("\n");
  const state = type(`say: \x1b[200~${pasted}\x1b[201~!`);
  expect(textOf(state)).toBe(`say: ${pasted}!`);
  expect(state.cells.filter((cell) => cell.fold).map((cell) => cell.fold)).toEqual(["[pasted 11 lines]"]);
  const ended = type(`\x1b[200~${pasted}\n\x1b[201~`);
  expect(ended.cells.filter((cell) => cell.fold).map((cell) => cell.fold)).toEqual(["[pasted 11 lines]"]);
  expect(textOf(type("\x7f\x7f", state))).toBe("say: ");
});

test("ten lines are not folded", () => {
  const pasted = Array.from({ length: 10 }, () => "x").join("\n");
  expect(type(`\x1b[200~${pasted}\x1b[201~`).cells.every((cell) => cell.fold === null)).toBe(true);
});

test("a long single line is folded too, so that typing on stays quick", () => {
  const state = insert(EMPTY_EDITOR, "x".repeat(1_000_000));
  expect(state.cells).toEqual([{ text: "x".repeat(1_000_000), fold: "[pasted 1000000 characters]" }]);
});

function line(history: string[], bytes: string): EditorLine {
  const made = new EditorLine({ history });
  press(made, bytes);
  return made;
}

function press(target: EditorLine, bytes: string): (string | null)[] {
  const decoder = new KeyDecoder();
  return [...decoder.push(bytes), ...decoder.flush()].map((key) => target.press(key));
}

test("up and down walk the history, and past the newest the draft is back", () => {
  const made = line(["one", "two\nlines"], "draft");
  press(made, UP);
  expect(made.text).toBe("two\nlines");
  press(made, UP + UP);
  expect(made.text).toBe("one");
  press(made, UP);
  expect(made.text).toBe("one");
  press(made, DOWN + DOWN + DOWN);
  expect(made.text).toBe("draft");
});

test("ctrl-r finds older matches, one press each, and enter sends what was found", () => {
  const made = line(["git status", "ls", "git log"], "");
  press(made, "\x12git");
  expect([made.text, made.searchPrompt]).toEqual(["git log", "(search) git: "]);
  press(made, "\x12");
  expect(made.text).toBe("git status");
  press(made, "\x12");
  expect([made.text, made.searchPrompt]).toEqual(["git status", "(no match) git: "]);
  expect(press(made, "\r")).toEqual(["submit"]);
  expect(made.text).toBe("git status");
});

test("ctrl-c in a search brings the draft back, and another key takes what was found", () => {
  const made = line(["alpha"], "draft\x12al");
  expect(press(made, "\x03")).toEqual([null]);
  expect(made.text).toBe("draft");
  press(made, "\x12al\x05x");
  expect(made.text).toBe("alphax");
});

test("ctrl-x ctrl-e asks for the editor, ctrl-x with anything else does nothing", () => {
  const made = line([], "");
  expect(press(made, "\x18\x05")).toEqual([null, "edit"]);
  expect(press(made, "\x18a")).toEqual([null, null]);
  expect(made.text).toBe("");
});

test("in a turn ctrl-r is the reasoning", () => {
  const made = new EditorLine({ history: ["x"], searchable: () => false });
  expect(press(made, "\x12")).toEqual(["reasoning"]);
});

test("what was sent is the newest to walk to, once, and not when it began with a blank", () => {
  const made = new EditorLine({ history: ["a"] });
  made.remember("a");
  made.remember("b");
  made.remember(" secret");
  press(made, UP);
  expect(made.text).toBe("b");
  press(made, UP);
  expect(made.text).toBe("a");
  press(made, UP);
  expect(made.text).toBe("a");
});

test("new text leaves the kill buffer", () => {
  expect(textOf(type("\x19", withText(type("abc\x15"), "x")))).toBe("xabc");
});
