/** Key encodings of many terminals and the ways they arrive in pieces, as another project's tests know them. */
import { expect, test } from "bun:test";
import { type Key, KeyDecoder } from "../src/keys.ts";

/**
 * Restated from the tests of pi-mono (badlogic, MIT). The third column is the name used there, where ours differs: we
 * ask no terminal for a special protocol, so a line feed is ctrl-j, 8 is the backspace of serial consoles, shift with a
 * letter is the letter, a release is nothing, and a letter after ESC is alt with that letter.
 */
const KEYS: [bytes: string, key: string, theirs?: string][] = [
  ["\x1b[1089::99;5u", "ctrl-c"],
  ["\x1b[1074::100;5u", "ctrl-d"],
  ["\x1b[1103::122;5u", "ctrl-z"],
  ["\x1b[1079::112;6u", "ctrl-shift-p"],
  ["\x1b[99;5u", "ctrl-c"],
  ["\x1b[49u", "text:1"],
  ["\x1b[49;5u", "ctrl-1"],
  ["\x1b[99:67:99;2u", "text:C", "shift+c"],
  ["\x1b[1089::99;5:3u", "", "ctrl+c"],
  ["\x1b[1089:1057:99;6:2u", "ctrl-shift-c"],
  ["\x1b[107::118;5u", "ctrl-k"],
  ["\x1b[47::91;5u", "ctrl-/"],
  ["\x1b[27;5;99~", "ctrl-c"],
  ["\x1b[27;5;100~", "ctrl-d"],
  ["\x1b[27;5;122~", "ctrl-z"],
  ["\x1b[27;5;13~", "ctrl-enter"],
  ["\x1b[27;2;13~", "shift-enter"],
  ["\x1b[27;3;13~", "alt-enter"],
  ["\x1b[27;2;9~", "shift-tab"],
  ["\x1b[27;5;9~", "ctrl-tab"],
  ["\x1b[27;3;9~", "alt-tab"],
  ["\x1b[27;5;47~", "ctrl-/"],
  ["\x1b[27;5;49~", "ctrl-1"],
  ["\x1b[27;2;49~", "text:1", "shift+1"],
  ["\x03", "ctrl-c"],
  ["\x04", "ctrl-d"],
  ["\x1b", "escape"],
  ["\n", "ctrl-j", "enter or shift+enter"],
  ["\x00", "ctrl-space"],
  ["\x1c", "ctrl-\\"],
  ["\x1d", "ctrl-]"],
  ["\x1f", "ctrl-_"],
  ["\x1b\x1b", "escape escape", "ctrl+alt+["],
  ["\x1b\x1c", "ctrl-alt-\\"],
  ["\x1b\x1d", "ctrl-alt-]"],
  ["\x1b\x1f", "ctrl-alt-_"],
  ["\x7f", "backspace"],
  ["\x08", "backspace", "ctrl+backspace or ctrl+h"],
  ["\x1b ", "alt-space"],
  ["\x1b\x08", "alt-backspace"],
  ["\x1b\x03", "ctrl-alt-c"],
  ["\x1bB", "alt-shift-b", "alt+left"],
  ["\x1bF", "alt-shift-f", "alt+right"],
  ["\x1ba", "alt-a"],
  ["\x1b1", "alt-1"],
  ["\x1by", "alt-y"],
  ["\x1bz", "alt-z"],
  ["\x1b[A", "up"],
  ["\x1b[B", "down"],
  ["\x1b[C", "right"],
  ["\x1b[D", "left"],
  ["\x1bOA", "up"],
  ["\x1bOB", "down"],
  ["\x1bOC", "right"],
  ["\x1bOD", "left"],
  ["\x1bOH", "home"],
  ["\x1bOF", "end"],
  ["\x1bOP", "f1"],
  ["\x1b[24~", "f12"],
  ["\x1b[E", "clear"],
  ["\x1bp", "alt-p", "alt+up"],
  ["\x1b[a", "shift-up"],
  ["\x1bOa", "ctrl-up"],
  ["\x1b[2$", "shift-insert"],
  ["\x1b[2^", "ctrl-insert"],
  ["\x1b[7$", "shift-home"],
  ["\x1b[99;9u", "super-c", "no key"],
  ["\t", "tab"],
  ["\r", "enter"],
  [" ", "text: "],
  ["1", "text:1"],
  ["\x1b[[5~", "pageup"],
];

/** Chunks as they are read, and what was typed by them. Releases and the mouse type nothing. */
const FRAMING: [chunks: string[], keys: string][] = [
  [["a"], "text:a"],
  [["abc"], "text:abc"],
  [["hello 世界"], "text:hello 世界"],
  [["\x1b", "[<35", ";20;5m"], ""],
  [["\x1b[", "1;", "5H"], "ctrl-home"],
  [["\x1b", "[", "<", "3", "5", ";", "2", "0", ";", "5", "m"], ""],
  [["abc\x1b[A"], "text:abc up"],
  [["\x1b[Aabc"], "up text:abc"],
  [["\x1b[A\x1b[B\x1b[C"], "up down right"],
  [["abc\x1b[<35", ";20;5m"], "text:abc"],
  [["\x1b[97u\x1b[97;1:3u"], "text:a"],
  [["\x1b[1;1:1A"], "up"],
  [["\x1b[3;1:3~"], ""],
  [["a\x1b[97;1:3u"], "text:a"],
  [["\x1b[97ua"], "text:aa"],
  [["\x1b[104u\x1b[104;1:3u\x1b[105u\x1b[105;1:3u"], "text:hi"],
];

/** Letters that come one by one are as much text as those that come at once. */
function show(keys: readonly Key[]): string {
  const shown: string[] = [];
  for (const [at, key] of keys.entries()) {
    if (key.type === "key") shown.push(key.id);
    else if (key.type === keys[at - 1]?.type) shown.push(`${shown.pop()}${key.text}`);
    else shown.push(`${key.type}:${key.text}`);
  }
  return shown.join(" ");
}

function decode(chunks: readonly (string | Uint8Array)[]): string {
  const decoder = new KeyDecoder();
  return show([...chunks.flatMap((chunk) => decoder.push(chunk)), ...decoder.flush()]);
}

/** In two pieces at every place, and byte by byte. */
function cuts(text: string): Uint8Array[][] {
  const bytes = new TextEncoder().encode(text);
  const twos = [...bytes.keys()].map((at) => [bytes.subarray(0, at), bytes.subarray(at)]);
  return [...twos, [...bytes.keys()].map((at) => bytes.subarray(at, at + 1))];
}

test.each(KEYS)("%j is %p, wherever it is cut", (bytes, key) => {
  for (const pieces of [[bytes], ...cuts(bytes)]) expect(decode(pieces)).toBe(key);
});

test.each(FRAMING)("%j is %p, wherever else it is cut", (chunks, keys) => {
  for (const pieces of [chunks, ...cuts(chunks.join(""))]) expect(decode(pieces)).toBe(keys);
});
