/** The interactive loop in a real pseudo-terminal: keys, drafts, turns, interrupts. */
import { afterEach, describe, expect, test } from "bun:test";
import { endRepls, sent, startRepl, turn } from "./support/repl-pty.ts";

afterEach(endRepls);

describe("editing", () => {
  test("the prompt is up with the header above it, and a line is sent", async () => {
    const pty = await startRepl();
    expect(pty.screen.text()).toBe("fake 1.0\nshiro>");
    await turn(pty, "hello");
    expect(pty.screen.text()).toContain('shiro> hello\ngot "hello"\n1.2k in');
  });

  test("the prompt names the variant and a full context", async () => {
    const pty = await startRepl({ env: { FAKE_VARIANT: "deep", FAKE_SHARE: "0.95" } });
    expect(pty.screen.text()).toContain("shiro deep 95%>");
    expect(pty.raw()).toContain("\x1b[31m95%");
  });

  test("wide characters, joined emoji and combining marks are edited as one, wrapped at 20 columns, redrawn after a resize", async () => {
    const pty = await startRepl({ cols: 20 });
    pty.write("漢字🙂👨‍👩‍👧e\u0301");
    await pty.until((screen) => screen.text().endsWith("shiro> 漢字🙂👨‍👩‍👧e\u0301"));
    expect(pty.screen.cursor.column).toBe(16);
    pty.write("\x7f\x7f");
    await pty.until((screen) => screen.text().endsWith("shiro> 漢字🙂") && screen.cursor.column === 13);
    pty.write("\x1b[D".repeat(2) + "ab");
    await pty.until((screen) => screen.text().endsWith("shiro> 漢ab字🙂") && screen.cursor.column === 11);
    pty.write("\x05 and more words");
    await pty.until((screen) => screen.text().endsWith("shiro> 漢ab字🙂 and\n more words"));
    pty.resize(40, 24);
    await pty.until((screen) => screen.text().endsWith("fake 1.0\nshiro> 漢ab字🙂 and more words"));
  });

  test("a paste of thirty lines is one prompt, folded on screen; bracketed paste is on while we read and off at the end", async () => {
    const pty = await startRepl();
    expect(pty.raw()).toContain("\x1b[?2004h");
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
    pty.write(`\x1b[200~${lines.join("\r")}\x1b]52;c;x\x07\x1b[201~`);
    await pty.expect("[pasted 30 lines]");
    await turn(pty, "");
    expect(await sent(pty)).toEqual([`${lines.join("\n")}]52;c;x`]);
    pty.write("\x04");
    expect(await pty.exited).toBe(0);
    expect(pty.raw().lastIndexOf("\x1b[?2004l")).toBeGreaterThan(pty.raw().lastIndexOf("\x1b[?2004h"));
  });

  test("alt-enter, ctrl-j and a final backslash begin new lines", async () => {
    const pty = await startRepl();
    await turn(pty, "a\x1b\rb\nc\\\rd");
    expect(await sent(pty)).toEqual(["a\nb\nc\nd"]);
  });

  test("up brings back a prompt of several lines, ctrl-r finds an older one", async () => {
    const pty = await startRepl({ env: { FAKE_HISTORY: JSON.stringify(["find me", "two\nlines"]) } });
    // History is loaded behind the prompt.
    await pty.until(() => true);
    pty.write("\x1b[A");
    await pty.until((screen) => screen.text().endsWith("shiro> two\nlines"));
    pty.write("\x12find");
    await pty.until((screen) => screen.text().endsWith("(search) find: find me"));
    await turn(pty, "");
    expect(await sent(pty)).toEqual(["find me"]);
  });

  test("tab completes commands and paths, the second tab lists", async () => {
    const pty = await startRepl();
    pty.write("see @s\t");
    await pty.until((screen) => screen.text().endsWith("see @src/"));
    pty.write("\t");
    await pty.until((screen) => /@src\/loop\.ts {2}@src\/main\.ts\nshiro> see @src\/$/.test(screen.text()));
    pty.write("m\t");
    await pty.until((screen) => screen.text().endsWith("see @src/main.ts"));
    pty.write("\x15/model b\x7fal\t");
    await pty.until((screen) => screen.text().endsWith("/model alpha-"));
    // Two that come at once, as over a slow line.
    pty.write("\x15/mo\t\t");
    await pty.until((screen) => /^\/model {3}\/models\nshiro> \/model$/m.test(screen.text()));
  });

  test("ctrl-l clears the screen and keeps the draft", async () => {
    const pty = await startRepl();
    pty.write("draft\x0c");
    await pty.until((screen) => screen.cursorRow() === "shiro> draft");
    expect(pty.screen.text()).toContain("fake 1.0");
  });

  test("ctrl-x ctrl-e edits the draft in the user's editor", async () => {
    const pty = await startRepl({ env: { EDITOR: "sed -i -e s/draft/edited/" } });
    pty.write("my draft\x18\x05");
    await pty.until((screen) => screen.text().endsWith("shiro> my edited"));
    await turn(pty, "");
    expect(await sent(pty)).toEqual(["my edited"]);
  });
});

