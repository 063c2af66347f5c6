import { beforeAll, describe, expect, test } from "bun:test";
import { dirname } from "node:path";
import { writeFileSync } from "node:fs";
import { GIT_READ_GRANT } from "../src/always.ts";
import type { Answer, ApprovalPrompt, Ask, Gate } from "../src/approval.ts";
import { ToolError, TurnAbort } from "../src/errors.ts";
import { parseRuleFlag } from "../src/permission.ts";
import { Grant, redeem, type PreparedCall, type ToolContext } from "../src/tool.ts";
import { call, makeGate, makeWorkspace, sampleTool, SAMPLE_TOOLS } from "./support/approval-bench.ts";

let root: string;
beforeAll(() => {
  root = makeWorkspace();
});

const bash = (command: string) => call("bash", { command });
const write = (path: string, content = "x") => call("write_file", { path, content });
// A grant is redeemed with whatever the loop gives; sample tools use none of it.
const noContext = {} as ToolContext;

/** Answers every prompt the same and keeps them. */
function answering(answer: Answer | null): { ask: Ask; prompts: ApprovalPrompt[] } {
  const prompts: ApprovalPrompt[] = [];
  return {
    prompts,
    ask: async (prompt) => {
      prompts.push(prompt);
      return answer;
    },
  };
}

async function outcome(gate: Gate, prepared: PreparedCall, ask: Ask | null = null): Promise<string> {
  const admission = await gate.admit(prepared, ask);
  return "grant" in admission ? "grant" : `denied by ${admission.denied.by}`;
}

describe("grants", () => {
  test("a grant runs its call once, a replay and a hand-made one fail", async () => {
    const gate = makeGate(root, { rules: { bash: "allow" } });
    const admission = await gate.admit(bash("ls"), null);
    if (!("grant" in admission)) throw new Error("expected a grant");
    expect(await redeem(admission.grant, noContext)).toEqual({ text: "done" });
    await expect(redeem(admission.grant, noContext)).rejects.toThrow("without a grant");
    // Made behind the compiler's back, as a tool that wants to get around the gate would.
    await expect(redeem(Object.create(Grant.prototype), noContext)).rejects.toThrow("without a grant");
    await expect(redeem({} as unknown as Grant, noContext)).rejects.toThrow("without a grant");
  });

  test.each(SAMPLE_TOOLS.map((tool) => [tool.name, tool] as const))("%s can't be run past the gate", (_, tool) => {
    expect("run" in tool).toBe(false);
    expect(Object.values(tool).some((value) => typeof value === "function" && value.name === "run")).toBe(false);
  });

  test("a denied call never runs", async () => {
    const ran: string[] = [];
    const tool = sampleTool("bash", "allow", true, (command) => [{ kind: "command", command }], ran);
    const gate = makeGate(root, { rules: { bash: { "*": "allow", "curl *": "deny" } } });
    const prepared = { ...bash("curl x"), tool };
    expect(await outcome(gate, prepared)).toBe("denied by rule");
    expect(ran).toEqual([]);
  });
});

