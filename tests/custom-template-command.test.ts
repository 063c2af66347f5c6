import { expect, test } from "bun:test";
import { fillCommand } from "../src/custom-template-command.ts";

test.each([
  ["git log $1", "main", "git log main"],
  ["git log $ARGUMENTS", "a..b  -- 'one file'", "git log a..b -- 'one file'"],
  ["git log $1 $2", "only", "git log only "],
  ["echo $1", "'; touch made'", "echo '; touch made'"],
  ["echo $ARGUMENTS", "; touch made", "echo ';' touch made"],
  ['git commit -m "$ARGUMENTS"', "don't", 'git commit -m "don\'t"'],
  ['echo "$1"', "$(x)`y`", String.raw`echo "\$(x)\`y\`"`],
  ["echo '$1'", `"it's"`, String.raw`echo 'it'\''s'`],
  ["echo $'$1'", `"it's"`, String.raw`echo $'it\'s'`],
  ['echo "$(cat $1)" "$2"', "'a b' 'c d'", `echo "$(cat 'a b')" "c d"`],
  [String.raw`echo \$1 $1`, "x", String.raw`echo \$1 x`],
])("%s with %s", (command, args, expected) => expect(fillCommand(command, args)).toBe(expected));

test("a shell sees each argument as it was typed, wherever it stands", () => {
  const hostile = [
    "a b",
    "$(echo x)",
    "`echo x`",
    "'",
    '"',
    "\\",
    "*",
    "~",
    ";",
    "a\nb",
    "#x",
    "$HOME",
    "!x",
    "'\"$`\\",
  ];
  const typed = (word: string): string => `"${word.replace(/["\\]/g, "\\$&")}"`;
  const places = [
    "$1",
    '"$1"',
    "'$1'",
    "$'$1'",
    `"$(printf '%s' $1)"`,
    `"$(printf '%s' "$1")"`,
    `"$(printf '%s' '$1')"`,
  ];
  const lines = hostile.flatMap((word) => places.map((place) => fillCommand(`printf '%s\\0' ${place}`, typed(word))));
  const { stdout } = Bun.spawnSync(["bash", "-c", lines.join("\n")], { cwd: "/", env: { HOME: "/h" } });
  expect(stdout.toString().split("\0").slice(0, -1)).toEqual(hostile.flatMap((word) => places.map(() => word)));
});
