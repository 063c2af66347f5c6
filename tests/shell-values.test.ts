/** What a line tells of its own variables, words and directories. */
import { describe, expect, test } from "bun:test";
import { parseShell, type Word } from "../src/shell.ts";

/** How the last word of the line's last command with words was read: every alternative, `?` when there may be others. */
function lastWord(line: string): string {
  const parsed = parseShell(line);
  const plain = parsed.ok ? parsed.commands.filter((command) => !command.context.endsWith("substitution")) : [];
  const word = plain.findLast((command) => command.words.length > 0)?.words.at(-1);
  return word ? shown(word) : parsed.ok ? "nothing" : parsed.reason;
}

function shown(word: Word): string {
  const alternatives = word.alternatives.map((fields) => fields.map((field) => `<${field.value}>`).join(""));
  return alternatives.join("|") + (word.dynamic ? "?" : "");
}

describe("quotes are removed", () => {
  test.each([
    ["c r''m", "<rm>"],
    ["c \\r\\m", "<rm>"],
    ["c \"a\"'b'c", "<abc>"],
    ['c "a\\"b\\c"', '<a"b\\c>'],
    ["c ''", "<>"],
    ["c $'a\\tb\\x41\\101\\u00e9\\'\\cA'", "<a\tbAAé'\x01>"],
    ["c $'a\\0b'c", "<ac>"],
    ['c $"a"', "<a>"],
    ["c a\\\nb", "<ab>"],
    ['c "a\\\nb"', "<ab>"],
    ["c 'a\\\nb'", "<a\\\nb>"],
  ])("%j is %s", (line, expected) => {
    expect(lastWord(line)).toBe(expected);
  });
});

describe("values are followed as far as they are certain", () => {
  test.each([
    ["F=.env; cat $F", "<.env>"],
    ['F=.env; cat "x/${F}"', "<x/.env>"],
    ["F=a; F+=b; cat $F", "<ab>"],
    ["A=x; B=$A/y; cat $B", "<x/y>"],
    ["X='rm -r y'; $X", "<rm><-r><y>"],
    ["X='a b'; c \"$X\"", "<a b>"],
    ["X=; c $X", ""],
    ["for f in a b; do cat $f; done", "<a>|<b>"],
    ["for f in {a,b}.c; do cat $f; done", "<a.c>|<b.c>"],
    ['for f in *.c; do cat "$f"; done', "<*.c>?"],
    ["cat $F", "?"],
    ["cat $(x)", "?"],
    ["cat ${F:-.env}", "<.env>?"],
    ["F=; cat ${F:-.env}", "<.env>"],
    ["F=a; cat ${F:-.env}", "<a>"],
    ["cat ${F:+.env}", "<.env>|?"],
    ["F=a; cat ${F%x}", "?"],
    ["x && F=.env; cat $F", "<.env>?"],
    ["F=a; x && F=.env; cat $F", "<a>|<.env>"],
    ["F=a && cat $F", "<a>"],
    ["if x; then F=a; else F=b; fi; cat $F", "<a>|<b>?"],
    ["F=a; (F=.env); cat $F", "<a>"],
    ["F=a; F=.env | x; cat $F", "<a>"],
    ["F=a; F=.env & cat $F", "<a>"],
    ["F=a; while x; do cat $F; F=.env; done", "<a>?"],
    ["while x; do F=.env; cat $F; done", "<.env>"],
    ["F=a; eval x; cat $F", "<a>?"],
    ["F=a; . x; cat $F", "<a>?"],
    ["F=a; $x; cat $F", "<a>?"],
    ["F=a; f() { F=.env; }; f; cat $F", "<a>?"],
    ["F=a; read F; cat $F", "<a>?"],
    ["read F <<< .env; cat $F", "<.env>?"],
    ["F=a; unset F; cat $F", "<a>?"],
    ["F=a; printf -v F x; cat $F", "<a>?"],
    ["F=a; (( F = 1 )); cat $F", "<a>?"],
    ["F=a; : ${F:=b}; cat $F", "<a>|<b>?"],
    ["export F=.env; cat $F", "<.env>"],
    ["export G=x F=.env; cat $F", "<.env>"],
    ["declare -u F; F=a; cat $F", "<a>?"],
    ["IFS=,; X=a,b; c $X", "<a,b>?"],
    ["F=a; F=b cat $F", "<a>"],
    ["a=(x .env); cat ${a[1]}", "<x>|<.env>?"],
    ["SECONDS=a; cat $SECONDS", "<a>?"],
    ["case x in a) F=a;; *) F=b;; esac; cat $F", "<a>|<b>?"],
    ["f() { cat $F; }", "?"],
  ])("%s reads %s", (line, expected) => {
    expect(lastWord(line)).toBe(expected);
  });

  test("the caller's variables are known, too", () => {
    const parsed = parseShell('cat "$HOME/x"', new Map([["HOME", { values: ["/h"], exact: true }]]));
    expect(parsed.ok && parsed.commands[0]?.words[1]?.value).toBe("/h/x");
  });

  test("values that double with every assignment are given up, not followed", () => {
    expect(lastWord(`A=aaaaaaaa;${"A=$A$A;".repeat(5000)}c $A`)).toBe("?");
  });
});