describe("always", () => {
  test.each([
    ["git status", GIT_READ_GRANT],
    ["git log --oneline", GIT_READ_GRANT],
    ["git push origin x", "git push *"],
    ["git -C sub push", "git push *"],
    ["npm run dev", "npm run *"],
    ["npm test", "npm test *"],
    ["docker compose up", "docker compose *"],
    ["cargo build --release", "cargo build *"],
    ["touch a b", "touch *"],
    ["git", "git *"],
    ["git --version", null],
    ["git -C sub", null],
    ["npm --version", "npm --version *"],
    ["tsx x.ts", null],
    ["./run.sh a", "./run.sh *"],
    ["timeout 5 npm test", "npm test *"],
    ["npm test && git status", `npm test *, ${GIT_READ_GRANT}`],
    ["python3 -c 'print(1)'", null],
    ["node x.js", null],
    ["bash x.sh", null],
    ["sh -c ls", null],
    ["sudo ls", null],
    ["env ls", null],
    ["xargs ls", null],
    ["eval ls", null],
    ["npm install left-pad", null],
    ["pip install x", null],
    ["npx cowsay", null],
    ["git -c core.pager=x log", null],
    ["git $x", null],
    ["docker -H tcp://x ps", null],
    ["sort -o x y", null],
    ["$CMD x", null],
    ['echo "x', null],
  ])("for %s: %p", (command, pattern) => {
    expect(makeGate(root, { rules: { bash: { "*": "ask" } } }).explain("bash", command).always).toBe(pattern);
  });

  test("for a file its directory, for an address its host, for an MCP tool that tool", () => {
    const gate = makeGate(root);
    expect(gate.explain("write_file", "src/deep/new.ts").always).toBe("src/deep/*");
    expect(gate.explain("web_fetch", "https://example.org/a").always).toBe("https://example.org/*");
    expect(gate.explain("mcp_call", "mcp__a__b").always).toBe("mcp__a__b");
    expect(gate.explain("bash", "cat x > src/y.c").always).toBe("cat *, write_file(src/*)");
    expect(gate.explain("write_file", "new.txt").always).toBe("./*");
  });

  test("approving git status covers git log and asks about everything else", async () => {
    const gate = makeGate(root);
    const { ask, prompts } = answering({ decision: "always" });
    expect(await outcome(gate, bash("git status"), ask)).toBe("grant");
    expect(gate.grants()).toEqual([`bash ${GIT_READ_GRANT}`]);
    expect(await outcome(gate, bash("git log -3 | git -C sub diff"))).toBe("grant");
    for (const command of [
      "git push",
      "npm publish",
      "git log; git push",
      "git status > x.txt",
      "git -c core.pager=x log",
      "git log --output=x",
      "git show $x > y",
      "/tmp/git status",
      "PATH=. git status",
      "git stash",
      "echo $(git push)",
      "sudo git status",
    ])
      expect([command, (await outcome(gate, bash(command))).slice(0, 6)]).toEqual([command, "denied"]);
    expect(prompts).toHaveLength(1);
  });

  test("a compound command offers one grant per command that asked", async () => {
    const gate = makeGate(root, { rules: { bash: { "*": "ask", "git status *": "allow" } } });
    const { ask, prompts } = answering({ decision: "always" });
    await gate.admit(bash("npm test && git status && make x && python3 a.py"), ask);
    expect(prompts[0]?.grants).toEqual([
      { text: "npm test", pattern: "npm test *" },
      { text: "make x", pattern: "make *" },
      { text: "python3 a.py", pattern: null },
    ]);
    expect(gate.grants()).toEqual(["bash npm test *", "bash make *"]);
  });

  test("a grant never beats a deny", async () => {
    const gate = makeGate(root, { rules: { bash: { "*": "ask", "npm run deploy *": "deny" } } });
    await gate.admit(bash("npm run build"), answering({ decision: "always" }).ask);
    expect(await outcome(gate, bash("npm run lint"))).toBe("grant");
    expect(await outcome(gate, bash("npm run deploy"))).toBe("denied by rule");
  });

  test("a grant on a directory covers it by either path and nothing beside it", async () => {
    const gate = makeGate(root);
    await gate.admit(write("src/new.ts"), answering({ decision: "always" }).ask);
    expect(await outcome(gate, write("src/deep/other.ts"))).toBe("grant");
    expect(await outcome(gate, write("loop/src/other.ts"))).toBe("denied by ask");
    expect(await outcome(gate, write("docs/x.md"))).toBe("denied by ask");
    expect(await outcome(gate, bash("true > src/by-redirect.ts"))).toBe("denied by ask");
  });

  test("a grant for a file at the top covers the files beside it, nothing below", async () => {
    const gate = makeGate(root);
    await gate.admit(write("one.txt"), answering({ decision: "always" }).ask);
    expect(gate.grants()).toEqual(["write_file ./*"]);
    expect(await outcome(gate, write("two.txt"))).toBe("grant");
    expect(await outcome(gate, write("src/three.c"))).toBe("denied by ask");
  });

  test("once grants nothing", async () => {
    const gate = makeGate(root);
    expect(await outcome(gate, bash("make"), answering({ decision: "once" }).ask)).toBe("grant");
    expect(gate.grants()).toEqual([]);
    expect(await outcome(gate, bash("make"))).toBe("denied by ask");
  });
});

