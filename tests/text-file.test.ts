/** Bytes to text and back, and line endings. */
import { expect, test } from "bun:test";
import { decodeText, encodeText, endedLines, formatOf, toLf, usualEnding, withEndingsOf } from "../src/text-file.ts";
import { loadDiff } from "../src/text-file-diff.ts";
import { replaceInText } from "../src/text-file-edit.ts";
import { growth } from "./support/growth.ts";
import { randomText, seeded } from "./support/random-text.ts";

const { lines: diff } = await loadDiff();

test.each([
  ["plain", Buffer.from("a\nb"), "text"],
  ["empty", Buffer.alloc(0), "text"],
  ["UTF-8 with mark", Buffer.from("\ufeffä\r\n"), "text"],
  ["UTF-16 LE", Buffer.from("\ufeffab", "utf16le"), "text"],
  ["UTF-16 BE", Buffer.from("\ufeffab", "utf16le").swap16(), "text"],
  ["UTF-16 with half a pair", Buffer.from("\ufeff\ud83d!", "utf16le"), "text"],
  ["UTF-16 with an odd byte", Buffer.from([0xff, 0xfe, 0x41]), "binary"],
  ["UTF-32", Buffer.from([0xff, 0xfe, 0, 0, 0x41, 0, 0, 0]), "binary"],
  ["a NUL", Buffer.from("a\0b"), "binary"],
  ["Latin-1", Buffer.from([0x63, 0x61, 0x66, 0xe9]), "unknown-encoding"],
  ["overlong UTF-8", Buffer.from([0xc0, 0xaf]), "unknown-encoding"],
  ["encoded surrogate", Buffer.from([0xed, 0xa0, 0x80]), "unknown-encoding"],
] as const)("%s: what is taken for text encodes to the same bytes", (_, bytes, kind) => {
  const decoded = decodeText(bytes);
  expect(decoded.kind).toBe(kind);
  if (decoded.kind === "text") expect(Buffer.from(encodeText(decoded.text, decoded.format))).toEqual(bytes);
});

test("random bytes are either refused or survive the round trip", () => {
  const random = seeded(11);
  let texts = 0;
  for (let round = 0; round < 3000; round++) {
    const bytes = Buffer.from(
      Array.from({ length: random(6) }, () => [0x61, 0xc3, 0xa9, 0xef, 0xbb, 0xbf, 0xff, 0xfe][random(8)] ?? 0),
    );
    const decoded = decodeText(bytes);
    if (decoded.kind !== "text") continue;
    texts++;
    expect(Buffer.from(encodeText(decoded.text, decoded.format))).toEqual(bytes);
  }
  expect(texts).toBeGreaterThan(100);
});

test("half a surrogate pair is refused where the encoding can't hold it", () => {
  expect(() => encodeText("a\ud83d", formatOf(new Uint8Array()))).toThrow("surrogate");
});

test.each([
  ["a\nb\n", "\n"],
  ["a\r\nb\r\n", "\r\n"],
  ["a\r\nb\n", "\n"],
  ["a\r\nb\r\nc\n", "\r\n"],
  ["a", null],
  ["a\rb", null],
] as const)("most lines of %j end in %j", (text, ending) => {
  expect(usualEnding(text)).toBe(ending);
});

test("lines with their endings make the text again", () => {
  const random = seeded(5);
  for (let round = 0; round < 500; round++) {
    const text = randomText(random, { endings: ["\n", "\r\n", "\r"] });
    expect(
      endedLines(text)
        .map((line) => line.text + line.ending)
        .join(""),
    ).toBe(text);
  }
});

test.each([
  ["a\r\nb\r\n", "A\nb\nc\n", "A\r\nb\r\nc\r\n"],
  ["a\nb\n", "A\r\nb\r\n", "A\nb\n"],
  ["a\r\nb\nc\r\nd\n", "A\nx\nb\nc\nD\n", "A\r\nx\r\nb\nc\r\nD\n"],
  ["one", "two\nthree", "two\nthree"],
] as const)("%j rewritten as %j is %j", (before, after, expected) => {
  expect(withEndingsOf(before, after, "\n", diff)).toBe(expected);
});

