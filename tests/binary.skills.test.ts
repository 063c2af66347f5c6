/** Skills, commands of one's own and questions in the built program, at a terminal and in a pipe. */
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Bench, BINARY, closeBenches, openBench } from "./support/binary.ts";
import type { Received, Reply } from "./support/model-server.ts";
import { openPty, type Pty } from "./support/pty.ts";

const opened: Pty[] = [];
afterAll(async () => {
  for (const pty of opened) pty.close();
  await closeBenches();
});

const call = (name: string, input: Record<string, string>): Reply => ({ calls: [{ name, input }] });

const question: Reply = {
  calls: [
    {
      name: "ask",
      input: { question: "Which base?", options: [{ label: "main", detail: "newest" }, { label: "release" }] },
    },
  ],
};

/** More options than a list that can be filtered shows at once. */
const longQuestion: Reply = {
  calls: [
    {
      name: "ask",
      input: {
        question: "Which of\u001b[2J all?",
        options: Array.from({ length: 45 }, (_, at) => ({ label: `option ${at + 1}` })),
      },
    },
  ],
};

function environment(at: Bench): Record<string, string> {
  const all = { ...at.env, SHIRO_HOME: at.home, HOME: at.home, LANG: "C.UTF-8" };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

async function openTerminal(at: Bench): Promise<Pty> {
  const pty = openPty([BINARY], { cwd: at.dir, env: environment(at), cols: 140, rows: 60 });
  opened.push(pty);
  await pty.expect("> ", 15_000);
  return pty;
}

const last = (at: Bench): string => at.server.requests.at(-1)?.text ?? "";

test("a skill written meanwhile is callable in the next turn, and what it doesn't allow is refused there", async () => {
  const script: Reply[] = [
    { text: "over 1" },
    call("skill", { name: "greeting" }),
    call("bash", { command: "touch made" }),
    call("bash", { command: "echo hi" }),
    { text: "over 2" },
    call("bash", { command: "true" }),
    { text: "over 3" },
  ];
  const at = await openBench(script, { config: { sandbox: "off", permission: { bash: "allow" } } });
  const pty = await openTerminal(at);
  pty.write("one\r");
  await pty.expect("over 1", 10_000);
  expect(last(at)).not.toContain("greeting");
  at.write(
    ".shiro/skills/greeting/SKILL.md",
    "---\nname: greeting\ndescription: use when greeting\nallowed-tools: Read, Bash(echo *)\n---\nSay it warmly.\n",
  );
  at.write(".shiro/skills/greeting/words.md", "hello");
  pty.write("two\r");
  await pty.expect("over 2", 10_000);
  const told = last(at);
  for (const text of ["- greeting: use when greeting", "Say it warmly.", "beside it: words.md"])
    expect(told).toContain(text);
  expect(told).toContain(
    '[permission error] skill \\"greeting\\" allows only bash \\"echo *\\" for the rest of this turn',
  );
  expect(told).toContain("hi\\n[exit code 0");
  expect(existsSync(at.path("made"))).toBe(false);
  pty.write("three\r");
  await pty.expect("over 3", 10_000);
  expect(last(at).match(/allows only/g)?.length).toBe(told.match(/allows only/g)?.length ?? 0);
}, 60_000);

test("the prompt is printed as it is into a pipe, and safely at a terminal", async () => {
  const at = await openBench([], { files: { "AGENTS.md": "Use tabs.\u001b]0;title\u0007" } });
  expect((await at.run(["prompt"])).stdout).toContain("Use tabs.\u001b]0;title\u0007");
  const pty = openPty([BINARY, "prompt"], { cwd: at.dir, env: environment(at), cols: 140, rows: 60 });
  opened.push(pty);
  await pty.expect("Use tabs.␛]0;title␇", 10_000);
  expect(await pty.exited).toBe(0);
}, 30_000);

test("a question is answered by number, in own words, or dismissed", async () => {
  const at = await openBench((request: Received): Reply => {
    const asked = request.text.split('"role":"user"').length - 1;
    if (request.text.split('"role":"tool"').length - 1 === asked) return { text: `over ${asked}` };
    return asked === 5 ? longQuestion : question;
  });
  const pty = await openTerminal(at);
  for (const [index, typed, told] of [
    [1, "2\r", "The user answers: release"],
    [2, "the tag v1\r", "The user answers: the tag v1"],
    [3, "\u001b", "The user dismissed this; use your best judgement."],
    [4, "\r", "The user dismissed this; use your best judgement."],
    [5, "45\r", "The user answers: option 45"],
  ] as const) {
    pty.write("go\r");
    await pty.expect("number or text> ", 10_000);
    pty.write(typed);
    await pty.expect(`over ${index}`, 10_000);
    expect([index, last(at)]).toEqual([index, expect.stringContaining(told)]);
  }
  expect(pty.raw()).toContain("45) option 45");
  expect(pty.raw()).not.toContain("\u001b[2J all");
}, 60_000);

test("a command of one's own is filled in; what its commands may not do stops it before anything is sent", async () => {
  const at = await openBench([{ text: "over 1" }], {
    config: { sandbox: "off", permission: { bash: { "*": "allow", "git push *": "deny" } } },
    files: { "note.txt": "from the file\n", ".shiro/commands/pub.md": "Say !`echo yes` to $1" },
  });
  const own = (name: string, text: string): void => {
    const path = join(at.home, "commands", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  own("sum.md", "---\ndescription: sums up\n---\nTake $2 and !`echo out-$1` and @note.txt or @nobody.");
  own("git/send.md", "Push: !`git push origin $1`");
  own("as.md", "---\nagent: plan\nmodel: other-model\n---\nPlan it.");
  own("wipe.md", "Wipe: !`rm -rf build`");
  const pty = await openTerminal(at);
  pty.write("/git:send main\r");
  await pty.expect("was refused (rule)", 10_000);
  pty.write("/wipe\r");
  await pty.expect("was refused (guard)", 10_000);
  pty.write("/pub me\r");
  await pty.expect("is not trusted: /trust", 10_000);
  expect(at.server.requests).toEqual([]);
  pty.write("/trust\r");
  await pty.expect("[y/N]", 10_000);
  pty.write("y\r");
  await pty.expect("Trusted.", 10_000);
  pty.write("/pub me\r");
  await pty.expect("over 1", 10_000);
  expect(last(at)).toContain("Say yes to me");
  pty.write("/sum one 'two words'\r");
  await pty.expect("over 1", 10_000);
  expect(last(at)).toContain("Take two words and out-one and <file path");
  expect(last(at)).toContain("1\\tfrom the file\\n</file> or @nobody.");
  pty.write("/as\r");
  await pty.expect("over 1", 10_000);
  expect([at.server.requests.at(-1)?.body["model"], last(at).includes('"bash"')]).toEqual(["other-model", false]);
  pty.write("again\r");
  await pty.expect("over 1", 10_000);
  expect([at.server.requests.at(-1)?.body["model"], last(at).includes('"bash"')]).toEqual(["test-model", true]);
}, 60_000);

test("in a pipe, commands and skills are taken from the prompt and never from what is piped in", async () => {
  const at = await openBench([{ text: "ok" }], {
    files: {
      ".env": "KEY=1",
      ".shiro/commands/hello.md": "Greet $ARGUMENTS.",
      ".shiro/commands/leak.md": "@.env",
      ".shiro/commands/run.md": "!`echo no`",
    },
  });
  expect((await at.run(["-p", "/hello the team"], { stdin: "input" })).code).toBe(0);
  expect(last(at)).toContain("Greet the team.\\n\\n<stdin>\\ninput");
  await at.run(["-p", "/skill:verify the change"]);
  expect(last(at)).toContain('the change\\n\\nSkill \\"verify\\"');
  await at.run(["-p"], { stdin: "/hello you" });
  expect(last(at)).toContain("/hello you");
  const refused = await at.run(["-p", "/run"]);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("is not trusted");
  expect((await at.run(["-p", "/leak"])).stderr).toContain("/leak: @.env was refused (secret)");
  expect(last(at)).not.toContain('"ask"');
}, 60_000);
