/** A command that the sandbox stopped is run again as the person said, and not otherwise. The sandbox is a stand-in that blames what the test says. */
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { bindEscalation } from "../src/approval-escalation.ts";
import { ToolError } from "../src/errors.ts";
import type { EscalationOffer, Explanation } from "../src/sandbox-explain.ts";
import { openWatch } from "../src/sandbox-watch.ts";
import type { Sandbox, SandboxRequest } from "../src/sandbox.ts";
import { bashTool, findShell } from "../src/tool-bash.ts";
import { Grant, redeem, type Escalation, type EscalationAnswer } from "../src/tool.ts";
import { bench } from "./support/exec-context.ts";

const roots: string[] = [];
afterAll(() => roots.forEach((root) => rmSync(dirname(root), { recursive: true, force: true })));

const bash = bashTool(findShell(process.env, "linux"));
const NETWORK: EscalationOffer = { kind: "network" };
const WRITE: EscalationOffer = { kind: "write", path: "/other/place" };
const OUTSIDE: EscalationOffer = { kind: "outside" };

interface Staged {
  /** What each run in turn is blamed on. */
  causes: (EscalationOffer[] | null)[];
  answers: (EscalationAnswer | null)[];
  hint?: boolean;
  /** Why a directory isn't taken for the session. */
  rootProblem?: string;
}

function stage({ causes, answers, hint = false, rootProblem }: Staged) {
  const questions: Escalation[] = [];
  const entered: Pick<SandboxRequest, "allowed" | "mustConfine">[] = [];
  const roots_: string[] = [];
  const warnings: string[] = [];
  const at = bench();
  roots.push(at.root);
  const watch = openWatch(at.root);
  const fake: Pick<Sandbox, "watch" | "enter" | "addRoot" | "settle"> = {
    watch: () => watch,
    settle: () => {},
    addRoot: (path) => (rootProblem === undefined ? (roots_.push(path), null) : rootProblem),
    async enter({ argv, cwd, env, allowed, mustConfine }) {
      entered.push({ ...(allowed && { allowed }), ...(mustConfine && { mustConfine }) });
      const cause = causes[entered.length - 1] ?? null;
      const explain = (): Explanation | null => cause && { reason: "that is closed", offers: cause, hint };
      return { inside: true, argv: [...argv], cwd, env: { ...env }, reports: false, explain };
    },
  };
  // Of a sandbox, a command in it needs no more than this.
  const sandbox = fake as Sandbox;
  const escalate = async (question: Escalation): Promise<EscalationAnswer | null> => {
    questions.push(question);
    return answers[questions.length - 1] ?? null;
  };
  const context = { ...at.context, sandbox, escalate, warn: (message: string) => void warnings.push(message) };
  const run = (command: string, more: Partial<typeof context> = {}, confined = false) =>
    redeem(Grant.mint({ id: "c", tool: bash, input: { command }, rawInput: {} }, confined), { ...context, ...more });
  return { at, run, questions, entered, kept: roots_, warnings };
}

const COUNT = "echo run >> runs; echo no >&2; exit 3";
const runs = ({ at }: ReturnType<typeof stage>): number =>
  readFileSync(join(at.root, "runs"), "utf8").split("\n").length - 1;

