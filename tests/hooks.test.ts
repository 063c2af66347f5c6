/** The user's hooks: what of the configuration counts, what a command is told, what its end changes. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../src/config.ts";
import { readHooks, type HooksConfig } from "../src/hooks-config.ts";
import { Hooks } from "../src/hooks.ts";
import { hookedTurn } from "../src/hooks-turn.ts";
import { runHook } from "../src/hooks-run.ts";
import { processExists } from "../src/store-lock.ts";
import type { Shell } from "../src/tool-bash.ts";
import type { AgentEvent } from "../src/types.ts";
import { runTurn } from "../src/loop.ts";
import { collect, scriptedProvider, scriptedTurn, testTool, user } from "./support/scripted.ts";
import { call, makeGate, makeWorkspace } from "./support/approval-bench.ts";
import { closeBenches, openBench } from "./support/binary.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "shiro-hooks-")));
afterAll(async () => {
  await closeBenches();
  rmSync(folder, { recursive: true, force: true });
});

const shell: Shell = { name: "sh", argv: (command) => ["sh", "-c", command] };
const ENV = { PATH: process.env["PATH"] ?? "", HOME: folder };

function open(config: HooksConfig, redact = (text: string) => text) {
  const notices: string[] = [];
  const session = { id: "s1" };
  const hooks = new Hooks(config, {
    place: () => ({
      cwd: folder,
      shell,
      env: ENV,
      spillDir: join(folder, "spill"),
      redact,
      sessionId: session.id,
    }),
    notice: (message) => void notices.push(message),
  });
  return { hooks, notices, session };
}

const bash = call("bash", { command: "git status" });
const read = call("read_file", { path: "a" });
const mcp = call("mcp_call", { url: "mcp__db__drop" });
/** A zombie that nobody has reaped yet doesn't run any more. */
function isRunning(pid: string): boolean {
  const stat = `/proc/${pid.trim()}/stat`;
  if (!existsSync("/proc/self/stat")) return processExists(Number(pid));
  return existsSync(stat) && readFileSync(stat, "utf8").split(") ").at(-1)?.[0] !== "Z";
}
const text = (name: string) => readFileSync(join(folder, name), "utf8");

describe("the field of the configuration", () => {
  test("an entry that doesn't fit is reported with its path, and the others stay", () => {
    const reports: string[] = [];
    const read = readHooks(
      {
        "pre-tol": [{ command: "x" }],
        "pre-tool": [{ command: "check", matcher: "bash" }, { command: " " }, { comand: "x" }, "x"],
        "turn-end": { command: "bell" },
        prompt: 7,
      },
      "config.json:3",
      reports,
    );
    expect(read).toEqual({
      "pre-tool": [{ command: "check", matcher: "bash" }],
      "turn-end": [{ command: "bell" }],
      prompt: [],
    });
    expect(reports).toEqual([
      'config.json:3: unknown event "hooks.pre-tol" ignored (did you mean "pre-tool"?)',
      'config.json:3: bad value for "hooks.pre-tool.1.command" ignored: must not be empty',
      expect.stringMatching(/^config\.json:3: bad value for "hooks\.pre-tool\.2\.command" ignored/),
      expect.stringMatching(/^config\.json:3: bad value for "hooks\.pre-tool\.3" ignored/),
      expect.stringMatching(/^config\.json:3: bad value for "hooks\.prompt" ignored/),
    ]);
  });

  test("a file's hooks are read in place, with the file's line in what is reported", () => {
    const path = join(folder, "config.json");
    writeFileSync(path, '{\n  // mine\n  "hooks": { "turn-end": { "command": "x" }, "turn-start": {} }\n}');
    const { values, reports } = loadConfig({ path, env: {}, flags: {} });
    expect(values.hooks).toEqual({ "turn-end": [{ command: "x" }] });
    expect(reports).toEqual([expect.stringMatching(/^config\.json:3: unknown event "hooks\.turn-start"/)]);
  });
});

describe("what a hook is told", () => {
  test("one JSON object on stdin: the event, where, and what it is about", async () => {
    const { hooks, notices } = open({ "post-tool": [{ command: "cat > told.json" }] });
    await hooks.postTool(bash, { text: "clean", isError: false });
    expect(JSON.parse(text("told.json"))).toEqual({
      event: "post-tool",
      sessionId: "s1",
      cwd: folder,
      tool: "bash",
      input: { command: "git status" },
      output: "clean",
      isError: false,
    });
    expect(notices).toEqual([]);
  });

  test("keys are taken out, and a hook that doesn't read holds nothing up", async () => {
    const { hooks, notices } = open({ prompt: [{ command: "cat > prompt.json" }, { command: "exec true" }] }, (whole) =>
      whole.replaceAll("key-12345678", "[redacted key]"),
    );
    await hooks.prompt(`use key-12345678 ${"x".repeat(300_000)}`);
    expect(text("prompt.json")).toContain('"prompt":"use [redacted key] xxx');
    expect(notices).toEqual([]);
  });

  test.each([
    ["*", ["bash", "read_file", "mcp_call"]],
    ["bash", ["bash"]],
    ["*_file", ["read_file"]],
    ["mcp__db__*", ["mcp_call"]],
    ["mcp__web__*", []],
    ["Bash", []],
  ])("the matcher %p means %p", async (matcher, expected) => {
    const { hooks } = open({ "pre-tool": [{ matcher, command: "exit 2" }] });
    const refused = await Promise.all([bash, read, mcp].map((one) => hooks.preTool(one)));
    const names = [bash, read, mcp].map((one) => one.tool.name);
    expect(names.filter((_, index) => refused[index] !== null)).toEqual(expected);
  });
});

