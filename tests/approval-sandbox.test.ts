/** What the sandbox changes in judgements: which questions it answers, on which kernel, and which it never does. Nothing is run and no kernel is asked. */
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Ask } from "../src/approval.ts";
import { rememberTest } from "../src/sandbox-probe.ts";
import { RUNGS, type Rung } from "../src/sandbox-rungs.ts";
import { SANDBOX_MODES, settingsOf, type SandboxConfig, type SandboxMode } from "../src/sandbox-settings.ts";
import { openSandbox, type Sandbox } from "../src/sandbox.ts";
import { isExcludedLine } from "../src/tool-bash-sandbox.ts";
import { call, makeGate, makeWorkspace, type GateOptions } from "./support/approval-bench.ts";
import { closePlaces, places } from "./support/sandbox-places.ts";

afterAll(closePlaces);
const root = makeWorkspace();

/** One that has tested its kernel before and found this. */
function sandboxAt(
  config: SandboxConfig,
  rung: Rung,
  more: { platform?: NodeJS.Platform; tested?: false } = {},
): Sandbox {
  const at = places();
  const problem = rung === "none" ? "the kernel refuses a sandbox" : null;
  if (more.tested !== false) rememberTest(at.stateHome, { rung, abi: rung === "none" ? 0 : 7, lost: [], problem });
  return openSandbox({
    settings: settingsOf(config),
    places: { ...at, workspace: root },
    env: { TMPDIR: join(at.home, "nowhere") },
    platform: more.platform ?? "linux",
    self: ["/nonexistent/shiro"],
    passed: [],
    isExcluded: isExcludedLine,
  });
}

/** How a call ends for a person who refuses everything, or for nobody. */
async function outcome(command: string, options: GateOptions): Promise<"runs" | "asks" | "denied"> {
  let asked = false;
  const ask: Ask = async () => {
    asked = true;
    return { decision: "deny" };
  };
  const gate = makeGate(root, options);
  const admission = await gate.admit(call("bash", { command }), options.interactive === false ? null : ask);
  if ("grant" in admission) return "runs";
  return asked ? "asks" : "denied";
}

const AUTO = "auto-allow-sandboxed";
const RULES = { none: undefined, ask: { "*": "ask" }, allow: { "*": "allow" }, deny: { "*": "deny" } } as const;
const LOWEST: Record<"any" | "fs" | "full", Rung> = { any: "fs1", fs: "fs1", full: "full" };

describe("the matrix of approvals", () => {
  const kernels = SANDBOX_MODES.flatMap((mode) =>
    (["any", "fs", "full"] as const).flatMap((require) => RUNGS.map((rung) => ({ mode, require, rung }))),
  ).filter(({ mode, require, rung }) => mode === AUTO || (require === "fs" && rung === "full"));

  test.each(kernels)("mode $mode, require $require, on $rung", async ({ mode, require, rung }) => {
    const sandbox = sandboxAt({ mode, require }, rung);
    // `any` takes a kernel that closes the network only, and that never counts for approvals.
    const answers = mode === AUTO && RUNGS.indexOf(rung) >= RUNGS.indexOf(LOWEST[require]);
    for (const [rule, table] of Object.entries(RULES))
      for (const interactive of [true, false])
        for (const [command, guarded] of [
          ["make test > log.txt", false],
          ["git reset --hard", true],
        ] as const) {
          const rules = table === undefined ? {} : { rules: { bash: { ...table }, write_file: { ...table } } };
          // The guard is off: what it would refuse is at least asked about.
          const found = await outcome(command, { ...rules, interactive, sandbox, plugins: [] });
          const question = interactive ? "asks" : "denied";
          const byRule = {
            none: answers && !guarded ? "runs" : question,
            ask: question,
            allow: "runs",
            deny: "denied",
          };
          expect([rule, interactive, command, found]).toEqual([
            rule,
            interactive,
            command,
            byRule[rule as keyof typeof RULES],
          ]);
        }
  });

  test("a kernel that can't be tested answers nothing", async () => {
    const sandbox = sandboxAt(AUTO, "full", { tested: false });
    expect(await outcome("make test", { sandbox })).toBe("asks");
  });

  test.each(["darwin", "win32", "freebsd"] as const)("nor does %s", async (platform) => {
    const sandbox = sandboxAt({ mode: AUTO, experimental: true }, "full", { platform });
    expect(await outcome("make test", { sandbox })).toBe("asks");
  });

  test("nor does a sandbox with a way out", async () => {
    const sandbox = sandboxAt({ mode: AUTO, unixSockets: "on" }, "full");
    expect(await outcome("make test", { sandbox })).toBe("asks");
  });

  test("the self-test is run for no question that it can't answer", async () => {
    const asked: string[] = [];
    const sandbox = {
      excludes: () => false,
      testedVerdict: async (command: string) => {
        asked.push(command);
        return { autoAllow: true, why: "it runs in the sandbox (full)" };
      },
    };
    const rules = { bash: { "a *": "ask", "b *": "allow", "c *": "deny" } };
    for (const command of ["a x", "b x", "c x", "git push", "d x > /tmp/y", "d `"])
      await outcome(command, { rules, sandbox });
    expect(asked).toEqual([]);
    expect(await outcome("d x", { rules, sandbox })).toBe("runs");
    expect(asked).toEqual(["d x"]);
  });
});

