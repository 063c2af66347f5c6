/** The git tools: words, bounds, secrets, and a repository configured to run programs at every chance. */
import { beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { openGit } from "../src/git.ts";
import type { Sandbox } from "../src/sandbox.ts";
import type { Tool } from "../src/tool.ts";
import { gitTools } from "../src/tool-git.ts";
import { type Bench, bench } from "./support/exec-context.ts";

const hasGit = Bun.which("git") !== null;
if (!hasGit) console.error("SKIPPED: git is not on PATH, so the git tools were not tried");

function tool(name: string): Tool {
  const found = gitTools.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`no tool ${name}`);
  return found;
}

function git(at: Bench, ...args: string[]): string {
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: join(at.root, ".."),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_DATE: "2024-05-01T10:00:00Z",
    GIT_COMMITTER_DATE: "2024-05-01T10:00:00Z",
  };
  const identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"];
  const run = Bun.spawnSync(["git", ...identity, ...args], { cwd: at.root, env });
  if (run.exitCode !== 0) throw new Error(`git ${args.join(" ")}: ${run.stderr.toString()}`);
  return run.stdout.toString();
}

function repository(files: Record<string, string>): Bench {
  const at = bench(files);
  git(at, "init", "-q");
  git(at, "add", "-A");
  git(at, "commit", "-qm", "first commit");
  return at;
}

const failure = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    (value) => `resolved: ${JSON.stringify(value)}`,
    (error: Error) => error.message,
  );
const text = async (at: Bench, name: string, input: object = {}): Promise<string> =>
  (await at.run(tool(name), input)).text;

test("a git that doesn't come to an end is stopped, and the model is told to ask for less", async () => {
  const at = bench({ "bin/git": "#!/bin/sh\nexec sleep 60\n" });
  chmodSync(join(at.root, "bin/git"), 0o755);
  mkdirSync(join(at.root, ".git"));
  const env = { PATH: `${join(at.root, "bin")}:${process.env.PATH}` };
  const opened = openGit({ cwd: at.root, env, signal: at.context.signal, timeoutMs: 50 });
  expect(await failure(opened)).toBe("git took too long and was stopped. Ask for one path, or for fewer commits.");
});

test.if(hasGit)(
  "a filter that is configured after the look at the configuration runs where commands are confined",
  async () => {
    const at = repository({ "a.txt": "one\n", ".gitattributes": "* filter=late\n" });
    writeFileSync(join(at.root, "a.txt"), "two\n");
    const confined: string[] = [];
    const enter: Sandbox["enter"] = async ({ argv, cwd, env }) => {
      const word = String(argv.find((one) => ["rev-parse", "config", "status"].includes(one)));
      confined.push(word);
      if (word === "status") git(at, "config", "filter.late.clean", `sh -c 'echo "[$CONFINED]" > ../ran; cat'`);
      return {
        inside: true,
        argv: [...argv],
        cwd,
        env: { ...env, CONFINED: "1" },
        reports: false,
        explain: () => null,
      };
    };
    at.context.sandbox = { enter } as Sandbox; // nothing else of it is asked for
    expect(await text(at, "git_status")).toContain("modified: a.txt");
    expect([confined, readFileSync(join(at.root, "../ran"), "utf8")]).toEqual([
      ["rev-parse", "config", "status"],
      "[1]\n",
    ]);
  },
);

