/** Markdown is styled as it streams: the same in any cut, little held back, cheap in bytes, and nothing lost that isn't a mark. */
import { expect, test } from "bun:test";
import { MarkdownStream } from "../src/markdown.ts";
import { sanitize } from "../src/sanitize.ts";
import { growth } from "./support/growth.ts";

const B = "\x1b[1m";
const I = "\x1b[3m";
const C = "\x1b[36m";
const D = "\x1b[2m";
const R = "\x1b[m";

function render(text: string, colour = true): string {
  const stream = new MarkdownStream({ colour, ascii: false });
  return stream.push(text) + stream.end();
}

test.each([
  ["plain words.\n", "plain words.\n"],
  ["a **bold** b", `a ${B}bold${R} b`],
  ["a *it* _it_ b", `a ${I}it${R} ${I}it${R} b`],
  ["**bold _and_ more** x", `${B}bold ${I}and${R}${B} more${R} x`],
  ["run `npm test` now", `run ${C}npm test${R} now`],
  ["``a ` b`` c", `${C}a \` b${R} c`],
  ["`**x** [y](z)`", `${C}**x** [y](z)${R}`],
  ["# Title\ntext", `${B}Title${R}\ntext`],
  ["#hashtag", "#hashtag"],
  ["####### seven", "####### seven"],
  ["- item **x**\n", `- item ${B}x${R}\n`],
  ["* star\n1. one\n> quote\n", "* star\n1. one\n> quote\n"],
  ["see [docs](https://a.b/c_d) now", "see docs (https://a.b/c_d) now"],
  ["![alt](x.png)", "alt (x.png)"],
  ["[https://a.b](https://a.b)", "https://a.b"],
  ["a [list] of (things)", "a [list] of (things)"],
  ["arr[0](x)", "arr[0](x)"],
  ["| a_b | **c** |\n|--|--|\n", "| a_b | **c** |\n|--|--|\n"],
  ["2 * 3 * 4", "2 * 3 * 4"],
  ["src/**/*.ts and *.js", "src/**/*.ts and *.js"],
  ["snake_case_name and __init__", "snake_case_name and __init__"],
  ["call _private_name here", "call _private_name here"],
  ["\\*not\\* C:\\dir", "*not* C:\\dir"],
  ["**unclosed", `${B}unclosed${R}`],
  ["**one\n\ntwo", `${B}one\n${R}\ntwo`],
  ["`unclosed", `${C}unclosed${R}`],
  ["a * b\n---\n", "a * b\n---\n"],
  ["漢字 **太字** です", `漢字 ${B}太字${R} です`],
])("%j is %j", (text, shown) => {
  expect(render(text)).toBe(shown);
});

test("fenced code is verbatim between dimmed rules that name the language", () => {
  const code = "const a = `x`; // **no**\n\n  # not a heading\n";
  expect(render(`Look:\n\`\`\`ts\n${code}\`\`\`\nend`)).toBe(`Look:\n${D}── ts${R}\n${code}${D}──${R}\nend`);
});

test("a longer fence holds a shorter one, a tilde fence holds backticks", () => {
  expect(render("````\n```\nx\n```\n````\n")).toBe(`${D}──${R}\n\`\`\`\nx\n\`\`\`\n${D}──${R}\n`);
  expect(render("~~~\n```\n~~~\n")).toBe(`${D}──${R}\n\`\`\`\n${D}──${R}\n`);
});

test("a fence within a list keeps its indentation", () => {
  expect(render("- do:\n  ```sh\n  ls\n  ```\n")).toBe(
    `- do:\n  ${D}── sh${R}\n  ls\n  ${D}──${R}\n`.replaceAll(`  ${D}`, `${D}  `),
  );
});

test("without colour everything passes through at once", () => {
  const stream = new MarkdownStream({ colour: false, ascii: true });
  expect(stream.push("# a **b** `c")).toBe("# a **b** `c");
  expect(stream.end()).toBe("");
});