describe("in a sandbox that lets commands run unasked", () => {
  const sandbox = sandboxAt({ mode: AUTO, excluded: ["docker *"] }, "full");

  test.each([
    ["npm test", "runs"],
    ["cd sub && make -j4 2>&1 | tee ../log.txt", "runs"],
    ["python3 -c 'print(1)'", "runs"],
    ["CI=1 npm test", "runs"],
    ["sh build.sh; ./configure", "runs"],
    ["git commit -am x", "runs"],
    // Not protected by it: the workspace, and what others get to see.
    ["rm -rf src", "denied"],
    ["git clean -fdx", "denied"],
    ["git push", "asks"],
    ["git -C . push origin x", "asks"],
    ["git $verb", "asks"],
    ["npm publish", "asks"],
    ["npm --workspace a publish", "asks"],
    ["env X=1 cargo publish", "asks"],
    ["docker push x | cat", "asks"],
    ["npm run deploy:prod", "asks"],
    ["make -j$(nproc)", "runs"],
    ["__proto__ x; constructor y; git __proto__", "asks"],
    ["__proto__ x; constructor y", "runs"],
    ["make $target", "asks"],
    ["npx semantic-release", "asks"],
    ["f() { git push; }; f", "asks"],
    ["find src -exec rm {} +", "asks"],
    ["rm src/*.c", "asks"],
    ["rm README.md", "runs"],
    ["truncate -s 0 README.md", "asks"],
    [": > README.md", "asks"],
    [": > new.txt", "runs"],
    ["rsync -a --del empty/ src", "asks"],
    ["rsync -a --delay-updates src/ copy", "runs"],
    // Work that only the working tree has, and branches that are moved.
    ["git checkout main", "runs"],
    ["git checkout README.md", "asks"],
    ["git checkout src/*", "asks"],
    ["cd src && git checkout a.c", "asks"],
    ["git -C src checkout a.c", "asks"],
    ["git -C src checkout main", "runs"],
    ["git -C . -C src checkout a.c", "asks"],
    ["git --work-tree=src checkout a.c", "asks"],
    ["git checkout main -- src", "asks"],
    ["git checkout -B main", "asks"],
    ["git restore src", "asks"],
    ["git restore --staged .", "runs"],
    ["git rm --cached README.md", "runs"],
    ["git rm -rf src", "asks"],
    ["git branch x", "runs"],
    ["git branch -M x", "asks"],
    ["git worktree remove -f ../x", "asks"],
    ["git fetch origin", "runs"],
    ["git fetch origin +main:main", "asks"],
    ["git update-ref refs/heads/main x", "asks"],
    ["git rebase --abort", "asks"],
    ["git rebase -x 'git push' main", "asks"],
    // An alias, or a program of that name, may do anything.
    ["git p", "asks"],
    ["git -c alias.p=push p", "asks"],
    ["git lfs push origin", "asks"],
    ["xargs git < list", "asks"],
    ["git -c core.sshCommand='git push' fetch", "asks"],
    ["alias g=git; g push", "asks"],
    // What runs later, outside.
    ["git config --get user.name", "runs"],
    ["git config core.fsmonitor ./x", "asks"],
    ["git remote -v", "runs"],
    ["git remote -v add x y", "asks"],
    ["git submodule --quiet foreach git push", "asks"],
    ["git init --template=x", "asks"],
    ["npx husky add x", "asks"],
    // Other machines.
    ["gh pr view 3", "runs"],
    ["gh pr create view", "asks"],
    ["kubectl -n get delete pod x", "asks"],
    ["kubectl -n a get pods", "runs"],
    ["terraform apply", "asks"],
    ["aws s3 cp x s3://y", "asks"],
    ["gcloud projects delete list", "asks"],
    ["ssh host x", "asks"],
    ["rsync -a src host:x", "asks"],
    ["curl https://example.org/x", "runs"],
    ["curl -s -X GET https://example.org/x", "runs"],
    ["curl -sX DELETE https://example.org/x", "asks"],
    ["curl -T notes.md https://example.org", "asks"],
    ["curl -X POST http://localhost:3000/x", "runs"],
    // Not asked by default, but for a reason.
    ["PATH=. ls", "asks"],
    ["ls > /tmp/elsewhere", "asks"],
    ["echo x >> .shiro/config.json", "asks"],
    ["echo x > .git/config", "denied"],
    ["cat .env", "denied"],
    ["echo 'x", "asks"],
    ["$CMD x", "asks"],
    ["curl x | sh", "denied"],
    ["grep -r x .", "asks"],
    ["docker ps", "asks"],
  ])("%s %s", async (command, expected) => {
    expect<string>(await outcome(command, { sandbox })).toBe(expected);
    // --yolo reaches no denial and no self-protection; here it has the last word on the rest.
    if (expected === "asks" && !command.includes(".shiro"))
      expect(await outcome(command, { sandbox, yolo: true })).toBe("runs");
  });

  test("the third identical call in a turn asks as ever", async () => {
    const gate = makeGate(root, { sandbox, interactive: false });
    const outcomes: string[] = [];
    for (let round = 0; round < 3; round++) {
      const prepared = call("bash", { command: "make test" });
      const admission = await gate.admit(prepared, null);
      outcomes.push("grant" in admission ? "runs" : admission.denied.by);
      if ("grant" in admission) await gate.record(prepared, { text: "same", isError: false });
    }
    expect(outcomes).toEqual(["runs", "runs", "repeat"]);
  });

  test("explain says that it is the sandbox that allows, or why it doesn't", async () => {
    const gate = makeGate(root, { sandbox });
    const label = 'sandbox.mode "auto-allow-sandboxed"';
    expect(await gate.explainTested("bash", "make test")).toEqual({
      decision: "allow",
      by: "sandboxed",
      rule: label,
      reason: "No rule speaks of it, and it runs in the sandbox (full).",
      always: null,
      commands: [{ text: "make test", normalised: "make test", decision: "allow", rule: label }],
    });
    expect(await gate.explainTested("bash", "git push")).toMatchObject({
      decision: "ask",
      by: "default",
      sandbox: "it publishes, which no sandbox takes back",
    });
    expect(gate.explain("bash", "make test")).toMatchObject({ decision: "ask", by: "default" });
    const ruled = makeGate(root, { sandbox, rules: { bash: { "make *": "ask" } } });
    expect("sandbox" in (await ruled.explainTested("bash", "make test"))).toBe(false);
    const on = makeGate(root, { sandbox: sandboxAt("on", "full") });
    expect("sandbox" in (await on.explainTested("bash", "make test"))).toBe(false);
  });
});

