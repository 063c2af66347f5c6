import { expect, test } from "bun:test";
import { FrontmatterError, listField, parseMarkdownFile, textField } from "../src/markdown-file.ts";
import { growth } from "./support/growth.ts";

const head = (text: string) => parseMarkdownFile(`---\n${text}\n---\nbody\n`);
const value = (text: string) => head(text).fields.get("a")?.value;

test.each([
  ["no frontmatter", "just text\n", [], "just text"],
  ["an empty one", "---\n---\ntext", [], "text"],
  ["a byte order mark and CRLF", "\uFEFF---\r\na: b\r\n---\r\none\r\ntwo\r\n", ["a"], "one\ntwo"],
  ["dots at its end", "---\na: b\n...\ntext", ["a"], "text"],
  ["a line of dashes later on", "text\n---\na: b\n---", [], "text\n---\na: b\n---"],
])("%s", (_, text, keys, body) => {
  const file = parseMarkdownFile(text);
  expect([[...file.fields.keys()], file.body]).toEqual([keys, body]);
});

test.each<[string, unknown]>([
  ["a: some text", "some text"],
  ["a: text # and a comment", "text"],
  ["a: text#not", "text#not"],
  ["a: use when: it fails", "use when: it fails"],
  ["a: 'it''s'", "it's"],
  ['a: "one\\ntwo \\u00e9 \\"x\\"" # c', 'one\ntwo é "x"'],
  ["a:", ""],
  ["a: # only a comment", ""],
  ["a: one\n  two\n  three\nb: x", "one two three"],
  ["a:\n  one\n  two", "one two"],
  ["a: [x, 'y, z', \"w\"]", ["x", "y, z", "w"]],
  ["a: []", []],
  ["a: [x,\n  y,\n]", ["x", "y"]],
  ["a: [number] [title]", "[number] [title]"],
  ["a:\n- x\n- 'y'\nb: z", ["x", "y"]],
  ["a:\n\n  - x # c\n  - y", ["x", "y"]],
  ["a: |\n  one\n    two\n\n  three\n", "one\n  two\n\nthree"],
  ["a: >-\n  one\n  two\n\n  three", "one two\nthree"],
  [
    "a:\n  x: 1\n  y: [p, q]",
    new Map([
      ["x", "1"],
      ["y", "p, q"],
    ]),
  ],
  ["# comment\n\n'a': b", "b"],
])("%j is %j", (text, expected) => {
  expect(value(text)).toEqual(expected as never); // a table of several types
});

test.each([
  ["---\na: b\n", "line 1: the frontmatter has no end"],
  [`---\n${"#\n".repeat(500)}---\n`, "line 1: the frontmatter is longer than 500 lines"],
  ["---\nx: y\na: 'b\n---\n", "line 3: no closing '"],
  ['---\na: "b" c\n---\n', "line 2: text after the closing"],
  ['---\na: "\\q"\n---\n', "line 2: unknown escape \\q"],
  ["---\na: [b\n---\n", 'line 2: the list has no "]"'],
  ["---\na: [[b]]\n---\n", "line 2: lists within lists"],
  ["---\na: {b: c}\n---\n", "line 2: a value can't begin with {"],
  ["---\na: &x b\n---\n", "line 2: a value can't begin with &"],
  ["---\na: b\n\na: c\n---\n", 'line 4: "a" is there twice'],
  ["---\nnothing\n---\n", 'line 2: no "key: value"'],
  ["---\na: 'b'\n  c: d\n---\n", "line 3: this line is indented"],
  ["---\na:\n\tb: c\n---\n", "line 3: indented with a tab"],
  ["---\na: |x\n  b\n---\n", 'line 2: "|x" begins no block'],
])("%j is refused with its line", (text, message) => {
  expect(() => parseMarkdownFile(text)).toThrow(FrontmatterError);
  expect(() => parseMarkdownFile(text)).toThrow(message);
});

test("a field is read as a text or as a list, however it is written", () => {
  const file = head("a: Read, Bash(git add *, git commit *)\nb: [x, y]\nc:\n  d: e");
  expect(listField(file, "a")).toEqual(["Read", "Bash(git add *, git commit *)"]);
  expect([textField(file, "b"), listField(file, "b")]).toEqual(["x, y", ["x", "y"]]);
  expect([textField(file, "c"), listField(file, "c"), textField(file, "none")]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test("the time grows with the length, not with its square", async () => {
  const fields = (n: number) => Array.from({ length: n }, (_, i) => `k${i}: v`).join("\n");
  const make = (n: number) =>
    `---\na: [${"x, ".repeat(n)}]\nb: x${" ".repeat(n)}y\nc:\n${"  - z\n".repeat(n)}${fields(n)}\n---\n`;
  const prepare = (n: number) => {
    const text = make(n);
    return () => parseMarkdownFile(text, Number.POSITIVE_INFINITY);
  };
  expect(parseMarkdownFile(make(3)).fields.size).toBe(6);
  expect(await growth(prepare, 200)).toBeLessThan(9);
});
