/** Key bytes of many terminals, in any cut, are the keys a person pressed. */
import { expect, test } from "bun:test";
import { type Key, KeyDecoder } from "../src/keys.ts";

function show(keys: Key[]): string {
  return keys.map((key) => (key.type === "key" ? key.id : `${key.type}:${key.text}`)).join(" ");
}

function decode(bytes: string): string {
  const decoder = new KeyDecoder();
  return show([...decoder.push(bytes), ...decoder.flush()]);
}

const TABLE: [bytes: string, keys: string, where: string][] = [
  // text and single controls
  ["abc", "text:abc", "typing"],
  ["漢🙂", "text:漢🙂", "typing"],
  ["\x01", "ctrl-a", "everywhere"],
  ["\x1a", "ctrl-z", "everywhere"],
  ["\x00", "ctrl-space", "everywhere"],
  ["\r", "enter", "everywhere"],
  ["\n", "ctrl-j", "everywhere"],
  ["\t", "tab", "everywhere"],
  ["\x7f", "backspace", "xterm"],
  ["\x08", "backspace", "serial consoles"],
  ["\x1f", "ctrl-_", "everywhere"],
  ["a\x01b", "text:a ctrl-a text:b", "mixed"],
  // escape and alt
  ["\x1b", "escape", "alone"],
  ["\x1bb", "alt-b", "xterm"],
  ["\x1bB", "alt-shift-b", "xterm"],
  ["\x1b\x7f", "alt-backspace", "xterm"],
  ["\x1b\r", "alt-enter", "xterm"],
  ["\x1b\x02", "ctrl-alt-b", "xterm"],
  ["\x1b\x1b", "escape escape", "twice"],
  ["\x1b\x1b[A", "alt-up", "rxvt"],
  ["\x1bé", "alt-é", "xterm"],
  // arrows and friends
  ["\x1b[A\x1b[B\x1b[C\x1b[D", "up down right left", "xterm"],
  ["\x1bOA\x1bOB\x1bOC\x1bOD", "up down right left", "application mode"],
  ["\x1b[H\x1b[F\x1bOH\x1bOF", "home end home end", "xterm"],
  ["\x1b[1~\x1b[4~\x1b[7~\x1b[8~", "home end home end", "screen, rxvt"],
  ["\x1b[2~\x1b[3~\x1b[5~\x1b[6~", "insert delete pageup pagedown", "xterm"],
  ["\x1b[1;5D\x1b[1;5C", "ctrl-left ctrl-right", "xterm"],
  ["\x1b[1;3D\x1b[1;2A", "alt-left shift-up", "xterm"],
  ["\x1b[1;6C", "ctrl-shift-right", "xterm"],
  ["\x1b[3;5~\x1b[3;3~", "ctrl-delete alt-delete", "xterm"],
  ["\x1bOd\x1bOc", "ctrl-left ctrl-right", "rxvt"],
  ["\x1b[a\x1b[7^\x1b[8$", "shift-up ctrl-home shift-end", "rxvt"],
  ["\x1b[Z", "shift-tab", "xterm"],
  ["\x1bOP\x1b[15~\x1b[[A", "f1 f5 f1", "xterm, Linux console"],
  ["\x1bOM\x1bOp\x1bOk", "enter text:0 text:+", "keypad"],
  // modifyOtherKeys
  ["\x1b[27;5;99~", "ctrl-c", "xterm"],
  ["\x1b[27;3;13~", "alt-enter", "xterm"],
  ["\x1b[27;2;13~", "shift-enter", "xterm"],
  ["\x1b[27;5;47~", "ctrl-/", "xterm"],
  ["\x1b[27;2;65~", "text:A", "xterm"],
  // CSI-u
  ["\x1b[99;5u", "ctrl-c", "kitty"],
  ["\x1b[13;2u", "shift-enter", "kitty"],
  ["\x1b[13u\x1b[27u\x1b[9u\x1b[127u", "enter escape tab backspace", "kitty"],
  ["\x1b[49u", "text:1", "kitty"],
  ["\x1b[32u", "text: ", "kitty"],
  ["\x1b[97:65;2u", "text:A", "kitty, shifted key told"],
  ["\x1b[97;2u", "text:A", "kitty, shifted key not told"],
  ["\x1b[1089::99;5u", "ctrl-c", "kitty, Cyrillic layout"],
  ["\x1b[99;5:3u", "", "kitty, release"],
  ["\x1b[1;1:3A\x1b[1;1:1B", "down", "kitty, release and press"],
  ["\x1b[97;65u", "text:a", "kitty, caps lock on"],
  ["\x1b[57414u\x1b[57417u\x1b[57400u", "enter left text:1", "kitty keypad"],
  ["\x1b[57441;2u", "", "kitty, shift alone"],
  ["\x1b[233;1;233u", "text:é", "kitty, text told"],
  ["\x1b[97;9u", "super-a", "kitty"],
  // replies and noise: swallowed
  ["\x1b[I\x1b[O", "", "focus"],
  ["\x1b[?62;c", "", "device attributes"],
  ["\x1b]11;rgb:0000/0000/0000\x07x", "text:x", "colour report"],
  ["\x1b]11;rgb:0000/0000/0000\x1b\\x", "text:x", "colour report"],
  ["\x1bP>|kitty\x1b\\x", "text:x", "version report"],
  ["\x1b[M !!x", "text:x", "mouse"],
  ["\x1b[<0;1;1Mx", "text:x", "mouse"],
  ["\x1b[12;34", "", "a sequence that lost its end"],
];

