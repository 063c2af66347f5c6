/** The walker against git itself, on generated trees, and what git can't say: links, odd names, no repository. */
import ignore from "ignore";
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { compareBytes, isIgnoredNow, walk, type WalkOptions } from "../src/walk.ts";
import { parseIgnore } from "../src/walk-ignore.ts";
import { growth } from "./support/growth.ts";
import { dirForManyFiles } from "./support/many-files.ts";
import { rounds } from "./support/rounds.ts";

const root = mkdtempSync(join(dirForManyFiles(), "shiro-walk-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const env = { HOME: join(root, "home"), GIT_CONFIG_NOSYSTEM: "1", PATH: process.env.PATH ?? "" };
const hasGit = Bun.which("git") !== null;
if (!hasGit) console.error("SKIPPED: git is not on PATH, so the walker was not compared with it");

let trees = 0;
function tree(files: Record<string, string>): string {
  const dir = join(root, `tree-${trees++}`);
  mkdirSync(dir);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text, "latin1");
  }
  return dir;
}

function git(cwd: string, ...args: string[]): string {
  const run = Bun.spawnSync(["git", ...args], { cwd, env });
  if (run.exitCode !== 0) throw new Error(run.stderr.toString());
  return run.stdout.toString();
}

const gitFiles = (dir: string): string[] =>
  git(dir, "ls-files", "-zco", "--exclude-standard").split("\0").filter(Boolean).sort();

async function files(dir: string, options: WalkOptions = {}): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of walk(dir, { env, ...options })) if (entry.kind !== "dir") found.push(entry.path);
  return found.sort();
}

function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const NAMES = [
  "a",
  "b",
  "foo",
  "bar",
  "a.log",
  "b.txt",
  "foo.log",
  ".x",
  "Foo",
  "x y",
  "é",
  "a[b]",
  "#c",
  "!d",
  "foobar",
  "ab",
];
const PIECES = [
  "a",
  "b",
  "foo",
  "bar",
  "*",
  "**",
  "?",
  "*.log",
  "foo*",
  "*o",
  "[ab]",
  "[!a]",
  "[a-f]*",
  "[[:alpha:]]*",
  "\\#c",
  "\\!d",
  "é",
  "??",
  "a?b",
  "foo**",
  "**r",
  "x\\ y",
  "[",
  "a[",
  "[]]",
  "[^b]oo",
];

function randomRules(pick: (below: number) => number): string {
  const lines = Array.from({ length: 1 + pick(4) }, () => {
    const parts = Array.from({ length: 1 + pick(3) }, () => PIECES[pick(PIECES.length)]);
    return `${pick(4) === 0 ? "!" : ""}${pick(4) === 0 ? "/" : ""}${parts.join("/")}${pick(4) === 0 ? "/" : ""}${pick(8) === 0 ? "  " : ""}`;
  });
  return lines.join(pick(5) === 0 ? "\r\n" : "\n");
}

function randomTree(pick: (below: number) => number, base: string, into: Record<string, string>, size: number): void {
  const dirs = [base];
  for (let index = 0; index < size; index++) {
    const dir = dirs[pick(dirs.length)] ?? base;
    const path = `${dir}${NAMES[pick(NAMES.length)]}`;
    if (pick(3) === 0 && dir.split("/").length < base.split("/").length + 4) dirs.push(`${path}.d/`);
    into[path] = "";
  }
  for (const dir of dirs)
    if (dir === base || pick(3) === 0) into[`${dir}.gitignore`] = Buffer.from(randomRules(pick)).toString("latin1");
}

