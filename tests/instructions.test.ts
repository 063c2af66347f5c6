import { afterAll, describe, expect, test } from "bun:test";
import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { MAX_INSTRUCTION_BYTES, loadInstructions, repositoryRoot } from "../src/instructions.ts";

const scratch = mkdtempSync(join(tmpdir(), "shiro-instructions-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function tree(files: Record<string, string>): { root: string; home: string } {
  const base = realpathSync(mkdtempSync(join(scratch, "instructions-")));
  const [root, home] = [join(base, "repo"), join(base, "home")];
  mkdirSync(join(root, ".git"), { recursive: true });
  mkdirSync(home);
  for (const [path, text] of Object.entries(files)) {
    const full = path.startsWith("~/") ? join(home, path.slice(2)) : join(root, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
  }
  return { root, home };
}

const load = (root: string, home: string, sub = "") => loadInstructions({ cwd: join(root, sub), home });

test("files count from the user's own through the repository root down to the working directory", () => {
  const { root, home } = tree({
    "~/AGENTS.md": "mine",
    "AGENTS.md": "root",
    "a/AGENTS.md": "a",
    "a/b/AGENTS.md": "b",
    "c/AGENTS.md": "not on the way",
  });
  expect(load(root, home, "a/b").files.map((file) => file.text)).toEqual(["mine", "root", "a", "b"]);
});

test("CLAUDE.md counts only where no AGENTS.md stands beside it", () => {
  const { root, home } = tree({ "AGENTS.md": "agents", "CLAUDE.md": "claude", "a/CLAUDE.md": "claude in a" });
  expect(load(root, home, "a").files.map((file) => file.text)).toEqual(["agents", "claude in a"]);
});

test("outside a repository only the working directory counts", () => {
  const base = realpathSync(mkdtempSync(join(scratch, "norepo-")));
  mkdirSync(join(base, "x"));
  writeFileSync(join(base, "AGENTS.md"), "above");
  writeFileSync(join(base, "x", "AGENTS.md"), "here");
  expect(repositoryRoot(join(base, "x"))).toBe(join(base, "x"));
  expect(load(base, "/nowhere", "x").files.map((file) => file.text)).toEqual(["here"]);
});

test("the same file reached by two paths is read once", () => {
  const { root, home } = tree({ "AGENTS.md": "once", "a/x": "" });
  symlinkSync("../AGENTS.md", join(root, "a", "AGENTS.md"));
  expect(load(root, home, "a").files).toHaveLength(1);
});

test("a link out of the workspace is not followed, and said", () => {
  const { root, home } = tree({});
  symlinkSync("/etc/passwd", join(root, "AGENTS.md"));
  const found = load(root, home);
  expect(found.files).toEqual([]);
  expect(found.notices).toEqual([
    expect.stringMatching(/^AGENTS\.md leads outside the workspace \(\/etc\/passwd\); not read$/),
  ]);
});

test("a link to a file of secrets is not followed, and said", () => {
  const { root, home } = tree({ ".env": "KEY=1", "a/x": "" });
  symlinkSync(".env", join(root, "AGENTS.md"));
  symlinkSync("../.env", join(root, "a", "CLAUDE.md"));
  const found = load(root, home, "a");
  expect(found.files).toEqual([]);
  expect(found.notices).toEqual([`../AGENTS.md leads to ${join(root, ".env")}, which usually holds secrets; not read`]);
});

describe("bounds", () => {
  test("files for which there is no room any more are named and left out", () => {
    const long = "x".repeat(20_000);
    const { root, home } = tree({ "AGENTS.md": long, "a/AGENTS.md": long, "a/b/AGENTS.md": long });
    const { files, notices } = load(root, home, "a/b");
    expect(files.map((file) => file.path)).toEqual(["../../AGENTS.md", "../AGENTS.md"]);
    expect(notices).toEqual([
      "../AGENTS.md is 20000 bytes; only the first 12768 are in the prompt",
      "AGENTS.md is 20000 bytes; only the first 0 are in the prompt",
    ]);
  });
  test("a file of megabytes is cut with a notice", () => {
    const { root, home } = tree({ "AGENTS.md": "é".repeat(1_500_000) });
    const { files, notices } = load(root, home);
    expect(Buffer.byteLength(files[0]?.text ?? "")).toBeLessThan(MAX_INSTRUCTION_BYTES + 100);
    expect(files[0]?.text).toEndWith("[cut here: the file is longer than the prompt has room for]");
    expect(files[0]?.text).not.toContain("\uFFFD");
    expect(notices).toEqual(["AGENTS.md is 3000000 bytes; only the first 32768 are in the prompt"]);
  });
  test("invisible characters are taken out and reported", () => {
    const { root, home } = tree({ "AGENTS.md": "safe\u{E0041}\u{E0042}\u200B text" });
    const { files, notices } = load(root, home);
    expect(files[0]?.text).toBe("safe text");
    expect(notices).toEqual(["AGENTS.md holds 3 invisible characters; read it before you trust it"]);
  });
  test("data in variation selectors is invisible too, an emoji's own is not", () => {
    const { root, home } = tree({ "AGENTS.md": "a\u{E0100}\u{E01EF}\uFE00b \u2764\uFE0F" });
    const { files, notices } = load(root, home);
    expect([files[0]?.text, notices.length]).toEqual(["ab \u2764\uFE0F", 1]);
  });
  test("a directory of that name is no instruction file", () => {
    const { root, home } = tree({});
    mkdirSync(join(root, "AGENTS.md"));
    expect(load(root, home)).toEqual({ files: [], notices: ["AGENTS.md is not a regular file; not read"] });
  });
});

test("a hard link to a file that was read is the same file", () => {
  const { root, home } = tree({ "AGENTS.md": "one", "a/x": "" });
  linkSync(join(root, "AGENTS.md"), join(root, "a", "AGENTS.md"));
  expect(load(root, home, "a").files).toHaveLength(1);
});