describe("self-protection", () => {
  const allowAll = { bash: "allow", write_file: "allow" };
  const PROTECTED: readonly PreparedCall[] = [
    write(".shiro/config.json"),
    write(".shiro/skills/x.md"),
    write("dangling.txt"),
    write(".gitmodules"),
    write(".vscode/tasks.json"),
    write(".husky/pre-commit"),
    bash("echo {} > .shiro/config.json"),
    bash("ln -s .shiro/config.json a.txt"),
    bash("cp x .shiro/commands/y.md"),
    bash("echo x >> ~/.bashrc"),
    bash("sed -i s/a/b/ ~/.profile"),
    bash("crontab x"),
    bash("echo x | tee ~/.ssh/authorized_keys"),
  ];
  test.each(PROTECTED.map((prepared) => [JSON.stringify(prepared.rawInput), prepared] as const))(
    "%s asks whatever the rules, is never granted for ever, and is denied headless",
    async (_, prepared) => {
      const gate = makeGate(root, { rules: allowAll });
      const { ask, prompts } = answering({ decision: "always" });
      expect(await outcome(gate, prepared, ask)).toBe("grant");
      expect(prompts[0]?.grants.every((grant) => grant.pattern === null)).toBe(true);
      expect(gate.grants()).toEqual([]);
      expect(await outcome(gate, prepared)).toBe("denied by self-protection");
      expect(await outcome(makeGate(root, { rules: allowAll, yolo: true }), prepared)).toBe(
        "denied by self-protection",
      );
    },
  );

  test("git's own files are refused by protect, and asked about where that is off", async () => {
    const prepared = write(".git/hooks/pre-commit");
    expect(await outcome(makeGate(root, { rules: allowAll }), prepared)).toBe("denied by plugin");
    expect(await outcome(makeGate(root, { rules: allowAll, plugins: [] }), prepared)).toBe("denied by self-protection");
  });

  test("workflows are protected only where nothing else asks", async () => {
    const prepared = write(".github/workflows/ci.yml");
    expect(await outcome(makeGate(root, { rules: allowAll }), prepared)).toBe("grant");
    expect(await outcome(makeGate(root, { rules: allowAll, yolo: true }), prepared)).toBe("denied by self-protection");
  });

  test("ordinary files of the workspace aren't touched by it", async () => {
    const gate = makeGate(root, { rules: allowAll });
    for (const path of ["AGENTS.md", "src/a.c", ".github/CODEOWNERS", ".gitignore", ".editorconfig"])
      expect([path, await outcome(gate, write(path))]).toEqual([path, "grant"]);
  });
});

describe("the jail", () => {
  test.each([
    ["read_file", "../work-evil/s"],
    ["read_file", "out/.profile"],
    ["write_file", "out/new.txt"],
    ["list_dir", "/etc"],
  ])("%s %s is denied by it whatever the rules", (tool, path) => {
    const gate = makeGate(root, { rules: { "*": "allow" } });
    expect(gate.explain(tool, path)).toMatchObject({ decision: "deny", by: "jail", always: null });
  });
});

