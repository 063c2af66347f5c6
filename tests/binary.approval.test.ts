/** What a person is asked before commands run, in the built program: at a terminal, and with nobody there, where the disk shows what ran. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type Bench, BINARY, closeBenches, openBench } from "./support/binary.ts";
import type { Reply } from "./support/model-server.ts";
import { openPty, type Pty } from "./support/pty.ts";

const opened: Pty[] = [];
afterAll(async () => {
  for (const pty of opened) pty.close();
  await closeBenches();
});

const bash = (command: string): Reply => ({ calls: [{ name: "bash", input: { command } }] });

/** One call for each prompt of the user, then an end. */
function oneCallEach(commands: readonly string[]) {
  return (request: { text: string }): Reply => {
    const asked = request.text.split('"role":"user"').length - 1;
    const answered = request.text.split('"role":"tool"').length - 1;
    return answered < asked ? bash(commands[asked - 1] ?? "true") : { text: `over ${asked}` };
  };
}

async function openTerminal(at: Bench): Promise<Pty> {
  const env = Object.fromEntries(
    Object.entries({ ...at.env, SHIRO_HOME: at.home, HOME: at.home }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
  const pty = openPty([BINARY], { cwd: at.dir, env, cols: 160, rows: 50 });
  opened.push(pty);
  await pty.expect("> ", 15_000);
  return pty;
}

describe("at a terminal", () => {
  test("what was allowed for the session covers the reading half of git and nothing else", async () => {
    const at = await openBench(oneCallEach(["git --version; git status", "git log -1", "git push", "npm publish"]));
    const pty = await openTerminal(at);
    pty.write("one\r");
    await pty.expect("n deny", 10_000);
    expect(pty.screen.text()).toContain("git status|log|diff|show|blame|ls-files|rev-parse *");
    pty.write("a");
    await pty.expect("over 1", 10_000);
    pty.write("two\r");
    await pty.expect("over 2", 10_000);
    for (const [index, command] of [
      [3, "git push"],
      [4, "npm publish"],
    ] as const) {
      pty.write("next\r");
      await pty.expect(`${command} *`, 10_000);
      pty.write("n");
      await pty.expect(`over ${index}`, 10_000);
    }
    expect(at.server.requests.at(-1)?.text).toContain("The user refused this call.");
  }, 60_000);

  test("a compound line shows one grant for each command that asked, hidden characters are shown", async () => {
    const hidden = "echo safe\u202e\u200b \u001b[2K;touch made # \rls";
    const at = await openBench(oneCallEach(["touch made && mkdir sub; date", hidden]));
    const pty = await openTerminal(at);
    pty.write("one\r");
    await pty.expect("n deny", 10_000);
    for (const pattern of ["touch *", "mkdir *", "date *"]) expect(pty.screen.text()).toContain(pattern);
    pty.write("n");
    await pty.expect("over 1", 10_000);
    pty.write("two\r");
    await pty.expect("n deny", 10_000);
    const screen = pty.screen.text();
    for (const shown of ["\\r", "\\x1b[2K", "<U+202E>", "<U+200B>"]) expect(screen).toContain(shown);
    pty.write("n");
    await pty.expect("over 2", 10_000);
    expect(readdirSync(at.dir)).toEqual([]);
  }, 60_000);

  test("an edit that can't be made is not asked about; the model hears why and nothing changes", async () => {
    const edit = { calls: [{ name: "edit_file", input: { path: "a.txt", oldString: "old", newString: "new" } }] };
    const at = await openBench([edit, { text: "over 1" }], { files: { "a.txt": "old\n" } });
    const pty = await openTerminal(at);
    pty.write("one\r");
    await pty.expect("over 1", 10_000);
    expect(pty.screen.text()).not.toContain("n deny");
    expect(at.server.requests.at(-1)?.text).toContain("has not been read in this session. Read it first.");
    expect(readFileSync(join(at.dir, "a.txt"), "utf8")).toBe("old\n");
    expect(at.server.faults).toEqual([]);
  }, 60_000);
});

describe("with nobody to ask", () => {
  // Under --yolo only what rules, guard, secrets and protection refuse is left.
  const REFUSED = [
    "rm -rf keep",
    "$(echo rm) -rf keep",
    "find keep -delete",
    "npx -c 'rm -rf keep'",
    "echo keep | xargs -I{} rm -rf {}",
    "python3 -c \"import os; os.system('rm -rf keep')\"",
    "bash -c $'\\x72m -rf keep'",
    "env - rm -r keep",
    "echo made > .git/hooks/pre-commit",
    "D=.git; cp keep/a $D/hooks/x",
    "cat .env > copy",
    "python3 -c \"print(open('.env').read())\" > copy",
    "tr '\\0' '\\n' < /proc/$PPID/environ > copy",
    "touch denied",
    "env - touch denied",
    "cp -t . keep/../.env",
  ];

  test("nothing that is refused runs, however it is dressed, --yolo or not", async () => {
    const rules = { permission: { bash: { "*": "allow", "touch *": "deny" } } };
    const calls = REFUSED.map((command) => ({ name: "bash", input: { command } }));
    const once = (request: { text: string }): Reply =>
      request.text.includes('"role":"tool"') ? { text: "over" } : { calls };
    const files = { "keep/a": "a\n", ".env": "KEY=canary-value-1\n", ".git/HEAD": "ref: refs/heads/main\n" };
    for (const flags of [[], ["--yolo"]]) {
      const at = await openBench(once, { config: rules, files });
      const { events } = await at.run(["-p", "go", "--json", ...flags]);
      expect(events.filter((event) => event.type === "tool-denied")).toHaveLength(REFUSED.length);
      expect(events.filter((event) => event.type === "tool-begin" && event.id === undefined)).toEqual([]);
      expect(readdirSync(at.dir).sort()).toEqual([".env", ".git", "keep"]);
      expect(existsSync(at.path("keep/a"))).toBe(true);
      expect(readdirSync(at.path(".git"))).toEqual(["HEAD"]);
      expect(JSON.stringify(at.server.requests.map((request) => request.text))).not.toContain("canary-value-1");
    }
  }, 60_000);
});
