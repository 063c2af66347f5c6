/** The sandbox around the agent's own commands, from the built program: what the model is told, what a command can do, what is said where there is none. */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Bench, closeBenches, openBench, type BenchOptions } from "./support/binary.ts";
import { landlockAbi } from "./support/sandbox-run.ts";

afterAll(closeBenches);
const abi = landlockAbi();
if (abi < 1) console.warn("NO LANDLOCK HERE: the agent's commands are not tried in the sandbox");

/** A session whose calls run one after the other; each is `sh` with a script of the workspace, so that no rule reads it. */
async function session(
  scripts: string[],
  options: BenchOptions & { run?: Record<string, string>; args?: string[] } = {},
) {
  const files = Object.fromEntries(scripts.map((text, index) => [`s${index}.sh`, text]));
  const calls = scripts.map((_, index) => ({ calls: [{ name: "bash", input: { command: `sh s${index}.sh` } }] }));
  const { config, ...rest } = options;
  const at = await openBench([...calls, { text: "over" }], {
    ...rest,
    files: { ...files, ...options.files },
    config: { permission: { bash: "allow" }, ...(config as object) }, // an object in every test here
  });
  const run = await at.run(["-p", "go", "--json", ...(options.args ?? [])], options.run ? { env: options.run } : {});
  const results = run.events.filter((event) => event.type === "tool-result").map((event) => String(event["output"]));
  const notices = run.events.filter((event) => event.type === "notice").map((event) => String(event["message"]));
  return { at, run, results, notices, system: systemOf(at) };
}

function systemOf({ server }: Bench): string {
  const messages = server.requests[0]?.body.messages;
  return JSON.stringify(Array.isArray(messages) ? messages[0] : null);
}

describe.skipIf(abi < 1).concurrent("commands of the agent", () => {
  test("write in the workspace and a temporary directory that is gone afterwards, and nowhere else", async () => {
    const { at, run, results, notices, system } = await session(
      [
        'echo $SHIRO_SANDBOX $SHIRO_SANDBOX_NETWORK $npm_config_offline; touch made; echo x > "$TMPDIR/t" && stat -c %a "$TMPDIR" && echo "$TMPDIR"',
        'touch "$HOME/made"',
        'cat "$HOME/.ssh/id" ../home/config.json ../home/spill/other/1.txt; ls ../home >/dev/null && echo listed',
        "bash -c 'exec 9<>/dev/tcp/127.0.0.1/9' || echo refused",
      ],
      { files: { "../user/.ssh/id": "key", "../home/spill/other/1.txt": "of another session" } },
    );
    expect([run.code, notices]).toEqual([0, []]);
    const [first = "", second = "", third = "", fourth = ""] = results;
    const tmp = first.split("\n")[2] ?? "";
    expect(first.split("\n").slice(0, 2)).toEqual([expect.stringMatching(/^(full|fs3|fs1) off true$/), "700"]);
    expect([existsSync(at.path("made")), /\/shiro-\d+\/\d+-tmp-/.test(tmp), existsSync(tmp)]).toEqual([
      true,
      true,
      false,
    ]);
    const home = join(dirname(at.dir), "user");
    expect(second).toContain("[blocked by sandbox: ");
    expect(second).toContain(`${home}/made may not be written`);
    expect(existsSync(join(home, "made"))).toBe(false);
    expect(third.match(/Permission denied/g)).toHaveLength(3);
    expect(third).toContain("may not be read");
    expect(third).toContain("listed");
    expect(fourth).toContain(
      '[perhaps blocked by sandbox: the network is off; the user can allow it with "sandbox": {"network": "on"}]',
    );
    expect(system).toContain(
      `Commands run in a sandbox: they may write only in ${at.dir}, $TMPDIR (not in /tmp); there is no network, localhost included; unix sockets can't be used.`,
    );
    expect(JSON.parse(readFileSync(join(at.home, "sandbox-test.json"), "utf8"))).toMatchObject({
      rung: expect.any(String),
    });
  });

  test("that change what runs code later are told of", async () => {
    const { results } = await session([
      "mkdir -p .git/hooks .vscode; echo x > .git/hooks/pre-commit; echo '{}' > .vscode/tasks.json",
      "true",
    ]);
    expect(results[0]).toContain("[this changed files that run code later: .git/hooks/pre-commit, .vscode/tasks.json]");
    expect(results[1]).not.toContain("changed files");
  });

  test("can't reach what shiro itself holds", async () => {
    const { results } = await session([
      'tr "\\0" "\\n" < /proc/$PPID/environ; kill -STOP $PPID; cat /proc/$PPID/maps > /dev/null; echo done',
    ]);
    expect(results[0]).toContain("done");
    expect(results[0]?.match(/denied|not permitted/gi)?.length).toBe(3);
  });

  test("reach the network and their sockets where the settings say so, and write where they say so", async () => {
    const { at, results } = await session(
      [
        `bash -c 'exec 9<>/dev/tcp/127.0.0.1/9' 2>&1 | grep -q refused && echo 1; touch "$HOME/extra/made"; echo $SHIRO_SANDBOX_NETWORK $GH_TOKEN $API_PASSWORD`,
      ],
      {
        config: { sandbox: { network: "on", write: ["~/extra"], env: { keep: ["GH_TOKEN"] } } },
        files: { "../user/extra/x": "" },
        env: { GH_TOKEN: "kept-token", API_PASSWORD: "gone-password" },
      },
    );
    expect(results[0]).toStartWith("1\non kept-token\n");
    expect(existsSync(join(dirname(at.dir), "user/extra/made"))).toBe(true);
  });

  test("run as ever where it is off, or where they are excluded", async () => {
    const off = await session(['echo "[$SHIRO_SANDBOX]"; touch "$HOME/made"'], { config: { sandbox: "off" } });
    expect(off.results[0]).toStartWith("[]\n");
    expect(off.system).not.toContain("sandbox");
    expect(existsSync(join(dirname(off.at.dir), "user/made"))).toBe(true);
    const config = { sandbox: { excluded: ["sh s0.sh"] } };
    const excluded = await session(['echo "[$SHIRO_SANDBOX]"'], { config, args: ["--yolo"] });
    expect(excluded.results[0]).toStartWith("[]\n");
    // No rule answers for what runs outside.
    const asked = await session(["true"], { config });
    const denied = asked.run.events.find((event) => event.type === "tool-denied");
    expect([asked.results, denied?.["by"]]).toEqual([[], "sandbox"]);
  });

  test("a project's trusted settings tighten, and can't loosen", async () => {
    const own = JSON.stringify({
      sandbox: { mode: "on", network: "on", unixSockets: "off", env: { scrub: ["LOCAL_*"] } },
    });
    const at = await openBench([{ calls: [{ name: "bash", input: { command: "sh s.sh" } }] }, { text: "over" }], {
      config: { permission: { bash: "allow" }, sandbox: "off" },
      files: { ".shiro/config.json": own, "s.sh": 'echo "[$SHIRO_SANDBOX_NETWORK$LOCAL_X]"' },
      env: { LOCAL_X: "x" },
    });
    await at.run(["trust", "--force"]);
    const run = await at.run(["-p", "go", "--json"]);
    expect(String(run.events.find((event) => event.type === "tool-result")?.["output"])).toStartWith("[off]\n");
    expect(JSON.stringify(run.events)).toContain(
      "sandbox.network has no effect: a project can only tighten the sandbox",
    );
  });

  test("are ended with everything they started, at their deadline too", async () => {
    const marked = `77.${process.pid}`;
    const at = await openBench(
      [{ calls: [{ name: "bash", input: { command: "sh s.sh", timeout: 2500 } }] }, { text: "over" }],
      {
        config: { permission: { bash: "allow" } },
        files: { "s.sh": `sleep ${marked} & setsid sleep ${marked} & echo begun; wait` },
      },
    );
    const run = await at.run(["-p", "go", "--json"]);
    expect(JSON.stringify(run.events)).toContain(
      "timed out after 2.5 s and was stopped. It did not finish; its effects are unknown. Output so far:\\nbegun",
    );
    const left = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && commandOf(name).includes(marked));
    expect(left).toEqual([]);
  });
});

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // it ended
  }
}

