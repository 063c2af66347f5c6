/** Sessions on disk: what is saved, found, refused, copied, healed, and what happens when the disk won't. */
import { afterAll, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { sessionFiles } from "../src/paths.ts";
import type { SessionFile } from "../src/session-file.ts";
import {
  createSession,
  findSessions,
  forkSession,
  listSessions,
  loadSession,
  newestSession,
  openSession,
} from "../src/sessions.ts";
import { WHOLE_VIEW } from "../src/prune-view.ts";
import { agent, call, healthyTranscript, result, results, seeded, thought, user } from "./support/transcripts.ts";

const root = mkdtempSync(join(tmpdir(), "shiro-sessions-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let homes = 0;
const newHome = () => join(root, `home-${homes++}`);
let clock = Date.UTC(2026, 0, 1);
const deps = { now: () => new Date((clock += 1_000)), onNotice: (message: string) => void notices.push(message) };
let notices: string[] = [];

function started(home: string | null, cwd = "/project", first = "why does it fail?"): SessionFile {
  const file = createSession({ home, cwd, provider: "openai", model: "gpt" }, deps);
  file.appendMessage(user(first));
  return file;
}

function reopened(home: string, id: string): SessionFile {
  const opened = openSession(home, id, deps);
  if ("problem" in opened) throw new Error(opened.problem);
  return opened.file;
}

function loaded(home: string, id: string) {
  const session = loadSession(home, id);
  if ("problem" in session) throw new Error(session.problem);
  return session;
}

const spend = (costUsd: number | null, subagent = false) => {
  return {
    provider: "p",
    model: "m",
    inputTokens: 100,
    outputTokens: 10,
    cacheReadTokens: 50,
    cacheWriteTokens: 5,
    costUsd,
    subagent,
  };
};

describe("what is saved", () => {
  test("a session in which nothing was said leaves no file", async () => {
    const home = newHome();
    const file = createSession({ home, cwd: "/p", provider: "a", model: "b" }, deps);
    file.setModel("c", "d");
    expect(await file.close()).toBeNull();
    expect(existsSync(home)).toBe(false);
  });

  test("a message is on disk when the call returns", () => {
    const home = newHome();
    const file = started(home);
    expect(loaded(home, file.id).record.messages).toEqual([user("why does it fail?")]);
    file.closeNow();
  });

  test("files are private, and closing leaves the record alone", async () => {
    const home = newHome();
    const file = started(home);
    expect(statSync(sessionFiles(home, file.id).journal).mode & 0o777).toBe(0o600);
    await file.close();
    expect(readdirSync(join(home, "sessions"))).toEqual([`${file.id}.json`]);
    expect(statSync(sessionFiles(home, file.id).record).mode & 0o777).toBe(0o600);
    for (const directory of [home, join(home, "sessions")]) expect(statSync(directory).mode & 0o777).toBe(0o700);
  });

  test("the record holds the session under its documented names", async () => {
    const home = newHome();
    const file = started(home, "/some/where", "first line\nsecond   line");
    file.addSpend(spend(0.25));
    file.addSpend(spend(null, true));
    file.setTodos([{ content: "look", status: "in_progress" }]);
    await file.close();
    const record = JSON.parse(readFileSync(sessionFiles(home, file.id).record, "utf8"));
    expect(record).toMatchObject({
      version: 1,
      id: file.id,
      cwd: "/some/where",
      provider: "openai",
      model: "gpt",
      title: "first line second line",
      inputTokens: 200,
      outputTokens: 20,
      cacheReadTokens: 100,
      costUsd: 0.25,
      notebook: { todos: [{ content: "look", status: "in_progress" }] },
      messages: [user("first line\nsecond   line")],
      compactions: [],
    });
    expect(record.spend).toMatchObject([
      { requests: 1, costUsd: 0.25, unpriced: 0, subagent: false },
      { requests: 1, costUsd: null, unpriced: 1, subagent: true },
    ]);
    expect(record.id[14]).toBe("7");
    expect(new Date(record.updatedAt) > new Date(record.createdAt)).toBe(true);
  });

  test("a session without any known price has no cost rather than none to pay", async () => {
    const file = started(null);
    file.addSpend(spend(null));
    expect(file.record.costUsd).toBeNull();
  });

  test("a random session is the same after journal, fold and journal again", async () => {
    const home = newHome();
    const file = started(home);
    const messages = healthyTranscript(seeded(5), 20);
    for (const [index, message] of messages.entries()) {
      file.appendMessage(message);
      if (index % 17 === 0) await file.save();
    }
    file.recordView({ ...WHOLE_VIEW, dropped: 3, summary: "s", elided: ["c1"], sourceCount: 9 });
    expect(loaded(home, file.id).record).toEqual(file.record);
    await file.close();
    expect(loaded(home, file.id).record).toEqual(file.record);
  });

  test("an ephemeral session keeps everything in memory and says nothing", async () => {
    notices = [];
    const file = started(null);
    expect(file.record.messages).toHaveLength(1);
    expect([await file.flush(), await file.save(), file.flushNow(), await file.close()]).toEqual([
      null,
      null,
      null,
      null,
    ]);
    expect(notices).toEqual([]);
  });

  test("a thousand steps write a small multiple of the final record", async () => {
    const written = () => Number(/wchar: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
    if (process.platform !== "linux") return console.warn("SKIPPED: counting written bytes needs /proc/self/io");
    const home = newHome();
    const file = started(home);
    const before = written();
    for (let step = 0; step < 1_000; step++) {
      file.appendMessage(agent(thought(`${step}`), call(`c${step}`)));
      file.startCall({ id: `c${step}`, name: "bash", input: {} });
      file.appendMessage(results(result(`c${step}`, "x".repeat(1_500))));
      file.addSpend(spend(0.01));
      await file.flush();
    }
    await file.close();
    const size = statSync(sessionFiles(home, file.id).record).size;
    expect((written() - before) / size).toBeLessThan(5);
  });
});

describe("damage", () => {
  test("a journal cut at any byte loads with the messages that were whole", async () => {
    const home = newHome();
    const file = started(home);
    for (let index = 0; index < 6; index++) file.appendMessage(agent(`answer ${index} 漢字👍`));
    const { journal } = sessionFiles(home, file.id);
    const bytes = readFileSync(journal);
    file.closeNow();
    const copy = newHome();
    mkdirSync(join(copy, "sessions"), { recursive: true });
    let most = 0;
    for (let length = bytes.indexOf(10) + 1; length <= bytes.length; length += 7) {
      writeFileSync(sessionFiles(copy, file.id).journal, bytes.subarray(0, length));
      const { record } = loaded(copy, file.id);
      expect(record.messages).toEqual(file.record.messages.slice(0, record.messages.length));
      expect(record.messages.length).toBeGreaterThanOrEqual(most);
      most = record.messages.length;
    }
    expect(most).toBeGreaterThanOrEqual(6);
  });

  test("a torn last line is cut off before the next one is written", async () => {
    const home = newHome();
    const file = started(home);
    const { journal } = sessionFiles(home, file.id);
    const whole = readFileSync(journal);
    file.closeNow();
    rmSync(sessionFiles(home, file.id).record);
    writeFileSync(journal, Buffer.concat([whole, Buffer.from('{"t":"message","n":3,"mess')]));
    const again = reopened(home, file.id);
    again.appendMessage(agent("after the crash"));
    expect(loaded(home, file.id)).toMatchObject({
      damaged: 0,
      record: { messages: [user("why does it fail?"), agent("after the crash")] },
    });
    await again.close();
  });

  test("a damaged line in the middle is left out and counted", async () => {
    const home = newHome();
    const file = started(home);
    appendFileSync(sessionFiles(home, file.id).journal, "\0\0\0\0\n");
    file.appendMessage(agent("fine"));
    expect(loaded(home, file.id)).toMatchObject({
      damaged: 1,
      record: { messages: [user("why does it fail?"), agent("fine")] },
    });
    file.closeNow();
  });

  test("lines that a fold already contains are not applied twice", async () => {
    const home = newHome();
    const file = started(home);
    file.appendMessage(agent("once"));
    const { journal, record } = sessionFiles(home, file.id);
    const lines = readFileSync(journal);
    await file.close();
    writeFileSync(journal, lines);
    expect(loaded(home, file.id).record.messages).toHaveLength(2);
    expect(existsSync(record)).toBe(true);
  });

  test.each([
    ["empty", () => ""],
    ["cut in half", (text: string) => text.slice(0, text.length / 2)],
    ["no JSON", () => "hello"],
    ["JSON of something else", () => '{"name":"x"}'],
  ])("a record that is %s is named, skipped and left as it is", async (_, damage) => {
    const home = newHome();
    const good = started(home);
    await good.close();
    const bad = started(home);
    await bad.close();
    const { record } = sessionFiles(home, bad.id);
    writeFileSync(record, damage(readFileSync(record, "utf8")));
    const bytes = readFileSync(record);
    const list = listSessions(home);
    expect(list.sessions.map((session) => session.id)).toEqual([good.id]);
    expect(list.unreadable).toMatchObject([{ path: record }]);
    expect(newestSession(home, "/project").id).toBe(good.id);
    const opened = openSession(home, bad.id, deps);
    expect("problem" in opened && opened.problem).toStartWith(record);
    expect(readFileSync(record)).toEqual(bytes);
    expect(existsSync(sessionFiles(home, bad.id).lock)).toBe(false);
  });

  test("a copied file that holds another session's id is not opened, and that session stays as it is", async () => {
    const home = newHome();
    const file = started(home);
    await file.close();
    const other = "01a22d58-a1b5-71ba-9af8-6bfcf298874a";
    cpSync(sessionFiles(home, file.id).record, sessionFiles(home, other).record);
    expect(openSession(home, other, deps)).toMatchObject({ problem: expect.stringContaining(file.id) });
    expect(listSessions(home)).toMatchObject({
      sessions: [{ id: file.id }],
      unreadable: [{ path: sessionFiles(home, other).record }],
    });
    expect(openSession(home, "../config", deps)).toMatchObject({ problem: "../config: no such session" });
  });

  test("a message of an unknown kind makes a session unreadable, with the place named", async () => {
    const home = newHome();
    const file = started(home);
    await file.close();
    const { record } = sessionFiles(home, file.id);
    writeFileSync(record, readFileSync(record, "utf8").replace('"role":"user"', '"role":"oracle"'));
    expect(openSession(home, file.id, deps)).toMatchObject({ problem: expect.stringContaining("messages.0") });
  });

  test("half an emoji saved by an older version is healed on load", async () => {
    const home = newHome();
    const file = started(home, "/project", "MARK");
    file.appendMessage(agent(call("a", "bash", { command: "MARK" })));
    await file.close();
    const { record } = sessionFiles(home, file.id);
    writeFileSync(record, readFileSync(record, "utf8").replaceAll("MARK", "x\\ud83d"));
    const text = JSON.stringify(loaded(home, file.id).record.messages);
    expect(text).toContain('"text":"x\ufffd"');
    expect(text).toContain('"command":"x\ufffd"');
    expect(text).not.toMatch(/\\ud83d/i);
  });

  test("fields of a newer version survive being loaded, changed and saved", async () => {
    const home = newHome();
    const file = started(home);
    await file.close();
    const { record } = sessionFiles(home, file.id);
    const saved = JSON.parse(readFileSync(record, "utf8"));
    const newer = { ...saved, version: 9, branch: { name: "x" }, notebook: { todos: [], ideas: [1] } };
    newer.messages = [{ ...saved.messages[0], seenBy: "someone" }];
    writeFileSync(record, JSON.stringify(newer));
    const again = reopened(home, file.id);
    again.setTodos([{ content: "t", status: "pending" }]);
    again.appendMessage(agent("ok"));
    await again.close();
    expect(JSON.parse(readFileSync(record, "utf8"))).toMatchObject({
      version: 9,
      branch: { name: "x" },
      notebook: { ideas: [1], todos: [{ content: "t" }] },
      messages: [{ seenBy: "someone" }, { role: "assistant" }],
    });
    expect(listSessions(home).sessions).toHaveLength(1);
  });
});

describe("finding", () => {
  test("sessions are listed newest first, of one directory or all, and the newest of a directory is found", async () => {
    const home = newHome();
    const ids: string[] = [];
    for (const cwd of ["/a", "/b", "/a", "/b"]) {
      const file = started(home, cwd);
      await file.close();
      ids.push(file.id);
    }
    expect(listSessions(home).sessions.map((session) => session.id)).toEqual(ids.toReversed());
    expect(listSessions(home, { cwd: "/a" }).sessions.map((session) => session.id)).toEqual([
      ids[2] ?? "",
      ids[0] ?? "",
    ]);
    expect(listSessions(home, { limit: 3 }).sessions).toHaveLength(3);
    expect(newestSession(home, "/a").id).toBe(ids[2] ?? "");
    expect(newestSession(home, "/c").id).toBeNull();
    const back = reopened(home, ids[0] ?? "");
    back.appendMessage(agent("back again"));
    expect(newestSession(home, "/a").id).toBe(ids[0] ?? "");
    back.closeNow();
  });

  test("a prefix finds one, several or none; never a path", async () => {
    const home = newHome();
    const files = [started(home), started(home)];
    for (const file of files) await file.close();
    const [first, second] = files.map((file) => file.id);
    expect(findSessions(home, first?.slice(0, 2) ?? "").toSorted()).toEqual([first ?? "", second ?? ""].toSorted());
    expect(findSessions(home, first?.toUpperCase() ?? "")).toEqual([first ?? ""]);
    for (const prefix of ["", "../", "zz", `${first}.json`]) expect(findSessions(home, prefix)).toEqual([]);
  });

  test("lists don't read transcripts of closed sessions", async () => {
    const home = newHome();
    const file = started(home);
    await file.close();
    const { record } = sessionFiles(home, file.id);
    const text = readFileSync(record, "utf8");
    writeFileSync(record, text.replace('"text":"why', '"text":why'));
    expect(listSessions(home).sessions).toMatchObject([{ id: file.id, turns: 1 }]);
  });

  test("no directory means no sessions", () => {
    expect(listSessions(join(root, "nowhere"))).toEqual({ sessions: [], unreadable: [] });
    expect(openSession(newHome(), "01a22d58-a1b5-71ba-9af8-6bfcf298874a", deps)).toMatchObject({
      problem: expect.stringContaining("no such session"),
    });
  });
});

describe("two at once", () => {
  test("a session that a live process holds is copied, and both transcripts stay whole", async () => {
    const home = newHome();
    const first = started(home);
    first.appendMessage(agent("one"));
    const opened = openSession(home, first.id, deps);
    if ("problem" in opened) throw new Error(opened.problem);
    expect(opened.copyOf).toEqual({ pid: process.pid });
    opened.file.appendMessage(user("two in the copy"));
    first.appendMessage(user("two in the first"));
    await Promise.all([first.close(), opened.file.close()]);
    expect(opened.file.id).not.toBe(first.id);
    expect(loaded(home, first.id).record.messages).toEqual([
      user("why does it fail?"),
      agent("one"),
      user("two in the first"),
    ]);
    expect(loaded(home, opened.file.id).record.messages).toEqual([
      user("why does it fail?"),
      agent("one"),
      user("two in the copy"),
    ]);
  });

  test.each([
    ["a dead process", { pid: 4_194_303 }],
    ["before a reboot", { boot: "00000000-0000-0000-0000-000000000000" }],
    ["a process whose number was used again", { started: "1" }],
  ])("a lock left by %s is taken over", async (_, stale) => {
    const home = newHome();
    const file = started(home);
    const { lock } = sessionFiles(home, file.id);
    const own = JSON.parse(readFileSync(lock, "utf8"));
    expect(own).toMatchObject({ pid: process.pid, host: hostname() });
    await file.close();
    writeFileSync(lock, JSON.stringify({ ...own, ...stale }));
    const opened = openSession(home, file.id, deps);
    expect(opened).toMatchObject({ copyOf: null });
    if ("file" in opened) await opened.file.close();
  });
});

describe("changes of the past", () => {
  const grown = (home: string | null) => {
    const file = started(home, "/project", "turn one");
    for (const message of [
      agent("a1"),
      user("turn two"),
      agent(call("c")),
      results("c"),
      agent("a2"),
      user("turn three"),
    ])
      file.appendMessage(message);
    return file;
  };

  test("turns taken back and given again are as before", async () => {
    const home = newHome();
    const file = grown(home);
    const before = [...file.record.messages];
    const removed = file.truncateTo(file.messagesOfTurns(1));
    expect(file.record).toMatchObject({ turns: 1, messages: before.slice(0, 2) });
    expect(loaded(home, file.id).record.messages).toEqual(before.slice(0, 2));
    for (const message of removed) file.appendMessage(message);
    await file.close();
    expect(loaded(home, file.id).record).toMatchObject({ turns: 3, messages: before });
  });

  test("views that no longer fit go with the messages they were about", () => {
    const file = grown(null);
    file.recordView({ ...WHOLE_VIEW, dropped: 2, summary: "early", reasoningBefore: 4 });
    file.recordView({ ...WHOLE_VIEW, dropped: 6, summary: "late" });
    file.truncateTo(3);
    expect(file.record.views).toMatchObject([{ summary: "early", reasoningBefore: 3 }]);
  });

  test("a replaced transcript is kept and comes back", async () => {
    const home = newHome();
    const file = grown(home);
    const before = [...file.record.messages];
    file.replaceTranscript({ ...user("summary"), summary: true });
    file.appendMessage(user("go on"));
    expect(loaded(home, file.id).record).toEqual(file.record);
    expect(file.record.compactions).toMatchObject([{ messages: before }]);
    expect(file.restoreTranscript()).toBe(true);
    expect(file.restoreTranscript()).toBe(false);
    await file.close();
    expect(loaded(home, file.id).record).toMatchObject({ messages: before, compactions: [], turns: 3 });
  });

  test("a fork takes the first turns, the views that fit and no costs", async () => {
    const home = newHome();
    const file = grown(home);
    file.addSpend(spend(1));
    file.recordView({ ...WHOLE_VIEW, dropped: 1, summary: "s" });
    const fork = forkSession(file, home, deps, 2);
    await fork.close();
    const { record } = loaded(home, fork.id);
    expect(record).toMatchObject({
      turns: 2,
      costUsd: null,
      inputTokens: 0,
      title: "turn one",
      views: [{ dropped: 1 }],
    });
    expect(record.messages).toEqual(file.record.messages.slice(0, 6));
    expect(file.record.messages).toHaveLength(7);
    file.closeNow();
  });
});

describe("calls that were open", () => {
  test("one that was dispatched is told from one that never was, also after a fold", async () => {
    const home = newHome();
    const file = started(home);
    file.appendMessage(agent(call("ran", "bash", { command: "make" }), call("waiting"), call("done")));
    file.startCall({ id: "ran", name: "bash", input: { command: "make" } });
    file.startCall({ id: "done", name: "read_file", input: {} });
    file.appendMessage(results("done"));
    await file.close();
    const again = reopened(home, file.id);
    expect(again.interruptedCalls).toEqual([{ id: "ran", name: "bash", input: { command: "make" } }]);
    expect(again.pendingCalls.map((item) => item.id)).toEqual(["waiting"]);
    again.appendMessage(results("ran", "waiting"));
    expect([again.interruptedCalls, again.pendingCalls]).toEqual([[], []]);
    await again.close();
  });
});

describe("a disk that won't", () => {
  test("a home that can't be written stops nothing, is said once, and everything is saved when it can be again", async () => {
    notices = [];
    const home = newHome();
    writeFileSync(home, "in the way");
    const file = started(home);
    file.appendMessage(agent("answer"));
    expect(await file.flush()).toMatchObject({ reason: expect.any(String) });
    expect(file.flushNow()).not.toBeNull();
    expect(file.degraded).toContain(home);
    expect(notices).toHaveLength(1);
    rmSync(home);
    file.appendMessage(user("and now?"));
    expect(await file.flush()).toBeNull();
    expect(file.degraded).toBeNull();
    expect(loaded(home, file.id).record.messages).toHaveLength(3);
    await file.close();
    expect(notices).toHaveLength(1);
  });

  test("a full disk keeps the last good state, and what came later follows when there is room", async () => {
    const home = join(root, "tiny");
    mkdirSync(home);
    const mounted = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", home]).success;
    if (!mounted) return console.warn("SKIPPED: a full disk needs the right to mount a tmpfs");
    try {
      notices = [];
      const file = started(home);
      await file.save();
      file.appendMessage(agent("small"));
      for (let index = 0; index < 10; index++) file.appendMessage(user(`${index} `.padEnd(60_000, "x")));
      expect(await file.save()).toMatchObject({ code: "ENOSPC" });
      expect(notices).toHaveLength(1);
      expect(notices[0]).toContain("the disk is full");
      const kept = loaded(home, file.id);
      expect(kept.damaged).toBe(0);
      expect(kept.record.messages.length).toBeWithin(2, 12);
      expect(Bun.spawnSync(["mount", "-o", "remount,size=8m", home]).success).toBe(true);
      expect(await file.flush()).toBeNull();
      expect(loaded(home, file.id).record.messages).toEqual(file.record.messages);
      await file.close();
    } finally {
      Bun.spawnSync(["umount", "-l", home]);
    }
  });

  test("a save in a signal handler is not undone by a fold that was under way", async () => {
    const home = newHome();
    const file = started(home);
    for (let index = 0; index < 50; index++) file.appendMessage(user("x".repeat(20_000)));
    const fold = file.save();
    file.appendMessage(agent("last words"));
    expect(file.flushNow()).toBeNull();
    await fold;
    expect(loaded(home, file.id).record.messages).toEqual(file.record.messages);
    expect(readdirSync(join(home, "sessions")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    file.closeNow();
  });

  test("messages that come while a fold is under way are in the journal after it", async () => {
    const home = newHome();
    const file = started(home);
    const fold = file.save();
    file.appendMessage(agent("meanwhile"));
    await fold;
    const copy = newHome();
    cpSync(home, copy, { recursive: true });
    expect(loaded(copy, file.id).record.messages).toEqual([user("why does it fail?"), agent("meanwhile")]);
    await file.close();
  });
});
