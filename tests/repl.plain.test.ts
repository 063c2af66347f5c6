/** The interactive loop without escape sequences, by lines, and with fewer of them. */
import { afterEach, describe, expect, test } from "bun:test";
import { FAKE, endRepls, sent, startRepl, turn } from "./support/repl-pty.ts";

afterEach(endRepls);

describe("plain mode", () => {
  test.each([
    ["no TERM", { TERM: "" }],
    ["ACCESSIBLE", { ACCESSIBLE: "1" }],
  ])("with %s there is no escape", async (_, env) => {
    const pty = await startRepl({ env });
    pty.write("hello\n");
    await pty.expect('got "hello"');
    expect(pty.raw().includes("\x1b")).toBe(false);
  });

  test("with TERM=dumb there is no escape, no decoration outside ASCII, and every state is a word", async () => {
    const pty = await startRepl({ env: { TERM: "dumb" } });
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
    const pty = await startRepl({ env: { TERM: "dumb" } });
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
    const pty = await startRepl({ env: { TERM: "dumb" } });
    pty.write("slow\n");
    await pty.expect("piece 1");
    pty.write("\x03");
    await pty.expect("interrupted");
    await pty.expect("> ");
    pty.write("\x03");
    await pty.expect("again");
    expect(pty.screen.text()).toMatch(/> \^C\nctrl-c again/);
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
    const pty = await startRepl({ env: { LANG: "C", LC_ALL: "C" } });
    await turn(pty, "bash seq 1 30");
    expect(/[^\x00-\x7f]/.test(pty.raw())).toBe(false);
    expect(pty.raw()).toContain("\x1b[2m");
  });

  test("NO_COLOR means no colour, and cursor keys still work", async () => {
    const pty = await startRepl({ env: { NO_COLOR: "1" } });
    await turn(pty, "ab\x1b[Dx");
    expect(await sent(pty)).toEqual(["axb"]);
    expect(/\x1b\[[\d;]*m/.test(pty.raw())).toBe(false);
  });
});