describe("braces become words", () => {
  test.each([
    ["c {a,b}", "<a><b>"],
    ["c x{a,}y", "<xay><xy>"],
    ["c {a,b{1..3}}", "<a><b1><b2><b3>"],
    ["c {3..1}", "<3><2><1>"],
    ["c {01..10..4}", "<01><05><09>"],
    ["c {a..e..2}", "<a><c><e>"],
    ["c {a} {}", "<{}>"],
    ["c '{a,b}'", "<{a,b}>"],
    ["c {a,'b,c'}", "<a><b,c>"],
    ["c {1..9999}", "?"],
    ["c {{a,b}", "<{a><{b>"],
    ["c {p},q{1..2}}", "<p}><q1><q2>"],
    ["c {a,{b}c,d}", "<a><{b}c><d>"],
    ["c {1..x}", "?"],
    ["c @{u}..HEAD", "<@{u}..HEAD>"],
    ["{rm,-r,x}", "<rm><-r><x>"],
    ["X={a,b}; c $X", "<{a,b}>"],
  ])("%s is %s", (line, expected) => {
    expect(lastWord(line)).toBe(expected);
  });
});

test("wildcards keep which of their characters were quoted", () => {
  const parsed = parseShell("c *.e'*' ~/x '*' [ a[0] $Y*");
  const fields = parsed.ok ? parsed.commands[0]?.words.slice(1).map((word) => word.alternatives[0]?.[0]) : [];
  expect(fields?.map((field) => [field?.pattern, field?.tilde])).toEqual([
    ["*.e\\*", false],
    [null, true],
    [null, false],
    [null, false],
    ["a[0]", false],
    [undefined, undefined],
  ]);
});

describe("directories are followed", () => {
  test.each([
    ["cd a && x", "a"],
    ["cd a; x", "a ."],
    ["cd a || exit 1; x", "a"],
    ["cd a || cd b; x", "a b ."],
    ["cd a && cd ../b && x", "b"],
    ["cd /t && x", "/t"],
    ["cd && x", "~"],
    ["(cd a); x", "."],
    ["cd a | y; x", "."],
    ["cd $Q && x", ". ?"],
    ["cd - && x", ". ?"],
    ["D=a; cd $D && x", "a"],
    ["for d in a b; do (cd $d && x); done", "a b"],
    ["for d in a b; do cd $d && x; done", "a b ?"],
    ["if cd a; then x; fi", "a"],
    ["! cd a || x", "a"],
    ["pushd a && popd && x", "a ?"],
    ["f() { cd a; }; f; x", ". ?"],
    ["eval y; x", ". ?"],
    ["command cd a && x", "a"],
    ["{ cd a && y; } && x", "a"],
    ["cd a && x &", "a"],
  ])("%s ends in %s", (line, expected) => {
    const parsed = parseShell(line);
    const last = parsed.ok ? parsed.commands.findLast((command) => command.words[0]?.value === "x") : undefined;
    expect(`${last?.cwds.join(" ")}${last?.cwdKnown ? "" : " ?"}`).toBe(expected);
  });
});