const SAMPLE = `# Finding the bug

The **off-by-one** is in \`paginate\`: it uses _less than_ where it _must_ use [less or equal](https://example.test/le).

- first **item** with \`code\`
- second \\* item: \`a * b\` and src/**/*.ts
> quoted *words* here

\`\`\`ts
for (let i = 0; i < n; i++) {
  console.log(\`\${i}\`);
}
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

1. run \`bun test\`
2. look at ___this___ and **that
`;

test("any cut of the stream gives the same bytes", () => {
  const whole = render(SAMPLE);
  let seed = 3;
  const next = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
  for (let round = 0; round < 200; round++) {
    const stream = new MarkdownStream({ colour: true, ascii: false });
    let shown = "";
    for (let at = 0; at < SAMPLE.length;) {
      const size = 1 + Math.floor(next() * (round % 3 === 0 ? 2 : 25));
      shown += stream.push(SAMPLE.slice(at, at + size));
      at += size;
    }
    expect(shown + stream.end()).toBe(whole);
  }
});

const ENDLESS = ["*", "_", "`", "~", "#", "-", "[", "!", "\\", " ", "# ", "```", "**a", "[x]("];

function inPieces(text: string, size: number): string {
  const stream = new MarkdownStream({ colour: true, ascii: false });
  let shown = "";
  for (let at = 0; at < text.length; at += size) shown += stream.push(text.slice(at, at + size));
  return shown + stream.end();
}

test.each(ENDLESS)("%j without an end is shown as it is, whatever the cut", (mark) => {
  const text = mark.repeat(300);
  const whole = inPieces(text, text.length);
  for (const size of [1, 7, 63, 64, 65]) expect(inPieces(text, size)).toBe(whole);
  expect(whole.replace(/\x1b\[\d*m/g, "").length).toBeGreaterThanOrEqual(text.length - 16);
});

test("… and costs work in proportion to its length", async () => {
  const all = (chars: number) => {
    const runs = ["*", "`", "~", "# ", "["].map((mark) => mark.repeat(chars / mark.length));
    return () => runs.map((run) => inPieces(run, 16));
  };
  expect(await growth(all, 1600)).toBeLessThan(9);
});

test("CR LF in the text is a line end, and a code block of it is verbatim", () => {
  const safe = sanitize("# h\r\n\r\n```ts\r\ncode\r\n```\r\nx\r\n");
  expect(render(safe)).toBe(render("# h\n\n```ts\ncode\n```\nx\n"));
});

test("prose is held back by no more than a word", () => {
  const stream = new MarkdownStream({ colour: true, ascii: false });
  let given = 0;
  let shown = 0;
  const text = "Some words with **strong ones** and `code spans` and _soft ones_ in a line that goes on.";
  for (const char of text) {
    given++;
    shown += stream.push(char).replace(/\x1b\[\d*m/g, "").length;
    // Marks that were dropped are not owed: up to eight of them so far, and a word.
    expect(given - shown).toBeLessThanOrEqual(10 + 5);
  }
});

test("a long answer costs at most 1.15 bytes for each visible one, however dense its marks", () => {
  for (const text of [SAMPLE.repeat(40), "`a` **b** _c_ ".repeat(3000), "# h\n\n".repeat(2000)]) {
    const shown = render(text);
    const visible = shown.replace(/\x1b\[\d*m/g, "");
    // The terminal driver adds a CR to each line.
    const lines = shown.split("\n").length - 1;
    // Where lines are so short that their ends alone cost more, no style is added.
    const limit = Math.max(1.15, 1 + lines / Buffer.byteLength(visible) + 0.01);
    expect((Buffer.byteLength(shown) + lines) / Buffer.byteLength(visible)).toBeLessThanOrEqual(limit);
  }
});

test.each([SAMPLE, "**a", "_b c", "`x", "# h", "```\ncode", "**a _b `c", "a **b** c"])(
  "%j ends with every style closed",
  (text) => {
    const sequences = render(text).match(/\x1b\[\d*m/g) ?? [];
    expect(sequences.at(-1)).toBe(R);
  },
);