describe.skipIf(abi < 1).concurrent("where there can be none", () => {
  test("a home directory as the workspace is said once, at the first command", async () => {
    const at = await openBench(
      [...[0, 1].map(() => ({ calls: [{ name: "bash", input: { command: "sh s.sh" } }] })), { text: "over" }],
      {
        config: { permission: { bash: "allow" } },
        files: { "s.sh": 'echo "[$SHIRO_SANDBOX]"' },
      },
    );
    const run = await at.run(["-p", "go", "--json"], { env: { HOME: at.dir } });
    const said = run.events.filter((event) => event.type === "notice").map((event) => String(event["message"]));
    expect(said).toEqual([
      `Commands run without a sandbox: the workspace ${at.dir} can't be confined: it is the home directory. Start in a project's directory. "sandbox": "off" in config.json says that this is meant.`,
    ]);
    expect(String(run.events.find((event) => event.type === "tool-result")?.["output"])).toStartWith("[]\n");
    const status = await at.run(["sandbox", "status"], { env: { HOME: at.dir } });
    expect(status.stdout).toContain(`No sandbox: the workspace ${at.dir} can't be confined: it is the home directory.`);
  });

  test("a requirement the settings make and a secret that can't be kept are named", async () => {
    const at = await openBench([], { config: { sandbox: { denyRead: ["data"] } }, files: { "data/x": "" } });
    expect((await at.run(["sandbox", "status"])).stdout).toContain("can't be kept from them");
    expect((await at.run(["doctor"])).stdout).toMatch(/sandbox +none \(denyRead: .*can't be kept from them\)/);
    const linked = await openBench([], { files: { "keys/id": "" } });
    symlinkSync(linked.path("keys"), join(dirname(linked.dir), "user/.ssh"));
    const status = JSON.parse((await linked.run(["sandbox", "status", "--json"])).stdout) as { lost: string[] }; // shape of its own report
    expect(status.lost).toEqual([expect.stringContaining(".ssh can be read: it is in")]);
  });
});

test("a wrong setting is reported by its name and left out", async () => {
  const at = await openBench([], { config: { sandbox: { netwrok: "on" } } });
  expect((await at.run(["doctor"])).stdout).toMatch(/FAIL config .*sandbox\.netwrok/);
});
