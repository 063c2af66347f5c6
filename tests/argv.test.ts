import { describe, expect, test } from "bun:test";
import { flagValue, hasFlag, splitArgv, splitGit } from "../src/argv.ts";
import { runsCodeInAwk, runsCodeInSed } from "../src/permission-scripts.ts";

const words = (line: string): string[] => line.split(" ").filter((word) => word !== "");

describe("whether an option is given", () => {
  test.each([
    ["-rf", ["-f"], "", true],
    ["-r -f", ["-f"], "", true],
    ["x -f", ["-f"], "", true],
    ["-- -f", ["-f"], "", false],
    ["--force", ["--force"], "", true],
    ["--for", ["--force"], "", true],
    ["--f", ["--force"], "", true],
    ["--force=x", ["--force"], "", true],
    ["--forced", ["--force"], "", false],
    ["--", ["--force"], "", false],
    ["-o f", ["-f"], "o", false],
    ["-of", ["-f"], "o", false],
    ["-xof", ["-f"], "o", false],
    ["-fo x", ["-f"], "o", true],
    ["-delete", ["-delete"], "", true],
    ["f", ["-f"], "", false],
    ["", ["-f"], "", false],
  ] satisfies [string, string[], string, boolean][])(
    "%p has %p (values after %p): %p",
    (line, flags, valued, expected) => {
      expect(hasFlag(words(line), flags, { valued })).toBe(expected);
    },
  );
});

test.each([
  ["-o out x", ["-o"], "o", "out"],
  ["-oout x", ["-o"], "o", "out"],
  ["-vo out", ["-o"], "o", "out"],
  ["--output=out", ["-o", "--output"], "o", "out"],
  ["--output out", ["-o", "--output"], "o", "out"],
  ["x", ["-o"], "o", null],
  ["-- -o x", ["-o"], "o", null],
])("in %p the value of %p is found", (line, flags, valued, expected) => {
  expect(flagValue(words(line), flags, { valued })).toBe(expected);
});

test("operands and options are told apart", () => {
  expect(splitArgv(words("-a x -o y z -- -b"), { valued: "o" })).toEqual({
    options: ["-a", "-o"],
    operands: ["x", "z", "-b"],
  });
  expect(splitArgv(words("-a x -b"), { stopAtOperand: true })).toEqual({ options: ["-a"], operands: ["x", "-b"] });
});

test.each([
  ["push x", [], "push", ["x"]],
  ["-C dir push", ["-C", "dir"], "push", []],
  ["-c a=b --git-dir=x log -1", ["-c", "a=b", "--git-dir=x"], "log", ["-1"]],
  ["--git-dir x --no-pager log", ["--git-dir", "x", "--no-pager"], "log", []],
  ["--exec-path log", ["--exec-path"], "log", []],
  ["--version", ["--version"], "", []],
])("git %s", (line, globals, sub, rest) => {
  expect(splitGit(words(line))).toEqual({ globals, sub, rest });
});

describe("scripts that only read, and those that don't", () => {
  test.each([
    ["1,5p", false],
    ["/a/,/b/p", false],
    ["s/a/b/g", false],
    ["s|w|e|", false],
    ["s/\\/w/x/", false],
    ["y/abc/xyz/", false],
    ["/wide/d", false],
    ["$!N;P;D", false],
    ["a\\ we", false],
    ["1e touch x", true],
    ["w x", true],
    ["/a/w x", true],
    ["s/a/b/w x", true],
    ["s/a/b/e", true],
    ["s/a/b/ge", true],
    ["p;w x", true],
    ["{w x\n}", true],
    ["bx;w y", true],
    ["5!e", true],
    ["\\|a|w x", true],
    ["s/a", true],
  ])("sed %p: %p", (script, expected) => expect(runsCodeInSed(script)).toBe(expected));

  test.each([
    ["{print $1}", false],
    ["$3 > 100 {print $1}", false],
    ["/a|b/ {print}", false],
    ['{ print "a|b > c" }', false],
    ["a || b", false],
    ["{ n += $1 / $2 } END { print n / 2 }", false],
    ['BEGIN{system("x")}', true],
    ['{print > "x"}', true],
    ['{printf "%s", $1 >> "x"}', true],
    ['{print | "sh"}', true],
    ['{ "date" | getline x }', true],
    ['@load "x"', true],
    ['{ f = "system"; @f("x") }', true],
    ['{ x / "a" | "sh" / y }', true],
  ])("awk %p: %p", (program, expected) => expect(runsCodeInAwk(program)).toBe(expected));
});
