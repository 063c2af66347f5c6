/** Headless runs that are ended: by a limit of the command line, by their own circles, by a signal or a terminal that goes away. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../src/types.ts";
import { BINARY, closeBenches, openBench } from "./support/binary.ts";
import { eventFaults } from "./support/event-check.ts";
import { runInside } from "./support/inside.ts";
import type { Reply } from "./support/model-server.ts";
import { openPty } from "./support/pty.ts";

afterAll(closeBenches);

function pidIn(text: string): number {
  return Number(/pid (\d+)/.exec(text)?.[1]);
}

/** Zombies don't count: the container may have nobody to reap them. */
function isRunning(pid: number): boolean {
  const { stdout } = Bun.spawnSync(["ps", "-o", "stat=", "-p", String(pid)]);
  const state = stdout.toString().trim();
  return state !== "" && !state.startsWith("Z");
}

/** For limits that are reached by many commands: what confines them is not the point there, and costs a start each. */
const UNCONFINED = { permission: { bash: "allow" }, sandbox: "off" };

const TOUCH: Reply[] = [{ calls: [{ name: "bash", input: { command: "touch made" } }] }, { text: "over" }];

describe.concurrent("limits and interrupts", () => {
  test("denied calls: 0 with a count, 5 with --strict", async () => {
    const at = await openBench(TOUCH);
    const plain = await at.run(["-p", "hi"]);
    expect([plain.code, plain.stdout]).toEqual([0, "over\n"]);
    expect(plain.stderr).toEndWith("\n1 call denied\n");
    const strict = await openBench(TOUCH);
    const json = await strict.run(["-p", "hi", "--strict", "--json"]);
    expect(json.code).toBe(5);
    expect(json.events.at(-1)).toMatchObject({ exit: 5, reason: "denied" });
    expect(json.stderr).toMatch(/shiro: .*denied.*\n$/);
    expect(existsSync(at.path("made")) || existsSync(strict.path("made"))).toBe(false);
  });

  test("--max-steps", async () => {
    const at = await openBench(
      (_, index) => ({ text: `step ${index}`, calls: [{ name: "bash", input: { command: `echo ${index}` } }] }),
      {
        config: UNCONFINED,
      },
    );
    const { code, stdout, stderr } = await at.run(["-p", "hi", "--max-steps", "3"]);
    expect([code, stdout]).toEqual([6, "step 2\n"]);
    expect(stderr).toMatch(/shiro: .*step cap.*\n$/);
    expect(at.server.requests).toHaveLength(3);
    expect(at.server.faults).toEqual([]);
  });

  test("--max-tokens stops before the request that would begin above it", async () => {
    const at = await openBench(
      (_, index) => ({
        calls: [{ name: "bash", input: { command: `echo ${index}` } }],
        usage: { input: 400, output: 100 },
      }),
      { config: UNCONFINED },
    );
    const { code, events } = await at.run(["-p", "hi", "--max-tokens", "900", "--json"]);
    expect(code).toBe(6);
    expect(at.server.requests).toHaveLength(2);
    expect(events.at(-1)).toMatchObject({ reason: "ceiling", inputTokens: 800 });
    expect(events.filter((event) => event.type === "notice").at(-1)?.message).toMatch(/maxTokens|--max-tokens/);
  });

  test("what was used before counts for a resumed session", async () => {
    const at = await openBench([{ text: "dear", usage: { input: 900, output: 100 } }]);
    await at.run(["-p", "hi"]);
    const { code, events } = await at.run(["-c", "-p", "more", "--max-tokens", "1000", "--json"]);
    expect([code, events.at(-1)?.reason]).toEqual([6, "ceiling"]);
    expect(at.server.requests).toHaveLength(1);
    expect((await at.run(["-c", "-p", "more", "--max-tokens", "5000"])).code).toBe(0);
    expect(at.server.faults).toEqual([]);
  });

  test("--max-seconds starts no request after that time", async () => {
    const at = await openBench(
      (_, index) => ({ calls: [{ name: "bash", input: { command: `sleep 0.5; echo ${index}` } }] }),
      {
        config: UNCONFINED,
      },
    );
    const { code, events } = await at.run(["-p", "hi", "--max-seconds", "0.4", "--json"]);
    expect([code, events.at(-1)?.reason]).toEqual([6, "ceiling"]);
    expect(events.filter((event) => event.type === "tool-result")).toHaveLength(at.server.requests.length);
  });

  test.each<[string, (index: number) => JsonObject]>([
    ["the same call for ever", () => ({ command: "echo noop" })],
    ["two calls in turn", (index) => ({ command: `echo ${index % 2}` })],
    [
      "the same call, its arguments in another order",
      (index) => (index % 2 ? { command: "echo noop", timeout: 9000 } : { timeout: 9000, command: "echo noop" }),
    ],
  ])("%s is stopped with a reason", async (name, input) => {
    const at = await openBench(
      (request, index) =>
        request.text.includes("This turn is being stopped")
          ? { text: "I give up." }
          : { calls: [{ name: "bash", input: input(index) }] },
      { config: UNCONFINED },
    );
    const args = ["-p", "hi", "--json"];
    // One as a program; what counts as a circle is the same in this process.
    const { code, events, stderr } = await (name.endsWith("for ever") ? at.run(args) : runInside(at, args));
    expect(code).toBe(6);
    expect(events.at(-1)).toMatchObject({ reason: "partial" });
    expect(at.server.requests.length).toBeLessThan(20);
    expect(stderr).toMatch(/shiro: .+\n$/);
    expect(at.server.faults).toEqual([]);
  });

  test("--timeout prints what was said and saves the session", async () => {
    const at = await openBench([{ text: "so far so good", hang: "stream" }, { text: "go on" }]);
    const { code, stdout, stderr } = await at.run(["-p", "hi", "--timeout", "3s"]);
    expect([code, stdout]).toEqual([7, "so far so good\n"]);
    expect(stderr).toMatch(/^~.* out, .*\nshiro: the --timeout was reached\n$/);
    expect(await at.run(["-p", "go on", "-c"])).toMatchObject({ code: 0, stdout: "go on\n" });
    expect(at.server.requests[1]?.text).toContain("so far so good");
    expect(at.server.faults).toEqual([]);
  });

  test("--timeout ends an endpoint that lists no models", async () => {
    const dead = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const at = await openBench([]);
    const env = { SHIRO_MODEL: undefined, SHIRO_BASE_URL: `http://127.0.0.1:${dead.port}/v1` };
    const { code, stderr } = await at.run(["-p", "hi", "--timeout", "400ms"], { env });
    dead.stop(true);
    expect([code, stderr]).toEqual([7, "shiro: the --timeout was reached\n"]);
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s ends the command that runs, answers the call and keeps the session", async (signal, exit) => {
    const at = await openBench(
      [
        { text: "Working.", calls: [{ name: "bash", input: { command: "echo pid $$; sleep 300" } }] },
        { text: "again" },
      ],
      // One of them with the sandbox's launcher between.
      { config: signal === "SIGTERM" ? { permission: { bash: "allow" } } : UNCONFINED },
    );
    const run = at.start(["-p", "hi", "--json"]);
    const pid = pidIn(await run.seen("stdout", /pid \d+/));
    run.kill(signal);
    const { code, events, stderr } = await run.ended;
    expect(code).toBe(exit);
    expect(await eventFaults(events)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ exit, reason: "interrupted" });
    expect(stderr).toBe("shiro: interrupted\n");
    expect(isRunning(pid)).toBe(false);
    expect(await at.run(["-p", "and now?", "-c"])).toMatchObject({ code: 0, stdout: "again\n" });
    expect(at.server.faults).toEqual([]);
  });

  test("a terminal that goes away ends the run and its command, and the session is kept", async () => {
    const at = await openBench([{ calls: [{ name: "bash", input: { command: "echo pid $$; sleep 300" } }] }], {
      config: { permission: { bash: "allow" } },
    });
    const env = Object.fromEntries(Object.entries(at.env).map(([name, value]) => [name, value ?? ""]));
    const pty = openPty([BINARY, "-p", "go", "--json"], {
      cwd: at.dir,
      env: { ...env, SHIRO_HOME: at.home, HOME: at.dir },
      cols: 400,
    });
    const pid = pidIn(await pty.expect(/pid \d+/));
    pty.close();
    await pty.exited;
    expect(isRunning(pid)).toBe(false);
    const [name = ""] = readdirSync(join(at.home, "sessions")).filter((one) => one.endsWith(".json"));
    expect(readFileSync(join(at.home, "sessions", name), "utf8")).toContain("It did not finish");
  });

  test("under nohup a hang-up doesn't end the run", async () => {
    const gate = Promise.withResolvers<void>();
    const at = await openBench([{ text: "finished", delay: gate.promise }]);
    const run = at.start(["-p", "hi", "--json"], { shell: "trap '' HUP; exec \"$@\"" });
    await run.seen("stdout", '"session"');
    run.kill("SIGHUP");
    gate.resolve();
    expect(await run.ended).toMatchObject({ code: 0, signal: null });
  });

  test("a second signal ends at once, children included", async () => {
    const at = await openBench(
      [
        {
          calls: [
            {
              name: "bash",
              input: { command: "trap '' TERM INT HUP; echo pid $$; while :; do sleep 1; done" },
            },
          ],
        },
      ],
      { config: { permission: { bash: "allow" } } },
    );
    const run = at.start(["-p", "hi", "--json"]);
    const pid = pidIn(await run.seen("stdout", /pid \d+/));
    run.kill("SIGTERM");
    run.kill("SIGINT");
    const { code } = await run.ended;
    expect([130, 143]).toContain(code);
    expect(isRunning(pid)).toBe(false);
  });
});