describe("what its end means", () => {
  test.each([
    ["exit 0", null, []],
    ["echo no such thing >&2; exit 2", "A hook of the user refused this call: no such thing", []],
    ["exit 2", "A hook of the user refused this call: it gave no reason", []],
    ["echo broken >&2; exit 1", null, ["pre-tool hook `echo broken >&2; exit 1`: exit code 1: broken"]],
    ["kill -9 $$", null, ["pre-tool hook `kill -9 $$`: ended by SIGKILL"]],
    ["no-such-program-here 2>/dev/null", null, ["pre-tool hook `no-such-program-here 2>/dev/null`: exit code 127"]],
    ['echo \'{"decision":"allow"}\'', null, []],
  ])("%p", async (command, expected, noticed) => {
    const { hooks, notices } = open({ "pre-tool": [{ command }] });
    expect([await hooks.preTool(bash), notices]).toEqual([expected, noticed]);
  });

  test("one that still runs when the turn is ended goes with it", async () => {
    const { hooks, notices } = open({ "pre-tool": [{ command: "touch running; exec sleep 60" }] });
    const turn = new AbortController();
    const refused = hooks.preTool(bash, turn.signal);
    while (!existsSync(join(folder, "running"))) await Bun.sleep(5);
    turn.abort();
    expect([await refused, notices]).toEqual([null, []]);
  });

  test("the first that refuses counts, and those after it don't run", async () => {
    const { hooks } = open({
      "pre-tool": [{ command: "exit 1" }, { command: "echo first >&2; exit 2" }, { command: "touch second" }],
    });
    expect(await hooks.preTool(bash)).toEndWith(": first");
    expect(existsSync(join(folder, "second"))).toBe(false);
  });

  test("elsewhere exit code 2 refuses nothing and is reported", async () => {
    const { hooks, notices } = open({ "post-tool": [{ command: "echo late >&2; exit 2" }] });
    await hooks.postTool(bash, { text: "", isError: false });
    expect(notices).toEqual(["post-tool hook `echo late >&2; exit 2`: exit code 2: late"]);
  });

  test("one that takes too long is ended with what it started, and reported", async () => {
    const place = { cwd: folder, shell, env: ENV, spillDir: join(folder, "spill"), redact: (whole: string) => whole };
    const end = await runHook({ command: "sleep 300 & echo $! > slow; wait" }, {}, place, { limitMs: 200 });
    expect(end).toEqual({ state: "failed", problem: "it took too long and was ended" });
    expect(isRunning(text("slow"))).toBe(false);
  });

  test("an abort ends a hook with what it started, without a word", async () => {
    const { hooks, notices } = open({ prompt: [{ command: "sleep 300 & echo $! > child; wait" }] });
    const stop = new AbortController();
    const told = hooks.prompt("x", stop.signal);
    while (!existsSync(join(folder, "child")) || text("child") === "") await Bun.sleep(5);
    stop.abort();
    await told;
    expect([notices, isRunning(text("child"))]).toEqual([[], false]);
  });

  test("a session's start is told once, and a new session's again", async () => {
    const { hooks, session } = open({ "session-start": [{ command: "echo x >> starts" }] });
    await Promise.all([hooks.sessionStart(), hooks.sessionStart()]);
    expect(text("starts")).toBe("x\n");
    session.id = "s2";
    await hooks.sessionStart();
    expect(text("starts")).toBe("x\nx\n");
  });

  test("a turn that waits for a session's start and is ended ends that too", async () => {
    const { hooks, notices } = open({ "session-start": [{ command: "touch running; exec sleep 60" }] });
    void hooks.sessionStart();
    while (!existsSync(join(folder, "running"))) await Bun.sleep(5);
    const turn = new AbortController();
    const waiting = hooks.sessionStart(turn.signal);
    turn.abort();
    await waiting;
    expect(notices).toEqual([]);
  });

  test("the hooks around a turn run before its prompt, and before or after its end is told", async () => {
    const { hooks } = open({
      prompt: [{ command: "echo prompt >> order" }],
      "turn-end": [{ command: "cat > end.json; echo turn-end >> order" }],
    });
    async function* turn(): AsyncGenerator<AgentEvent> {
      writeFileSync(join(folder, "order"), `${text("order")}model\n`);
      yield { type: "text", text: "of a subagent", agent: "a" };
      yield { type: "text", text: "fi" };
      yield { type: "text", text: "ne" };
      yield {
        type: "done",
        exit: 0,
        reason: "completed",
        steps: 1,
        inputTokens: 1,
        outputTokens: 1,
        cacheReadTokens: 0,
        costUsd: null,
      };
    }
    const { signal } = new AbortController();
    for (const [doneIsLast, order] of [
      [true, "prompt\nmodel\nturn-end\ndone\n"],
      [false, "prompt\nmodel\ndone\nturn-end\n"],
    ] as const) {
      writeFileSync(join(folder, "order"), "");
      for await (const event of hookedTurn(hooks, { prompt: "hi", events: turn(), signal, doneIsLast }))
        if (event.type === "done") writeFileSync(join(folder, "order"), `${text("order")}done\n`);
      expect(text("order")).toBe(order);
    }
    expect(JSON.parse(text("end.json"))).toMatchObject({ reason: "completed", exit: 0, message: "fine" });
  });
});

