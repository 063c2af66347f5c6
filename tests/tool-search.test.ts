/** `glob` and `grep`: what is found, how it is written, and that both engines write the same. */
import { beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listDirTool } from "../src/tool-list.ts";
import { globTool, grepTool } from "../src/tool-search.ts";
import { openWorkspace } from "../src/workspace.ts";
import { type Bench, bench } from "./support/exec-context.ts";

const rg = Bun.which("rg");
if (!rg) console.error("SKIPPED: rg is not on PATH, so the two engines were not compared");
const ours = grepTool(() => null);
const theirs = grepTool(() => rg ?? "rg");

const failure = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    (value) => `resolved: ${JSON.stringify(value)}`,
    (error: Error) => error.message,
  );
const grep = async (at: Bench, input: object): Promise<string> => (await at.run(ours, input)).text;
const glob = async (at: Bench, input: object): Promise<string[]> => (await at.run(globTool, input)).text.split("\n");

describe("glob", () => {
  test("lists the newest first and counts the rest", async () => {
    const at = bench({ "old.ts": "", "new.ts": "", "sub/mid.ts": "", "x.js": "" });
    for (const [path, time] of [
      ["old.ts", 1],
      ["sub/mid.ts", 2],
      ["new.ts", 3],
    ] as const)
      utimesSync(join(at.root, path), time, time);
    expect(await glob(at, { pattern: "*.ts" })).toEqual(["new.ts", "sub/mid.ts", "old.ts"]);
    expect(await glob(at, { pattern: "*.ts", limit: 1 })).toEqual([
      "new.ts",
      "(2 more; these are the newest; narrow the pattern or raise limit)",
    ]);
  });

  test("leaves ignored files out unless asked, and shows one that is named", async () => {
    const at = bench({ ".gitignore": "*.log\nout/\n", "a.log": "", "out/b": "", "sub/a.log": "" });
    expect(await glob(at, { pattern: "**/*.log" })).toEqual([
      "No files match. Ignored files were left out; includeIgnored shows them.",
    ]);
    expect((await glob(at, { pattern: "*.log", includeIgnored: true })).sort()).toEqual(["a.log", "sub/a.log"]);
    expect(await glob(at, { pattern: "out/b" })).toEqual(["out/b"]);
    expect(await glob(at, { pattern: "./sub/a.log" })).toEqual(["sub/a.log"]);
    expect(await glob(at, { pattern: "out" })).toEqual(["out/b"]);
  });

  test("ignore files above a directory hold for it without git too, however it is named", async () => {
    const ignored = { "sub/x.log": "k\n", "sub/out/y.txt": "k\n", "sub/deep/z.log": "k\n", "sub/t.tmp": "k\n" };
    const at = bench({ ".gitignore": "*.log\n/sub/out/\n", ".shiroignore": "*.tmp\n", "sub/a.txt": "k\n", ...ignored });
    for (const pattern of ["sub", "sub/", "sub/**", join(at.root, "sub")])
      expect(await glob(at, { pattern })).toEqual(["sub/a.txt"]);
    expect(await grep(at, { pattern: "k", include: "sub" })).toBe("sub/a.txt:1: k");
    expect((await at.run(listDirTool, { path: "sub" })).text).toBe("sub/\n  a.txt 2 B\n  deep/");
    expect(await glob(at, { pattern: "sub/out" })).toEqual(["sub/out/y.txt"]);
  });

  test("a directory means what is in it, links are names, .git is never shown", async () => {
    const at = bench({ "src/a": "", "src/b/c": "", ".git/config": "" });
    symlinkSync("src", join(at.root, "link"));
    expect((await glob(at, { pattern: "src" })).sort()).toEqual(["src/a", "src/b/c"]);
    expect((await glob(at, { pattern: "*", includeIgnored: true })).sort()).toEqual(["link", "src/a", "src/b/c"]);
    expect(await glob(at, { pattern: ".git/config" })).toEqual([
      "No files match. Ignored files were left out; includeIgnored shows them.",
    ]);
  });

  test("nothing outside the workspace is listed or confirmed", async () => {
    const at = bench({ a: "" });
    symlinkSync("/etc", join(at.root, "esc"));
    for (const pattern of ["../*", "sub/../../*", ".."])
      expect(await failure(at.run(globTool, { pattern }))).toMatch(/can't leave/);
    for (const pattern of ["esc/hostname", "esc/nothing-here", "esc/*", "esc"])
      expect(
        await at.run(globTool, { pattern }).then(
          (result) => result.text,
          (error: Error) => error.message,
        ),
      ).not.toContain("hostname\n");
    expect(await failure(at.run(globTool, { pattern: "esc/passwd" }))).not.toMatch(/^resolved.*"esc\/passwd"/);
  });

  test("whole paths are taken relative to the workspace or to an added directory", async () => {
    const extra = bench({ "lib/x.ts": "in extra\n", ".gitignore": "no.ts\n", "no.ts": "" });
    const at = bench({ "src/a.ts": "in work\n" });
    at.context.workspace = openWorkspace({ root: at.root, extraDirs: [extra.root] });
    expect(await glob(at, { pattern: `${at.root}/**/*.ts` })).toEqual(["src/a.ts"]);
    expect(await glob(at, { pattern: `${at.root}/src` })).toEqual(["src/a.ts"]);
    expect(await glob(at, { pattern: at.root })).toEqual(["src/a.ts"]);
    expect(await glob(at, { pattern: `${extra.root}/**/*.ts` })).toEqual([`${extra.root}/lib/x.ts`]);
    expect((await glob(at, { pattern: `${at.root}x/*` })).join()).toEndWith("A leading / means the workspace root.");
    for (const tool of rg ? [ours, theirs] : [ours])
      expect((await at.run(tool, { pattern: "in", include: `${extra.root}/lib` })).text).toBe(
        `${extra.root}/lib/x.ts:1: in extra`,
      );
  });

  test("a name with a line end stays one line", async () => {
    const at = bench({ "a\nb.txt": "", "-rf": "" });
    expect((await glob(at, { pattern: "*" })).sort()).toEqual(["-rf", "a\\nb.txt"]);
  });
});

const FILES = {
  "src/a.ts": "import x from 'y';\nconst Foo = 1;\n\n  foo(bar);\nlast line without end",
  "src/b.ts": "naïve café\nÉCOLE école\ntab\there\nfoo.bar(baz)[0] = {a: 1};\n",
  "crlf.txt": "first\r\nfoo bar\r\n\r\nlast\r\n",
  "words.txt": "foo food barfoo foo-bar foo_bar\n1234 12.5 0x1F\nΑλφα βήτα\naaa bbb\nA-Z [x] (y) {z}\n",
  "empty.txt": "",
  "-e": "foo in an odd name\n",
  "long.min.js": `${"x".repeat(3000)}needle${"y".repeat(3000)}\n`,
};

describe("grep", () => {
  let at: Bench;
  beforeAll(() => {
    at = bench(FILES);
    writeFileSync(join(at.root, "binary.dat"), "foo\nfoo\0foo\n");
    writeFileSync(join(at.root, "late.dat"), `foo\n${"text\n".repeat(30_000)}\0\n`);
    writeFileSync(join(at.root, "utf16.txt"), Buffer.from("\uFEFFfoo wide\nother\n", "utf16le"));
    writeFileSync(join(at.root, "bom.txt"), "\uFEFFfoo marked\n");
    writeFileSync(join(at.root, "latin.txt"), Buffer.from("caf\xe9 foo\n", "latin1"));
  });

  test("writes path, line and text, in order of path", async () => {
    expect(await grep(at, { pattern: "foo\\(|^const" })).toBe("src/a.ts:2: const Foo = 1;\nsrc/a.ts:4:   foo(bar);");
  });

  test("skips binary files, reads UTF-16, and takes a mark for no text", async () => {
    const found = await grep(at, { pattern: "^foo", include: "*.{dat,txt}" });
    expect(found).toBe(
      "bom.txt:1: foo marked\ncrlf.txt:2: foo bar\nutf16.txt:1: foo wide\nwords.txt:1: foo food barfoo foo-bar foo_bar",
    );
  });

  test("cuts a long line around its match and says how much is missing", async () => {
    const line = await grep(at, { pattern: "needle" });
    expect(line).toMatch(/^long\.min\.js:1: \(\+28\d\d chars\)…x+needley+…\(\+28\d\d chars\)$/);
    expect(line.length).toBeLessThan(460);
  });

  test("includes files by glob, directory or name, an ignored one too when it is named", async () => {
    const other = bench({
      ".gitignore": "secret.log\n",
      "secret.log": "foo\n",
      "sub/a.txt": "foo\n",
      "sub/b.md": "foo\n",
    });
    expect(await grep(other, { pattern: "foo" })).toBe("sub/a.txt:1: foo\nsub/b.md:1: foo");
    expect(await grep(other, { pattern: "foo", include: "*.md" })).toBe("sub/b.md:1: foo");
    expect(await grep(other, { pattern: "foo", include: "sub" })).toBe("sub/a.txt:1: foo\nsub/b.md:1: foo");
    expect(await grep(other, { pattern: "foo", include: "secret.log" })).toBe("secret.log:1: foo");
    expect(await grep(other, { pattern: "foo", include: "*.zz" })).toMatch(/^No files match include/);
    expect(await grep(other, { pattern: "nowhere" })).toBe("No matches.");
  });

  test("context comes with dashes and separators, and no line twice", async () => {
    const other = bench({ a: "1\n2\nhit\n4\nhit\n6\n7\n8\n9\nhit\n", b: "hit\n" });
    expect(await grep(other, { pattern: "hit", context: 1 })).toBe(
      "a-2- 2\na:3: hit\na-4- 4\na:5: hit\na-6- 6\n--\na-9- 9\na:10: hit\n--\nb:1: hit",
    );
  });

  test("stops at 200 hits and says that there are more", async () => {
    const other = bench({ a: "x\n".repeat(150), b: "x\n".repeat(150) });
    const lines = (await grep(other, { pattern: "x" })).split("\n");
    expect(lines).toHaveLength(201);
    expect(lines.at(-1)).toBe("(more hits; narrow the pattern or use include)");
  });

  test("never shows a file that rules withhold, nor whether it would match", async () => {
    const other = bench({ ".env": "KEY=canary\n", "a.txt": "KEY=other\n" });
    symlinkSync(".env", join(other.root, "notes.txt"));
    other.context.mayRead = (path) => !path.endsWith(".env");
    for (const include of [undefined, ".env", "notes.txt", "*"]) {
      for (const pattern of ["KEY", "canary", "."]) {
        const found = await other.run(ours, { pattern, include }).then(
          (result) => result.text,
          (error: Error) => error.message,
        );
        expect(found).not.toContain("canary");
        if (include?.includes("."))
          expect(found).toBe(`Rules forbid reading ${include}. Do without it, or ask the user.`);
      }
    }
    const many = bench({ ".env": "KEY=1\n".repeat(500), "a.txt": "KEY=2\n" });
    many.context.mayRead = other.context.mayRead;
    for (const tool of rg ? [ours, theirs] : [ours])
      expect((await many.run(tool, { pattern: "KEY" })).text).toBe(
        "a.txt:1: KEY=2\n(left out: 1 file that rules forbid reading)",
      );
    expect(await grep(other, { pattern: "canary" })).toBe(await grep(other, { pattern: "absent" }));
  });

  test("says how many files rules withhold in a tree too large to ask about each", async () => {
    const at = bench({ ".env": "KEY=canary\n", "deep/Server.PEM": "KEY=canary\n", "private.txt": "KEY=canary\n" });
    at.context.mayRead = (path) => !/\.env$|\.pem$|private/i.test(path);
    for (let file = 0; file < 2100; file++) writeFileSync(join(at.root, `f${file}.txt`), "");
    for (const pattern of ["canary", "absent"])
      expect(await grep(at, { pattern })).toBe("No matches.\n(left out: 2 files that rules forbid reading)");
  });

  test("a result that was too long to send can be searched where it was put", async () => {
    const at = bench({ "a.txt": "needle\n" });
    const spilled = join(at.context.spillDir, "call-1.txt");
    mkdirSync(at.context.spillDir);
    writeFileSync(spilled, "hay\nneedle\n");
    at.context.workspace.readableDirs.add(at.context.spillDir);
    for (const tool of rg ? [ours, theirs] : [ours])
      expect((await at.run(tool, { pattern: "needle", include: spilled })).text).toBe(`${spilled}:2: needle`);
    expect(await grep(at, { pattern: "needle" })).toBe("a.txt:1: needle");
  });

  test.each([["("], ["[a"], ["*a"], ["a{3,1}"], ["(?z)a"], ["\\"], ["[z-a]"], ["a\\nb"], ["\\y"]])(
    "%s is an invalid regex, said the same way by both engines",
    async (pattern) => {
      const said = await failure(at.run(ours, { pattern }));
      expect(said).toStartWith("Invalid regex: ");
      if (rg) expect(await failure(at.run(theirs, { pattern }))).toBe(said);
    },
  );

  test("what rg can't say is still searched", async () => {
    for (const [pattern, found] of [
      ["foo(?=d)", "words.txt:1"],
      ["(a)\\1\\1", "words.txt:4"],
      ["\\<bar\\>\\)", "src/a.ts:4"],
    ] as const) {
      expect(await grep(at, { pattern })).toStartWith(found);
      if (rg) expect((await at.run(theirs, { pattern })).text).toStartWith(found);
    }
  });

  test("an rg that is gone or broken is done without", async () => {
    for (const program of ["/no/such/rg", Bun.which("false") ?? "false", Bun.which("cat") ?? "cat"])
      expect(
        (
          await at.run(
            grepTool(() => program),
            { pattern: "^const" },
          )
        ).text,
      ).toBe("src/a.ts:2: const Foo = 1;");
  });

  test("a feature that only rg has is named when rg is missing", async () => {
    expect(await failure(grep(at, { pattern: "(?x) foo # comment" }))).toBe(
      "Invalid regex: (?x) needs rg, which is not installed.",
    );
  });
});

test
  .if(rg !== null)
  .each([
    { pattern: "foo" },
    { pattern: "FOO|école", ignoreCase: true, context: 2 },
    { pattern: ".", include: "*.txt" },
    { pattern: "\\w+$", include: "src" },
    { pattern: "nowhere" },
  ])("both engines write the same for %j", async (input) => {
  const at = bench(FILES);
  expect((await at.run(ours, input)).text).toBe((await at.run(theirs, input)).text);
});

test("a directory that is a link out of the workspace is not searched", async () => {
  const at = bench({ a: "root\n" });
  symlinkSync("/etc", join(at.root, "esc"));
  mkdirSync(join(at.root, "sub"));
  expect(await grep(at, { pattern: "root" })).toBe("a:1: root");
  expect(await failure(at.run(ours, { pattern: "root", include: "esc" }))).not.toContain("root:");
});