describe.if(hasGit)("answers", () => {
  let at: Bench;
  beforeAll(() => {
    at = repository({
      "a.txt": "one\ntwo\n",
      "b b.txt": "b\n",
      "gone.txt": "x\n",
      "old.txt": "same\nsame\nsame\n",
      "sub/c.txt": "c\n",
    });
    writeFileSync(join(at.root, "a.txt"), "one\nTWO\n");
    writeFileSync(join(at.root, "b b.txt"), "B\n");
    git(at, "add", "b b.txt");
    git(at, "mv", "old.txt", "new.txt");
    rmSync(join(at.root, "gone.txt"));
    writeFileSync(join(at.root, "ü.txt"), "");
  });

  test("status is told in words", async () => {
    expect((await text(at, "git_status")).split("\n")).toEqual([
      "on branch main",
      "modified: a.txt",
      "staged modified: b b.txt",
      "deleted: gone.txt",
      "staged renamed: new.txt (from old.txt)",
      "untracked: ü.txt",
    ]);
  });

  test("a diff shows unstaged, staged or one path's changes", async () => {
    expect(await text(at, "git_diff")).toContain("-two\n+TWO");
    expect(await text(at, "git_diff")).not.toContain("b b.txt");
    expect(await text(at, "git_diff", { staged: true })).toContain("+B");
    expect(await text(at, "git_diff", { path: "sub" })).toBe("No unstaged changes.");
  });

  test("a path's wildcards and pathspec magic are plain characters", async () => {
    for (const path of ["*", "a.*", ":(top)a.txt", ":/"])
      expect(await text(at, "git_diff", { path })).toBe("No unstaged changes.");
  });

  test("the log has one line per commit, and says when a path has none", async () => {
    expect(await text(at, "git_log")).toMatch(/^[0-9a-f]{7} 2024-05-01 Ann \(HEAD -> main\) first commit$/);
    expect(await text(at, "git_log", { path: "ü.txt" })).toBe("No commits touch this path.");
  });

  test("a commit, a path of it, and a file as it was are shown", async () => {
    expect(await text(at, "git_show", { ref: "HEAD" })).toContain("first commit");
    expect(await text(at, "git_show", { ref: "HEAD", path: "sub" })).not.toContain("a.txt");
    expect(await text(at, "git_show", { ref: "HEAD:a.txt" })).toBe("one\ntwo");
    expect(await text(at, "git_show", { ref: "HEAD:./sub/c.txt" })).toBe("c");
    expect(await text(at, "git_show", { ref: "HEAD:" })).toContain("gone.txt");
    expect(await failure(text(at, "git_show", { ref: "HEAD:none" }))).toBe("none does not exist at HEAD.");
  });

  test("blame shows the lines asked for, and forty when only the start is given", async () => {
    expect(await text(at, "git_blame", { path: "a.txt", startLine: 1, endLine: 1 })).toMatch(
      /^\^?[0-9a-f]+ .*Ann 2024-05-01 1\) one$/,
    );
    const long = repository({ "long.txt": Array.from({ length: 100 }, (_, line) => `line ${line + 1}\n`).join("") });
    expect((await text(long, "git_blame", { path: "long.txt", startLine: 11 })).split("\n")).toHaveLength(40);
    expect((await text(long, "git_blame", { path: "long.txt" })).split("\n")).toHaveLength(100);
    expect(await failure(text(at, "git_blame", { path: "a.txt", startLine: 9 }))).toBe("a.txt has only 2 lines.");
  });

  test.each([["-h"], ["--output=x"], [":a.txt"], [":/first"], [""], ["HEAD\n"]])("%j is no revision", async (ref) => {
    expect(await failure(text(at, "git_show", { ref }))).toMatch(/no revision/);
  });

  test("an unknown revision says how to find one", async () => {
    expect(await failure(text(at, "git_show", { ref: "nowhere" }))).toBe(
      '"nowhere" is no revision here. git_log lists commits.',
    );
  });

  test("outside a repository every tool says so", async () => {
    const plain = bench({ "a.txt": "" });
    for (const [name, input] of [
      ["git_status", {}],
      ["git_diff", {}],
      ["git_log", {}],
      ["git_show", { ref: "HEAD" }],
      ["git_blame", { path: "a.txt" }],
    ] as const) {
      expect(await failure(text(plain, name, input))).toBe(`${plain.root} is not a git repository.`);
    }
  });

  test("a fresh repository has a status and no log", async () => {
    const fresh = bench({ a: "" });
    git(fresh, "init", "-q");
    expect(await text(fresh, "git_status")).toBe(
      "on branch main, no commits yet\nuntracked: a".replace(
        "main",
        git(fresh, "symbolic-ref", "--short", "HEAD").trim(),
      ),
    );
    expect(await text(fresh, "git_log")).toBe("No commits yet.");
  });

  test("a long diff is cut in the middle and kept whole in a file", async () => {
    const big = repository({ "big.txt": "" });
    writeFileSync(join(big.root, "big.txt"), "a line of text\n".repeat(10_000));
    const shown = await text(big, "git_diff");
    expect(shown.length).toBeLessThanOrEqual(30_000);
    const path = /the whole is in (\S+)/.exec(shown)?.[1] ?? "";
    expect(readFileSync(path, "utf8").length).toBeGreaterThan(150_000);
  });
});

