/** The built program at a terminal: nothing it shows acts on the terminal, plain mode reads as text, and signals leave everything in order. */
import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { type Bench, BINARY, closeBenches, openBench } from "./support/binary.ts";
import type { Received, Reply } from "./support/model-server.ts";
import { openPty, type Pty, type PtyOptions } from "./support/pty.ts";

const opened: Pty[] = [];
afterAll(async () => {
  for (const pty of opened) pty.close();
  await closeBenches();
});

/** Without the sandbox: what is looked at here is the screen. */
const CONFIG = { sandbox: "off" };

/** Clipboard, title, clearing, colour, alternate screen, one-byte CSI, cursor, bidi, lone CR. */
const HOSTILE = "\x1b]52;c;eA==\x07\x1b]0;t\x1b\\\x1b[2J\x1b[31m\x1b[?1049h\x9b3A\x1b[H\u202e\rback";
/** What shiro itself may write: styles, erasing, moving within the input, bracketed paste. */
const OWN = /\x1b\[(?:[\d;]*m|K|J|\d+[ABCD]|\?2004[hl])/g;

const PROMPT = "shiro\x1b[22m> ";

const call = (name: string, input: Record<string, string>): Reply => ({ calls: [{ name, input }] });

/** Answers the prompt that was typed last with its list of replies, one a step. */
function answering(replies: Record<string, Reply[]>) {
  return ({ body }: Received): Reply => {
    const messages = JSON.parse(JSON.stringify(body.messages ?? []));
    const at = messages.findLastIndex((message: { role: string }) => message.role === "user");
    const typed = JSON.stringify(messages[at]);
    // A prompt that failed goes out again with the next.
    const [word = ""] = Object.keys(replies).toSorted(
      (one, other) => typed.lastIndexOf(other) - typed.lastIndexOf(one),
    );
    if (!typed.includes(word)) return { text: "Done." };
    const steps = messages.slice(at).filter((message: { role: string }) => message.role === "assistant").length;
    return replies[word]?.[steps] ?? { text: "Done." };
  };
}

async function open(at: Bench, options: PtyOptions = {}, shell?: string): Promise<Pty> {
  const all = { ...at.env, SHIRO_HOME: at.home, HOME: at.home, ...options.env };
  const env = Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const argv = shell === undefined ? [BINARY] : ["sh", "-c", shell, "sh", BINARY];
  const pty = openPty(argv, { cwd: at.dir, cols: 100, rows: 60, ...options, env });
  opened.push(pty);
  await pty.expect("> ", 15_000);
  return pty;
}

/** Types a line and waits for what comes of it. */
async function type(pty: Pty, line: string, until: string | RegExp): Promise<string> {
  pty.write(line);
  return pty.expect(until, 15_000);
}

test("a model, a command, a file name, a diff, an error or a title can't act on the terminal; an answer costs few bytes", async () => {
  const file = `a${"\x1b[2J\u202e"}b.txt`;
  const long = "A line that says **something** about `code` and goes on for a while, as answers do.\n".repeat(500);
  const at = await openBench(
    answering({
      "say it": [{ text: `text ${HOSTILE} end` }],
      "list it": [call("list_dir", { path: "." }), call("read_file", { path: `no${HOSTILE}such` })],
      "run it": [call("bash", { command: "cat hostile; false" })],
      "edit it": [call("write_file", { path: "new.txt", content: `one ${HOSTILE} two\n` })],
      "fail now": [{ status: 400, json: { error: { message: `bad ${HOSTILE}`, type: "x", code: HOSTILE } } }],
      "be long": [{ text: long }],
    }),
    { config: CONFIG, files: { hostile: HOSTILE } },
  );
  writeFileSync(at.path(file), "x");
  await at.run(["-p", `title ${HOSTILE}`]);
  const pty = await open(at);
  await type(pty, "say it\r", / in \([^\n]*\n/);
  await type(pty, "list it\r", / in \([^\n]*\n/);
  await type(pty, "run it\r", "v view whole");
  await type(pty, "y", / in \([^\n]*\n/);
  await type(pty, "edit it\r", "v view whole");
  await type(pty, "v", "v view whole");
  await type(pty, "y", / in \([^\n]*\n/);
  await type(pty, "fail now\r", "error (");
  await type(pty, "/last\r", PROMPT);
  await type(pty, `!printf '${"\\033[2J\\033]0;x\\007"}'\r`, PROMPT);
  await type(pty, "see @a\t", "@a␛[2J<U+202E>b.txt ");
  await type(pty, "\x15/resume\r", "filter> ");
  expect(pty.screen.text()).toMatch(/2\) .* title\s+␛\]52;c;eA==␇␛\]0;t␛\\␛\[2J␛\[31m/);
  await type(pty, "\x1b", PROMPT);
  const before = { bytes: pty.rawBytes(), at: pty.raw().length };
  await type(pty, "be long\r", / in \([^\n]*\n/);
  const answer = pty.raw().slice(before.at).replace(OWN, "").replaceAll("\r", "");
  expect((pty.rawBytes() - before.bytes) / Buffer.byteLength(answer)).toBeLessThanOrEqual(1.15);
  await type(pty, "/exit\r", "to go on");
  await pty.exited;
  const rest = pty.raw().replace(OWN, "");
  expect(rest.match(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]/g)).toBeNull();
  // Red is a colour of shiro's too, but not there.
  expect(pty.raw()).not.toContain("\x1b[31m\x1b[?1049h");
  expect(pty.screen.text()).toContain("text ␛]52;c;eA==␇");
}, 60_000);

test("in plain mode a session is lines of words, whatever happens in it", async () => {
  const todos = [
    { content: "look", status: "done" },
    { content: "change", status: "in_progress" },
  ];
  const at = await openBench(
    answering({
      plan: [{ calls: [{ name: "todo_write", input: { todos } }] }],
      "run it": [call("bash", { command: "ls nowhere; exit 3" })],
      "edit it": [
        call("read_file", { path: "a.txt" }),
        call("edit_file", { path: "a.txt", oldString: "two", newString: "zwei" }),
      ],
    }),
    { config: CONFIG, files: { "a.txt": "one\ntwo\n" } },
  );
  const pty = await open(at, { env: { TERM: "dumb", LC_ALL: "C.UTF-8" }, cols: 200 });
  await type(pty, "plan\n", "> ");
  await type(pty, "run it\n", "view whole: ");
  await type(pty, "y\n", "> ");
  await type(pty, "edit it\n", "view whole: ");
  await type(pty, "f\n", "why not> ");
  await type(pty, "in English\n", "> ");
  await type(pty, "/think\n", "filter (enter: 3)> ");
  await type(pty, "low\n", "shiro> ");
  await type(pty, "/cost\n", "not a bill.");
  await type(pty, "/exit\n", "to go on");
  expect(await pty.exited).toBe(0);
  expect(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\uffff]/.test(pty.raw())).toBe(false);
  const figures = /^[\d.]+k? in .*$/gm;
  const said = pty.screen
    .text()
    .replace(figures, "FIGURES")
    .replace(/\(\d[\d.]* m?s\)/g, "(TIME)");
  expect(said.slice(said.indexOf("shiro> plan"), said.indexOf("shiro> /cost"))).toBe(
    `shiro> plan
tool todo_write
  ok (TIME)
tasks: 1 of 2 done
  done: look
  in progress: change
Done.
FIGURES
shiro> run it
allow bash?
  | ls nowhere; exit 3
rule: bash "*" (default)
y once, a always ls *, n deny, f deny with a word, v view whole: y
allowed once
tool bash ls nowhere; exit 3
  ls: cannot access 'nowhere': No such file or directory
  exit code 3 (TIME)
Done.
FIGURES
shiro> edit it
tool read_file a.txt
  ok (TIME)
allow edit_file?
  | a.txt
  --- a/a.txt
  +++ b/a.txt
  @@ -1,2 +1,2 @@
   one
  -two
  +zwei
rule: edit_file "*" (default)
y once, a always ./*, n deny, f deny with a word, v view whole: f
why not> in English
denied
tool edit_file a.txt
  denied (user)
Done.
FIGURES
shiro> /think
How hard to think?
  1) off
  2) low
  3) medium
  4) high
  5) max
number, name or filter (enter: 3)> low
Thinking: low
`,
  );
}, 60_000);

test.each([
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)(
  "%s in the middle of a command: it is ended, the session is saved, the terminal is as it was",
  async (signal, code) => {
    const at = await openBench(answering({ "run it": [call("bash", { command: "echo $$ up; exec sleep 300" })] }), {
      config: CONFIG,
    });
    const pty = await open(at, { cols: 120 }, 'stty -a; "$@"; echo "code $?"; stty -a');
    await type(pty, "run it\r", "v view whole");
    await type(pty, "y", "allowed once");
    const pid = Number(/(\d+) up/.exec(await pty.expect(/\d+ up/))?.[1]);
    const shiro = Number((await Bun.$`ps -o pid= --ppid ${pty.pid}`.text()).trim());
    process.kill(shiro, signal);
    await pty.expect(`code ${code}`, 15_000);
    await pty.exited;
    const [before, after] = pty.screen.text().split(/^shiro \d[^]*^code \d+$/m);
    expect(before?.trim()).toContain("speed");
    expect(after?.trim()).toBe(before?.trim());
    expect(() => process.kill(pid, 0)).toThrow();
    const { stdout } = await at.run(["-c", "-p", "go on"]);
    expect(stdout).toContain("Done.");
    expect(at.server.requests.at(-1)?.text).toContain("run it");
    expect(at.server.faults).toEqual([]);
  },
  60_000,
);