describe("a command that the sandbox stopped", () => {
  test("runs again with what was chosen, and its result says so", async () => {
    const staged = stage({ causes: [[NETWORK, OUTSIDE], null], answers: [{ choice: "network" }] });
    const { text } = await staged.run(COUNT);
    expect(staged.questions).toEqual([
      {
        subject: COUNT,
        reason:
          "blocked by sandbox: that is closed. The first run ended with exit code 3 and may have done part of its work.",
        choices: [
          {
            name: "network",
            key: "c",
            label: "with the network",
            text: "in the sandbox with the network on, this once",
          },
          {
            name: "outside",
            key: "o",
            label: "outside the sandbox",
            text: "outside the sandbox, with your rights, this once",
          },
        ],
      },
    ]);
    expect(staged.entered).toEqual([{ allowed: {} }, { allowed: { network: true } }]);
    expect(runs(staged)).toBe(2);
    expect(text).toEndWith(
      "[the first run was blocked by sandbox: that is closed; the user let it run again with the network, and the output is that run's]",
    );
    expect(staged.at.printed.join("")).toContain("[again with the network]");
  });

  test.each([
    ["write", { allowed: { write: ["/other/place"] } }, []],
    ["write-session", { allowed: { write: ["/other/place"] } }, ["/other/place"]],
    ["outside", { allowed: { outside: true } }, []],
  ] as const)("%s allows no more than that", async (choice, second, kept) => {
    const staged = stage({ causes: [[WRITE, OUTSIDE], null], answers: [{ choice }] });
    await staged.run(COUNT);
    expect<unknown>([staged.entered, staged.kept]).toEqual([[{ allowed: {} }, second], kept]);
  });

  test.each([
    [
      "refused",
      { choice: null, message: "use $TMPDIR" },
      "[the user was asked and did not let it run again with more rights. They said: use $TMPDIR]",
    ],
    [
      "unanswered",
      null,
      '[blocked by sandbox: that is closed; the user can allow it with "sandbox": {"network": "on"}]',
    ],
    [
      "answered with what wasn't offered",
      { choice: "write" },
      "[the user was asked and did not let it run again with more rights.]",
    ],
  ] as const)("%s: it stays with the first run", async (_, answer, end) => {
    const staged = stage({ causes: [[NETWORK]], answers: [answer] });
    const { text, note } = await staged.run(COUNT);
    expect(text).toContain("[blocked by sandbox: that is closed");
    expect(text).toEndWith(end);
    expect([runs(staged), note]).toEqual([1, "exit code 3, blocked by sandbox"]);
  });

  test("each further obstacle is another question, and there is an end to them", async () => {
    const causes = [[NETWORK, OUTSIDE], [WRITE, OUTSIDE], [NETWORK, OUTSIDE], [OUTSIDE], null];
    const staged = stage({ causes, answers: [{ choice: "network" }, { choice: "write" }, { choice: "network" }] });
    await staged.run(COUNT);
    expect(staged.entered.at(-1)).toEqual({ allowed: { network: true, write: ["/other/place"] } });
    expect([staged.questions.length, runs(staged)]).toEqual([3, 4]);
  });

  test("nobody is asked where nobody can be, where it went well, or where the sandbox isn't the cause", async () => {
    for (const [staged, more] of [
      [stage({ causes: [[NETWORK]], answers: [] }), { escalate: undefined as never }],
      [stage({ causes: [[NETWORK]], answers: [], hint: true }), {}],
      [stage({ causes: [null], answers: [] }), {}],
      [stage({ causes: [[]], answers: [] }), {}],
    ] as const) {
      await staged.run(COUNT, more);
      expect([staged.questions, runs(staged)]).toEqual([[], 1]);
    }
  });

  test("a turn that ends at the question leaves the first run's result", async () => {
    const staged = stage({ causes: [[NETWORK]], answers: [] });
    const stop = new AbortController();
    const { promise: never } = Promise.withResolvers<null>();
    const escalate = (): Promise<null> => {
      queueMicrotask(() => stop.abort());
      return never;
    };
    const { text } = await staged.run(COUNT, { escalate, signal: stop.signal });
    expect([text.includes("blocked by sandbox"), runs(staged)]).toEqual([true, 1]);
  });

  test("a directory that can't be kept is said", async () => {
    const causes = [[WRITE], null];
    const staged = stage({ causes, answers: [{ choice: "write-session" }], rootProblem: "it is the home directory" });
    await staged.run(COUNT);
    expect(staged.warnings).toEqual(["/other/place isn't kept writable for this session: it is the home directory"]);
  });

  test.each([
    ["/home/u/.config", ["write"]],
    ["/home/u/.config/systemd/user", ["write"]],
    ["/home/u/.vscode", ["write"]],
    ["/etc", ["write"]],
    ["/var/spool", ["write"]],
    ["/usr/lib/x", ["write"]],
    ["/home/u/tools", ["write"]],
    ["/home/u/tools/bin", ["write"]],
    ["/home/u/other", ["write", "write-session"]],
    ["/home/u/main/.git", ["write", "write-session"]],
    ["/tmp", ["write", "write-session"]],
  ])("what is written in %s may be kept for the session only where nothing runs it later", async (path, names) => {
    const staged = stage({ causes: [[{ kind: "write", path }]], answers: [{ choice: "write-session" }] });
    // Not the one of this process: npm puts the checkout on it, which may lie in /tmp.
    const childEnv = { ...staged.at.context.childEnv, PATH: "/usr/bin:/bin:/home/u/tools/bin" };
    await staged.run("exit 1", { childEnv });
    expect<unknown>(staged.questions[0]?.choices.map(({ name }) => name)).toEqual(names);
    expect(staged.kept).toEqual(names.length > 1 ? [path] : []);
  });

  test("a grant for the sandbox alone reaches it, and doesn't run without one", async () => {
    const staged = stage({ causes: [null], answers: [] });
    await staged.run("true", {}, true);
    expect(staged.entered).toEqual([{ allowed: {}, mustConfine: true }]);
    await expect(staged.run("touch made", { sandbox: undefined as never }, true)).rejects.toThrow(ToolError);
    expect(await Bun.file(join(staged.at.root, "made")).exists()).toBe(false);
  });

  test("files that run code later are told to the person and the model, of every run", async () => {
    const staged = stage({ causes: [[NETWORK], null], answers: [{ choice: "network" }] });
    writeFileSync(join(staged.at.root, ".envrc"), "before");
    const { text } = await staged.run(
      "mkdir -p .husky .shiro; date +%N > .husky/pre-commit; echo {} > .shiro/config.json; exit 1",
    );
    const own = "(a project's settings for shiro, and its commands that run something, count only after shiro trust)";
    expect(staged.warnings).toEqual([
      // By us, and it could have been a process of a command before.
      "since the command before, somebody changed files that run code later: .envrc",
      `the command changed files that run code later: .husky/pre-commit, .shiro/config.json ${own}`,
      "the command changed files that run code later: .husky/pre-commit",
    ]);
    expect(staged.questions[0]?.reason).toEndWith(
      ` and may have done part of its work. It changed files that run code later: .husky/pre-commit, .shiro/config.json ${own}.`,
    );
    expect(text.match(/\[this changed files that run code later: /g)).toHaveLength(2);
  });
});

describe("answers at the prompt", () => {
  const question: Escalation = { subject: "make\nx", reason: "why", choices: [] };
  test.each([
    [{ decision: "once", choice: "outside" }, { choice: "outside" }],
    // As from whoever answers every question with yes.
    [{ decision: "once" }, { choice: null }],
    [{ decision: "always" }, { choice: null }],
    [
      { decision: "deny", choice: "outside", message: " no " },
      { choice: null, message: "no" },
    ],
    [{ decision: "deny", unanswered: "No answer came in time" }, null],
    [null, null],
  ] as const)("%j is %j", async (answer, taken) => {
    const prompts: unknown[] = [];
    const escalate = bindEscalation(
      async (prompt) => {
        prompts.push(prompt);
        return answer;
      },
      { tool: bash },
      new Set(),
    );
    expect<unknown>(await escalate?.(question)).toEqual(taken);
    expect(prompts).toMatchObject([
      { tool: "bash", title: "bash again: make", subject: "make\nx", rule: "why", grants: [] },
    ]);
    expect(bindEscalation(null, { tool: bash }, new Set())).toBeNull();
  });

  test("no is remembered for the same question in the same turn, and for no other", async () => {
    const asked: string[] = [];
    const leftAlone = new Set<string>();
    const escalate = bindEscalation(
      async ({ subject }) => {
        asked.push(subject);
        return subject === "unanswered" ? null : { decision: "deny" };
      },
      { tool: bash },
      leftAlone,
    );
    const choices = [{ name: "outside", key: "o", label: "outside", text: "outside" }] as const;
    for (const subject of ["make", "make", "unanswered", "unanswered"]) await escalate?.({ ...question, subject });
    expect(await escalate?.({ ...question, subject: "make", choices })).toEqual({ choice: null });
    expect(asked).toEqual(["make", "unanswered", "unanswered", "make"]);
  });

  test("after some refusals in a turn no further variant is asked about", async () => {
    let asked = 0;
    const escalate = bindEscalation(
      async () => {
        asked++;
        return { decision: "deny" };
      },
      { tool: bash },
      new Set(),
    );
    const answers = [];
    for (let round = 0; round < 6; round++) answers.push(await escalate?.({ ...question, subject: `make ${round}` }));
    expect(await escalate?.({ ...question, subject: "make 0" })).toEqual({ choice: null });
    const no = { choice: null };
    expect<unknown>([asked, answers]).toEqual([3, [no, no, no, null, null, null]]);
  });
});