describe.if(hasGit)("what may not be read", () => {
  const secretive = (files: Record<string, string>): Bench => {
    const at = repository(files);
    at.context.mayRead = (path) => !path.endsWith("/.env");
    return at;
  };

  test("a secret file's contents are in no answer, whichever way they are asked for", async () => {
    const at = secretive({ ".env": "KEY=canary-value\n", "a.txt": "a\n" });
    const blob = git(at, "rev-parse", "HEAD:.env").trim();
    git(at, "tag", "-a", "-m", "t", "sneaky", blob);
    writeFileSync(join(at.root, ".env"), "KEY=canary-other\n");
    writeFileSync(join(at.root, "a.txt"), "b\n");
    const asked: [string, object][] = [
      ["git_diff", {}],
      ["git_diff", { path: ".env" }],
      ["git_show", { ref: "HEAD" }],
      ["git_show", { ref: "HEAD", path: ".env" }],
      ["git_show", { ref: "HEAD:.env" }],
      ["git_show", { ref: "HEAD:./sub/../.env" }],
      ["git_show", { ref: blob }],
      ["git_show", { ref: "sneaky" }],
      ["git_show", { ref: ":.env" }],
      ["git_show", { ref: ":0:.env" }],
      ["git_blame", { path: ".env" }],
      ["git_log", { path: ".env" }],
    ];
    for (const [name, input] of asked)
      expect(
        await at.run(tool(name), input).then(
          (result) => result.text,
          (error: Error) => error.message,
        ),
      ).not.toContain("canary");
    expect(await text(at, "git_diff")).toContain("-a\n+b");
    expect(await text(at, "git_diff")).toEndWith("[left out, rules forbid reading: .env]");
  });

  test("a secret that was renamed is not shown on its way out", async () => {
    const at = secretive({ ".env": "KEY=canary-value\nmore=1\nmore=2\n" });
    git(at, "mv", ".env", "plain.txt");
    expect(await text(at, "git_diff", { staged: true })).not.toContain("-KEY=canary-value");
  });

  test("files outside the workspace stay outside: a larger repository, and core.worktree", async () => {
    const outer = repository({ "top.txt": "top\n", "inner/in.txt": "in\n" });
    writeFileSync(join(outer.root, "top.txt"), "canary\n");
    writeFileSync(join(outer.root, "inner/in.txt"), "changed\n");
    const inner = bench();
    rmSync(inner.root, { recursive: true });
    renameSync(outer.root, inner.root);
    const { openWorkspace } = await import("../src/workspace.ts");
    inner.context.workspace = openWorkspace({ root: join(inner.root, "inner"), extraDirs: [] });
    expect(await text(inner, "git_diff")).toContain("+changed");
    for (const [name, input] of [
      ["git_diff", {}],
      ["git_show", { ref: "HEAD" }],
    ] as const)
      expect(await text(inner, name, input)).not.toMatch(/canary|top\.txt/);
    for (const ref of ["HEAD:top.txt", "HEAD:../top.txt"])
      expect(await failure(text(inner, "git_show", { ref }))).not.toMatch(/^resolved|canary/);
    git(inner, "config", "core.worktree", "/");
    expect(await failure(text(inner, "git_status"))).toMatch(/core\.worktree/);
  });
});