describe("commands that the user keeps outside", () => {
  const open = (mode: SandboxMode) => sandboxAt({ mode, excluded: ["docker *"] }, "full");

  test.each([
    ["on", "docker ps", "asks"],
    [AUTO, "docker ps", "asks"],
    // Another program in the line: then all of it is confined.
    [AUTO, "docker ps | sort", "runs"],
    ["off", "docker ps", "runs"],
  ] as const)("mode %s: %s %s, whatever rule allows it", async (mode, command, expected) => {
    const sandbox = open(mode);
    expect(await outcome(command, { sandbox, rules: { bash: "allow" } })).toBe(expected);
    expect(await outcome(command, { sandbox, rules: { bash: "allow" }, yolo: true })).toBe("runs");
    expect(await outcome(command, { sandbox, rules: { bash: "deny" }, yolo: true })).toBe("denied");
  });

  test("a grant for the session is not offered and not kept", async () => {
    const gate = makeGate(root, { sandbox: open("on") });
    const patterns: (string | null)[][] = [];
    const ask: Ask = async ({ grants }) => {
      patterns.push(grants.map((grant) => grant.pattern));
      return { decision: "always" };
    };
    for (const command of ["docker ps", "docker ps"]) await gate.admit(call("bash", { command }), ask);
    expect(patterns).toEqual([[null], [null]]);
    expect(gate.grants()).toEqual([]);
    const nobody = makeGate(root, { sandbox: open("on"), interactive: false });
    const admission = await nobody.admit(call("bash", { command: "docker ps" }), null);
    const reason = "denied" in admission ? admission.denied.reason : "";
    expect(reason).toEndWith(
      "so it was not run. The user can allow it with --yolo, which answers every such question.",
    );
  });
});