test("a hook refuses what the rules allow, and can't allow what they refuse", async () => {
  const root = makeWorkspace();
  const asked: string[] = [];
  const hook = (refusal: string | null) => ({
    preTool: async (one: typeof bash) => {
      asked.push(one.tool.name);
      return refusal;
    },
  });
  const allowed = makeGate(root, { rules: { bash: "allow" }, ...hook("not today") });
  expect(await allowed.admit(bash, null)).toEqual({ denied: { by: "hook", reason: "not today" } });
  const denied = makeGate(root, { rules: { bash: "deny" }, ...hook(null) });
  expect(await denied.admit(bash, null)).toMatchObject({ denied: { by: "rule" } });
  const asking = makeGate(root, { rules: { bash: "ask" }, ...hook(null) });
  expect(await asking.admit(bash, null)).toMatchObject({ denied: { by: "ask" } });
  expect(asked).toEqual(["bash", "bash"]);
});

test("the model goes on only after the hooks of its calls, and an end of the turn doesn't wait for them", async () => {
  const step = { calls: [{ name: "tool" }] };
  const provider = scriptedProvider([step, { text: "fine" }]);
  const order: string[] = [];
  const hooked = scriptedTurn(provider, [testTool("tool", () => ({ text: "done" }))], {
    settled: async () => {
      await Bun.sleep(1);
      order.push(`hook, ${provider.requests.length} request`);
    },
  });
  await collect(runTurn(user("hi"), hooked, new AbortController().signal));
  expect([order, provider.requests.length]).toEqual([["hook, 1 request"], 2]);

  const stop = new AbortController();
  const stuck = scriptedTurn(scriptedProvider([step]), [testTool("tool", () => ({ text: "done" }))], {
    settled: () => {
      stop.abort();
      return new Promise(() => {});
    },
  });
  const events = await collect(runTurn(user("hi"), stuck, stop.signal));
  expect(events.at(-1)).toMatchObject({ type: "done", reason: "interrupted" });
});

test("a headless run of the program: every event in order, a refusal the model is told of, no key for anybody", async () => {
  const calls = ["echo one", "echo secret-plan"].map((command) => ({ name: "bash", input: { command } }));
  const bench = await openBench([{ calls }, { text: "fine" }], {
    config: {
      permission: { bash: "allow" },
      hooks: {
        "session-start": { command: "cat >> ../log; env > ../env" },
        prompt: { command: "cat >> ../log" },
        "pre-tool": { matcher: "bash", command: "grep -q secret-plan && { echo not that >&2; exit 2; } || exit 0" },
        "post-tool": [{ matcher: "bash", command: "cat >> ../log" }, { command: "exit 3" }],
        "turn-end": { command: "cat >> ../log" },
      },
    },
    files: { ".shiro/config.json": '{"hooks":{"prompt":{"command":"touch ../PWNED"}}}' },
  });
  await bench.run(["trust", "--force"]);
  const { code, events } = await bench.run(["-p", "do it", "--json"]);
  expect(code).toBe(0);
  expect(events.filter(({ type }) => type === "tool-denied")).toEqual([
    expect.objectContaining({ by: "hook", reason: "A hook of the user refused this call: not that" }),
  ]);
  expect(events.filter(({ type }) => type === "notice").map(({ message }) => message)).toContain(
    "post-tool hook `exit 3`: exit code 3",
  );
  expect(events.at(-1)?.type).toBe("done");
  const log = readFileSync(bench.path("../log"), "utf8").trimEnd().split("\n");
  const told = log.map((line): Record<string, unknown> => JSON.parse(line));
  expect(told.map(({ event }) => event)).toEqual(["session-start", "prompt", "post-tool", "turn-end"]);
  expect(told[1]).toMatchObject({ prompt: "do it", cwd: bench.dir, sessionId: events[0]?.["id"] });
  expect(told[3]).toMatchObject({ reason: "completed", exit: 0, message: "fine" });
  expect(readFileSync(bench.path("../env"), "utf8")).not.toContain("canary-key");
  expect(existsSync(bench.path("../PWNED"))).toBe(false);
});
