/** A typed command line in words: as bash takes it where nothing is expanded. */
import { expect, test } from "bun:test";
import { joinWords, splitWords } from "../src/argv-words.ts";
import { seeded } from "./support/random-text.ts";

const LINES = [
  "npx -y server .",
  "  a   'b c'  \"d e\" ",
  "a\\ b c\\\\d",
  "'it'\\''s' \"say \\\"hi\\\" \\n\"",
  "pre\"mid dle\"post'x'",
  "'' \"\" a",
  "a=b --flag='x y' /p/q@1:2,3",
];

test.each(LINES)("%p has the words that bash gives it", (line) => {
  const bash = Bun.which("bash");
  if (bash === null) return console.error("NO BASH: the words of a line are compared with nothing");
  const { stdout } = Bun.spawnSync([bash, "-c", `printf '%s\\0' ${line}`]);
  expect(splitWords(line)).toEqual(stdout.toString().split("\0").slice(0, -1));
});

test.each(["'open", 'a "b', "a 'b\" c"])("%p has a quote that isn't closed", (line) => {
  expect(splitWords(line)).toBeNull();
});

test("words written as a line come back as they were", () => {
  const random = seeded(3);
  const pieces = ["a", " ", "'", '"', "\\", "$x", "é", "-", "\n", "*"];
  for (let round = 0; round < 300; round++) {
    const words = Array.from({ length: 1 + random(4) }, () =>
      Array.from({ length: random(5) }, () => pieces[random(pieces.length)]).join(""),
    );
    expect(splitWords(joinWords(words))).toEqual(words);
  }
});