describe("turns", () => {
  test("a streamed answer is appended once, for at most 1.15 bytes a visible byte, in known sequences only", async () => {
    const pty = await startRepl();
    const before = pty.rawBytes();
    pty.write("long 400\r");
    await pty.expect("Line 400");
    await pty.expect("> ");
    const visible = Buffer.byteLength(pty.screen.text());
    expect(pty.screen.text().match(/Line \d+ says/g)?.length).toBe(400);
    expect((pty.rawBytes() - before) / visible).toBeLessThanOrEqual(1.15);
  });

  test("typed during a turn: the line appears below whole lines of output, enter queues, and the queue is worked off", async () => {
    const pty = await startRepl();
    pty.write("slow\r");
    await pty.expect("piece 1");
    pty.write("next one");
    await pty.until((screen) => screen.cursorRow() === "shiro> next one");
    const above = pty.screen.lines.length;
    await pty.until((screen) => screen.lines.length > above + 2 && screen.cursorRow() === "shiro> next one");
    pty.write("\r");
    await pty.expect("queued (1): next one");
    pty.write("/queue\r");
    await pty.expect("1. next one");
    pty.write("draft");
    await pty.until((screen) => screen.cursorRow() === "shiro (1 queued)> draft");
    pty.write("\x1b");
    await pty.expect("dropped 1 queued prompt; up brings them back");
    await pty.expect("interrupted");
    // esc clears the queue; the draft survives.
    await pty.until((screen) => screen.cursorRow() === "shiro> draft");
    await turn(pty, " sent");
    expect(await sent(pty)).toEqual(["slow", "draft sent"]);
  });

  test("a line that was ended for the input is not ended again: no empty line comes of it", async () => {
    const pty = await startRepl();
    pty.write("slow\r");
    await pty.expect("piece 1");
    pty.write("x");
    await pty.until((screen) => screen.cursorRow() === "shiro> x");
    pty.write("\r");
    await pty.expect("queued (1): x");
    pty.write("\x1b");
    await pty.until((screen) => screen.cursorRow() === "shiro>");
    expect(pty.screen.text()).not.toContain("\n\n");
  });

  test("a queued prompt is sent when the turn ends by itself, and is seen in the transcript", async () => {
    const pty = await startRepl();
    pty.write("bash echo ready; sleep 0.4\r");
    await pty.expect("ready");
    pty.write("after\r");
    await pty.expect("queued (1): after");
    await pty.expect('got "after"');
    expect(pty.screen.text()).toContain('> after\ngot "after"');
  });

  test("esc ends a turn that streams, and one that is silent", async () => {
    const pty = await startRepl();
    for (const prompt of ["slow", "hang"]) {
      pty.write(`${prompt}\r`);
      await pty.until((screen) => prompt === "hang" || screen.text().includes("piece 1"));
      await pty.until((screen) => screen.cursorRow() !== `shiro> ${prompt}`);
      pty.write("\x1b");
      await pty.expect("interrupted");
      await pty.expect("> ");
    }
  });

  test("live output is cut after twenty lines, /last has all of it", async () => {
    const pty = await startRepl();
    await turn(pty, "bash seq 1 50");
    expect(pty.screen.text()).toContain("  20\n  … 30 more lines (/last shows all)\n  ok");
    pty.write("/last\r");
    await pty.expect("\n50\r");
  });

  test("ctrl-c kills the running command and the turn goes on; with none running it ends the turn", async () => {
    const pty = await startRepl();
    pty.write("bash echo up; exec sleep 300\r");
    await pty.expect("up\x1b");
    pty.write("\x03");
    await pty.expect("and the turn goes on");
    await pty.expect("> ");
    pty.write("slow\r");
    await pty.expect("piece 1");
    pty.write("\x03");
    await pty.expect("interrupted");
  });

  test("ctrl-r in a turn shows the reasoning, safely", async () => {
    const pty = await startRepl();
    pty.write("think\r");
    await pty.expect("thinking");
    pty.write("\x12");
    await pty.expect("first I think␛[2J");
  });

  test("a bug in a turn is one line, and the loop goes on", async () => {
    const pty = await startRepl();
    pty.write("fail\r");
    await pty.expect("error: a bug");
    await pty.expect("> ");
    await turn(pty, "still here");
  });

  test("a prompt of the command line is shown before its answer", async () => {
    const pty = await startRepl({ env: { FAKE_FIRST: "from the shell" } });
    await pty.until((screen) => screen.text().includes('got "from the shell"\n'));
    expect(pty.screen.text()).toContain('> from the shell\ngot "from the shell"\n');
  });

  test("a command that takes long shows itself beside the indicator, and esc ends it without an error", async () => {
    const pty = await startRepl();
    pty.write("/wait\r");
    await pty.expect("⠋ /wait");
    pty.write("\x1b");
    await pty.expect("interrupted");
    await pty.until((screen) => screen.cursorRow() === "shiro>");
    expect(pty.screen.text()).not.toContain("error");
    expect(pty.screen.text()).not.toContain("⠋");
  });

  test("! runs a command and shows all of it, # remembers, an unknown command names the nearest", async () => {
    const pty = await startRepl();
    pty.write("!seq 1 30; exit 3\r");
    await pty.expect("30\r\n");
    await pty.expect("exit code 3");
    pty.write("#use tabs\r");
    await pty.expect("remembered: use tabs");
    pty.write("/modle\r");
    await pty.expect("Did you mean /model?");
    pty.write("/usr/bin/x is missing\r");
    await pty.expect('got "/usr/bin/x is missing"');
  });
});

describe("slow lines", () => {
  test("over SSH a silent turn costs no byte until something is said", async () => {
    const pty = await startRepl({ env: { SSH_CONNECTION: "192.0.2.1 1 192.0.2.2 22" } });
    pty.write("bash exec sleep 0.7\r");
    await pty.expect(/●[^\n]*\n/);
    expect(await pty.expect(/^[^]*?ok \(/)).toBe("\x1b[2m  ok (");
    expect(pty.raw()).not.toContain("⠋");
  });
});
