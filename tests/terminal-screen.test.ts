/** The screen appends; only the input line and the indicator are ever rewritten, and bytes are few. */
import { expect, test } from "bun:test";
import { EMPTY_EDITOR, insert } from "../src/editor.ts";
import { type Clock, Screen } from "../src/terminal-screen.ts";
import { terminalTraits, type TerminalTraits } from "../src/terminal-traits.ts";
import { VirtualTerminal } from "./support/vt.ts";

const TTY = { stdinIsTty: true, stdoutIsTty: true, platform: "linux" };
const TRAITS = terminalTraits({ TERM: "xterm", LANG: "C.UTF-8" }, TTY);

/** A clock that moves when told. */
class ManualClock implements Clock {
  #now = 0;
  #timers = new Set<{ at: number; every: number | null; run: () => void }>();
  now() {
    return this.#now;
  }
  after(ms: number, run: () => void) {
    return this.#add(ms, null, run);
  }
  every(ms: number, run: () => void) {
    return this.#add(ms, ms, run);
  }
  #add(ms: number, every: number | null, run: () => void) {
    const timer = { at: this.#now + ms, every, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }
  advance(ms: number) {
    const end = this.#now + ms;
    for (;;) {
      const next = [...this.#timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#now = next.at;
      if (next.every === null) this.#timers.delete(next);
      else next.at += next.every;
      next.run();
    }
    this.#now = end;
  }
}

function open(traits: TerminalTraits = TRAITS, columns = 40, rows = 10) {
  const clock = new ManualClock();
  const terminal = new VirtualTerminal(columns, rows);
  const writes: string[] = [];
  const device = {
    write(text: string) {
      writes.push(text);
      // The driver's ONLCR.
      terminal.write(text.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n"));
    },
    size: () => ({ columns: terminal.columns, rows: terminal.rows }),
  };
  const screen = new Screen(device, traits, clock, ["⠋", "⠙"]);
  const bytes = () => Buffer.byteLength(writes.join(""));
  return { screen, terminal, clock, writes, bytes };
}

function draft(text: string, prompt = "> ") {
  const { cells, cursor } = insert(EMPTY_EDITOR, text);
  return { prompt, cells, cursor };
}

test("output is gathered and written once per batch", () => {
  const { screen, clock, writes } = open();
  for (const char of "hello") screen.write(char);
  expect(writes).toEqual([]);
  clock.advance(30);
  expect(writes).toEqual(["hello"]);
});

test("with the input line shown, whole lines go above it and the rest waits", () => {
  const { screen, terminal, clock } = open();
  screen.write("streaming te");
  clock.advance(30);
  screen.setInput(draft("my draft"));
  expect(terminal.text()).toBe("streaming te\n> my draft");
  screen.write("xt\nsecond line\nthird");
  clock.advance(30);
  expect(terminal.text()).toBe("streaming te\nxt\nsecond line\n> my draft");
  expect(terminal.cursor).toEqual({ row: 3, column: 10 });
  screen.hideInput();
  expect(terminal.text()).toBe("streaming te\nxt\nsecond line\nthird");
  screen.write(" goes on");
  clock.advance(30);
  expect(terminal.text()).toBe("streaming te\nxt\nsecond line\nthird goes on");
});

test("a draft of several rows survives output above it", () => {
  const { screen, terminal, clock } = open(TRAITS, 20);
  screen.setInput({ ...draft("a rather long draft that wraps\nand a line"), cursor: 3 });
  screen.write("one\ntwo\n");
  clock.advance(30);
  expect(terminal.text()).toBe("one\ntwo\n> a rather long dra\nft that wraps\nand a line");
  expect(terminal.cursor).toEqual({ row: 2, column: 5 });
});

test("a committed line stays in the scrollback, held output follows it", () => {
  const { screen, terminal } = open();
  screen.setInput(draft("send me"));
  screen.write("half");
  screen.commitInput();
  screen.flush();
  expect(terminal.text()).toBe("> send me\nhalf");
});

test("a clipped draft is printed whole when it is committed", () => {
  const { screen, terminal } = open(TRAITS, 40, 4);
  screen.setInput(draft("1\n2\n3\n4\n5\n6"));
  expect(terminal.text()).toBe("4\n5\n6");
  screen.commitInput();
  expect(terminal.text()).toBe("> 1\n2\n3\n4\n5\n6");
});

test("the input line never has the colour of the output it interrupts", () => {
  const { screen, writes, clock } = open();
  screen.write("\x1b[1mbold text");
  clock.advance(30);
  screen.setInput(draft("x"));
  expect(writes.at(-1)).toBe("\n\x1b[m> x");
  screen.hideInput();
  screen.write("still bold");
  clock.advance(30);
  expect(writes.join("")).toContain("\x1b[1mstill bold");
});

test("waiting costs at most 30 bytes a second after its first line, and nothing is left of it", () => {
  const { screen, terminal, clock, bytes } = open();
  screen.setStatus("waiting");
  clock.advance(1000);
  const first = bytes();
  clock.advance(60_000);
  expect((bytes() - first) / 60).toBeLessThanOrEqual(30);
  expect(terminal.text()).toMatch(/^[⠋⠙] waiting$/);
  screen.write("answer\n");
  clock.advance(30);
  expect(terminal.text()).toBe("answer");
});

test("changing the status text stays within the same budget", () => {
  const { screen, clock, bytes } = open();
  let count = 0;
  screen.setStatus("thinking");
  clock.advance(1000);
  const first = bytes();
  for (let tick = 0; tick < 600; tick++) {
    screen.setStatus(`thinking… ~${count++}.2k tokens`);
    clock.advance(100);
  }
  expect((bytes() - first) / 60).toBeLessThanOrEqual(30);
});

test("a status that changes by itself is asked for again, and stays within the same budget", () => {
  const { screen, clock, bytes, writes } = open();
  let seconds = 60;
  screen.setStatus(() => `retrying in ${seconds} s, esc ends it`);
  clock.advance(1000);
  const first = bytes();
  for (; seconds > 0; seconds--) clock.advance(1000);
  expect((bytes() - first) / 60).toBeLessThanOrEqual(30);
  const said = writes.flatMap((text) => /retrying in (\d+) s/.exec(text)?.[1] ?? []);
  expect(said.length).toBeGreaterThan(15);
  expect(new Set(said).size).toBe(said.length);
});

test("over a slow line waiting costs nothing", () => {
  const slow = terminalTraits({ TERM: "xterm", LANG: "C.UTF-8", SSH_CONNECTION: "x" }, TTY);
  const { screen, clock, bytes } = open(slow);
  screen.setStatus("waiting");
  clock.advance(10_000);
  expect(bytes()).toBe(0);
});

test("idle costs nothing", () => {
  const { screen, clock, bytes } = open();
  screen.setInput(draft("x"));
  const before = bytes();
  clock.advance(60_000);
  expect(bytes()).toBe(before);
});

test("no indicator in the middle of a line or beside an input line", () => {
  const { screen, terminal, clock } = open();
  screen.write("half a line");
  clock.advance(30);
  screen.setStatus("waiting");
  clock.advance(2000);
  expect(terminal.text()).toBe("half a line");
  screen.setInput(draft("x"));
  clock.advance(2000);
  expect(terminal.text()).toBe("half a line\n> x");
});

test("a resized window shows the line once, without leftovers", () => {
  const { screen, terminal } = open(TRAITS, 20);
  screen.write("above\n");
  screen.setInput(draft("thirty characters are written"));
  terminal.resize(40, 10);
  screen.resized();
  expect(terminal.text()).toBe("above\n> thirty characters are written");
  terminal.resize(20, 10);
  screen.resized();
  expect(terminal.text()).toBe("above\n> thirty characters\n are written");
});

test("an indicator that a narrower window has broken into rows leaves none of them", () => {
  for (const sinceLabel of [300, 1000]) {
    const { screen, terminal, clock } = open({ ...TRAITS, reflows: true });
    screen.write("above\n");
    screen.setStatus("waiting for an answer 12 s");
    clock.advance(sinceLabel);
    terminal.resize(12, 10, true);
    screen.resized();
    expect(terminal.text()).toBe("above");
    clock.advance(300);
    expect(terminal.text()).toMatch(/^above\n. waiting…$/);
    screen.write("answer\n");
    clock.advance(100);
    expect(terminal.text()).toBe("above\nanswer");
  }
});

test("while another program has the terminal nothing is written, and afterwards everything in order", () => {
  const { screen, terminal, clock, writes } = open();
  screen.write("one\ntw");
  screen.setInput(draft("dra"));
  screen.write("o and more");
  screen.stepAside();
  const before = writes.length;
  screen.setStatus("waiting");
  screen.write(" of it\nthree");
  screen.setInput(draft("draft"));
  screen.resized();
  screen.clear();
  clock.advance(5000);
  expect(writes.length).toBe(before);
  screen.redraw();
  clock.advance(100);
  expect(terminal.text()).toBe("one\ntw\n> dra\no and more of it\n> draft");
  screen.stepAside();
  screen.hideInput();
  screen.freshLine();
  screen.write("four\n");
  screen.redraw();
  expect(terminal.text()).toBe("one\ntw\n> dra\no and more of it\n> draft\nthree\nfour");
});

test("after ctrl-l the indicator says again what it waits for", () => {
  const { screen, terminal, clock } = open();
  screen.setStatus("waiting");
  clock.advance(600);
  screen.clear();
  clock.advance(300);
  expect(terminal.text().trim()).toMatch(/^. waiting$/);
});

test("ctrl-l clears what is visible and keeps the scrollback and the draft", () => {
  const { screen, terminal } = open();
  screen.write("old output\n");
  screen.setInput(draft("draft"));
  screen.clear();
  expect(terminal.lines[0]?.join("")).toBe("old output");
  expect(terminal.cursorRow()).toBe("> draft");
});

test("whatever is drawn and hidden meanwhile, the scrollback is the output in order, each piece once", () => {
  let seed = 5;
  const next = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
  const pieces = ["word ", "a longer piece of text that wraps ", "line\n", "\n", "漢字 ", "\x1b[1mbold\x1b[m "];
  const drafts = ["", "short", "a draft that is longer than twenty columns", "two\nlines"];
  for (let round = 0; round < 200; round++) {
    const { screen, terminal, clock } = open(TRAITS, 20, 8);
    let expected = "";
    for (let step = 0; step < 30; step++) {
      const what = next();
      if (what < 0.5) {
        const piece = pieces[Math.floor(next() * pieces.length)] ?? "";
        screen.write(piece);
        expected += piece;
      } else if (what < 0.7) {
        if (!screen.inputShown && expected !== "" && !expected.endsWith("\n")) expected += "\n";
        screen.setInput(draft(drafts[Math.floor(next() * drafts.length)] ?? ""));
      } else if (what < 0.8) screen.hideInput();
      else if (what < 0.9) screen.setStatus(next() < 0.5 ? "waiting" : null);
      else clock.advance(300);
    }
    screen.hideInput();
    screen.setStatus(null);
    screen.flush();
    const reference = new VirtualTerminal(20, 8);
    reference.write(expected.replaceAll("\n", "\r\n"));
    expect(terminal.text()).toBe(reference.text());
  }
});