describe("reading", () => {
  test.each([
    [".env", "deny", "secret"],
    ["link.txt", "deny", "secret"],
    ["loop/.env", "deny", "secret"],
    ["conf/server.pem", "deny", "secret"],
    [".npmrc", "ask", "secret"],
    [".env.example", "allow", "default"],
    ["src/a.c", "allow", "default"],
  ])("%s: %s by %s", (path, decision, by) => {
    expect(makeGate(root).explain("read_file", path)).toMatchObject({ decision, by });
  });

  test("the stricter of the written and the real path counts", () => {
    const gate = makeGate(root, { rules: { read_file: { "*": "allow", "src/*": "deny" } } });
    expect(gate.explain("read_file", "loop/src/a.c").decision).toBe("deny");
    const other = makeGate(root, { rules: { read_file: { "*": "allow", "loop/*": "deny" } } });
    expect(other.explain("read_file", "loop/src/a.c").decision).toBe("deny");
  });

  test("tools that show contents in passing are told which files they may", () => {
    const gate = makeGate(root);
    expect(gate.mayRead(`${root}/src/a.c`)).toBe(true);
    expect(gate.mayRead(`${root}/.env`)).toBe(false);
    expect(gate.mayRead(`${root}/.npmrc`)).toBe(false);
    expect(gate.mayRead(`${dirname(root)}/home/.shiro-neko/config.json`)).toBe(false);
    expect(makeGate(root, { rules: { read_file: "ask" } }).mayRead(`${root}/src/a.c`)).toBe(true);
    expect(makeGate(root, { rules: { read_file: { "*": "allow" } } }).mayRead(`${root}/.env`)).toBe(true);
    expect(makeGate(root, { rules: { "*": "allow" } }).mayRead(`${root}/.env`)).toBe(false);
  });

  test("an entry for bash doesn't open what reading is refused", () => {
    const gate = makeGate(root, { rules: { bash: "allow" } });
    expect(gate.explain("bash", "cat .env")).toMatchObject({ decision: "deny", by: "secret", always: null });
    const open = makeGate(root, { rules: { bash: "allow", read_file: { "*": "allow" } } });
    expect(open.explain("bash", "cat .env").decision).toBe("allow");
    const narrow = makeGate(root, { rules: { bash: "allow", read_file: { "*": "allow", "docs/*": "deny" } } });
    expect(narrow.explain("bash", "cat docs/guide.md")).toMatchObject({ decision: "deny", by: "rule" });
  });
});

describe("plugins", () => {
  test("secrets refuses a live credential in a file git could track", async () => {
    const gate = makeGate(root, { rules: { write_file: "allow", bash: "allow" } });
    const token = `ghp_${"aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2"}`;
    expect(await outcome(gate, write("src/a.ts", `const t = "${token}";`))).toBe("denied by plugin");
    expect(await outcome(gate, write("ignored.txt", token))).toBe("grant");
    expect(await outcome(gate, write("src/a.ts", `const t = "ghp_${"x".repeat(36)}";`))).toBe("grant");
    expect(await outcome(gate, bash(`echo ${token} > src/a.ts`))).toBe("denied by plugin");
  });

  test("a secret file is asked about every time, and denied headless, --yolo or not", async () => {
    for (const yolo of [false, true]) {
      const gate = makeGate(root, { rules: { write_file: "allow" }, yolo });
      expect(await outcome(gate, write(".env.local"))).toBe("denied by secret");
      const { ask, prompts } = answering({ decision: "always" });
      expect(await outcome(gate, write("key.pem"), ask)).toBe("grant");
      expect(prompts[0]?.grants[0]?.pattern).toBeNull();
      expect(await outcome(gate, write("key.pem"))).toBe("denied by secret");
    }
  });

  test("protect says what regenerates the file", async () => {
    const gate = makeGate(root, { rules: { write_file: "allow" } });
    for (const [path, by] of [
      ["package-lock.json", "npm install"],
      ["sub/Cargo.lock", "cargo update"],
      ["node_modules/x/index.js", "package manager"],
      ["build/out.js", "build"],
    ] as const) {
      const admission = await gate.admit(write(path), null);
      expect("denied" in admission && admission.denied.reason).toContain(by);
    }
    expect(await outcome(gate, write("docs/build.md"))).toBe("grant");
  });

  test("the guard's refusal is beyond rules, grants and --yolo", async () => {
    for (const options of [
      { rules: { bash: "allow" } },
      { yolo: true },
      { flags: [parseRuleFlag("bash(rm *)", "allow")] },
    ]) {
      const gate = makeGate(root, options);
      expect(await outcome(gate, bash("rm -rf build"), answering({ decision: "always" }).ask)).toBe("denied by guard");
    }
    expect(await outcome(makeGate(root, { plugins: [], yolo: true }), bash("rm -rf build"))).toBe("grant");
  });

  test("an interactive rm asks even under --yolo", async () => {
    expect(await outcome(makeGate(root, { yolo: true }), bash("rm -r -i x"))).toBe("denied by guard");
  });
});

