/** Questions in the interactive loop: approvals, lists, secrets, and what is typed around the moment they appear. */
import { afterEach, describe, expect, test } from "bun:test";
import { endRepls, startRepl } from "./support/repl-pty.ts";

afterEach(endRepls);

describe("dialogs", () => {
  test("at an approval y and a answer, ctrl-d and a paste deny", async () => {
    const pty = await startRepl();
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
    const pty = await startRepl();
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
    const pty = await startRepl();
    pty.write('approve "npm test"\ry');
    await pty.expect("view whole ");
    pty.write("n");
    await pty.expect('decision {"decision":"deny"}');
    await pty.until((screen) => screen.cursorRow() === "shiro> y");
  });

  test("what waited unread in the driver when the question came doesn't answer it either", async () => {
    const pty = await startRepl();
    pty.write('busy "npm test"\r');
    await pty.expect("not reading");
    pty.write("y");
    await pty.expect("view whole ");
    pty.write("n");
    await pty.expect('decision {"decision":"deny"}');
    // It went where typing goes: into the draft.
    await pty.until((screen) => screen.cursorRow() === "shiro> y");
  });

  test("nor does what is typed in the moment it appears: it goes on with the draft; esc ends the turn at once", async () => {
    const pty = await startRepl();
    pty.write('approve "npm test"\r');
    await pty.expect("allow bash?");
    pty.write("also");
    await pty.expect("view whole ");
    pty.write("y");
    await pty.expect('decision {"decision":"once"}');
    await pty.until((screen) => screen.cursorRow() === "shiro> also");
    pty.write(" that\r");
    await pty.expect('got "also that"');
    await pty.expect("shiro\x1b[22m> ");
    pty.write('approve "npm test"\r');
    await pty.expect("allow bash?");
    pty.write("\x1b");
    await pty.expect('decision {"decision":"deny"}');
    expect(pty.screen.text().match(/v view whole/g)?.length).toBe(1);
    await pty.expect("interrupted");
    // Even before it is printed.
    pty.write('approve "npm test"\rdraft');
    await pty.expect("> draft");
    pty.write("\x03");
    await pty.expect('decision {"decision":"deny"}');
    await pty.until((screen) => screen.cursorRow() === "shiro> draft");
    pty.write("\x15question\r");
    await pty.expect("2) blue");
    pty.write("1\r");
    await pty.expect("queued (1)");
    await pty.expect("text> ");
    pty.write("2\r");
    await pty.expect("answer: blue");
    pty.write("question\r");
    await pty.expect("text> ");
    pty.write("\x1b");
    await pty.expect("answer: null");
    await pty.expect(/ in \(/);
    pty.write("question\r");
    await pty.expect("text> ");
    pty.write("\x03");
    await pty.expect("interrupted");
  });

  test("the block is printed once and nothing of the command acts on the terminal", async () => {
    const pty = await startRepl();
    pty.write(`approve ${JSON.stringify("ls #\r\x1b[2Kharmless")}\r`);
    await pty.expect("view whole ");
    pty.write("x\x1b[Ay");
    pty.write("y");
    await pty.expect("decision");
    expect(pty.screen.text().match(/allow bash\?/g)?.length).toBe(1);
    expect(pty.screen.text()).toContain("│ ls #\\r\\x1b[2Kharmless");
  });

  test("a list takes a number or a filter, a question takes text, a secret leaves no trace", async () => {
    const pty = await startRepl();
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
