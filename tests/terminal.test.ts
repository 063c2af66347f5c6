/** The terminal's owner: what it does to the terminal, and that it always undoes it. With streams that only record. */
import { EventEmitter } from "node:events";
import { expect, test } from "bun:test";
import { openTerminal, type TerminalEvent } from "../src/terminal.ts";
import type { TerminalIo } from "../src/terminal-io.ts";
import { terminalTraits } from "../src/terminal-traits.ts";

const TTY = { stdinIsTty: true, stdoutIsTty: true, platform: "linux" };
const TRAITS = terminalTraits({ TERM: "xterm", LANG: "C.UTF-8" }, TTY);
const PLAIN = terminalTraits({ TERM: "dumb" }, TTY);

class Stream extends EventEmitter {
  isTTY = true;
  fd = 0;
  columns = 80;
  rows = 24;
  writableLength = 0;
  log: string[];
  constructor(log: string[]) {
    super();
    this.log = log;
  }
  setRawMode(raw: boolean) {
    this.log.push(raw ? "raw" : "cooked");
  }
  write(text: string) {
    this.log.push(text);
  }
  resume() {}
  pause() {}
}

class Host extends EventEmitter {
  platform = "linux";
  kills: string[] = [];
  kill(pid: number, signal: string) {
    this.kills.push(`${pid} ${signal}`);
  }
}

function open(traits = TRAITS) {
  const log: string[] = [];
  const stdin = new Stream(log);
  const stdout = new Stream(log);
  const host = new Host();
  const timers: (() => void)[] = [];
  const time = { now: 0 };
  const io: TerminalIo = {
    stdin,
    stdout,
    process: host,
    clock: {
      now: () => time.now,
      after(_, run) {
        timers.push(run);
        return () => void timers.splice(timers.indexOf(run), 1);
      },
      every: () => () => undefined,
    },
  };
  const terminal = openTerminal(io, traits);
  const events: TerminalEvent[] = [];
  const listen = () => terminal.onEvent((event) => events.push(event));
  const runTimers = () => {
    for (const run of timers.splice(0)) run();
  };
  return { terminal, stdin, stdout, host, log, events, listen, runTimers, time };
}

test("it enters raw mode and bracketed paste, and leaves both when closed, once", () => {
  const { terminal, log } = open();
  terminal.close();
  terminal.close();
  expect(log).toEqual(["raw", "\x1b[?2004h", "\x1b[?2004l", "cooked"]);
});

test("the end of the process restores the terminal whatever ended it", () => {
  const { host, log } = open();
  host.emit("exit");
  expect(log.slice(2)).toEqual(["\x1b[?2004l", "cooked"]);
});

test("in plain mode it writes nothing of its own and leaves the terminal's modes alone", () => {
  const { terminal, log } = open(PLAIN);
  terminal.suspend();
  terminal.close();
  expect(log).toEqual([]);
});

test("keys that came before anybody listened are handed over", () => {
  const { stdin, events, listen } = open();
  stdin.emit("data", new TextEncoder().encode("ab"));
  listen();
  expect(events).toEqual([{ type: "keys", keys: [{ type: "text", text: "ab" }] }]);
});

test("a message typed before the terminal was ours is sent; later a line feed is ctrl-j", () => {
  const { stdin, events, listen, time } = open();
  listen();
  stdin.emit("data", new TextEncoder().encode("hi\n"));
  time.now = 1000;
  stdin.emit("data", new TextEncoder().encode("\n"));
  expect(events).toEqual([
    {
      type: "keys",
      keys: [
        { type: "text", text: "hi" },
        { type: "key", id: "enter" },
      ],
    },
    { type: "keys", keys: [{ type: "key", id: "ctrl-j" }] },
  ]);
});

test("a lone ESC is the escape key once its time is over", () => {
  const { stdin, events, listen, runTimers } = open();
  listen();
  stdin.emit("data", "\x1b");
  expect(events).toEqual([]);
  runTimers();
  expect(events).toEqual([{ type: "keys", keys: [{ type: "key", id: "escape" }] }]);
});