describe("nobody to ask", () => {
  test("a question is a denial that says how to allow it", async () => {
    const gate = makeGate(root, { interactive: false });
    const { ask, prompts } = answering({ decision: "once" });
    const admission = await gate.admit(bash("npm test"), ask);
    expect(prompts).toEqual([]);
    expect(admission).toMatchObject({ denied: { by: "ask" } });
    const text = "denied" in admission ? admission.denied.reason : "";
    expect(text).toContain("--allow 'bash(npm test *)'");
    expect(text).toContain("--yolo");
  });

  test.each([
    ["git log", "--allow 'bash(git log *)'"],
    ["git -c a.b=c log", "--allow 'bash(git -c a.b=c log)'"],
    ["python3 x.py", "--allow 'bash(python3 x.py)'"],
    ["echo 'it' > src/x.c", "--allow 'bash(echo *)' --allow 'write_file(src/*)'"],
    ['echo "it\'s"', "--allow 'bash(echo *)'"],
  ])("%s: %s", async (command, flag) => {
    const admission = await makeGate(root, { interactive: false }).admit(bash(command), null);
    expect("denied" in admission && admission.denied.reason).toContain(flag);
  });

  test("the flag it names does allow the call", async () => {
    for (const command of ["git log", "git -c a.b=c log", "python3 x.py", "npm test", "make -j4 | head"]) {
      const refused = await makeGate(root, { interactive: false }).admit(bash(command), null);
      const reason = "denied" in refused ? refused.denied.reason : "";
      const flags = [...reason.matchAll(/--allow '([^']+)'/g)].map((match) => parseRuleFlag(match[1] ?? "", "allow"));
      expect([command, await outcome(makeGate(root, { interactive: false, flags }), bash(command))]).toEqual([
        command,
        "grant",
      ]);
    }
  });

  test("what only a person may allow names no flag", async () => {
    const admission = await makeGate(root, { interactive: false }).admit(write(".shiro/x"), null);
    const reason = "denied" in admission ? admission.denied.reason : "";
    expect(reason).toContain("No rule or flag");
    expect(reason).not.toContain("--yolo");
  });

  test("--yolo turns questions into permission and touches no denial", async () => {
    const gate = makeGate(root, { yolo: true, interactive: false, rules: { bash: { "*": "ask", "curl *": "deny" } } });
    expect(await outcome(gate, bash("make"))).toBe("grant");
    expect(await outcome(gate, bash('echo "x'))).toBe("grant");
    expect(await outcome(gate, bash("make > /tmp/x"))).toBe("grant");
    expect(await outcome(gate, bash("curl x"))).toBe("denied by rule");
    expect(await outcome(gate, bash("cat .env"))).toBe("denied by secret");
  });
});

