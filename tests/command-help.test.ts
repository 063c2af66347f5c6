/** Help topics on a screen: no Markdown marks of tables and headings, no broken words, nothing lost. */
import { expect, test } from "bun:test";
import { helpView } from "../src/command-help.ts";
import { TOPICS } from "../src/help.ts";
import { displayWidth } from "../src/text.ts";

const VIEW = { colour: false, columns: 40 };

test.each([
  [
    "a heading is bold and loses its mark",
    "# Keys\n\ntext",
    { colour: true, columns: 40 },
    "\x1b[1mKeys\x1b[22m\n\ntext\n",
  ],
  [
    "a table of two is a list",
    "| key | effect |\n|---|---|\n| esc | ends |\n| ctrl-c | stops |",
    VIEW,
    "  esc     ends\n  ctrl-c  stops\n",
  ],
  [
    "a wider table keeps its names",
    "| a | b | c |\n|---|---|---|\n| one | 2 | x |",
    VIEW,
    "  a    b  c\n  one  2  x\n",
  ],
  [
    "a table that is too wide keeps a narrow first column, and a long name has a line of its own",
    "| field | meaning |\n|---|---|\n| `mode` | how commands are confined |\n| `maxSpendUsd`, `maxTokens` | ceilings |",
    VIEW,
    "  `mode`         how commands are\n                 confined\n  `maxSpendUsd`, `maxTokens`\n                 ceilings\n",
  ],
  [
    "further columns of one stand below each other",
    "| event | fields | when |\n|---|---|---|\n| done | exit and costUsd | last line of all |",
    VIEW,
    "  event  fields\n         when\n  done   exit and costUsd\n         last line of all\n",
  ],
  [
    "paragraphs end at the margin",
    "one two three four five six seven eight nine",
    VIEW,
    "one two three four five six seven eight\nnine\n",
  ],
  [
    "items go on under their text",
    "- one two three four five six seven eight nine",
    VIEW,
    "- one two three four five six seven\n  eight nine\n",
  ],
])("%s", (_, text, view, shown) => {
  expect(helpView(text, view)).toBe(shown);
});

test.each(Object.keys(TOPICS))("topic %s is readable at 40 columns and keeps every word", (name) => {
  const text = TOPICS[name] ?? "";
  const shown = helpView(text, VIEW);
  const words = (of: string) => of.match(/[\p{L}\p{N}]+/gu) ?? [];
  const tableNames = text
    .split("\n")
    .filter((line, at, all) => line.startsWith("|") && /^\| *-/.test(all[at + 1] ?? ""));
  expect(words(text).length - words(shown).length).toBeLessThanOrEqual(words(tableNames.join(" ")).length);
  for (const line of shown.split("\n"))
    if (displayWidth(line) > 40)
      expect(
        line
          .trim()
          .split(" ")
          .some((word) => displayWidth(word) > 12),
      ).toBe(true);
});
