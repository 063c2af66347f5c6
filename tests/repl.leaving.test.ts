/** The interactive loop's ends: keys, signals, hang-ups, exceptions, a stop and its return; the terminal is as it was. */
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { FAKE, endRepls, startProgram, startRepl, temp } from "./support/repl-pty.ts";

afterEach(endRepls);

describe("leaving", () => {
  test("ctrl-d on an empty line exits 0 with the farewell", async () => {
    const pty = await startRepl();
    pty.write("\x04");
    expect(await pty.exited).toBe(0);
    expect(pty.screen.text()).toEndWith("resume with: fake -r 1");
  });

  test("ctrl-c clears a draft; twice on an empty line exits 130", async () => {
    const pty = await startRepl();
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
      const pty = await startRepl({ env: { FAKE_CLOSED: closed } });
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

  test("an exception that nobody caught is one line; the terminal is as it was, the session is saved", async () => {
    const closed = join(temp(), "closed");
    const around = 'stty -a; "$@"; echo "code $?"; stty -a';
    const pty = await startProgram(["sh", "-c", around, "sh", process.execPath, FAKE], {
      cols: 120,
      env: { FAKE_CLOSED: closed },
    });
    pty.write("crash\r");
    await pty.expect("code 1");
    await pty.exited;
    const [before, , after] = pty.screen.text().split(/^(fake 1\.0[^]*code 1)$/m);
    expect(before?.trim()).toContain(" echo ");
    expect(after?.trim()).toBe(before?.trim());
    expect(pty.screen.text()).toContain(
      "resume with: fake -r 1\nshiro: internal error: a bug␛[2J nobody caught (SHIRO_DEBUG=1 shows where)\ncode 1\n",
    );
    expect(existsSync(closed)).toBe(true);
  });

  test.each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s saves, restores the terminal and exits %d", async (signal, code) => {
    const pty = await startRepl();
    pty.kill(signal);
    expect(await pty.exited).toBe(code);
    expect(pty.raw()).toEndWith("\x1b[?2004l");
  });

  test("ctrl-z stops with the terminal restored, fg brings the draft back", async () => {
    const shell = ["bash", "--norc", "--noprofile", "-i"];
    const pty = await startProgram(shell, { env: { PS1: "$ ", HOME: temp() } }, "$ ");
    pty.write(`'${process.execPath}' '${FAKE}'\r`);
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
    await pty.expect("> ");
    // No input line draws the keys of an approval again.
    pty.write('approve "npm test"\r');
    await pty.expect("view whole ");
    pty.write("\x1a");
    await pty.expect("$ ");
    pty.write("fg\r");
    await pty.expect("view whole ");
    pty.write("y");
    await pty.expect('"decision":"once"');
  });
});
