/** The interactive loop in a real pseudo-terminal: keys, drafts, turns, interrupts, approvals, hang-ups. */
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPty, type Pty, type PtyOptions } from "./support/pty.ts";

const FAKE = join(import.meta.dir, "support", "fake-repl.ts");
const opened: Pty[] = [];
const directories: string[] = [];

afterEach(() => {
  for (const pty of opened.splice(0)) pty.kill("SIGKILL");
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

async function start(options: PtyOptions = {}, ...args: string[]): Promise<Pty> {
  const pty = openPty([process.execPath, FAKE, ...args], options);
  opened.push(pty);
  await pty.expect("> ", 10_000);
  return pty;
}

function temp(): string {
  const directory = mkdtempSync(join(tmpdir(), "shiro-repl-"));
  directories.push(directory);
  return directory;
}

/** Sends a prompt and waits for the end of its turn: the figures, then the prompt. */
async function turn(pty: Pty, text: string): Promise<void> {
  pty.write(`${text}\r`);
  await pty.expect(/ in \([^\n]*\n/);
  await pty.expect("> ");
}

/** What the model was sent, as the host tells it. */
async function sent(pty: Pty): Promise<string[]> {
  pty.write("/sent\r");
  const line = await pty.expect(/\[".*\](?=\r)/);
  await pty.expect("> ");
  return JSON.parse(line);
}

describe("editing", () => {
  test("the prompt is up with the header above it, and a line is sent", async () => {
    const pty = await start();
    expect(pty.screen.text()).toBe("fake 1.0\nshiro>");
    await turn(pty, "hello");
    expect(pty.screen.text()).toContain('shiro> hello\ngot "hello"\n1.2k in');
  });

  test("the prompt names the variant and a full context", async () => {
    const pty = await start({ env: { FAKE_VARIANT: "deep", FAKE_SHARE: "0.95" } });
    expect(pty.screen.text()).toContain("shiro deep 95%>");
    expect(pty.raw()).toContain("\x1b[31m95%");
  });

  test("wide characters, joined emoji and combining marks are edited as one, wrapped at 20 columns, redrawn after a resize", async () => {
    const pty = await start({ cols: 20 });
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
    const pty = await start();
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
    const pty = await start();
    await turn(pty, "a\x1b\rb\nc\\\rd");
    expect(await sent(pty)).toEqual(["a\nb\nc\nd"]);
  });

  test("up brings back a prompt of several lines, ctrl-r finds an older one", async () => {
    const pty = await start({ env: { FAKE_HISTORY: JSON.stringify(["find me", "two\nlines"]) } });
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
    const pty = await start();
    pty.write("see @s\t");
    await pty.until((screen) => screen.text().endsWith("see @src/"));
    pty.write("\t");
    await pty.until((screen) => /@src\/loop\.ts {2}@src\/main\.ts\nshiro> see @src\/$/.test(screen.text()));
    pty.write("m\t");
    await pty.until((screen) => screen.text().endsWith("see @src/main.ts"));
    pty.write("\x15/model b\x7fal\t");
    await pty.until((screen) => screen.text().endsWith("/model alpha-"));
  });

  test("ctrl-l clears the screen and keeps the draft", async () => {
    const pty = await start();
    pty.write("draft\x0c");
    await pty.until((screen) => screen.cursorRow() === "shiro> draft");
    expect(pty.screen.text()).toContain("fake 1.0");
  });

  test("ctrl-x ctrl-e edits the draft in the user's editor", async () => {
    const pty = await start({ env: { EDITOR: "sed -i -e s/draft/edited/" } });
    pty.write("my draft\x18\x05");
    await pty.until((screen) => screen.text().endsWith("shiro> my edited"));
    await turn(pty, "");
    expect(await sent(pty)).toEqual(["my edited"]);
  });
});

describe("turns", () => {
  test("a streamed answer is appended once, for at most 1.15 bytes a visible byte, in known sequences only", async () => {
    const pty = await start();
    const before = pty.rawBytes();
    pty.write("long 400\r");
    await pty.expect("Line 400");
    await pty.expect("> ");
    const visible = Buffer.byteLength(pty.screen.text());
    expect(pty.screen.text().match(/Line \d+ says/g)?.length).toBe(400);
    expect((pty.rawBytes() - before) / visible).toBeLessThanOrEqual(1.15);
  });

  test("typed during a turn: the line appears below whole lines of output, enter queues, and the queue is worked off", async () => {
    const pty = await start();
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
    const pty = await start();
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
    const pty = await start();
    pty.write("bash echo ready; sleep 0.4\r");
    await pty.expect("ready");
    pty.write("after\r");
    await pty.expect("queued (1): after");
    await pty.expect('got "after"');
    expect(pty.screen.text()).toContain('> after\ngot "after"');
  });

  test("esc ends a turn that streams, and one that is silent", async () => {
    const pty = await start();
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
    const pty = await start();
    await turn(pty, "bash seq 1 50");
    expect(pty.screen.text()).toContain("  20\n  … 30 more lines (/last shows all)\n  ok");
    pty.write("/last\r");
    await pty.expect("\n50\r");
  });

  test("ctrl-c kills the running command and the turn goes on; with none running it ends the turn", async () => {
    const pty = await start();
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
    const pty = await start();
    pty.write("think\r");
    await pty.expect("thinking");
    pty.write("\x12");
    await pty.expect("first I think␛[2J");
  });

  test("a bug in a turn is one line, and the loop goes on", async () => {
    const pty = await start();
    pty.write("fail\r");
    await pty.expect("error: a bug");
    await pty.expect("> ");
    await turn(pty, "still here");
  });

  test("a prompt of the command line is shown before its answer", async () => {
    const pty = await start({ env: { FAKE_FIRST: "from the shell" } });
    await pty.until((screen) => screen.text().includes('got "from the shell"\n'));
    expect(pty.screen.text()).toContain('> from the shell\ngot "from the shell"\n');
  });

  test("a command that takes long shows itself beside the indicator, and esc ends it without an error", async () => {
    const pty = await start();
    pty.write("/wait\r");
    await pty.expect("⠋ /wait");
    pty.write("\x1b");
    await pty.expect("interrupted");
    await pty.until((screen) => screen.cursorRow() === "shiro>");
    expect(pty.screen.text()).not.toContain("error");
    expect(pty.screen.text()).not.toContain("⠋");
  });

  test("! runs a command and shows all of it, # remembers, an unknown command names the nearest", async () => {
    const pty = await start();
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

describe("dialogs", () => {
  test("at an approval y and a answer, ctrl-d and a paste deny", async () => {
    const pty = await start();
    const answers = { y: "once", a: "always", "\x04": "deny", "\x1b[200~y\x1b[201~": "deny" };
    for (const [key, decision] of Object.entries(answers)) {
      pty.write('approve "npm test"\r');
      await pty.expect("view whole ");
      pty.write(key);
      await pty.expect(`decision {"decision":"${decision}"}`);
      await pty.expect("shiro\x1b[22m> ");
    }
  });

  test("f denies with a word, v shows the whole", async () => {
    const pty = await start();
    pty.write(`approve ${JSON.stringify(Array.from({ length: 40 }, (_, line) => `echo ${line}`).join("\n"))}\r`);
    await pty.expect("32 more lines, v to view");
    await pty.expect("view whole ");
    pty.write("v");
    await pty.expect("echo 39");
    await pty.expect("view whole ");
    pty.write("f");
    await pty.expect("why not> ");
    pty.write("use bun\r");
    await pty.expect('decision {"decision":"deny","message":"use bun"}');
  });

  test("what was typed before the question could be seen doesn't answer it, and the draft survives it", async () => {
    const pty = await start();
    pty.write('approve "npm test"\ry');
    await pty.expect("view whole ");
    pty.write("n");
    await pty.expect('decision {"decision":"deny"}');
    await pty.until((screen) => screen.cursorRow() === "shiro> y");
  });

  test("what waited unread in the driver when the question came doesn't answer it either", async () => {
    const pty = await start();
    pty.write('busy "npm test"\r');
    await pty.expect("not reading");
    pty.write("y");
    await pty.expect("view whole ");
    pty.write("n");
    await pty.expect('decision {"decision":"deny"}');
    // It went where typing goes: into the draft.
    await pty.until((screen) => screen.cursorRow() === "shiro> y");
  });

  test("the block is printed once and nothing of the command acts on the terminal", async () => {
    const pty = await start();
    pty.write(`approve ${JSON.stringify("ls #\r\x1b[2Kharmless")}\r`);
    await pty.expect("view whole ");
    pty.write("x\x1b[Ay");
    pty.write("y");
    await pty.expect("decision");
    expect(pty.screen.text().match(/allow bash\?/g)?.length).toBe(1);
    expect(pty.screen.text()).toContain("│ ls #\\r\\x1b[2Kharmless");
  });

  test("a list takes a number or a filter, a question takes text, a secret leaves no trace", async () => {
    const pty = await start();
    pty.write("/pick\r");
    await pty.expect("filter> ");
    pty.write("gre\r");
    await pty.expect("3) grey");
    await pty.expect("filter> ");
    pty.write("2\r");
    await pty.expect("picked 2");
    // Answers typed faster than they are drawn stay to be read, too.
    expect(pty.screen.text()).toContain("filter> gre\n");
    expect(pty.screen.text()).toContain("filter> 2\npicked 2");
    await pty.expect("shiro\x1b[22m> ");
    pty.write("question\r");
    await pty.expect("text> ");
    pty.write("purple\r");
    await pty.expect("answer: purple");
    await pty.expect("shiro\x1b[22m> ");
    pty.write("/key\r");
    await pty.expect("(not shown) ");
    pty.write("hunter2\r");
    await pty.expect("secret of 7");
    expect(pty.raw()).not.toContain("hunter2");
  });
});

describe("slow lines", () => {
  test("over SSH a silent turn costs no byte until something is said", async () => {
    const pty = await start({ env: { SSH_CONNECTION: "192.0.2.1 1 192.0.2.2 22" } });
    pty.write("bash exec sleep 0.7\r");
    await pty.expect(/●[^\n]*\n/);
    expect(await pty.expect(/^[^]*?ok \(/)).toBe("\x1b[2m  ok (");
    expect(pty.raw()).not.toContain("⠋");
  });
});

describe("leaving", () => {
  test("ctrl-d on an empty line exits 0 with the farewell", async () => {
    const pty = await start();
    pty.write("\x04");
    expect(await pty.exited).toBe(0);
    expect(pty.screen.text()).toEndWith("resume with: fake -r 1");
  });

  test("ctrl-c clears a draft; twice on an empty line exits 130", async () => {
    const pty = await start();
    pty.write("draft\x03");
    await pty.until((screen) => screen.text().endsWith("shiro> draft\nshiro>"));
    pty.write("\x03");
    await pty.expect("again");
    pty.write("x\x7f\x03");
    await pty.expect("again");
    pty.write("\x03");
    expect(await pty.exited).toBe(130);
  });

  test.each(["at the prompt", "in a turn"])(
    "a terminal that goes away %s is saved and ends with 129",
    async (when) => {
      const closed = join(temp(), "closed");
      const pty = await start({ env: { FAKE_CLOSED: closed } });
      if (when === "in a turn") {
        pty.write("bash echo up; exec sleep 300\r");
        await pty.expect("up\x1b");
      }
      pty.close();
      expect(await pty.exited).toBe(129);
      expect(existsSync(closed)).toBe(true);
    },
    // The command sleeps for much longer: a turn that waits for it doesn't end in time.
    60_000,
  );

  test.each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s saves, restores the terminal and exits %d", async (signal, code) => {
    const pty = await start();
    pty.kill(signal);
    expect(await pty.exited).toBe(code);
    expect(pty.raw()).toEndWith("\x1b[?2004l");
  });

  test("ctrl-z stops with the terminal restored, fg brings the draft back", async () => {
    const pty = openPty(["bash", "--norc", "--noprofile", "-i"], { env: { PS1: "$ ", HOME: temp() } });
    opened.push(pty);
    await pty.expect("$ ");
    pty.write(`${process.execPath} ${FAKE}\r`);
    await pty.expect("shiro\x1b[22m> ", 10_000);
    pty.write("draft\x1a");
    await pty.expect("Stopped");
    await pty.expect("$ ");
    expect(pty.raw()).toContain("\x1b[?2004l");
    pty.write("stty -a | tr ' ' '\\n' | grep -E '^-?(icanon|echo);?$'\r");
    await pty.expect(/icanon\r\necho\r/);
    pty.write("fg\r");
    await pty.until((screen) => screen.cursorRow() === "shiro> draft");
    pty.write(" kept\r");
    await pty.expect('got "draft kept"');
  });
});

describe("plain mode", () => {
  test.each([
    ["no TERM", { TERM: "" }],
    ["ACCESSIBLE", { ACCESSIBLE: "1" }],
  ])("with %s there is no escape", async (_, env) => {
    const pty = await start({ env });
    pty.write("hello\n");
    await pty.expect('got "hello"');
    expect(pty.raw().includes("\x1b")).toBe(false);
  });

  test("with TERM=dumb there is no escape, no decoration outside ASCII, and every state is a word", async () => {
    const pty = await start({ env: { TERM: "dumb" } });
    pty.write("\n");
    await pty.expect("> ");
    pty.write("bash seq 1 30\n");
    await pty.expect("turn goes on");
    await pty.expect("> ");
    pty.write('approve "npm test"\n');
    await pty.expect("view whole: ");
    pty.write("y\n");
    await pty.expect("once");
    await pty.expect("> ");
    pty.write('"""\none\n\ntwo\n"""\n');
    await pty.expect('got "one\\n\\ntwo"');
    await pty.expect("> ");
    pty.write("back\\\nslash\n");
    await pty.expect('got "back\\nslash"');
    await pty.expect("> ");
    pty.write("\x04");
    expect(await pty.exited).toBe(0);
    expect(pty.raw().includes("\x1b")).toBe(false);
    expect(/[^\x00-\x7f]/.test(pty.raw())).toBe(false);
    expect(pty.screen.text()).toStartWith("fake 1.0\nshiro>\nshiro> bash seq 1 30\ntool bash seq 1 30\n  1\n");
    expect(pty.screen.text()).toEndWith("shiro>\nresume with: fake -r 1");
  });

  test("a secret isn't echoed, and echo is back afterwards", async () => {
    const pty = await start({ env: { TERM: "dumb" } });
    pty.write("/key\n");
    await pty.expect("(not shown) ");
    pty.write("hunter2x\x7f\r");
    await pty.expect("secret of 7");
    expect(pty.raw()).not.toContain("hunter2");
    await pty.expect("> ");
    pty.write("visible\n");
    await pty.expect("visible");
    await pty.expect('got "visible"');
  });

  test("ctrl-c ends the turn, and twice at the prompt leaves with 130", async () => {
    const pty = await start({ env: { TERM: "dumb" } });
    pty.write("slow\n");
    await pty.expect("piece 1");
    pty.write("\x03");
    await pty.expect("interrupted");
    await pty.expect("> ");
    pty.write("\x03");
    await pty.expect("again");
    pty.write("\x03");
    expect(await pty.exited).toBe(130);
  });

  test("prompts piped in are answered in order, and the end of the pipe is the end", async () => {
    const child = Bun.spawn([process.execPath, FAKE, "--plain"], {
      stdin: new Blob(['one\ntwo \\\nthree\napprove "npm test"\ny\n/sent\n']),
      stdout: "pipe",
      env: { PATH: process.env.PATH ?? "", TERM: "xterm" },
    });
    const text = await new Response(child.stdout).text();
    expect(await child.exited).toBe(0);
    expect(text).toContain('got "one"\n');
    // A line that was there before the question is a prompt, never its answer.
    expect(text).toContain('decision {"decision":"deny"}');
    expect(text).toContain('["one","two \\nthree","approve \\"npm test\\"","y"]');
    expect(text.includes("\x1b")).toBe(false);
  });

  test("in a locale that isn't UTF-8 decoration is ASCII, colours stay", async () => {
    const pty = await start({ env: { LANG: "C", LC_ALL: "C" } });
    await turn(pty, "bash seq 1 30");
    expect(/[^\x00-\x7f]/.test(pty.raw())).toBe(false);
    expect(pty.raw()).toContain("\x1b[2m");
  });

  test("NO_COLOR means no colour, and cursor keys still work", async () => {
    const pty = await start({ env: { NO_COLOR: "1" } });
    await turn(pty, "ab\x1b[Dx");
    expect(await sent(pty)).toEqual(["axb"]);
    expect(/\x1b\[[\d;]*m/.test(pty.raw())).toBe(false);
  });
});