describe("the user's answers", () => {
  test("a refusal holds for the identical call in this turn, without another prompt", async () => {
    const gate = makeGate(root);
    const { ask, prompts } = answering({ decision: "deny", message: "use make instead" });
    const first = await gate.admit(bash("npm test"), ask);
    expect(first).toMatchObject({ denied: { by: "user", feedback: "use make instead" } });
    expect("denied" in first && first.denied.reason).toContain("use make instead");
    expect(await outcome(gate, bash("npm test"), ask)).toBe("denied by user");
    expect(prompts).toHaveLength(1);
    await gate.admit(bash("npm run x"), ask);
    gate.startTurn();
    await gate.admit(bash("npm test"), ask);
    expect(prompts).toHaveLength(3);
  });

  test.each([
    [undefined, "The user refused this call. Don't"],
    ["  ", "The user refused this call. Don't"],
    [" use make ", "The user refused this call. They said: use make. Don't"],
    ["Use make!", "The user refused this call. They said: Use make! Don't"],
  ])("the model is told of a refusal with the words %j in whole sentences", async (message, text) => {
    const { ask } = answering({ decision: "deny", ...(message === undefined ? {} : { message }) });
    const admission = await makeGate(root).admit(bash("npm test"), ask);
    expect("denied" in admission && admission.denied.reason).toStartWith(text);
  });

  test("a question that went unanswered isn't put down to the user, and isn't asked again in the turn", async () => {
    const gate = makeGate(root);
    const { ask, prompts } = answering({ decision: "deny", unanswered: "No answer came in time" });
    const first = await gate.admit(bash("npm test"), ask);
    expect(first).toMatchObject({ denied: { by: "ask" } });
    const reason = "denied" in first ? first.denied.reason : "";
    expect(reason).toContain(" No answer came in time, so it was not run. The user can allow it with --allow");
    expect(reason).not.toContain("refused this call");
    expect(await gate.admit(bash("npm test"), ask)).toEqual(first);
    expect(prompts).toHaveLength(1);
  });

  test("nobody answering after all is a denial", async () => {
    expect(await outcome(makeGate(root), bash("make"), answering(null).ask)).toBe("denied by ask");
  });

  test("the prompt holds the whole subject, the rule, and who asks", async () => {
    const gate = makeGate(root, { rules: { bash: { "*": "ask" } } });
    const { ask, prompts } = answering({ decision: "once" });
    const command = `make x\n${"y".repeat(5_000)}`;
    await gate.admit(bash(command), ask, null, { worker: true });
    expect(prompts[0]).toMatchObject({
      tool: "bash",
      subject: command,
      rule: 'bash "*" (config.json:3)',
      worker: true,
      diff: null,
    });
  });

  test.each([
    ["an edit that can't be made is nobody's question", new ToolError("oldString is not in a.txt"), 0],
    ["a diff that fails for another reason leaves the question without one", new TypeError("a bug"), 1],
  ])("%s", async (_, problem, asked) => {
    const { ask, prompts } = answering({ decision: "once" });
    const tool = {
      ...write("a.txt").tool,
      preview: async () => {
        throw problem;
      },
    };
    const admitted = makeGate(root).admit({ ...write("a.txt"), tool }, ask, () => noContext);
    if (asked === 0) await expect(admitted).rejects.toBe(problem);
    else expect(await admitted).toHaveProperty("grant");
    expect(prompts.map((prompt) => prompt.diff)).toEqual(Array.from({ length: asked }, () => null));
  });

  test("of a turn that was ended while a hook ran, nobody is asked any more", async () => {
    const turn = new AbortController();
    const preTool = async () => (turn.abort(new TurnAbort()), null);
    const { ask, prompts } = answering({ decision: "once" });
    const admitted = makeGate(root, { preTool }).admit(bash("make"), ask, null, { signal: turn.signal });
    await expect(admitted).rejects.toBeInstanceOf(TurnAbort);
    expect(prompts).toEqual([]);
  });

  test("a pre-tool hook can only refuse", async () => {
    const preTool = async (prepared: PreparedCall) => (prepared.rawInput["command"] === "ls" ? "not today" : null);
    const gate = makeGate(root, { rules: { bash: { "*": "allow", "curl *": "deny" } }, preTool });
    expect(await outcome(gate, bash("ls"))).toBe("denied by hook");
    expect(await outcome(gate, bash("pwd"))).toBe("grant");
    expect(await outcome(gate, bash("curl x"))).toBe("denied by rule");
  });
});