test.if(hasGit)("nothing that a repository configures is run", async () => {
  const at = repository({ "a.z": "one\n", "sub/b.z": "other\n" });
  const trap = join(at.root, "../trap.sh");
  const ran = join(at.root, "../ran");
  writeFileSync(trap, `#!/bin/sh\necho "$0 $*" >> ${ran}\ncat 2>/dev/null\n`);
  chmodSync(trap, 0o755);
  git(at, "tag", "signed");
  const settings = [
    "core.fsmonitor",
    "diff.external",
    "diff.z.command",
    "diff.z.textconv",
    "core.pager",
    "pager.diff",
    "pager.log",
    "filter.z.clean",
    "filter.z.smudge",
    "filter.q.process",
    "gpg.program",
    "core.sshCommand",
    "core.alternateRefsCommand",
    "interactive.diffFilter",
    "core.editor",
    "credential.helper",
    "uploadpack.packObjectsHook",
  ];
  for (const name of settings) git(at, "config", name, trap);
  for (const [name, value] of [
    ["filter.q.required", "true"],
    ["log.showSignature", "true"],
    ["alias.status", `!${trap}`],
    ["alias.diff", `!${trap}`],
    ["diff.z.cachetextconv", "false"],
    ["core.hooksPath", join(at.root, "../hooks")],
    ["extensions.partialClone", "origin"],
    ["remote.origin.url", `ext::${trap} x`],
    ["remote.origin.promisor", "true"],
    ["protocol.ext.allow", "always"],
  ] as const)
    git(at, "config", name, value);
  mkdirSync(join(at.root, "../hooks"));
  for (const hook of [
    "post-index-change",
    "post-checkout",
    "pre-commit",
    "reference-transaction",
    "fsmonitor-watchman",
  ]) {
    writeFileSync(join(at.root, "../hooks", hook), readFileSync(trap));
    chmodSync(join(at.root, "../hooks", hook), 0o755);
  }
  writeFileSync(join(at.root, ".gitattributes"), "*.z diff=z filter=z\nsub/* filter=q\n");
  writeFileSync(join(at.root, "a.z"), "two\n");
  writeFileSync(join(at.root, "sub/b.z"), "two\n");
  for (const [name, value] of [
    ["GIT_EXTERNAL_DIFF", trap],
    ["GIT_PAGER", trap],
    ["GIT_SSH_COMMAND", trap],
    ["GIT_CONFIG_PARAMETERS", `'core.fsmonitor=${trap}'`],
  ] as const)
    at.context.childEnv[name] = value;
  const missing = git(at, "rev-parse", "HEAD:sub/b.z").trim();
  rmSync(join(at.root, ".git/objects", missing.slice(0, 2), missing.slice(2)));
  const outcomes: string[] = [];
  for (const [name, input] of [
    ["git_status", {}],
    ["git_diff", {}],
    ["git_diff", { staged: true }],
    ["git_log", {}],
    ["git_log", { path: "a.z" }],
    ["git_show", { ref: "HEAD" }],
    ["git_show", { ref: "HEAD:a.z" }],
    ["git_show", { ref: "signed" }],
    ["git_blame", { path: "a.z" }],
  ] as const) {
    outcomes.push(
      await at.run(tool(name), input).then(
        () => "ok",
        (error: Error) => error.message,
      ),
    );
  }
  expect(existsSync(ran) ? readFileSync(ran, "utf8") : "").toBe("");
  expect(outcomes.filter((outcome) => outcome === "ok").length).toBeGreaterThanOrEqual(6);
  // The traps do work: git without our precautions falls into them.
  Bun.spawnSync(["git", "diff", "a.z"], { cwd: at.root, env: { PATH: process.env.PATH ?? "" } });
  expect(readdirSync(join(at.root, ".."))).toContain("ran");
});

test.if(hasGit)("a filter can't hide behind the end of a huge or broken configuration", async () => {
  const at = repository({ "a.txt": "one\n" });
  const config = join(at.root, ".git/config");
  const plain = readFileSync(config, "utf8");
  const padding = Array.from({ length: 60_000 }, (_, index) => `\tpaddingPaddingPadding${index} = 1\n`).join("");
  for (const extra of [`[x]\n${padding}[filter "z"]\n\tclean = cat\n`, '[filter "a=b"]\n\tclean = cat\n']) {
    writeFileSync(config, plain + extra);
    expect(await failure(text(at, "git_status"))).toMatch(/git is not run in it/);
  }
});
