/** The built program's state: kills, two at once, undo, resuming, compaction by hand. */
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../src/types.ts";
import { BINARY, type Bench, closeBenches, openBench } from "./support/binary.ts";
import type { Received, Reply } from "./support/model-server.ts";
import { openPty, type Pty } from "./support/pty.ts";
import { killRounds } from "./support/state-kills.ts";

const PROMPT = /shiro[^>\n]*> /;

const opened: Pty[] = [];
afterEach(() => opened.splice(0).forEach((pty) => pty.kill("SIGKILL")));
afterAll(closeBenches);

/** The interactive program in line mode, everything allowed. */
const repl = (bench: Bench, ...args: string[]): Promise<Pty> => asking(bench, {}, "--yolo", ...args);

/** The same with the usual questions. */
async function asking(bench: Bench, more: Record<string, string>, ...args: string[]): Promise<Pty> {
  const given = { ...bench.env, HOME: join(bench.dir, "../user"), SHIRO_HOME: bench.home, TERM: "dumb", ...more };
  const env = Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const pty = openPty([BINARY, ...args], { cwd: bench.dir, env, cols: 250 });
  opened.push(pty);
  await pty.expect(PROMPT, 10_000);
  return pty;
}

/** Types a line and waits for what it prints and the next prompt. */
async function enter(pty: Pty, line: string, answer: string | RegExp): Promise<string> {
  pty.write(`${line}\r`);
  const found = await pty.expect(answer, 10_000);
  await pty.expect(PROMPT, 10_000);
  return found;
}

const call = (name: string, input: JsonObject) => ({ name, input });
const sessionsIn = (bench: Bench): string[] =>
  readdirSync(join(bench.home, "sessions")).filter((name) => name.endsWith(".json"));
const bodyText = (request: Received | undefined): string => request?.text ?? "";

/** More by hand: SHIRO_TEST_KILLS=200. */
const ROUNDS = Number(process.env.SHIRO_TEST_KILLS ?? 12);

test(
  "a process killed at random moments loses nothing it announced, and repeats no effect",
  async () => {
    // More rounds are a question of patience only.
    const report = await killRounds(ROUNDS, 4711);
    const { unloadable, lostResults, untold, repeatedEffects, faults, badExits } = report;
    expect({ unloadable, lostResults, untold, repeatedEffects, faults, badExits }).toEqual({
      unloadable: [],
      lostResults: [],
      untold: [],
      repeatedEffects: [],
      faults: [],
      badExits: [],
    });
    expect(report.duringCalls).toBeGreaterThan(0);
    expect(report.toldUnknown).toBeGreaterThan(0);
  },
  60_000 + ROUNDS * 2000,
);

describe("two processes in one directory", () => {
  test("that continue the same session: the second says that it has a copy, and both are whole", async () => {
    const gate = Promise.withResolvers<void>();
    let waiting = 0;
    const bench = await openBench(async (request): Promise<Reply> => {
      const turn = request.text.includes("together") ? ++waiting : 0;
      if (turn === 2) gate.resolve();
      if (turn === 1 || turn === 2) {
        await gate.promise;
        return { calls: [call("remember", { kind: "fact", text: `what process ${turn} found out` })] };
      }
      return { text: "fine" };
    });
    await bench.run(["-p", "first", "--yolo"]);
    const runs = await Promise.all(
      ["together one", "together two"].map((prompt) => bench.run(["-c", "-p", prompt, "--yolo"])),
    );
    expect(runs.map((run) => run.code)).toEqual([0, 0]);
    expect(runs.filter((run) => run.stderr.includes("this is a copy of it"))).toHaveLength(1);
    const texts = sessionsIn(bench).map((name) => readFileSync(join(bench.home, "sessions", name), "utf8"));
    expect(texts).toHaveLength(2);
    for (const prompt of ["together one", "together two"])
      expect(texts.some((text) => text.includes(prompt) && text.includes("first"))).toBe(true);
    const [memory = ""] = readdirSync(join(bench.home, "memory")).filter((name) => name.endsWith(".json"));
    expect(JSON.parse(readFileSync(join(bench.home, "memory", memory), "utf8")).entries).toHaveLength(2);
    expect(bench.server.faults).toEqual([]);
  });

  test("that write prompts at once keep both histories", async () => {
    const bench = await openBench((request) => {
      const said = [...request.text.matchAll(/(left|right) (first|second)/g)].at(-1)?.[0] ?? "";
      return { text: `heard ${said}` };
    });
    const [left, right] = await Promise.all([repl(bench), repl(bench)]);
    const say = (pty: Pty, prompt: string) => enter(pty, prompt, `heard ${prompt}`);
    await Promise.all([say(left, "left first"), say(right, "right first")]);
    await Promise.all([say(left, "left second"), say(right, "right second")]);
    for (const pty of [left, right]) pty.write("/exit\r");
    await Promise.all([left.exited, right.exited]);
    const [name = ""] = readdirSync(join(bench.home, "history")).filter((file) => file.endsWith(".json"));
    const { entries } = JSON.parse(readFileSync(join(bench.home, "history", name), "utf8"));
    for (const prompt of ["left first", "right first", "left second", "right second"])
      expect(entries).toContain(prompt);
  });
});