test("the end of input in raw mode, and a read that fails, are a hang-up, told once", () => {
  const { stdin, events, listen, terminal, log } = open();
  listen();
  stdin.emit("error", Object.assign(new Error("EIO"), { code: "EIO" }));
  stdin.emit("end");
  expect(events).toEqual([{ type: "end", hangup: true }]);
  const before = log.length;
  terminal.screen.write("into the void");
  terminal.screen.flush();
  terminal.close();
  expect(log.length).toBe(before);
});

test("a write that fails is a hang-up too", () => {
  const { stdout, events, listen } = open();
  listen();
  stdout.emit("error", Object.assign(new Error("EIO"), { code: "EIO" }));
  expect(events).toEqual([{ type: "end", hangup: true }]);
});

test("the end of a pipe is the end of input, its last line included, and output goes on", () => {
  const { stdin, events, listen, terminal, log } = open(PLAIN);
  stdin.isTTY = false;
  listen();
  stdin.emit("data", "one\nlast");
  stdin.emit("end");
  expect(events).toEqual([
    { type: "line", text: "one" },
    { type: "line", text: "last" },
    { type: "end", hangup: false },
  ]);
  terminal.screen.write("answer");
  terminal.screen.flush();
  expect(log).toEqual(["answer"]);
});

test("a size of nothing means 80 by 24", () => {
  const { terminal, stdout } = open();
  stdout.columns = 0;
  stdout.rows = 0;
  expect(terminal.size()).toEqual({ columns: 80, rows: 24 });
});

test("ctrl-z stops the whole job, cooked; it comes back raw, by the signal or without job control by itself", () => {
  for (const how of ["signal", "timer"]) {
    const { terminal, host, log, runTimers } = open();
    terminal.suspend();
    expect(host.kills).toEqual(["0 SIGTSTP"]);
    expect(log.slice(-2)).toEqual(["\x1b[?2004l", "cooked"]);
    if (how === "signal") host.emit("SIGCONT");
    else runTimers();
    expect(log.slice(4)).toEqual(["raw", "\x1b[?2004h"]);
  }
});

test("continued after somebody else stopped it, raw mode is set again", () => {
  const { host, log } = open();
  host.emit("SIGCONT");
  expect(log.slice(2)).toEqual(["cooked", "raw", "\x1b[?2004h"]);
});

test("while an editor has the terminal, keys and ctrl-c are the editor's", async () => {
  const { terminal, stdin, host, events, listen, log } = open();
  listen();
  await terminal.lend(async () => {
    stdin.emit("data", "for the editor");
    host.emit("SIGINT");
  });
  expect(events).toEqual([]);
  expect(log.slice(2)).toEqual(["\x1b[?2004l", "cooked", "raw", "\x1b[?2004h"]);
  host.emit("SIGINT");
  expect(events).toEqual([{ type: "interrupt" }]);
});

test("what is written meanwhile waits, and so does who writes much", async () => {
  const { terminal, log } = open();
  let drained = false;
  await terminal.lend(async () => {
    terminal.screen.write("streams on\n");
    terminal.screen.flush();
    void terminal.drained().then(() => (drained = true));
    await Bun.sleep(0);
    expect(log.at(-1)).toBe("cooked");
    expect(drained).toBe(false);
  });
  await Bun.sleep(0);
  expect(log.slice(-3)).toEqual(["raw", "\x1b[?2004h", "streams on\n"]);
  expect(drained).toBe(true);
});

test("an editor that can't be started gives the terminal back", async () => {
  const { terminal, log } = open();
  expect(terminal.lend(() => Promise.reject(new Error("ENOENT")))).rejects.toThrow("ENOENT");
  await Promise.resolve();
  expect(log.at(-1)).toBe("\x1b[?2004h");
});

test("the clipboard is written only on request, whole, and not in plain mode", () => {
  const { terminal, log } = open();
  expect(terminal.copy("häx")).toBe(true);
  expect(log.at(-1)).toBe("\x1b]52;c;aMOkeA==\x07");
  expect(open(PLAIN).terminal.copy("x")).toBe(false);
});

test("a secret in plain mode is read without echo and edited here", () => {
  const { terminal, stdin, events, listen, log } = open(PLAIN);
  listen();
  expect(terminal.readHidden(true)).toBe(true);
  stdin.emit("data", "wrong\x15hunter3\x7f2\r");
  terminal.readHidden(false);
  expect(events).toEqual([{ type: "line", text: "hunter2" }]);
  expect(log).toEqual(["raw", "cooked"]);
});
