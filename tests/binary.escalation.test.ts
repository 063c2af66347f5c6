/** Approvals and the sandbox in the built program: what runs unasked, what is asked again after the sandbox stopped it, at a terminal and as lines. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { BINARY, closeBenches, openBench } from "./support/binary.ts";
import { eventFaults } from "./support/event-check.ts";
import type { Reply } from "./support/model-server.ts";
import { openPty } from "./support/pty.ts";
import { landlockAbi } from "./support/sandbox-run.ts";

afterAll(closeBenches);
const abi = landlockAbi();
if (abi < 1) console.warn("NO LANDLOCK HERE: approvals are not tried in the sandbox");

const script = (...commands: string[]): Reply[] => [
  ...commands.map((command, index): Reply => ({ calls: [{ id: `c${index}`, name: "bash", input: { command } }] })),
  { text: "over" },
];
const FILES = { "w.sh": "echo part >> part; echo hi >> ../other/f", "../other/x": "" };

describe.skipIf(abi < 1).concurrent("the sandbox and who is asked", () => {
  test("at a terminal: stopped, asked about with the real path, allowed for the session, and then not asked", async () => {
    const at = await openBench(script("sh w.sh", "sh w.sh"), {
      config: { permission: { bash: "allow" } },
      files: FILES,
    });
    const env = { ...at.env, SHIRO_HOME: at.home, HOME: join(dirname(at.dir), "user") };
    const known = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
    const pty = openPty([BINARY], { cwd: at.dir, env: Object.fromEntries(known), cols: 200, rows: 50 });
    try {
      await pty.expect("> ", 15_000);
      pty.write("go\r");
      await pty.expect("v view whole", 15_000);
      const other = join(dirname(at.dir), "other");
      for (const shown of [
        "the sandbox stopped bash: run it again?",
        `blocked by sandbox: ${other}/f may not be written. The first run ended with exit code 2 and may have done part of its work.`,
        `w  in the sandbox, writing allowed in ${other}, this once`,
        "o  outside the sandbox, with your rights, this once",
      ])
        expect(pty.screen.text()).toContain(shown);
      pty.write("s");
      await pty.expect("over", 15_000);
      expect(readFileSync(join(other, "f"), "utf8")).toBe("hi\nhi\n");
      expect(readFileSync(at.path("part"), "utf8")).toBe("part\npart\npart\n");
      expect(pty.raw().split("run it again?")).toHaveLength(2);
    } finally {
      pty.close();
    }
  }, 60_000);

  test("as lines: an approval with its ways; an answer takes one, --yolo takes none", async () => {
    const at = await openBench(script("sh w.sh"), { files: FILES });
    const run = at.start(["-p", "go", "--approvals", "jsonl", "--yolo"], { open: true });
    await run.seen("stdout", '"choices"');
    run.write('{"id":"c0","decision":"allow","choice":"outside"}\n');
    const { code, events } = await run.ended;
    expect([code, await eventFaults(events)]).toEqual([0, []]);
    const asked = events.filter((event) => event.type === "approval");
    expect(asked).toMatchObject([{ id: "c0", name: "bash", subject: "sh w.sh", always: null }]);
    expect(JSON.stringify(asked)).toContain('"name":"write-session"');
    expect(readFileSync(join(at.dir, "../other/f"), "utf8")).toBe("hi\n");
  });

  test("where nobody is asked, commands run confined if the mode says so, and publishing does not", async () => {
    const commands = ["sh w.sh; echo $SHIRO_SANDBOX > level", "git push", "touch ../other/made"];
    const at = await openBench(script(...commands), { config: { sandbox: "auto-allow-sandboxed" }, files: FILES });
    const { events } = await at.run(["-p", "go", "--json"]);
    const results = events.flatMap((event) =>
      event.type === "tool-result"
        ? [String(event["output"])]
        : event.type === "tool-denied"
          ? [String(event["by"])]
          : [],
    );
    expect(results).toEqual([expect.any(String), "ask", expect.stringContaining("[blocked by sandbox: ")]);
    expect(readFileSync(at.path("level"), "utf8")).toMatch(/^f(ull|s\d)\n$/);
    expect(existsSync(join(at.dir, "../other/made")) || existsSync(join(at.dir, "../other/f"))).toBe(false);
  });
});