interface Entry {
  path: string;
  mode: number;
  content: string;
}

function treeOf(dir: string, below = ""): Entry[] {
  return readdirSync(join(dir, below), { withFileTypes: true })
    .flatMap((entry): Entry[] => {
      const path = join(below, entry.name);
      if (entry.isDirectory()) return treeOf(dir, path);
      return [
        { path, mode: lstatSync(join(dir, path)).mode, content: readFileSync(join(dir, path)).toString("base64") },
      ];
    })
    .sort((left, right) => (left.path < right.path ? -1 : 1));
}

const CHANGES: Reply[] = [
  {
    calls: [
      call("read_file", { path: "a.txt" }),
      call("read_file", { path: "run.sh" }),
      call("read_file", { path: "gone.txt" }),
    ],
  },
  {
    calls: [
      call("write_file", { path: "a.txt", content: "changed\n" }),
      call("write_file", { path: "new/deep/b.txt", content: "created\n" }),
      call("apply_patch", {
        patch:
          "*** Begin Patch\n*** Update File: run.sh\n*** Move to: bin/start.sh\n@@\n-echo one\n+echo two\n*** Delete File: gone.txt\n*** End Patch\n",
      }),
      call("bash", { command: "echo by hand > by-bash.txt" }),
    ],
  },
  { text: "all changed" },
];