test.each(TABLE)("%j is %p (%s)", (bytes, keys) => {
  expect(decode(bytes)).toBe(keys);
});

test.each(TABLE.filter(([, keys]) => !keys.startsWith("text:")))("%j byte by byte is the same", (bytes, keys) => {
  const decoder = new KeyDecoder();
  const found: Key[] = [];
  for (const byte of new TextEncoder().encode(bytes)) found.push(...decoder.push(new Uint8Array([byte])));
  found.push(...decoder.flush());
  // Letters that come one by one are as many keys.
  const joined = (text: string) => text.replace(/(?<=text:\S*) text:/g, "");
  expect(joined(show(found))).toBe(joined(keys));
});

test("an ESC waits for the rest of its sequence until it is told that none will come", () => {
  const decoder = new KeyDecoder();
  expect(decoder.push("\x1b")).toEqual([]);
  expect(decoder.pending).toBe("escape");
  expect(show(decoder.push("[A"))).toBe("up");
  expect(decoder.pending).toBe("none");
  decoder.push("\x1b");
  expect(show(decoder.flush())).toBe("escape");
});

test("alt-[ and alt-] are keys when nothing follows", () => {
  expect(decode("\x1b[")).toBe("alt-[");
  expect(decode("\x1b]")).toBe("alt-]");
  expect(decode("\x1bO")).toBe("alt-shift-o");
});

test("a paste is one key, its line ends are LF and its control characters are gone", () => {
  expect(decode("\x1b[200~l1\rl2\r\nl3\x1b]52;c;x\x07\t\x1b[201~\r")).toBe("paste:l1\nl2\nl3]52;c;x\t enter");
});

test("a paste of a megabyte in small reads, its marks split, arrives whole and in linear time", () => {
  const text = "0123456789abcdef".repeat(65536);
  const bytes = `\x1b[200~${text}\x1b[201~x`;
  const decoder = new KeyDecoder();
  const keys: Key[] = [];
  for (let at = 0; at < bytes.length; at += 1021) keys.push(...decoder.push(bytes.slice(at, at + 1021)));
  expect(keys).toEqual([
    { type: "paste", text },
    { type: "text", text: "x" },
  ]);
});

test("a paste whose end is lost ends when the caller stops waiting", () => {
  const decoder = new KeyDecoder();
  decoder.push("\x1b[200~half");
  expect(decoder.pending).toBe("paste");
  expect(show(decoder.flush())).toBe("paste:half");
  expect(show(decoder.push("x"))).toBe("text:x");
});

test("random bytes never throw, never yield control characters, and leave the decoder usable", () => {
  let seed = 7;
  const next = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
  const alphabet = [
    "\x1b",
    "[",
    "O",
    "]",
    "<",
    ";",
    "1",
    "2",
    "0",
    "~",
    "u",
    "A",
    "M",
    "\x07",
    "\\",
    "x",
    "漢",
    "\r",
    "P",
  ];
  for (let round = 0; round < 3000; round++) {
    const decoder = new KeyDecoder();
    let bytes = "";
    for (let length = Math.floor(next() * 12); length >= 0; length--)
      bytes += alphabet[Math.floor(next() * alphabet.length)];
    const keys = [...decoder.push(bytes.replaceAll("\x1b[200~", "")), ...decoder.flush(), ...decoder.flush()];
    for (const key of keys) if (key.type !== "key") expect(/[\x00-\x08\x0b-\x1f]/.test(key.text)).toBe(false);
    expect(show(decoder.push("q"))).toEndWith("text:q");
  }
});