describe.if(hasGit)("against git ls-files", () => {
  test("the project's own tree is listed as git lists it", async () => {
    const dir = join(import.meta.dir, "..");
    const trusted = { ...env, GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "safe.directory", GIT_CONFIG_VALUE_0: "*" };
    const list = () =>
      Bun.spawnSync(["git", "ls-files", "-zco", "--exclude-standard"], { cwd: dir, env: trusted })
        .stdout.toString()
        .split("\0");
    const before = new Set(list());
    const walked = new Set(await files(dir));
    // What somebody writes or removes meanwhile is in one of the two listings only.
    const settled = list().filter((file) => file !== "" && before.has(file) && existsSync(join(dir, file)));
    if (settled.length === 0) return console.error("SKIPPED: the tests don't run inside a repository");
    expect(settled.filter((file) => !walked.has(file))).toEqual([]);
    expect([...walked].filter((file) => /^(?:node_modules|dist)\//.test(file))).toEqual([]);
  });

  // One repository with many unrelated subtrees asks git once for all of them.
  test("random trees with nested, negated and broken rules agree", async () => {
    const all: Record<string, string> = {};
    for (let seed = 0; seed < 300; seed++) randomTree(random(seed), `t${seed}/`, all, 14);
    const dir = tree(all);
    git(dir, "init", "-q");
    expect(await files(dir)).toEqual(gitFiles(dir));
  });

  test("a large tree agrees and is walked in time", async () => {
    const size = Number(process.env.SHIRO_TEST_WALK ?? 2000);
    const all: Record<string, string> = { ".gitignore": "*.tmp\nbuild/\n!keep.tmp\n/only-here\n" };
    for (let index = 0; index < size; index++)
      all[`d${index % 40}/${index % 7 === 0 ? "build" : "src"}/f${index}${index % 5 === 0 ? ".tmp" : ".ts"}`] = "";
    const dir = tree({ ...all, "d1/src/.gitignore": "!*.tmp\n*.ts\n", "d2/src/keep.tmp": "", "d3/only-here": "" });
    git(dir, "init", "-q");
    expect(await files(dir)).toEqual(gitFiles(dir));
  });

  test("info/exclude, core.excludesFile and a parent's rules count, in a subdirectory and in a linked work tree too", async () => {
    const dir = tree({
      ".gitignore": "*.log\nsub/*.tmp\n",
      "sub/a.log": "",
      "sub/a.tmp": "",
      "sub/deep/a.tmp": "",
      "sub/mine": "",
      "sub/theirs": "",
      "sub/kept": "",
    });
    mkdirSync(env.HOME, { recursive: true });
    writeFileSync(
      join(env.HOME, ".gitconfig"),
      `[user]\n\tname = x\n\temail = x@example.org\n[core]\n\texcludesFile = "~/ig # x" ; comment\n`,
    );
    writeFileSync(join(env.HOME, "ig # x"), "theirs\n");
    git(dir, "init", "-q");
    writeFileSync(join(dir, ".git/info/exclude"), "mine\n");
    expect(await files(join(dir, "sub"))).toEqual(gitFiles(join(dir, "sub")));
    expect(await files(join(dir, "sub"))).toEqual(["deep/a.tmp", "kept"]);
    git(dir, "commit", "-q", "--allow-empty", "-m", "x");
    git(dir, "worktree", "add", "-q", join(root, "linked"));
    writeFileSync(join(root, "linked/mine"), "");
    expect(await files(join(root, "linked"))).toEqual(gitFiles(join(root, "linked")));
    rmSync(join(env.HOME, ".gitconfig"));
  });
});

test("ignore files work without a repository", async () => {
  const dir = tree({
    ".gitignore": "*.log\n!keep.log\n/build/\nnode_modules/\n#c\nfoo\\ \n",
    "a.log": "",
    "keep.log": "",
    "build/x": "",
    "sub/build/x": "",
    "n/node_modules/x": "",
    "#c": "",
    "foo ": "",
    foo: "",
  });
  expect(await files(dir)).toEqual(["#c", ".gitignore", "foo", "keep.log", "sub/build/x"]);
});

test(".shiroignore stands above .gitignore, in both directions", async () => {
  const dir = tree({
    ".gitignore": "generated/\n",
    ".shiroignore": "!generated/\nfixtures/\n",
    "generated/a": "",
    "fixtures/b": "",
    "sub/.shiroignore": "c\n",
    "sub/c": "",
    "sub/d": "",
  });
  expect(await files(dir)).toEqual([".gitignore", ".shiroignore", "generated/a", "sub/.shiroignore", "sub/d"]);
});

test("includeIgnored shows everything but .git", async () => {
  const dir = tree({
    ".gitignore": "*\n",
    ".shiroignore": "*\n",
    a: "",
    ".git/config": "",
    "sub/.git": "gitdir: nowhere\n",
    "sub/b": "",
  });
  expect(await files(dir, { includeIgnored: true })).toEqual([".gitignore", ".shiroignore", "a", "sub/b"]);
});

test("a repository inside the tree is judged by its own rules", async () => {
  const dir = tree({
    ".gitignore": "*.o\n",
    "vendor/.git/HEAD": "",
    "vendor/.git/info/exclude": "private\n",
    "vendor/.gitignore": "*.log\n",
    "vendor/a.o": "",
    "vendor/a.log": "",
    "vendor/private": "",
    "b.o": "",
  });
  expect(await files(dir)).toEqual([".gitignore", "vendor/.gitignore", "vendor/a.o"]);
});

test("links are listed and never followed", async () => {
  const dir = tree({ "sub/a": "" });
  symlinkSync(".", join(dir, "loop"));
  symlinkSync("..", join(dir, "sub/up"));
  symlinkSync("/nowhere", join(dir, "dangling"));
  const kinds: string[] = [];
  for await (const entry of walk(dir, { env })) kinds.push(`${entry.kind} ${entry.path}`);
  expect(kinds).toEqual(["link dangling", "link loop", "dir sub", "file sub/a", "link sub/up"]);
});

test("odd names are listed and harm nothing", async () => {
  const dir = tree({ "a\nb": "", "-rf": "", " x ": "", "sub/-e": "" });
  writeFileSync(Buffer.concat([Buffer.from(`${dir}/caf`), Buffer.from([0xe9]), Buffer.from(".txt")]), "");
  expect(await files(dir, { sizes: true })).toEqual([" x ", "-rf", "a\nb", "caf\uFFFD.txt", "sub/-e"]);
});

test("maxDepth counts levels below the root, and sizes come on request", async () => {
  const dir = tree({ a: "12", "b/c": "123", "b/d/e": "" });
  const found: unknown[] = [];
  for await (const entry of walk(dir, { env, maxDepth: 2, sizes: true })) found.push(entry);
  expect(found).toEqual([
    { path: "a", kind: "file", size: 2 },
    { path: "b", kind: "dir" },
    { path: "b/c", kind: "file", size: 3 },
    { path: "b/d", kind: "dir" },
  ]);
});

test("an abort ends the walk with its reason", async () => {
  const dir = tree({ a: "", b: "" });
  const reason = new Error("enough");
  await expect(files(dir, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

const isRoot = process.getuid?.() === 0;
if (isRoot) console.error("SKIPPED: root reads every directory, so an unreadable one was not tried");
test.if(!isRoot)("a directory that can't be read is listed and left", async () => {
  const dir = tree({ "shut/a": "", b: "" });
  chmodSync(join(dir, "shut"), 0);
  expect(await files(dir)).toEqual(["b"]);
  chmodSync(join(dir, "shut"), 0o700);
});

test("isIgnoredNow judges a named path as the walk would", async () => {
  const dir = tree({
    ".gitignore": "out/\n*.log\n",
    "sub/.gitignore": "!a.log\n",
    "out/x": "",
    "sub/a.log": "",
    "b.log": "",
  });
  const judged = ["out/x", "sub/a.log", "b.log", "sub"].map((path) =>
    isIgnoredNow(dir, path, { isDirectory: false, env }),
  );
  expect(judged).toEqual([true, false, true, false]);
});

test.each([
  ["*a*a*b*", "a", 50],
  ["**/a/**/a/b*", "a/", 30],
])("a rule made to be slow to match is not: %s", async (rule, piece, size) => {
  const rules = parseIgnore(rule, false);
  const match = (count: number) => {
    const path = `${piece.repeat(count)}c`;
    return () => expect(rules?.verdict(path, false)).toBe(null);
  };
  expect(await growth(match, size)).toBeLessThan(8);
});

test("agrees with the ignore package on rules as people write them", () => {
  const text =
    "node_modules/\n*.log\n!keep.log\n/build\ndoc/*.txt\n**/cache\nsrc/**/gen\n# note\n\\#odd\n*.py[cod]\n.env*\n";
  const ours = parseIgnore(text, false);
  const theirs = ignore().add(text);
  const paths =
    "a.log keep.log x/keep.log build x/build doc/a.txt doc/x/a.txt cache x/cache src/a/gen src/gen #odd m.pyc m.py .env .env.local".split(
      " ",
    );
  for (const path of paths) {
    const their = theirs.test(path);
    expect([path, ours?.verdict(path, false)]).toEqual([path, their.ignored ? true : their.unignored ? false : null]);
  }
});

test("names are in the order of their bytes, whatever characters they hold", () => {
  const pieces = ["a", "b", "é", "\ud7ff", "\ue000", "\uffee", "😀", "🚀", "\u{10ffff}"];
  const names = pieces.flatMap((one) => pieces.flatMap((two) => [one, one + two, `${one}${two}x`]));
  const byBytes = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  expect(names.sort(compareBytes)).toEqual(byBytes);
});

test("a directory of thousands comes in the same order as a small one", async () => {
  const dir = join(root, "thousands");
  mkdirSync(dir);
  const size = rounds(4001, 13_001); // primes, so that each name comes once
  const names = Array.from({ length: size }, (_, index) => `${(index * 7919) % size}${index % 3 ? "" : "-é"}`);
  for (const name of names) writeFileSync(join(dir, name), "");
  const found: string[] = [];
  for await (const entry of walk(dir, { env: {} })) found.push(entry.path);
  expect(found).toEqual(names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
});