async function changedBench(git: boolean): Promise<{ bench: Bench; before: Entry[] }> {
  const bench = await openBench((_, index) => CHANGES[index] ?? { text: `later ${index}` }, {
    config: { sandbox: "off" },
    files: {
      "a.txt": "one\r\n\ufeffwithout an end",
      "run.sh": "echo one\n",
      "gone.txt": "to be deleted\n",
      "data/out.jsonl": '{"untracked":1}\n',
      "dirty.txt": "committed\n",
      ".gitignore": "*.log\n",
    },
  });
  chmodSync(bench.path("run.sh"), 0o755);
  chmodSync(bench.path("gone.txt"), 0o640);
  if (git) {
    const run = (...args: string[]) =>
      Bun.spawnSync(["git", "-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: bench.dir });
    run("init", "-q");
    run("add", "a.txt", "dirty.txt", "run.sh");
    run("commit", "-qm", "first");
    writeFileSync(bench.path("dirty.txt"), "dirty\n");
    run("add", "gone.txt");
  }
  writeFileSync(bench.path(".gitignore"), "*.log\nedited\n");
  return { bench, before: treeOf(bench.dir) };
}

describe("undo in the program", () => {
  test.each([true, false])("puts every file back byte for byte, and redo the other way (git: %p)", async (git) => {
    const { bench, before } = await changedBench(git);
    const pty = await repl(bench);
    await enter(pty, "change things", "all changed");
    const changed = treeOf(bench.dir);
    expect(changed).not.toEqual(before);
    expect(statSync(bench.path("bin/start.sh")).mode & 0o777).toBe(0o755);
    await enter(pty, "/undo both", "echo by hand");
    const byHand = changed.filter((entry) => entry.path === "by-bash.txt");
    const undone = treeOf(bench.dir);
    expect(undone.filter((entry) => entry.path !== "by-bash.txt")).toEqual(before);
    expect(undone.filter((entry) => entry.path === "by-bash.txt")).toEqual(byHand);
    expect(existsSync(bench.path("new"))).toBe(false);
    await enter(pty, "/redo", "The conversation is back.");
    expect(treeOf(bench.dir)).toEqual(changed);
    await enter(pty, "/undo both", "the model no longer knows");
    await enter(pty, "something new", "later");
    expect(bodyText(bench.server.requests.at(-1))).not.toContain("change things");
    expect(bench.server.faults).toEqual([]);
  });

  test("names a file that was changed since, keeps it, and takes it with --force; after a resume as well", async () => {
    const { bench, before } = await changedBench(false);
    const first = await repl(bench);
    await enter(first, "change things", "all changed");
    first.write("/exit\r");
    await first.exited;
    writeFileSync(bench.path("a.txt"), "the user's own\n");
    const pty = await repl(bench, "-c");
    await enter(pty, "/undo files", /Left alone: \S+a\.txt \(changed since\); --force overrides/);
    expect(readFileSync(bench.path("a.txt"), "utf8")).toBe("the user's own\n");
    expect(readFileSync(bench.path("gone.txt"), "utf8")).toBe("to be deleted\n");
    await enter(pty, "/undo files --force", /Restored \S+a\.txt/);
    expect(treeOf(bench.dir).filter((entry) => entry.path !== "by-bash.txt")).toEqual(before);
    await enter(pty, "what now", "later");
    expect(bodyText(bench.server.requests.at(-1))).toContain("The user took back the changes");
  });

  test("of a prompt without file changes leaves an earlier prompt's files", async () => {
    const bench = await openBench([
      { calls: [call("write_file", { path: "a.txt", content: "a\n" })] },
      { text: "written" },
      { text: "only said" },
    ]);
    const pty = await repl(bench);
    await enter(pty, "write it", "written");
    await enter(pty, "say it", "only said");
    await enter(pty, "/undo both", "No file changes to undo");
    expect(existsSync(bench.path("a.txt"))).toBe(true);
    await enter(pty, "/undo both", /Restored \S+a\.txt/);
    expect(existsSync(bench.path("a.txt"))).toBe(false);
  });
});

describe("commands about the session", () => {
  test("/compact with a focus, /context, /fork, /export and /resume do what they say", async () => {
    const bench = await openBench((request, index) => {
      const usage = { input: Math.ceil(request.text.length / 4), output: 10 };
      return Array.isArray(request.body.tools) ? { text: `answer ${index}`, usage } : { text: "SUMMARY OF IT", usage };
    });
    const pty = await repl(bench);
    await enter(pty, "first question", "answer 0");
    await enter(pty, "second question", "answer 1");
    await enter(pty, "/context", /next request\s+~\d+ tokens \(~\d+ % of 102400\)/);
    const forked = await enter(pty, "/fork 1", /Forked (\S+) into (\S+) with 1 turn/);
    await enter(pty, "/export talk.pdf", 'end "talk.pdf" in .md or .json');
    await enter(pty, "/export talk.md", /Written to \S+talk\.md/);
    const exported = readFileSync(bench.path("talk.md"), "utf8");
    expect([exported.includes("first question"), exported.includes("second question")]).toEqual([true, false]);
    await enter(pty, "/compact the numbers", /context compacted: \d+ messages pruned to 1 on the wire/);
    expect(bodyText(bench.server.requests.at(-1))).toContain("the numbers");
    await enter(pty, "third question", "answer 3");
    expect(bodyText(bench.server.requests.at(-1))).toContain("SUMMARY OF IT");
    const [, one = "", two = ""] = /Forked (\S+) into (\S+) with/.exec(forked) ?? [];
    const shared = [...one].findIndex((letter, index) => letter !== two[index]);
    await enter(pty, `/resume ${one.slice(0, shared)}`, /Several sessions begin with/);
    await enter(pty, `/resume ${one}`, new RegExp(`Resumed ${one}: first question \\(2 turns\\)`));
    expect(bench.server.faults).toEqual([]);
  });

  test("/sessions and shiro sessions name what can't be read and leave it alone", async () => {
    const bench = await openBench([{ text: "fine" }]);
    await bench.run(["-p", "hello", "--yolo"]);
    const broken = join(bench.home, "sessions", "01930000-0000-7000-8000-000000000000.json");
    const torn = readFileSync(join(bench.home, "sessions", sessionsIn(bench)[0] ?? ""), "utf8").slice(0, 300);
    writeFileSync(broken, torn);
    const listed = await bench.run(["sessions"]);
    expect(listed.stdout).toContain(`unreadable: ${broken}`);
    expect(listed.stdout).toContain("hello");
    const more = await bench.run(["-c", "-p", "more", "--yolo"]);
    expect([more.code, more.stdout, readFileSync(broken, "utf8")]).toEqual([0, "fine\n", torn]);
    expect(more.stderr).toContain(broken);
  });

  test("results of sessions that nobody touched for a week are cleared away", async () => {
    const bench = await openBench([{ text: "fine" }]);
    const [old, recent] = ["old", "recent"].map((name) => join(bench.home, "spill", name));
    for (const place of [old, recent]) {
      mkdirSync(place ?? "", { recursive: true });
      writeFileSync(join(place ?? "", "result.txt"), "long");
    }
    const then = new Date(Date.now() - 8 * 24 * 60 * 60_000);
    utimesSync(old ?? "", then, then);
    await bench.run(["-p", "hello", "--yolo"]);
    expect([existsSync(old ?? ""), existsSync(recent ?? "")]).toEqual([false, true]);
  });
});

test("a model switch in the middle of a session sends none of the other model's reasoning", async () => {
  const bench = await openBench((_, index) => ({ reasoning: `private thought ${index}`, text: `answer ${index}` }), {
    wire: "responses",
  });
  await bench.run(["-p", "one", "--yolo"]);
  await bench.run(["-c", "-p", "two", "--yolo", "--model", "gpt-5-other"]);
  expect(bench.server.faults).toEqual([]);
  const second = bodyText(bench.server.requests[1]);
  expect([second.includes("answer 0"), second.includes('encrypted_content":')]).toEqual([true, false]);
});

test("a money ceiling holds from a session's first request on, resumed spend included", async () => {
  const bench = await openBench(
    (request, index) => {
      const usage = { input: 100_000, output: 0 };
      if (!Array.isArray(request.body.tools)) return { text: "a summary", usage };
      return { text: "said", calls: [call("bash", { command: `echo ${index}` })], usage };
    },
    { config: { sandbox: "off", pricing: { "test-model": { input: 10, output: 10 } } } },
  );
  const first = await bench.run(["-p", "go", "--yolo", "--json", "--max-spend-usd", "2.5"]);
  expect(first.events.at(-1)).toMatchObject({ type: "done", exit: 6, reason: "ceiling", steps: 3 });
  const second = await bench.run(["-c", "-p", "go", "--yolo", "--json", "--max-spend-usd", "4.5"]);
  expect(second.events.at(-1)).toMatchObject({ type: "done", exit: 6, reason: "ceiling", steps: 2 });
  expect(bench.server.requests).toHaveLength(5);
});

test("a ceiling that was reached is raised by a y alone, by the same amount", async () => {
  const bench = await openBench((_, index) => ({ text: `answer ${index}`, usage: { input: 900, output: 100 } }));
  const pty = await repl(bench, "--max-tokens", "1000");
  await enter(pty, "one", "answer 0");
  pty.write("two\r");
  await pty.expect("maxTokens reached");
  await pty.expect("text> ");
  await enter(pty, "n", "maxTokens reached");
  pty.write("two\r");
  await pty.expect("Add the same amount again");
  await pty.expect("text> ");
  await enter(pty, "y", "answer 1");
  pty.write("three\r");
  await pty.expect("2000 of 2000 tokens used");
  await pty.expect("text> ");
  await enter(pty, "no", "maxTokens reached");
  expect(bench.server.requests).toHaveLength(2);
});

test("a call that waited for approval at a kill is asked for again on continue, and runs once", async () => {
  const bench = await openBench([{ calls: [call("bash", { command: "echo ran >> log" })] }, { text: "it ran" }]);
  const first = await asking(bench, {});
  first.write("do it\r");
  await first.expect("view whole: ", 10_000);
  first.kill("SIGKILL");
  await first.exited;
  const second = await asking(bench, {}, "-c");
  expect(second.raw()).toContain('1 call was still waiting; "continue" takes up what waits.');
  second.write("continue\r");
  await second.expect("view whole: ", 10_000);
  await enter(second, "y", "it ran");
  expect(readFileSync(bench.path("log"), "utf8")).toBe("ran\n");
  expect(bench.server.requests).toHaveLength(2);
  expect(bench.server.faults).toEqual([]);
});

test("at a terminal too, a home that can't be written is said once, whatever is to be saved", async () => {
  const bench = await openBench([
    {
      calls: [call("write_file", { path: "a.txt", content: "x" }), call("remember", { kind: "fact", text: "a fact" })],
    },
    { text: "answer one" },
    { text: "answer two" },
  ]);
  const pty = await asking(bench, { SHIRO_HOME: "/proc/shiro" }, "--yolo");
  await enter(pty, "first", "answer one");
  await enter(pty, "second", "answer two");
  await enter(pty, "/undo files", "Undo of files is unavailable");
  await enter(pty, "/status", "not being saved");
  expect(pty.raw().split("Saving fails")).toHaveLength(2);
});