describe("the repeat guard", () => {
  const allow = { rules: { bash: "allow", write_file: "allow", git_status: "allow" } };
  const done = (text = "same") => ({ text, isError: false });

  test("the third identical call asks when nothing changed", async () => {
    const gate = makeGate(root, allow);
    for (let round = 0; round < 2; round++) {
      expect(await outcome(gate, bash("npm test"))).toBe("grant");
      gate.record(bash("npm test"), done());
    }
    expect(await outcome(gate, bash("npm test"))).toBe("denied by repeat");
    expect(await outcome(gate, bash("npm run x"))).toBe("grant");
    gate.startTurn();
    expect(await outcome(gate, bash("npm test"))).toBe("grant");
  });

  test("a successful change by another call in between resets it, a failed one doesn't", async () => {
    const gate = makeGate(root, allow);
    gate.record(bash("npm test"), done());
    gate.record(write("src/a.c"), { text: "no", isError: true });
    gate.record(bash("npm test"), done());
    expect(await outcome(gate, bash("npm test"))).toBe("denied by repeat");
    gate.record(write("src/a.c"), done());
    expect(await outcome(gate, bash("npm test"))).toBe("grant");
  });

  test("two different results mean that something moves", async () => {
    const gate = makeGate(root, allow);
    gate.record(bash("npm test"), done("1 failed"));
    gate.record(bash("npm test"), done("2 failed"));
    expect(await outcome(gate, bash("npm test"))).toBe("grant");
  });

  test("the order of an input's keys makes no difference", async () => {
    const gate = makeGate(root, allow);
    gate.record(call("write_file", { path: "src/a.c", content: "x" }), { text: "", isError: true });
    gate.record(call("write_file", { content: "x", path: "src/a.c" }), { text: "", isError: true });
    expect(await outcome(gate, write("src/a.c"))).toBe("denied by repeat");
  });

  test("tools that are meant to be called again are left out", async () => {
    const gate = makeGate(root, allow);
    const status = call("git_status", {});
    const repeatable = { ...status, tool: { ...status.tool, repeatable: true as const } };
    for (let round = 0; round < 3; round++) gate.record(repeatable, done());
    expect(await outcome(gate, repeatable)).toBe("grant");
    expect(await outcome(gate, status)).toBe("denied by repeat");
  });
});

describe("explain", () => {
  test("prints decision, cause, rule and every command in source order", () => {
    const gate = makeGate(root, { rules: { bash: { "*": "ask", "git *": "allow", "rm *": "deny" } } });
    expect(gate.explain("bash", "git status && echo $(/bin/rm  'a b')")).toEqual({
      decision: "deny",
      by: "rule",
      rule: 'bash "rm *" (config.json:5)',
      reason: '`rm a b` is refused by the rule bash "rm *" (config.json:5).',
      always: null,
      commands: [
        { text: "git status", normalised: "git status", decision: "allow", rule: 'bash "git *" (config.json:4)' },
        {
          text: "echo $(/bin/rm  'a b')",
          normalised: "echo $(/bin/rm  'a b')",
          decision: "ask",
          rule: 'bash "*" (config.json:3)',
        },
        { text: "/bin/rm  'a b'", normalised: "rm a b", decision: "deny", rule: 'bash "rm *" (config.json:5)' },
      ],
    });
  });

  test("an unknown tool goes by the rules, else it asks", () => {
    expect(makeGate(root).explain("nothing", "x")).toMatchObject({ decision: "ask", by: "default", commands: [] });
    expect(makeGate(root, { rules: { "no*": "deny" } }).explain("nothing", "x")).toMatchObject({
      decision: "deny",
      by: "rule",
    });
  });

  test("an MCP tool is judged by its full name, whichever way it is called", () => {
    const gate = makeGate(root, { rules: { "mcp__a__*": "allow", mcp__a__drop: "deny" } });
    expect(gate.explain("mcp_call", "mcp__a__list").decision).toBe("allow");
    expect(gate.explain("mcp__a__list", "mcp__a__list").decision).toBe("allow");
    expect(gate.explain("mcp_call", "mcp__a__drop").decision).toBe("deny");
    expect(gate.explain("mcp_call", "mcp__b__x").decision).toBe("ask");
    const closed = makeGate(root, { rules: { mcp_call: "deny", "mcp__*": "allow" } });
    expect(closed.explain("mcp_call", "mcp__a__list").decision).toBe("deny");
  });

  test("a file that appears changes the judgement, earlier calls don't", () => {
    const gate = makeGate(root, { rules: { bash: "allow" } });
    expect(gate.explain("bash", "cat later.pem").decision).toBe("allow");
    writeFileSync(`${root}/later.pem`, "x");
    expect(gate.explain("bash", "cat later.pem").decision).toBe("deny");
  });
});

test("a tool whose table only allows is told apart from one that may ask", () => {
  const gate = makeGate(root, { rules: { bash: { "*": "allow", "git push *": "ask" }, web_fetch: "allow" } });
  expect(["bash", "read_file", "write_file", "web_fetch", "git_status"].map((name) => gate.mayAsk(name))).toEqual([
    true,
    false,
    true,
    false,
    false,
  ]);
  expect(makeGate(root, { yolo: true }).mayAsk("bash")).toBe(false);
});
