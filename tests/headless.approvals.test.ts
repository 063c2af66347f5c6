/** Who may say yes without a terminal: rules, flags, and `--approvals jsonl`. The file system tells what really ran. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../src/types.ts";
import { type Bench, type Running, closeBenches, openBench } from "./support/binary.ts";
import { eventFaults } from "./support/event-check.ts";
import type { Reply } from "./support/model-server.ts";

afterAll(closeBenches);

const bash = (command: string, id = "c1"): { id: string; name: string; input: JsonObject } => ({
  id,
  name: "bash",
  input: { command },
});
const script = (...commands: string[]): Reply[] => [
  ...commands.map((command, index): Reply => ({ calls: [bash(command, `c${index + 1}`)] })),
  { text: "over" },
];

/** Where who says yes is the point, and not what confines the command then. */
const UNCONFINED = { config: { sandbox: "off" } };

/** What the model was told of the last calls. */
const lastSent = ({ server }: Bench): string => {
  expect(server.faults).toEqual([]);
  return server.requests.at(-1)?.text ?? "";
};

describe.concurrent("nobody to ask", () => {
  const REFUSED: [string, { name: string; input: JsonObject }, string, RegExp][] = [
    ["a command", bash("touch made"), "ask", /--allow 'bash\(touch made\)'|--allow 'bash\(touch/],
    ["a write", { name: "write_file", input: { path: "made", content: "x" } }, "ask", /--allow 'write_file\(made\)'/],
    [
      "an edit",
      { name: "edit_file", input: { path: "made", oldString: "", newString: "x" } },
      "ask",
      /--allow 'edit_file\(made\)'/,
    ],
    ["a redirection of an allowed command", bash("echo x > made"), "redirect", /--allow 'write_file\(made\)'/],
    ["what the guard refuses", bash("rm -rf ~; touch made"), "guard", /rm -rf|recursive/i],
    ["what a rule denies", bash("denied-tool; touch made"), "rule", /denied-tool/],
    ["a shell that can't be read", bash('touch made; echo "x'), "unparsable", /./],
    ["a path outside", { name: "write_file", input: { path: "../made", content: "x" } }, "jail", /outside/],
    ["a secret", { name: "read_file", input: { path: ".env" } }, "secret", /\.env/],
  ];
  test("whatever would ask or is refused is denied, said, and did not happen", async () => {
    const calls = REFUSED.map(([, call], index) => ({ ...call, id: `c${index}` }));
    const at = await openBench([{ calls }, { text: "over" }], {
      files: { ".env": "K=canary-1\n" },
      config: { permission: { bash: { "*": "ask", "echo *": "allow", "denied-tool*": "deny" } } },
    });
    const { code, stdout, stderr, events } = await at.run(["-p", "go", "--json"]);
    expect(code).toBe(0);
    expect(await eventFaults(events)).toEqual([]);
    for (const [index, [what, call, by, reason]] of REFUSED.entries()) {
      const denied = events.find((event) => event.type === "tool-denied" && event["id"] === `c${index}`);
      expect([what, denied?.["name"], denied?.["by"]]).toEqual([what, call.name, by]);
      expect(String(denied?.["reason"])).toMatch(reason);
    }
    expect(stderr).toBe(`${REFUSED.length} calls denied\n`);
    expect(existsSync(at.path("made")) || existsSync(join(at.dir, "../made"))).toBe(false);
    expect(lastSent(at).split("[permission error]")).toHaveLength(REFUSED.length + 1);
    expect(stdout + lastSent(at)).not.toContain("canary-1");
  });

  test("--allow, --deny and --yolo count for one run", async () => {
    const at = await openBench(
      (request) => (request.text.includes('"role":"tool"') ? { text: "over" } : { calls: [bash("touch made")] }),
      UNCONFINED,
    );
    expect((await at.run(["-p", "go"])).stderr).toContain("1 call denied");
    expect(existsSync(at.path("made"))).toBe(false);
    expect((await at.run(["-p", "go", "--yolo", "--deny", "bash(touch *)"])).stderr).toContain("1 call denied");
    expect(existsSync(at.path("made"))).toBe(false);
    expect((await at.run(["-p", "go", "--allow", "bash(touch *)"])).stderr).not.toContain("denied");
    expect(existsSync(at.path("made"))).toBe(true);
    expect((await at.run(["-p", "go"])).stderr).toContain("1 call denied");
  });

  test("--yolo lets run what asks, and neither the guard nor a deny rule nor self-protection gives way", async () => {
    const commands = ["touch made", "rm -rf ~", "denied-tool", "echo x > .shiro/config.json", "echo x > .git/config"];
    const at = await openBench(script(...commands), {
      config: { sandbox: "off", permission: { bash: { "*": "ask", "denied-tool*": "deny" } } },
    });
    const { events } = await at.run(["-p", "go", "--yolo", "--json"]);
    const by = events.filter((event) => event.type === "tool-denied").map((event) => event.by);
    expect(by).toEqual(["guard", "rule", "self-protection", "plugin"]);
    expect(existsSync(at.path("made"))).toBe(true);
    expect(existsSync(at.path(".shiro")) || existsSync(at.path(".git"))).toBe(false);
  });

  test("no question is printed anywhere, and the run ends at once", async () => {
    const at = await openBench(script("touch made"), { config: { permission: { bash: "ask" } } });
    const { code, stdout } = await at.run(["-p", "run: touch x"], { shell: '"$@" < /dev/null | cat' });
    expect([code, stdout]).toEqual([0, "over\n"]);
  });
});

/** Answers every question by its id. */
async function answering(
  at: Bench,
  answers: Record<string, JsonObject | string>,
  args: string[] = [],
): Promise<Awaited<Running["ended"]>> {
  const run = at.start(["-p", "go", "--approvals", "jsonl", ...args], { open: true });
  for (const [id, answer] of Object.entries(answers)) {
    await run.seen("stdout", `"type":"approval","id":"${id}"`);
    run.write(typeof answer === "string" ? answer : `${JSON.stringify({ id, ...answer })}\n`);
  }
  return run.ended;
}

describe.concurrent("--approvals jsonl", () => {
  test("allow runs the call; deny doesn't, and its message reaches the model", async () => {
    const at = await openBench(script("touch one", "touch two"), UNCONFINED);
    const { code, events } = await answering(at, {
      c1: { decision: "allow" },
      c2: { decision: "deny", message: "use three instead" },
    });
    expect(code).toBe(0);
    expect(await eventFaults(events)).toEqual([]);
    expect(events.filter((event) => event.type === "approval")).toEqual([
      {
        type: "approval",
        id: "c1",
        name: "bash",
        input: { command: "touch one" },
        subject: "touch one",
        rule: expect.any(String),
        always: expect.any(String),
      },
      {
        type: "approval",
        id: "c2",
        name: "bash",
        input: { command: "touch two" },
        subject: "touch two",
        rule: expect.any(String),
        always: expect.any(String),
      },
    ]);
    expect(events.find((event) => event.type === "tool-denied")).toMatchObject({ id: "c2", by: "user" });
    expect([existsSync(at.path("one")), existsSync(at.path("two"))]).toEqual([true, false]);
    expect(lastSent(at)).toContain("use three instead");
  });

  test("always covers the pattern that was shown, for the session only", async () => {
    const at = await openBench(script("git tag one", "git tag two", "touch x"), { ...UNCONFINED, files: { a: "" } });
    Bun.spawnSync(["git", "init", "-q"], { cwd: at.dir });
    const { events } = await answering(at, { c1: { decision: "always" }, c3: { decision: "deny" } });
    const asked = events.filter((event) => event.type === "approval");
    expect(asked.map((event) => event.id)).toEqual(["c1", "c3"]);
    expect(asked[0]?.always).toMatch(/^git tag/);
    expect(
      events.filter((event) => event.type === "tool-result" || event.type === "tool-error").map((event) => event.id),
    ).toEqual(["c1", "c2"]);
    const next = await openBench(script("git tag one"), UNCONFINED);
    expect(
      (await answering(next, { c1: { decision: "deny" } })).events.some((event) => event.type === "approval"),
    ).toBe(true);
  });

  test("an end of input denies what is open and what comes", async () => {
    const at = await openBench(script("touch one", "touch two"), UNCONFINED);
    const run = at.start(["-p", "go", "--approvals", "jsonl"], { open: true });
    await run.seen("stdout", '"type":"approval"');
    run.closeStdin();
    const { code, events } = await run.ended;
    expect(code).toBe(0);
    expect(events.filter((event) => event.type === "tool-denied").map((event) => event.id)).toEqual(["c1", "c2"]);
    expect(existsSync(at.path("one")) || existsSync(at.path("two"))).toBe(false);
    expect(lastSent(at)).toContain("input for approvals has ended");
  });

  test.each(["/dev/null", "a closed stdin"])("%s is an end of input", async (kind) => {
    const at = await openBench(script("touch one"), UNCONFINED);
    const shell = kind === "/dev/null" ? '"$@" < /dev/null' : '"$@" <&-';
    const { code, events } = await at.run(["-p", "go", "--approvals", "jsonl", "--strict"], { shell });
    expect(code).toBe(5);
    expect(await eventFaults(events)).toEqual([]);
    expect(existsSync(at.path("one"))).toBe(false);
  });

  test("lines that are no answer are named at once and change nothing", async () => {
    const at = await openBench(script("touch one"), UNCONFINED);
    const run = at.start(["-p", "go", "--approvals", "jsonl"], { open: true });
    await run.seen("stdout", '"type":"approval"');
    const bad = [
      "yes",
      "[]",
      '{"id":"c1"}',
      '{"decision":"allow"}',
      '{"id":"c1","decision":"ok"}',
      '{"id":"c9","decision":"allow"}',
      "",
      "null",
    ];
    run.write(`${bad.join("\n")}\n`);
    await run.seen("stdout", /(approval answer ignored[^]*){7}/);
    expect(existsSync(at.path("one"))).toBe(false);
    run.write('{"id":"c1","decision":');
    run.write('"allow"}\r\n');
    const { code, events } = await run.ended;
    expect(code).toBe(0);
    expect(await eventFaults(events)).toEqual([]);
    expect(existsSync(at.path("one"))).toBe(true);
  });

  test("an answer may be the last line without an end", async () => {
    const at = await openBench(script("touch one"), UNCONFINED);
    const run = at.start(["-p", "go", "--approvals", "jsonl"], { open: true });
    await run.seen("stdout", '"type":"approval"');
    run.write('{"id":"c1","decision":"allow"}');
    run.closeStdin();
    expect((await run.ended).code).toBe(0);
    expect(existsSync(at.path("one"))).toBe(true);
  });

  test("a signal and --timeout end a run that waits for an answer", async () => {
    const at = await openBench(script("touch one"), UNCONFINED);
    const run = at.start(["-p", "go", "--approvals", "jsonl"], { open: true });
    await run.seen("stdout", '"type":"approval"');
    run.kill("SIGTERM");
    const ended = await run.ended;
    expect([ended.code, ended.events.at(-1)?.reason]).toEqual([143, "interrupted"]);
    const slow = await openBench(script("touch one"), UNCONFINED);
    const late = slow.start(["-p", "go", "--approvals", "jsonl", "--timeout", "500ms"], { open: true });
    expect((await late.ended).code).toBe(7);
    expect(existsSync(at.path("one")) || existsSync(slow.path("one"))).toBe(false);
    expect([...at.server.faults, ...slow.server.faults]).toEqual([]);
  });

  test("what a rule denies and the guard refuses is not asked about", async () => {
    const at = await openBench(script("rm -rf /", "denied-tool"), {
      config: { permission: { bash: { "*": "ask", "denied*": "deny" } } },
    });
    const run = at.start(["-p", "go", "--approvals", "jsonl"], { open: true });
    const { events } = await run.ended;
    expect(events.some((event) => event.type === "approval")).toBe(false);
    expect(events.filter((event) => event.type === "tool-denied").map((event) => event.by)).toEqual(["guard", "rule"]);
  });

  test("-c without a session is refused as in every headless run", async () => {
    const at = await openBench(script("touch one"), UNCONFINED);
    const { code, stderr } = await at.run(["-c", "-p", "go", "--approvals", "jsonl"]);
    expect([code, stderr]).toEqual([2, "shiro: There is no session of this directory to continue\n"]);
  });
});

describe.concurrent("files that would change shiro's own rules", () => {
  const ALL = {
    permission: { "*": "allow", bash: "allow", write_file: "allow", edit_file: "allow", apply_patch: "allow" },
  };
  const write = (path: string): { name: string; input: JsonObject } => ({
    name: "write_file",
    input: { path, content: "{}" },
  });
  const WAYS: [string, { name: string; input: JsonObject }[]][] = [
    ["the project's settings", [write(".shiro/config.json")]],
    ["a skill", [write(".shiro/skills/x/SKILL.md")]],
    ["a redirection", [bash("echo '{}' > .shiro/config.json")]],
    ["a copy", [bash("cp plain .shiro/config.json")]],
    ["a link and a write through it", [bash("ln -s .shiro/config.json a.txt"), write("a.txt")]],
    ["a link to the directory", [bash("ln -s .shiro d"), write("d/config.json")]],
    ["a git hook", [write(".git/hooks/pre-commit")]],
    ["git's settings", [bash("echo x >> .git/config")]],
    ["git's settings by tee", [bash("echo x | tee .git/config")]],
    [
      "a patch",
      [
        {
          name: "apply_patch",
          input: { patch: "*** Begin Patch\n*** Add File: .shiro/config.json\n+{}\n*** End Patch" },
        },
      ],
    ],
    ["shiro's own home", [bash('echo x > "$SHIRO_HOME/config.json"')]],
  ];
  test("are denied whatever the rules allow", async () => {
    const files = { ".shiro/config.json": '{"marker":1}', ".git/config": "[core]\n", plain: "x" };
    const calls = WAYS.map(([, steps], way) => steps.map((call, step) => ({ ...call, id: `w${way}.${step}` })));
    const at = await openBench([{ calls: calls.flat() }, { text: "over" }], { config: ALL, files });
    const before = readFileSync(join(at.home, "config.json"), "utf8");
    const { events } = await at.run(["-p", "go", "--json"]);
    const denied = events.flatMap((event) => (event.type === "tool-denied" ? [String(event["id"])] : []));
    for (const [way, [what]] of WAYS.entries())
      expect([what, denied.some((id) => id.startsWith(`w${way}.`))]).toEqual([what, true]);
    expect(readFileSync(at.path(".shiro/config.json"), "utf8")).toBe('{"marker":1}');
    expect(readFileSync(at.path(".git/config"), "utf8")).toBe("[core]\n");
    expect(readFileSync(join(at.home, "config.json"), "utf8")).toBe(before);
    expect(existsSync(at.path(".git/hooks")) || existsSync(at.path(".shiro/skills"))).toBe(false);
    expect(at.server.faults).toEqual([]);
  });
});