test("lines that a rewrite keeps have the ending they had", () => {
  const random = seeded(23);
  for (let round = 0; round < 300; round++) {
    const old = Array.from({ length: 1 + random(8) }, (_, index) => ({
      text: `line ${index}`,
      ending: ["\n", "\r\n"][random(2)] ?? "",
    }));
    const kept = old.filter(() => random(4) > 0);
    const after = kept.flatMap((line) => (random(4) === 0 ? ["new", line.text] : [line.text]));
    const result = withEndingsOf(
      old.map((line) => line.text + line.ending).join(""),
      after.map((line) => `${line}\n`).join(""),
      "\n",
      diff,
    );
    const found = endedLines(result).filter((line) => line.text !== "new");
    expect(found.map((line) => line.text + line.ending)).toEqual(kept.map((line) => line.text + line.ending));
    expect(endedLines(result).map((line) => line.text)).toEqual(after);
  }
});

test("a replacement changes its own bytes only, whatever the line endings", () => {
  const random = seeded(42);
  let edits = 0;
  for (let round = 0; round < 800; round++) {
    const before = randomText(random, { endings: ["\n", "\r\n"] });
    const [head, middle, tail] = [before, `needle ${round}`, randomText(random, { endings: ["\n", "\r\n"] })];
    const outcome = replaceInText(head + middle + tail, { oldString: middle, newString: "$& $1 $'" }, diff);
    expect(outcome).toMatchObject({ kind: "edited", text: `${head}$& $1 $'${tail}` });
    edits++;
  }
  expect(edits).toBe(800);
});

test("a text over several lines is found with either line ending and replaced with the file's", () => {
  const random = seeded(7);
  for (let round = 0; round < 500; round++) {
    const all = endedLines(`${randomText(random, { endings: ["\n", "\r\n"] })}x\n`).map((line, index) => ({
      ...line,
      text: `${index}:${line.text}`,
    }));
    const whole = all.map((line) => line.text + line.ending).join("");
    const first = random(all.length);
    const wanted = all.slice(first, first + 1 + random(3));
    const oldString = wanted.map((line) => line.text).join(random(2) ? "\n" : "\r\n");
    const outcome = replaceInText(whole, { oldString, newString: oldString.replace(/:/, "#") }, diff);
    const expected = all
      .map((line, index) => (index === first ? line.text.replace(":", "#") : line.text) + line.ending)
      .join("");
    expect(outcome).toMatchObject({ kind: "edited", text: expected, lines: [first + 1] });
  }
});

/** Replaces every `from` of a text and says by which factor the work grows when its length does by four. */
async function replacingGrows(text: (count: number) => string, from: string, to: string, count: number) {
  return growth((size) => {
    const [before, after] = [text(size), text(size).replaceAll(from, to)];
    return () => {
      const outcome = replaceInText(before, { oldString: from, newString: to, replaceAll: true }, diff);
      expect(outcome.kind === "edited" && outcome.text === after).toBe(true);
    };
  }, count);
}

test("many occurrences in a text with mixed endings are replaced in one walk", async () => {
  const text = (count: number) => "alpha\r\nbeta\n".repeat(count);
  expect(await replacingGrows(text, "beta", "gamma", 500)).toBeLessThan(8);
});

test.each([
  ["}\n}\n", "}\n}\n}\n", [1, 2]],
  ["aa", "b\naaa", [2, 2]],
])("%j in %j is ambiguous though its occurrences overlap", (oldString, text, lines) => {
  expect(replaceInText(text, { oldString, newString: "x" }, diff)).toEqual({ kind: "many", lines });
  expect(replaceInText(text, { oldString, newString: "x", replaceAll: true }, diff)).toMatchObject({ kind: "edited" });
});

test("CR without LF is text like any other", () => {
  expect(toLf("a\rb\r\r\nc")).toBe("a\rb\r\nc");
  expect(replaceInText("a\rb\n", { oldString: "a\rb", newString: "c" }, diff)).toMatchObject({ text: "c\n" });
});

test.each(["\n", "\r\n", ""])("many hits on one line that ends in %j are replaced in one walk", async (end) => {
  expect(await replacingGrows((count) => `${"a,".repeat(count)}${end}`, "a", "b", 1250)).toBeLessThan(8);
});
