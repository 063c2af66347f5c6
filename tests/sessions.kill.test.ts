/** Sessions of processes that are killed without warning: whatever they announced is there afterwards. */
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listSessions, loadSession, openSession } from "../src/sessions.ts";
import { interruptedCalls } from "../src/session-record.ts";
import { rounds } from "./support/rounds.ts";
import { seeded } from "./support/transcripts.ts";

const home = mkdtempSync(join(tmpdir(), "shiro-kill-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const CHAINS = 5;
const KILLS = rounds(6, 20);
const WRITER = join(import.meta.dir, "support/session-writer.ts");

interface Announced {
  id: string;
  last: number;
}

/** Runs a writer until it has announced `messages` messages more and kills it there and then. */
async function killedWriter(id: string, messages: number, size: number): Promise<Announced> {
  const child = Bun.spawn([process.execPath, WRITER, home, id, String(size)], { stdout: "pipe", stderr: "inherit" });
  const announced: Announced = { id: "", last: -1 };
  let rest = "";
  let left = messages;
  for await (const bytes of child.stdout) {
    const lines = (rest + Buffer.from(bytes).toString()).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [word, value = ""] = line.split(" ");
      if (word === "id") announced.id = value;
      if (word === "message") announced.last = Number(value);
      if (word === "message" && --left === 0) child.kill("SIGKILL");
    }
  }
  await child.exited;
  return announced;
}

async function chain(number: number): Promise<void> {
  const random = seeded(number);
  const size = [40, 400, 3_000, 20_000, 60_000][number % 5] ?? 400;
  let id = "new";
  let seen = 0;
  for (let round = 0; round < KILLS; round++) {
    const announced = await killedWriter(id, 1 + Math.floor(random() * 60), size);
    id = announced.id;
    const loaded = loadSession(home, id);
    if ("problem" in loaded) throw new Error(`${loaded.problem} (chain ${number}, round ${round})`);
    const { messages } = loaded.record;
    expect(messages.length).toBeGreaterThan(announced.last);
    expect(messages.length).toBeGreaterThan(seen);
    seen = messages.length;
    for (const [index, message] of messages.entries()) {
      expect(message.role).toBe((["user", "assistant", "tool"] as const)[index % 3] ?? "user");
      if (message.role !== "tool") expect(JSON.stringify(message)).toContain(`"${index} `);
    }
    if (messages.length % 3 === 2) expect(interruptedCalls(loaded.record).length).toBeLessThanOrEqual(1);
  }
}

test("killed processes lose nothing they had announced, and each session goes on", async () => {
  const numbers = Array.from({ length: CHAINS }, (_, index) => index);
  await Promise.all(numbers.map(chain));
  const list = listSessions(home);
  expect(list.unreadable).toEqual([]);
  expect(list.sessions).toHaveLength(CHAINS);
}, 60_000);

test("what killed folds left behind is gone once the session is opened again", async () => {
  const id = listSessions(home).sessions[0]?.id ?? "";
  writeFileSync(join(home, "sessions", `.${id}.json.0123456789ab.tmp`), "half a rec");
  const opened = openSession(home, id, { now: () => new Date(), onNotice: (message) => expect(message).toBe("") });
  if ("problem" in opened) throw new Error(opened.problem);
  await opened.file.close();
  const names = readdirSync(join(home, "sessions")).filter((name) => name.includes(id));
  expect(names).toEqual([`${id}.json`]);
  expect(existsSync(join(home, "sessions", `${id}.lock`))).toBe(false);
});

test("a session that another process is writing is copied, with the process named", async () => {
  const child = Bun.spawn([process.execPath, WRITER, home, "new", "500"], { stdout: "pipe", stderr: "inherit" });
  try {
    // Read by hand: leaving a `for await` would close the pipe and end the writer.
    const reader = child.stdout.getReader();
    let text = "";
    while (!text.includes("message 0\n")) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`the writer ended: ${text}`);
      text += Buffer.from(value).toString();
    }
    const id = /id (\S+)/.exec(text)?.[1] ?? "";
    const opened = openSession(home, id, { now: () => new Date(), onNotice: (message) => expect(message).toBe("") });
    if ("problem" in opened) throw new Error(opened.problem);
    expect(opened.copyOf).toEqual({ pid: child.pid });
    expect(opened.file.id).not.toBe(id);
    expect(opened.file.record.messages.length).toBeGreaterThan(0);
    await opened.file.close();
  } finally {
    child.kill("SIGKILL");
    await child.exited;
  }
});
