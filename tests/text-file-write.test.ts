/** Writing whole files: what survives, and what is left behind when it fails. */
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { errnoOf } from "../src/errors.ts";
import { createFile, replaceFile } from "../src/text-file-write.ts";
import { tempDir } from "./support/workspace-tools.ts";

const bytes = (text: string) => Buffer.from(text);
const modeOf = (path: string) => statSync(path).mode & 0o7777;

function errno(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return errnoOf(error);
  }
}

test.each([0o755, 0o600, 0o640, 0o4755, 0o444 | 0o200])("mode %o stays", (mode) => {
  const path = join(tempDir(), "f");
  writeFileSync(path, "old");
  chmodSync(path, mode);
  replaceFile(path, bytes("new"));
  expect([readFileSync(path, "utf8"), modeOf(path)]).toEqual(["new", mode]);
});

test("a file is replaced, not rewritten: who has it open still sees the old content", () => {
  const path = join(tempDir(), "f");
  writeFileSync(path, "old");
  const before = statSync(path).ino;
  replaceFile(path, bytes("new"));
  expect(statSync(path).ino).not.toBe(before);
});

test.each(["longer than before", "s", ""])("hard links stay together with content %j", (content) => {
  const dir = tempDir();
  writeFileSync(join(dir, "f"), "content");
  linkSync(join(dir, "f"), join(dir, "h"));
  replaceFile(join(dir, "f"), bytes(content));
  expect(readFileSync(join(dir, "h"), "utf8")).toBe(content);
  expect(statSync(join(dir, "f")).nlink).toBe(2);
});

test("nothing but the file is left behind", () => {
  const dir = tempDir();
  createFile(join(dir, "f"), bytes("1"));
  replaceFile(join(dir, "f"), bytes("2"));
  expect(readdirSync(dir)).toEqual(["f"]);
});

test("creating never overwrites, not even through a link", () => {
  const dir = tempDir();
  writeFileSync(join(dir, "victim"), "mine");
  symlinkSync("victim", join(dir, "link"));
  symlinkSync("nowhere", join(dir, "dangling"));
  for (const name of ["victim", "link", "dangling"])
    expect(errno(() => createFile(join(dir, name), bytes("x")))).toBe("EEXIST");
  expect(readFileSync(join(dir, "victim"), "utf8")).toBe("mine");
  expect(readlinkSync(join(dir, "dangling"))).toBe("nowhere");
  expect(readdirSync(dir).sort()).toEqual(["dangling", "link", "victim"]);
});

test("a new file has the mode asked for, else the one of the umask", () => {
  const dir = tempDir();
  const umask = process.umask(0o027);
  try {
    createFile(join(dir, "plain"), bytes("x"));
    createFile(join(dir, "run"), bytes("x"), { mode: 0o755 });
    createFile(join(dir, "private"), bytes("x"), { mode: 0o600 });
  } finally {
    process.umask(umask);
  }
  expect(["plain", "run", "private"].map((name) => modeOf(join(dir, name)))).toEqual([0o640, 0o755, 0o600]);
});

/** Runs a script as somebody without root's rights, as which most of the following can't be shown. */
function asNobody(dir: string, script: string): { code: number; output: string } | null {
  const file = join(dir, "script.ts");
  const source = join(import.meta.dir, "../src/text-file-write.ts");
  writeFileSync(
    file,
    `import { createFile, replaceFile } from ${JSON.stringify(source)};\nconst dir = ${JSON.stringify(dir)};\n${script}`,
  );
  const root = process.getuid?.() === 0;
  const command = root ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];
  if (root && Bun.which("setpriv") === null) {
    console.error("SKIPPED: running as root without setpriv, so no file can be unwritable");
    return null;
  }
  const env = { PATH: process.env.PATH ?? "", TMPDIR: dir, HOME: dir };
  const run = Bun.spawnSync([...command, process.execPath, file], { env, stderr: "pipe" });
  return { code: run.exitCode, output: run.stdout.toString() + run.stderr.toString() };
}

const NOBODY = 65534;

function unwritable(dir: string, mode: number): string {
  mkdirSync(join(dir, "locked"));
  const path = join(dir, "locked/f");
  writeFileSync(path, "old content");
  chmodSync(path, mode);
  if (process.getuid?.() === 0) chownSync(path, NOBODY, NOBODY);
  chmodSync(join(dir, "locked"), 0o555);
  chmodSync(dir, 0o777);
  return path;
}

test("a writable file in a directory that is not is rewritten in place", () => {
  const dir = tempDir();
  const path = unwritable(dir, 0o644);
  const run = asNobody(dir, `replaceFile(dir + "/locked/f", Buffer.from("new"));`);
  chmodSync(join(dir, "locked"), 0o755);
  if (run === null) return;
  expect([run.code, run.output, readFileSync(path, "utf8"), modeOf(path)]).toEqual([0, "", "new", 0o644]);
});

test("a read-only file is refused, though its directory would allow a rename", () => {
  const dir = tempDir();
  const path = unwritable(dir, 0o444);
  chmodSync(join(dir, "locked"), 0o777);
  const run = asNobody(
    dir,
    `try { replaceFile(dir + "/locked/f", Buffer.from("new")); } catch (error) { console.log(error.code); }`,
  );
  if (run === null) return;
  expect([run.output.trim(), readFileSync(path, "utf8")]).toEqual(["EACCES", "old content"]);
});

test("a full disk leaves the old file and no other", () => {
  const dir = tempDir();
  if (
    process.getuid?.() !== 0 ||
    Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", dir]).exitCode !== 0
  ) {
    console.error("SKIPPED: mounting a small tmpfs needs root, so a full disk can't be shown");
    return;
  }
  try {
    const path = join(dir, "f");
    writeFileSync(path, "old content");
    writeFileSync(join(dir, "h"), "linked");
    linkSync(join(dir, "h"), join(dir, "h2"));
    const big = Buffer.alloc(200_000, "x");
    expect(errno(() => replaceFile(path, big))).toBe("ENOSPC");
    expect(errno(() => replaceFile(join(dir, "h"), big))).toBe("ENOSPC");
    expect(errno(() => createFile(join(dir, "new"), big))).toBe("ENOSPC");
    expect([readFileSync(path, "utf8"), readFileSync(join(dir, "h2"), "utf8")]).toEqual(["old content", "linked"]);
    expect([readdirSync(dir).sort(), existsSync(join(dir, "new"))]).toEqual([["f", "h", "h2"], false]);
  } finally {
    Bun.spawnSync(["umount", dir]);
  }
});
